//! What the arguments of one call show: keys that ask for destruction, and addresses outside.
//!
//! Arguments are the ground truth, since nobody can lie about what is sent. Commands are not read
//! here, and values are never handed on: only places and hosts.

use mcpproxy_core::{Masked, Operation};
use mcpproxy_text::unescape;
use memchr::{memchr2, memmem};
use serde::Serialize;

use crate::host::{Place, host, place};
use crate::operation::destroys;
use crate::purpose::{Purpose, purpose};
use crate::signal::{Says, Signal, SignalSource};
use crate::statement;
use crate::words::Words;

/// Nesting that is followed, as deep as `text::check` lets pass; beyond it the answer is cut.
const DEEPEST: usize = 128;
/// Places of each sort that are kept.
const MOST_FOUND: usize = 32;
/// How much of an address is told of, where its host is not longer.
const LONGEST_CUT: usize = 160;
/// Bytes after which a path is not made longer.
const PATH_SHOWN: usize = 120;

/// What arguments show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Arguments {
    /// Where destruction is asked for.
    pub destructive: Vec<Demand>,
    /// Where an address outside stands.
    pub external: Vec<Address>,
    /// Whether what is written is to be seen by everybody.
    pub publishes: bool,
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
    /// Whether the argument is nothing but this address, so that whoever takes it may go there.
    pub alone: bool,
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

    fn address(&mut self, path: &str, address: &str, alone: bool) {
        let outside = host(address).filter(|host| place(host) == Place::Public);
        let Some(host) = outside else { return };
        let mut all = self.external.iter_mut();
        if let Some(known) = all.find(|it| it.host == host && it.path == path) {
            known.alone |= alone;
        } else if self.external.len() < MOST_FOUND {
            let path = path.to_owned();
            self.external.push(Address { path, host, alone });
        }
    }
}

/// An object or array that is open.
struct Frame {
    is_object: bool,
    /// How much of the path leads here.
    path: usize,
    /// What the key it stands under asks for.
    asked: Asked,
}

/// What a key asks for.
#[derive(Clone, Copy, Default)]
struct Asked {
    purpose: Option<Purpose>,
    /// How its value is read as a statement of a query language, if it may be one.
    statement: Option<fn(&str) -> bool>,
    /// Which value makes what is written public.
    public: Public,
}

/// Which value of a key makes what is written public.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Public {
    #[default]
    No,
    /// Any that is set, as of `public`.
    Set,
    /// One that is not, as of `private`.
    Unset,
    /// One that says so, as of `visibility`.
    Said,
}

impl Public {
    fn of(key: &str) -> Self {
        match key {
            "public" | "ispublic" | "makepublic" | "publish" | "publiclyvisible" => Self::Set,
            "private" | "isprivate" => Self::Unset,
            "visibility" | "privacy" | "access" | "accesslevel" | "sharing" | "audience" => {
                Self::Said
            }
            _ => Self::No,
        }
    }

    /// Says whether a text does.
    fn by(self, text: &str) -> bool {
        const EVERYBODY: &[&str] = &[
            "public",
            "anyone",
            "everyone",
            "world",
            "anyone_with_link",
            "anyone with the link",
            "public_link",
            "publicly_visible",
        ];
        match self {
            Self::No => false,
            Self::Set => text.trim().eq_ignore_ascii_case("true"),
            Self::Unset => text.trim().eq_ignore_ascii_case("false"),
            Self::Said => EVERYBODY
                .iter()
                .any(|all| text.trim().eq_ignore_ascii_case(all)),
        }
    }
}

/// One pass over the text, with a stack of its own.
struct Walk<'a> {
    text: &'a str,
    at: usize,
    frames: Vec<Frame>,
    path: String,
    asked: Asked,
    expects_key: bool,
    seen: Arguments,
    told: &'a mut dyn FnMut(&str, &str),
}

/// Looks at arguments that passed `text::check`; of anything else as much is seen as can be.
pub fn arguments(json: &str) -> Arguments {
    arguments_with(json, &mut |_, _| {})
}

