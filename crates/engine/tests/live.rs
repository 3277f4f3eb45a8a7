//! Engines that share one store: what one of them followed the others know, before anybody can act on
//! it, and what happens while the store is lost is what was asked for.

#![expect(clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{Call, Id128, Outcome, Status};
use mcpproxy_engine::{Before, Engine, EngineSettings, OnLoss};
use mcpproxy_hooks::guards::abuse;
use mcpproxy_testkit::{FixedClock, MemoryLive, MemorySink, samples};

/// A key of the right shape that was never issued.
const KEY: &str = "AKIAZ5TQWNC3RYPX7GLD";

fn engine(
    process: u128,
    store: &MemoryLive,
    sink: &Arc<MemorySink>,
    clock: &Arc<FixedClock>,
    on_loss: OnLoss,
) -> Arc<Engine> {
    engine_with(
        EngineSettings::default(),
        process,
        store,
        (sink, clock),
        on_loss,
    )
}

fn engine_with(
    settings: EngineSettings,
    process: u128,
    store: &MemoryLive,
    (sink, clock): (&Arc<MemorySink>, &Arc<FixedClock>),
    on_loss: OnLoss,
) -> Arc<Engine> {
    let (sink, clock) = (Arc::clone(sink) as _, Arc::clone(clock) as _);
    let engine = Engine::new(settings, sink, clock);
    let engine = engine.unwrap_or_else(|fault| panic!("{fault}"));
    Arc::new(engine.with_live(Arc::new(store.clone()), Id128(process << 64), on_loss))
}

struct Pair {
    clock: Arc<FixedClock>,
    store: MemoryLive,
    sinks: [Arc<MemorySink>; 2],
    one: Arc<Engine>,
    other: Arc<Engine>,
}

impl Pair {
    fn new(on_loss: OnLoss) -> Self {
        Self::told(&EngineSettings::default(), on_loss)
    }

    fn told(settings: &EngineSettings, on_loss: OnLoss) -> Self {
        let clock = Arc::new(FixedClock::default());
        let store = MemoryLive::default();
        let sinks = [Arc::new(MemorySink::default()), Arc::default()];
        let [first, second] = &sinks;
        Self {
            one: engine_with(settings.clone(), 1, &store, (first, &clock), on_loss),
            other: engine_with(settings.clone(), 2, &store, (second, &clock), on_loss),
            clock,
            store,
            sinks,
        }
    }

    fn call(&self, number: u64, upstream: &str, tool: &str, text: &str) -> Call {
        samples::saying(&*self.clock, number, (upstream, tool), text)
    }

