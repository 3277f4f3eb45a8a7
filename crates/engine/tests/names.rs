//! An agent names what it uses and says why: what it puts into a name or into its reasons is as secret as
//! what it puts into an argument.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{
    Call, Declared, MessageKind, Outcome, Record, Status, ToolName, ToolRef, Wire,
};
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

/// Judges a call and returns its record.
async fn recorded(change: impl FnOnce(&mut Call)) -> Record {
    let clock = Arc::new(FixedClock::default());
    let sink = Arc::new(MemorySink::default());
    let engine = Engine::new(
        EngineSettings::default(),
        Arc::clone(&sink) as _,
        Arc::clone(&clock) as _,
    )
    .unwrap();
    let mut call = samples::saying(&*clock, 1, ("github", "get_file"), "env");
    change(&mut call);
    if let Before::Cleared(cleared) = engine.before(call).await {
        let outcome = Outcome {
            body: r#"{"result":{"content":[]}}"#.into(),
            status: Status::Success,
            took: Duration::ZERO,
        };
        engine.after(&cleared, &outcome, None).await.unwrap();
    }
    sink.records().pop().unwrap()
}

/// Regression for #8: the name of a tool that nobody has was on record, whatever it held.
#[tokio::test]
async fn a_tool_that_is_called_by_a_secret_is_on_no_record() {
    let check = async |name: &str, expect: &str| {
        let record = recorded(|call| call.tool.tool = ToolName::new(name)).await;
        assert_eq!(record.tool_name, expect);
    };
    let withheld = "[withheld: it holds a secret]";
    check("glpat-Zx81kQv9dTq3mN7pLr2w", withheld).await;
    check("get_glpat-Zx81kQv9dTq3mN7pLr2w", withheld).await;
    for name in ["get_file", "create_pull_request_review_2", "v1:list"] {
        check(name, name).await;
    }
}

/// Regression for #8: personal data in an agent's reasons was on record in clear, and nothing said so.
#[tokio::test]
async fn what_an_agent_says_of_a_call_is_masked_and_counts_as_detected() {
    let check = async |words: &str, secret: &str, expect: (&str, &[&str])| {
        let record = recorded(|call| {
            call.declared = Declared {
                reason: Some(words.into()),
                flow_justification: Some(words.into()),
                ..Declared::default()
            };
        })
        .await;
        let Declared {
            reason,
            flow_justification,
            ..
        } = record.declared;
        assert_eq!(reason, flow_justification);
        let reason = reason.unwrap();
        assert!(reason.contains(expect.0), "{reason}");
        assert!(secret.is_empty() || !reason.contains(secret), "{reason}");
        let types: Vec<&str> = record.detection_types.iter().map(|one| &**one).collect();
        assert_eq!(types, expect.1, "{words}");
        assert_eq!(record.has_sensitive_data, !expect.1.is_empty());
    };
    check("to see the file", "", ("to see the file", &[])).await;
    let card = "4532 0151 1283 0366";
    check(
        &format!("paid with {card}, as asked"),
        card,
        (", as asked", &["credit_card"]),
    )
    .await;
    let token = "glpat-Zx81kQv9dTq3mN7pLr2w";
    check(
        &format!("logging in with {token}"),
        token,
        ("[withheld: it holds a secret]", &["gitlab_pat"]),
    )
    .await;
}
