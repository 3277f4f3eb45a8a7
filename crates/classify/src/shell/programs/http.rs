//! curl and wget, whose options decide what is sent.

use super::super::effects::Connection;
use super::super::facts::Transfer;
use super::super::host;
use super::super::interp::Interp;
use super::super::value::{HOLE, Taint, Value};
use super::Invocation;

/// Options of curl that take a value and say nothing about data.
const CURL_VALUED: &str = "-A -e -m -r -w -x -X -y -Y -z -C -U -P -Q -t --user-agent --referer --max-time --range \
    --write-out --request --connect-timeout --retry --retry-delay --retry-max-time --limit-rate --interface --cacert --capath \
    --ciphers --tls-max --resolve --connect-to --dns-servers --max-redirs --proto --proto-default --proto-redir --noproxy \
    --abstract-unix-socket --local-port --keepalive-time --speed-limit --speed-time --happy-eyeballs-timeout-ms \
    --form-escape --max-filesize --pass --cert-type --key-type --mail-from --mail-rcpt --oauth2-bearer --parallel-max --rate \
    --request-target --service-name --socks5 --tlsuser --tlspassword --ftp-port --telnet-option --aws-sigv4 --continue-at \
    --time-cond --quote --create-file-mode --engine --pinnedpubkey";

/// Options of curl that take a value and are looked at.
const CURL_OWN: &str = "-F --form --form-string -T --upload-file -H --header -u --user -b --cookie \
    -K --config -o --output -D --dump-header -c --cookie-jar --url -E --cert --key --netrc-file \
    --output-dir --trace --trace-ascii --stderr --proxy --preproxy --doh-url --proxy-header \
    --proxy-user --variable --expand-data --expand-url --expand-header --expand-form \
    --expand-json --etag-compare --unix-socket";

/// Options of curl whose value is sent, or names a file that is.
const CURL_DATA: &[&str] = &[
    "-d",
    "--data",
    "--data-ascii",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--json",
    "--url-query",
];

/// How many lines of a configuration are followed.
const MAX_LINES: usize = 256;
/// Variables that name a proxy, which is given all that is sent.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "HTTP_PROXY",
];

/// A transfer being put together from options.
#[derive(Default)]
struct Request {
    /// Where all that is sent comes from.
    sent: Taint,
    /// Where that comes from which stands in no header that may be a login.
    plain: Taint,
    uploads: bool,
    outputs: Vec<Value>,
    urls: Vec<Value>,
}

pub(super) fn run(interp: &mut Interp, invocation: &Invocation<'_>) -> Option<Value> {
    let mut request = match invocation.name {
        "curl" | "curlie" => curl(interp, invocation),
        "wget" | "wget2" => wget(interp, invocation),
        "http" | "https" | "xh" | "xhs" | "httpie" => httpie(interp, invocation),
        _ => return None,
    };
    let proxies = PROXIES.iter().filter_map(|name| interp.lookup(name));
    request
        .urls
        .extend(proxies.filter(|proxy| !proxy.text.is_empty()));
    Some(finish(interp, invocation.name, &request))
}

/// Splits `-dvalue`, `--data=value` and bundles like `-sSd value` into option and value.
fn options(args: &[Value], valued: impl Fn(&str) -> bool) -> Vec<(String, Option<Value>)> {
    let mut out = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        if text == "-" || !text.starts_with('-') {
            out.push((String::new(), Some(arg.clone())));
        } else if text.starts_with("--") {
            match text.split_once('=') {
                Some((name, value)) => out.push((name.to_owned(), Some(arg.derive(value)))),
                None if valued(text) => out.push((text.to_owned(), rest.next().cloned())),
                None => out.push((text.to_owned(), None)),
            }
        } else {
            for (at, letter) in text.char_indices().skip(1) {
                let name = format!("-{letter}");
                if !valued(&name) {
                    out.push((name, None));
                    continue;
                }
                let attached = text.get(at + letter.len_utf8()..).unwrap_or_default();
                let value = if attached.is_empty() {
                    rest.next().cloned()
                } else {
                    Some(arg.derive(attached))
                };
                out.push((name, value));
                break;
            }
        }
    }
    out
}

