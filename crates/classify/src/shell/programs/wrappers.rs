//! Programs that run other programs: shells, `sudo`, `env`, `xargs`, `parallel`, `timeout`.

use super::super::effects::Connection;
use super::super::facts::{Transfer, UnknownKind};
use super::super::interp::Interp;
use super::super::table;
use super::super::value::{HOLE, Taint, Value};
use super::{Invocation, builtins};

/// Wrappers, the options of each that take a value, and how many operands stand before the command.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    (
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "--user", "--group",
        ],
        0,
    ),
    ("doas", &["-u", "-C"], 0),
    ("pkexec", &["--user"], 0),
    ("gosu", &[], 1),
    ("su-exec", &[], 1),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("exec", &["-a"], 0),
    ("time", &["-f", "-o", "--format", "--output"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("ionice", &["-c", "-n", "-p"], 0),
    ("chrt", &["-T", "-P", "-D"], 1),
    ("taskset", &["-c"], 1),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("gtimeout", &["-s", "-k"], 1),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("unbuffer", &[], 0),
    ("caffeinate", &["-t", "-w"], 0),
    ("busybox", &[], 0),
    ("toybox", &[], 0),
    ("chroot", &["--userspec", "--groups"], 1),
    ("unshare", &["-S", "-G"], 0),
    ("nsenter", &["-t", "-S", "-G"], 0),
    ("firejail", &[], 0),
    ("proxychains", &["-f"], 0),
    ("proxychains4", &["-f"], 0),
    ("torsocks", &["-a", "-P"], 0),
    ("torify", &[], 0),
    ("tsocks", &[], 0),
    ("sshpass", &["-p", "-f", "-d"], 0),
    ("watch", &["-n", "-d", "--interval"], 0),
    ("flock", &["-w", "-E"], 1),
    ("strace", &["-e", "-o", "-p", "-s", "-u"], 0),
    ("ltrace", &["-e", "-o", "-p", "-s", "-u"], 0),
    ("script", &["-c", "-O", "-I", "-T"], 0),
    ("dotenv", &["-f", "-e"], 0),
    ("direnv", &[], 2),
    ("noglob", &[], 0),
    ("nocorrect", &[], 0),
    ("catchsegv", &[], 0),
    ("systemd-run", &["-p", "-u", "--unit", "-M", "-E"], 0),
    ("arch", &["-e", "-d"], 0),
    ("winpty", &[], 0),
    ("wsl", &["-d", "-u", "--distribution", "--user"], 0),
];

/// Tells whether a program does nothing but run another.
pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|(known, ..)| *known == name)
}

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    match name {
        "sh" | "bash" | "zsh" | "dash" | "ash" | "ksh" | "mksh" | "fish" | "rbash" | "csh"
        | "tcsh" | "posh" => Some(shell(interp, name, args, stdin)),
        "env" => env(interp, args, stdin),
        "xargs" | "gxargs" => Some(xargs(interp, args, stdin)),
        "parallel" => Some(parallel(interp, args, stdin)),
        "su" | "runuser" | "script" | "watch" | "flock"
            if args.iter().any(|arg| arg.text == "-c") =>
        {
            let code = args.iter().skip_while(|arg| arg.text != "-c").nth(1)?;
            Some(interp.nested(|interp| interp.run_code(code, stdin)))
        }
        "command" | "which" | "type" | "whence" if asks_where(name, args) => {
            let asked = args.iter().rfind(|arg| !arg.text.starts_with('-'));
            // Where it lies is not known, but that it is a program.
            let found = asked.map(|asked| {
                if asked.text.contains('/') {
                    asked.clone()
                } else {
                    asked.derive(["/usr/bin/", &asked.text].concat())
                }
            });
            Some(found.unwrap_or_default())
        }
        "at" | "batch" if !stdin.text.is_empty() => Some(interp.run_code(stdin, &Value::default())),
        "crontab"
            if args
                .first()
                .is_some_and(|arg| arg.text == "-" || !arg.text.starts_with('-')) =>
        {
            let table = args.first().map(|path| interp.read(path, name, stdin))?;
            Some(scheduled(interp, &table))
        }
        "npx" | "pnpx" | "bunx" | "uvx" => {
            packaged(interp, args, stdin);
            None
        }
        "mcpproxy" | "mcpproxy-rest" | "assay" => ours(interp, name, args, stdin),
        _ => wrapper(interp, name, args, stdin),
    }
}

