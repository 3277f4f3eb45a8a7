//! Streams that change hands between the bridge and the gateway: what happens when one of the two
//! does not know how, or has nothing of use to hand over.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use mcpproxy_gateway::handover;
use serde_json::json;

use crate::support::{Bridge, Gateway, Home};

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"said":"by hand"}}"#;

/// A gateway that only this test knows: it answers the bridge's head, and then one line.
fn by_hand(listener: &UnixListener, answer: &str, refuses: bool) -> String {
    let (stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).unwrap();
    }
    (&stream).write_all(answer.as_bytes()).unwrap();
    if refuses {
        // A plain read: the descriptors that come along are closed.
        reader.read_exact(&mut [0]).unwrap();
        (&stream).write_all(&[handover::REFUSED]).unwrap();
    }
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    (&stream)
        .write_all(format!("{ANSWER}\n").as_bytes())
        .unwrap();
    line
}

#[tokio::test]
async fn a_gateway_that_takes_no_streams_gets_lines() {
    let head = |to: &str| format!("HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: {to}\r\n\r\n");
    for (answer, refuses) in [
        (head("mcp-lines"), false),
        (format!("{}?", head("mcp-streams")), true),
    ] {
        let home = Home::new(&json!({}));
        std::fs::create_dir_all(home.data()).unwrap();
        let listener = UnixListener::bind(home.data().join("mcpproxy.sock")).unwrap();
        let gateway = thread::spawn(move || by_hand(&listener, &answer, refuses));
        let mut bridge = Bridge::start(&home, &[]);
        let result = bridge.ask("tools/list", json!({})).await;
        assert_eq!(result["said"], "by hand");
        assert!(gateway.join().unwrap().contains("tools/list"));
        bridge.close();
        bridge.ends().await;
    }
}

/// Opens the line door as the bridge does, and offers these streams.
fn offered(gateway: &Gateway, streams: Option<[BorrowedFd<'_>; 2]>) -> (UnixStream, u8) {
    let mut stream = UnixStream::connect(gateway.home.data().join("mcpproxy.sock")).unwrap();
    let head = "GET /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: mcp-lines\r\nupgrade: mcp-streams\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = [0];
    while said != [handover::READY] {
        stream.read_exact(&mut said).unwrap();
    }
    match streams {
        Some(streams) => handover::send(stream.as_fd(), &streams).unwrap(),
        None => stream.write_all(b"x").unwrap(),
    }
    stream.read_exact(&mut said).unwrap();
    (stream, said[0])
}

#[tokio::test]
async fn what_cannot_be_waited_for_is_refused_and_lines_follow() {
    let gateway = Gateway::start(&json!({})).await;
    tokio::task::spawn_blocking(move || {
        let (null, file) = (
            File::open("/dev/null").unwrap(),
            tempfile::tempfile().unwrap(),
        );
        let (reading, writing) = rustix::pipe::pipe().unwrap();
        let ends = [reading.as_fd(), writing.as_fd()];
        for streams in [
            None,
            Some([null.as_fd(), null.as_fd()]),
            Some([ends[0], file.as_fd()]),
            // The wrong way round.
            Some([ends[1], ends[0]]),
        ] {
            let (mut stream, said) = offered(&gateway, streams);
            assert_eq!(said, handover::REFUSED, "{streams:?}");
            let ping = br#"{"jsonrpc":"2.0","id":7,"method":"nothing"}"#;
            stream
                .write_all(&[ping.as_slice(), b"\n"].concat())
                .unwrap();
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            assert!(line.contains("\"id\":7"), "{line}");
        }
        let (_stream, said) = offered(&gateway, Some(ends));
        assert_eq!(said, handover::TAKEN);
    })
    .await
    .unwrap();
}
