//! Upstreams at an address: Streamable HTTP in both eras, and the older HTTP+SSE.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use mcpproxy_testkit::http::HttpUpstream;
use mcpproxy_testkit::sample::{EraSupport, Options, Sample};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::{Proxy, Scene, call, peak_memory, sha256};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

struct Remote {
    runtime: Runtime,
    upstream: HttpUpstream,
}

impl Remote {
    fn start(era: EraSupport) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let options = Options {
            era,
            ..Options::default()
        };
        let upstream = runtime
            .block_on(HttpUpstream::start(Sample::Echo, options))
            .unwrap();
        Self { runtime, upstream }
    }
}

fn proxy(scene: &Scene, url: &str, flags: &[&str]) -> Proxy {
    let mut args = vec!["mcp-proxy", "--audit-dir", "audit", "--upstream-url", url];
    args.extend_from_slice(flags);
    let mut child = scene.command(&args).spawn().unwrap();
    let stdin = child.stdin.take();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    Proxy::new(child, stdin, stdout)
}

fn greet(proxy: &mut Proxy) {
    proxy.send(INITIALIZE);
    let hello: Value = serde_json::from_str(&proxy.line()).unwrap();
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    proxy.send(INITIALIZED);
}

#[test]
fn a_legacy_session_over_streamable_http() {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &remote.upstream.url, &["--header", "X-Key: k"]);
    greet(&mut proxy);
    proxy.send(&call(1, "add", r#"{"a":1,"b":2}"#));
    let answer: Value = serde_json::from_str(&proxy.line()).unwrap();
    assert_eq!(
        answer["result"]["structuredContent"]["sum"], 3.0,
        "{answer}"
    );
    proxy.send(&call(2, "fail", "{}"));
    proxy.line();
    let left = proxy.left();
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(
        scene.outcomes(),
        ["add forwarded no_policy", "fail error no_policy"]
    );
    assert_eq!(scene.calls()[0]["server_transport"], "http");
    assert_eq!(scene.verified(), 1);
    // What the client said arrived byte for byte, with the session's id and the header.
    let calls: Vec<_> = remote.upstream.requests();
    let found = calls
        .iter()
        .find(|one| one.body == call(1, "add", r#"{"a":1,"b":2}"#))
        .unwrap();
    assert!(found.headers.contains_key("mcp-session-id"));
    assert_eq!(found.headers["mcp-protocol-version"], "2025-11-25");
    assert_eq!(found.headers["x-key"], "k");
    // The session was ended with the upstream too.
    assert_eq!(remote.upstream.sessions(), 0);
    drop(remote.runtime);
}

#[test]
fn the_older_transport_is_found_out() {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &remote.upstream.sse_url, &[]);
    greet(&mut proxy);
    proxy.send(&call(1, "add", r#"{"a":1,"b":2}"#));
    let answer: Value = serde_json::from_str(&proxy.line()).unwrap();
    assert_eq!(answer["id"], 1, "{answer}");
    let left = proxy.left();
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(scene.outcomes(), ["add forwarded no_policy"]);
    assert_eq!(scene.calls()[0]["server_transport"], "sse");
}

#[test]
fn the_end_of_the_older_transports_stream_ends_the_session() {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &remote.upstream.sse_url, &[]);
    greet(&mut proxy);
    proxy.send(&call(1, "add", r#"{"a":1,"b":2}"#));
    proxy.line();
    drop(remote);
    // The client has not closed anything.
    let input = proxy.stdin.take();
    let left = proxy.wait();
    drop(input);
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(scene.outcomes(), ["add forwarded no_policy"]);
    assert_eq!(scene.verified(), 1);
}

#[test]
fn long_messages_pass_an_address_in_both_directions() {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &remote.upstream.url, &[]);
    greet(&mut proxy);
    let words = "x".repeat(17 << 20);
    let line = call(1, "echo", &json!({ "text": words }).to_string());
    let mut stdin = proxy.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin
    });
    let answer = proxy.line();
    assert!(answer.len() > words.len(), "{answer:.200}");
    proxy.stdin = Some(writer.join().unwrap());
    let left = proxy.left();
    assert_eq!(left.code(), Some(0), "{left:?}");
    assert_eq!(scene.outcomes(), ["echo forwarded no_policy"]);
    assert_eq!(scene.verified(), 1);
}

/// An upstream that reads no more of a request than it must, and answers as its path says.
fn raw_upstream(answer: impl Fn(&mut TcpStream, &str) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while reader.read_line(&mut head).unwrap_or(0) > 2 {
                let line = head.lines().last().unwrap().to_ascii_lowercase();
                let value = line.strip_prefix("content-length:");
                length = value.map_or(length, |value| value.trim().parse().unwrap());
            }
            let read = io::copy(&mut reader.take(length), &mut io::sink()).unwrap();
            assert_eq!(read, length);
            answer(&mut stream, head.lines().next().unwrap_or_default());
        }
    });
    format!("http://{address}")
}

