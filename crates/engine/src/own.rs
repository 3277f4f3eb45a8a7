//! One use of a tool that the agent brings along: what it is, where data would go, and which side
//! data comes from. Commands are read for it; nothing is opened or resolved.
//!
//! Tools behind MCP are in `classes`, and the commands that they are handed in `handed`.

mod edits;
mod logins;
mod orders;
mod ours;
pub(crate) mod paths;
pub(crate) mod relay;
mod strangers;

use std::iter;
use std::sync::Arc;

use mcpproxy_classify::agents::wiring;
use mcpproxy_classify::host::{Place, host, is_metadata, place};
use mcpproxy_classify::shell::{
    self, Access, Analysis, Dialect, Flow, Origin, Reason, Told, Transfer, Unknown, UnknownKind,
    Unparsed,
};
use mcpproxy_classify::{
    self as classify, Class, Classification, Kind, Role, Words, operation, role,
};
use mcpproxy_core::{
    Call, DataOrigin, Destination, Moved, Operation, Owner, Severity, Side, Sink, UpstreamId,
};
use mcpproxy_detect::secrets::names_secret;
use mcpproxy_detect::{Category, Detector};
use mcpproxy_text as text;

use crate::commands::{To, commands};
use crate::facts::arguments;
use crate::ready::Ready;
use ours::Ours;

/// Flows of one command that are judged.
pub(crate) const MOST_MOVES: usize = 32;
/// Programs that are there to publish what they send, to where it belongs.
pub(crate) const PUBLISHERS: [&str; 14] = [
    "git", "gh", "glab", "hg", "svn", "jj", "npm", "pnpm", "yarn", "cargo", "twine", "docker",
    "podman", "helm",
];
/// Where package managers fetch from by themselves.
const REGISTRIES: [&str; 12] = [
    "registry.npmjs.org",
    "pypi.org",
    "crates.io",
    "proxy.golang.org",
    "rubygems.org",
    "packagist.org",
    "formulae.brew.sh",
    "deb.debian.org",
    "conda.anaconda.org",
    "docker.io",
    "registry.terraform.io",
    "static.rust-lang.org",
];
/// What programs tell about the machine that is nobody's secret.
const ABOUT_THE_MACHINE: [&str; 20] = [
    "whoami",
    "id",
    "hostname",
    "uname",
    "groups",
    "who",
    "w",
    "last",
    "users",
    "logname",
    "hostid",
    "ifconfig",
    "ip",
    "netstat",
    "ss",
    "arp",
    "route",
    "git config",
    "locale",
    "getent",
];

/// Where the system keeps what is its own.
const SYSTEM: [&str; 3] = ["/etc", "/run", "/var"];

const UNSEEN: &str = "It could not be seen in time where the paths lead that the tool is given.";
const FILES: &str = "The agent would read or change the files of what guards it.";
const COMMANDS_OF_OURS: &str = "The agent would give orders to what guards it.";
const STOPS: &str = "The agent would stop or take away what guards it.";
const REWIRES: &str =
    "The agent would change its own configuration: which servers and hooks it starts.";

/// One use of an agent's own tool.
#[derive(Debug)]
pub(crate) struct Own {
    role: Option<Role>,
    /// Where data goes.
    pub(crate) sink: Sink,
    /// What it does.
    pub(crate) operation: Option<Operation>,
    /// Which side data comes from.
    pub(crate) side: Side,
    /// What a command would take outside.
    pub(crate) moves: Vec<Moved>,
    /// The addresses that it connects to.
    pub(crate) addresses: Vec<String>,
    /// How it would reach for what guards the agent.
    pub(crate) tampering: Option<&'static str>,
    /// How it would change what the agent starts the next time.
    pub(crate) rewiring: Option<&'static str>,
    /// The kind of file that is read, if it is one that is kept for its secrets.
    pub(crate) credential: Option<Credential>,
    /// The host, where there is one; else the tool.
    name: Arc<str>,
}

