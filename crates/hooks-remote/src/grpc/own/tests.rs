//! The messages against the published file, and which answers count.

use bytes::Bytes;
use mcpproxy_core::security::SecurityModification;
use prost::Message as _;
use protox::prost_reflect::{
    DescriptorPool, DynamicMessage, Kind as FieldKind, MessageDescriptor, ReflectMessage as _,
    Value,
};

use super::*;

fn pool() -> DescriptorPool {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/proto");
    let files = protox::compile(["mcpproxy/hook/v1/hook.proto"], [root]).unwrap();
    DescriptorPool::from_file_descriptor_set(files).unwrap()
}

/// Reads our bytes by the published file. Every field must be known there and be filled, and
/// writing it again must give the same bytes.
fn check_wire(pool: &DescriptorPool, name: &str, message: &impl prost::Message) {
    let bytes = message.encode_to_vec();
    let descriptor = pool
        .get_message_by_name(&format!("mcpproxy.hook.v1.{name}"))
        .unwrap();
    let read = DynamicMessage::decode(descriptor, bytes.as_slice()).unwrap();
    check_filled(&read, name);
    assert_eq!(read.encode_to_vec(), bytes, "{name}");
}

fn check_filled(message: &DynamicMessage, name: &str) {
    assert_eq!(message.unknown_fields().count(), 0, "{name}");
    let descriptor = message.descriptor();
    for field in plain_fields(&descriptor) {
        let full = field.full_name().to_owned();
        assert!(message.has_field(&field), "{full} is empty");
    }
    for (_, value) in message.fields() {
        match value {
            Value::Message(inner) => check_filled(inner, name),
            Value::List(items) => {
                let inner = items.iter().filter_map(Value::as_message);
                inner.for_each(|inner| check_filled(inner, name));
            }
            _ => {}
        }
    }
}

