//! Tables for tokens: names, scopes, files, time, and many writers at once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use mcpproxy_core::Operation;
use tempfile::{TempDir, tempdir};

use super::*;

const NOW: Wall = Wall(1_000_000);

fn open(folder: &TempDir) -> Tokens {
    Tokens::open(folder.path()).unwrap()
}

fn create(tokens: &Tokens, name: &str) -> Secret {
    tokens.create(name, TokenScope::default(), NOW).unwrap().0
}

fn names(tokens: &Tokens) -> Vec<String> {
    tokens
        .list()
        .unwrap()
        .into_iter()
        .map(|info| info.name)
        .collect()
}

fn second(count: u64) -> Tick {
    Tick(Duration::from_secs(count))
}

#[test]
fn a_token_is_shown_once_and_only_its_hash_kept() {
    let folder = tempdir().unwrap();
    let tokens = open(&folder);
    let scope = TokenScope {
        upstreams: Some(vec!["github".to_owned()]),
        operations: Some(vec![Operation::Read, Operation::Write]),
        expires: Some(Wall(NOW.0 + 1)),
        audit: false,
    };
    let (secret, info) = tokens.create("ci", scope.clone(), NOW).unwrap();
    assert!(secret.expose().starts_with("mcp_agt_") && secret.expose().len() == 8 + 43);
    assert_eq!(
        info,
        TokenInfo {
            name: "ci".to_owned(),
            scope,
            created: NOW
        }
    );
    let file = folder.path().join("tokens.json");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
        0o600
    );
    let random = secret.expose().strip_prefix("mcp_agt_").unwrap();
    assert!(!fs::read_to_string(&file).unwrap().contains(random));
    assert_eq!(open(&folder).list().unwrap(), std::slice::from_ref(&info));
    assert_eq!(*open(&folder).verify(secret.expose(), NOW).unwrap(), info);
    assert_eq!(format!("{tokens:?}"), "Tokens { count: 1, .. }");
}

#[test]
fn only_a_whole_token_is_accepted() {
    let folder = tempdir().unwrap();
    let tokens = open(&folder);
    let secrets = ["a", "b", "c"].map(|name| (name, create(&tokens, name)));
    for (name, secret) in &secrets {
        let text = secret.expose();
        assert_eq!(tokens.verify(text, NOW).unwrap().name, *name);
        for length in 0..text.len() {
            let shorter: String = text.chars().take(length).collect();
            assert_eq!(tokens.verify(&shorter, NOW), None, "{length}");
        }
        for longer in [format!("{text}x"), format!(" {text}"), text.to_uppercase()] {
            assert_eq!(tokens.verify(&longer, NOW), None);
        }
    }
    for length in 0..300 {
        assert_eq!(tokens.verify(&"x".repeat(length), NOW), None, "{length}");
    }
}

#[test]
fn a_token_ends_when_it_says() {
    let folder = tempdir().unwrap();
    let tokens = open(&folder);
    let scope = TokenScope {
        expires: Some(Wall(NOW.0 + 10)),
        ..TokenScope::default()
    };
    let (secret, _) = tokens.create("brief", scope, NOW).unwrap();
    let check = |millis: u64, expect: bool| {
        let now = Wall(NOW.0 + millis);
        assert_eq!(
            tokens.verify(secret.expose(), now).is_some(),
            expect,
            "{millis}"
        );
        assert_eq!(tokens.find("brief", now).is_some(), expect, "{millis}");
    };
    check(0, true);
    check(9, true);
    check(10, false);
    check(11, false);
}

#[test]
fn wrong_names_and_scopes_are_refused() {
    let folder = tempdir().unwrap();
    let tokens = open(&folder);
    create(&tokens, "taken");
    let check = |name: &str, scope: TokenScope, expect: &str| {
        let error = tokens.create(name, scope, NOW).unwrap_err();
        assert_eq!(error.to_string(), expect);
    };
    let odd = |name: &str| {
        format!("`{name}` is no name for a token: 1 to 64 letters, digits, `_`, `.` and `-` only")
    };
    for (name, printed) in [
        ("", ""),
        ("a b", "a b"),
        ("a\nb", "a\\nb"),
        ("é", "é"),
        ("a/b", "a/b"),
    ] {
        check(name, TokenScope::default(), &odd(printed));
    }
    let long = "x".repeat(65);
    check(&long, TokenScope::default(), &odd(&long));
    check(
        "taken",
        TokenScope::default(),
        "there is a token `taken` already",
    );
    let upstreams = |names: &[&str]| TokenScope {
        upstreams: Some(names.iter().map(|&name| name.to_owned()).collect()),
        ..TokenScope::default()
    };
    let wrong = |reason: &str| format!("the scope of token `x` is wrong: {reason}");
    check("x", upstreams(&[]), &wrong("it names no upstream"));
    check(
        "x",
        upstreams(&["a", "b c"]),
        &wrong("`b c` is no name of an upstream"),
    );
    check(
        "x",
        upstreams(&["a"; 257]),
        &wrong("it names more than 256 upstreams"),
    );
    let none = TokenScope {
        operations: Some(Vec::new()),
        ..TokenScope::default()
    };
    check("x", none, &wrong("it names no operation"));
    assert_eq!(names(&tokens), ["taken"]);
    create(&tokens, &"x".repeat(64));
}

