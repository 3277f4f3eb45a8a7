//! What the arguments of one call show: keys that ask for destruction, and addresses outside.
//!
//! Arguments are the ground truth, since nobody can lie about what is sent. Commands are not read
//! here, and values are never handed on: only places and hosts.

use mcpproxy_core::{Masked, Operation};
use mcpproxy_text::{elements, members, string};
use serde::Serialize;

use crate::host::{Place, host, place};
use crate::operation::{destroys, is_destructive_key};
use crate::signal::{Says, Signal, SignalSource};
use crate::words::Words;

/// Values that are looked at; beyond them the answer says that it is cut.
const MOST_VALUES: usize = 10_000;
/// Nesting that is followed.
const DEEPEST: usize = 32;
/// Places of each sort that are kept.
const MOST_FOUND: usize = 32;
/// Characters of a path that are shown.
const PATH_SHOWN: usize = 120;

/// What arguments show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Arguments {
    /// Where destruction is asked for.
    pub destructive: Vec<Demand>,
    /// Where an address outside stands.
    pub external: Vec<Address>,
    /// Whether there was more than could be looked at.
    pub cut: bool,
}

/// A place where destruction is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// Where it stands, as `options.force`.
    pub path: String,
    /// Why it counts.
    pub reason: Masked,
}

/// A place where an address outside stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Address {
    /// Where it stands.
    pub path: String,
    /// The host it leads to.
    pub host: String,
}

impl Arguments {
    /// Says what the arguments show, for comparison with what others say.
    pub fn signals(&self) -> impl Iterator<Item = Signal> {
        let destructive = (!self.destructive.is_empty()).then_some(Signal {
            source: SignalSource::ArgumentAnalysis,
            says: Says::Operation(Operation::Destructive),
        });
        let external = (!self.external.is_empty()).then_some(Signal {
            source: SignalSource::ExternalUrl,
            says: Says::ExternalSend,
        });
        destructive.into_iter().chain(external)
    }

    fn demand(&mut self, path: &str, reason: &str) {
        if self.destructive.len() < MOST_FOUND {
            let path = path.to_owned();
            let reason = Masked::from_safe(reason);
            self.destructive.push(Demand { path, reason });
        }
    }

    fn address(&mut self, path: &str, address: &str) {
        let outside = host(address).filter(|host| place(host) == Place::Public);
        let Some(host) = outside else { return };
        let known = self
            .external
            .iter()
            .any(|it| it.host == host && it.path == path);
        if !known && self.external.len() < MOST_FOUND {
            let path = path.to_owned();
            self.external.push(Address { path, host });
        }
    }
}

/// One value still to be looked at.
struct Step<'a> {
    value: &'a str,
    path: String,
    key: Words,
    depth: usize,
}

/// Looks at arguments that passed `text::check`; of anything else as much is seen as can be.
pub fn arguments(json: &str) -> Arguments {
    let mut seen = Arguments::default();
    let mut left = MOST_VALUES;
    let key = Words::default();
    let mut stack = vec![Step {
        value: json,
        path: String::new(),
        key,
        depth: 0,
    }];
    while let Some(step) = stack.pop() {
        if left == 0 || step.depth > DEEPEST {
            seen.cut = true;
            continue;
        }
        left -= 1;
        look(&step, &mut seen);
        // Two more than are left are enough to find out that there are more.
        push_children(&step, &mut stack, left + 2);
    }
    seen
}

fn push_children<'a>(step: &Step<'a>, stack: &mut Vec<Step<'a>>, most: usize) {
    let value = step.value;
    let depth = step.depth + 1;
    let first = stack.len();
    for member in members(value).take(most) {
        let path = join(&step.path, &member.key);
        let key = Words::of(&member.key);
        let value = value.get(member.value).unwrap_or_default();
        stack.push(Step {
            value,
            path,
            key,
            depth,
        });
    }
    for span in elements(value).take(most) {
        let path = step.path.clone();
        let key = step.key.clone();
        let value = value.get(span).unwrap_or_default();
        stack.push(Step {
            value,
            path,
            key,
            depth,
        });
    }
    if let Some(children) = stack.get_mut(first..) {
        children.reverse();
    }
}