/// Follows a program of ours. It starts what stands behind the dashes (`wrap`, `scan`, `supervise`), and
/// hands what `call` and `stdio` are given to a tool of an upstream: where that sends it is not said.
fn ours(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Option<Value> {
    if let Some(at) = args.iter().position(|arg| arg.text == "--") {
        let words = args.get(at + 1..).unwrap_or_default().to_vec();
        return Some(interp.nested(|interp| interp.program(words, stdin)));
    }
    let has = |word: &str| args.iter().any(|arg| arg.text == word);
    if !has("call") && !has("stdio") {
        return None;
    }
    let given = args.iter();
    let mut carries = given.fold(Taint::default(), |taint, arg| taint.with(arg.taint));
    if has("stdio") || has("-") {
        carries.join(stdin.taint);
    }
    Some(interp.connect(&Connection {
        program: name,
        address: None,
        host: None,
        transfer: Transfer::Session,
        carries,
        plain: carries,
        certain: true,
    }))
}

/// Runs what a package is known to do that sends: `npx -y httpie POST host`. Fetching the package is
/// for the table to say.
fn packaged(interp: &mut Interp, args: &[Value], stdin: &Value) {
    let valued = ["-p", "--package", "--from", "--with", "--python", "-c"];
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        if !first.text.starts_with('-') {
            break;
        }
        let skip = usize::from(valued.contains(&first.text.as_str()));
        rest = more.get(skip..).unwrap_or_default();
    }
    let Some((package, args)) = rest.split_first() else {
        return;
    };
    let name = package.text.split('@').next().unwrap_or_default();
    let spec = table::find(name, args);
    let sends = spec.is_some_and(|spec| spec.transfer >= Some(Transfer::Session));
    if sends || matches!(name, "curl" | "wget") {
        interp.nested(|interp| interp.run(name, args, stdin));
    }
}

/// Runs the commands of a crontab, past the times that stand before them.
fn scheduled(interp: &mut Interp, table: &Value) -> Value {
    for line in table.text.lines().take(64) {
        let fields = if line.trim_start().starts_with('@') {
            1
        } else {
            5
        };
        let command: Vec<&str> = line.split_ascii_whitespace().skip(fields).collect();
        interp.run_code(&table.derive(command.join(" ")), &Value::default());
    }
    Value::default()
}

fn asks_where(name: &str, args: &[Value]) -> bool {
    name != "command"
        || args
            .first()
            .is_some_and(|arg| matches!(arg.text.as_str(), "-v" | "-V"))
}

fn wrapper(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Option<Value> {
    let (_, valued, operands) = WRAPPERS.iter().find(|(known, ..)| *known == name)?;
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        if !first.text.starts_with('-') || first.text.len() == 1 {
            break;
        }
        let skip = usize::from(valued.contains(&first.text.as_str()));
        rest = more.get(skip..).unwrap_or_default();
        if first.text == "--" {
            break;
        }
    }
    // `sudo VAR=value command`.
    while rest
        .first()
        .is_some_and(|first| first.text.contains('=') && !first.text.starts_with(['/', '.']))
    {
        rest = rest.get(1..).unwrap_or_default();
    }
    let words = rest.get(*operands..).unwrap_or_default().to_vec();
    // What is watched is given to a shell, all words as one.
    if name == "watch" {
        let code = builtins::join(&words);
        return Some(interp.nested(|interp| interp.run_code(&code, stdin)));
    }
    Some(interp.nested(|interp| interp.program(words, stdin)))
}

fn shell(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Value {
    // Code is the first operand, wherever `-c` stands among the options.
    let (mut coded, mut ended) = (false, false);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        if ended || !text.starts_with(['-', '+']) || text.len() == 1 {
            // The operand after the code is the name of the shell.
            let own: Vec<Value> = rest.skip(usize::from(coded)).cloned().collect();
            let outer = std::mem::replace(&mut interp.arguments, own);
            let value = if coded {
                interp.run_code(arg, stdin)
            } else {
                interp.run_file(arg, name, stdin)
            };
            interp.arguments = outer;
            return value;
        }
        match text {
            "--" => ended = true,
            "--rcfile" | "--init-file" | "-o" | "-O" | "+o" | "+O" => drop(rest.next()),
            "-s" => return interp.run_code(stdin, &Value::default()),
            _ if text.starts_with("--") || text.starts_with('+') => {}
            _ => coded |= text.contains('c'),
        }
    }
    if coded {
        return Value::default();
    }
    if stdin.text.is_empty() && stdin.taint.is_empty() {
        return Value::default();
    }
    interp.run_code(stdin, &Value::default())
}

