//! Live state in a real Redis: what every store for it must do, what another installation sees of it,
//! and what happens while it is away.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::{Duration, Instant};

use mcpproxy_core::{Exchange, Id128, LiveStore as _, LogAsk, Place, Secret};
use mcpproxy_store::{LiveOptions, Redis};
use mcpproxy_testkit::RedisServer;
use mcpproxy_testkit::suite::live as suite;

const PATIENCE: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(20);

async fn open(server: &RedisServer, key: &str) -> Redis {
    let redis = Redis::open(&LiveOptions {
        url: Secret::new(server.url()),
        key: Secret::new(key),
        patience: PATIENCE,
    });
    let redis = redis.unwrap();
    redis.connected(LONG).await.unwrap();
    redis
}

fn exchange(append: &[&str], after: Option<Place>, keep: Option<Place>) -> Exchange {
    let append = append.iter().map(|one| one.as_bytes().to_vec()).collect();
    let log = LogAsk {
        append,
        after,
        keep,
    };
    Exchange {
        room: Id128(7),
        logs: [LogAsk::default(), log],
        rest: LONG,
    }
}

async fn until(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !look().await {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn it_does_what_every_store_does() {
    let server = RedisServer::start().expect("redis-server is needed");
    let (one, other) = (open(&server, "key").await, open(&server, "key").await);
    suite::logs_are_read_on(&one, &other).await;
    suite::values_are_kept(&one, &other).await;
    suite::notices_are_heard(&one, &other).await;
    suite::limits_are_kept_together(&one, &other).await;
}

#[tokio::test]
async fn another_installation_sees_nothing_of_it() {
    let server = RedisServer::start().expect("redis-server is needed");
    let (ours, theirs) = (open(&server, "key").await, open(&server, "other").await);
    ours.put("a", b"value".to_vec(), LONG).await.unwrap();
    assert_eq!(theirs.get("a").await.unwrap(), None);
    ours.exchange(exchange(&["entry"], None, None))
        .await
        .unwrap();
    let [_, log] = theirs
        .exchange(exchange(&[], None, None))
        .await
        .unwrap()
        .logs;
    assert!(log.entries.is_empty());
}

#[tokio::test]
async fn a_log_is_read_page_by_page_and_loses_what_nobody_wants() {
    let server = RedisServer::start().expect("redis-server is needed");
    let redis = open(&server, "key").await;
    let many: Vec<String> = (0..700).map(|number| number.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    redis.exchange(exchange(&many, None, None)).await.unwrap();
    let (mut read, mut after) = (Vec::new(), None);
    loop {
        let said = redis.exchange(exchange(&[], after, None)).await.unwrap();
        let [_, log] = said.logs;
        after = log.entries.last().map(|(place, _)| *place).or(after);
        read.extend(log.entries.into_iter().map(|(_, entry)| entry));
        if !log.more {
            break;
        }
    }
    let expect: Vec<_> = many.iter().map(|one| one.as_bytes().to_vec()).collect();
    assert_eq!(read, expect);
    redis
        .exchange(exchange(&["last"], after, after))
        .await
        .unwrap();
    let [_, log] = redis
        .exchange(exchange(&[], None, None))
        .await
        .unwrap()
        .logs;
    // Whole nodes of a stream go at a time.
    let (_, oldest) = log.entries.first().unwrap();
    assert_ne!(oldest, b"0");
}

#[tokio::test]
async fn while_it_is_away_everything_fails_soon_and_it_comes_back_by_itself() {
    let server = RedisServer::start().expect("redis-server is needed");
    let redis = open(&server, "key").await;
    redis.put("a", b"value".to_vec(), LONG).await.unwrap();
    let before = redis
        .exchange(exchange(&[], None, None))
        .await
        .unwrap()
        .epoch;
    server.signal("STOP").unwrap();
    let asked = Instant::now();
    assert!(redis.get("a").await.is_err());
    assert!(redis.get("a").await.is_err());
    assert!(asked.elapsed() < PATIENCE * 2, "{:?}", asked.elapsed());
    assert!(redis.problem().is_some());
    server.signal("CONT").unwrap();
    until("it to answer", async || redis.get("a").await.is_ok()).await;
    server.stop().unwrap();
    until("the loss to be seen", async || redis.problem().is_some()).await;
    server.go_on().unwrap();
    until("it to be back", async || redis.get("a").await.is_ok()).await;
    assert_eq!(redis.get("a").await.unwrap(), Some(b"value".to_vec()));
    let again = redis
        .exchange(exchange(&[], None, None))
        .await
        .unwrap()
        .epoch;
    assert_eq!(again, before);
    server.stop().unwrap();
    server.forget().unwrap();
    server.go_on().unwrap();
    until("it to be back", async || redis.get("a").await.is_ok()).await;
    assert_eq!(redis.get("a").await.unwrap(), None);
    let again = redis
        .exchange(exchange(&[], None, None))
        .await
        .unwrap()
        .epoch;
    assert_ne!(again, before, "nobody sees that it forgot");
}
