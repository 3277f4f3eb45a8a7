//! Programs whose operands name files in their own way: `tar`, `dd`, `find`, `awk`, `rm`.

use super::super::facts::Origin;
use super::super::interp::Interp;
use super::super::value::{HOLE, Taint, Value};
use super::{Invocation, builtins};

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    match name {
        "tar" | "gtar" | "bsdtar" => Some(tar(interp, invocation)),
        "dd" => Some(dd(interp, args, stdin)),
        "find" | "gfind" | "fd" | "fdfind" => Some(find(interp, invocation)),
        "awk" | "gawk" | "mawk" | "nawk" => {
            awk(interp, args, stdin);
            None
        }
        "gpg" | "gpg2" if args.iter().any(|arg| arg.text.starts_with("--export")) => {
            let taint = interp.origin(Origin::Program("gpg --export".to_owned()));
            Some(Value::unknown("", taint))
        }
        "chmod" => {
            modes(interp, name, args);
            Some(Value::default())
        }
        "docker" | "podman" => {
            mounts(interp, name, args, stdin);
            None
        }
        "psql" | "mysql" | "sqlite3" | "mariadb" | "mongosh" | "sqlcmd" | "duckdb"
        | "redis-cli" | "clickhouse-client" => {
            queries(interp, name, args, stdin);
            None
        }
        "kubectl" | "oc" | "aws" | "gcloud" | "az" | "terraform" | "tofu" | "helm" | "gsutil"
        | "pulumi" | "heroku" | "systemctl" => {
            removes(interp, name, args);
            None
        }
        "shutdown" | "reboot" | "halt" | "poweroff" => {
            interp.destroy(name, "machine");
            Some(Value::default())
        }
        _ => None,
    }
}

/// Notes what a change of modes is done to: `chmod -x file` has its mode where options stand.
fn modes(interp: &mut Interp, name: &str, args: &[Value]) {
    let is_mode = |arg: &Value| {
        let letters = arg.text.strip_prefix('-').unwrap_or_default();
        !letters.is_empty()
            && letters
                .chars()
                .all(|letter| "rwxXstugo=,+".contains(letter))
    };
    let operands = args.iter().filter(|arg| !arg.text.starts_with('-'));
    let before = usize::from(!args.iter().any(is_mode));
    for path in operands.skip(before) {
        interp.write(path, &Value::default(), name);
    }
}

fn tar(interp: &mut Interp, invocation: &Invocation<'_>) -> Value {
    let Invocation { name, args, stdin } = *invocation;
    let (mut mode, mut archive, mut members) = (' ', None, Vec::new());
    let mut rest = args.iter().enumerate();
    while let Some((index, arg)) = rest.next() {
        let text = arg.text.as_str();
        let short = text
            .strip_prefix('-')
            .filter(|letters| !letters.starts_with('-'));
        // The first word may hold the letters without a dash.
        let letters = short.or((index == 0 && !text.starts_with('-')).then_some(text));
        match (letters, text) {
            (Some(letters), _) if !letters.is_empty() => {
                for letter in letters.chars() {
                    if "cxtru".contains(letter) {
                        mode = letter;
                    }
                    if matches!(letter, 'f') {
                        archive = rest.next().map(|(_, value)| value.clone());
                    } else if matches!(letter, 'C') {
                        members.extend(rest.next().map(|(_, value)| value.clone()));
                    } else if matches!(letter, 'T' | 'X') {
                        if let Some((_, list)) = rest.next() {
                            interp.read(list, name, stdin);
                        }
                    } else if letter == 'I' {
                        rest.next();
                    }
                }
            }
            (_, "--create") => mode = 'c',
            (_, "--extract" | "--get") => mode = 'x',
            (_, "--list") => mode = 't',
            (_, text) if text.starts_with("--file=") => {
                archive = Some(arg.derive(text.trim_start_matches("--file=")));
            }
            (_, "--file") => archive = rest.next().map(|(_, value)| value.clone()),
            (_, text) if text.starts_with("--checkpoint-action=exec=") => {
                interp.run_code(
                    &arg.derive(text.trim_start_matches("--checkpoint-action=exec=")),
                    stdin,
                );
            }
            (_, text) if text.starts_with("--to-command=") => {
                interp.run_code(&arg.derive(text.trim_start_matches("--to-command=")), stdin);
            }
            (_, "--exclude" | "--directory" | "--transform") => drop(rest.next()),
            (_, text) if text.starts_with("--") => {}
            _ => members.push(arg.clone()),
        }
    }
    if matches!(mode, 'c' | 'r' | 'u') {
        return packed(interp, name, archive.as_ref(), &members, stdin);
    }
    let content = match &archive {
        Some(archive) => interp.read(archive, name, stdin),
        None => stdin.clone(),
    };
    if mode == 'x' {
        for folder in &members {
            interp.write(folder, &Value::unknown("", content.taint), name);
        }
        if members.is_empty() {
            interp.write(&Value::text("."), &Value::unknown("", content.taint), name);
        }
    }
    Value::unknown("", content.taint)
}

