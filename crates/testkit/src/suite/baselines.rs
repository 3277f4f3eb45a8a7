//! What a store of baselines must do, whichever database it stands in.

use mcpproxy_core::{
    Baseline, BaselineStore, FirstRead, Habits, OfferKind, OfferState, UpstreamId, Wall,
};

/// A baseline of a tool.
pub fn baseline(name: &str, state: OfferState, current: &str) -> Baseline {
    Baseline {
        upstream: UpstreamId::new("files"),
        kind: OfferKind::Tool,
        name: name.into(),
        state,
        approved: (state == OfferState::Approved).then(|| current.into()),
        current: current.into(),
        by: "scan".into(),
        reason: "new".into(),
        since: Wall(7),
    }
}

/// Baselines outlive the process, and the latest counts. `open` opens the same store every time.
pub fn keeps_the_latest<S: BaselineStore>(open: impl Fn() -> S) {
    let store = open();
    assert_eq!(store.load().unwrap(), []);
    let first = baseline("read", OfferState::Approved, "{}");
    let other = baseline("write", OfferState::Quarantined, "{}");
    store.keep(&[first.clone(), other.clone()]).unwrap();
    drop(store);
    let store = open();
    assert_eq!(store.load().unwrap(), [first, other.clone()]);
    let changed = baseline("read", OfferState::RugPull, r#"{"title":"x"}"#);
    store.keep(std::slice::from_ref(&changed)).unwrap();
    assert_eq!(store.load().unwrap(), [changed, other]);
}

/// Habits stand beside baselines. `open` opens the same store every time.
pub fn keeps_habits_apart<S: BaselineStore>(open: impl Fn() -> S) {
    let store = open();
    let habits = |learned: &str| Habits {
        subject: "agent/owner".into(),
        learned: learned.into(),
        at: Wall(9),
    };
    let offer = baseline("list", OfferState::Approved, "{}");
    store.keep(std::slice::from_ref(&offer)).unwrap();
    store.keep_habits(&[habits("{}")]).unwrap();
    store.keep_habits(&[habits(r#"{"calls":1}"#)]).unwrap();
    drop(store);
    let store = open();
    assert!(store.load().unwrap().contains(&offer), "an offer was lost");
    assert_eq!(store.habits().unwrap(), [habits(r#"{"calls":1}"#)]);
}

/// What was read first stays what it was, apart from the rest, until all of it is forgotten. `open`
/// opens the same store every time.
pub fn keeps_what_was_read_first<S: BaselineStore>(open: impl Fn() -> S) {
    let store = open();
    let read = |key: &str, digest: &str| FirstRead {
        upstream: UpstreamId::new("docs"),
        key: key.into(),
        digest: digest.into(),
        at: Wall(9),
    };
    let (offers, habits) = (store.load().unwrap(), store.habits().unwrap());
    store.keep_first_reads(&[read("a", "1")]).unwrap();
    let later = [read("a", "2"), read("b", "3")];
    store.keep_first_reads(&later).unwrap();
    drop(store);
    let store = open();
    assert_eq!(
        store.first_reads().unwrap(),
        [read("a", "1"), read("b", "3")]
    );
    store.forget_first_reads().unwrap();
    assert_eq!(store.first_reads().unwrap(), []);
    assert_eq!(store.load().unwrap(), offers);
    assert_eq!(store.habits().unwrap(), habits);
}
