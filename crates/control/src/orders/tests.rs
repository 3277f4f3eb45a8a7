//! Tables for orders: what is in force now, after a restart, and when the disk does not help.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use tempfile::{TempDir, tempdir};

use super::*;

const NOW: Wall = Wall(1_000);
const LATER: Wall = Wall(2_000);

fn open(folder: &TempDir) -> (Orders, Stops) {
    let stops = Stops::default();
    (Orders::open(folder.path(), &stops, NOW), stops)
}

fn scope(text: &str) -> StopScope {
    text.parse().unwrap()
}

fn in_force(stops: &Stops) -> Vec<String> {
    stops.list().iter().map(ToString::to_string).collect()
}

#[test]
fn orders_outlive_a_restart() {
    let folder = tempdir().unwrap();
    let (orders, stops) = open(&folder);
    assert!(orders.list().is_empty() && in_force(&stops).is_empty());
    let texts = ["all", "upstream:github", "session:ab", "principal:token:ci"];
    for text in texts {
        let effect = orders.stop(&stops, &scope(text), "owner", NOW).unwrap();
        assert_eq!(effect, Effect::Made);
    }
    let mode = fs::metadata(folder.path().join("stopped.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
    let (again, stops) = open(&folder);
    assert_eq!(in_force(&stops), texts);
    assert_eq!(again.list(), orders.list());
    let ended = again.resume(&stops, &scope("all")).unwrap();
    let by = "owner".to_owned();
    assert_eq!(
        ended,
        Order {
            scope: StopScope::All,
            since: NOW,
            by,
            why: None
        }
    );
    assert_eq!(in_force(&stops), texts[1..]);
    assert_eq!(in_force(&open(&folder).1), texts[1..]);
    let json = serde_json::to_string(&again.list()[0]).unwrap();
    assert_eq!(
        json,
        r#"{"scope":"upstream:github","since":1000,"by":"owner"}"#
    );
}

#[test]
fn a_second_order_changes_nothing() {
    let folder = tempdir().unwrap();
    let (orders, stops) = open(&folder);
    orders.stop(&stops, &StopScope::All, "owner", NOW).unwrap();
    let effect = orders
        .stop(&stops, &StopScope::All, "other", LATER)
        .unwrap();
    assert_eq!(effect, Effect::AlreadySo);
    assert_eq!(
        (orders.list()[0].since, &*orders.list()[0].by),
        (NOW, "owner")
    );
    orders.resume(&stops, &StopScope::All).unwrap();
    let error = orders.resume(&stops, &StopScope::All).unwrap_err();
    assert_eq!(error.to_string(), "calls of `all` are not stopped");
}

#[test]
fn a_broken_file_stops_everything() {
    let hurt = |text: &str, mode: u32, expect: &str| {
        let folder = tempdir().unwrap();
        let file = folder.path().join("stopped.json");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let (orders, stops) = open(&folder);
        assert_eq!(in_force(&stops), ["all"], "{text}");
        let why = orders
            .problem()
            .unwrap()
            .replace(&*file.to_string_lossy(), "FILE");
        assert!(why.starts_with(expect), "{text}: {why}");
        assert!(why.ends_with("; repair it and restart, or resume `all` to start afresh"));
        assert_eq!(
            (&*orders.list()[0].by, orders.list()[0].since),
            ("mcpproxy", NOW)
        );
        // A further order keeps everything stopped, also after a restart; the end of it is the
        // owner's decision.
        orders
            .stop(&stops, &scope("upstream:a"), "owner", NOW)
            .unwrap();
        let (orders, stops) = open(&folder);
        assert_eq!(in_force(&stops), ["all", "upstream:a"]);
        assert!(orders.problem().is_some());
        orders.resume(&stops, &StopScope::All).unwrap();
        assert_eq!(orders.problem(), None);
        assert_eq!(in_force(&open(&folder).1), ["upstream:a"]);
    };
    let check = |text: &str, reason: &str| {
        hurt(text, 0o600, &format!("cannot understand `FILE`: {reason}"));
    };
    check("", "EOF while parsing");
    check("{", "EOF while parsing");
    check("[1,[]]", "invalid type: sequence, expected an object");
    check(r#"{"version":1}"#, "missing field `stopped`");
    check(
        r#"{"version":2,"stopped":[]}"#,
        "it has version 2, and only 1 is known",
    );
    check(r#"{"version":1,"stopped":[],"x":1}"#, "unknown field `x`");
    let with = |scopes: &[&str]| {
        let order = |scope: &&str| format!(r#"{{"scope":"{scope}","since":1,"by":"owner"}}"#);
        let orders: Vec<String> = scopes.iter().map(order).collect();
        format!(r#"{{"version":1,"stopped":[{}]}}"#, orders.join(","))
    };
    check(&with(&["everything"]), "`everything` is no scope");
    check(
        &with(&["upstream:"]),
        "`upstream:` names nothing that could be stopped",
    );
    check(
        &with(&["session:a", "session:a"]),
        "`session:a` is stopped twice",
    );
    hurt(
        &with(&["upstream:a"]),
        0o666,
        "`FILE` is open to other users (mode 0666)",
    );
}

#[test]
fn a_torn_file_stops_everything_wherever_it_is_torn() {
    let folder = tempdir().unwrap();
    let (orders, stops) = open(&folder);
    orders
        .stop(&stops, &scope("upstream:github"), "owner", NOW)
        .unwrap();
    let file = folder.path().join("stopped.json");
    let whole = fs::read(&file).unwrap();
    for length in 0..whole.len() - 1 {
        fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(in_force(&open(&folder).1), ["all"], "{length}");
    }
}

#[test]
fn a_full_or_missing_disk_stops_and_never_resumes() {
    let folder = tempdir().unwrap();
    let (orders, stops) = open(&folder);
    orders
        .stop(&stops, &scope("upstream:a"), "owner", NOW)
        .unwrap();
    fs::remove_dir_all(folder.path()).unwrap();
    let error = orders
        .stop(&stops, &StopScope::All, "owner", NOW)
        .unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("calls of `all` are stopped, but a restart would forget it: "));
    assert_eq!(in_force(&stops), ["all", "upstream:a"]);
    assert!(orders.resume(&stops, &StopScope::All).is_err());
    assert_eq!(in_force(&stops), ["all", "upstream:a"]);
    fs::create_dir(folder.path()).unwrap();
    // Said again, the order is written, with those that stood before.
    orders.stop(&stops, &StopScope::All, "owner", NOW).unwrap();
    assert_eq!(in_force(&open(&folder).1), ["all", "upstream:a"]);
}

#[test]
fn removing_or_spoiling_the_file_lifts_no_order() {
    let folder = tempdir().unwrap();
    let (orders, stops) = open(&folder);
    let file = folder.path().join("stopped.json");
    orders
        .stop(&stops, &scope("upstream:a"), "owner", NOW)
        .unwrap();
    fs::remove_file(&file).unwrap();
    orders
        .stop(&stops, &scope("upstream:b"), "owner", NOW)
        .unwrap();
    fs::write(&file, "{").unwrap();
    orders
        .stop(&stops, &scope("upstream:c"), "owner", NOW)
        .unwrap();
    let expect = ["upstream:a", "upstream:b", "upstream:c"];
    assert_eq!(in_force(&stops), expect);
    assert_eq!(in_force(&open(&folder).1), expect);
}

#[test]
fn orders_of_another_process_are_kept() {
    let folder = tempdir().unwrap();
    let ((daemon, stops), (cli, own)) = (open(&folder), open(&folder));
    cli.stop(&own, &scope("upstream:cli"), "owner", NOW)
        .unwrap();
    daemon
        .stop(&stops, &scope("upstream:daemon"), "owner", NOW)
        .unwrap();
    let expect = ["upstream:cli", "upstream:daemon"];
    assert_eq!(in_force(&stops), expect);
    assert_eq!(in_force(&open(&folder).1), expect);
}

#[test]
fn a_scope_that_no_call_could_have_is_refused() {
    let folder = tempdir().unwrap();
    let (orders, stops) = open(&folder);
    let check = |text: &str, shown: &str| {
        let error = orders.stop(&stops, &scope(text), "owner", NOW).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("`{shown}` names nothing that could be stopped")
        );
    };
    check("upstream:", "upstream:");
    check("session:", "session:");
    check("principal:a\nb", "principal:a\\nb");
    check(
        &format!("session:{}", "x".repeat(257)),
        &format!("session:{}…", "x".repeat(72)),
    );
    assert!(in_force(&stops).is_empty());
}

#[test]
fn at_the_bound_everything_can_still_be_stopped() {
    let folder = tempdir().unwrap();
    let order = |number: usize| {
        let scope = StopScope::Session(format!("{number:032}"));
        (
            scope.clone(),
            Order {
                scope,
                since: NOW,
                by: "owner".to_owned(),
                why: None,
            },
        )
    };
    let book: Book = (0..MOST_ORDERS).map(order).collect();
    let file = PrivateFile::new(folder.path(), FILE, FILE_LIMIT);
    file.lock()
        .unwrap()
        .replace(&stored::print(&book).unwrap())
        .unwrap();
    let (orders, stops) = open(&folder);
    let error = orders
        .stop(&stops, &scope("upstream:a"), "owner", NOW)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are 1000 orders already, and no more are kept"
    );
    assert!(error.remedy().unwrap().starts_with("stop `all`"));
    orders.stop(&stops, &StopScope::All, "owner", NOW).unwrap();
    let (again, _) = open(&folder);
    assert_eq!(
        (again.list().len(), again.problem()),
        (MOST_ORDERS + 1, None)
    );
}

#[test]
fn many_orders_at_once_lose_nothing() {
    let folder = tempdir().unwrap();
    let (orders, stops) = open(&folder);
    let work = |thread: usize| {
        for round in 0..4 {
            let scope = scope(&format!("upstream:{thread}-{round}"));
            orders.stop(&stops, &scope, "owner", NOW).unwrap();
            if round % 2 == 0 {
                orders.resume(&stops, &scope).unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..6 {
            scope.spawn(move || work(thread));
        }
    });
    let expect: Vec<String> = (0..6)
        .flat_map(|thread| [1, 3].map(|round| format!("upstream:{thread}-{round}")))
        .collect();
    assert_eq!(in_force(&stops), expect);
    assert_eq!(in_force(&open(&folder).1), expect);
}
