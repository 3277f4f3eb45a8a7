//! `hook evaluate`: the agent's payload in, the gateway asked, the agent's own protocol out.
//!
//! No configuration is read, nothing is logged and no runtime is started. Whatever goes wrong, the
//! agent gets an answer in time.

mod exchange;
mod input;
mod journal;
mod wait;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mcpproxy_agents::hook::{CANARY, HookAgent, HookEvent, MAX_PAYLOAD, Reply, read, reply};
use mcpproxy_core::{Action, Clock as _, GAPS, Gap, GapCause, Phase, SystemClock};
use serde::Deserialize;

use crate::SOCKET;

/// The time there is for everything; agents give up after five seconds.
const DEADLINE: Duration = Duration::from_secs(2);
/// The length from which on a payload may not pass because the gateway was late: looking at it takes
/// the longer the longer it is, and whoever wants to be late can make it long.
const LONG: usize = 64 * 1024;

/// How a hook is to be answered.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// The event, as the agent calls it; what the payload says counts more.
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,
    /// The agent, as `claude-code`; known from the payload if not given.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The gateway's socket; `MCPPROXY_SOCKET` if not given, else the one in the data folder.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Let the tool be used if the gateway cannot be asked; this is the default.
    #[arg(long, conflicts_with = "fail_closed")]
    pub fail_open: bool,
    /// Do not let the tool be used if the gateway cannot be asked.
    #[arg(long)]
    pub fail_closed: bool,
    /// Say nothing where there is nothing against the use of the tool.
    #[arg(long)]
    pub quiet_allow: bool,
    /// The folder in which word is left; set by `--data-dir`.
    #[arg(skip)]
    pub data_dir: Option<PathBuf>,
}

/// Runs `hook evaluate` if that is all that was asked for; nothing for the other commands, and for
/// what somebody with better words has to explain.
pub fn early(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != "hook" || args.next()? != "evaluate" {
        return None;
    }
    let options = Options::parse(args)?;
    Some(ExitCode::from(run(&options)))
}

/// Returns the socket at which an installed command asks, by the words behind `hook evaluate`.
pub fn socket_of(words: &[String]) -> Option<PathBuf> {
    let options = Options::parse(words.iter().map(OsString::from))?;
    Some(options.socket())
}

impl Options {
    fn parse(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut options = Self::default();
        while let Some(arg) = args.next() {
            let arg = arg.into_string().ok()?;
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (arg.as_str(), None),
            };
            let switch = inline.is_none();
            match name {
                "--fail-open" if switch => options.fail_open = true,
                "--fail-closed" if switch => options.fail_closed = true,
                "--quiet-allow" if switch => options.quiet_allow = true,
                "--event" => {
                    options.event = Some(inline.or_else(|| args.next())?.into_string().ok()?);
                }
                "--agent" => {
                    options.agent = Some(inline.or_else(|| args.next())?.into_string().ok()?);
                }
                "--socket" => options.socket = Some(inline.or_else(|| args.next())?.into()),
                "--data-dir" | "-d" => {
                    options.data_dir = Some(inline.or_else(|| args.next())?.into());
                }
                _ => return None,
            }
        }
        if options.fail_open && options.fail_closed {
            return None;
        }
        let known = |name: &String| HookAgent::from_name(name).is_some();
        options.agent.as_ref().is_none_or(known).then_some(options)
    }

    /// Returns the folder of state, as the other commands find it but for the configuration; where
    /// only a socket is named, it is beside that.
    fn folder(&self, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
        let home = || variable("HOME").map(PathBuf::from).unwrap_or_default();
        // No shell has read the command of a project's file for us: it is quoted there.
        let given = self.data_dir.clone().map(|folder| {
            let below = folder.strip_prefix("~").map(|rest| home().join(rest));
            below.unwrap_or(folder)
        });
        let given = given.or_else(|| variable("MCPPROXY_DATA_DIR").map(PathBuf::from));
        let beside = || {
            let named = || variable("MCPPROXY_SOCKET").map(PathBuf::from);
            let socket = self.socket.clone().or_else(named)?;
            socket.parent().map(PathBuf::from)
        };
        given
            .or_else(beside)
            .unwrap_or_else(|| home().join(".mcpproxy"))
    }

    /// Returns the socket. What the command says comes first: a project may set variables, and must
    /// not choose who is asked.
    fn socket(&self) -> PathBuf {
        let given = self.data_dir.as_ref();
        let named = || given.map(|_| self.folder(variable).join(SOCKET));
        let given = self.socket.clone().or_else(named);
        let given = given.or_else(|| variable("MCPPROXY_SOCKET").map(PathBuf::from));
        given.unwrap_or_else(|| self.folder(variable).join(SOCKET))
    }

    /// Says who asks, under which name, and what is answered without the gateway if it is late.
    fn query(&self, name: &str, late: Action) -> String {
        let pair = |name: &str, value: &Option<String>| {
            let value = value.as_deref()?;
            let plain = value
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            plain.then(|| format!("{name}={value}"))
        };
        let late = match late {
            Action::Deny => Some("late=deny".to_owned()),
            Action::Allow | Action::Warn | Action::Ask => None,
        };
        let pairs = [
            pair("agent", &self.agent),
            pair("event", &self.event),
            Some(format!("asked={name}")),
            late,
        ];
        let pairs: Vec<_> = pairs.into_iter().flatten().collect();
        pairs.join("&")
    }
}

