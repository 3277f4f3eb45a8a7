//! Programs that make or change text, followed as long as the text is known.

use super::super::decode;
use super::super::escape;
use super::super::facts::Origin;
use super::super::interp::Interp;
use super::super::value::{HOLE, Taint, Value};
use super::{Invocation, builtins};

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    match name {
        "echo" | "print" => Some(echo(args)),
        "printf" => Some(printf(interp, args)),
        "cat" | "tac" | "head" | "tail" => cat(interp, name, args, stdin),
        "base64" | "gbase64" | "base32" | "basenc"
            if flag(args, &["-d", "-D", "--decode", "-di", "-id"]) =>
        {
            Some(decoded(interp, invocation, decode::base64))
        }
        "xxd"
            if args
                .iter()
                .any(|arg| arg.text.starts_with('-') && arg.text.contains('r')) =>
        {
            Some(decoded(interp, invocation, decode::hex))
        }
        "rev" if args.is_empty() => {
            let text: String = stdin
                .text
                .lines()
                .flat_map(|line| line.chars().rev().chain(['\n']))
                .collect();
            Some(stdin.derive(text))
        }
        "tr" => Some(translate(args, stdin)),
        "printenv" if args.len() == 1 => {
            let name = args.first()?.text.clone();
            Some(
                interp
                    .lookup(&name)
                    .unwrap_or_else(|| interp.environment(&name)),
            )
        }
        // `ps e` shows the variables of every process; letters without a dash come first.
        "ps" if args.first().is_some_and(|arg| is_letters(arg, 'e')) => {
            let taint = interp.origin(Origin::Environment("*".to_owned()));
            Some(Value::unknown("", taint))
        }
        "history" | "fc" => {
            let taint = interp.origin(Origin::File("~/.bash_history".to_owned()));
            Some(Value::unknown("", taint))
        }
        "sed" | "gsed" => Some(sed(interp, invocation)),
        _ => None,
    }
}

/// Tells whether an argument is letters without a dash, one of them this.
fn is_letters(arg: &Value, wanted: char) -> bool {
    let text = &arg.text;
    text.contains(wanted) && text.chars().all(|one| one.is_ascii_alphabetic())
}

fn flag(args: &[Value], names: &[&str]) -> bool {
    args.iter().any(|arg| names.contains(&arg.text.as_str()))
}

fn echo(args: &[Value]) -> Value {
    let (mut escapes, mut newline, mut rest) = (false, true, args);
    while let Some((first, more)) = rest.split_first() {
        let option = first
            .text
            .strip_prefix('-')
            .filter(|letters| !letters.is_empty());
        let Some(letters) =
            option.filter(|letters| letters.bytes().all(|letter| b"neE".contains(&letter)))
        else {
            break;
        };
        escapes |= letters.contains('e');
        newline &= !letters.contains('n');
        rest = more;
    }
    let mut value = builtins::join(rest);
    if escapes {
        value.text = escape::unescape_all(&value.text);
    }
    if newline {
        value.text.push('\n');
    }
    value
}

/// Fills the format once; a format that is used again only repeats what is known.
fn printf(interp: &mut Interp, args: &[Value]) -> Value {
    let (variable, args) = match args {
        [option, name, rest @ ..] if option.text == "-v" => (Some(name.text.clone()), rest),
        args => (None, args),
    };
    let mut args = args.iter().skip_while(|arg| arg.text == "--");
    let Some(format) = args.next() else {
        return Value::default();
    };
    let mut value = format.derive("");
    let text = escape::unescape_all(&format.text);
    let mut parts = text.split('%');
    value.text.push_str(parts.next().unwrap_or_default());
    let mut filled = false;
    while let Some(part) = parts.next() {
        if part.is_empty() {
            value.text.push('%');
            value.text.push_str(parts.next().unwrap_or_default());
            continue;
        }
        let end = part
            .find(|letter: char| letter.is_ascii_alphabetic())
            .map_or(part.len(), |end| end + 1);
        filled = true;
        if let Some(arg) = args.next() {
            let arg = if part.get(..end).is_some_and(|kind| kind.ends_with('b')) {
                arg.derive(escape::unescape_all(&arg.text))
            } else {
                arg.clone()
            };
            value.push(&arg);
        }
        value.text.push_str(part.get(end..).unwrap_or_default());
    }
    for arg in args {
        value.push(&if filled {
            arg.clone()
        } else {
            Value::unknown("", arg.taint)
        });
    }
    if let Some(name) = variable {
        interp.assign(&name, vec![value], false);
        return Value::default();
    }
    value
}

