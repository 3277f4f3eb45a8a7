//! Code of other languages, inline or in a file: a textual reading, not a parse.
//!
//! String literals are pulled out in one pass; what stands around them says whether they are
//! addresses, paths, commands or encoded code. Data is taken to reach every address in the code.

use std::collections::BTreeSet;

use super::super::decode;
use super::super::effects::Connection;
use super::super::facts::{Origin, Transfer, UnknownKind};
use super::super::host;
use super::super::interp::Interp;
use super::super::value::{HOLE, Taint, Value};
use super::Invocation;
use super::markers::{
    CARRIES, CHANGES, DECODES, ENVIRONMENT, EVALUATES, HOMES, INTERPRETERS, READS, RUNS, SENDS,
};
use super::told;
use crate::agents::wiring;

/// How many literals of one code are looked at.
const MAX_LITERALS: usize = 512;

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let (language, options) = INTERPRETERS
        .iter()
        .find(|(known, _)| *known == stem || *known == name)?;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        if options.contains(&text) {
            return rest
                .next()
                .map(|code| inline(interp, language, code, rest.as_slice(), stdin));
        }
        if let Some((option, attached)) = text.split_at_checked(2)
            && options.contains(&option)
            && !attached.is_empty()
            && !text.starts_with("--")
            && !attached.bytes().all(|byte| byte.is_ascii_alphabetic())
        {
            return Some(inline(
                interp,
                language,
                &arg.derive(attached),
                rest.as_slice(),
                stdin,
            ));
        }
        match text {
            "-m" if *language == "python" => return module(interp, rest.as_slice(), stdin),
            "-" => break,
            "-W" | "-X" | "-I" | "-r" | "--require" | "--import" | "-C" => {
                rest.next();
            }
            "run" if matches!(*language, "deno" | "bun" | "go") => {}
            text if text.starts_with('-') => {}
            _ if matches!(*language, "go" | "bun") && !host::looks_like_path(text) => return None,
            _ => return Some(script_file(interp, language, arg, rest.as_slice(), stdin)),
        }
    }
    if stdin.text.is_empty() && stdin.taint.is_empty() {
        return (*language != "go" && *language != "bun").then(Value::default);
    }
    Some(inline(interp, language, stdin, &[], &Value::default()))
}

fn inline(
    interp: &mut Interp,
    language: &str,
    code: &Value,
    operands: &[Value],
    stdin: &Value,
) -> Value {
    if code.taint.meets(interp.remote) {
        interp.facts.fetches_and_runs = true;
    }
    if !code.known && (code.text.is_empty() || code.text == HOLE) {
        interp.unknown(UnknownKind::Code, language);
    }
    let mut input = stdin.clone();
    for operand in operands {
        input.taint.join(operand.taint);
        if !operand.text.starts_with('-') && host::looks_like_path(&operand.text) {
            let read = interp.read_as(
                operand,
                language,
                stdin,
                matches!(language, "perl" | "ruby"),
            );
            input.taint.join(read.taint);
        }
    }
    input.taint.join(code.taint);
    interp.nested(|interp| scan(interp, &code.text, language, &input))
}

fn script_file(
    interp: &mut Interp,
    language: &str,
    path: &Value,
    operands: &[Value],
    stdin: &Value,
) -> Value {
    if host::is_url(&path.text) {
        interp.facts.fetches_and_runs = true;
        let host = host::host_of(&path.text);
        return interp.connect(&Connection {
            program: language,
            address: Some(path),
            host,
            transfer: Transfer::Fetch,
            carries: path.taint,
            plain: path.taint,
            certain: true,
        });
    }
    let content = interp.run_foreign(path, language);
    match content {
        Some(content) => inline(interp, language, &content, operands, stdin),
        None => interp.guess(language, operands, stdin),
    }
}

