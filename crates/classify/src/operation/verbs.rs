//! The verbs in tool names. The specification's list is the floor; a verb is a word of its own, and
//! the first one leads.

use std::collections::HashMap;
use std::sync::LazyLock;

use mcpproxy_core::Operation;

use crate::words::Words;

/// The verb that decides what a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verb {
    /// What it says.
    pub operation: Operation,
    /// How sure that is, in percent.
    pub percent: u8,
    /// The verb, as it stands in the table.
    pub word: &'static str,
}

/// Verbs that remove or cannot be undone.
const DESTRUCTIVE: &[&str] = &[
    "delete",
    "remove",
    "drop",
    "destroy",
    "purge",
    "terminate",
    "kill",
    "erase",
    "wipe",
    "truncate",
    "unlink",
    "rm",
    "rmdir",
    "del",
    "uninstall",
    "deprovision",
    "revoke",
    "nuke",
    "overwrite",
    "trash",
    "shred",
    "obliterate",
    "decommission",
    "teardown",
    "evict",
    "prune",
    "unpublish",
    "expunge",
    "annihilate",
    "undeploy",
    "delist",
    "zap",
];

/// Verbs that may destroy, depending on what they are used on.
const DOUBTFUL: &[&str] = &[
    "reset",
    "clear",
    "empty",
    "flush",
    "revert",
    "rollback",
    "discard",
    "ban",
    "kick",
    "expire",
    "drain",
    "abort",
    "shutdown",
    "reboot",
    "restart",
    "cancel",
    "stop",
    "detach",
    "deactivate",
];

/// Verbs that add or change.
const WRITE: &[&str] = &[
    "create",
    "update",
    "post",
    "send",
    "upload",
    "push",
    "write",
    "insert",
    "add",
    "set",
    "put",
    "edit",
    "modify",
    "change",
    "patch",
    "append",
    "prepend",
    "replace",
    "rename",
    "move",
    "copy",
    "save",
    "store",
    "upsert",
    "merge",
    "commit",
    "publish",
    "share",
    "submit",
    "reply",
    "comment",
    "assign",
    "unassign",
    "invite",
    "approve",
    "reject",
    "close",
    "reopen",
    "open",
    "lock",
    "unlock",
    "archive",
    "unarchive",
    "enable",
    "disable",
    "activate",
    "start",
    "trigger",
    "schedule",
    "deploy",
    "install",
    "import",
    "register",
    "unregister",
    "subscribe",
    "unsubscribe",
    "follow",
    "unfollow",
    "like",
    "vote",
    "upvote",
    "react",
    "pin",
    "unpin",
    "mark",
    "tag",
    "untag",
    "label",
    "attach",
    "link",
    "fork",
    "star",
    "unstar",
    "transfer",
    "pay",
    "purchase",
    "buy",
    "sell",
    "order",
    "refund",
    "charge",
    "book",
    "reserve",
    "email",
    "notify",
    "message",
    "tweet",
    "retweet",
    "forward",
    "broadcast",
    "dispatch",
    "emit",
    "record",
    "remember",
    "forget",
    "apply",
    "configure",
    "provision",
    "scale",
    "resize",
    "restore",
    "sync",
    "migrate",
    "execute",
    "exec",
    "run",
    "eval",
    "invoke",
    "click",
    "type",
    "press",
    "drag",
    "fill",
    "navigate",
    "hover",
    "tap",
    "swipe",
    "generate",
    "make",
    "build",
    "draft",
    "compose",
    "complete",
    "finish",
    "log",
    "ingest",
    "index",
    "mount",
    "unmount",
    "rotate",
    "grant",
    "allow",
    "deny",
    "block",
    "unblock",
    "mute",
    "unmute",
    "join",
    "leave",
    "accept",
    "decline",
    "claim",
    "release",
    "refresh",
    "rebase",
    "cherry",
    "stash",
    "checkout",
    "init",
    "clone",
    "touch",
    "mkdir",
    "chmod",
    "chown",
    "kickoff",
    "launch",
    "spawn",
    "call",
    "dial",
    "fire",
    "toggle",
    "increment",
    "decrement",
    "swap",
    "sort",
    "undo",
    "redo",
    "select",
    "handle",
];

/// Verbs that only look.
const READ: &[&str] = &[
    "get",
    "read",
    "fetch",
    "query",
    "search",
    "list",
    "find",
    "view",
    "show",
    "describe",
    "lookup",
    "look",
    "count",
    "check",
    "inspect",
    "browse",
    "retrieve",
    "scan",
    "peek",
    "stat",
    "status",
    "info",
    "ls",
    "cat",
    "head",
    "tail",
    "grep",
    "glob",
    "tree",
    "explain",
    "analyze",
    "analyse",
    "summarize",
    "compare",
    "diff",
    "validate",
    "verify",
    "test",
    "ping",
    "whoami",
    "resolve",
    "load",
    "download",
    "export",
    "discover",
    "explore",
    "enumerate",
    "watch",
    "monitor",
    "observe",
    "preview",
    "print",
    "dump",
    "extract",
    "detect",
    "calculate",
    "compute",
    "estimate",
    "convert",
    "parse",
    "decode",
    "encode",
    "translate",
    "snapshot",
    "screenshot",
    "trace",
    "audit",
    "history",
    "aggregate",
    "filter",
    "suggest",
    "recommend",
    "predict",
    "is",
    "has",
    "can",
    "wait",
    "echo",
    "recall",
    "tell",
    "ask",
    "locate",
    "measure",
    "collect",
    "poll",
    "similarity",
    "crawl",
    "scrape",
    "map",
];

