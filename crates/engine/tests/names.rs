//! An agent names the resources that it reads: what it puts into a name is as secret as what it puts
//! into an argument.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{Call, MessageKind, Outcome, Status, ToolName, ToolRef, Wire};
use mcpproxy_engine::{Before, Engine, EngineSettings};
use mcpproxy_testkit::{FixedClock, MemorySink, samples};

/// A key of the right shape that was never issued.
const KEY: &str = "q8Zr1vTnB0xLw4YhKd7sEoGu2mPfJc5RiVaXt9Ny";

fn asked(clock: &FixedClock, number: u64, uri: &str) -> Call {
    let raw = format!(
        r#"{{"jsonrpc":"2.0","id":{number},"method":"resources/read","params":{{"uri":"{uri}"}}}}"#
    );
    let like = samples::saying(clock, number, ("slack", "any"), "");
    Call {
        kind: MessageKind::Request("resources/read".into()),
        tool: ToolRef {
            tool: ToolName::new(uri),
            ..like.tool
        },
        wire: Wire {
            raw: raw.into(),
            ticket: Some(number),
        },
        ..like
    }
}

#[tokio::test]
async fn a_name_that_holds_a_secret_is_on_no_record() {
    let clock = Arc::new(FixedClock::default());
    let sink = Arc::new(MemorySink::default());
    let engine = Engine::new(
        EngineSettings::default(),
        Arc::clone(&sink) as _,
        Arc::clone(&clock) as _,
    )
    .unwrap();
    let read = samples::saying(&*clock, 1, ("github", "get_file"), "env");
    let Before::Cleared(read) = engine.before(read).await else {
        panic!("reading is no harm");
    };
    let body = format!(
        r#"{{"result":{{"content":[{{"type":"text","text":"AWS_SECRET_ACCESS_KEY={KEY}"}}]}}}}"#
    );
    let outcome = Outcome {
        body: body.into(),
        status: Status::Success,
        took: Duration::ZERO,
    };
    engine.after(&read, &outcome, None).await.unwrap();
    let check = async |number: u64, uri: String, expect: &str| {
        let before = engine.before(asked(&clock, number, &uri)).await;
        if let Before::Cleared(cleared) = &before {
            engine.after(cleared, &outcome, None).await.unwrap();
        }
        let record = sink.records().pop().unwrap();
        assert_eq!(record.tool_name, expect);
    };
    let withheld = "[withheld: it holds a secret]";
    check(2, format!("chan://slack/{KEY}"), withheld).await;
    // One that nobody read here is known by its looks.
    let token = "chan://slack/glpat-Zx81kQv9dTq3mN7pLr2w".to_owned();
    check(3, token, withheld).await;
    check(4, "chan://slack/general".to_owned(), "chan://slack/general").await;
}