/// Runs `python -m module`.
fn module(interp: &mut Interp, args: &[Value], stdin: &Value) -> Option<Value> {
    let (module, rest) = args.split_first()?;
    match module.text.as_str() {
        "http.server" | "SimpleHTTPServer" | "pyftpdlib" | "uploadserver" | "smtpd"
        | "aiosmtpd" => {
            let taint = interp.origin(Origin::File(
                interp.folder.clone().unwrap_or_else(|| ".".to_owned()),
            ));
            let host = Some("*".to_owned());
            Some(interp.connect(&Connection {
                program: "python",
                address: None,
                host,
                transfer: Transfer::Listen,
                carries: taint,
                plain: taint,
                certain: true,
            }))
        }
        "base64" => Some(interp.run("base64", rest, stdin)),
        "pip" | "twine" | "pytest" | "mypy" | "black" | "ruff" | "build" | "pipx" | "poetry"
        | "uv" | "httpie" => Some(interp.run(&module.text, rest, stdin)),
        "venv" | "virtualenv" | "unittest" | "json.tool" | "timeit" | "compileall"
        | "ensurepip" | "site" | "zipfile" | "tarfile" | "gzip" => Some(
            interp.run(
                "cat",
                &rest
                    .iter()
                    .filter(|arg| host::looks_like_path(&arg.text))
                    .cloned()
                    .collect::<Vec<_>>(),
                stdin,
            ),
        ),
        _ => Some(interp.guess("python", rest, stdin)),
    }
}

/// A string literal and the code right before it.
pub(super) struct Literal<'a> {
    pub(super) text: String,
    pub(super) before: &'a str,
    backticks: bool,
}

/// Gives the string literals of a code.
pub(super) fn literals(code: &str) -> Vec<String> {
    find_literals(code)
        .into_iter()
        .map(|literal| literal.text)
        .collect()
}

pub(super) fn find_literals(code: &str) -> Vec<Literal<'_>> {
    let mut out = Vec::new();
    let (mut at, mut last) = (0, 0);
    let bytes = code.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        if !matches!(byte, b'\'' | b'"' | b'`') {
            at += 1;
            continue;
        }
        let start = at + 1;
        let mut end = start;
        while let Some(&inner) = bytes.get(end) {
            if inner == byte {
                break;
            }
            end += if inner == b'\\' { 2 } else { 1 };
        }
        let mut from = last.max(at.saturating_sub(32));
        while !code.is_char_boundary(from) {
            from += 1;
        }
        if let Some(text) = code.get(start..end.min(code.len())) {
            out.push(Literal {
                text: text.replace("\\/", "/"),
                before: code.get(from..at).unwrap_or_default(),
                backticks: byte == b'`',
            });
        }
        if out.len() >= MAX_LITERALS {
            break;
        }
        at = end + 1;
        last = at;
    }
    out
}

fn any(text: &str, markers: &[&str]) -> bool {
    markers.iter().any(|marker| text.contains(marker))
}

/// Reads a code for what it reads, runs and sends; gives what it may print.
pub(in super::super) fn scan(
    interp: &mut Interp,
    code: &str,
    language: &str,
    stdin: &Value,
) -> Value {
    if interp.spent(code.len()) {
        return Value::unknown("", stdin.taint);
    }
    let lower = code.to_ascii_lowercase();
    let literals = find_literals(code);
    if literals.len() >= MAX_LITERALS {
        interp.limit("literals");
    }
    let sends = any(&lower, SENDS);
    let mut seen = Seen {
        taint: stdin.taint,
        addresses: Vec::new(),
    };
    environment(interp, code, &lower, &mut seen);
    let taken = list_commands(interp, &literals, &lower, stdin, &mut seen);
    for (index, literal) in literals.iter().enumerate() {
        if taken.contains(&index) {
            continue;
        }
        let next = literals.get(index + 1);
        judge(
            interp,
            literal,
            next,
            language,
            sends,
            any(&lower, DECODES),
            stdin,
            &mut seen,
        );
    }
    let guards = literals.iter().filter_map(guard_path).collect();
    told::note_paths(interp, language, &[], guards);
    let together = put_together(&literals);
    if any(&lower, CHANGES) {
        let named = literals.iter().map(|literal| &literal.text);
        let wiring = named
            .chain(&together)
            .filter(|path| wiring::is_wiring(path));
        for path in wiring.cloned().collect::<Vec<_>>() {
            interp.write(
                &Value::text(path),
                &Value::unknown("", seen.taint),
                language,
            );
        }
    }
    for path in together {
        let read = interp.read_as(&Value::text(path), language, stdin, false);
        seen.taint.join(read.taint);
    }
    bare_urls(code, &mut seen.addresses);
    let mut out = Value::unknown("", seen.taint);
    if seen.addresses.is_empty() && sends && lower.contains("://") {
        seen.addresses.push(HOLE.to_owned());
    }
    let transfer = if any(&lower, CARRIES) {
        Transfer::Upload
    } else {
        Transfer::Fetch
    };
    for address in std::mem::take(&mut seen.addresses) {
        let address = Value::text(address);
        let host = host::host_of(&address.text);
        let connection = Connection {
            program: language,
            address: Some(&address),
            host,
            transfer,
            carries: seen.taint,
            // Where in a request it would stand is not known.
            plain: Taint::default(),
            certain: sends,
        };
        let value = interp.connect(&connection);
        out.push(&value);
        interp.facts.fetches_and_runs |= sends && any(&lower, EVALUATES);
    }
    out
}