/// Writes a result of so many megabytes.
fn write_result(stream: &mut TcpStream, megabytes: usize) -> io::Result<()> {
    stream.write_all(br#"{"jsonrpc":"2.0","id":1,"result":{"content":""#)?;
    let piece = vec![b'y'; 1 << 20];
    for _ in 0..megabytes {
        stream.write_all(&piece)?;
    }
    stream.write_all(br#""}}"#)
}

#[test]
fn memory_stays_flat_under_messages_of_100_mb_at_an_address() {
    for media in ["application/json", "text/event-stream"] {
        let url = raw_upstream(move |stream, _| {
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            if media == "text/event-stream" {
                stream.write_all(b"data: ").unwrap();
            }
            write_result(stream, 100).unwrap();
            stream.write_all(b"\n\n").unwrap();
        });
        let scene = Scene::new();
        let mut proxy = proxy(&scene, &url, &[]);
        let mut stdin = proxy.stdin.take().unwrap();
        let head =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"z":1,"a":""#;
        stdin.write_all(head.as_bytes()).unwrap();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..100 {
            stdin.write_all(&piece).unwrap();
        }
        stdin.write_all(b"\"},\"name\":\"big\"}}\n").unwrap();
        let mut answer = 0;
        while answer < 100 << 20 {
            let read = proxy.stdout.fill_buf().unwrap().len();
            assert!(read > 0, "{media}: {answer}");
            proxy.stdout.consume(read);
            answer += read;
        }
        let peak = peak_memory(proxy.id());
        assert!(peak < 48_000, "{media}: {peak} kB");
        proxy.stdin = Some(stdin);
        let left = proxy.left();
        assert_eq!(left.code(), Some(0), "{}", left.stderr);
        assert_eq!(scene.outcomes(), ["big forwarded no_policy"]);
        let result = format!(r#"{{"content":"{}"}}"#, "y".repeat(100 << 20));
        assert_eq!(scene.calls()[0]["result_hash"], sha256(result.as_bytes()));
        let arguments = format!(r#"{{"a":"{}","z":1}}"#, "x".repeat(100 << 20));
        assert_eq!(
            scene.calls()[0]["arguments_hash"],
            sha256(arguments.as_bytes())
        );
    }
}

#[test]
fn a_long_answer_that_breaks_off_is_an_error_and_not_half_a_line() {
    let url = raw_upstream(|stream, _| {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9000000\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        write_result(stream, 5).unwrap();
    });
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &url, &[]);
    let answer = proxy.call(1, "cut");
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(text.starts_with("the upstream failed"), "{answer}");
    assert_eq!(proxy.left().code(), Some(0));
    assert_eq!(scene.outcomes(), ["cut timeout no_policy"]);
    assert_eq!(scene.calls()[0]["marks"], json!(["upstream_failed"]));
}

#[test]
fn an_answer_that_never_came_is_not_recorded_as_one() {
    let url = raw_upstream(|_, _| {});
    for strict in [&[][..], &["--strict"]] {
        let scene = Scene::new();
        let mut proxy = proxy(&scene, &url, strict);
        let answer = proxy.call(1, "gone");
        assert_eq!(answer["error"]["code"], -31001, "{answer}");
        assert_eq!(proxy.left().code(), Some(0));
        let [call] = &scene.calls()[..] else {
            panic!("there is one call");
        };
        assert_eq!(call["outcome"], "timeout", "{call}");
        assert_eq!(call["marks"], json!(["upstream_failed"]));
        assert!(call["result_hash"].is_null() && call["response_observed_at"].is_null());
        assert_eq!(scene.verified(), 1);
    }
}

#[test]
fn an_address_that_is_silent_when_its_client_leaves_is_not_said_to_have_ended() {
    let url = raw_upstream(|_, _| std::thread::sleep(std::time::Duration::from_secs(5)));
    for (flags, marks, code) in [
        (
            &["--shutdown-timeout", "0.4"][..],
            json!(["proxy_stopped"]),
            2,
        ),
        (
            &["--shutdown-timeout", "2", "--call-timeout", "0.1"],
            json!([]),
            0,
        ),
    ] {
        let scene = Scene::new();
        let mut proxy = proxy(&scene, &url, flags);
        proxy.send(&call(1, "t", "{}"));
        let left = proxy.left();
        assert_eq!(left.code(), Some(code), "{left:?}");
        assert_eq!(scene.outcomes(), ["t timeout no_policy"]);
        assert_eq!(scene.calls()[0]["marks"], marks, "{left:?}");
    }
}

#[test]
fn only_what_a_broken_stream_did_not_answer_failed() {
    let url = raw_upstream(|stream, _| {
        let event = r#"data: {"jsonrpc":"2.0","id":1,"result":{}}"#;
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        write!(stream, "{head}{event}\n\n").unwrap();
    });
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &url, &[]);
    proxy.send(&format!("[{},{}]", call(1, "a", "{}"), call(2, "b", "{}")));
    let said: Vec<Value> = (0..2)
        .map(|_| serde_json::from_str(&proxy.line()).unwrap())
        .collect();
    assert_eq!(said[0]["result"], json!({}), "{said:?}");
    assert_eq!(said[1]["id"], 2, "{said:?}");
    let left = proxy.left();
    assert_eq!(left.stdout, b"", "{left:?}");
    assert_eq!(
        scene.outcomes(),
        ["a forwarded no_policy", "b timeout no_policy"]
    );
}

#[test]
fn an_answer_without_a_message_is_an_error() {
    for status in [
        "204 No Content",
        "202 Accepted",
        "307 Temporary Redirect",
        "200 OK",
    ] {
        let url = raw_upstream(move |stream, _| {
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nlocation: /x\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
        });
        let scene = Scene::new();
        let mut proxy = proxy(&scene, &url, &[]);
        let answer = proxy.call(1, "gone");
        let text = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(
            text.starts_with("the upstream failed"),
            "{status}: {answer}"
        );
        assert_eq!(proxy.left().code(), Some(0), "{status}");
        assert_eq!(scene.outcomes(), ["gone error no_policy"], "{status}");
        assert_eq!(scene.calls()[0]["marks"], json!(["upstream_failed"]));
    }
}

#[test]
fn a_body_that_is_no_message_is_an_error_and_no_line() {
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":"{}"#,
        "x".repeat(300_000)
    );
    let bodies = [
        br#"{"jsonrpc":"2.0","id":1,"result":{"content":["#.to_vec(),
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV".to_vec(),
        b"{}".to_vec(),
        b"null".to_vec(),
        long.into_bytes(),
    ];
    for body in bodies {
        let shown = String::from_utf8_lossy(&body)
            .chars()
            .take(40)
            .collect::<String>();
        let url = raw_upstream(move |stream, _| {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body).unwrap();
        });
        let scene = Scene::new();
        let mut proxy = proxy(&scene, &url, &[]);
        let answer = proxy.call(1, "cut");
        assert_eq!(answer["error"]["code"], -31001, "{shown}: {answer}");
        let left = proxy.left();
        assert_eq!((left.code(), left.stdout.len()), (Some(0), 0), "{shown}");
        assert_eq!(scene.outcomes(), ["cut error no_policy"], "{shown}");
        assert_eq!(scene.calls()[0]["marks"], json!(["upstream_failed"]));
    }
}

