//! Addresses of electronic mail.
//!
//! Anchored at the `@`. What is clearly boilerplate is only a note: placeholders in reserved
//! domains, automatic senders, and the authors that a licence or a manifest names in public.

use std::ops::Range;

use mcpproxy_core::Severity;

use super::found::Found;
use super::view::View;
use crate::Level;

/// The longest local part and the longest domain.
const LOCAL: usize = 64;
const DOMAIN: usize = 253;
/// How far back a manifest's key or a licence's line may stand.
const CREDIT: usize = 160;

/// How far back the program may stand that logs in, and such programs.
const COMMAND: usize = 64;
const LOGINS: &[&[u8]] = &[
    b"ssh",
    b"scp",
    b"sftp",
    b"mosh",
    b"rsync",
    b"autossh",
    b"sshfs",
    b"ssh-copy-id",
];

/// File endings that follow an `@` in names of images and packages and are no domains.
const FILE_ENDINGS: &[&str] = &[
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "webp",
    "ico",
    "pdf",
    "js",
    "mjs",
    "cjs",
    "jsx",
    "ts",
    "tsx",
    "css",
    "scss",
    "less",
    "html",
    "htm",
    "json",
    "yaml",
    "yml",
    "toml",
    "xml",
    "map",
    "lock",
    "tgz",
    "gz",
    "txt",
    "log",
    "exe",
    "dll",
    "vue",
    "wasm",
    "local",
    "internal",
    "lan",
    "service",
    "target",
    "timer",
    "socket",
    "mount",
    "length",
    "prototype",
    "default",
    "latest",
    "next",
];

/// Domains that can belong to nobody, or that everybody types as a placeholder.
const RESERVED: &[&str] = &[
    "example.com",
    "example.org",
    "example.net",
    "example.edu",
    "test.com",
    "domain.com",
    "email.com",
    "foo.com",
    "bar.com",
    "foo.bar",
    "mail.com",
    "company.com",
    "yourdomain.com",
    "mydomain.com",
    "host.com",
    "site.com",
    "acme.com",
    "users.noreply.github.com",
    "x.com",
    "a.com",
    "b.com",
    "y.com",
    "z.com",
    "abc.com",
    "xyz.com",
    "somewhere.com",
    "server.com",
    "b.c",
];

/// Local parts of machines.
const AUTOMATIC: &[&str] = &[
    "git",
    "noreply",
    "no-reply",
    "donotreply",
    "do-not-reply",
    "mailer-daemon",
    "postmaster",
    "root",
    "www-data",
    "nobody",
    "hg",
    "svn",
    "ssh",
    "bounce",
    "bounces",
];

/// Local parts that are placeholders when the domain is reserved.
const PLACEHOLDER_PARTS: &[&str] = &[
    "user",
    "test",
    "foo",
    "bar",
    "baz",
    "name",
    "you",
    "your",
    "me",
    "someone",
    "somebody",
    "admin",
    "example",
    "email",
    "mail",
    "john",
    "jane",
    "joe",
    "doe",
    "alice",
    "bob",
    "first",
    "last",
    "my",
    "firstname",
    "lastname",
    "person",
    "username",
    "info",
    "hello",
    "support",
    "contact",
    "sales",
    "security",
    "dev",
    "developer",
    "team",
    "webmaster",
    "abuse",
    "a",
    "b",
    "x",
    "address",
    "login",
    "account",
    "customer",
    "client",
    "demo",
    "sample",
    "guest",
    "owner",
    "member",
    "other",
    "new",
    "old",
    "valid",
    "invalid",
    "tester",
    "testing",
    "carol",
    "charlie",
    "dave",
    "eve",
    "recipient",
    "sender",
    "from",
    "to",
    "reply",
];

/// Finds the address around every `@`.
pub(super) fn scan(view: View<'_>, found: &mut Vec<Found>) {
    let mut floor = 0;
    for at in memchr::memchr_iter(b'@', view.bytes()) {
        if at < floor {
            continue;
        }
        if let Some(span) = address(view, at, floor) {
            floor = span.end;
            found.push(judge(view, at, span));
        }
    }
}

/// The address whose `@` stands at `at`.
fn address(view: View<'_>, at: usize, floor: usize) -> Option<Range<usize>> {
    let reach = LOCAL.min(at - floor);
    let mut start = at - view.run_back(at, reach, is_local);
    while start < at && matches!(view.at(start), b'.' | b'-' | b'\'' | b'+' | b'%') {
        start += 1;
    }
    if view.before(start, 1) == b'\\' && matches!(view.at(start), b'n' | b't' | b'r') {
        start += 1;
    }
    let local = view.str(start..at);
    if local.is_empty() || local.ends_with('.') || is_url(view, start) {
        return None;
    }
    let length = view.run(at + 1, DOMAIN, is_domain);
    let domain = view.str(at + 1..at + 1 + length);
    let domain = domain.trim_end_matches(['.', '-']);
    let end = at + 1 + domain.len();
    (is_host(domain) && view.at(end) != b'@' && view.at(end) != b'(').then_some(start..end)
}