/// Words of [`WRITE`] that are as often nouns: after a verb that reads they are what is read.
const NOUNS: &[&str] = &[
    "post", "update", "push", "comment", "message", "change", "edit", "draft", "set", "log",
    "order", "record", "tag", "label", "link", "index", "book", "email", "tweet", "commit",
    "build", "patch", "invite", "star", "fork", "vote", "like", "pin", "schedule", "charge",
    "refund", "transfer", "type", "call", "run", "share", "merge", "release", "block", "upload",
    "import", "reply", "start", "close", "open", "lock", "copy", "store", "purchase", "mount",
    "branch", "trigger", "sync", "deploy", "sort", "order", "checkout", "clone", "move", "grant",
    "click", "mark", "reserve", "stash", "save", "claim", "handle", "execute", "install", "fill",
    "select", "fire", "swap", "tap", "press", "dispatch", "react", "init", "make",
];

/// Words after which a name does a second thing.
const AND: &[&str] = &["and", "or", "then", "n"];

/// Says what the verbs of a name come to; nothing if it has none.
pub fn by_name(words: &Words) -> Option<Verb> {
    let mut leading: Option<Verb> = None;
    let mut joined = false;
    for (at, word) in words.iter().enumerate() {
        if AND.contains(&word) && at > 0 {
            joined = true;
            continue;
        }
        let Some(found) = verb(word) else { continue };
        let counted = match leading {
            None => found,
            Some(first) if joined => second(first, found),
            Some(first) => later(first, found, word),
        };
        leading = Some(counted);
    }
    leading.or_else(|| grown_together(words.joined()))
}

/// A second verb after `and`: the stricter counts.
fn second(first: Verb, found: Verb) -> Verb {
    if found.operation > first.operation {
        found
    } else {
        first
    }
}

/// A verb after the leading one: only one that destroys, or that cannot be a noun, counts.
fn later(first: Verb, found: Verb, word: &str) -> Verb {
    let is_doubtful = DOUBTFUL.contains(&found.word);
    if found.operation <= first.operation || is_doubtful || word != found.word {
        return first;
    }
    match (first.operation, found.operation) {
        (_, Operation::Destructive) => Verb {
            percent: found.percent.min(75),
            ..found
        },
        (Operation::Read, Operation::Write) if !NOUNS.contains(&word) => Verb {
            percent: 65,
            ..found
        },
        _ => first,
    }
}

static VERBS: LazyLock<HashMap<&'static str, Verb>> = LazyLock::new(|| {
    let tables = [
        (READ, Operation::Read, 85),
        (WRITE, Operation::Write, 85),
        (DOUBTFUL, Operation::Destructive, 60),
        (DESTRUCTIVE, Operation::Destructive, 90),
    ];
    let each = |(words, operation, percent): (&'static [&'static str], Operation, u8)| {
        words.iter().map(move |word| {
            (
                *word,
                Verb {
                    operation,
                    percent,
                    word,
                },
            )
        })
    };
    tables.into_iter().flat_map(each).collect()
});

/// Looks one word up, also as `deletes`; but `logs` and `messages` are things.
fn verb(word: &str) -> Option<Verb> {
    let third_person = || word.strip_suffix('s').filter(|stem| !NOUNS.contains(stem));
    let found = VERBS.get(word).or_else(|| VERBS.get(third_person()?));
    found.copied()
}

/// Looks for a verb at the start or end of a name written without boundaries: `deletefile`.
fn grown_together(name: &str) -> Option<Verb> {
    const ENDS: &[(&str, Operation)] = &[
        ("delete", Operation::Destructive),
        ("remove", Operation::Destructive),
        ("destroy", Operation::Destructive),
        ("purge", Operation::Destructive),
        ("terminate", Operation::Destructive),
        ("create", Operation::Write),
        ("update", Operation::Write),
        ("upload", Operation::Write),
        ("insert", Operation::Write),
        ("write", Operation::Write),
        ("fetch", Operation::Read),
        ("query", Operation::Read),
        ("search", Operation::Read),
    ];
    const STARTS: &[(&str, Operation)] = &[
        ("send", Operation::Write),
        ("get", Operation::Read),
        ("list", Operation::Read),
        ("find", Operation::Read),
        ("view", Operation::Read),
        ("read", Operation::Read),
    ];
    // `undelete` and `nodelete` do not delete.
    let ends = |verb: &str| name.ends_with(verb) && !name.ends_with(&["un", verb].concat());
    // `deleted` and `getter` are no orders, `deletefile` and `getuser` are.
    let starts = |verb: &str| name.starts_with(verb) && name.len() >= verb.len() + 3;
    let whole = ENDS.iter().find(|(verb, _)| starts(verb) || ends(verb));
    let start = STARTS
        .iter()
        .find(|(verb, _)| starts(verb) && name.len() >= 7);
    let (word, operation) = *whole.or(start)?;
    Some(Verb {
        operation,
        percent: 60,
        word,
    })
}

/// Says what a value of a choosing parameter does: `delete`, `POST`, `rm`.
pub(crate) fn choice(value: &Words) -> Option<Operation> {
    verb(value.word(0)).map(|verb| verb.operation)
}

/// Says whether a word is a verb that destroys.
pub(crate) fn is_destructive(word: &str) -> bool {
    DESTRUCTIVE.contains(&word)
}
