//! Faults to order.

use std::time::Instant;

use mcpproxy_mcp::Error;

use super::*;

#[tokio::test]
async fn statuses_and_delays_last_until_mended() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both).await;
    downstream.initialize().await;
    let ping = request(1, "ping", &json!({}));
    downstream.upstream.answer_with_status(401);
    let refused = downstream.post(&ping).await;
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    downstream.upstream.mend();
    assert_eq!(downstream.post(&ping).await.status(), 200);
    let (delay, started) = (Duration::from_millis(20), Instant::now());
    downstream.upstream.delay(delay);
    assert_eq!(downstream.post(&ping).await.status(), 200);
    assert!(started.elapsed() >= delay);
}

#[tokio::test]
async fn answers_are_broken_in_the_way_that_was_ordered() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both).await;
    downstream.initialize().await;
    let echo = tool(1, "echo", &json!({ "text": "x" }));
    let check = async |how: Broken, expect: &str| {
        downstream.upstream.break_answers("tools/call", how);
        let response = downstream.post(&echo).await;
        let read = read_bounded(response.into_body(), MOST, PATIENCE).await;
        let found = match read.map(|body| Frame::parse(body, Limits::default())) {
            Err(Error::TooLarge { .. }) => "too large".to_owned(),
            Err(_) => "broken off".to_owned(),
            Ok(Err(refusal)) => refusal.message,
            Ok(Ok(frame)) => format!("id {}", frame.id().unwrap()),
        };
        assert!(found.starts_with(expect), "{how:?}: {found}");
        let fine = downstream.post(&request(2, "ping", &json!({}))).await;
        assert_eq!(body(fine).await["id"], 2, "other methods are left alone");
    };
    check(Broken::ClosesMidAnswer, "broken off").await;
    check(Broken::MalformedJson, "invalid JSON").await;
    check(Broken::WrongId, "id 4294967295").await;
    check(Broken::DuplicateKeys, "duplicate key `jsonrpc`").await;
    check(Broken::NotUtf8, "invalid UTF-8").await;
    check(Broken::Nested, "JSON is nested deeper than 128").await;
    check(Broken::Endless, "too large").await;
    downstream.upstream.mend();
    assert_eq!(body(downstream.post(&echo).await).await["id"], 1);
}

#[tokio::test]
async fn the_endless_answer_is_well_formed_for_who_reads_it_all() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both).await;
    downstream.initialize().await;
    downstream.upstream.break_answers("ping", Broken::Endless);
    let response = downstream.post(&request(5, "ping", &json!({}))).await;
    let all = read_bounded(response.into_body(), usize::MAX, Duration::from_mins(1)).await;
    let all = all.unwrap();
    assert!(all.len() > 100 * 1024 * 1024, "{}", all.len());
    assert_eq!(
        Frame::parse(all, Limits::default()).unwrap().id(),
        Some("5")
    );
}

#[tokio::test]
async fn a_crash_closes_the_connection_and_loses_the_sessions() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both).await;
    downstream.initialize().await;
    let uri: Uri = downstream.upstream.url.parse().unwrap();
    let crash = tool(1, "crash", &json!({})).to_string();
    let headers = downstream.headers.clone();
    let sent = downstream
        .dialer
        .send(Method::POST, &uri, headers, crash.into())
        .await;
    assert!(sent.is_err());
    assert_eq!(downstream.upstream.sessions(), 0);
}

#[tokio::test]
async fn everything_received_is_kept_as_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let options = Options {
        record: Some(record.clone()),
        ..Options::default()
    };
    let upstream = HttpUpstream::start(Sample::Slack, options).await.unwrap();
    let body = r#"{"jsonrpc":"2.0", "id":1.0, "method":"ping"}"#;
    let mut headers = HeaderMap::new();
    headers.insert("x-any", HeaderValue::from_static("thing"));
    let uri: Uri = upstream.url.parse().unwrap();
    let dialer = Dialer::default();
    dialer
        .send(Method::POST, &uri, headers, body.into())
        .await
        .unwrap();
    assert_eq!(upstream.received(), [body]);
    let request = upstream.until_received("ping").await;
    assert_eq!(
        (request.path.as_str(), &request.method),
        ("/mcp", &Method::POST)
    );
    assert_eq!(request.headers["x-any"], "thing");
    assert_eq!(
        std::fs::read_to_string(record).unwrap(),
        format!("{body}\n")
    );
}
