//! Lines of every kind, whole and cut into chunks.

use proptest::prelude::*;

use super::*;

#[derive(Default)]
struct Heard {
    parts: Vec<(Part, Vec<u8>)>,
    messages: Vec<Seen>,
}

impl Watch for Heard {
    fn part(&mut self, part: Part, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some((last, all)) if *last == part => all.extend_from_slice(bytes),
            _ => self.parts.push((part, bytes.to_vec())),
        }
    }

    fn message(&mut self, seen: Seen) {
        self.messages.push(seen);
    }
}

fn hear(line: &[u8], size: usize) -> (Heard, Result<(), Lost>) {
    let mut heard = Heard::default();
    let mut tap = Tap::default();
    for chunk in line.chunks(size) {
        tap.push(chunk, &mut heard);
    }
    let ended = tap.finish();
    (heard, ended)
}

/// Shows what is seen of a line, the same in chunks of every size.
fn shown(line: &[u8]) -> String {
    let (whole, ended) = hear(line, line.len().max(1));
    for size in [1, 2, 3, 5, 16] {
        let (cut, cut_ended) = hear(line, size);
        assert_eq!(cut.messages, whole.messages);
        assert_eq!(cut_ended, ended);
        assert_eq!(cut.parts, whole.parts);
    }
    let text = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().map_or("-".to_owned(), |bytes| {
            String::from_utf8_lossy(bytes).into_owned()
        })
    };
    let span = |span: &Option<Range<usize>>| {
        let bytes = span.clone().map(|span| line[span].to_vec());
        text(&bytes)
    };
    let mut lines: Vec<String> = Vec::new();
    for seen in &whole.messages {
        lines.push(format!(
            "id {} method {} name {} cancels {} arguments {} result {} {} error {}{}",
            text(&seen.id),
            text(&seen.method),
            text(&seen.name),
            text(&seen.request_id),
            span(&seen.arguments),
            span(&seen.result),
            text(&seen.is_error),
            span(&seen.error),
            if seen.doubtful { " doubtful" } else { "" },
        ));
    }
    lines.extend(ended.err().map(|lost| format!("lost at {}", lost.at)));
    lines.join("; ")
}