/// Returns a variable of the environment; an empty one is none.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The gateway's answer.
#[derive(Deserialize)]
struct Envelope {
    data: Ruling,
}

#[derive(Deserialize)]
struct Ruling {
    decision: Action,
    #[serde(default)]
    warning: bool,
    reason: Option<String>,
    agent: Option<String>,
    event: Option<String>,
    #[serde(default)]
    event_name: String,
}

impl Ruling {
    /// Tells whether the gateway denied because the payload did not say what was about to happen.
    fn is_of_nothing(&self) -> bool {
        self.decision == Action::Deny && self.event.is_none()
    }
}

/// Answers one hook and returns the exit code.
pub fn run(options: &Options) -> u8 {
    let deadline = Instant::now() + DEADLINE;
    let Ok(payload) = input::read(deadline) else {
        return say(&given_up(options, &[], GapCause::Malformed, None));
    };
    if payload.len() > MAX_PAYLOAD {
        return say(&given_up(options, &[], GapCause::TooLarge, None));
    }
    let name = question();
    let late = alone(options, GapCause::Slow, &payload);
    let query = options.query(&name, late);
    let asked = exchange::ask(&options.socket(), &query, &payload, deadline);
    let ruling = asked.and_then(|answer| match answer.status {
        200 => {
            let envelope = serde_json::from_slice::<Envelope>(&answer.body);
            let envelope = envelope.map_err(|_| GapCause::Garbled)?;
            if envelope.data.is_of_nothing() {
                return Err(GapCause::Malformed);
            }
            Ok(envelope)
        }
        400 => Err(GapCause::Malformed),
        413 => Err(GapCause::TooLarge),
        _ => Err(GapCause::Garbled),
    });
    say(&match ruling {
        Ok(envelope) => answered(options, &envelope.data),
        Err(cause) => given_up(options, &payload, cause, Some(name)),
    })
}

/// Names a question, unlike any other of this machine.
fn question() -> String {
    let (process, now) = (std::process::id(), SystemClock::start().wall().0);
    format!("{process}-{now}")
}

/// Returns what is answered where the gateway does not, to a question whether a tool may be used.
fn alone(options: &Options, cause: GapCause, payload: &[u8]) -> Action {
    if options.fail_closed || may_be_made(cause, payload) {
        Action::Deny
    } else {
        Action::Allow
    }
}

/// Puts a ruling into the agent's own words.
fn answered(options: &Options, ruling: &Ruling) -> Reply {
    let agent = ruling.agent.as_deref().and_then(HookAgent::from_name);
    let event = ruling.event.as_deref().and_then(HookEvent::from_name);
    let (Some(agent), Some(event)) = (agent, event) else {
        if ruling.decision == Action::Deny {
            return given_up(options, &[], GapCause::Garbled, None);
        }
        // An event in which we take no part.
        return Reply::default();
    };
    let action = match (ruling.decision, ruling.warning) {
        (Action::Allow, true) => Action::Warn,
        (decision, _) => decision,
    };
    let reason = ruling.reason.as_deref().unwrap_or_default();
    let quiet = options.quiet_allow;
    reply(agent, event, &ruling.event_name, action, reason, quiet)
}

