//! `server-spoofing-detector`: who an upstream is, beyond its name: the program and the package
//! that are started with what they are made of, or the address that is called and the key that it shows. One that became somebody else waits, and under
//! an allow list so does one that is not on it. Without a list one waits whose name can be taken for
//! that of another.

use mcpproxy_core::{Installed, Trust, UpstreamId};
use mcpproxy_detect::confusable::skeleton;
use serde_json::{Value, json};

use super::likeness::{is_alike, is_disguised};
use super::{fingerprint, show};

/// The id of this guard.
pub const ID: &str = "server-spoofing-detector";

/// The member of an identity that has the pinned keys.
const PINS: &str = "pins";
/// The member that stands for where the program lies.
const SOURCE: &str = "source";
/// The member that has what the program is made of.
const INSTALLED: &str = "installed";

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
    /// The folder that it is started in, where one is given.
    pub working_dir: Option<&'a str>,
    /// The address.
    pub url: Option<&'a str>,
    /// The keys that it may show; without any, those that authorities vouch for.
    pub pins: &'a [String],
    /// What the program is made of, where that is known.
    pub installed: Option<&'a Installed>,
}

/// How an identity differs from the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It is the same one, and more is known of it.
    Known,
    /// It is the same one, made of something else: an upgrade.
    Upgraded(String),
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
            "origin": self.address().map(origin),
            "arguments": fingerprint::digest(&json!([self.args, self.url]).to_string()),
        });
        // Identities from before there were such members have none, and are the same.
        if let Some(members) = identity.as_object_mut() {
            if let Some(source) = self.source() {
                members.insert(SOURCE.to_owned(), json!(source));
            }
            if !pins.is_empty() {
                members.insert(PINS.to_owned(), json!(pins));
            }
            if let Some(installed) = self.installed {
                members.insert(INSTALLED.to_owned(), json!(installed));
            }
        }
        identity
    }

    /// Returns what two upstreams share that are the same program, or live at the same place.
    pub fn origin(&self) -> String {
        let package = mcpproxy_classify::package(self.command, self.args);
        let package = package.map_or("", |(name, _)| name);
        format!(
            "{}|{package}|{}|{}",
            self.command.unwrap_or_default(),
            self.source().unwrap_or_default(),
            self.address().map(host).unwrap_or_default()
        )
    }

    /// Returns where it is reached, also where a bridge is started for that.
    fn address(&self) -> Option<&str> {
        let bridged = || mcpproxy_classify::bridged(self.command, self.args);
        self.url.or_else(bridged)
    }

    /// Returns what stands for the archive or the folder that its program lies in, or for the program
    /// itself where the command line has it: of `python3 server.py` there are many.
    fn source(&self) -> Option<String> {
        let named = || mcpproxy_classify::source(self.command, self.args);
        let source = self.inline().or_else(named);
        match (self.place(), source) {
            (None, source) => source.map(fingerprint::digest),
            (Some(place), source) => {
                let source = source.unwrap_or_default();
                Some(fingerprint::digest(&json!([place, source]).to_string()))
            }
        }
    }

    /// Returns the program that stands in the command line itself, as behind `python3 -c`.
    fn inline(&self) -> Option<&str> {
        let program = program(self.command?);
        if !INTERPRETERS.iter().any(|known| program.starts_with(known)) {
            return None;
        }
        let at = self.args.iter().position(|arg| is_inline(arg))?;
        self.args.get(at + 1).map(String::as_str)
    }

    /// Returns the folder in which a file or module is looked for that the command line names without
    /// one. A module of an installed package is the same wherever it is started.
    fn place(&self) -> Option<&str> {
        let folder = self.working_dir?;
        let command = self.command?;
        let relative = |path: &str| !path.starts_with(['/', '\\', '~']) && !path.contains(":\\");
        let script = |arg: &String| {
            let (_, ending) = arg.rsplit_once('.').unwrap_or_default();
            relative(arg) && (arg.starts_with("./") || SCRIPTS.contains(&ending))
        };
        let packaged = self
            .installed
            .is_some_and(|installed| installed.origin.is_package());
        let module = || {
            let python = program(command).starts_with("python");
            python && !packaged && self.args.iter().any(|arg| arg == "-m")
        };
        let own = command.contains('/') && relative(command);
        let local = own || self.args.iter().any(script) || module();
        local.then_some(folder)
    }
}

/// Programs that run what the command line says, by how their names begin.
const INTERPRETERS: [&str; 14] = [
    "python", "pypy", "node", "bun", "deno", "sh", "bash", "zsh", "dash", "ruby", "perl", "php",
    "pwsh", "Rscript",
];
/// How files end that an interpreter runs.
const SCRIPTS: [&str; 12] = [
    "py", "js", "mjs", "cjs", "ts", "sh", "rb", "pl", "php", "jar", "lua", "R",
];

/// Tells whether an argument says that the next one is a program.
fn is_inline(arg: &str) -> bool {
    let short = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let cluster = short.is_some_and(|rest| rest.len() <= 3 && rest.ends_with(['c', 'e']));
    cluster || ["--eval", "eval", "-Command", "-r"].contains(&arg)
}

/// The last part of a program's path.
fn program(command: &str) -> &str {
    command.rsplit(['/', '\\']).next().unwrap_or(command)
}