/// A kind of file that is kept for its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credential {
    /// The kind, as `aws_credentials`.
    pub(crate) kind: Arc<str>,
    /// How bad it is when its contents leave.
    pub(crate) severity: Severity,
}

impl Own {
    /// Reads a call; nothing if it is not of an agent's own tool.
    pub(crate) fn of(call: &Call, ready: &Ready) -> Option<Self> {
        let hook = call.hook.as_ref()?;
        if hook.owner != Owner::Agent {
            return None;
        }
        let detector = &ready.detector;
        let tool = call.tool.tool.as_str();
        let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        let places = &ready.settings.hooks.own;
        let ours = Ours::of(ready);
        let arguments = &*ours::as_usual(arguments(raw), places);
        let works_in = paths::works_in(arguments, hook.folder.as_deref());
        let unseen = hook.leads.is_none().then_some(UNSEEN);
        let leads = hook.leads.iter().flatten();
        let leads: Vec<Box<str>> = leads
            .map(|lead| ours::as_usual(lead, places).into())
            .collect();
        let leads = leads.as_slice();
        let role = role(tool);
        let bare = Self {
            role,
            sink: Sink::Inside,
            operation: role.map(Role::operation),
            side: Side::Inside,
            moves: Vec::new(),
            addresses: Vec::new(),
            tampering: None,
            rewiring: None,
            credential: None,
            name: tool.into(),
        };
        let own = match role {
            Some(Role::Shell) => bare.shell(tool, arguments, works_in.as_deref(), ready),
            Some(Role::WebFetch | Role::Browser) => Self {
                tampering: opens_ours(arguments, ours).then_some(FILES),
                ..bare.web(arguments)
            },
            Some(Role::WebSearch | Role::Publish) => Self {
                sink: Sink::Outside,
                side: Side::Outside,
                ..bare
            },
            Some(Role::Cloud) => Self {
                sink: Sink::Outside,
                ..bare
            },
            Some(Role::ReadFiles) => Self {
                credential: credential(detector, arguments).or_else(|| {
                    let mut led = leads.iter();
                    led.find_map(|path| credential(detector, path))
                }),
                tampering: paths::given(arguments)
                    .iter()
                    .map(String::as_str)
                    .chain(leads.iter().map(|path| &**path))
                    .any(|path| ours.holds(path))
                    .then_some(FILES),
                ..bare
            },
            Some(Role::WriteFiles | Role::DeleteFiles) => bare.files(arguments, leads, ours),
            // Agents have more shells than anybody has names of, and what is given a command runs it.
            Some(Role::WatchShell) | None if !commands(arguments, To::Any).all.is_empty() => {
                bare.shell(tool, arguments, works_in.as_deref(), ready)
            }
            Some(
                Role::WatchShell
                | Role::StopShell
                | Role::Delegate
                | Role::AskUser
                | Role::Notes
                | Role::CallUpstream,
            ) => bare,
            None => {
                let found = bare.files(arguments, leads, ours);
                let found = found.unknown(call, arguments, &ready.settings.classification);
                Self {
                    rewiring: found.rewiring.filter(|_| !only_reads(tool)),
                    ..found
                }
            }
        };
        Some(Self {
            tampering: own.tampering.or(unseen),
            ..own
        })
    }

    /// Returns the class of an agent's own tool, whatever this use of it does.
    pub(crate) fn class_of(call: &Call) -> Option<Class> {
        let own = call.hook.as_ref()?.owner == Owner::Agent;
        own.then(|| class(role(call.tool.tool.as_str())))
    }

    /// Tells whether it reads something of this machine.
    pub(crate) fn reads(&self) -> bool {
        match self.role {
            Some(Role::ReadFiles) => true,
            Some(Role::Shell) => self.side == Side::Inside && self.sink == Sink::Inside,
            Some(_) | None => false,
        }
    }

