//! What Windows brings: the interpreters themselves, cmdlets, and programs that fetch.

mod blocks;
mod web;

use super::super::decode;
use super::super::effects::Connection;
use super::super::facts::{Dialect, Origin, Transfer};
use super::super::host;
use super::super::interp::Interp;
use super::super::powershell::EXPRESSION;
use super::super::value::{Taint, Value};
use super::{Invocation, builtins, code};

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "powershell" | "pwsh" => return Some(powershell(interp, args, stdin)),
        "cmd" => {
            let at = args.iter().position(|arg| {
                matches!(
                    arg.text.to_ascii_lowercase().as_str(),
                    "/c" | "/k" | "/r" | "//c"
                )
            })?;
            let text = builtins::join(args.get(at + 1..).unwrap_or_default());
            return Some(interp.run_as(Dialect::Cmd, &text, stdin));
        }
        "certutil" | "bitsadmin" | "mshta" | "regsvr32" | "rundll32" | "msiexec" | "certreq"
        | "finger" | "hh" | "desktopimgdownldr" | "wmic" => {
            return Some(fetches(interp, &lower, args, stdin));
        }
        EXPRESSION => return Some(expression(interp, args, stdin)),
        _ => {}
    }
    cmdlet(interp, &lower, args, stdin)
}

impl Interp {
    /// Runs text in another dialect.
    pub(in super::super) fn run_as(
        &mut self,
        dialect: Dialect,
        code: &Value,
        stdin: &Value,
    ) -> Value {
        let outer = std::mem::replace(&mut self.dialect, dialect);
        let value = self.run_code(code, stdin);
        self.dialect = outer;
        value
    }
}

fn powershell(interp: &mut Interp, args: &[Value], stdin: &Value) -> Value {
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        let option = first.text.to_ascii_lowercase().replace('/', "-");
        let is = |whole: &str, least: usize| option.len() >= least && whole.starts_with(&option);
        if is("-encodedcommand", 2) && option.starts_with("-e") && !is("-executionpolicy", 3)
            || option == "-ec"
        {
            let text = more
                .first()
                .and_then(|code| decode::base64(&code.text))
                .map(|bytes| decode::utf16(&bytes));
            let code = Value {
                text: text.unwrap_or_default(),
                known: true,
                taint: Taint::default(),
            };
            return interp.run_as(Dialect::PowerShell, &code, stdin);
        }
        if is("-command", 2) {
            let code = builtins::join(more);
            let code = if code.text == "-" {
                stdin.clone()
            } else {
                code
            };
            return interp.run_as(Dialect::PowerShell, &code, stdin);
        }
        if is("-file", 2) {
            return more
                .first()
                .map_or_else(Value::default, |path| run_script(interp, path, stdin));
        }
        let valued = is("-executionpolicy", 3)
            || is("-windowstyle", 2)
            || is("-version", 2)
            || option == "-ep"
            || is("-outputformat", 2)
            || is("-inputformat", 3);
        if !option.starts_with('-') {
            return interp.run_as(Dialect::PowerShell, &builtins::join(rest), stdin);
        }
        rest = more.get(usize::from(valued)..).unwrap_or_default();
    }
    if stdin.text.is_empty() && stdin.taint.is_empty() {
        return Value::default();
    }
    interp.run_as(Dialect::PowerShell, stdin, &Value::default())
}

fn run_script(interp: &mut Interp, path: &Value, stdin: &Value) -> Value {
    match interp.run_foreign(path, "powershell") {
        Some(code) => interp.run_as(Dialect::PowerShell, &code, stdin),
        None => Value::unknown("", stdin.taint),
    }
}