/// A call that readers differ on has an id, and an upstream that reads it answers.
#[test]
fn what_cannot_be_inspected_is_answered_at_an_address_all_the_same() {
    for (arguments, id) in [
        (r#"{"a":NaN}"#, "62"),
        (r#"{"a":1,"a":2}"#, "62"),
        ("{\"a\":\"\\ud800\"}", "62"),
        ("{}", "62.0"),
    ] {
        for media in ["application/json", "text/event-stream"] {
            let url = raw_upstream(move |stream, _| {
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\nconnection: close\r\n\r\n"
                );
                let event = media == "text/event-stream";
                let before = if event { "data: " } else { "" };
                write!(stream, "{head}{before}{answer}\n\n").unwrap();
            });
            let scene = Scene::new();
            let mut proxy = proxy(&scene, &url, &[]);
            proxy.send(&call(62, "e", arguments));
            let answer: Value = serde_json::from_str(&proxy.line()).unwrap();
            assert_eq!(answer["result"], json!({}), "{arguments} {media}: {answer}");
            let left = proxy.left();
            assert_eq!(left.stdout, b"", "{arguments} {media}");
            assert_eq!(
                scene.outcomes(),
                ["e forwarded no_policy"],
                "{arguments} {media}"
            );
        }
    }
}

#[test]
fn an_answer_to_another_id_does_not_leave_the_caller_waiting() {
    let url = raw_upstream(|stream, _| {
        let answer =
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#;
        let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
        write!(stream, "{head}{answer}").unwrap();
    });
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &url, &[]);
    proxy.send(&call(3, "e", "{}"));
    let said: Vec<Value> = (0..2)
        .map(|_| serde_json::from_str(&proxy.line()).unwrap())
        .collect();
    assert_eq!(said[0]["id"], "server-error", "{said:?}");
    assert_eq!(
        (&said[1]["id"], &said[1]["error"]["code"]),
        (&json!(3), &json!(-31001))
    );
    assert_eq!(proxy.left().code(), Some(0));
    assert_eq!(scene.outcomes(), ["e timeout no_policy"]);
}

