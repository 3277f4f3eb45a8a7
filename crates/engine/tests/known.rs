//! A secret that a conversation read stands on no record, wherever an agent writes it later and whether
//! or not a detector knows it without the words around it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{
    Call, Declared, Door, Hooked, Outcome, Owner, Phase, Record, Status, ToolName, ToolRef,
    UpstreamId,
};
use mcpproxy_engine::{Before, Engine, EngineSettings};
use mcpproxy_testkit::{FixedClock, MemorySink, samples};

/// Made up; no rule knows it by its form.
const PASSWORD: &str = "Vq7tL2mZx9RkPw4sHd8C";
const WITHHELD: &str = "[withheld: it holds a secret]";

struct Scene {
    engine: Engine,
    clock: Arc<FixedClock>,
    sink: Arc<MemorySink>,
}

impl Scene {
    /// A conversation that has read the password.
    async fn new() -> Self {
        let (clock, sink) = (Arc::<FixedClock>::default(), Arc::<MemorySink>::default());
        let settings = EngineSettings {
            bodies: true,
            ..EngineSettings::default()
        };
        let engine = Engine::new(settings, Arc::clone(&sink) as _, Arc::clone(&clock) as _);
        let scene = Self {
            engine: engine.unwrap(),
            clock,
            sink,
        };
        let read = samples::saying(&*scene.clock, 1, ("github", "get_file"), "env");
        let body = format!(r#"{{"content":[{{"type":"text","text":"DB_PASSWORD={PASSWORD}"}}]}}"#);
        scene.made(read, &body).await;
        scene
    }

    fn saying(&self, number: u64, tool: (&str, &str), text: &str) -> Call {
        samples::saying(&*self.clock, number, tool, text)
    }

    /// Makes a call, which is answered with `body` if it leaves; returns its record.
    async fn made(&self, call: Call, body: &str) -> Record {
        if let Before::Cleared(cleared) = self.engine.before(call).await {
            let outcome = Outcome {
                body: body.to_owned().into(),
                status: Status::Success,
                took: Duration::ZERO,
            };
            self.engine.after(&cleared, &outcome, None).await.unwrap();
        }
        self.sink.records().pop().unwrap()
    }
}

fn clear_in(record: &Record) -> bool {
    serde_json::to_string(record).unwrap().contains(PASSWORD)
}

#[tokio::test]
async fn a_secret_is_on_no_record_wherever_an_agent_writes_it() {
    let scene = Scene::new().await;
    let check = async |call: Call, body: &str| {
        let about = format!("{:?}", call.declared);
        let record = scene.made(call, body).await;
        assert!(!clear_in(&record), "{record:?}");
        // It is found by who looks for such records, and redacted in time.
        assert!(record.has_sensitive_data, "{about} {record:?}");
        assert!(record.max_severity.is_some(), "{about}");
        assert!(!record.detection_types.is_empty(), "{about}");
        record
    };
    let words = |text: &str| Some(format!("{text} {PASSWORD}").into());
    let declared = Declared {
        reason: words("send"),
        flow_justification: words("because"),
        ..Declared::default()
    };
    let note = format!("my note: {PASSWORD}");
    let denied = Call {
        declared: declared.clone(),
        ..scene.saying(2, ("slack", "post_message"), &note)
    };
    let record = check(denied, "").await;
    assert_eq!(record.status, Status::Blocked);
    assert_eq!(record.declared.reason.as_deref(), Some(WITHHELD));
    // Words alone, beside arguments that hold nothing.
    let said = Call {
        declared,
        ..scene.saying(3, ("github", "get_file"), "readme")
    };
    check(said, "{}").await;
    // Arguments and answer of a call to where the secret belongs.
    let record = check(
        scene.saying(4, ("github", "get_file"), &note),
        &format!(r#"{{"echo":"{note}"}}"#),
    )
    .await;
    let bodies = record.bodies.unwrap();
    assert!(bodies.arguments.as_str().contains("left out"));
    assert!(bodies.response.unwrap().as_str().contains("left out"));
    // Only the answer.
    let body = format!(r#"{{"echo":"{PASSWORD}"}}"#);
    check(scene.saying(5, ("github", "get_file"), "again"), &body).await;
    // The name of a tool, which nobody else would look at.
    let record = check(scene.saying(6, ("slack", PASSWORD), "hello there"), "{}").await;
    assert_eq!(record.tool_name, WITHHELD);
}

#[tokio::test]
async fn a_hook_that_names_a_secret_leaves_it_neither_on_its_record_nor_in_the_summary() {
    let scene = Scene::new().await;
    for phase in [Phase::Pre, Phase::Post] {
        let like = scene.saying(7, ("x", PASSWORD), "ls");
        let call = Call {
            door: Door::Hook,
            tool: ToolRef {
                upstream: UpstreamId::new("claude-code"),
                tool: ToolName::new(PASSWORD),
            },
            hook: Some(Arc::new(Hooked {
                agent: "claude-code".into(),
                phase,
                event: "PreToolUse".into(),
                session: PASSWORD.into(),
                tool_use: Some(PASSWORD.into()),
                owner: Owner::Agent,
                failed: false,
                leads: Some(Vec::new()),
                folder: None,
            })),
            ..like
        };
        scene.engine.evaluate(call, Some(r#"{"a":"b"}"#)).await;
        let record = scene.sink.records().pop().unwrap();
        assert!(!clear_in(&record), "{phase:?} {record:?}");
        let hook = record.hook.unwrap();
        assert_eq!(
            (hook.session.as_str(), &*record.tool_name),
            (WITHHELD, WITHHELD)
        );
    }
    scene.engine.finish().await;
    let records = scene.sink.records();
    let summary = records.iter().find(|one| one.kind == "flow_summary");
    let summary = summary.unwrap();
    assert!(!clear_in(summary), "{summary:?}");
    let tools = &summary.summary.as_ref().unwrap().tools;
    assert!(
        tools.iter().any(|tool| tool.contains("get_file")),
        "{tools:?}"
    );
}