fn curl(interp: &mut Interp, invocation: &Invocation<'_>) -> Request {
    let mut request = Request::default();
    let valued = |name: &str| {
        let known = CURL_VALUED
            .split_ascii_whitespace()
            .chain(CURL_OWN.split_ascii_whitespace());
        CURL_DATA.contains(&name) || known.into_iter().any(|known| known == name)
    };
    let mut remote_name = false;
    for (name, value) in options(invocation.args, valued) {
        remote_name |= matches!(name.as_str(), "-O" | "--remote-name" | "-J");
        curl_option(
            interp,
            invocation,
            &name,
            value.unwrap_or_default(),
            &mut request,
        );
    }
    if remote_name {
        let saved: Vec<Value> = request
            .urls
            .iter()
            .map(|url| url.derive(last_part(&url.text)))
            .collect();
        request.outputs.extend(saved);
    }
    request
}

fn curl_option(
    interp: &mut Interp,
    invocation: &Invocation<'_>,
    name: &str,
    value: Value,
    request: &mut Request,
) {
    let Invocation {
        name: program,
        stdin,
        ..
    } = *invocation;
    match name {
        "" | "--url" => request.urls.push(value),
        "--data-raw" | "--form-string" => request.add(&value),
        "-F" | "--form" => {
            let data = interp.at_data(&value, program, stdin, true);
            request.add(&data);
        }
        name if CURL_DATA.contains(&name) => {
            let data = interp.at_data(&value, program, stdin, false);
            request.add(&data);
        }
        "-T" | "--upload-file" => {
            let data = interp.read(&value, program, stdin);
            request.add(&data);
        }
        "-H" | "--header" | "--proxy-header" | "-b" | "--cookie" => {
            header(interp, name, &value, program, stdin, request);
        }
        "-u" | "--user" | "--oauth2-bearer" | "--proxy-user" | "--expand-header" => {
            request.log_in(&value);
        }
        // Which of the options that expand it has it, is not followed.
        "--variable" => {
            let file = value
                .text
                .split_once('@')
                .map(|(_, file)| value.derive(file));
            let data = file.map(|file| interp.read(&file, program, stdin));
            request.tell(&data.unwrap_or(value));
        }
        "--expand-url" => request.urls.push(value),
        "--expand-data" | "--expand-form" | "--expand-json" => request.add(&value),
        "--etag-compare" => {
            let data = interp.read(&value, program, stdin);
            request.tell(&data);
        }
        "-A" | "--user-agent" | "-e" | "--referer" | "--mail-rcpt" => request.tell(&value),
        "-K" | "--config" => {
            let config = interp.read(&value, program, stdin);
            request.log_in(&config);
            configured(interp, invocation, &config, request);
        }
        // Another machine in the place of the one that the address names.
        "--connect-to" => {
            let parts = value.text.splitn(3, ':').nth(2);
            request.stand_in(&value, parts);
        }
        "--resolve" => {
            let parts = value.text.splitn(3, ':').nth(2);
            for address in parts.into_iter().flat_map(|listed| listed.split(',')) {
                request.stand_in(&value, Some(address));
            }
        }
        // Whoever listens at a socket is reached like a file is.
        "--netrc-file" | "-E" | "--cert" | "--key" | "--unix-socket" => {
            interp.read(&value, program, stdin);
        }
        "-o" | "--output" | "-D" | "--dump-header" | "-c" | "--cookie-jar" | "--trace"
        | "--trace-ascii" => {
            request.outputs.push(value);
        }
        "-x" | "--proxy" | "--preproxy" | "--socks5" | "--doh-url" => {
            request.urls.push(value);
        }
        "-X" | "--request" => {
            request.uploads |= matches!(value.text.as_str(), "POST" | "PUT" | "PATCH" | "DELETE");
        }
        _ => {}
    }
}