struct Seen {
    taint: Taint,
    addresses: Vec<String>,
}

/// Notes the variables of the environment that a code asks for.
fn environment(interp: &mut Interp, code: &str, lower: &str, seen: &mut Seen) {
    if !any(lower, ENVIRONMENT) {
        return;
    }
    let mut named = false;
    for marker in ["process.env.", "$env:", "ENV["] {
        for rest in code.split(marker).skip(1).take(16) {
            let rest = rest.trim_start_matches(['\'', '"']);
            let name: String = rest
                .chars()
                .take(64)
                .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
                .collect();
            if !name.is_empty() {
                named = true;
                seen.taint.join(interp.origin(Origin::Environment(name)));
            }
        }
    }
    if !named {
        seen.taint
            .join(interp.origin(Origin::Environment("*".to_owned())));
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one literal with all that is known around it"
)]
fn judge(
    interp: &mut Interp,
    literal: &Literal<'_>,
    next: Option<&Literal<'_>>,
    language: &str,
    sends: bool,
    decodes: bool,
    stdin: &Value,
    seen: &mut Seen,
) {
    let text = literal.text.as_str();
    let before = literal.before.to_ascii_lowercase();
    if decodes && text.len() >= 12 {
        decoded(interp, text, language, stdin, seen);
    }
    if literal.backticks && matches!(language, "perl" | "ruby" | "php") {
        let value = interp.run_code(&Value::text(text), stdin);
        seen.taint.join(value.taint);
        return;
    }
    if host::is_url(text) {
        seen.addresses.push(text.to_owned());
        return;
    }
    if any(&before, RUNS) && !text.contains('\n') && !before.ends_with('[') && text.len() > 1 {
        let value = interp.run_code(&Value::text(text), stdin);
        seen.taint.join(value.taint);
        return;
    }
    if sends && is_host(text) && !any(&before, READS) {
        seen.addresses.push(text.to_owned());
        return;
    }
    let rooted = text.starts_with(['/', '~'])
        || text.starts_with("./")
        || text.starts_with("../")
        || text.contains(":\\");
    let opened = any(&before, READS) && !text.is_empty() && !text.contains([' ', '(', '%']);
    let written = before.contains("write");
    if (rooted && text.len() > 1 && !text.contains([' ', '\n']))
        || ((opened || written) && host::looks_like_path(text) && !text.contains(' '))
        || (opened && before.ends_with("open(") && !text.is_empty())
    {
        let path = Value::text(text);
        let written = next.is_some_and(|next| {
            matches!(next.text.as_str(), "w" | "a" | "wb" | "ab" | "w+" | "x")
                && next.before.trim() == ","
        }) || written;
        if written {
            interp.write(&path, &Value::unknown("", seen.taint), language);
        } else {
            let read = interp.read_as(&path, language, stdin, opened);
            seen.taint.join(read.taint);
        }
    }
}

fn decoded(interp: &mut Interp, text: &str, language: &str, stdin: &Value, seen: &mut Seen) {
    let bytes = decode::hex(text).or_else(|| decode::base64(text));
    let Some(inner) = bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .filter(|inner| inner.contains(['/', '(', ' ', '.']))
    else {
        return;
    };
    if inner
        .chars()
        .any(|letter| letter.is_control() && !letter.is_whitespace())
    {
        return;
    }
    if host::is_url(&inner) {
        seen.addresses.push(inner);
        return;
    }
    let value = interp.nested(|interp| {
        let quoted = format!("{inner}\n'{}'", inner.replace('\'', " "));
        scan(
            interp,
            if inner.contains('(') { &inner } else { &quoted },
            language,
            stdin,
        )
    });
    seen.taint.join(value.taint);
}

