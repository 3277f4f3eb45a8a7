//! Upstreams that are what they say, and those that are not.

use mcpproxy_core::Origin;

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(ToOwned::to_owned).collect()
}

fn identity(line: &str) -> Value {
    let words = words(line);
    let profile = match words.as_slice() {
        [url] => Profile {
            url: Some(url),
            ..Profile::default()
        },
        [command, args @ ..] => Profile {
            command: Some(command),
            args,
            ..Profile::default()
        },
        [] => Profile::default(),
    };
    profile.identity()
}

#[test]
fn another_program_is_another_upstream_and_another_argument_is_not() {
    let check = |before: &str, after: &str, other: bool| {
        let moved = compare(&identity(before), &identity(after));
        assert_eq!(matches!(moved, Moved::Other(_)), other, "{moved:?}");
    };
    check("npx -y some-mcp", "npx -y some-mcp --all", false);
    check("npx -y some-mcp@1.0.15", "npx -y some-mcp@1.0.16", false);
    check("npx -y some-mcp", "npx -y some-mpc", true);
    check("npx -y some-mcp", "/var/tmp/npx -y some-mcp", true);
    check(
        "https://mcp.example.com/a",
        "https://mcp.example.com/b",
        false,
    );
    check(
        "https://mcp.example.com/a",
        "https://mcp.example.net/a",
        true,
    );
    check("https://mcp.example.com", "http://mcp.example.com", true);
    check(
        "npx -y mcp-remote https://mail.example/mcp",
        "npx -y mcp-remote https://evil.example/mcp",
        true,
    );
    check(
        "npx -y mcp-remote https://mail.example/mcp",
        "npx -y mcp-remote https://mail.example/mcp --debug",
        false,
    );
    // As it was kept before the address behind a bridge was.
    let now = identity("npx -y mcp-remote https://mail.example/mcp");
    let mut before = now.clone();
    before["origin"] = Value::Null;
    assert_eq!(compare(&before, &now), Moved::Known);
}

#[test]
fn two_are_of_one_origin_where_they_are_the_same_program_or_at_one_place() {
    let origin = |line: &str| origin_of(&identity(line));
    let check = |one: &str, other: &str, same: bool| {
        assert_eq!(origin(one) == origin(other), same, "{one} {other}");
        let words = words(one);
        if let [command, args @ ..] = words.as_slice()
            && !args.is_empty()
        {
            let profile = Profile {
                command: Some(command),
                args,
                ..Profile::default()
            };
            assert_eq!(profile.origin(), origin(one));
        }
    };
    check("npx fs-mcp /a", "npx fs-mcp /b", true);
    check("npx @good/mail", "npx @evil/x", false);
    check("java -jar a.jar /x", "java -jar a.jar /y", true);
    check("java -jar a.jar", "java -jar b.jar", false);
    check("go run example.com/good", "go run example.com/evil", false);
    check(
        "uv --directory /srv/mail run server.py",
        "uv --directory /srv/evil run server.py",
        false,
    );
    check(
        "npx -y mcp-remote https://mail.example/mcp",
        "npx -y mcp-remote https://evil.example/mcp",
        false,
    );
    check(
        "npx -y mcp-remote https://mail.example/mcp",
        "npx -y mcp-remote https://mail.example/other",
        true,
    );
}

#[test]
fn another_pinned_key_is_another_upstream_and_the_first_pin_is_not() {
    let identity = |pins: &[&str]| {
        let pins: Vec<_> = pins.iter().map(|pin| format!("sha256/{pin}")).collect();
        let profile = Profile {
            url: Some("https://mcp.example.com/a"),
            pins: &pins,
            ..Profile::default()
        };
        profile.identity()
    };
    let check = |before: &[&str], after: &[&str], other: bool| {
        let moved = compare(&identity(before), &identity(after));
        assert_eq!(matches!(moved, Moved::Other(_)), other, "{moved:?}");
    };
    check(&[], &["a"], false);
    check(&["a"], &["b"], true);
    check(&["a"], &["a", "b"], true);
    check(&["a"], &[], true);
    assert_eq!(identity(&["a", "b"]), identity(&["b", "a"]));
    let old = json!({ "origin": "https://mcp.example.com" });
    assert!(identity(&[]).get(PINS).is_none() && old.get(PINS).is_none());
}

fn made(origin: Origin, name: &str, version: &str, digest: &str) -> Installed {
    Installed {
        origin,
        name: name.to_owned(),
        version: Some(version.to_owned()),
        digest: Some(digest.to_owned()),
    }
}

fn identity_of(args: &[String], installed: Option<&Installed>) -> Value {
    let profile = Profile {
        command: Some("npx"),
        args,
        installed,
        ..Profile::default()
    };
    profile.identity()
}

