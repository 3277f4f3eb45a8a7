//! What a store for live state must do, wherever it stands.

use std::time::Duration;

use mcpproxy_core::{
    Charge, Charged, Exchange, Exchanged, Id128, Limit, LiveStore, LogAsk, LogSaid, Seat,
};

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

/// A notice is heard by the others, and it is known how many of them there are.
pub async fn notices_are_heard(one: &dyn LiveStore, other: &dyn LiveStore) {
    let hear = one.announce(b"hello".to_vec()).await;
    assert_eq!(hear, Ok(2));
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

fn charge(call: &str, limits: &[(&str, Limit)]) -> Charge {
    let limits = limits.iter();
    Charge {
        call: call.to_owned(),
        limits: limits
            .map(|(name, limit)| ((*name).to_owned(), limit.clone()))
            .collect(),
        lease: Duration::from_millis(300),
    }
}

/// A call is charged to all of its limits or to none, whoever charges it.
pub async fn limits_are_kept_together(one: &dyn LiveStore, other: &dyn LiveStore) {
    let bucket = |known: u64| Limit::Bucket {
        cost: MINUTE,
        room: 2 * MINUTE,
        known: Duration::from_secs(known),
    };
    let near = |lack: Duration, minutes: u32| {
        let most = MINUTE * minutes;
        assert!(lack <= most && lack + MINUTE / 4 > most, "{lack:?}");
    };
    let taken = async |store: &dyn LiveStore, charge: Charge| {
        let said = store.charge(charge).await.unwrap();
        let taken = match said {
            Charged::Taken(lacks) => Some(lacks),
            Charged::Full { .. } => None,
        };
        taken.unwrap()
    };
    let full = async |store: &dyn LiveStore, charge: Charge| {
        let said = store.charge(charge).await.unwrap();
        let full = match said {
            Charged::Full { limit, wait } => Some((limit, wait)),
            Charged::Taken(_) => None,
        };
        full.unwrap()
    };
    near(taken(one, charge("a", &[("calls", bucket(0))])).await[0], 1);
    near(
        taken(other, charge("b", &[("calls", bucket(0))])).await[0],
        2,
    );
    let both = [("spare", bucket(0)), ("calls", bucket(0))];
    let (limit, wait) = full(one, charge("c", &both)).await;
    assert_eq!(limit, 1);
    near(wait, 1);
    // Nothing was taken of the limit that had room.
    near(
        taken(other, charge("d", &[("spare", bucket(0))])).await[0],
        1,
    );
    // What is known here counts where the store knows less, and is known there afterwards.
    near(taken(one, charge("e", &[("told", bucket(60))])).await[0], 2);
    let (_, wait) = full(other, charge("f", &[("told", bucket(0))])).await;
    near(wait, 1);
    // Places are given back, or end with their lease unless that is renewed.
    let places = [("seats", Limit::Places(1))];
    let seat = |call: &str| {
        vec![Seat {
            limit: "seats".to_owned(),
            call: call.to_owned(),
        }]
    };
    taken(one, charge("g", &places)).await;
    full(other, charge("h", &places)).await;
    one.leave(seat("g")).await.unwrap();
    taken(other, charge("h", &places)).await;
    other.stay(seat("h"), MINUTE, false).await.unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    full(one, charge("i", &places)).await;
    other.leave(seat("h")).await.unwrap();
    other.stay(seat("h"), MINUTE, false).await.unwrap();
    taken(one, charge("i", &places)).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    taken(other, charge("j", &places)).await;
    other.leave(seat("j")).await.unwrap();
    other.stay(seat("j"), MINUTE, true).await.unwrap();
    full(one, charge("k", &places)).await;
}
