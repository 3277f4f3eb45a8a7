//! Answers that hold for a while.

use mcpproxy_core::security::SecurityDecision;

use crate::asked::{PATIENT, ask, settings, webhook};
use crate::scripted::{Act, Scripted, decision};

async fn questions(answer: &str) -> usize {
    // Each answer ends its connection, so that connections are questions.
    let service = Scripted::start(Act::AnswerAndClose(decision(answer))).await;
    let hook = webhook(&settings(service.url()));
    for _ in 0..3 {
        assert_eq!(ask(&hook, PATIENT).await, Ok(SecurityDecision::Allow));
    }
    service.connections()
}

#[tokio::test]
async fn a_service_says_for_how_long_it_is_not_asked_again() {
    assert_eq!(questions(r#"{"decision":"allow","valid_for":60}"#).await, 1);
    assert_eq!(questions(r#"{"decision":"allow","valid_for":0}"#).await, 3);
    assert_eq!(questions(r#"{"decision":"allow"}"#).await, 3);
}