fn packed(
    interp: &mut Interp,
    name: &str,
    archive: Option<&Value>,
    members: &[Value],
    stdin: &Value,
) -> Value {
    let mut content = Value::unknown("", Taint::default());
    for member in members {
        let read = interp.read(member, name, stdin);
        content.taint.join(read.taint);
    }
    match archive {
        Some(archive) if archive.text != "-" => {
            interp.write(archive, &content, name);
            Value::unknown("", Taint::default())
        }
        _ => content,
    }
}

fn dd(interp: &mut Interp, args: &[Value], stdin: &Value) -> Value {
    let mut content = stdin.clone();
    let mut output = None;
    for arg in args {
        match arg.text.split_once('=') {
            Some(("if", path)) => content = interp.read(&arg.derive(path), "dd", stdin),
            Some(("of", path)) => output = Some(arg.derive(path)),
            _ => {}
        }
    }
    match output {
        Some(path) => {
            if path.text.starts_with("/dev/")
                && !path.text.starts_with("/dev/null")
                && !path.text.starts_with("/dev/tcp")
            {
                interp.destroy("dd", &path.text);
            }
            interp.write(&path, &content, "dd");
            Value::unknown("", Taint::default())
        }
        None => content,
    }
}

/// Follows `-exec`, `-delete` and `fd -x`: the folders searched are what the command gets.
fn find(interp: &mut Interp, invocation: &Invocation<'_>) -> Value {
    let Invocation { name, args, stdin } = *invocation;
    let is_fd = name.starts_with("fd");
    let roots: Vec<&Value> = if is_fd {
        args.iter()
            .filter(|arg| !arg.text.starts_with('-'))
            .skip(1)
            .take(8)
            .collect()
    } else {
        args.iter()
            .take_while(|arg| !arg.text.starts_with(['-', '(', '!']))
            .collect()
    };
    let named = args
        .iter()
        .skip_while(|arg| !matches!(arg.text.as_str(), "-name" | "-iname" | "-path"))
        .nth(1);
    let found: Vec<Value> = roots.iter().map(|root| join_name(root, named)).collect();
    let found = if found.is_empty() {
        vec![join_name(&Value::text("."), named)]
    } else {
        found
    };
    let mut out = Value::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.text.as_str() {
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "--exec" | "-X" | "--exec-batch"
                if is_fd || arg.text.starts_with("-e") || arg.text.starts_with("-o") =>
            {
                let command: Vec<Value> = rest
                    .by_ref()
                    .take_while(|word| word.text != ";" && word.text != "+")
                    .cloned()
                    .collect();
                let value = each_found(interp, &command, &found, is_fd, stdin);
                out.push(&value);
            }
            "-delete" => {
                for path in &found {
                    let whole = interp.resolve(&path.text);
                    interp.destroy(name, &whole);
                }
            }
            "-fprint" | "-fprintf" | "-fls" => {
                if let Some(path) = rest.next() {
                    interp.write(path, &Value::default(), name);
                }
            }
            _ => {}
        }
    }
    // What it prints are names; whoever takes them, by xargs, gets these paths.
    let mut printed = builtins::join(&found);
    printed.text.push('\n');
    printed.push(&out);
    printed
}

fn join_name(root: &Value, name: Option<&Value>) -> Value {
    match name {
        Some(name) => root.derive(format!("{}/{}", root.text.trim_end_matches('/'), name.text)),
        None => root.clone(),
    }
}

fn each_found(
    interp: &mut Interp,
    command: &[Value],
    found: &[Value],
    append: bool,
    stdin: &Value,
) -> Value {
    let mut out = Value::default();
    for path in found.iter().take(8) {
        let fill = |word: &Value| {
            if word.text.contains("{}") && word.text.len() + path.text.len() < 4096 {
                word.derive(word.text.replacen("{}", &path.text, 4))
            } else {
                word.clone()
            }
        };
        let mut words: Vec<Value> = command.iter().map(fill).collect();
        if append && !command.iter().any(|word| word.text.contains("{}")) {
            words.push(path.clone());
        }
        let value = interp.nested(|interp| interp.program(words, stdin));
        out.push(&value);
    }
    out
}