/// Follows the lines of a configuration, as far as they are known: `option = "value"`, one a line.
fn configured(
    interp: &mut Interp,
    invocation: &Invocation<'_>,
    config: &Value,
    request: &mut Request,
) {
    for line in config.text.lines().take(MAX_LINES) {
        let line = line.trim().trim_start_matches('-');
        let end = line.find(|letter: char| letter.is_whitespace() || "=:".contains(letter));
        let (name, value) = line.split_at(end.unwrap_or(line.len()));
        let value = value
            .trim_start_matches(|letter: char| letter.is_whitespace() || "=:".contains(letter));
        let value = config.derive(value.trim_matches('"'));
        let dashes = if name.len() == 1 { "-" } else { "--" };
        let option = [dashes, name].concat();
        // A configuration that names another is not followed further.
        if !name.is_empty() && !name.starts_with('#') && !matches!(name, "K" | "config") {
            curl_option(interp, invocation, &option, value, request);
        }
    }
}

fn header(
    interp: &mut Interp,
    option: &str,
    value: &Value,
    program: &str,
    stdin: &Value,
    request: &mut Request,
) {
    // A cookie without `=` is a file of cookies; a header that starts with `@` is a file.
    let cookies = matches!(option, "-b" | "--cookie") && !value.text.contains('=') && value.known;
    let read = if let Some(file) = value.text.strip_prefix('@') {
        interp.read(&value.derive(file), program, stdin)
    } else if cookies {
        interp.read(value, program, stdin)
    } else {
        value.clone()
    };
    request.log_in(&read);
}

impl Request {
    /// Takes what stands in the body.
    fn add(&mut self, data: &Value) {
        self.uploads = true;
        self.tell(data);
    }

    /// Takes what stands beside the body, where nobody looks for a login.
    fn tell(&mut self, data: &Value) {
        self.sent.join(data.taint);
        self.plain.join(data.taint);
    }

    /// Takes another place to which all of it goes; nothing where it names none.
    fn stand_in(&mut self, option: &Value, address: Option<&str>) {
        let named = address.filter(|address| !address.trim_start_matches(['+', ':']).is_empty());
        self.urls
            .extend(named.map(|address| option.derive(address)));
    }

    /// Takes what stands where services look for a login.
    fn log_in(&mut self, data: &Value) {
        self.sent.join(data.taint);
    }
}

const WGET_VALUED: &[&str] = &[
    "-O",
    "--output-document",
    "-P",
    "--directory-prefix",
    "-o",
    "--output-file",
    "-a",
    "-U",
    "--user-agent",
    "-t",
    "--tries",
    "-T",
    "--timeout",
    "-w",
    "--wait",
    "-Q",
    "-l",
    "--level",
    "-A",
    "-R",
    "-D",
    "-e",
    "--execute",
    "-i",
    "--input-file",
    "--header",
    "--post-data",
    "--post-file",
    "--body-data",
    "--body-file",
    "--method",
    "--load-cookies",
    "--save-cookies",
    "--user",
    "--password",
    "--http-user",
    "--http-password",
    "--referer",
    "--ca-certificate",
    "--certificate",
    "--private-key",
    "--limit-rate",
    "-B",
    "--base",
];

fn wget(interp: &mut Interp, invocation: &Invocation<'_>) -> Request {
    let Invocation {
        name: program,
        args,
        stdin,
    } = *invocation;
    let mut request = Request::default();
    let mut named = false;
    for (name, value) in options(args, |name| WGET_VALUED.contains(&name)) {
        let value = value.unwrap_or_default();
        match name.as_str() {
            "" => request.urls.push(value),
            "--post-file" | "--body-file" => {
                let data = interp.read(&value, program, stdin);
                request.add(&data);
            }
            "--post-data" | "--body-data" => request.add(&value),
            "--method" => {
                request.uploads |= !matches!(value.text.as_str(), "GET" | "HEAD" | "get" | "head");
            }
            "--header" | "--user" | "--password" | "--http-user" | "--http-password" => {
                request.log_in(&value);
            }
            "-U" | "--user-agent" | "--referer" => request.tell(&value),
            "--load-cookies" => {
                let data = interp.read(&value, program, stdin);
                request.log_in(&data);
            }
            "-i" | "--input-file" => {
                let list = interp.read(&value, program, stdin);
                request.urls.push(Value::unknown(HOLE, list.taint));
            }
            "--certificate" | "--private-key" => {
                interp.read(&value, program, stdin);
            }
            "-O" | "--output-document" => {
                named = true;
                request.outputs.push(value);
            }
            "-o" | "--output-file" | "-a" | "--save-cookies" => {
                interp.write(&value, &Value::default(), program);
            }
            // A proxy or any other setting can be given here.
            "-e" | "--execute" => {
                if let Some((_, proxy)) = value.text.split_once("proxy=") {
                    request.urls.push(value.derive(proxy));
                }
            }
            // `-qO-` reads as a bundle; `-nv` and kin have no value.
            _ => {}
        }
    }
    if !named {
        let saved: Vec<Value> = request
            .urls
            .iter()
            .map(|url| url.derive(last_part(&url.text)))
            .collect();
        request.outputs.extend(saved);
    }
    request
}