    /// Reads a file inside that has a key in it.
    async fn read(&self, engine: &Engine, number: u64) {
        let read = self.call(number, "github", "get_file", "config");
        let Before::Cleared(cleared) = engine.before(read).await else {
            panic!("a read passes");
        };
        let body = format!(r#"{{"content":[{{"type":"text","text":"KEY={KEY}"}}]}}"#);
        let outcome = Outcome {
            body: Bytes::from(body),
            status: Status::Success,
            took: Duration::ZERO,
        };
        assert!(engine.after(&cleared, &outcome, None).await.is_ok());
    }

    /// Sends a text outside; tells whether it left.
    async fn sends(&self, engine: &Engine, number: u64, text: &str) -> bool {
        let call = self.call(number, "slack", "post_message", text);
        match engine.before(call).await {
            Before::Cleared(cleared) => {
                let outcome = Outcome {
                    body: Bytes::from_static(b"{}"),
                    status: Status::Success,
                    took: Duration::ZERO,
                };
                assert!(engine.after(&cleared, &outcome, None).await.is_ok());
                true
            }
            Before::Asked(_) | Before::Denied(_) | Before::Unrecorded(_) => false,
        }
    }
}

#[tokio::test]
async fn what_one_read_the_other_does_not_let_out() {
    let pair = Pair::new(OnLoss::Local);
    assert!(pair.sends(&pair.other, 1, "good morning").await);
    pair.read(&pair.one, 2).await;
    assert!(!pair.sends(&pair.other, 3, KEY).await);
    // A third that comes later knows it from the store.
    let sink = Arc::default();
    let late = engine(3, &pair.store, &sink, &pair.clock, OnLoss::Local);
    assert!(!pair.sends(&late, 4, KEY).await);
}

#[tokio::test]
async fn halves_that_leave_by_two_gateways_at_once_are_put_together() {
    for _ in 0..20 {
        let pair = Pair::new(OnLoss::Local);
        pair.read(&pair.one, 1).await;
        let (first, second) = KEY.split_at(10);
        let (first, second) = (format!("a {first}"), format!("b {second}"));
        let (one, other) = tokio::join!(
            pair.sends(&pair.one, 2, &first),
            pair.sends(&pair.other, 3, &second),
        );
        assert!(!(one && other), "both halves left");
    }
}

#[tokio::test]
async fn while_the_store_is_lost_calls_go_on_or_are_refused_and_say_so() {
    for (on_loss, passes, said) in [
        (OnLoss::Local, true, "reduced_look"),
        (OnLoss::Closed, false, "live-state-lost"),
    ] {
        let pair = Pair::new(on_loss);
        pair.store.lose(true);
        assert_eq!(pair.sends(&pair.one, 1, "good morning").await, passes);
        assert!(pair.one.live_problem().is_some());
        let [sink, _] = &pair.sinks;
        let record = sink.records().pop().unwrap_or_else(|| panic!("a record"));
        let rules: Vec<_> = record.findings.iter().map(|one| &*one.rule).collect();
        assert!(rules.contains(&said), "{rules:?}");
        // What happened meanwhile is told once the store is back.
        pair.read(&pair.one, 2).await;
        assert_eq!(pair.store.entries(), 0);
        pair.store.lose(false);
        assert!(pair.sends(&pair.one, 3, "good morning").await);
        assert!(!pair.sends(&pair.other, 4, KEY).await, "{on_loss:?}");
        assert_eq!(pair.one.live_problem(), None);
    }
}

/// Settings under which a caller may have one call under way at a time.
fn one_at_a_time() -> EngineSettings {
    let mut settings = EngineSettings::default();
    settings.guards.abuse = Some(abuse::Settings {
        per_principal: abuse::Limit {
            concurrent: 1,
            ..abuse::Limit::default()
        },
        ..abuse::Settings::default()
    });
    settings
}

#[tokio::test]
async fn a_place_that_a_call_has_at_one_gateway_is_taken_at_the_other() {
    for on_loss in [OnLoss::Local, OnLoss::Closed] {
        let pair = Pair::told(&one_at_a_time(), on_loss);
        let first = pair.call(1, "slack", "post_message", "one");
        let Before::Cleared(first) = pair.one.before(first).await else {
            panic!("the first call passes");
        };
        assert!(!pair.sends(&pair.other, 2, "two").await);
        let outcome = Outcome {
            body: Bytes::from_static(b"{}"),
            status: Status::Success,
            took: Duration::ZERO,
        };
        assert!(pair.one.after(&first, &outcome, None).await.is_ok());
        assert!(pair.sends(&pair.other, 3, "three").await);
        assert!(pair.sends(&pair.one, 4, "four").await);
        // Alone, a gateway keeps the limit for itself, or refuses what goes outside.
        pair.store.lose(true);
        let alone = on_loss == OnLoss::Local;
        assert_eq!(pair.sends(&pair.one, 5, "five").await, alone);
        pair.store.lose(false);
        assert!(pair.sends(&pair.other, 6, "six").await);
    }
}

#[tokio::test]
async fn a_store_that_forgot_everything_is_told_again() {
    let pair = Pair::new(OnLoss::Local);
    pair.read(&pair.one, 1).await;
    pair.store.forget();
    assert!(pair.sends(&pair.one, 2, "good morning").await);
    assert!(!pair.sends(&pair.other, 3, KEY).await);
}

#[tokio::test]
async fn a_session_that_goes_on_elsewhere_does_not_end_and_one_that_ends_is_closed_once() {
    let pair = Pair::new(OnLoss::Local);
    pair.read(&pair.one, 1).await;
    pair.clock.advance(Duration::from_mins(20));
    assert!(pair.sends(&pair.other, 2, "good morning").await);
    pair.clock.advance(Duration::from_mins(20));
    pair.one.sweep().await;
    let summaries = |sink: &MemorySink| {
        let records = sink.records().into_iter();
        records.filter(|one| one.kind == "flow_summary").count()
    };
    assert_eq!(pair.sinks.each_ref().map(|sink| summaries(sink)), [0, 0]);
    assert!(!pair.sends(&pair.one, 3, KEY).await, "it was forgotten");
    pair.other.sweep().await;
    pair.clock.advance(Duration::from_mins(31));
    pair.one.sweep().await;
    pair.other.sweep().await;
    let [one, other] = pair.sinks.each_ref().map(|sink| summaries(sink));
    assert_eq!(one + other, 1);
}