#[test]
fn the_parts_of_an_envelope_are_found() {
    let check = |line: &str, expect: &str| assert_eq!(shown(line.as_bytes()), expect, "{line}");
    let none = "cancels - arguments - result - - error -";
    check(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,{"id":2}]}}}"#,
        r#"id 7 method "tools/call" name "x" cancels - arguments {"a":[1,{"id":2}]} result - - error -"#,
    );
    check(
        r#" { "params" : { "arguments" : "q\"}" , "name" : "x" } , "id" : "\u0041" , "method":"m" } "#,
        r#"id "\u0041" method "m" name "x" cancels - arguments "q\"}" result - - error -"#,
    );
    check(
        r#"{"id":1,"result":{"content":[{"isError":true}],"isError":false}}"#,
        r#"id 1 method - name - cancels - arguments - result {"content":[{"isError":true}],"isError":false} false error -"#,
    );
    check(
        r#"{"id":1,"error":{"code":-1}}"#,
        r#"id 1 method - name - cancels - arguments - result - - error {"code":-1}"#,
    );
    check(
        r#"{"method":"notifications/cancelled","params":{"requestId":5}}"#,
        r#"id - method "notifications/cancelled" name - cancels 5 arguments - result - - error -"#,
    );
    check(
        r#"[{"id":1,"method":"a"},3,{"id":2,"method":"b","params":[]}]"#,
        &format!(r#"id 1 method "a" name - {none}; id 2 method "b" name - {none}"#),
    );
    check(
        r#"{"id":1,"id":2}"#,
        &format!("id 2 method - name - {none} doubtful"),
    );
    check(r#"{"\u0069d":1}"#, &format!("id 1 method - name - {none}"));
    check(
        r#"{"id":1,"METHOD":"m"}"#,
        &format!("id 1 method - name - {none} doubtful"),
    );
    check(
        r#"{"id":1,"method":"m","params":{"Arguments":{}}}"#,
        &format!(r#"id 1 method "m" name - {none} doubtful"#),
    );
    // To some readers a text ends at a NUL, however long it goes on.
    let long = "x".repeat(100);
    for (members, seen) in [
        (format!(r#""method\u0000{long}":"m""#), "-"),
        (
            r#""method":"m","params":{"name\u0000":"x"}"#.to_owned(),
            r#""m""#,
        ),
        (r#""method":"m\u0000""#.to_owned(), r#""m\u0000""#),
    ] {
        check(
            &format!(r#"{{"id":1,{members}}}"#),
            &format!("id 1 method {seen} name - {none} doubtful"),
        );
    }
    check(
        r#"{"id":1,"method":"m","params":{"name":"a\u0000b"}}"#,
        &format!(r#"id 1 method "m" name "a\u0000b" {none} doubtful"#),
    );
    check(
        r#"{"id":1,"method":"m\\u0000"}"#,
        &format!(r#"id 1 method "m\\u0000" name - {none}"#),
    );
    check(
        r#"{"id":1,"x":{"Name":1},"y":{"ID":2}}"#,
        &format!("id 1 method - name - {none}"),
    );
    check(r#"{"x":{"id":1}}"#, &format!("id - method - name - {none}"));
    check(
        " \u{feff}{\"id\":1,\"result\":[2]}",
        "id 1 method - name - cancels - arguments - result [2] - error -",
    );
    check("\u{feff}", "");
    check("", "");
    check("   ", "");
    check("{}", &format!("id - method - name - {none}"));
    check("[]", "");
}

#[test]
fn what_cannot_be_followed_is_lost_and_not_fatal() {
    let check = |line: &[u8], expect: &str| assert_eq!(shown(line), expect);
    check(b"{", "lost at 1");
    check(b"}", "lost at 0");
    check(b"hello there", "lost at 0");
    // Values, but no messages.
    check(b"12", "lost at 0");
    check(br#" "text""#, "lost at 1");
    check(b"{\"a\" 1}", "lost at 5");
    // What readers of streams find behind the first message is found too.
    let one = |id: u8| format!("id {id} method - name - cancels - arguments - result - - error -");
    check(
        br#"{"id":1}{"id":2} [{"id":3}]x{"id":4}"#,
        &format!("{}; {}; {}; lost at 8", one(1), one(2), one(3)),
    );
    check(b"12 {\"id\":1}", &format!("{}; lost at 0", one(1)));
    check(b"[1}", "lost at 2");
    check("[".repeat(2000).as_bytes(), "lost at 2000");
    let (heard, _) = hear(
        b"{\"id\":1,\"method\":\"m\",\"params\":{\"name\":\"\xff\"}}",
        4,
    );
    assert_eq!(heard.messages[0].tool(), None);
    let long = format!(r#"{{"id":"{}"}}"#, "a".repeat(10_000));
    let (heard, _) = hear(long.as_bytes(), 100);
    assert!(heard.messages[0].doubtful);
}

#[test]
fn nesting_of_any_depth_is_followed_to_its_end() {
    for (depth, doubtful) in [
        (1000, ""),
        (1021, ""),
        (1022, " doubtful"),
        (50_000, " doubtful"),
    ] {
        let value = [
            &"[".repeat(depth),
            r#"{"]":"}\"]","a":1}"#,
            &"]".repeat(depth),
        ]
        .concat();
        let line = format!(
            r#"{{"params":{{"arguments":{value},"name":"x"}},"id":1,"method":"tools/call"}}"#
        );
        let expect = format!(
            r#"id 1 method "tools/call" name "x" cancels - arguments {value} result - - error -{doubtful}"#
        );
        assert_eq!(shown(line.as_bytes()), expect, "{depth}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_along_with(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        shown(&line);
    }

    #[test]
    fn near_messages_are_read_along_with(line in r#"[\[{"]{0,3}(id|method|params|name|[{}\[\]:,"\\ 1]){0,40}"#) {
        shown(line.as_bytes());
    }
}