/// Looks into an awk program for commands, connections and the environment. What it reads is given
/// to the commands that it runs.
fn awk(interp: &mut Interp, args: &[Value], stdin: &Value) {
    let (mut programs, mut files) = (Vec::new(), Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.text.as_str() {
            "-F" | "-v" | "--assign" | "--field-separator" => drop(rest.next()),
            "-f" | "--file" => {
                let file = rest.next();
                programs.extend(file.map(|file| interp.read(file, "awk", stdin)));
            }
            "-e" | "--source" => programs.extend(rest.next().cloned()),
            text if text.starts_with('-') && text.len() > 1 => {}
            _ if programs.is_empty() => programs.push(arg.clone()),
            _ => files.push(arg),
        }
    }
    let mut input = match &files[..] {
        [] => stdin.taint,
        _ => Taint::default(),
    };
    for file in files {
        input.join(interp.read(file, "awk", stdin).taint);
    }
    for program in &programs {
        let literals = super::code::find_literals(&program.text);
        // `getline line < "file"`.
        let read = literals
            .iter()
            .filter(|one| one.before.trim_end().ends_with('<'));
        for literal in read {
            let file = program.derive(literal.text.as_str());
            input.join(interp.read(&file, "awk", stdin).taint);
        }
        if program.text.contains("ENVIRON") {
            input.join(interp.origin(Origin::Environment("*".to_owned())));
        }
    }
    let input = Value::unknown("", input);
    for program in &programs {
        awk_commands(interp, program, &input);
    }
}

fn awk_commands(interp: &mut Interp, program: &Value, input: &Value) {
    let text = &program.text;
    if ["system(", "| getline", "| \"", "|\""]
        .iter()
        .any(|sign| text.contains(sign))
    {
        let mut codes = super::code::literals(text);
        codes.truncate(16);
        // A command may be put together of what is read: `system("curl -d " $0 " host")`.
        if codes.len() > 1 && text.contains("system(") {
            let whole = Value::unknown(codes.join(HOLE), input.taint.with(program.taint));
            interp.run_code(&whole, input);
        }
        for code in codes.into_iter().filter(|code| code.contains(' ')) {
            interp.run_code(&program.derive(code), input);
        }
    }
    for inet in text.split("/inet/").skip(1) {
        // `/inet/tcp/0/host/port` of gawk.
        if let Some(host) = inet.split('/').nth(2) {
            let path = program.derive(format!("/dev/tcp/{host}/0"));
            interp.write(&path, input, "awk");
        }
    }
}

/// Reads what is mounted into a container or set from a file.
fn mounts(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) {
    for pair in args.windows(2) {
        let [option, value] = pair else {
            continue;
        };
        let local = match option.text.as_str() {
            "-v" | "--volume" => value.text.split(':').next().unwrap_or_default(),
            "--env-file" => value.text.as_str(),
            _ => continue,
        };
        if option.text == "--env-file" || local.starts_with(['/', '~', '.']) {
            interp.read_as(
                &value.derive(local),
                name,
                stdin,
                option.text == "--env-file",
            );
        }
    }
}

/// Finds statements that cannot be undone in the SQL that is passed.
fn queries(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) {
    let texts = args
        .iter()
        .map(|arg| arg.text.clone())
        .chain([stdin.text.clone()]);
    for text in texts.collect::<Vec<_>>() {
        let upper: String = text.chars().take(4096).collect::<String>().to_uppercase();
        for verb in [
            "DROP ",
            "TRUNCATE ",
            "DELETE FROM",
            "FLUSHALL",
            "FLUSHDB",
            "DROPDATABASE",
        ] {
            if upper.contains(verb) {
                interp.destroy(name, verb.trim());
            }
        }
    }
}

fn removes(interp: &mut Interp, name: &str, args: &[Value]) {
    const VERBS: &[&str] = &[
        "delete",
        "rm",
        "destroy",
        "uninstall",
        "rb",
        "terminate-instances",
        "delete-bucket",
        "delete-object",
        "purge",
        "drain",
        "remove",
    ];
    let verb = args
        .iter()
        .take(4)
        .position(|arg| VERBS.contains(&arg.text.as_str()));
    if let Some(verb) = verb {
        let target = args
            .iter()
            .skip(verb + 1)
            .find(|arg| !arg.text.starts_with('-'));
        let target = target.map_or_else(String::new, |target| target.text.clone());
        interp.destroy(name, &target);
    }
}
