//! Records as they are shown, held against what the interface says of them.

use std::collections::BTreeSet;

use mcpproxy_core::{
    Action, ApprovalNote, Bodies, CallId, ChangeNote, Classified, Contradiction, Coverage,
    DataOrigin, Declared, Door, Enforcement, Field, Finding, FlowSummary, FlowType, HookLeft,
    HookNote, Label, Likeness, Masked, Match, Nature, OfferKind, OfferState, Operation, Owner,
    Phase, QuarantineNote, Record, Risk, RiskLevel, Severity, Side, Tier, ToolName, UpstreamId,
    Wall, Weight,
};
use mcpproxy_testkit::suite::schema::misfits;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::*;

/// What is said of a record.
fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator = settings.into_generator();
    let schema = generator.root_schema_for::<ShownRecord<'static, Value>>();
    schema.to_value()
}

fn shown(record: &Record, words: Words) -> Value {
    let mut columns = Columns::of(record);
    if words == Words::Redacted {
        columns.words = None;
    }
    serde_json::from_str(&show(&columns, words).unwrap()).unwrap()
}

fn fits(shown: &Value) {
    let misfits = misfits(&schema(), shown);
    assert!(misfits.is_empty(), "{misfits:#?}\n{shown:#}");
}

fn check(record: &Record, words: Words) -> Value {
    let shown = shown(record, words);
    fits(&shown);
    shown
}

fn finding() -> Finding {
    let label = Label {
        kind: "aws_secret_key".into(),
        word: "api_token",
        severity: Severity::Critical,
        validated: true,
        nature: Nature::Secret,
    };
    let evidence = Match {
        how: Likeness::Encoded,
        via: vec!["base64"],
        origin: DataOrigin {
            call: CallId::new(1, 2),
            upstream: UpstreamId::new("inside"),
            tool: ToolName::new("read"),
            at: Wall(1),
            side: Side::Inside,
        },
        place: "text".into(),
        shared: 40,
        weight: Weight::Sensitive,
        label: Some(label),
        sample: Masked::from_safe("AKIA…"),
    };
    let contradiction = Contradiction {
        signal1: "agent",
        signal2: "tool",
        claim1: "read",
        claim2: "write",
        severity: 40,
        confidence: 90,
        quarantines: false,
        explanation: Masked::from_safe("they differ"),
    };
    Finding {
        place: Some("text".into()),
        evidence: Some(Box::new(evidence)),
        contradiction: Some(Box::new(contradiction)),
        retry_after: Some(3),
        ..Finding::new("flow", Tier::SensitiveFlow, Action::Deny)
    }
}

fn hook() -> HookNote {
    HookNote {
        agent: "claude-code".to_owned(),
        event: "PreToolUse".to_owned(),
        phase: Phase::Pre,
        session: "s".to_owned(),
        tool_use_id: Some("use".to_owned()),
        owner: Owner::Agent,
        classification: Classified {
            class: "internal",
            confidence: 0.5,
            method: "name",
            can_read_data: true,
            can_exfiltrate: false,
        },
    }
}

/// A record of which everything is known.
fn full() -> Record {
    let bare = Record::new(CallId::new(1, 1), "hook_evaluation", Door::Hook);
    Record {
        error_message: Some("it was denied".to_owned()),
        timestamp: Wall(1).rfc3339(),
        correlation_id: "request".to_owned(),
        parent_id: Some(CallId::new(1, 0)),
        decision: Action::Ask,
        effective: Action::Warn,
        enforcement: Enforcement::Degraded,
        flow_type: FlowType::InternalToExternal,
        risk: Risk {
            level: RiskLevel::Critical,
            score: 100,
        },
        declared: Declared {
            operation: Some(Operation::Write),
            ..Declared::default()
        },
        findings: vec![finding()],
        has_sensitive_data: true,
        detection_types: vec!["aws_secret_key".into()],
        max_severity: Some(Severity::Critical),
        mcp_session_id: Some("m".to_owned()),
        security_coverage: Some(Coverage::Full),
        hook: Some(Box::new(hook())),
        hook_metadata: vec![HookLeft {
            hook: "h".into(),
            data: "{}".into(),
        }],
        summary: Some(Box::new(FlowSummary::default())),
        quarantine: Some(Box::new(QuarantineNote {
            kind: OfferKind::Tool,
            state: OfferState::RugPull,
            before: Some(OfferState::Approved),
            by: "scan".to_owned(),
            reason: "it changed".to_owned(),
        })),
        change: Some(Box::new(ChangeNote {
            target: "ci".to_owned(),
            details: vec!["upstream:git".to_owned()],
            already_so: false,
        })),
        approval: Some(Box::new(
            ApprovalNote::once("owner")
                .for_session(Wall(1).rfc3339())
                .about("1"),
        )),
        bodies: Some(Box::new(Bodies {
            arguments: Masked::from_safe(r#"{"text":"x"}"#),
            response: Some(Masked::from_safe("{}")),
            response_truncated: true,
        })),
        ..bare
    }
}

#[test]
fn a_record_is_what_the_interface_says_that_it_is() {
    let full = full();
    let mut names: BTreeSet<_> = check(&full, Words::Kept)
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    let redacted = check(&full, Words::Redacted);
    assert_eq!(redacted["redacted"], true);
    names.insert("redacted".to_owned());
    let schema = schema();
    let told: BTreeSet<_> = schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(names, told);
    for kind in Field::Kind.known().unwrap() {
        check(
            &Record::new(CallId::new(1, 1), kind, Door::Internal),
            Words::Kept,
        );
    }
}

/// An earlier version kept all of it in one column.
#[test]
fn a_record_of_an_earlier_version_is_what_the_interface_says_that_it_is() {
    let full = full();
    let mut columns = Columns::of(&full);
    let read = |text: Option<Cow<'_, str>>| -> Map<String, Value> {
        serde_json::from_str(&text.unwrap()).unwrap()
    };
    let mut both = read(columns.rest.take());
    both.extend(read(columns.words.take()));
    for kept in [Value::Object(both).to_string(), "{}".to_owned()] {
        columns.rest = Some(Cow::Owned(kept));
        let shown = show(&columns, Words::Kept).unwrap();
        fits(&serde_json::from_str(&shown).unwrap());
    }
}