/// Returns of an identity what [`Profile::origin`] returns of who has it.
pub fn origin_of(identity: &Value) -> String {
    let text = |key: &str| {
        identity
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (command, package) = (text("command"), text("package"));
    let place = host(text("origin"));
    format!("{command}|{package}|{}|{place}", text(SOURCE))
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

/// How the reason begins why one waits whose name can be taken for that of another.
const ALIKE: &str = "its name can be taken for that of the upstream";

/// Says whose name that of an upstream can be taken for, of those that stand before it. A list of
/// allowed servers says so by itself.
pub(super) fn alike(settings: &Settings, name: &str, standing: &[UpstreamId]) -> Option<String> {
    if settings.allowed_servers.is_some() {
        return None;
    }
    let names = || standing.iter().map(UpstreamId::as_str);
    let place = names().position(|one| one == name);
    let place = place.unwrap_or(standing.len());
    let mut others = names().enumerate().filter(|(_, other)| *other != name);
    let (_, other) = others.find(|(at, other)| {
        // Who writes a letter in another way is not the original, wherever it stands.
        let comes_after = match (is_disguised(name), is_disguised(other)) {
            (true, false) => true,
            (false, true) => false,
            (true, true) | (false, false) => *at < place,
        };
        comes_after && is_alike(name, other)
    })?;
    Some(format!("{ALIKE} `{}`", show::name(other)))
}

/// Tells whether this is why somebody waits.
pub(super) fn is_likeness(reason: &str) -> bool {
    reason.starts_with(ALIKE)
}

/// Tells whether an upstream is on the list of allowed servers.
pub(super) fn is_listed(settings: &Settings, name: &str) -> bool {
    let mut allowed = settings.allowed_servers.iter().flatten();
    allowed.any(|one| one.name == name)
}

fn differs(listed: &Allowed, profile: &Profile<'_>) -> Option<&'static str> {
    let package = mcpproxy_classify::package(profile.command, profile.args);
    // What is installed has a version also where nobody asked for one.
    let installed = profile.installed.filter(|one| one.origin.is_package());
    let fits = |wanted: &str| {
        package.is_some_and(|(name, version)| {
            let own = installed.filter(|one| one.name == name);
            let version = version.or_else(|| own.and_then(|one| one.version.as_deref()));
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
        // The address behind a bridge was not always told apart from its other arguments.
        let untold = key == "origin"
            && old.is_none_or(Value::is_null)
            && before.get("arguments") == after.get("arguments");
        if old != new && !untold {
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
    if before.get("version") != after.get("version") {
        return Moved::Reconfigured("its package has another version".to_owned());
    }
    if is_retold(before, after) {
        return Moved::Reconfigured("its arguments or its address were changed".to_owned());
    }
    match (before.get(INSTALLED), after.get(INSTALLED)) {
        (Some(before), Some(after)) => made_anew(before, after),
        (None, _) | (_, None) => Moved::Known,
    }
}

/// Tells whether the owner told an upstream something else, whatever it is made of.
pub fn is_retold(before: &Value, after: &Value) -> bool {
    let told = |identity: &Value| {
        let mut identity = identity.clone();
        if let Some(members) = identity.as_object_mut() {
            // The digest of the arguments stands for the address and the source, too.
            for member in [INSTALLED, SOURCE, "origin"] {
                members.remove(member);
            }
        }
        identity
    };
    told(before) != told(after)
}

/// Compares what a program is made of with what it was made of. Files of a package belong to its
/// version: where they are others under the same one, somebody changed them.
fn made_anew(before: &Value, after: &Value) -> Moved {
    let text = |value: &Value, key: &str| {
        let text = value.get(key).and_then(Value::as_str);
        show::name(text.unwrap_or("none"))
    };
    let [name, version, digest] =
        ["name", "version", "digest"].map(|key| before.get(key) == after.get(key));
    let file = |value: &Value| text(value, "origin") == "file";
    match (
        name && before.get("origin") == after.get("origin"),
        version,
        digest,
    ) {
        (true, true, true) => Moved::Known,
        (true, true, false) if file(after) => {
            Moved::Upgraded(format!("its file `{}` changed", text(after, "name")))
        }
        (true, true, false) => Moved::Other(format!(
            "the files of its package `{}` changed and its version did not",
            text(after, "name")
        )),
        (true, false, _) => Moved::Upgraded(format!(
            "its package `{}` had version `{}` and has `{}`",
            text(after, "name"),
            text(before, "version"),
            text(after, "version")
        )),
        // Whoever works on a program renames its files.
        (false, ..) if file(before) || file(after) => {
            Moved::Upgraded(format!("it runs `{}` now", text(after, "name")))
        }
        (false, ..) => Moved::Other(format!(
            "it ran the package `{}` and runs `{}`",
            text(before, "name"),
            text(after, "name")
        )),
    }
}

/// Adds what the program was made of where that cannot be seen now: what is not seen did not
/// change.
pub(super) fn remembered(mut identity: Value, before: &Value) -> Value {
    if let (Some(members), Some(installed)) = (identity.as_object_mut(), before.get(INSTALLED))
        && !members.contains_key(INSTALLED)
    {
        members.insert(INSTALLED.to_owned(), installed.clone());
    }
    identity
}

/// Tells whether a move waits for a person.
pub(super) fn waits(moved: &Moved, trust: Trust) -> bool {
    match (moved, trust) {
        (Moved::Known, _)
        | (_, Trust::Auto)
        | (Moved::Reconfigured(_) | Moved::Upgraded(_), Trust::Scan) => false,
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
}
