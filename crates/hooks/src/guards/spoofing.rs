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
mod tests;