/// Answers without the gateway, and leaves word of it, with the name under which it was asked.
fn given_up(options: &Options, payload: &[u8], cause: GapCause, name: Option<String>) -> Reply {
    let told = options.agent.as_deref().and_then(HookAgent::from_name);
    let asked = read(payload, told, options.event.as_deref()).ok();
    let agent = asked.as_ref().map(|asked| asked.agent).or(told);
    let agent = agent.unwrap_or(HookAgent::ClaudeCode);
    let named = options.event.as_deref().and_then(HookEvent::from_name);
    let event = asked.as_ref().map(|asked| asked.event).or(named);
    let event = event.unwrap_or(HookEvent::Pre);
    let called = asked.as_ref().map(|asked| asked.event_name.clone());
    let called = called.or_else(|| options.event.clone());
    let called = called.unwrap_or_else(|| event.name().to_owned());
    let gate = matches!(event, HookEvent::Pre | HookEvent::Permission);
    let decision = if gate {
        alone(options, cause, payload)
    } else {
        Action::Allow
    };
    let why = match cause {
        GapCause::Slow if may_be_made(cause, payload) => {
            "the gateway did not answer in time about a large payload"
        }
        _ => cause.sentence(),
    };
    let outcome = match decision {
        Action::Deny => "the tool may not be used",
        Action::Allow | Action::Warn | Action::Ask => "the tool may be used unseen",
    };
    let (tool, session) = asked
        .map(|asked| (asked.tool.spelled().to_owned(), asked.session))
        .unwrap_or_default();
    let folder = options.folder(variable);
    // A test of ours is no use of a tool; some agents put the upstream before its name.
    let left = if tool.rsplit('/').next() == Some(CANARY) {
        Ok(())
    } else {
        let gap = Gap {
            at: SystemClock::start().wall().0,
            agent: agent.name().to_owned(),
            event: called.clone(),
            phase: if gate { Phase::Pre } else { Phase::Post },
            session,
            tool,
            cause,
            decision,
            asked: name,
        };
        journal::append(&folder, gap)
    };
    let mut answer = reply(agent, event, &called, decision, why, options.quiet_allow);
    if answer.stderr.is_empty() {
        answer.stderr = format!("mcpproxy: {why}; {outcome}\n");
        if left.is_err() {
            let file = folder.join(GAPS);
            let lost = [
                "mcpproxy: cannot leave word in `",
                &file.to_string_lossy(),
                "`\n",
            ];
            answer.stderr.push_str(&lost.concat());
        }
    }
    answer
}

/// Tells whether somebody can make it so that the gateway cannot look: what is too large for it, and
/// what is large enough to make it late.
fn may_be_made(cause: GapCause, payload: &[u8]) -> bool {
    match cause {
        GapCause::TooLarge => true,
        GapCause::Slow => payload.len() >= LONG,
        GapCause::Unreachable
        | GapCause::Garbled
        | GapCause::Malformed
        | GapCause::Full
        | GapCause::Torn => false,
    }
}

/// Says a reply; an agent that has gone away needs none.
fn say(reply: &Reply) -> u8 {
    let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr().lock());
    say_to(&mut stdout, &mut stderr, reply)
}

