//! Builtins of the shell that change what later commands mean.

use super::super::interp::Interp;
use super::super::value::{Taint, Value};
use super::Invocation;

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    match name {
        // With options alone they print what is set.
        "export" | "declare" | "typeset" | "local" | "readonly"
            if args.iter().any(|arg| !arg.text.starts_with('-')) =>
        {
            assign(interp, args);
        }
        "alias" => alias(interp, args),
        "eval" => {
            let code = join(args);
            return Some(interp.run_code(&code, stdin));
        }
        "source" | "." => {
            let (path, rest) = args.split_first()?;
            let outer = std::mem::replace(&mut interp.arguments, rest.to_vec());
            let value = interp.run_file(path, name, stdin);
            interp.arguments = outer;
            return Some(value);
        }
        "set" if args.first().is_some_and(|arg| arg.text == "--") => {
            interp.arguments = args.iter().skip(1).cloned().collect();
        }
        "set" if !args.is_empty() => {}
        "shift" => {
            if !interp.arguments.is_empty() {
                interp.arguments.remove(0);
            }
        }
        "read" => read(interp, args, stdin),
        "mapfile" | "readarray" => read_lines(interp, args, stdin),
        "cd" | "pushd" => change_folder(interp, args),
        "trap" => {
            if let Some(code) = args.first().filter(|code| code.text.contains(' ')) {
                return Some(interp.run_code(code, stdin));
            }
        }
        "pwd" => return Some(interp.environment("PWD")),
        "unset" | "wait" | ":" | "true" | "false" => {}
        _ => return None,
    }
    Some(Value::default())
}

fn assign(interp: &mut Interp, args: &[Value]) {
    for arg in args {
        if let Some((name, value)) = arg.text.split_once('=')
            && !name.starts_with('-')
        {
            let (name, append) = name
                .strip_suffix('+')
                .map_or((name, false), |name| (name, true));
            interp.assign(name, vec![arg.derive(value)], append);
        }
    }
}

fn alias(interp: &mut Interp, args: &[Value]) {
    for arg in args {
        if let Some((name, value)) = arg.text.split_once('=')
            && interp.aliases.len() < 64
        {
            interp.aliases.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// Sets the variables of `read` to what comes in.
fn read(interp: &mut Interp, args: &[Value], stdin: &Value) {
    let mut skip = false;
    let mut names = Vec::new();
    for arg in args {
        if std::mem::take(&mut skip) {
            continue;
        }
        if arg.text.starts_with('-') {
            skip = matches!(
                arg.text.as_str(),
                "-d" | "-n" | "-N" | "-p" | "-t" | "-u" | "-i" | "-k"
            );
        } else {
            names.push(arg.text.as_str());
        }
    }
    if names.is_empty() {
        names.push("REPLY");
    }
    let words: Vec<&str> = stdin
        .text
        .lines()
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .collect();
    for (index, name) in names.iter().enumerate() {
        let last = index + 1 == names.len();
        let text = if last {
            words.get(index..).unwrap_or_default().join(" ")
        } else {
            words.get(index).copied().unwrap_or_default().to_owned()
        };
        let value = if stdin.known {
            stdin.derive(text)
        } else {
            Value::unknown("$()", stdin.taint)
        };
        interp.assign(name, vec![value], false);
    }
}

/// Sets the list of `mapfile` to the lines that come in.
fn read_lines(interp: &mut Interp, args: &[Value], stdin: &Value) {
    let mut name = "MAPFILE";
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.text.as_str() {
            "-d" | "-n" | "-O" | "-s" | "-u" | "-C" | "-c" => drop(rest.next()),
            text if text.starts_with('-') => {}
            text => name = text,
        }
    }
    let lines = if stdin.known {
        let lines = stdin.text.lines().take(256);
        lines.map(|line| stdin.derive(line)).collect()
    } else {
        vec![Value::unknown("$()", stdin.taint)]
    };
    interp.assign(name, lines, false);
}

fn change_folder(interp: &mut Interp, args: &[Value]) {
    let target = args
        .iter()
        .find(|arg| !arg.text.starts_with('-') || arg.text == "-");
    let text = target.map_or("~", |target| target.text.as_str());
    interp.folder = match (text, &interp.folder) {
        ("-" | "", _) => None,
        (text, Some(folder)) if !text.starts_with(['/', '~', '$']) && !text.starts_with("..") => {
            Some(format!(
                "{}/{}",
                folder.trim_end_matches('/'),
                text.trim_start_matches("./")
            ))
        }
        (text, None) if matches!(text, "." | "./") || text.starts_with("..") => None,
        (text, _) => Some(text.to_owned()),
    };
}

/// Joins arguments with blanks, as `eval` does.
pub(super) fn join(args: &[Value]) -> Value {
    let mut code = Value {
        text: String::new(),
        known: true,
        taint: Taint::default(),
    };
    for (index, arg) in args.iter().enumerate() {
        if index > 0 {
            code.text.push(' ');
        }
        code.push(arg);
    }
    code
}