/// Fields that are not one of several; of those only one can be there.
fn plain_fields(
    descriptor: &MessageDescriptor,
) -> impl Iterator<Item = protox::prost_reflect::FieldDescriptor> + use<> {
    let fields: Vec<_> = descriptor.fields().collect();
    fields.into_iter().filter(|field| {
        let group = field.containing_oneof();
        group.is_none_or(|group| group.is_synthetic())
    })
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn request_message() -> wire::Request {
    wire::Request {
        method: text("tools/call"),
        name: text("read"),
        params: Bytes::from_static(b"{}"),
        id: Some(text("7")),
    }
}

fn full_context() -> wire::Context {
    let pair = wire::Pair {
        name: text("n"),
        value: text("v"),
    };
    wire::Context {
        hook_id: text("h"),
        correlation_id: text("c"),
        session: Some(wire::Session {
            id: text("s"),
            server_id: text("files"),
            server_name: text("Files"),
            protocol_version: text("2025-11-25"),
            established_at_ms: 1,
        }),
        identity: Some(wire::Identity {
            user_id: text("ada"),
            agent_id: Some(text("agent")),
            roles: vec![text("r")],
            scopes: vec![text("s")],
            attributes: vec![pair.clone()],
        }),
        arrival: Some(wire::Arrival {
            method: text("tools/call"),
            path: text("/mcp"),
            headers: vec![pair],
            remote_addr: Some(text("127.0.0.1:1")),
            at_ms: 2,
        }),
        earlier: vec![wire::Metadata {
            hook_id: text("first"),
            json: text("{}"),
        }],
        timeout_ms: 3,
    }
}

fn full_violation() -> wire::Violation {
    wire::Violation {
        rule_id: text("R1"),
        severity: i32::from(wire::Severity::High),
        threat_type: i32::from(wire::Threat::DataExfiltration),
        description: text("d"),
        evidence: text(r#"{"at":1}"#),
        recommended_action: text("a"),
    }
}

#[test]
fn our_messages_are_those_of_the_published_file() {
    let pool = pool();
    let subjects = [
        wire::Subject::Request(request_message()),
        wire::Subject::Response(wire::Response {
            request: Some(request_message()),
            kind: i32::from(wire::Kind::Listing),
            body: Bytes::from_static(b"{}"),
        }),
        wire::Subject::Message(wire::Said {
            to_upstream: true,
            wants_answer: true,
            method: text("ping"),
            params: Bytes::from_static(b"{}"),
        }),
    ];
    let inspections = subjects.map(|subject| wire::Inspection {
        context: Some(full_context()),
        subject: Some(subject),
    });
    check_wire(
        &pool,
        "Batch",
        &wire::Batch {
            inspections: inspections.into(),
            lost: 1,
        },
    );
    for decision in [
        wire::Decision::Allow(wire::Nothing {}),
        wire::Decision::Modify(wire::Modification {
            params: Some(Bytes::from_static(b"{}")),
            result: Some(Bytes::from_static(b"{}")),
            headers: vec![wire::Pair {
                name: text("n"),
                value: text("v"),
            }],
            audit: Some(text("{}")),
        }),
        wire::Decision::Ask(full_violation()),
        wire::Decision::RequireAuth(wire::RequireAuth { what: text("w") }),
        wire::Decision::Deny(full_violation()),
    ] {
        let answer = wire::Answer {
            decision: Some(decision),
        };
        check_wire(&pool, "Decision", &answer);
    }
}

#[test]
fn the_names_of_the_published_file_are_ours() {
    let pool = pool();
    let service = pool.get_service_by_name("mcpproxy.hook.v1.Hook").unwrap();
    let paths: Vec<String> = service
        .methods()
        .map(|method| format!("/{}/{}", service.full_name(), method.name()))
        .collect();
    assert_eq!(paths, [INSPECT, OBSERVE]);

    let check_enum = |message: &str, field: &str, ours: &dyn Fn(i32) -> Option<String>| {
        let message = pool
            .get_message_by_name(&format!("mcpproxy.hook.v1.{message}"))
            .unwrap();
        let field = message.get_field_by_name(field).unwrap();
        let FieldKind::Enum(values) = field.kind() else {
            panic!("{} is no enumeration", field.full_name());
        };
        for value in values.values() {
            let name = value.name().replace('_', "").to_lowercase();
            let ours = ours(value.number()).map(|ours| ours.to_lowercase());
            assert!(name.ends_with(ours.as_deref().unwrap_or("?")), "{name}");
        }
    };
    check_enum("Violation", "severity", &|number| {
        wire::Severity::try_from(number)
            .ok()
            .map(|it| format!("{it:?}"))
    });
    check_enum("Violation", "threat_type", &|number| {
        wire::Threat::try_from(number)
            .ok()
            .map(|it| format!("{it:?}"))
    });
    check_enum("Response", "kind", &|number| {
        wire::Kind::try_from(number)
            .ok()
            .map(|it| format!("{it:?}"))
    });
}

fn check(decision: Option<wire::Decision>, phase: Phase, expect: Result<SecurityDecision, &str>) {
    let expect = expect.map_err(|why| HookFault::Garbage(why.to_owned()));
    assert_eq!(answer(wire::Answer { decision }, phase), expect);
}

#[test]
fn answers_decide_or_are_garbage() {
    let found = SecurityViolation {
        rule_id: text("R1"),
        severity: Severity::High,
        threat_type: Threat::DataExfiltration,
        description: text("d"),
        evidence: text(r#"{"at":1}"#),
        recommended_action: text("a"),
    };
    let request = Phase::Request;
    check(None, request, Err("it decides nothing"));
    check(
        Some(wire::Decision::Allow(wire::Nothing {})),
        request,
        Ok(SecurityDecision::Allow),
    );
    check(
        Some(wire::Decision::Deny(full_violation())),
        request,
        Ok(SecurityDecision::Deny(found.clone())),
    );
    check(
        Some(wire::Decision::Ask(full_violation())),
        request,
        Ok(SecurityDecision::Ask(found.clone())),
    );
    check(
        Some(wire::Decision::RequireAuth(wire::RequireAuth {
            what: text("w"),
        })),
        request,
        Ok(SecurityDecision::RequireAdditionalAuth(text("w"))),
    );
    // An objection counts, whatever is left out of it.
    let (high, outside) = (Severity::High, Threat::UnauthorizedAccess);
    let poisoning = Threat::ToolPoisoning;
    for (severity, threat_type, evidence, expect) in [
        (0, 1, "1", (high, poisoning, "1")),
        (99, 1, "1", (high, poisoning, "1")),
        (2, 0, "1", (Severity::Low, outside, "1")),
        (4, 1, "{", (high, poisoning, "null")),
    ] {
        let flawed = wire::Violation {
            severity,
            threat_type,
            evidence: text(evidence),
            ..full_violation()
        };
        let (severity, threat_type, evidence) = expect;
        let expect = SecurityViolation {
            severity,
            threat_type,
            evidence: text(evidence),
            ..found.clone()
        };
        let expect = SecurityDecision::Deny(expect);
        check(Some(wire::Decision::Deny(flawed)), request, Ok(expect));
    }
}

#[test]
fn a_modification_fits_what_was_asked_about() {
    let change = wire::Modification {
        result: Some(Bytes::from_static(b"{ }")),
        ..wire::Modification::default()
    };
    let modify = Some(wire::Decision::Modify(change));
    let misfit = "the modification does not fit the phase";
    check(modify.clone(), Phase::Request, Err(misfit));
    let expect = SecurityModification {
        modified_response: Some(Bytes::from_static(b"{ }")),
        ..SecurityModification::default()
    };
    check(
        modify,
        Phase::Listing,
        Ok(SecurityDecision::AllowWithModification(expect)),
    );
    let nothing = wire::Modification::default();
    check(
        Some(wire::Decision::Modify(nothing)),
        Phase::Request,
        Err("the modification changes nothing"),
    );
}