    /// Returns where data would go.
    pub(crate) fn destination(&self) -> Destination {
        let class = match (self.sink, class(self.role).kind) {
            (Sink::Outside, _) => "external",
            (Sink::Assumed | Sink::Unproven, _) | (Sink::Inside, Kind::Unknown) => "unknown",
            (Sink::Inside, Kind::Internal | Kind::External | Kind::Hybrid) => "internal",
        };
        Destination {
            sink: self.sink,
            class,
            name: Arc::clone(&self.name),
        }
    }

    /// Returns where data comes from; nothing where it is the user who answers.
    pub(crate) fn origin(&self, call: &Call) -> Option<DataOrigin> {
        if self.role == Some(Role::AskUser) {
            return None;
        }
        let tool = &call.tool.tool;
        Some(DataOrigin {
            call: call.id,
            upstream: UpstreamId::new(match self.side {
                Side::Inside => Arc::from(tool.as_str()),
                Side::Outside => Arc::clone(&self.name),
            }),
            tool: tool.clone(),
            at: call.at,
            side: self.side,
        })
    }

    fn files(mut self, arguments: &str, leads: &[Box<str>], ours: Ours<'_>) -> Self {
        let led = leads.iter().map(ToString::to_string);
        for path in paths::all(arguments).into_iter().chain(led) {
            if ours.holds(&path) {
                self.tampering = Some(FILES);
            }
            if wiring::is_wiring(&path) {
                self.rewiring = Some(REWIRES);
            }
        }
        self
    }

    fn web(mut self, arguments: &str) -> Self {
        let hosts = classify::arguments(arguments).external.into_iter();
        self.addresses = hosts.map(|address| address.host).collect();
        match self.addresses.first() {
            Some(host) => {
                self.name = host.as_str().into();
                (self.sink, self.side) = (Sink::Outside, Side::Outside);
            }
            // An address, and none of them outside.
            None if arguments.contains("://") => {
                let url = text::get(arguments, &["url"]).and_then(|(raw, _)| text::string(raw));
                if url
                    .and_then(|url| host(&url))
                    .is_some_and(|host| is_bare(&host))
                {
                    self.sink = Sink::Unproven;
                }
            }
            None => (self.sink, self.side) = (Sink::Outside, Side::Outside),
        }
        self
    }

    /// A tool that nobody knows sends to the addresses that it is given, and to whom its name says.
    fn unknown(self, call: &Call, arguments: &str, settings: &Classification) -> Self {
        let known = classify::arguments(arguments);
        if known.external.is_empty() {
            let sink = strangers::sink(&call.tool, arguments, settings);
            return Self { sink, ..self };
        }
        let found = self.web(arguments);
        Self {
            sink: Sink::Assumed,
            side: Side::Inside,
            ..found
        }
    }

    fn shell(mut self, tool: &str, arguments: &str, works_in: Option<&str>, ready: &Ready) -> Self {
        let (ours, port) = (Ours::of(ready), ready.settings.hooks.port);
        let detector = ours.detector;
        // Most folders say nothing of what is in them, and a project's own files are its own.
        let telling = works_in.filter(|folder| tells(folder, ours));
        let dialect = if tool.eq_ignore_ascii_case("powershell") {
            Dialect::PowerShell
        } else {
            Dialect::Posix
        };
        let mut fetches = false;
        let mut keeps = false;
        let mut operation = Operation::Read;
        let to = match self.role {
            Some(Role::Shell) => To::Shell,
            _ => To::Any,
        };
        let given = commands(arguments, to);
        // A shell that is given something in no way that is known does something unknown.
        let is_unknown = given.all.is_empty() && arguments.contains('"');
        if is_unknown {
            self.sink = Sink::Assumed;
        }
        if is_unknown || given.cut {
            self.moves.push(unread());
        }
        for command in given.all.into_iter().map(|one| one.text) {
            let analysis = shell::read_in(&command, dialect, telling);
            self.sends(&analysis, port);
            self.moves.extend(moves(&analysis, detector, port));
            if is_cut(&analysis) {
                self.moves.push(unread());
            }
            if self.sink == Sink::Inside && !self.moves.is_empty() {
                self.sink = Sink::Assumed;
            }
            self.tampering = self
                .tampering
                .or_else(|| tampering(&command, &analysis, ours));
            self.rewiring = self.rewiring.or_else(|| rewiring(&command, &analysis));
            let mut read = analysis.reads.iter().map(|access| access.path.as_str());
            self.credential = self
                .credential
                .or_else(|| read.find_map(|path| kept(detector, path)));
            fetches |= answers(&analysis.sends);
            keeps |= !analysis.reads.is_empty();
            operation = operation.max(analysis.operation);
        }
        // The worst are kept, however many come before them.
        self.moves.sort_by_key(|one| (!one.sensitive, one.usual));
        self.moves.truncate(MOST_MOVES);
        self.operation = Some(operation);
        if fetches && !keeps && self.sink != Sink::Inside {
            self.side = Side::Outside;
        }
        self
    }