/// Looks at arguments, and tells of every address that stands in them, inside or outside: where it
/// stands, and the address.
pub fn arguments_with(json: &str, told: &mut dyn FnMut(&str, &str)) -> Arguments {
    let mut walk = Walk {
        text: json,
        at: 0,
        frames: Vec::new(),
        path: String::new(),
        asked: Asked::default(),
        expects_key: false,
        seen: Arguments::default(),
        told,
    };
    while let Some(byte) = walk.peek() {
        if !walk.step(byte) {
            walk.seen.cut = true;
            break;
        }
    }
    walk.seen
}

impl<'a> Walk<'a> {
    /// Takes the next token; says whether to go on.
    fn step(&mut self, byte: u8) -> bool {
        match byte {
            b'{' | b'[' => return self.open(byte == b'{'),
            b'}' | b']' => self.close(),
            b'"' => self.string(),
            b',' => {
                self.expects_key = self.frames.last().is_some_and(|frame| frame.is_object);
                self.at += 1;
            }
            b':' | b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
            _ => {
                let bare = self.take(|byte| b",]} \n\r\t".contains(&byte));
                let is_set = !["false", "null", "0", "0.0"].contains(&bare);
                self.seen.publishes |= self.asked.public.by(bare);
                self.switch(is_set);
            }
        }
        true
    }

    fn open(&mut self, is_object: bool) -> bool {
        if self.frames.len() == DEEPEST {
            return false;
        }
        let inside = self
            .text
            .get(self.at + 1..)
            .unwrap_or_default()
            .trim_start();
        self.switch(!inside.starts_with(['}', ']']));
        self.frames.push(Frame {
            is_object,
            path: self.path.len(),
            asked: self.asked,
        });
        self.expects_key = is_object;
        self.at += 1;
        true
    }

    fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.path.truncate(frame.path);
            self.asked = frame.asked;
        }
        self.expects_key = false;
        self.at += 1;
    }

    fn string(&mut self) {
        self.at += 1;
        let start = self.at;
        let bytes = self.text.as_bytes();
        // A backslash takes the byte behind it with it.
        while let Some(step) = memchr2(b'"', b'\\', bytes.get(self.at..).unwrap_or_default()) {
            self.at += step;
            if self.peek() == Some(b'"') {
                break;
            }
            self.at += 2;
        }
        if self.peek() != Some(b'"') {
            self.at = bytes.len();
        }
        let text = unescape(self.text.get(start..self.at).unwrap_or_default());
        self.at = (self.at + 1).min(bytes.len());
        if self.expects_key {
            self.enter(&text);
            for (host, address) in addresses(&text) {
                (self.told)(&self.path, address);
                self.seen.address(&self.path, host, false);
            }
        } else {
            self.look(&text);
        }
    }

    fn look(&mut self, text: &str) {
        self.seen.publishes |= self.asked.public.by(text);
        let path = &self.path;
        match self.asked.purpose {
            Some(Purpose::Destroys) if !is_off(text) => {
                self.seen.demand(path, "the argument asks for destruction");
            }
            Some(Purpose::Choice) if destroys(&Words::of(text)) => {
                self.seen.demand(path, "the argument chooses to destroy");
            }
            Some(Purpose::Address) if !text.contains("://") && looks_like_host(text) => {
                (self.told)(path, text);
                self.seen.address(path, text, true);
            }
            Some(Purpose::Address) => {
                if let Some(address) = as_fetched(text) {
                    (self.told)(path, &address);
                    self.seen.address(path, &address, true);
                }
            }
            // Under another key it may be the name of a file as well: whoever is told judges only
            // whether it is a host that nobody may send to.
            _ if !text.contains("://") => {
                let bare = text.trim_start_matches(['/', '\\']);
                if looks_like_host(bare) {
                    (self.told)(path, bare);
                }
            }
            _ => {}
        }
        if self.asked.statement.is_some_and(|destroys| destroys(text)) {
            self.seen.demand(path, "the statement destroys");
        }
        let alone = is_alone(text);
        for (host, address) in addresses(text) {
            (self.told)(path, address);
            self.seen.address(path, host, alone);
        }
        for address in relative(text).chain(passed_on(text)) {
            (self.told)(path, address);
        }
    }

    /// Goes on under a key of the object that is open.
    fn enter(&mut self, key: &str) {
        self.path
            .truncate(self.frames.last().map_or(0, |frame| frame.path));
        let room = PATH_SHOWN.saturating_sub(self.path.len());
        if !self.path.is_empty() && room > 0 {
            self.path.push('.');
        }
        self.path.extend(key.chars().take(room));
        let words = Words::of(key);
        self.asked = Asked {
            purpose: purpose(&words),
            statement: reading(words.joined()),
            public: Public::of(words.joined()),
        };
        self.expects_key = false;
    }

    /// Notes a value that switches on what its key asks for.
    fn switch(&mut self, is_set: bool) {
        if is_set && self.asked.purpose == Some(Purpose::Destroys) {
            self.seen
                .demand(&self.path, "the argument asks for destruction");
        }
    }

    /// Takes text up to the byte at which `ends` says so.
    fn take(&mut self, ends: impl FnMut(u8) -> bool) -> &'a str {
        let text = self.text;
        let rest = text.get(self.at..).unwrap_or_default();
        let length = rest.bytes().position(ends).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// Says how an argument of a name is read as a statement. A `query` is one to a database and words to