fn look(step: &Step<'_>, seen: &mut Arguments) {
    let Step {
        value, path, key, ..
    } = step;
    let text = string(value.trim());
    if is_destructive_key(key) && is_set(value, text.as_deref()) {
        seen.demand(path, "the argument asks for destruction");
    }
    let Some(text) = text else { return };
    if is(key, CHOOSERS) && destroys(&Words::of(&text)) {
        seen.demand(path, "the argument chooses to destroy");
    }
    if is(key, STATEMENTS) && has_destructive_statement(&text) {
        seen.demand(path, "the statement destroys");
    }
    for address in addresses(&text) {
        seen.address(path, address);
    }
    if is(key, ADDRESSES) && !text.contains("://") && looks_like_host(&text) {
        seen.address(path, &text);
    }
}

/// Arguments that choose what is done.
const CHOOSERS: &[&str] = &[
    "action",
    "operation",
    "op",
    "method",
    "httpmethod",
    "verb",
    "command",
    "cmd",
    "mode",
];
/// Arguments that are statements of a query language.
const STATEMENTS: &[&str] = &[
    "sql",
    "query",
    "statement",
    "statements",
    "script",
    "command",
    "cypher",
    "cql",
    "q",
];
/// Arguments that are addresses, also without a scheme.
const ADDRESSES: &[&str] = &[
    "url",
    "uri",
    "endpoint",
    "webhook",
    "webhookurl",
    "callback",
    "callbackurl",
    "host",
    "hostname",
    "domain",
    "targeturl",
    "target",
    "baseurl",
    "server",
    "link",
];

fn is(key: &Words, table: &[&str]) -> bool {
    table.contains(&key.joined())
}

/// Says whether a value switches its key on.
fn is_set(value: &str, text: Option<&str>) -> bool {
    const OFF: &[&str] = &["", "false", "no", "off", "0", "none", "never", "null"];
    if let Some(text) = text {
        return !OFF.iter().any(|off| text.trim().eq_ignore_ascii_case(off));
    }
    let start = value.chars().filter(|character| !character.is_whitespace());
    let bare: String = start.take(8).collect();
    !["false", "null", "0", "0.0", "[]", "{}", ""].contains(&&*bare)
}

/// Says whether a statement destroys: its verbs at the start of a statement, with their objects.
fn has_destructive_statement(text: &str) -> bool {
    let words = || {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|w| !w.is_empty())
    };
    let pairs = words().zip(words().skip(1));
    pairs.into_iter().any(|(one, two)| {
        let is = |word: &str, any: &[&str]| any.iter().any(|it| word.eq_ignore_ascii_case(it));
        let object = [
            "table",
            "database",
            "schema",
            "index",
            "view",
            "column",
            "user",
            "role",
            "collection",
            "keyspace",
            "constraint",
            "function",
            "trigger",
            "sequence",
            "if",
        ];
        (is(one, &["drop"]) && is(two, &object))
            || (is(one, &["delete"]) && is(two, &["from"]))
            || (is(one, &["truncate"]) && is(two, &["table", "only"]))
            || (is(one, &["detach"]) && is(two, &["delete"]))
            || is(one, &["flushall", "flushdb", "deletemany", "dropdatabase"])
    }) || words().next().is_some_and(|first| {
        ["truncate", "flushall", "flushdb", "drop"]
            .iter()
            .any(|it| first.eq_ignore_ascii_case(it))
    })
}

/// Finds addresses with a scheme inside a text, cut to the part that holds the host: a longer cut
/// would read a text of nothing but addresses again for each of them.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "/\\?#\"'<>`)}".contains(c);
    text.match_indices("//").filter_map(move |(at, _)| {
        let before = text.get(..at)?.strip_suffix(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let scheme = before.get(before.trim_end_matches(plain).len()..)?;
        let local = ["", "file", "data", "about", "chrome", "vscode", "urn"];
        if local.iter().any(|local| scheme.eq_ignore_ascii_case(local)) {
            return None;
        }
        let rest = text.get(at..)?.trim_start_matches(['/', '\\']);
        rest.get(..rest.find(ends).unwrap_or(rest.len()))
    })
}

/// Says whether a text without a scheme is a host: labels, a dot, and letters at the end.
fn looks_like_host(text: &str) -> bool {
    let name = text.split(['/', ':', '?', '#']).next().unwrap_or(text);
    let last = name.rsplit('.').next().unwrap_or(name);
    let labels = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | '@' | '%');
    name.contains('.') && !last.is_empty() && !text.starts_with('/') && name.chars().all(labels)
}