#[test]
fn files_that_change_without_a_new_version_are_somebody_else_s() {
    use Origin::{File, Npm, Pypi};
    let args = words("-y sums-mcp");
    let check = |before: &Installed, after: &Installed, expect: &str| {
        let before = identity_of(&args, Some(before));
        let moved = compare(&before, &identity_of(&args, Some(after)));
        let found = match &moved {
            Moved::Known => "known",
            Moved::Upgraded(_) => "upgraded",
            Moved::Reconfigured(_) => "reconfigured",
            Moved::Other(_) => "other",
        };
        assert_eq!(found, expect, "{moved:?}");
    };
    let one = made(Npm, "sums-mcp", "1.0.15", "a");
    check(&one, &made(Npm, "sums-mcp", "1.0.16", "b"), "upgraded");
    check(&one, &made(Npm, "sums-mcp", "1.0.15", "b"), "other");
    check(&one, &made(Npm, "evil-mcp", "1.0.15", "a"), "other");
    check(&one, &made(Pypi, "sums-mcp", "1.0.15", "a"), "other");
    let undigested = Installed {
        digest: None,
        ..one.clone()
    };
    check(&one, &undigested, "other");
    let own = made(File, "server.py", "", "a");
    check(&own, &made(File, "server.py", "", "b"), "upgraded");
    check(&own, &made(File, "main.py", "", "b"), "upgraded");
    check(&own, &one, "upgraded");
}

#[test]
fn what_is_not_seen_did_not_change_and_what_is_seen_first_is_no_news() {
    let args = words("-y sums-mcp");
    let one = made(Origin::Npm, "sums-mcp", "1", "a");
    let (bare, known) = (identity_of(&args, None), identity_of(&args, Some(&one)));
    assert_eq!(compare(&bare, &known), Moved::Known);
    assert_eq!(remembered(bare.clone(), &known), known);
    assert_eq!(remembered(known.clone(), &bare), known);
    assert!(!is_retold(&bare, &known));
    let other = identity_of(&words("-y sums-mcp --all"), Some(&one));
    assert!(is_retold(&known, &other));
    assert!(matches!(compare(&known, &other), Moved::Reconfigured(_)));
}

#[test]
fn an_allow_list_can_name_the_version_that_is_installed() {
    let settings = Settings {
        allowed_servers: Some(vec![Allowed {
            name: "sums".to_owned(),
            package: Some("sums-mcp@1".to_owned()),
            ..Allowed::default()
        }]),
    };
    let check = |line: &str, installed: Option<&Installed>, let_in: bool| {
        let args = words(line);
        let profile = Profile {
            command: Some("npx"),
            args: &args,
            installed,
            ..Profile::default()
        };
        let found = judge(&settings, "sums", &profile);
        assert_eq!(found.is_none(), let_in, "{line} {installed:?}");
    };
    let made = |name: &str, version: &str| made(Origin::Npm, name, version, "a");
    check("-y sums-mcp", Some(&made("sums-mcp", "1")), true);
    check("-y sums-mcp", Some(&made("sums-mcp", "2")), false);
    check("-y sums-mcp", None, false);
    check("-y sums-mcp@1", None, true);
    check("-y evil-mcp", Some(&made("sums-mcp", "1")), false);
}

#[test]
fn programs_that_are_called_alike_are_told_apart_by_where_and_what_they_are() {
    let package = Installed {
        origin: Origin::Pypi,
        name: "server".to_owned(),
        version: None,
        digest: None,
    };
    let origin = |line: &[&str], folder: &str, installed| {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let (command, args) = words.split_first().unwrap();
        let profile = Profile {
            command: Some(command),
            args,
            working_dir: Some(folder),
            installed,
            ..Profile::default()
        };
        assert_eq!(origin_of(&profile.identity()), profile.origin());
        profile.origin()
    };
    let check = |line: &[&str], installed, same: bool| {
        let [one, other] = ["/srv/a", "/srv/b"].map(|folder| origin(line, folder, installed));
        assert_eq!(one == other, same, "{line:?}");
        assert_eq!(one, origin(line, "/srv/a", installed));
    };
    check(&["python3", "server.py", "--all"], None, false);
    check(&["node", "./dist/index.js"], None, false);
    check(&["./server"], None, false);
    check(&["python3", "-m", "server"], None, false);
    // A package is the same wherever it is started, and so is what is named with its folder.
    check(&["python3", "-m", "server"], Some(&package), true);
    check(&["npx", "-y", "fs-mcp"], None, true);
    check(&["python3", "/opt/server.py"], None, true);
    for program in [["python3", "-c"], ["sh", "-c"], ["node", "-e"]] {
        let [one, other] = ["a", "b"].map(|text| {
            let line = [program[0], program[1], text];
            origin(&line, "/srv", None)
        });
        assert_ne!(one, other, "{program:?}");
    }
}