/// Has a call answered by these events, where `X` is the answer, and sees that alone arrive.
fn check_stream(events: &'static str) {
    let url = raw_upstream(move |stream, _| {
        let events = events.replace('X', r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        write!(stream, "{head}{events}").unwrap();
    });
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &url, &[]);
    let answer = proxy.call(1, "a");
    assert_eq!(answer["result"], json!({}), "{events:?}: {answer}");
    let left = proxy.left();
    assert_eq!((left.code(), left.stdout.len()), (Some(0), 0), "{events:?}");
}

#[test]
fn a_stream_may_end_its_lines_by_carriage_returns_and_begin_with_a_mark() {
    check_stream("data: X\r\r");
    check_stream("\u{feff}data: X\n\n");
    check_stream("\u{feff}data: X\r\r");
}

#[test]
fn an_event_that_is_no_message_is_no_line_of_the_client_s() {
    check_stream("data: hello\n\ndata: X\n\n");
    check_stream("data: {\"a\":1}\n\ndata: X\n\n");
    check_stream("data: {\"jsonrpc\":\"2.0\",\"id\":1,\n\ndata: X\n\n");
    check_stream("event: ping\ndata:\n\ndata: X\n\ndata: bye\n\n");
}

#[test]
fn a_long_message_of_the_modern_era_carries_its_headers_too() {
    let remote = Remote::start(EraSupport::ModernOnly);
    let scene = Scene::new();
    let words = "x".repeat(3 << 20);
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{{"text":"{words}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}},"name":"echo"}}}}"#
    );
    let mut proxy = proxy(&scene, &remote.upstream.url, &[]);
    proxy.send(&line);
    let answer = proxy.line();
    assert!(answer.len() > words.len(), "{answer:.200}");
    assert_eq!(proxy.left().code(), Some(0));
    let requests = remote.upstream.requests();
    assert_eq!(requests[0].headers["mcp-name"], "echo");
    assert!(requests[0].body == line);
    assert_eq!(scene.outcomes(), ["echo forwarded no_policy"]);
}

#[test]
fn a_client_that_puts_lengths_first_reaches_an_address() {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &remote.upstream.url, &[]);
    let stdin = proxy.stdin.as_mut().unwrap();
    write!(
        stdin,
        "Content-Length: {}\r\n\r\n{INITIALIZE}",
        INITIALIZE.len()
    )
    .unwrap();
    let head = proxy.line();
    let length: usize = head
        .strip_prefix("Content-Length: ")
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(proxy.line(), "");
    let mut body = vec![0; length];
    proxy.stdout.read_exact(&mut body).unwrap();
    let hello: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(hello["id"], 0, "{hello}");
    assert_eq!(proxy.left().code(), Some(0));
    assert_eq!(remote.upstream.received()[0], INITIALIZE);
}

#[test]
fn the_modern_era_carries_its_headers() {
    let remote = Remote::start(EraSupport::ModernOnly);
    let scene = Scene::new();
    let line = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "add", "arguments": { "a": 1, "b": 2 }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        } },
    });
    let mut proxy = proxy(&scene, &remote.upstream.url, &[]);
    proxy.send(&line.to_string());
    let answer: Value = serde_json::from_str(&proxy.line()).unwrap();
    assert_eq!(
        answer["result"]["structuredContent"]["sum"], 3.0,
        "{answer}"
    );
    assert_eq!(proxy.left().code(), Some(0));
    assert_eq!(remote.upstream.requests()[0].headers["mcp-name"], "add");
}

#[test]
fn a_guard_keeps_denied_calls_from_an_address() {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let policy = scene.file("p.yaml", "version: 1\ndefault: deny\nallowlist: [echo]\n");
    let flags = ["--profile", "guard", "--policy", &policy];
    let mut proxy = proxy(&scene, &remote.upstream.url, &flags);
    greet(&mut proxy);
    proxy.send(&call(1, "add", "{}"));
    let answer: Value = serde_json::from_str(&proxy.line()).unwrap();
    assert_eq!(answer["error"]["data"]["policy_ref"], "default:deny");
    assert_eq!(proxy.left().code(), Some(1));
    let bodies = remote.upstream.received();
    assert!(
        bodies.iter().all(|body| !body.contains("tools/call")),
        "{bodies:?}"
    );
}