/// a search; `q` and the like are given to searches alone.
fn reading(name: &str) -> Option<fn(&str) -> bool> {
    match name {
        "sql" | "statement" | "statements" | "script" | "command" | "cypher" | "cql" => {
            Some(statement::destroys)
        }
        "query" | "queries" => Some(statement::is_destruction),
        _ => None,
    }
}

/// Says whether a text means no.
fn is_off(text: &str) -> bool {
    const OFF: &[&str] = &["", "false", "no", "off", "0", "none", "never", "null"];
    OFF.iter().any(|off| text.trim().eq_ignore_ascii_case(off))
}

/// Finds addresses with a scheme inside a text: the part that holds the host, and that with the
/// beginning of the path. A longer cut would read a text of nothing but addresses again for each of
/// them.
fn addresses(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = |c: char| c.is_whitespace() || "/\\?#\"'<>`)}".contains(c);
    memmem::find_iter(text.as_bytes(), "//").filter_map(move |at| {
        let before = text.get(..at)?.strip_suffix(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let scheme = before.get(before.trim_end_matches(plain).len()..)?;
        let local = ["", "file", "data", "about", "chrome", "vscode", "urn"];
        if local.iter().any(|local| scheme.eq_ignore_ascii_case(local)) {
            return None;
        }
        let rest = text.get(at..)?.trim_start_matches(['/', '\\']);
        let host = rest.get(..rest.find(ends).unwrap_or(rest.len()))?;
        let near = rest.get(..rest.floor_char_boundary(LONGEST_CUT))?;
        let path_ends = |c: char| c.is_whitespace() || "?#\"'<>`)}".contains(c);
        let whole = near.get(..near.find(path_ends).unwrap_or(near.len()))?;
        Some((
            host,
            if whole.len() > host.len() {
                whole
            } else {
                host
            },
        ))
    })
}

/// Tells whether a text is one address with a scheme, and nothing else.
fn is_alone(text: &str) -> bool {
    let text = text.trim();
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.chars().all(plain))
        && !text.contains(char::is_whitespace)
}

/// Finds addresses without a scheme where markup and code have one: behind a quote, a bracket or an
/// equals sign.
fn relative(text: &str) -> impl Iterator<Item = &str> {
    memmem::find_iter(text.as_bytes(), "//").filter_map(move |at| {
        let opens = |c: char| "\"'`=(".contains(c);
        text.get(..at)?.ends_with(opens).then_some(())?;
        let rest = text.get(at..)?.trim_start_matches('/');
        let near = rest.get(..rest.floor_char_boundary(LONGEST_CUT))?;
        let ends = |c: char| c.is_whitespace() || "?#\"'<>`)}".contains(c);
        let address = near.get(..near.find(ends).unwrap_or(near.len()))?;
        looks_like_host(address).then_some(address)
    })
}

/// Finds hosts that an address passes on in its query, for whoever stands at it to go there.
fn passed_on(text: &str) -> impl Iterator<Item = &str> {
    let has_query = text.contains("://") && text.contains('?');
    let ends = |c: char| c.is_whitespace() || "?&=;\"'<>`".contains(c);
    let values = has_query.then(|| text.split(ends)).into_iter().flatten();
    let near = values.filter_map(|value| value.get(..value.floor_char_boundary(LONGEST_CUT)));
    near.filter(|value| looks_like_host(value))
}

