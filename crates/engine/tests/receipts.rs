//! Whoever keeps receipts is told before a call leaves and before its answer does, and can stop both.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside a test module")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpproxy_core::{
    ActivitySink, Call, CallId, Cause, Deed, Durability, Ended, Later, MessageKind, Outcome,
    ReceiptSink, Receipted, Record, SinkFault, Status, Unanswered, Wall, Wire,
};
use mcpproxy_engine::{Before, Engine, EngineSettings};
use mcpproxy_testkit::{FixedClock, MemorySink, samples};

/// Keeps what it is told, and refuses what it is told to refuse.
#[derive(Debug, Default)]
struct Keeper {
    refuses: &'static str,
    heard: Mutex<Vec<String>>,
}

impl Keeper {
    fn hear(&self, what: &'static str, more: &str) -> Later<'_, Result<(), SinkFault>> {
        self.heard.lock().unwrap().push(format!("{what}{more}"));
        let kept = if self.refuses == what {
            Err(SinkFault::Unreceipted("no".to_owned()))
        } else {
            Ok(())
        };
        Box::pin(std::future::ready(kept))
    }
}

impl ReceiptSink for Keeper {
    fn intent(&self, deed: Deed) -> Later<'_, Result<(), SinkFault>> {
        let arguments = deed.raw.slice(deed.arguments);
        self.hear(
            "intent",
            &format!(" {}", String::from_utf8_lossy(&arguments)),
        )
    }

    fn denied(&self, _deed: Deed) -> Later<'_, Result<(), SinkFault>> {
        self.hear("denied", "")
    }

    fn outcome(&self, _deed: Deed, ended: Ended) -> Later<'_, Result<(), SinkFault>> {
        let how = match ended {
            Ended::Answered { is_error, .. } => format!(" answered, error {is_error}"),
            Ended::Unanswered { cause, .. } => format!(" {cause:?}"),
            Ended::Unsent { cause, .. } => format!(" unsent, {cause:?}"),
            Ended::Reported { .. } => " reported".to_owned(),
        };
        self.hear("outcome", &how)
    }

    fn problem(&self) -> Option<String> {
        None
    }

    fn find(&self, _call: CallId, _at: Wall) -> Later<'_, Result<Vec<Receipted>, String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

fn engine(refuses: &'static str) -> (Engine, Arc<Keeper>) {
    let keeper = Arc::new(Keeper {
        refuses,
        ..Keeper::default()
    });
    let (sink, clock) = (MemorySink::default(), FixedClock::default());
    let engine = Engine::new(EngineSettings::default(), Arc::new(sink), Arc::new(clock)).unwrap();
    (engine.with_receipts(Arc::clone(&keeper) as _), keeper)
}

fn call(method: &str, address: &str) -> Call {
    let raw =
        format!(r#"{{"params":{{"name":"post_message","arguments":{{"text":"{address}"}}}}}}"#);
    Call {
        kind: MessageKind::Request(method.into()),
        wire: Wire {
            raw: raw.into(),
            ticket: Some(1),
        },
        ..samples::call()
    }
}

/// Takes a call through the engine and says how far it came.
async fn check(refuses: &'static str, call: Call, problem: Option<Cause>, expect: &[&str]) {
    let (engine, keeper) = engine(refuses);
    let came = match engine.before(call).await {
        Before::Cleared(cleared) => {
            let outcome = Outcome {
                body: "{}".into(),
                status: Status::Success,
                took: Duration::ZERO,
            };
            let problem = problem.map(|cause| Unanswered {
                cause,
                words: "it did not come",
            });
            match engine.after(&cleared, &outcome, problem).await {
                Ok(_) => "released",
                Err(_) => "withheld",
            }
        }
        Before::Denied(_) => "denied",
        Before::Unrecorded(_) => "refused",
        Before::Asked(_) => "asked",
    };
    let mut heard = keeper.heard.lock().unwrap().clone();
    heard.push(came.to_owned());
    assert_eq!(heard, expect, "{refuses}");
}

#[tokio::test]
async fn what_cannot_be_receipted_does_not_pass() {
    let plain = || call("tools/call", "hello");
    let intent = r#"intent {"text":"hello"}"#;
    let answered = "outcome answered, error false";
    check("", plain(), None, &[intent, answered, "released"]).await;
    check("intent", plain(), None, &[intent, "refused"]).await;
    check("outcome", plain(), None, &[intent, answered, "withheld"]).await;
    let late = Some(Cause::TimedOut);
    check("", plain(), late, &[intent, "outcome TimedOut", "released"]).await;
    let bad = || call("tools/call", "https://webhook.site/x");
    check("", bad(), None, &["denied", "denied"]).await;
    check("denied", bad(), None, &["denied", "refused"]).await;
    check("", call("resources/read", "hello"), None, &["released"]).await;
}

/// A log that takes nothing.
#[derive(Debug)]
struct Broken;

impl ActivitySink for Broken {
    fn append(&self, _: Record, _: Durability) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Err(SinkFault::Full)))
    }
}

#[tokio::test]
async fn a_call_that_the_log_does_not_take_has_a_receipt_of_its_refusal() {
    let settings = EngineSettings {
        durability: Durability::Strict,
        ..EngineSettings::default()
    };
    let keeper = Arc::new(Keeper::default());
    let clock = Arc::new(FixedClock::default());
    let engine = Engine::new(settings, Arc::new(Broken), clock).unwrap();
    let engine = engine.with_receipts(Arc::clone(&keeper) as _);
    let before = engine.before(call("tools/call", "hello")).await;
    assert!(matches!(before, Before::Unrecorded(SinkFault::Full)));
    assert_eq!(*keeper.heard.lock().unwrap(), ["denied"]);
}
