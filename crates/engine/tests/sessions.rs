//! How a session of the flow tracker ends, through the real engine: when, what is put on record
//! about it, and what is known afterwards.
#![expect(clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_classify::Kind;
use mcpproxy_core::{FlowSummary, FlowType, Outcome, Record, RiskLevel, Side, Status};
use mcpproxy_engine::{Before, Engine, EngineSettings};
use mcpproxy_testkit::{FixedClock, MemorySink, samples};

const WORDS: &str =
    "The harbour master wants the lamps on the east pier repainted before the regatta in autumn.";

struct Scene {
    engine: Engine,
    clock: Arc<FixedClock>,
    sink: Arc<MemorySink>,
}

impl Scene {
    fn new(settings: EngineSettings) -> Self {
        let (clock, sink) = (Arc::<FixedClock>::default(), Arc::<MemorySink>::default());
        let engine = Engine::new(settings, Arc::clone(&sink) as _, Arc::clone(&clock) as _);
        Self {
            engine: engine.unwrap_or_else(|fault| panic!("{fault}")),
            clock,
            sink,
        }
    }

    /// Makes a call that is answered with a text, and returns its record.
    async fn call(&self, number: u64, tool: [&str; 2], text: &str, gave: &str) -> Record {
        let [upstream, tool] = tool;
        let call = samples::saying(&*self.clock, number, (upstream, tool), text);
        let Before::Cleared(cleared) = self.engine.before(call).await else {
            panic!("{upstream}:{tool} is not let go");
        };
        let body = format!(r#"{{"content":[{{"type":"text","text":"{gave}"}}]}}"#);
        let outcome = Outcome {
            body: Bytes::from(body),
            status: Status::Success,
            took: Duration::ZERO,
        };
        assert!(self.engine.after(&cleared, &outcome, None).await.is_ok());
        let record = self.sink.records().pop();
        record.unwrap_or_else(|| panic!("the call is not on record"))
    }

    async fn read(&self, number: u64) {
        let file = ["github", "get_file"];
        self.call(number, file, "notes.txt", WORDS).await;
    }

    async fn post(&self, number: u64) -> FlowType {
        let slack = ["slack", "post_message"];
        self.call(number, slack, WORDS, "ok").await.flow_type
    }

    fn summaries(&self) -> Vec<FlowSummary> {
        let records = self.sink.records().into_iter();
        let summaries = records.filter(|one| one.kind == "flow_summary");
        summaries
            .map(|one| *one.summary.unwrap_or_else(|| panic!("it sums nothing up")))
            .collect()
    }
}

#[tokio::test]
async fn a_session_that_rests_leaves_a_summary_and_is_forgotten() {
    let default = EngineSettings::default();
    let mut short = EngineSettings::default();
    short.flow_tracking.session_timeout_minutes = 5;
    for (settings, minutes) in [(default, 30), (short, 5)] {
        let scene = Scene::new(settings);
        let mut listening = scene.engine.events().listen(None, 1);
        scene.read(1).await;
        scene.clock.advance(Duration::from_mins(2));
        assert_eq!(scene.post(2).await, FlowType::InternalToExternal);
        scene.clock.advance(Duration::from_mins(minutes - 1));
        scene.engine.sweep().await;
        assert_eq!(scene.summaries(), [], "{minutes} minutes are not over");
        scene.clock.advance(Duration::from_mins(1));
        scene.engine.sweep().await;
        let expect = FlowSummary {
            duration_ms: 120_000,
            // What the one gave, and what the other answered.
            origins: 2,
            edges: 1,
            flow_types: [(FlowType::InternalToExternal.name(), 1)].into(),
            risk_levels: [(RiskLevel::Medium.name(), 1)].into(),
            linked_sessions: Vec::new(),
            tools: [
                "github:get_file".to_owned(),
                "slack:post_message".to_owned(),
            ]
            .into(),
        };
        assert_eq!(scene.summaries(), [expect]);
        let closing = scene.sink.records().into_iter();
        let mut closing = closing.filter(|one| one.kind == "flow_summary");
        let gravest = closing.next().map(|one| one.flow_type);
        assert_eq!(gravest, Some(FlowType::InternalToExternal));
        let mut told = Vec::new();
        while let Ok(event) = listening.from_now.try_recv() {
            told.push(event.event.name());
        }
        assert_eq!(told.last(), Some(&"activity.flow_summary.completed"));
        // What it read is forgotten: tracking begins afresh, once.
        assert_eq!(scene.post(3).await, FlowType::None);
        scene.engine.sweep().await;
        assert_eq!(scene.summaries().len(), 1);
    }
}

#[tokio::test]
async fn what_an_unknown_source_gives_is_of_the_side_that_is_configured() {
    for (kind, side, flow) in [
        (Kind::Internal, Side::Inside, FlowType::InternalToExternal),
        (Kind::External, Side::Outside, FlowType::ExternalToExternal),
    ] {
        let mut settings = EngineSettings::default();
        settings.classification.default_unknown = kind;
        let scene = Scene::new(settings);
        let stranger = ["acme", "frobnicate"];
        scene.call(1, stranger, "x", WORDS).await;
        let view = scene.engine.session(samples::call().session);
        let view = view.unwrap_or_else(|| panic!("nothing was read"));
        let origin = view
            .origins
            .last()
            .map(|one| (one.upstream.as_str(), one.side));
        assert_eq!(origin, Some(("acme", side)));
        assert_eq!(scene.post(2).await, flow, "{kind:?}");
    }
}