fn say_to(stdout: &mut impl Write, stderr: &mut impl Write, reply: &Reply) -> u8 {
    let said = stdout.write_all(reply.stdout.as_bytes());
    let told = stderr.write_all(reply.stderr.as_bytes());
    drop(said.and(told));
    reply.exit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_plain_is_run_early() {
        let parse = |line: &str| {
            let words = line.split_whitespace().map(OsString::from);
            Options::parse(words).map(|options| {
                let Options { event, agent, .. } = &options;
                (event.clone(), agent.clone(), options.fail_closed)
            })
        };
        let some = |event: &str, agent: &str, closed| {
            Some((Some(event.to_owned()), Some(agent.to_owned()), closed))
        };
        assert_eq!(
            parse("--event PreToolUse --agent=codex --quiet-allow"),
            some("PreToolUse", "codex", false)
        );
        assert_eq!(
            parse("--agent claude-code --event X --fail-closed --socket /x"),
            some("X", "claude-code", true)
        );
        for line in [
            "--help",
            "--event",
            "--agent nobody",
            "--fail-open --fail-closed",
            "--fail-closed=yes",
            "more",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn word_is_left_beside_the_socket_that_is_named() {
        let check = |words: &str, variables: &[(&str, &str)], expect: &str| {
            let words = words.split_whitespace().map(OsString::from);
            let options = Options::parse(words).unwrap();
            let variable = |name: &str| {
                let mut found = variables.iter().filter(|(one, _)| *one == name);
                found.next().map(|(_, value)| OsString::from(value))
            };
            let folder = options.folder(variable);
            assert_eq!(folder, PathBuf::from(expect), "{variables:?}");
        };
        let (home, socket) = (("HOME", "/h"), ("MCPPROXY_SOCKET", "/run/gw/s"));
        check("", &[home], "/h/.mcpproxy");
        check("--socket /w/s", &[home], "/w");
        check("", &[home, socket], "/run/gw");
        check("--socket /w/s", &[home, socket], "/w");
        check("--data-dir /d", &[home, socket], "/d");
        let other = ("MCPPROXY_DATA_DIR", "/nowhere");
        check("--data-dir /d", &[home, socket, other], "/d");
        check(
            "--data-dir ~/.mcpproxy",
            &[home, socket, other],
            "/h/.mcpproxy",
        );
        check("--data-dir ~x/y", &[home], "~x/y");
        check("", &[home, socket, ("MCPPROXY_DATA_DIR", "/e")], "/e");
    }

    /// The best of several, since others use the machine too.
    #[test]
    fn finding_the_socket_takes_less_than_a_tenth_of_a_millisecond() {
        let options = Options::default();
        let took = (0..20).map(|_| {
            let begun = Instant::now();
            let socket = options.socket();
            let took = begun.elapsed();
            assert!(socket.ends_with(SOCKET), "{}", socket.display());
            took
        });
        let best = took.min().unwrap();
        assert!(best < Duration::from_micros(100), "{best:?}");
    }

    /// The best of several, since others use the machine too.
    #[test]
    fn writing_the_answer_takes_less_than_half_a_millisecond() {
        let took = (0..20).map(|_| {
            let (output, mut stdout) = std::io::pipe().unwrap();
            let begun = Instant::now();
            let (agent, event) = (HookAgent::ClaudeCode, HookEvent::Pre);
            let why = "The data was read from a file of keys.";
            let reply = reply(agent, event, "PreToolUse", Action::Deny, why, true);
            say_to(&mut stdout, &mut std::io::sink(), &reply);
            let took = begun.elapsed();
            drop(stdout);
            let said = std::io::read_to_string(output).unwrap();
            assert!(said.contains(why), "{said}");
            took
        });
        let best = took.min().unwrap();
        assert!(best < Duration::from_micros(500), "{best:?}");
    }

    #[test]
    fn without_a_gateway_the_mode_decides() {
        let folder = tempfile::tempdir().unwrap();
        let check = |payload: &str, closed: bool, cause: GapCause, expect: &str| {
            let options = Options {
                fail_closed: closed,
                data_dir: Some(folder.path().to_owned()),
                ..Options::default()
            };
            let reply = given_up(&options, payload.as_bytes(), cause, None);
            assert!(reply.stdout.contains(expect), "{payload}: {}", reply.stdout);
            assert_eq!(reply.exit, 0);
        };
        let pre = r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{}}"#;
        let allow = r#""permissionDecision":"allow""#;
        let deny = r#""permissionDecision":"deny""#;
        check(pre, false, GapCause::Unreachable, allow);
        check(pre, true, GapCause::Unreachable, deny);
        check("{", false, GapCause::Malformed, allow);
        check("{", true, GapCause::Malformed, deny);
        check("", false, GapCause::TooLarge, deny);
        // Whoever can make a payload long can make the gateway late.
        let long = |length: usize| [pre, &" ".repeat(length - pre.len())].concat();
        check(&long(LONG - 1), false, GapCause::Slow, allow);
        check(&long(LONG), false, GapCause::Slow, deny);
        check(&long(LONG), false, GapCause::Unreachable, allow);
        let post = long(LONG).replace("PreToolUse", "PostToolUse");
        check(&post, false, GapCause::Slow, "");
        let gaps = std::fs::read_to_string(folder.path().join(GAPS)).unwrap();
        assert_eq!(gaps.lines().count(), 9);
        assert!(gaps.contains(r#""tool":"Read""#));
    }
}