/// Calls a tool that hangs, then one that answers under this id, and ends the proxy by a signal.
fn overlapping(second: u64) -> Scene {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &remote.upstream.url, &["--shutdown-timeout", "0.5"]);
    greet(&mut proxy);
    proxy.send(&call(1, "hang", "{}"));
    proxy.send(&call(second, "echo", r#"{"text":"x"}"#));
    let answer: Value = serde_json::from_str(&proxy.line()).unwrap();
    assert_eq!(answer["id"], second);
    proxy.signal(Signal::TERM);
    let left = proxy.wait();
    assert_eq!(left.code(), Some(143), "{left:?}");
    assert_eq!(
        scene.outcomes(),
        ["echo forwarded no_policy", "hang timeout no_policy"]
    );
    scene
}

#[test]
fn calls_overlap_and_are_drained_on_a_signal() {
    overlapping(2);
}

#[test]
fn of_two_calls_with_one_id_each_has_the_answer_of_its_own_exchange() {
    let calls = overlapping(1).calls();
    assert_eq!(calls[0]["marks"], json!(["duplicate_id"]));
    assert_eq!(calls[1]["marks"], json!(["proxy_stopped"]));
}

#[test]
fn over_the_older_transport_calls_with_one_id_cannot_be_told_apart() {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let flags = ["--shutdown-timeout", "0.5"];
    let mut proxy = proxy(&scene, &remote.upstream.sse_url, &flags);
    greet(&mut proxy);
    proxy.send(&call(1, "hang", "{}"));
    proxy.send(&call(1, "echo", r#"{"text":"x"}"#));
    proxy.line();
    proxy.signal(Signal::TERM);
    proxy.wait();
    for call in scene.calls() {
        let marks = call["marks"].as_array().unwrap();
        assert!(marks.contains(&json!("ambiguous")), "{call}");
    }
    assert_eq!(scene.calls().len(), 2);
}

#[test]
fn an_upstream_that_is_not_there_ends_with_three() {
    let scene = Scene::new();
    let mut proxy = proxy(&scene, "http://127.0.0.1:1/mcp", &[]);
    proxy.send(INITIALIZE);
    let answer: Value = serde_json::from_str(&proxy.line()).unwrap();
    assert_eq!(answer["id"], 0);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cannot be reached")
    );
    let left = proxy.wait();
    assert_eq!(left.code(), Some(3), "{left:?}");
    assert_eq!(scene.packs().len(), 1);
}

#[test]
fn every_call_to_an_upstream_that_is_not_there_is_answered() {
    for _ in 0..20 {
        let scene = Scene::new();
        let mut proxy = proxy(&scene, "http://127.0.0.1:1/mcp", &[]);
        let lines = format!("{INITIALIZE}\n{}\n", call(1, "t", "{}"));
        let stdin = proxy.stdin.as_mut().unwrap();
        stdin.write_all(lines.as_bytes()).unwrap();
        let left = proxy.wait();
        assert_eq!(left.code(), Some(3), "{left:?}");
        let said = String::from_utf8(left.stdout.clone()).unwrap();
        let calls = scene.calls().len();
        assert_eq!(said.lines().count(), 1 + calls, "{left:?}");
        let marks = scene.calls().into_iter().map(|call| call["marks"].clone());
        assert!(
            marks
                .into_iter()
                .all(|one| one == json!(["upstream_failed"]))
        );
    }
}

#[test]
fn an_upstream_that_fails_later_is_told_of_and_recorded() {
    let remote = Remote::start(EraSupport::LegacyOnly);
    let scene = Scene::new();
    let mut proxy = proxy(&scene, &remote.upstream.url, &[]);
    greet(&mut proxy);
    remote.upstream.answer_with_status(503);
    proxy.send(&call(1, "add", "{}"));
    let answer: Value = serde_json::from_str(&proxy.line()).unwrap();
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("HTTP 503"),
        "{answer}"
    );
    proxy.stdin.as_mut().unwrap().flush().unwrap();
    assert_eq!(proxy.left().code(), Some(0));
    assert_eq!(scene.outcomes(), ["add error no_policy"]);
    assert_eq!(scene.calls()[0]["marks"], json!(["upstream_failed"]));
}
