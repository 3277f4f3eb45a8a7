//! How others read the same bytes: whatever we take for a message, the SDKs must take for the same
//! message or refuse. Otherwise what was judged is not what is carried out.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpproxy_mcp::{Frame, FrameKind};
use mcpproxy_text::{Limits, Member, elements, members, string};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{Tools, parsed};
use crate::support::within;

/// Messages that readers disagree about, each for another reason.
const AWKWARD: &[&str] = &[
    // Names and values in other spellings.
    r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"a"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u0061"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"tools/call","params":{"name":"a"}}"#,
    r#"{"jsonrpc":"2\u002e0","id":1,"method":"ping"}"#,
    // The same name twice, or nearly.
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"\u0078":2}}}"#,
    // Names that mean something in a language.
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"__proto__":{"y":1}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"constructor":{"prototype":{"y":1}}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"b"},"name":"a"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{"method":"tools/call"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"toString":1,"self":2,"model_config":3}}}"#,
    // Ids.
    r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1e0,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":-0,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
    // What a message is.
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{},"params":{}}"#,
    r#"{"jsonrpc":"2.0","id":1}"#,
    r#"{"jsonrpc":"2.0","result":{}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":"text"}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":null,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":null,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":""}"#,
    r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
    r#"{"id":1,"method":"ping"}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    // Parameters.
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"a"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":null}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1.0}}}"#,
    // Text.
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\u0000b"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud83d\ude00"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\udc00\ud800"}}"#,
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\u{2028}\u{feff}\"}}",
    "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\t\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0",
    "{\"jsonrpc\":\"2.0\",\u{b}\"id\":1,\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\u{a0}\"id\":1,\"method\":\"ping\"}",
    // Numbers and other values.
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":NaN}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":Infinity}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1e999}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":01}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":+1}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":.5}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":0x10}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":-}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":True}}}"#,
    // Not JSON, for those who are strict.
    r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#,
    r"{'jsonrpc':'2.0','id':1,'method':'ping'}",
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":1,/* */"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}//"#,
    r#"{jsonrpc:"2.0","id":1,"method":"ping"}"#,
];

/// What is put into messages at random places.
const SPLINTERS: &[&str] = &[
    "\"",
    "\\",
    "\\u0022",
    "\\ud800",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "null",
    "1e5",
    "-",
    ".",
    "0",
    "\n",
    "\0",
    "\u{2028}",
    "\u{feff}",
    "\"id\":2,",
    "\"method\":\"x\",",
    "\"name\":\"b\",",
    "\"params\":{},",
    "\"__proto__\":{},",
];

/// Every awkward message, and each of them with a splinter at many places.
fn messages() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = AWKWARD
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    all.push(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec());
    all.push(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc0\xaf\"}".to_vec());
    let mut seed = 0x5EED_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for _ in 0..40_000 {
        let mut message = AWKWARD[random(AWKWARD.len())].as_bytes().to_vec();
        let at = random(message.len() + 1);
        if random(4) == 0 && at < message.len() {
            message.remove(at);
        } else {
            let splinter = SPLINTERS[random(SPLINTERS.len())].bytes();
            message.splice(at..at, splinter);
        }
        all.push(message);
    }
    all
}

/// What leaves of the messages that we take: a request has an id of ours.
fn taken() -> Vec<Frame> {
    let read = |raw: Vec<u8>| Frame::parse(raw.into(), Limits::default()).ok();
    let leaving = |frame: Frame| match frame.kind() {
        FrameKind::Request => frame.renumbered(7),
        FrameKind::Notification | FrameKind::Result | FrameKind::Error => frame,
    };
    messages()
        .into_iter()
        .filter_map(read)
        .map(leaving)
        .collect()
}

/// How we read a message, in the form of the scripts.
fn ours(frame: &Frame) -> Value {
    let kind = match frame.kind() {
        FrameKind::Request | FrameKind::Notification => "call",
        FrameKind::Result => "result",
        FrameKind::Error => "error",
    };
    let params = frame.params_span().map(|_| value(frame.params()));
    json!({
        "kind": kind,
        "id": frame.id().map(value),
        "method": (kind == "call").then(|| frame.method().to_string()),
        "params": params.filter(|_| kind == "call"),
        "payload": (kind == "result").then(|| value(frame.payload())),
    })
}

fn part(text: &str, span: Range<usize>) -> &str {
    text.get(span).unwrap()
}

fn value(text: &str) -> Value {
    match text.as_bytes()[0] {
        b'{' => {
            let pair = |one: Member<'_>| (one.key.into_owned(), value(part(text, one.value)));
            Value::Object(members(text).map(pair).collect::<Map<_, _>>())
        }
        b'[' => elements(text).map(|span| value(part(text, span))).collect(),
        b'"' => Value::String(string(text).unwrap().into_owned()),
        b't' => Value::Bool(true),
        b'f' => Value::Bool(false),
        b'n' => Value::Null,
        _ => json!({ "$number": text }),
    }
}

/// Tells whether two readings are one; numbers are as near as a double is.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            if let (Some(a), Some(b)) = (a.get("$number"), b.get("$number")) {
                let number =
                    |value: &Value| value.as_str().and_then(|text| text.parse::<f64>().ok());
                return number(a) == number(b);
            }
            let found =
                |(key, value): (&String, &Value)| b.get(key).is_some_and(|b| is_same(value, b));
            a.len() == b.len() && a.iter().all(found)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (a, b) => a == b,
    }
}

async fn compare(program: &Path, script: &str, more: &[&Path]) {
    let taken = taken();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("messages");
    let lines: Vec<String> = taken.iter().map(|one| STANDARD.encode(one.raw())).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/peers");
    let mut command = Command::new(program);
    command.arg(scripts.join(script)).arg(&file).args(more);
    command.kill_on_drop(true);
    let said = parsed(&within("a foreign program", command.output()).await.unwrap());
    let theirs = said.as_array().unwrap();
    assert_eq!(theirs.len(), taken.len());
    let (mut both, mut differ) = (0, String::new());
    for (frame, theirs) in taken.iter().zip(theirs) {
        if theirs.is_null() {
            continue;
        }
        both += 1;
        let ours = ours(frame);
        if !is_same(&ours, theirs) {
            let text = frame.text();
            writeln!(differ, "{text}\n  ours   {ours}\n  theirs {theirs}").unwrap();
        }
    }
    assert!(differ.is_empty(), "{differ}");
    assert!(
        both > 500,
        "only {both} of {} were read by both",
        taken.len()
    );
}

#[tokio::test]
async fn the_python_sdk_reads_what_we_read() {
    if let Some(tools) = Tools::find() {
        compare(&tools.python, "reading.py", &[]).await;
    }
}

#[tokio::test]
async fn the_typescript_sdk_reads_what_we_read() {
    if let Some(tools) = Tools::find() {
        compare(&tools.node, "reading.mjs", &[&tools.node_modules]).await;
    }
}