#[test]
fn an_identity_remembers_what_upstreams_share() {
    let words = words("-y some-mcp@1 --all");
    for profile in [
        Profile {
            command: Some("npx"),
            args: &words,
            ..Profile::default()
        },
        Profile {
            url: Some("https://u:p@mcp.example.com:8443/a?b"),
            ..Profile::default()
        },
        Profile::default(),
    ] {
        assert_eq!(origin_of(&profile.identity()), profile.origin());
    }
}

#[test]
fn credentials_do_not_get_into_an_identity() {
    let word = ["made", "up", "word"].concat();
    for line in [
        format!("npx -y some-mcp --key {word}"),
        format!("https://u:{word}@mcp.example.com/{word}?k={word}"),
    ] {
        let identity = identity(&line).to_string();
        assert!(!identity.contains(&word), "{identity}");
    }
}

#[test]
fn names_that_can_be_taken_for_another_are_found_and_honest_ones_are_not() {
    let found = |names: &[&str]| -> Vec<String> {
        let standing: Vec<_> = names.iter().map(|name| UpstreamId::new(*name)).collect();
        let waits = |name: &&&str| alike(&Settings::default(), name, &standing).is_some();
        let waiting = names.iter().filter(waits);
        waiting.map(|name| (*name).to_owned()).collect()
    };
    let check = |original: &str, other: &str| {
        assert_eq!(found(&[original, other]), [other]);
        let second = if is_disguised(other) { other } else { original };
        assert_eq!(found(&[other, original]), [second]);
    };
    for other in [
        "githuub",
        "githud",
        "gitthub",
        "gihtub",
        "g1thub",
        "glthub",
        "GitHub",
        "g\u{456}thub",
    ] {
        check("github", other);
    }
    for (original, other) in [
        ("ledger", "1edger"),
        ("ledger", "Iedger"),
        ("office", "0ffice"),
    ] {
        check(original, other);
    }
    for honest in [
        &["github", "github2", "github1", "github11", "github10"][..],
        &["db1", "db2", "db11", "db"],
        &["files", "file-search", "file"],
        &["slack", "slack-eu", "slack-us", "slack-1-eu", "slack-11-eu"],
        &["mail", "mall", "main", "maill"],
        &["api", "aip"],
        &["prod", "prod-db"],
    ] {
        assert_eq!(found(honest), [""; 0], "{honest:?}");
    }
    // Everybody else is a stranger under a list.
    let listed = Settings {
        allowed_servers: Some(Vec::new()),
    };
    let standing = ["github", "githuub"].map(UpstreamId::new);
    assert_eq!(alike(&listed, "githuub", &standing), None);
}

#[test]
fn an_allow_list_lets_in_who_is_what_it_says() {
    let settings = Settings {
        allowed_servers: Some(vec![
            Allowed {
                name: "github".to_owned(),
                package: Some("@a/github".to_owned()),
                ..Allowed::default()
            },
            Allowed {
                name: "pay".to_owned(),
                url: Some("https://pay.example.com/mcp".to_owned()),
                ..Allowed::default()
            },
        ]),
    };
    let check = |name: &str, line: &str, expect: Option<&str>| {
        let words = words(line);
        let profile = match words.as_slice() {
            [url] => Profile {
                url: Some(url),
                ..Profile::default()
            },
            [command, args @ ..] => Profile {
                command: Some(command),
                args,
                ..Profile::default()
            },
            [] => Profile::default(),
        };
        let found = judge(&settings, name, &profile);
        match expect {
            None => assert_eq!(found, None, "{name} {line}"),
            Some(expect) => assert!(found.clone().unwrap().contains(expect), "{found:?}"),
        }
    };
    check("github", "npx @a/github@2 --x", None);
    check("github", "npx @b/github", Some("its package"));
    check("g1thub", "npx @b/github", Some("not on the list"));
    check(
        "GitHub",
        "npx @a/github",
        Some("reads like the allowed server `github`"),
    );
    check("pay", "https://pay.example.com/mcp?x=1", None);
    check(
        "pay",
        "https://pay.example.com.evil.example/mcp",
        Some("its address"),
    );
    check("pay", "https://pay.example.com/mcp2", Some("its address"));
    let pinned = Settings {
        allowed_servers: Some(vec![Allowed {
            name: "pay".to_owned(),
            pin: Some("sha256/a".to_owned()),
            ..Allowed::default()
        }]),
    };
    for (pins, expect) in [
        (vec!["sha256/a"], false),
        (vec![], true),
        (vec!["sha256/b"], true),
        (vec!["sha256/a", "sha256/b"], true),
    ] {
        let pins: Vec<_> = pins.into_iter().map(ToOwned::to_owned).collect();
        let profile = Profile {
            pins: &pins,
            ..Profile::default()
        };
        let found = judge(&pinned, "pay", &profile);
        assert_eq!(found.is_some(), expect, "{pins:?} {found:?}");
    }
    let open = Settings::default();
    assert_eq!(super::judge(&open, "any", &Profile::default()), None);
}