/// Regression for #8: a time in seconds was said to be before the token begins, and nothing more.
#[test]
fn an_end_that_is_over_is_refused_and_one_in_seconds_said_to_be_one() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Tokens::open(dir.path()).unwrap();
    let now = Wall(1_790_000_000_000);
    let check = |expires: u64, expect: Option<&str>| {
        let scope = TokenScope {
            expires: Some(Wall(expires)),
            ..TokenScope::default()
        };
        let made = tokens.create(&format!("t{expires}"), scope, now);
        let said = made.err().map(|fault| fault.to_string());
        let about = format!("the end of token `t{expires}` is wrong: ");
        let expect = expect.map(|reason| format!("{about}{reason}"));
        assert_eq!(said, expect);
    };
    check(1_790_000_000_001, None);
    check(
        1_790_000_000_000,
        Some(
            "`expires` is in the past: 1790000000000 is 2026-09-21T14:13:20.000Z, in milliseconds \
             since 1970",
        ),
    );
    check(
        1_800_000_000,
        Some("`expires` is in milliseconds since 1970, and 1800000000 looks like seconds"),
    );
}

#[test]
fn a_scope_allows_what_it_names() {
    let check = |text: &str, upstream: bool, write: bool| {
        let scope: TokenScope = serde_json::from_str(text).unwrap();
        assert_eq!(scope.allows_upstream("github"), upstream, "{text}");
        assert_eq!(scope.allows_operation(Operation::Write), write, "{text}");
        let printed = serde_json::to_string(&scope).unwrap();
        assert_eq!(serde_json::from_str::<TokenScope>(&printed).unwrap(), scope);
    };
    check("{}", true, true);
    check(
        r#"{"upstreams": null, "operations": null, "expires": null}"#,
        true,
        true,
    );
    check(
        r#"{"upstreams": ["github"], "operations": ["read"]}"#,
        true,
        false,
    );
    check(
        r#"{"upstreams": ["gitlab"], "operations": ["read", "write"]}"#,
        false,
        true,
    );
    check(
        r#"{"upstreams": ["GitHub"], "operations": ["destructive"]}"#,
        false,
        false,
    );
    let nothing = TokenScope::nothing();
    assert!(!nothing.allows_upstream("github") && !nothing.allows_operation(Operation::Read));
}

#[test]
fn a_revoked_token_is_worthless_at_once() {
    let folder = tempdir().unwrap();
    let tokens = open(&folder);
    let [one, two] = ["one", "two"].map(|name| create(&tokens, name));
    assert_eq!(tokens.revoke("one").unwrap().name, "one");
    assert_eq!(tokens.verify(one.expose(), NOW), None);
    assert!(tokens.verify(two.expose(), NOW).is_some());
    let error = tokens.revoke("one").unwrap_err();
    assert_eq!(error.to_string(), "there is no token `one`");
    let again = create(&tokens, "one");
    assert_eq!(tokens.verify(one.expose(), NOW), None);
    assert!(tokens.verify(again.expose(), NOW).is_some());
}

#[test]
fn a_change_by_another_process_is_seen_within_a_second() {
    let folder = tempdir().unwrap();
    let (daemon, cli) = (open(&folder), open(&folder));
    daemon.refresh(second(10));
    let secret = create(&cli, "ci");
    let check = |at: Tick, expect: bool| {
        daemon.refresh(at);
        assert_eq!(
            daemon.verify(secret.expose(), NOW).is_some(),
            expect,
            "{at:?}"
        );
    };
    check(Tick(Duration::from_millis(10_999)), false);
    check(second(11), true);
    cli.revoke("ci").unwrap();
    check(Tick(Duration::from_millis(11_999)), true);
    check(second(12), false);
    let kept = create(&cli, "kept");
    fs::remove_file(folder.path().join("tokens.json")).unwrap();
    daemon.refresh(second(13));
    assert_eq!(daemon.verify(kept.expose(), NOW), None);
    assert_eq!(daemon.problem(), None);
}

