//! Cmdlets that talk to a host.

use super::super::super::effects::Connection;
use super::super::super::facts::{Dialect, Transfer};
use super::super::super::host;
use super::super::super::interp::Interp;
use super::super::super::value::{Taint, Value};
use super::argument;

pub(super) fn web(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Value {
    let url = argument(args, &["-Uri", "-Source", "-Url"], 0).cloned();
    let mut carries = Taint::default();
    let mut plain = url.as_ref().map(host::past_login).unwrap_or_default();
    let mut uploads = name == "start-bitstransfer"
        && args
            .iter()
            .any(|arg| arg.text.eq_ignore_ascii_case("upload"));
    for pair in args.windows(2) {
        let [option, value] = pair else {
            continue;
        };
        match option.text.to_ascii_lowercase().as_str() {
            "-body" | "-form" => {
                uploads = true;
                carries.join(value.taint);
                plain.join(value.taint);
            }
            "-headers" => carries.join(value.taint),
            "-infile" => {
                uploads = true;
                carries.join(interp.read(value, name, stdin).taint);
            }
            "-method" => {
                uploads |= matches!(
                    value.text.to_ascii_lowercase().as_str(),
                    "post" | "put" | "patch" | "delete"
                );
            }
            _ => {}
        }
    }
    for arg in args {
        carries.join(arg.taint);
        // `-Body @{a=..}` and other blocks hold what is sent.
        if arg.text.starts_with('{') {
            carries.join(
                interp
                    .run_as(
                        Dialect::PowerShell,
                        &arg.derive(arg.text.trim_matches(['{', '}'])),
                        stdin,
                    )
                    .taint,
            );
        }
    }
    let destination = argument(args, &["-OutFile", "-Destination"], usize::MAX).cloned();
    let (address, local) = match (&url, &destination) {
        // Upwards the source is the file.
        (Some(source), Some(destination)) if uploads && name == "start-bitstransfer" => {
            (Some(destination.clone()), Some(source.clone()))
        }
        _ => (url, None),
    };
    if let Some(local) = local {
        carries.join(interp.read(&local, name, stdin).taint);
    }
    if uploads {
        carries.join(stdin.taint);
        plain.join(stdin.taint);
    }
    let host = address
        .as_ref()
        .and_then(|address| host::host_of(&address.text));
    let transfer = if uploads {
        Transfer::Upload
    } else {
        Transfer::Fetch
    };
    let value = interp.connect(&Connection {
        program: name,
        address: address.as_ref(),
        host,
        transfer,
        carries,
        plain,
        certain: true,
    });
    if let Some(path) = destination.filter(|_| !uploads) {
        interp.write(&path, &value, name);
    }
    value
}

pub(super) fn contacts(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Value {
    let address = argument(args, &["-SmtpServer", "-ComputerName", "-Name"], 0).cloned();
    let mut carries = stdin.taint;
    for arg in args {
        carries.join(arg.taint);
    }
    if let Some(file) = args.windows(2).find_map(|pair| match pair {
        [option, value] if option.text.to_ascii_lowercase().starts_with("-attach") => Some(value),
        _ => None,
    }) {
        carries.join(interp.read(file, name, stdin).taint);
    }
    let host = address
        .as_ref()
        .and_then(|address| host::host_of(&address.text));
    let transfer = match name {
        "send-mailmessage" => Transfer::Upload,
        "enter-pssession" | "new-pssession" => Transfer::Session,
        _ => Transfer::Lookup,
    };
    interp.connect(&Connection {
        program: name,
        address: address.as_ref(),
        host,
        transfer,
        carries,
        plain: carries,
        certain: true,
    })
}
