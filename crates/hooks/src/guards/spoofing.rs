//! `server-spoofing-detector`: who an upstream is, beyond its name: the program and the package
//! that are started, or the address that is called and the key that it shows. One that became somebody else waits, and under
//! an allow list so does one that is not on it.

use mcpproxy_core::Trust;
use mcpproxy_detect::confusable::skeleton;
use serde_json::{Value, json};

use super::{fingerprint, show};

/// The id of this guard.
pub const ID: &str = "server-spoofing-detector";

/// The member of an identity that has the pinned keys.
const PINS: &str = "pins";

/// What the guard is told by the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The upstreams that are let in; nothing lets in all that are configured.
    pub allowed_servers: Option<Vec<Allowed>>,
}

/// An upstream that is let in: everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Its name.
    pub name: String,
    /// The program.
    pub command: Option<String>,
    /// The package, with or without a version.
    pub package: Option<String>,
    /// The address, or what it begins with up to a slash.
    pub url: Option<String>,
    /// The key that it must be pinned to.
    pub pin: Option<String>,
}

/// How an upstream is started or reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Profile<'a> {
    /// The program.
    pub command: Option<&'a str>,
    /// The program's arguments.
    pub args: &'a [String],
    /// The address.
    pub url: Option<&'a str>,
    /// The keys that it may show; without any, those that authorities vouch for.
    pub pins: &'a [String],
}

/// How an identity differs from the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It is the same one, told something else.
    Reconfigured(String),
    /// It is another one.
    Other(String),
}

impl Profile<'_> {
    /// Returns who the upstream is. Arguments and paths may hold credentials: only their digest is
    /// kept.
    pub fn identity(&self) -> Value {
        let package = mcpproxy_classify::package(self.command, self.args);
        let mut pins = self.pins.to_vec();
        pins.sort_unstable();
        let mut identity = json!({
            "command": self.command,
            "package": package.map(|(name, _)| name),
            "version": package.and_then(|(_, version)| version),
            "origin": self.url.map(origin),
            "arguments": fingerprint::digest(&json!([self.args, self.url]).to_string()),
        });
        // Identities from before there were pins have no such member, and are the same.
        if let (Some(members), false) = (identity.as_object_mut(), pins.is_empty()) {
            members.insert(PINS.to_owned(), json!(pins));
        }
        identity
    }

    /// Returns what two upstreams share that are the same program, or live at the same place.
    pub fn origin(&self) -> String {
        let package = mcpproxy_classify::package(self.command, self.args);
        let package = package.map_or("", |(name, _)| name);
        format!(
            "{}|{package}|{}",
            self.command.unwrap_or_default(),
            self.url.map(host).unwrap_or_default()
        )
    }
}

/// Says why an upstream is not let in, if it is not.
pub(super) fn judge(settings: &Settings, name: &str, profile: &Profile<'_>) -> Option<String> {
    let allowed = settings.allowed_servers.as_ref()?;
    if let Some(listed) = allowed.iter().find(|one| one.name == name) {
        let differs = differs(listed, profile)?;
        return Some(format!(
            "its {differs} is not the one on the list of allowed servers"
        ));
    }
    let reads = skeleton(name);
    let like = allowed.iter().find(|one| skeleton(&one.name) == reads);
    Some(match like {
        Some(like) => format!(
            "its name reads like the allowed server `{}`",
            show::name(&like.name)
        ),
        None => "it is not on the list of allowed servers".to_owned(),
    })
}

fn differs(listed: &Allowed, profile: &Profile<'_>) -> Option<&'static str> {
    let package = mcpproxy_classify::package(profile.command, profile.args);
    let fits = |wanted: &str| {
        package.is_some_and(|(name, version)| {
            wanted == name || version.is_some_and(|version| wanted == format!("{name}@{version}"))
        })
    };
    if listed
        .command
        .as_deref()
        .is_some_and(|command| profile.command != Some(command))
    {
        return Some("command");
    }
    if listed
        .package
        .as_deref()
        .is_some_and(|package| !fits(package))
    {
        return Some("package");
    }
    let url = profile.url.unwrap_or_default();
    let begins = |wanted: &str| {
        let rest = url.strip_prefix(wanted);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(['/', '?']) || wanted.ends_with('/')
        })
    };
    if listed.url.as_deref().is_some_and(|wanted| !begins(wanted)) {
        return Some("address");
    }
    let only = |pin: &String| profile.pins == std::slice::from_ref(pin);
    if listed.pin.as_ref().is_some_and(|pin| !only(pin)) {
        return Some("pinned key");
    }
    None
}

/// Compares two identities of one name.
pub(super) fn compare(before: &Value, after: &Value) -> Moved {
    let names = [
        ("command", "program"),
        ("package", "package"),
        ("origin", "address"),
    ];
    for (key, what) in names {
        let (old, new) = (before.get(key), after.get(key));
        if old != new {
            let word = |value: Option<&Value>| {
                let text = value.and_then(Value::as_str).unwrap_or("none");
                show::name(text)
            };
            let reason = format!("its {what} was `{}` and is `{}`", word(old), word(new));
            return Moved::Other(reason);
        }
    }
    // Whoever is pinned for the first time is held to more than before.
    if before.get(PINS).is_some() && before.get(PINS) != after.get(PINS) {
        let what = match after.get(PINS) {
            Some(_) => "other keys are pinned for it than before",
            None => "its key is not pinned any more",
        };
        return Moved::Other(what.to_owned());
    }
    let what = if before.get("version") == after.get("version") {
        "its arguments or its address were changed".to_owned()
    } else {
        "its package has another version".to_owned()
    };
    Moved::Reconfigured(what)
}

/// Tells whether a move waits for a person.
pub(super) fn waits(moved: &Moved, trust: Trust) -> bool {
    match (moved, trust) {
        (_, Trust::Auto) | (Moved::Reconfigured(_), Trust::Scan) => false,
        (Moved::Other(_), Trust::Scan) | (_, Trust::Manual) => true,
    }
}

/// The scheme, host and port of an address, without credentials.
fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let place = rest.get(..end).unwrap_or_default();
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    format!("{scheme}://{place}").to_lowercase()
}

/// The host of an address.
fn host(url: &str) -> String {
    let origin = origin(url);
    let place = origin.split_once("://").map_or("", |(_, place)| place);
    match place.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host.to_owned(),
        _ => place.to_owned(),
    }
}

#[cfg(test)]
mod tests {
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
}