    /// Notes where a command connects to.
    fn sends(&mut self, analysis: &Analysis, port: Option<u16>) {
        for send in &analysis.sends {
            if send.transfer == Transfer::Listen {
                continue;
            }
            let sink = match &send.host {
                Some(host) if is_registry(send, host) => {
                    if self.sink == Sink::Inside {
                        (self.sink, self.name) = (Sink::Unproven, host.as_str().into());
                    }
                    continue;
                }
                Some(host) if place(host) == Place::Public => Sink::Outside,
                Some(_) if relay::is_relayed(send, port) => Sink::Assumed,
                Some(host) if is_bare(host) => {
                    if self.sink == Sink::Inside {
                        (self.sink, self.name) = (Sink::Unproven, host.as_str().into());
                    }
                    continue;
                }
                Some(_) => continue,
                None => Sink::Assumed,
            };
            if self.sink != Sink::Outside {
                self.sink = sink;
            }
            if let (Some(host), true) = (&send.host, self.addresses.is_empty()) {
                self.name = host.as_str().into();
            }
            let address = send.url.as_ref().or(send.host.as_ref());
            self.addresses.extend(address.cloned());
        }
    }
}

/// Tells whether what a command prints comes from where it connects to: it gets something, or it asks
/// one address and nobody else.
fn answers(sends: &[shell::Send]) -> bool {
    let mut places = sends.iter().map(|send| (&send.host, send.url.is_some()));
    let first = places.next();
    let one = first.is_some_and(|first| first.1 && places.all(|place| place == first));
    one || sends.iter().any(|send| send.transfer == Transfer::Fetch)
}

/// Tells whether packages or images are fetched by their names from where everybody does: nothing else
/// of the command goes there. What is run then may send what it is given, as any program may.
pub(crate) fn is_registry(send: &shell::Send, host: &str) -> bool {
    send.transfer == Transfer::Fetch && send.url.is_none() && REGISTRIES.contains(&host)
}

/// Returns the class of tools of a role.
pub(crate) fn class(role: Option<Role>) -> Class {
    let unknown = || Class::unknown("no agent is known to have this tool");
    role.map_or_else(unknown, Role::class)
}

/// Tells whether the folder in which a command runs says what its files are: one of those that programs
/// or the system keep for themselves, or one from which ours is reached. Every command is asked about, so
/// the parts of the path must do.
fn tells(folder: &str, ours: Ours<'_>) -> bool {
    let hidden = |part: &str| part.len() > 1 && part.starts_with('.') && part != "..";
    folder.split('/').any(hidden)
        || SYSTEM.iter().any(|kept| folder.starts_with(kept))
        || ours.is_near(folder)
}

/// Tells whether a browser is to open one of our files.
fn opens_ours(arguments: &str, ours: Ours<'_>) -> bool {
    let url = text::get(arguments, &["url"]).and_then(|(raw, _)| text::string(raw));
    url.is_some_and(|url| url.starts_with("file:") && ours.holds(&url))
}