fn env(interp: &mut Interp, args: &[Value], stdin: &Value) -> Option<Value> {
    let mut rest = args;
    loop {
        let (first, more) = rest.split_first()?;
        match first.text.as_str() {
            "-u" | "--unset" | "-C" | "--chdir" | "-P" => rest = more.get(1..).unwrap_or_default(),
            "-S" | "--split-string" => {
                let code = builtins::join(more);
                return Some(interp.run_code(&code, stdin));
            }
            text if text.starts_with('-') => rest = more,
            text if text.contains('=') => {
                let (name, value) = text.split_once('=').unwrap_or_default();
                interp.assign(name, vec![first.derive(value)], false);
                rest = more;
            }
            _ => return Some(interp.nested(|interp| interp.program(rest.to_vec(), stdin))),
        }
    }
}

const XARGS_VALUED: &[&str] = &[
    "-I",
    "-n",
    "-P",
    "-L",
    "-s",
    "-d",
    "-a",
    "-E",
    "-R",
    "-S",
    "--delimiter",
    "--max-args",
    "--max-procs",
    "--arg-file",
];

fn xargs(interp: &mut Interp, args: &[Value], stdin: &Value) -> Value {
    let mut rest = args;
    let (mut marker, mut input) = (None, stdin.clone());
    while let Some((first, more)) = rest.split_first() {
        if !first.text.starts_with('-') || first.text.len() == 1 {
            break;
        }
        let valued = XARGS_VALUED.contains(&first.text.as_str());
        match (first.text.as_str(), more.first()) {
            ("-I", Some(value)) => marker = Some(value.text.clone()),
            ("-a", Some(value)) => input = interp.read(value, "xargs", stdin),
            (text, _) if text.starts_with("-I") => marker = text.get(2..).map(str::to_owned),
            ("-i" | "--replace", _) => marker = Some("{}".to_owned()),
            _ => {}
        }
        rest = more.get(usize::from(valued)..).unwrap_or_default();
    }
    let words = with_input(rest, marker.as_deref(), &input);
    if words.is_empty() {
        return input;
    }
    interp.nested(|interp| interp.program(words, &Value::default()))
}

/// How long a word may be after its markers are filled, at worst.
const MAX_FILLED: usize = 1 << 16;

/// Puts what comes in where the marker is, or at the end.
fn with_input(words: &[Value], marker: Option<&str>, input: &Value) -> Vec<Value> {
    let items: Vec<Value> = if input.known {
        input
            .text
            .split_ascii_whitespace()
            .take(64)
            .map(|item| input.derive(item))
            .collect()
    } else {
        vec![Value::unknown(HOLE, input.taint)]
    };
    let Some(marker) = marker.filter(|marker| !marker.is_empty()) else {
        return words.iter().cloned().chain(items).collect();
    };
    let Some(item) = items.first() else {
        return words.to_vec();
    };
    let fill = |word: &Value| {
        if !word.text.contains(marker) {
            return word.clone();
        }
        if word.text.len().saturating_mul(item.text.len()) > MAX_FILLED {
            return Value::unknown(HOLE, word.taint.with(item.taint));
        }
        let mut filled = word.derive(word.text.replace(marker, &item.text));
        filled.taint.join(item.taint);
        filled.known &= item.known;
        filled
    };
    words.iter().map(fill).collect()
}

fn parallel(interp: &mut Interp, args: &[Value], stdin: &Value) -> Value {
    let split = args.iter().position(|arg| arg.text.starts_with(":::"));
    let (command, items) = args
        .split_at_checked(split.unwrap_or(args.len()))
        .unwrap_or((args, &[]));
    let mut input = stdin.clone();
    for item in items.iter().skip(1) {
        input.text.push(' ');
        input.push(item);
    }
    let mut words = command;
    while let Some((first, more)) = words.split_first() {
        if !first.text.starts_with('-') {
            break;
        }
        let valued = matches!(
            first.text.as_str(),
            "-j" | "-P" | "-S" | "-I" | "--jobs" | "-a" | "-n" | "-N"
        );
        words = more.get(usize::from(valued)..).unwrap_or_default();
    }
    let marked = words.iter().any(|word| word.text.contains("{}"));
    let filled = with_input(words, marked.then_some("{}"), &input);
    if filled.is_empty() {
        interp.unknown(UnknownKind::Code, "parallel");
        return Value::unknown("", Taint::default());
    }
    // The words are a template: one word may hold a whole command.
    let code = builtins::join(&filled);
    interp.run_code(&code, &Value::default())
}