fn cat(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Option<Value> {
    let plain = args
        .iter()
        .all(|arg| !arg.text.starts_with('-') || arg.text == "-");
    // With options the table knows which of them take a value.
    if !plain || name != "cat" {
        return None;
    }
    if args.is_empty() {
        return Some(stdin.clone());
    }
    let mut out = Value::default();
    for arg in args {
        let read = interp.read(arg, name, stdin);
        out.push(&read);
    }
    Some(out)
}

/// Decodes what comes in, or the file that is named.
fn decoded(
    interp: &mut Interp,
    invocation: &Invocation<'_>,
    decode: fn(&str) -> Option<Vec<u8>>,
) -> Value {
    let Invocation { name, args, stdin } = *invocation;
    let mut content = None;
    for arg in args.iter().filter(|arg| !arg.text.starts_with('-')) {
        content = Some(interp.read(arg, name, stdin));
    }
    let content = content.unwrap_or_else(|| stdin.clone());
    match content.exact().and_then(decode) {
        Some(bytes) => content.derive(String::from_utf8_lossy(&bytes)),
        None => Value::unknown("", content.taint),
    }
}

/// Longest text that `tr` is followed on.
const MAX_TRANSLATED: usize = 16 * 1024;

/// Follows `tr 'a-z' 'n-za-m'` and `tr -d x` on known text.
fn translate(args: &[Value], stdin: &Value) -> Value {
    let sets: Vec<&Value> = args
        .iter()
        .filter(|arg| !arg.text.starts_with('-') || arg.text.len() == 1)
        .collect();
    let deletes = flag(args, &["-d", "--delete"]);
    let Some(text) = stdin.exact().filter(|text| text.len() <= MAX_TRANSLATED) else {
        return Value::unknown("", stdin.taint);
    };
    match (sets.as_slice(), deletes) {
        ([from], true) => {
            let from = set(&from.text);
            stdin.derive(
                text.chars()
                    .filter(|letter| !from.contains(letter))
                    .collect::<String>(),
            )
        }
        ([from, to], false) => {
            let (from, to) = (set(&from.text), set(&to.text));
            let change = |letter: char| match from.iter().rposition(|known| *known == letter) {
                Some(at) => to.get(at).or(to.last()).copied().unwrap_or(letter),
                None => letter,
            };
            stdin.derive(text.chars().map(change).collect::<String>())
        }
        _ => Value::unknown("", stdin.taint),
    }
}

/// Expands the ranges and classes of a set, within bounds.
fn set(text: &str) -> Vec<char> {
    let text = escape::unescape_all(text)
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \t\n");
    let letters: Vec<char> = text.chars().take(256).collect();
    let mut out = Vec::new();
    let mut rest = letters.as_slice();
    while let Some((first, more)) = rest.split_first() {
        match more {
            ['-', last, after @ ..] if first <= last => {
                out.extend((*first..=*last).take(128));
                rest = after;
            }
            _ => {
                out.push(*first);
                rest = more;
            }
        }
        if out.len() > 512 {
            break;
        }
    }
    out
}

/// Tells the script of `sed` from its files, and whether they are written in place.
fn sed(interp: &mut Interp, invocation: &Invocation<'_>) -> Value {
    let Invocation { name, args, stdin } = *invocation;
    let (mut scripts, mut in_place, mut files) = (Vec::new(), false, Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.text.as_str() {
            "-e" | "--expression" => scripts.extend(rest.next().cloned()),
            "-f" | "--file" => {
                let file = rest.next();
                scripts.extend(file.map(|file| interp.read(file, name, stdin)));
            }
            text if text.starts_with("-i") || text.starts_with("--in-place") => in_place = true,
            "-l" | "--line-length" => drop(rest.next()),
            text if text.starts_with('-') && text.len() > 1 => {}
            _ if scripts.is_empty() => scripts.push(arg.clone()),
            _ => files.push(arg),
        }
    }
    let mut out = if files.is_empty() {
        Value::unknown("", stdin.taint)
    } else {
        Value::unknown("", Taint::default())
    };
    for file in files {
        let read = interp.read(file, name, stdin);
        out.taint.join(read.taint);
        if in_place {
            interp.write(file, &Value::unknown("", Taint::default()), name);
        }
    }
    for script in &scripts {
        for order in script.text.split(['\n', ';']).take(64) {
            sed_order(interp, order, script, &mut out);
        }
    }
    out
}

/// Reads one order of a script: those that run a command, and those that read or write a file.
fn sed_order(interp: &mut Interp, order: &str, script: &Value, out: &mut Value) {
    let mut order = order.trim_start_matches(is_address);
    if let Some((_, rest)) = order.strip_prefix('/').and_then(|it| it.split_once('/')) {
        order = rest.trim_start_matches(is_address);
    }
    let mut letters = order.chars();
    match letters.next() {
        Some('e') if order.starts_with("e ") => {
            let made = interp.run_code(&script.derive(letters.as_str()), out);
            out.taint.join(made.taint);
        }
        Some('r') if order.starts_with("r ") => {
            let file = script.derive(letters.as_str().trim());
            let read = interp.read(&file, "sed", &Value::default());
            out.taint.join(read.taint);
        }
        Some('w') if order.starts_with("w ") => {
            interp.write(&script.derive(letters.as_str().trim()), out, "sed");
        }
        Some('s') => {
            let Some(mark) = letters.next().filter(char::is_ascii_punctuation) else {
                return;
            };
            let mut parts = letters.as_str().split(mark).skip(1);
            let (Some(made), Some(flags)) = (parts.next(), parts.next()) else {
                return;
            };
            // `s/.*/curl -d "&" host/e` runs what a line becomes.
            if flags.contains('e') && !flags.contains('w') {
                let code = Value::unknown(made.replace('&', HOLE), out.taint.with(script.taint));
                interp.run_code(&code, out);
            }
        }
        _ => {}
    }
}

/// Tells whether a letter can stand in a sed address by numbers, or between one and its order.
fn is_address(letter: char) -> bool {
    letter.is_ascii_digit() || ",$!~+{ \t".contains(letter)
}