/// Runs commands that are given as a list, `["curl", "-d", "@f", "host"]`; gives the literals used.
fn list_commands(
    interp: &mut Interp,
    literals: &[Literal<'_>],
    lower: &str,
    stdin: &Value,
    seen: &mut Seen,
) -> BTreeSet<usize> {
    let mut taken = BTreeSet::new();
    if !any(lower, RUNS) {
        return taken;
    }
    let mut index = 0;
    while let Some(first) = literals.get(index) {
        index += 1;
        let before = first.before.trim_end();
        if !(before.ends_with('[') || before.ends_with('(')) || first.text.contains(' ') {
            continue;
        }
        let start = index - 1;
        let mut words = vec![Value::text(first.text.as_str())];
        while let Some(more) = literals.get(index) {
            let between = more.before.trim();
            if !matches!(between, "," | ",[" | ", [" | "=>") {
                break;
            }
            words.push(Value::text(more.text.as_str()));
            index += 1;
        }
        if words.len() > 1 && any(&before.to_ascii_lowercase(), RUNS) {
            taken.extend(start..index);
            let value = interp.nested(|interp| interp.program(words, stdin));
            seen.taint.join(value.taint);
        }
    }
    taken
}

/// Gives paths in the home folder that a code puts together: `Path.home() / ".aws" / "credentials"`,
/// `path.join(os.homedir(), ".ssh", "id_rsa")`.
fn put_together(literals: &[Literal<'_>]) -> Vec<String> {
    let joins = |between: &str| {
        let between = between.trim_matches([' ', '(', ')', ']', '}', '\n', '\t']);
        matches!(between, "/" | "," | "+" | ".")
    };
    let mut paths = Vec::new();
    let mut rest = literals.iter().peekable();
    while let Some(first) = rest.next() {
        let before = first.before.to_ascii_lowercase();
        let mut path = "~".to_owned();
        let variable =
            matches!(first.text.as_str(), "HOME" | "USERPROFILE") && before.contains("env");
        if !variable && !matches!(first.text.as_str(), "~" | "~/") {
            let mut home = HOMES.iter().filter_map(|home| before.rsplit_once(home));
            if !home.any(|(_, between)| joins(between)) {
                continue;
            }
            path = [&path, "/", first.text.trim_matches('/')].concat();
        }
        while let Some(next) = rest.next_if(|next| joins(next.before)) {
            path = [&path, "/", next.text.trim_matches('/')].concat();
        }
        if path != "~" {
            paths.push(path);
        }
    }
    paths
}

/// Gives the path of a literal that names the folder of what guards an agent, wherever the code takes
/// what is before it from.
fn guard_path(literal: &Literal<'_>) -> Option<String> {
    let text = literal.text.trim_matches('/');
    let named = text == ".mcpproxy" || text.contains(".mcpproxy/");
    (named && !text.contains(char::is_whitespace)).then(|| ["~/", text].concat())
}

/// Finds URLs outside literals, as `qw` and barewords of some languages allow.
fn bare_urls(code: &str, addresses: &mut Vec<String>) {
    for (at, _) in code.match_indices("://").take(32) {
        let head = code.get(..at).unwrap_or_default();
        let scheme = head
            .bytes()
            .rev()
            .take_while(u8::is_ascii_alphanumeric)
            .count()
            .min(8);
        let start = at.saturating_sub(scheme);
        let rest = code.get(start..).unwrap_or_default();
        let end = rest
            .find(|letter: char| letter.is_whitespace() || "'\"`<>)]};,|\\".contains(letter))
            .unwrap_or(rest.len());
        let url = rest.get(..end).unwrap_or_default();
        if host::is_url(url) && !addresses.iter().any(|known| known.contains(url)) {
            addresses.push(url.to_owned());
        }
    }
}

/// Ends of names that are files rather than hosts.
const FILES: &[&str] = &[
    "py", "js", "ts", "json", "txt", "log", "csv", "yml", "yaml", "pem", "key", "env", "cfg",
    "ini", "xml", "html", "zip", "gz", "db", "md",
];

/// Says whether a literal alone could be a host.
fn is_host(text: &str) -> bool {
    let text = text.rsplit_once(':').map_or(text, |(host, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) {
            host
        } else {
            text
        }
    });
    let labels: Vec<&str> = text.split('.').collect();
    let fine = |label: &&str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let end = labels.last().copied().unwrap_or_default();
    labels.len() > 1
        && labels.iter().all(fine)
        && text.len() < 254
        && end.len() > 1
        && !FILES.contains(&end)
        || (labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok()))
}
