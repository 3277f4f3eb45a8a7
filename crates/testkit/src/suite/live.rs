//! What a store for live state must do, wherever it stands.

use std::time::Duration;

use mcpproxy_core::{Exchange, Exchanged, Id128, LiveStore, LogAsk, LogSaid};

const MINUTE: Duration = Duration::from_mins(1);

fn ask(room: u128, entry: Option<&str>, said: Option<&LogSaid>) -> Exchange {
    let after = said.and_then(|said| {
        let read = said.entries.last().map(|(place, _)| *place);
        said.appended.last().copied().max(read)
    });
    let log = LogAsk {
        append: entry
            .map(|entry| entry.as_bytes().to_vec())
            .into_iter()
            .collect(),
        after,
        keep: None,
    };
    Exchange {
        room: Id128(room),
        logs: [log, LogAsk::default()],
        rest: MINUTE,
    }
}

fn words(said: &Exchanged) -> Vec<String> {
    let [log, _] = &said.logs;
    let words = log.entries.iter();
    words
        .map(|(_, entry)| String::from_utf8_lossy(entry).into_owned())
        .collect()
}

/// Both holders read what the other appended, once and in order, and only in the room it is in.
pub async fn logs_are_read_on(one: &dyn LiveStore, other: &dyn LiveStore) {
    let first = one.exchange(ask(1, Some("a"), None)).await.unwrap();
    assert_eq!(words(&first), [""; 0]);
    let heard = other.exchange(ask(1, Some("b"), None)).await.unwrap();
    assert_eq!(words(&heard), ["a"]);
    assert_eq!(heard.epoch, first.epoch);
    let [log, _] = &first.logs;
    let next = one.exchange(ask(1, Some("c"), Some(log))).await.unwrap();
    assert_eq!(words(&next), ["b"]);
    let [log, _] = &heard.logs;
    let next = other.exchange(ask(1, None, Some(log))).await.unwrap();
    assert_eq!(words(&next), ["c"]);
    let elsewhere = other.exchange(ask(2, None, None)).await.unwrap();
    assert_eq!(words(&elsewhere), [""; 0]);
}

/// Values are kept by name, and a name is taken by one alone.
pub async fn values_are_kept(one: &dyn LiveStore, other: &dyn LiveStore) {
    assert_eq!(other.get("a").await.unwrap(), None);
    one.put("a", b"value".to_vec(), MINUTE).await.unwrap();
    assert_eq!(other.get("a").await.unwrap(), Some(b"value".to_vec()));
    assert!(other.remove("a").await.unwrap());
    assert!(!one.remove("a").await.unwrap());
    assert_eq!(one.get("a").await.unwrap(), None);
    assert!(one.claim("b", MINUTE).await.unwrap());
    assert!(!other.claim("b", MINUTE).await.unwrap());
}

/// A notice is heard by the others.
pub async fn notices_are_heard(one: &dyn LiveStore, other: &dyn LiveStore) {
    one.announce(b"hello".to_vec()).await.unwrap();
    let heard = async {
        loop {
            if let Some(notice) = other.heard().await {
                return notice;
            }
        }
    };
    let heard = tokio::time::timeout(Duration::from_secs(10), heard).await;
    assert_eq!(heard.unwrap(), b"hello");
}