/// Tells whether a tool that nobody knows says by its name that it reads.
fn only_reads(tool: &str) -> bool {
    let verb = operation::by_name(&Words::of(tool));
    verb.is_some_and(|verb| verb.operation == Operation::Read)
}

/// Tells whether a command was not read to its end, for its size.
pub(crate) fn is_cut(analysis: &Analysis) -> bool {
    let too_much =
        |unparsed: &Unparsed| matches!(unparsed.reason, Reason::TooLong | Reason::TooDeep);
    let limit = |unknown: &Unknown| unknown.kind == UnknownKind::Limit;
    analysis.unparsed.as_ref().is_some_and(too_much) || analysis.unknown.iter().any(limit)
}

/// What stands for the part of a command that was not read.
pub(crate) fn unread() -> Moved {
    Moved {
        what: "what is past the bounds of reading".into(),
        sensitive: false,
        usual: false,
        to: None,
    }
}

/// Finds out whether a command reaches for what guards the agent.
fn tampering(command: &str, analysis: &Analysis, ours: Ours<'_>) -> Option<&'static str> {
    let touched = analysis.reads.iter().chain(&analysis.writes);
    let mut touched = touched
        .map(|access| access.path.as_str())
        .chain(changed(analysis));
    let handed = analysis.handed.iter();
    let mut handed = handed.filter(|one| ours::opens(one, command));
    if touched.any(|path| ours.holds(path))
        || handed.any(|one| one.paths.iter().any(|path| ours.holds(path)))
    {
        return Some(FILES);
    }
    if gone(analysis).any(|path| ours.goes_with(path))
        || changed(analysis).any(ours::is_program)
        || ours::is_ended(&analysis.told)
    {
        return Some(STOPS);
    }
    let orders = analysis.told.iter().any(orders::is_order);
    orders.then_some(COMMANDS_OF_OURS)
}

/// Finds out whether a command changes what an agent starts.
fn rewiring(command: &str, analysis: &Analysis) -> Option<&'static str> {
    let words: Vec<_> = command.split_whitespace().collect();
    let told = |told: &Told| {
        let words = told.words.iter().map(String::as_str);
        let words: Vec<_> = iter::once(&*told.program).chain(words).collect();
        wiring::rewires(&words)
    };
    let changes = changed(analysis).any(wiring::is_wiring)
        || puts_in_place(analysis)
        || gone(analysis).any(wiring::holds_wiring)
        || wiring::rewires(&words)
        || analysis.told.iter().any(told)
        || analysis.handed.iter().any(edits::is_edit);
    changes.then_some(REWIRES)
}

/// Tells whether a command puts such a file into its folder, `cp settings.json ~/.claude`, or changes
/// whatever it finds there.
fn puts_in_place(analysis: &Analysis) -> bool {
    let mut written = analysis.writes.iter();
    written.any(|written| {
        let mut read = analysis.reads.iter();
        wiring::holds_wiring(&written.path)
            && (written.program == "sed"
                || read.any(|read| {
                    let name = read.path.rsplit('/').next().unwrap_or_default();
                    let whole = [&*written.path, "/", name].concat();
                    read.program == written.program && wiring::is_wiring(&whole)
                }))
    })
}

/// Returns the paths that are not after a command what they were before.
fn changed(analysis: &Analysis) -> impl Iterator<Item = &str> {
    let written = analysis.writes.iter().map(|access| access.path.as_str());
    written.chain(gone(analysis))
}

/// Returns the paths that are no more after a command.
fn gone(analysis: &Analysis) -> impl Iterator<Item = &str> {
    let moved = |access: &&Access| matches!(access.program.as_str(), "mv" | "rename");
    let moved = analysis.reads.iter().filter(moved);
    let gone = analysis.destructive.iter().map(|gone| gone.target.as_str());
    moved.map(|access| access.path.as_str()).chain(gone)
}