#[test]
fn a_torn_file_is_an_error_and_never_an_empty_list() {
    let folder = tempdir().unwrap();
    let tokens = open(&folder);
    create(&tokens, "one");
    create(&tokens, "two");
    let file = folder.path().join("tokens.json");
    let whole = fs::read(&file).unwrap();
    for length in 0..whole.len() - 1 {
        fs::write(&file, &whole[..length]).unwrap();
        let error = Tokens::open(folder.path()).unwrap_err();
        let path = file.display().to_string();
        assert!(
            error
                .to_string()
                .starts_with(&format!("cannot understand `{path}`: "))
        );
        assert!(
            error
                .remedy()
                .unwrap()
                .starts_with(&format!("restore `{path}` from a backup"))
        );
        assert!(tokens.list().is_err() && tokens.revoke("one").is_err());
        assert!(tokens.create("three", TokenScope::default(), NOW).is_err());
        assert_eq!(
            fs::read(&file).unwrap(),
            &whole[..length],
            "it is left as it was"
        );
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(names(&tokens), ["one", "two"]);
}

#[test]
fn a_file_that_breaks_later_closes_the_door_until_it_is_mended() {
    let folder = tempdir().unwrap();
    let tokens = open(&folder);
    let secret = create(&tokens, "ci");
    let file = folder.path().join("tokens.json");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, "{").unwrap();
    tokens.refresh(second(1));
    assert_eq!(tokens.verify(secret.expose(), NOW), None);
    assert!(tokens.problem().unwrap().contains("restore `"));
    fs::write(&file, &whole).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o660)).unwrap();
    tokens.refresh(second(2));
    assert_eq!(tokens.verify(secret.expose(), NOW), None);
    assert!(tokens.problem().unwrap().contains("chmod 600"));
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    tokens.refresh(second(3));
    assert!(tokens.verify(secret.expose(), NOW).is_some());
    assert_eq!(tokens.problem(), None);
}

#[test]
fn a_disk_that_comes_back_unchanged_is_read_again() {
    let home = tempdir().unwrap();
    let [folder, away] = ["data", "away"].map(|name| home.path().join(name));
    fs::create_dir(&folder).unwrap();
    let tokens = Tokens::open(&folder).unwrap();
    let secret = create(&tokens, "ci");
    fs::rename(&folder, &away).unwrap();
    fs::write(&folder, "").unwrap();
    tokens.refresh(second(1));
    assert!(tokens.problem().unwrap().starts_with("cannot read `"));
    assert_eq!(tokens.verify(secret.expose(), NOW), None);
    fs::remove_file(&folder).unwrap();
    fs::rename(&away, &folder).unwrap();
    tokens.refresh(second(2));
    assert_eq!(tokens.problem(), None);
    assert!(tokens.verify(secret.expose(), NOW).is_some());
}

