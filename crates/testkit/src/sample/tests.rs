//! The samples over in-memory pipes, in both eras.

use std::io::{BufReader, PipeReader, PipeWriter};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::*;

mod answers;
mod calls;
mod changes;

/// What modern requests of these tests declare.
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
    "io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}"#;

/// A downstream that talks to a sample over pipes.
struct Downstream {
    input: PipeWriter,
    output: BufReader<PipeReader>,
    sample: JoinHandle<io::Result<Ended>>,
    era: EraSupport,
}

impl Downstream {
    /// Starts a sample without a word.
    fn silent(sample: Sample, options: Options) -> Self {
        let (from_test, input) = io::pipe().unwrap();
        let (output, to_test) = io::pipe().unwrap();
        let era = options.era;
        let work = move || serve(sample, options, BufReader::new(from_test), to_test);
        Self {
            input,
            output: BufReader::new(output),
            sample: std::thread::spawn(work),
            era,
        }
    }

    /// Starts a sample of one era, with the handshake where there is one.
    fn start(sample: Sample, era: EraSupport) -> Self {
        let mut downstream = Self::silent(
            sample,
            Options {
                era,
                ..Options::default()
            },
        );
        downstream.greet();
        downstream
    }

    fn greet(&mut self) {
        if self.era != EraSupport::ModernOnly {
            let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities });
            self.send(
                &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }),
            );
            assert_eq!(self.next()["result"]["protocolVersion"], "2025-11-25");
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.say(&message.to_string());
    }

    /// Sends a request in the era that was chosen.
    fn request(&mut self, id: impl Into<Value>, method: &str, mut params: Value) {
        if self.era == EraSupport::ModernOnly {
            let mut meta: Value = serde_json::from_str(META).unwrap();
            for (key, value) in params["_meta"].as_object().into_iter().flatten() {
                meta[key] = value.clone();
            }
            params["_meta"] = meta;
        }
        let id = id.into();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn tool(&mut self, id: impl Into<Value>, name: &str, arguments: &Value) {
        self.request(
            id,
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
    }

    fn next(&mut self) -> Value {
        let line = next_line(&mut self.output)
            .unwrap()
            .expect("the output ended");
        serde_json::from_slice(&line).unwrap()
    }

    /// Makes a request and returns its answer, which must come next.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.request("asked", method, params);
        let answer = self.next();
        assert_eq!(answer["id"], "asked", "{answer}");
        answer
    }

    /// Ends the input and returns what the sample says after it, and how it ended.
    fn end(mut self) -> (Vec<Value>, Ended) {
        drop(self.input);
        let mut rest = Vec::new();
        while let Some(line) = next_line(&mut self.output).unwrap() {
            rest.push(serde_json::from_slice(&line).unwrap());
        }
        (rest, self.sample.join().unwrap().unwrap())
    }
}

/// Both eras, one at a time.
const ERAS: [EraSupport; 2] = [EraSupport::LegacyOnly, EraSupport::ModernOnly];

#[test]
fn everything_received_is_recorded_as_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let options = Options {
        record: Some(path.clone()),
        ..Options::default()
    };
    let mut downstream = Downstream::silent(Sample::Slack, options);
    downstream.say(" {\"jsonrpc\":\"2.0\", \"id\":1e0,\"method\":\"ping\"}\r");
    downstream.say("");
    downstream.say("nonsense");
    assert_eq!(downstream.next()["id"], 1.0);
    assert_eq!(downstream.next()["error"]["code"], -32700);
    assert_eq!(downstream.end().1, Ended::Quietly);
    let recorded = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        recorded,
        " {\"jsonrpc\":\"2.0\", \"id\":1e0,\"method\":\"ping\"}\r\nnonsense\n"
    );
}

#[test]
fn a_sample_ends_when_nobody_reads_it() {
    let mut downstream = Downstream::silent(Sample::Echo, Options::default());
    drop(std::mem::replace(
        &mut downstream.output,
        BufReader::new(io::pipe().unwrap().0),
    ));
    downstream.say(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    // The input is still open: only the lost output can have ended it.
    assert_eq!(downstream.sample.join().unwrap().unwrap(), Ended::Quietly);
}

#[test]
fn a_line_past_the_bound_ends_the_conversation() {
    let endless = io::Read::take(io::repeat(b'x'), u64::MAX);
    let ended = serve(
        Sample::Echo,
        Options::default(),
        BufReader::new(endless),
        io::sink(),
    );
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::InvalidData);
}