/// Tells whether a host is a bare name: a machine nearby, or whatever a search domain makes of it. That
/// is inside for most things, and not for secrets.
fn is_bare(host: &str) -> bool {
    place(host) == Place::Private && !host.contains(['.', ':'])
}

/// Returns what a command would take outside.
pub(crate) fn moves(analysis: &Analysis, detector: &Detector, port: Option<u16>) -> Vec<Moved> {
    let mut found = Vec::new();
    let relayed = |to: &str| {
        let mut sends = analysis.sends.iter();
        sends.any(|send| send.host.as_deref() == Some(to) && relay::is_relayed(send, port))
    };
    for flow in &analysis.flows {
        let (outside, bare) = match flow.to.as_deref() {
            None => (true, false),
            Some(host) if relayed(host) => (true, false),
            Some(host) => match place(host) {
                Place::Public => (true, false),
                Place::Private => (false, is_bare(host)),
                Place::Loopback => (false, false),
            },
        };
        for origin in &flow.from {
            let kept = matches!(origin, Origin::File(_) | Origin::Environment(_));
            let counts = |one: &Moved| outside || (bare && kept && one.sensitive);
            found.extend(moved(origin, flow, detector).filter(counts));
        }
    }
    found
}

fn moved(origin: &Origin, flow: &Flow, detector: &Detector) -> Option<Moved> {
    let program = flow.program.split(' ').next().unwrap_or_default();
    let published = PUBLISHERS.contains(&program);
    let (what, sensitive, usual): (Box<str>, bool, bool) = match origin {
        Origin::File(path) => match kept(detector, path) {
            Some(file) => ((*file.kind).into(), true, false),
            None => ("file".into(), false, published || logins::is_jar(path)),
        },
        Origin::Environment(name) if name == "*" => ("environment".into(), true, false),
        // A service is shown a key in a header: that is what such variables are for. Nobody logs in
        // with what stands in a body or an address.
        Origin::Environment(name) if flow.plain.contains(origin) && names_secret(name) => {
            ("credential in a variable".into(), false, false)
        }
        Origin::Environment(_) => ("variable".into(), false, true),
        Origin::Program(name) if ABOUT_THE_MACHINE.contains(&name.as_str()) => {
            ("machine".into(), false, true)
        }
        Origin::Program(name) if logins::is_own(name, origin, flow) => {
            ("login of its service".into(), false, true)
        }
        Origin::Program(name) => {
            let first = name.split(' ').next().unwrap_or_default();
            (first.into(), true, false)
        }
        Origin::Remote(host) if is_metadata(host) => ("instance credentials".into(), true, false),
        // What a machine inside answers is as private as a file.
        Origin::Remote(host) if place(host) == Place::Private => {
            (format!("answer of {host}").into(), false, false)
        }
        Origin::Remote(_) => return None,
    };
    Some(Moved {
        what,
        sensitive,
        usual,
        to: flow.to.as_deref().map(Into::into),
    })
}

/// Returns the kind of file that a path of a command leads to, if one is kept there for its secrets:
/// the path of a file, a folder, or a pattern.
fn kept(detector: &Detector, path: &str) -> Option<Credential> {
    // A folder is named without the slash that makes it one.
    let folder = || credential(detector, &[path, "/"].concat());
    credential(detector, path).or_else(folder).or_else(|| {
        let held = detector.held(path)?;
        (held.severity >= Severity::High).then(|| Credential {
            kind: held.kind.into(),
            severity: held.severity,
        })
    })
}

/// Returns the kind of file that a text names, if it is one that is kept for its secrets.
fn credential(detector: &Detector, named: &str) -> Option<Credential> {
    let report = detector.text(named);
    let found = report.detections.iter().map(|found| &found.detection);
    let worst = found
        .filter(|one| one.category == Category::SensitiveFile && one.severity >= Severity::High)
        .max_by_key(|one| one.severity)?;
    Some(Credential {
        kind: Arc::from(&*worst.kind),
        severity: worst.severity,
    })
}
