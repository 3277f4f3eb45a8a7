//! Webhooks that fail, each in its own way, and what is said of it.

use std::collections::BTreeMap;

use mcpproxy_core::security::{HookFault, SecurityDecision, SecurityHook as _};
use mcpproxy_hooks_remote::WebhookConfig;
use tokio::net::TcpListener;

use crate::asked::{PATIENT, SHORT, ask, settings, webhook};
use crate::scripted::{Act, Scripted, decision, http};

const ALLOW: &str = r#"{"decision":"allow"}"#;

async fn check(act: Act, expect: HookFault) {
    let patience = match expect {
        HookFault::Late => SHORT,
        _ => PATIENT,
    };
    let said = format!("{act:?}");
    let service = Scripted::start(act).await;
    let answered = ask(&webhook(&settings(service.url())), patience).await;
    assert_eq!(answered, Err(expect), "{said:.200}");
}

fn garbage(why: &str) -> HookFault {
    HookFault::Garbage(why.to_owned())
}

#[tokio::test]
async fn what_is_no_decision_is_garbage() {
    let answer = |text: &str| Act::Answer(text.to_owned());
    check(
        Act::Answer(decision("<!doctype html>")),
        garbage("not JSON at line 1 column 1"),
    )
    .await;
    check(
        Act::Answer(decision("")),
        garbage("cut short at line 1 column 0"),
    )
    .await;
    let html = http("200 OK\r\ncontent-type: text/html", ALLOW);
    check(answer(&html), garbage("its type is not JSON")).await;
    check(
        answer(&http("200 OK", ALLOW)),
        garbage("its type is not JSON"),
    )
    .await;
    let packed = "200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip";
    check(answer(&http(packed, ALLOW)), garbage("it is compressed")).await;
    check(answer(&http("204 No Content", "")), garbage("status 204")).await;
    check(answer(&http("404 Not Found", "")), garbage("status 404")).await;
    check(
        answer("SSH-2.0-OpenSSH_9.9\r\n\r\n"),
        garbage("invalid HTTP version parsed"),
    )
    .await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Scripted::start(Act::Answer(decision(ALLOW))).await;
    let head = format!(
        "307 Temporary Redirect\r\nlocation: {}\r\ncontent-type: application/json",
        other.url()
    );
    check(Act::Answer(http(&head, ALLOW)), garbage("status 307")).await;
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn failures_of_the_service_are_told_apart() {
    let busy = http("429 Too Many Requests\r\nretry-after: 1", "");
    check(Act::Answer(busy), HookFault::Busy).await;
    let down = http("503 Service Unavailable", ALLOW);
    check(
        Act::Answer(down),
        HookFault::Crashed("status 503".to_owned()),
    )
    .await;
}

#[tokio::test]
async fn a_huge_answer_is_not_read() {
    let body = format!("{ALLOW}{}", " ".repeat(2 << 20));
    check(Act::Answer(decision(&body)), HookFault::TooLarge).await;
    // One that does not say how long it is.
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n200000\r\n{body}");
    check(Act::Answer(chunked), HookFault::TooLarge).await;
}

#[tokio::test]
async fn slow_answers_are_late() {
    check(Act::Hang, HookFault::Late).await;
    check(Act::Drip(decision(ALLOW)), HookFault::Late).await;
}

#[tokio::test]
async fn a_connection_that_is_cut_off_is_a_crash() {
    let mut half = decision(ALLOW);
    half.truncate(half.len() - 3);
    for sent in [String::new(), half] {
        let service = Scripted::start(Act::Reset(sent.clone())).await;
        let answered = ask(&webhook(&settings(service.url())), PATIENT).await;
        assert!(
            matches!(answered, Err(HookFault::Crashed(_))),
            "{sent}: {answered:?}"
        );
        // It may have been acted upon, so it is not sent again.
        assert_eq!(service.connections(), 1, "{sent}");
    }
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_is_tried_again_until_somebody_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut settings = settings(format!("http://{address}/"));
    let hook = webhook(&settings);
    let answered = ask(&hook, PATIENT).await;
    assert!(
        matches!(answered, Err(HookFault::Unreachable(_))),
        "{answered:?}"
    );
    assert!(matches!(
        hook.initialize().await,
        Err(HookFault::Unreachable(_))
    ));

    settings.config.connect_retries = 1000;
    let hook = webhook(&settings);
    let mut asking = Box::pin(ask(&hook, PATIENT));
    let early = tokio::time::timeout(SHORT, &mut asking).await;
    assert!(early.is_err(), "{early:?}");
    let listener = TcpListener::bind(address).await.unwrap();
    let service = Scripted::on(listener, Act::Answer(decision(ALLOW)));
    assert_eq!(asking.await, Ok(SecurityDecision::Allow));
    assert_eq!(service.connections(), 1);
}

#[tokio::test]
async fn connections_are_used_again_and_one_that_was_closed_is_replaced() {
    for (act, connections) in [
        (Act::Answer(decision(ALLOW)), 1),
        (Act::AnswerAndClose(decision(ALLOW)), 5),
    ] {
        let service = Scripted::start(act).await;
        let hook = webhook(&settings(service.url()));
        for _ in 0..5 {
            assert_eq!(ask(&hook, PATIENT).await, Ok(SecurityDecision::Allow));
        }
        assert_eq!(service.connections(), connections);
    }
}

#[tokio::test]
async fn health_is_asked_at_its_own_address_or_by_any_answer() {
    let check = async |status: &str, own: bool, expect: bool| {
        let service = Scripted::start(Act::Answer(http(status, ""))).await;
        let mut settings = settings(service.url());
        settings.config = WebhookConfig {
            health_url: own.then(|| service.url()),
            ..WebhookConfig::default()
        };
        let hook = webhook(&settings);
        let status = hook.health_check().await.unwrap();
        assert_eq!(status.healthy, expect, "{status:?}");
        assert_eq!(hook.initialize().await.is_ok(), expect);
    };
    check("200 OK", true, true).await;
    check("503 Service Unavailable", true, false).await;
    check("405 Method Not Allowed", false, true).await;
}

#[tokio::test]
async fn credentials_do_not_show() {
    let mut settings = settings("http://127.0.0.1:1/?key=abcdef".to_owned());
    let secret = mcpproxy_core::Secret::new("Bearer abcdef");
    settings.headers = BTreeMap::from([("Authorization".to_owned(), secret)]);
    let hook = webhook(&settings);
    let shown = format!(
        "{hook:?} {settings:?} {} {}",
        hook.description(),
        hook.name()
    );
    assert!(!shown.contains("abcdef"), "{shown}");
}