/// Programs of Windows that are known to fetch, and often to run what they got.
fn fetches(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Value {
    let mut out = Value::unknown("", Taint::default());
    let urls: Vec<&Value> = args.iter().filter(|arg| arg.text.contains("://")).collect();
    for url in &urls {
        let address = url.derive(url.text.split_once("://").map_or(
            String::new(),
            |(scheme, rest)| {
                let scheme: String = scheme
                    .chars()
                    .rev()
                    .take_while(char::is_ascii_alphabetic)
                    .collect::<String>()
                    .chars()
                    .rev()
                    .collect();
                format!("{scheme}://{rest}")
            },
        ));
        let host = host::host_of(&address.text);
        let upload = args.iter().any(|arg| {
            arg.text.eq_ignore_ascii_case("/upload") || arg.text.eq_ignore_ascii_case("-post")
        });
        let transfer = if upload {
            Transfer::Upload
        } else {
            Transfer::Fetch
        };
        let value = interp.connect(&Connection {
            program: name,
            address: Some(&address),
            host,
            transfer,
            carries: url.taint.with(stdin.taint),
            plain: url.taint.with(stdin.taint),
            certain: true,
        });
        out.push(&value);
        interp.facts.fetches_and_runs |=
            matches!(name, "mshta" | "regsvr32" | "rundll32" | "msiexec");
    }
    let files: Vec<&Value> = args
        .iter()
        .filter(|arg| {
            !arg.text.starts_with(['-', '/'])
                && !arg.text.contains("://")
                && host::looks_like_path(&arg.text)
        })
        .collect();
    if urls.is_empty() {
        // `certutil -encode in out`.
        if let [from, to, ..] = files.as_slice() {
            let read = interp.read(from, name, stdin);
            interp.write(to, &Value::unknown("", read.taint), name);
        }
    } else if let Some(path) = files.last() {
        interp.write(path, &out, name);
    }
    out
}

fn expression(interp: &mut Interp, args: &[Value], stdin: &Value) -> Value {
    let mut input = stdin.clone();
    for arg in args.iter().skip(1) {
        input.taint.join(arg.taint);
    }
    let Some(raw) = args.first() else {
        return input;
    };
    // A lone string or variable is its own value.
    let text = raw.text.trim();
    let plain = |quote: char| {
        text.len() > 1
            && text.starts_with(quote)
            && text.ends_with(quote)
            && text.matches(quote).count() == 2
    };
    if plain('\'') || plain('"') {
        let mut value = Value::text(text.trim_matches(['\'', '"']));
        value.taint = input.taint;
        return value;
    }
    if text.starts_with('$') && !text.contains(['(', '.', ' ', '[']) {
        return args.get(1).cloned().unwrap_or_default();
    }
    if wrapped(text) && args.len() == 2 {
        return args.get(1).cloned().unwrap_or_default();
    }
    if text.to_ascii_lowercase().contains("frombase64string")
        && let Some(bytes) = code::literals(text)
            .first()
            .and_then(|literal| decode::base64(literal))
    {
        let wide = text.to_ascii_lowercase().contains("unicode");
        let decoded = if wide {
            decode::utf16(&bytes)
        } else {
            String::from_utf8_lossy(&bytes).into_owned()
        };
        return Value {
            text: decoded,
            known: true,
            taint: input.taint,
        };
    }
    // Literals alone do nothing; the expression around them is read with them in it.
    if !text.contains(['(', ':', '+'])
        || (text.starts_with(['\'', '"']) && !text.contains(['(', '+']))
    {
        let mut joined = Value::text(code::literals(text).join(" "));
        joined.taint = input.taint;
        return joined;
    }
    let fetched = code::scan(interp, &raw.text, "powershell", &input);
    Value::unknown("", fetched.taint)
}

/// The parameter named, or the operand at `position`.
fn argument<'v>(args: &'v [Value], names: &[&str], position: usize) -> Option<&'v Value> {
    let is = |arg: &Value| names.iter().any(|name| arg.text.eq_ignore_ascii_case(name));
    if let Some(at) = args.iter().position(is) {
        return args.get(at + 1);
    }
    let mut operands = Vec::new();
    let mut skip = false;
    for arg in args {
        if std::mem::take(&mut skip) {
            continue;
        }
        if arg.text.starts_with('-') && arg.text.len() > 1 {
            skip = !SWITCHES.contains(&arg.text.to_ascii_lowercase().as_str());
        } else {
            operands.push(arg);
        }
    }
    operands.get(position).copied()
}

const SWITCHES: &[&str] = &[
    "-raw",
    "-recurse",
    "-force",
    "-usebasicparsing",
    "-append",
    "-nonewline",
    "-passthru",
    "-whatif",
    "-confirm",
    "-verbose",
    "-wait",
    "-asplaintext",
    "-nonewwindow",
    "-skipcertificatecheck",
    "-directory",
    "-file",
    "-s",
    "-r",
    "-f",
];