#[test]
fn what_is_not_understood_is_refused() {
    let hash = "0".repeat(64);
    let token = |rest: &str| {
        format!(r#"{{"version":1,"tokens":[{{"name":"a","sha256":"{hash}",{rest}}}]}}"#)
    };
    let check = |text: &str, expect: &str| {
        let reason = stored::parse(text.as_bytes()).err().unwrap_or_default();
        assert!(reason.contains(expect), "{text}: {reason}");
    };
    check(
        "[]",
        "invalid type: sequence, expected an object at line 1 column 0",
    );
    check("[1,[]]", "invalid type: sequence, expected an object");
    check(
        r#"{"version":1,"tokens":[["a"]]}"#,
        "invalid type: sequence, expected an object",
    );
    check(
        &token(r#""created":1,"scope":[null,null,null]"#),
        "sequence, expected an object",
    );
    check("{}", "missing field `version`");
    check(
        r#"{"version":2,"tokens":[]}"#,
        "it has version 2, and only 1 is known",
    );
    check(r#"{"version":1,"tokens":[],"x":1}"#, "unknown field `x`");
    check(
        r#"{"version":1,"tokens":[],"tokens":[]}"#,
        "duplicate field `tokens`",
    );
    check(r#"{"version":1,"tokens":[]} {}"#, "trailing characters");
    check(&token(r#""created":1"#), "missing field `scope`");
    check(
        &token(r#""created":1,"scope":{"upstream":["a"]}"#),
        "unknown field `upstream`",
    );
    check(
        &token(r#""created":1,"scope":{"upstreams":[]}"#),
        "token 1: it names no upstream",
    );
    check(
        &token(r#""created":1,"scope":{"operations":["all"]}"#),
        "unknown variant `all`",
    );
    check(
        &token(r#""created":1,"scope":{"expires":-1}"#),
        "invalid value",
    );
    let good = token(r#""created":1,"scope":{}"#);
    assert_eq!(
        stored::parse(good.as_bytes()).map(|entries| entries.len()),
        Ok(1)
    );
    check(
        &good.replace(&hash, "00"),
        "token 1: `sha256` is not 64 lower-case",
    );
    check(
        &good.replace(r#""a""#, r#""a b""#),
        "token 1: its name is not a valid one",
    );
    let (head, one) = good.split_once('[').unwrap();
    let one = one.strip_suffix("]}").unwrap();
    check(
        &format!("{head}[{one},{one}]}}"),
        "token 2: the name `a` is taken",
    );
    let many = vec![one; MOST_TOKENS + 1].join(",");
    check(&format!("{head}[{many}]}}"), "it has more than 1000 tokens");
}

#[test]
fn many_writers_lose_nothing() {
    let folder = tempdir().unwrap();
    let shared = open(&folder);
    // Each thread has a handle of its own, as another process would, and the shared one.
    let work = |thread: usize| {
        let own = open(&folder);
        for round in 0..4 {
            create(&own, &format!("own-{thread}-{round}"));
            create(&shared, &format!("shared-{thread}-{round}"));
        }
        own.revoke(&format!("shared-{thread}-0")).unwrap();
        own.create("contested", TokenScope::default(), NOW).is_ok()
    };
    let winners: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| usize::from(thread.join().unwrap()))
            .sum()
    });
    assert_eq!(winners, 1);
    let mut expect = vec!["contested".to_owned()];
    for thread in 0..6 {
        expect.extend((0..4).map(|round| format!("own-{thread}-{round}")));
        expect.extend((1..4).map(|round| format!("shared-{thread}-{round}")));
    }
    let mut found = names(&shared);
    found.sort();
    expect.sort();
    assert_eq!(found, expect);
}

#[test]
fn no_more_tokens_are_kept_than_can_be_compared() {
    let folder = tempdir().unwrap();
    let tokens = open(&folder);
    create(&tokens, "first");
    let (entries, _) = read(&tokens.file).unwrap();
    let like = |number: usize| {
        let mut info = TokenInfo::clone(&entries[0].info);
        info.name = format!("t{number}");
        Entry {
            digest: entries[0].digest,
            info: Arc::new(info),
        }
    };
    let many: Vec<Entry> = (0..MOST_TOKENS).map(like).collect();
    tokens
        .file
        .lock()
        .unwrap()
        .replace(&stored::print(&many).unwrap())
        .unwrap();
    let error = tokens
        .create("one-more", TokenScope::default(), NOW)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are 1000 tokens already, and no more are kept"
    );
}

#[test]
fn what_another_gateway_made_is_good_here_until_any_of_them_revokes_it() {
    let (here, there) = (tempdir().unwrap(), tempdir().unwrap());
    let (one, other) = (open(&here), open(&there));
    let secret = create(&one, "ci");
    let made = one.news();
    assert_eq!(one.news().len(), 0);
    assert!(other.verify(secret.expose(), NOW).is_none());
    let told = serde_json::to_vec(&made).unwrap();
    let told: Vec<TokenNews> = serde_json::from_slice(&told).unwrap();
    assert_eq!(other.adopt(told.clone()).unwrap(), Adopted::default());
    assert_eq!(other.verify(secret.expose(), NOW).unwrap().name, "ci");
    // It is in the file, and nothing that was heard is told on.
    assert_eq!(names(&open(&there)), ["ci"]);
    assert_eq!(other.news().len(), 0);
    other.revoke("ci").unwrap();
    let revoked = other.news();
    assert!(one.adopt(revoked.clone()).unwrap().revoked);
    assert!(one.verify(secret.expose(), NOW).is_none());
    // It does not come back, in whatever order it is told.
    one.adopt(made.clone()).unwrap();
    other.adopt(made.clone()).unwrap();
    let late = tempdir().unwrap();
    let late = open(&late);
    late.adopt(revoked.into_iter().chain(made).collect())
        .unwrap();
    for tokens in [&one, &other, &late] {
        assert_eq!(names(tokens), [""; 0]);
    }
    // A name that is taken stays with the token that has it.
    create(&one, "cd");
    let own = create(&other, "cd");
    assert_eq!(other.adopt(one.news()).unwrap().problems.len(), 1);
    assert!(other.verify(own.expose(), NOW).is_some());
}