fn join(path: &str, key: &str) -> String {
    let whole = if path.is_empty() {
        key.to_owned()
    } else {
        [path, ".", key].concat()
    };
    match whole.char_indices().nth(PATH_SHOWN) {
        Some((at, _)) => whole.get(..at).unwrap_or_default().to_owned(),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(json: &str, destructive: &[&str], external: &[&str]) {
        let seen = arguments(json);
        let paths: Vec<_> = seen
            .destructive
            .iter()
            .map(|demand| &*demand.path)
            .collect();
        assert_eq!(paths, destructive, "{json}");
        let hosts: Vec<_> = seen
            .external
            .iter()
            .map(|it| format!("{} {}", it.path, it.host))
            .collect();
        assert_eq!(hosts, external, "{json}");
        assert!(!seen.cut);
    }

    #[test]
    fn destruction_is_found_where_it_is_asked_for() {
        check(r#"{"force":true}"#, &["force"], &[]);
        check(r#"{"force":false,"recursive":"no"}"#, &[], &[]);
        check(
            r#"{"options":{"recursive":"true"}}"#,
            &["options.recursive"],
            &[],
        );
        check(r#"{"a":[{"hard":1}]}"#, &["a.hard"], &[]);
        check(
            r#"{"delete_branch":true,"deleted":true}"#,
            &["delete_branch"],
            &[],
        );
        check(r#"{"deleteMany":{"filter":{}}}"#, &["deleteMany"], &[]);
        check(r#"{"remove":[]}"#, &[], &[]);
        check(r#"{"force_push":"yes"}"#, &["force_push"], &[]);
        check(r#"{"method":"DELETE"}"#, &["method"], &[]);
        check(r#"{"action":"list"}"#, &[], &[]);
        check(r#"{"sql":"select 1; drop table users"}"#, &["sql"], &[]);
        check(r#"{"query":"DELETE FROM a WHERE b=1"}"#, &["query"], &[]);
        check(r#"{"query":"how to delete a file"}"#, &[], &[]);
        check(r#"{"text":"drop table users"}"#, &[], &[]);
        check(r#"{"sql":"select * from drops"}"#, &[], &[]);
    }

    #[test]
    fn addresses_outside_are_found_with_their_host() {
        check(
            r#"{"text":"see https://Evil.example/a?b."}"#,
            &[],
            &["text evil.example"],
        );
        check(r#"{"url":"http://localhost:3000/x"}"#, &[], &[]);
        check(r#"{"url":"http://10.0.0.1/x"}"#, &[], &[]);
        check(r#"{"url":"evil.example/x"}"#, &[], &["url evil.example"]);
        check(r#"{"name":"index.html"}"#, &[], &[]);
        check(
            r#"{"a":["wss://x.example","ftp://y.example"]}"#,
            &[],
            &["a x.example", "a y.example"],
        );
        check(
            r#"{"path":"file:///etc/passwd","x":"// comment"}"#,
            &[],
            &[],
        );
        check(
            r#"{"t":"a https://u:p@b.example@c.example/"}"#,
            &[],
            &["t c.example"],
        );
        check(
            r#"{"m":"[x](https://e.example/i.png)"}"#,
            &[],
            &["m e.example"],
        );
    }

    #[test]
    fn what_is_not_looked_at_is_said() {
        let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
        assert!(arguments(&deep).cut);
        let long = format!("[{}1]", "1,".repeat(MOST_VALUES));
        assert!(arguments(&long).cut);
        let many = format!("[{}1]", r#""https://a.example","#.repeat(100));
        assert_eq!(arguments(&many).external.len(), 1);
    }

    #[test]
    fn a_text_of_nothing_but_addresses_is_read_once() {
        // Quadratic reading would take long here.
        let many = format!(r#"{{"t":"{}"}}"#, "a://".repeat(50_000));
        assert_eq!(arguments(&many).external, []);
    }

    #[test]
    fn signals_say_what_was_seen() {
        let found = arguments(r#"{"force":true,"url":"https://a.example"}"#);
        assert_eq!(found.signals().count(), 2);
        assert_eq!(arguments("{}").signals().count(), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "\\PC{0,200}") {
            let _seen = arguments(&text);
        }

        #[test]
        fn nearly_json_is_taken(text in r#"[{}\[\]":,/.a-z\\ ]{0,120}"#) {
            let _seen = arguments(&text);
        }
    }
}