/// `http [METHOD] URL [name=value | name=@file | Header:value]..`
fn httpie(interp: &mut Interp, invocation: &Invocation<'_>) -> Request {
    let Invocation {
        name: program,
        args,
        stdin,
    } = *invocation;
    let mut request = Request::default();
    let valued = |name: &str| {
        matches!(
            name,
            "-o" | "--output" | "-a" | "--auth" | "--session" | "--proxy" | "--raw" | "-A"
        )
    };
    for (name, value) in options(args, valued) {
        let value = value.unwrap_or_default();
        let method = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
            .contains(&value.text.to_ascii_uppercase().as_str());
        match name.as_str() {
            "" if request.urls.is_empty() && method => {
                request.uploads |= !value.text.eq_ignore_ascii_case("get");
            }
            "" if request.urls.is_empty() => request.urls.push(value),
            "" if is_header(&value.text) => {
                request.uploads = true;
                request.log_in(&value);
            }
            "" => match value.text.split_once('@') {
                Some((_, file)) => {
                    let data = interp.read(&value.derive(file), program, stdin);
                    request.add(&data);
                }
                None => request.add(&value),
            },
            "-o" | "--output" => request.outputs.push(value),
            "-a" | "--auth" => {
                request.uploads = true;
                request.log_in(&value);
            }
            "--raw" => request.add(&value),
            "--proxy" => request.urls.push(value),
            _ => {}
        }
    }
    if !stdin.taint.is_empty() {
        request.add(stdin);
    }
    request
}

/// Tells `Header:value` from `name=value`, `name==value`, `name:=json` and `name@file`.
fn is_header(item: &str) -> bool {
    let at = item.find([':', '=', '@']);
    let rest = at.and_then(|at| item.get(at..)).unwrap_or_default();
    rest.starts_with(':') && !rest.starts_with(":=")
}

fn last_part(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name.to_owned(),
        _ => "index.html".to_owned(),
    }
}

fn finish(interp: &mut Interp, program: &str, request: &Request) -> Value {
    let mut out = Value::unknown("", Taint::default());
    let transfer = if request.uploads {
        Transfer::Upload
    } else {
        Transfer::Fetch
    };
    for url in &request.urls {
        if url.text.starts_with("file:") {
            let path = url
                .text
                .trim_start_matches("file:")
                .trim_start_matches("//");
            let read = interp.read(&url.derive(path), program, &Value::default());
            out.taint.join(read.taint);
            continue;
        }
        let carries = request.sent.with(url.taint);
        let plain = request.plain.with(host::past_login(url));
        let host = host::host_of(&url.text);
        let value = interp.connect(&Connection {
            program,
            address: Some(url),
            host,
            transfer,
            carries,
            plain,
            certain: true,
        });
        out.push(&value);
    }
    if request.urls.is_empty() && !request.sent.is_empty() {
        // The URL may stand in a configuration file.
        let value = interp.connect(&Connection {
            program,
            address: None,
            host: None,
            transfer,
            carries: request.sent,
            plain: request.plain,
            certain: true,
        });
        out.push(&value);
    }
    let to_stdout =
        request.outputs.is_empty() || request.outputs.iter().any(|path| path.text == "-");
    for path in &request.outputs {
        interp.write(path, &out, program);
    }
    if to_stdout {
        out
    } else {
        Value::unknown("", Taint::default())
    }
}