fn cmdlet(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Option<Value> {
    let native = interp.dialect != Dialect::Posix;
    match name {
        "invoke-webrequest" | "iwr" | "invoke-restmethod" | "irm" | "start-bitstransfer" => {
            Some(web::web(interp, name, args, stdin))
        }
        "curl" | "wget"
            if interp.dialect == Dialect::PowerShell
                && args
                    .iter()
                    .any(|arg| arg.text.starts_with("-U") || arg.text.starts_with("-Body")) =>
        {
            Some(web::web(interp, name, args, stdin))
        }
        "get-content" | "import-csv" | "import-clixml" | "select-string" | "gc" | "sls"
        | "get-filehash" => Some(content(interp, name, args, stdin)),
        "type" | "more" | "cat" | "findstr" | "find" if native => {
            let mut out = Value::default();
            let skip = usize::from(name.starts_with("find"));
            for arg in args
                .iter()
                .filter(|arg| !arg.text.starts_with('/') && !arg.text.starts_with('-'))
                .skip(skip)
            {
                let read = interp.read(arg, name, stdin);
                out.push(&read);
            }
            out.push(stdin);
            Some(out)
        }
        "set-content" | "add-content" | "out-file" | "tee-object" | "export-csv"
        | "export-clixml" | "sc" | "ac" => {
            let path = argument(args, &["-Path", "-FilePath", "-LiteralPath"], 0)
                .cloned()
                .unwrap_or_default();
            let mut written = argument(args, &["-Value"], 1).cloned().unwrap_or_default();
            written.push(stdin);
            interp.write(&path, &written, name);
            Some(Value::default())
        }
        "invoke-expression" | "iex" => {
            let code = if args.is_empty() {
                stdin.clone()
            } else {
                builtins::join(args)
            };
            Some(interp.run_as(Dialect::PowerShell, &code, stdin))
        }
        "foreach-object" | "%" | "where-object" | "?" | "invoke-command" | "icm" | "start-job"
        | "measure-command" => Some(blocks::blocks(interp, name, args, stdin)),
        "start-process" | "saps" | "start" if native => {
            let words: Vec<Value> = args
                .iter()
                .filter(|arg| !arg.text.starts_with(['-', '/']))
                .flat_map(|arg| {
                    arg.text
                        .split(' ')
                        .map(|part| arg.derive(part))
                        .collect::<Vec<_>>()
                })
                .collect();
            Some(interp.nested(|interp| interp.program(words, stdin)))
        }
        _ => native_command(interp, name, args, stdin),
    }
}

/// Commands that are only themselves in the dialects of Windows, and what Windows tells.
fn native_command(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Option<Value> {
    let native = interp.dialect != Dialect::Posix;
    match name {
        "call" if native => Some(interp.nested(|interp| interp.program(args.to_vec(), stdin))),
        "remove-item" | "ri" | "del" | "erase" | "rd" | "rm" | "rmdir" | "clear-content"
        | "format-volume" | "format" | "diskpart"
            if native =>
        {
            for arg in args.iter().filter(|arg| {
                !(arg.text.starts_with('-') || arg.text.starts_with('/') && arg.text.len() == 2)
            }) {
                interp.destroy(name, &arg.text);
            }
            Some(Value::default())
        }
        "copy-item" | "cpi" | "copy" | "move-item" | "mi" | "move" | "xcopy" | "robocopy"
        | "compress-archive" | "cp" | "mv"
            if native =>
        {
            let from = argument(args, &["-Path", "-LiteralPath"], 0)
                .cloned()
                .unwrap_or_default();
            let to = argument(args, &["-Destination", "-DestinationPath"], 1)
                .cloned()
                .unwrap_or_default();
            let read = interp.read(&from, name, stdin);
            interp.write(&to, &Value::unknown("", read.taint), name);
            Some(Value::default())
        }
        "set" if interp.dialect == Dialect::Cmd => {
            if let Some((name, value)) = builtins::join(args).text.split_once('=') {
                interp.assign(&name.to_ascii_uppercase(), vec![Value::text(value)], false);
                return Some(Value::default());
            }
            let taint = interp.origin(Origin::Environment("*".to_owned()));
            Some(Value::unknown("", taint))
        }
        "if" | "for" if interp.dialect == Dialect::Cmd => Some(blocks::loops(interp, args, stdin)),
        _ => plain_cmdlet(interp, name, args, stdin),
    }
}

/// Cmdlets that pass on, tell, or contact.
fn plain_cmdlet(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Option<Value> {
    match name {
        "write-output"
        | "write-host"
        | "convertto-json"
        | "out-string"
        | "select-object"
        | "sort-object"
        | "convertto-securestring"
        | "out-null"
        | "format-list"
        | "format-table" => {
            let mut value = builtins::join(args);
            value.push(stdin);
            Some(value)
        }
        "get-childitem"
        | "gci"
        | "test-path"
        | "get-item"
        | "get-process"
        | "get-service"
        | "set-executionpolicy"
        | "import-module"
        | "write-error"
        | "get-date"
        | "start-sleep"
        | "new-item"
        | "ni"
        | "set-variable"
        | "exit"
        | "ver"
        | "vol"
        | "md"
        | "rem"
        | "title"
        | "cls"
        | "pause" => Some(Value::default()),
        "set-location" | "sl" | "chdir" => {
            interp.folder = args.first().map(|folder| folder.text.clone());
            Some(Value::default())
        }
        "get-clipboard" | "systeminfo" | "ipconfig" | "tasklist" | "net" | "netsh" | "cmdkey"
        | "reg" | "klist" | "nltest" | "qwinsta" => {
            let taint = interp.origin(Origin::Program(name.to_owned()));
            Some(Value::unknown("", taint))
        }
        "send-mailmessage" | "test-netconnection" | "tnc" | "test-connection"
        | "resolve-dnsname" | "enter-pssession" | "new-pssession" => {
            Some(web::contacts(interp, name, args, stdin))
        }
        "new-object" | "add-type" => {
            let text = builtins::join(args);
            let scanned = code::scan(interp, &text.text, "powershell", stdin);
            Some(Value::unknown("", scanned.taint.with(text.taint)))
        }
        _ => None,
    }
}

fn content(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Value {
    let at = usize::from(matches!(name, "select-string" | "sls"));
    match argument(args, &["-Path", "-LiteralPath"], at) {
        Some(path) => interp.read(path, name, stdin),
        None => stdin.clone(),
    }
}

/// Says whether one pair of brackets holds the whole text.
fn wrapped(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1 == text.len() && at > 0;
        }
    }
    false
}
