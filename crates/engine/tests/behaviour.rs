//! Habits in the way of a call: learned from what was allowed, kept between two lives of the engine,
//! and held against what departs from them.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says so where it ends"
)]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Action, Askable, BaselineStore, Call, CallId, Clock as _, MemoryBaselines, Outcome, Status,
};
use mcpproxy_engine::{Before, Engine, EngineSettings};
use mcpproxy_hooks::guards;
use mcpproxy_testkit::{FixedClock, MemorySink, samples};

const RULE: &str = guards::behaviour::ID;

struct Rig {
    engine: Engine,
    clock: Arc<FixedClock>,
}

impl Rig {
    fn new(told: &str, store: &Arc<MemoryBaselines>) -> Self {
        let clock = Arc::new(FixedClock::default());
        let engine = Engine::new(
            settings(told),
            Arc::new(MemorySink::default()),
            Arc::clone(&clock) as _,
        );
        let engine = engine.unwrap().with_habits(Arc::clone(store) as _);
        Self {
            engine: engine.unwrap(),
            clock,
        }
    }

    fn call(&self, number: u64, tool: &str, text: &str) -> Call {
        Call {
            id: CallId::new(1000, number.into()),
            askable: Askable::Elicit,
            ..samples::saying(&*self.clock, number, ("notes", tool), text)
        }
    }

    /// Makes a call; says what it came to and what was found unusual in it.
    async fn makes(&self, number: u64, tool: &str, text: &str) -> (Action, String) {
        let (verdict, cleared) = match self.engine.before(self.call(number, tool, text)).await {
            Before::Cleared(cleared) => (Arc::clone(cleared.verdict()), Some(cleared)),
            Before::Asked(asked) => (Arc::clone(asked.verdict()), None),
            Before::Denied(denied) => (denied.verdict, None),
            Before::Unrecorded(fault) => panic!("{fault}"),
        };
        if let Some(cleared) = cleared {
            let outcome = Outcome {
                body: Bytes::from_static(b"{}"),
                status: Status::Success,
                took: Duration::ZERO,
            };
            self.engine.after(&cleared, &outcome, None).await.unwrap();
        }
        let mut findings = verdict.findings.iter();
        let found = findings.find(|one| one.rule == RULE);
        let words = found.map_or_else(String::new, |one| one.reason.as_str().to_owned());
        (verdict.action, words)
    }

    async fn works(&self) {
        for number in 0..300 {
            let made = self.makes(number, "read", "a line").await;
            assert_eq!(made, (Action::Allow, String::new()), "{number}");
            self.clock.advance(Duration::from_mins(10));
        }
    }
}

fn settings(told: &str) -> EngineSettings {
    EngineSettings {
        guards: guards::Settings {
            behaviour: Some(serde_json::from_str(told).unwrap()),
            ..guards::Settings::default()
        },
        ..EngineSettings::default()
    }
}

#[tokio::test]
async fn what_departs_from_habits_is_marked_asked_about_or_denied() {
    let check = async |told: &str, expect: Action| {
        let rig = Rig::new(told, &Arc::default());
        rig.works().await;
        let text = "look at https://drop.example/x";
        let (action, words) = rig.makes(1000, "publish", text).await;
        assert_eq!(action, expect, "{told}: {words}");
        assert!(
            words.contains("`notes:publish`, which is new"),
            "{told}: {words}"
        );
        assert!(words.contains("`drop.example`"), "{told}: {words}");
        // As always is never unusual.
        let (action, words) = rig.makes(1001, "read", "a line").await;
        assert_eq!((action, &*words), (Action::Allow, ""), "{told}");
    };
    check(r#"{"alarm_at":0}"#, Action::Allow).await;
    check("{}", Action::Ask).await;
    check(r#"{"deny_at":70}"#, Action::Deny).await;
}

#[tokio::test]
async fn a_denied_call_stays_unusual_however_often_it_is_tried() {
    let rig = Rig::new(r#"{"deny_at":36}"#, &Arc::default());
    rig.works().await;
    for number in 1000..1020 {
        let (action, words) = rig.makes(number, "publish", "a line").await;
        assert_eq!(action, Action::Deny, "{words}");
        rig.clock.advance(Duration::from_hours(24));
    }
}

#[tokio::test]
async fn habits_outlive_the_process_and_a_reload() {
    let store = Arc::new(MemoryBaselines::default());
    let rig = Rig::new("{}", &store);
    rig.works().await;
    rig.engine.sweep().await;
    assert_eq!(store.habits().unwrap().len(), 2);
    rig.engine.reload(settings(r#"{"alarm_at":36}"#)).unwrap();
    let (action, _) = rig.makes(1000, "publish", "a line").await;
    assert_eq!(action, Action::Ask, "the new threshold, the old habits");
    let last = rig.clock.wall();
    rig.engine.finish().await;

    let again = Rig::new("{}", &store);
    again.clock.set_wall(last);
    let (_, words) = again.makes(1, "publish", "a line").await;
    assert!(words.contains("which is new after 300 calls"), "{words}");
}