/// Whether the part before belongs to a URL with a user, which is another matter.
fn is_url(view: View<'_>, start: usize) -> bool {
    match view.before(start, 1) {
        b'/' | b':' => {
            let token = view.run_back(start, LOCAL * 2, |byte| {
                !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'<' | b'(')
            });
            memchr::memmem::find(view.tail(start, token), b"://").is_some()
        }
        _ => false,
    }
}

fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'')
        || byte > 127
}

fn is_domain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-') || byte > 127
}

/// Whether a text is a domain with a plausible last label.
fn is_host(domain: &str) -> bool {
    let Some((rest, last)) = domain.rsplit_once('.') else {
        return false;
    };
    let plausible = last.len() >= 2
        && last.len() <= 24
        && (last
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte > 127)
            || last.starts_with("xn--"));
    let labels = rest.split('.').all(|label| {
        !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-')
    });
    plausible
        && labels
        && !FILE_ENDINGS
            .iter()
            .any(|ending| last.eq_ignore_ascii_case(ending))
}

fn judge(view: View<'_>, at: usize, span: Range<usize>) -> Found {
    let local = view.str(span.start..at).to_ascii_lowercase();
    let domain = view.str(at + 1..span.end).to_ascii_lowercase();
    let (level, confidence, why) = if AUTOMATIC.contains(&local.as_str()) {
        (Level::Note, 60, "address of a machine")
    } else if is_login(view, &span) {
        (Level::Note, 60, "login at a machine")
    } else if is_reserved(&domain) && is_placeholder(&local) {
        (Level::Note, 40, "placeholder in a domain that nobody owns")
    } else if is_credit(view, span.start) {
        (Level::Note, 70, "public credit of an author")
    } else {
        (Level::Warn, 95, "local part and domain are well formed")
    };
    Found {
        kind: "email",
        name: "email address",
        severity: Severity::Medium,
        confidence,
        level,
        span,
        why,
    }
}

/// Whether it says who logs in where, `deploy@web2.acme.io:/srv`, or `ssh deploy@web2.acme.io`.
fn is_login(view: View<'_>, span: &Range<usize>) -> bool {
    let path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'~' | b'.');
    let copies = view.at(span.end) == b':' && path(view.at(span.end + 1));
    let tail = view.tail(span.start, COMMAND);
    let mut words = tail.rsplit(u8::is_ascii_whitespace);
    // Right before the address stands a blank, or it is a part of a word.
    let apart = words.next().is_some_and(<[u8]>::is_empty);
    let program = words.find(|word| !word.starts_with(b"-"));
    let logs_in = program.is_some_and(|word| LOGINS.contains(&word));
    copies || (apart && logs_in)
}

fn is_reserved(domain: &str) -> bool {
    let last = domain.rsplit('.').next().unwrap_or_default();
    matches!(last, "example" | "test" | "invalid" | "localhost")
        || RESERVED.iter().any(|reserved| {
            domain
                .strip_suffix(reserved)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
}

/// Whether every part of a local part is a word that stands for anybody.
fn is_placeholder(local: &str) -> bool {
    local
        .split(['.', '_', '-', '+'])
        .map(|part| part.trim_end_matches(|letter: char| letter.is_ascii_digit()))
        .all(|part| part.is_empty() || PLACEHOLDER_PARTS.contains(&part))
}

/// Whether the line, or the manifest's key before it, says that this is an author's credit.
fn is_credit(view: View<'_>, start: usize) -> bool {
    let tail = view.tail(start, CREDIT).to_ascii_lowercase();
    let line = tail
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let on_line = tail.get(line..).unwrap_or_default();
    let has = |text: &[u8], word: &[u8]| memchr::memmem::find(text, word).is_some();
    let line_words: [&[u8]; 12] = [
        b"author-email",
        b"copyright",
        b"(c)",
        "©".as_bytes(),
        b"signed-off-by",
        b"co-authored-by",
        b"@author",
        b"reported-by",
        b"maintain",
        b"written by",
        b"contributed by",
        b"who =",
    ];
    let keys: [&[u8]; 7] = [
        b"author\"",
        b"authors\"",
        b"authors =",
        b"author:",
        b"maintainers\"",
        b"contributors\"",
        b"authors:",
    ];
    // `by Ana <ana@...>` and the `<<ana@...>>` of lists of contributors.
    let bracket = view.before(start, 1) == b'<';
    let by = bracket && (view.before(start, 2) == b'<' || has(on_line, b" by "));
    by || line_words.iter().any(|word| has(on_line, word)) || keys.iter().any(|key| has(&tail, key))
}