/// Returns what those who fetch addresses read in an odd spelling of one: they pass over line ends and
/// tabs, take a backslash for a slash, and any number of slashes behind the scheme, which may be
/// missing before two of them.
fn as_fetched(text: &str) -> Option<String> {
    let odd = |c: char| matches!(c, '\t' | '\n' | '\r' | '\\');
    if text.contains("://") && !text.contains(odd) {
        return None;
    }
    let kept = text.trim().chars().filter(|c| *c == '\\' || !odd(*c));
    let plain: String = kept.map(|c| if c == '\\' { '/' } else { c }).collect();
    let web = ["http", "https", "ws", "wss", "ftp"];
    let is_web = |scheme: &str| web.iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let rest = match plain.split_once(':') {
        Some((scheme, rest)) if is_web(scheme) => rest,
        _ => plain.strip_prefix("//")?,
    };
    let rest = rest.trim_start_matches('/');
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// Says whether a text without a scheme is a host: labels, a dot, and letters at the end.
fn looks_like_host(text: &str) -> bool {
    let mut has_dot = false;
    let mut is_host = false;
    for char in text.chars() {
        match char {
            '/' | ':' | '?' | '#' => break,
            '.' | '\u{3002}' | '\u{FF0E}' | '\u{FF61}' => has_dot = true,
            '-' | '_' | '@' | '%' => is_host = has_dot,
            _ if char.is_alphanumeric() => is_host = has_dot,
            _ => return false,
        }
    }
    is_host
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_address_is_told_however_many_there_are() {
        let many: Vec<_> = (0..300).map(|at| format!("http://10.0.0.{at}/x")).collect();
        let json = serde_json::json!({ "text": many.join(" "), "url": "https://last.example/in" });
        let mut told = Vec::new();
        arguments_with(&json.to_string(), &mut |path, address| {
            told.push((path.to_owned(), address.to_owned()));
        });
        assert_eq!(told.len(), 301);
        let last = ("url".to_owned(), "last.example/in".to_owned());
        assert_eq!(told.last(), Some(&last));
    }

    #[test]
    fn hosts_without_a_scheme_are_told_under_any_key() {
        let check = |value: &str, expect: Option<&str>| {
            for key in ["url", "h", "text"] {
                let json = serde_json::json!({ key: [value] }).to_string();
                let mut told = Vec::new();
                arguments_with(&json, &mut |_, address| {
                    told.push(crate::host::host(address).unwrap());
                });
                let found = told.first().map(String::as_str);
                assert_eq!(found, expect, "{json}");
            }
        };
        for host in [
            "hooks.example",
            "hooks.example.",
            "HOOKS.EXAMPLE./abc",
            "hooks\u{3002}example",
            "//hooks.example/abc",
            "hooks.example:443",
            "https://hooks.example/x",
        ] {
            check(host, Some("hooks.example"));
        }
        check("see hooks.example for more", None);
        check("word", None);
        check("...", None);
    }

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
        check(r#"{"query":"; drop table x --"}"#, &["query"], &[]);
        check(
            r#"{"statement":"TRUNCATE TABLE logs"}"#,
            &["statement"],
            &[],
        );
        check(r#"{"query":"how does DROP TABLE work"}"#, &[], &[]);
        // The words of a search, whatever they say.
        for key in ["q", "search", "keywords", "text"] {
            for words in ["drop shadow css", "Drop Index pricing", "DROP TABLE users"] {
                check(&format!(r#"{{"{key}":"{words}"}}"#), &[], &[]);
            }
        }
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
        for odd in [
            "https:/evil.example/a",
            "https:evil.example/a",
            r"https:\\\\evil.example\\a",
            "//evil.example/a",
            r"\\\\evil.example/a",
            r"https://ev\til.example/a",
            r"ht\ntps://evil.example/a",
        ] {
            let json = format!(r#"{{"url":"{odd}"}}"#);
            check(&json, &[], &["url evil.example"]);
        }
        check(r#"{"url":"/a/b","uri":"mailto:a@b.example"}"#, &[], &[]);
        check(
            r#"{"https://evil.example/a":1}"#,
            &[],
            &["https://evil.example/a evil.example"],
        );
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
        let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(arguments(&deep(DEEPEST + 1)).cut);
        assert!(!arguments(&deep(DEEPEST)).cut);
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
