//! Programs that open connections in a syntax of their own: `socat`, `openssl`, listeners.

use super::super::effects::Connection;
use super::super::facts::Transfer;
use super::super::host;
use super::super::interp::Interp;
use super::super::value::{Taint, Value};
use super::Invocation;

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let Invocation { name, args, stdin } = *invocation;
    match name {
        "socat" => Some(socat(interp, args, stdin)),
        "openssl" => Some(openssl(interp, args, stdin)),
        "nc" | "ncat" | "netcat" if is_listening(args) => {
            let program = name;
            run_on_connect(interp, args, stdin);
            Some(interp.connect(&Connection {
                program,
                address: None,
                host: Some("*".to_owned()),
                transfer: Transfer::Listen,
                carries: stdin.taint,
                plain: stdin.taint,
                certain: true,
            }))
        }
        "nc" | "ncat" | "netcat" => {
            run_on_connect(interp, args, stdin);
            // With `-U` the host is the path of a socket.
            let sockets = args.iter().filter(|arg| host::looks_like_path(&arg.text));
            if is_told(args, "--unixsock", 'U') {
                for socket in sockets {
                    interp.read(socket, name, &Value::default());
                }
            }
            None
        }
        _ => None,
    }
}

fn is_listening(args: &[Value]) -> bool {
    is_told(args, "--listen", 'l')
}

/// Says whether an option is given, whole or as a letter among others.
fn is_told(args: &[Value], option: &str, letter: char) -> bool {
    args.iter().any(|arg| {
        let text = arg.text.as_str();
        text == option
            || (text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
    })
}

/// `-e /bin/sh`: whoever is at the other end gives the orders.
fn run_on_connect(interp: &mut Interp, args: &[Value], stdin: &Value) {
    for pair in args.windows(2) {
        if let [option, program] = pair
            && matches!(
                option.text.as_str(),
                "-e" | "-c" | "--exec" | "--sh-exec" | "-lvpe" | "-nve"
            )
        {
            interp.facts.fetches_and_runs |= is_shell(&program.text);
            interp.run_code(program, stdin);
        }
    }
}

fn is_shell(text: &str) -> bool {
    let base = text
        .split(' ')
        .next()
        .unwrap_or_default()
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default();
    [
        "sh",
        "bash",
        "zsh",
        "dash",
        "ksh",
        "cmd.exe",
        "cmd",
        "powershell",
        "powershell.exe",
    ]
    .contains(&base)
}

/// Reads the two addresses of socat; each may be a file, a connection or a program.
fn socat(interp: &mut Interp, args: &[Value], stdin: &Value) -> Value {
    let addresses: Vec<&Value> = args
        .iter()
        .filter(|arg| !arg.text.starts_with('-') || arg.text == "-")
        .collect();
    let mut content = Value::unknown("", Taint::default());
    let (mut connections, mut shell) = (Vec::new(), false);
    for address in addresses {
        let (kind, rest) = address
            .text
            .split_once(':')
            .unwrap_or((address.text.as_str(), ""));
        let kind = kind.to_ascii_uppercase();
        let target = rest.split(',').next().unwrap_or_default();
        if matches!(kind.as_str(), "-" | "STDIN" | "STDIO") {
            content.taint.join(stdin.taint);
        } else if matches!(kind.as_str(), "EXEC" | "SYSTEM") {
            shell |= is_shell(target);
            let value = interp.run_code(&address.derive(target), stdin);
            content.taint.join(value.taint);
        } else if matches!(kind.as_str(), "FILE" | "OPEN" | "GOPEN" | "CREATE")
            || address.text.starts_with(['/', '.', '~'])
        {
            let path = if target.is_empty() {
                address.text.as_str()
            } else {
                target
            };
            if !path.starts_with("/dev/") {
                let read = interp.read(&address.derive(path), "socat", stdin);
                content.taint.join(read.taint);
            }
        } else if kind.starts_with("UNIX") || kind.starts_with("LOCAL") {
            // Whoever listens there is reached like a file is.
            interp.read(&address.derive(target), "socat", stdin);
        } else if kind.contains("LISTEN") || kind.contains("RECV") {
            connections.push((address.clone(), Some("*".to_owned()), Transfer::Listen));
        } else if kind.contains("TCP")
            || kind.contains("UDP")
            || kind.contains("SSL")
            || kind.contains("SOCKS")
            || kind.contains("PROXY")
            || kind.contains("SCTP")
        {
            connections.push((address.clone(), host::host_of(target), Transfer::Session));
        }
    }
    let mut out = content.clone();
    for (address, host, transfer) in connections {
        let carries = content.taint.with(address.taint);
        let value = interp.connect(&Connection {
            program: "socat",
            address: Some(&address),
            host,
            transfer,
            carries,
            plain: carries,
            certain: true,
        });
        out.push(&value);
        interp.facts.fetches_and_runs |= shell;
    }
    out
}

fn openssl(interp: &mut Interp, args: &[Value], stdin: &Value) -> Value {
    let verb = args.first().map_or("", |arg| arg.text.as_str());
    let mut content = Value::unknown("", Taint::default());
    let (mut output, mut address, mut input) = (None, None, false);
    for pair in args.windows(2) {
        let [option, value] = pair else {
            continue;
        };
        match option.text.as_str() {
            "-in" | "-inkey" | "-key" | "-CAfile" | "-cert" => {
                let read = interp.read(value, "openssl", stdin);
                input |= option.text == "-in";
                content.taint.join(read.taint);
            }
            "-out" => output = Some(value.clone()),
            "-connect" | "-host" | "-url" | "-proxy" => address = Some(value.clone()),
            _ => {}
        }
    }
    if verb == "s_client" || verb == "ocsp" || verb == "s_time" {
        let Some(address) = address else {
            return Value::default();
        };
        let (host, carries) = (
            host::host_of(&address.text),
            stdin.taint.with(address.taint),
        );
        return interp.connect(&Connection {
            program: "openssl",
            address: Some(&address),
            host,
            transfer: Transfer::Session,
            carries,
            plain: carries,
            certain: true,
        });
    }
    if !input {
        content.taint.join(stdin.taint);
    }
    let decoded =
        (!input && matches!(verb, "base64" | "enc") && args.iter().any(|arg| arg.text == "-d"))
            .then(|| stdin.exact().and_then(super::super::decode::base64))
            .flatten();
    if let Some(bytes) = decoded {
        return stdin.derive(String::from_utf8_lossy(&bytes));
    }
    match output {
        Some(path) => {
            interp.write(&path, &content, "openssl");
            Value::default()
        }
        None => content,
    }
}
