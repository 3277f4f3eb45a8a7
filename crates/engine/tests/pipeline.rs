//! Hooks in the way of a call through the engine: what they stop, ask about, change and leave on
//! record, before a call leaves and when its answer comes back.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says so where it ends"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Action, Askable, Call, CallId, Cleared, Enforcement, HealthStatus, HookFault, Later,
    McpMessage, McpRequest, McpResponse, OfferKind, Outcome, Phases, ResponseKind, SecurityContext,
    SecurityDecision, SecurityHook, SecurityModification, SecurityViolation, Severity, Status,
    Threat, UpstreamId,
};
use mcpproxy_engine::{After, Before, Engine, EngineSettings, Heard, Offered, Registry};
use mcpproxy_hooks::{Entry, FailureMode, Limits};
use mcpproxy_policy::settings::Mode;
use mcpproxy_testkit::{FixedClock, MemorySink, samples};

const KEY: &str = "AKIAQ3EGRTLZ7VHWN2KM";

type Decide = dyn Fn(&str) -> Result<SecurityDecision, HookFault> + Send + Sync;

/// A hook that decides by the text of a message.
struct Scripted {
    id: &'static str,
    decide: Box<Decide>,
    seen: Mutex<Vec<String>>,
    kinds: Mutex<Vec<ResponseKind>>,
    asked: AtomicUsize,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

impl Scripted {
    fn say(&self, context: &SecurityContext, body: &[u8]) -> Result<SecurityDecision, HookFault> {
        assert!(!context.correlation_id.is_empty());
        let body = String::from_utf8_lossy(body);
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.seen.lock().unwrap().push(body.clone().into_owned());
        (self.decide)(&body)
    }
}

impl SecurityHook for Scripted {
    fn id(&self) -> &str {
        self.id
    }

    fn name(&self) -> &'static str {
        "Scripted"
    }

    fn description(&self) -> &'static str {
        "Decides by the text of a message"
    }

    fn priority(&self) -> u32 {
        1
    }

    fn runs_on(&self) -> Phases {
        Phases {
            request: true,
            response: true,
            listing: self.id == "list",
            notification: true,
            reverse: true,
        }
    }

    fn inspect_request<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        Box::pin(async move { self.say(context, &request.params) })
    }

    fn inspect_response<'a>(
        &'a self,
        context: &'a SecurityContext,
        _: &'a McpRequest,
        response: &'a McpResponse,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        self.kinds.lock().unwrap().push(response.kind);
        Box::pin(async move { self.say(context, &response.body) })
    }

    fn inspect_message<'a>(
        &'a self,
        context: &'a SecurityContext,
        message: &'a McpMessage,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        Box::pin(async move { self.say(context, &message.params) })
    }

    fn health_check(&self) -> Later<'_, Result<HealthStatus, HookFault>> {
        Box::pin(async { Err(HookFault::Late) })
    }
}

fn hook(
    id: &'static str,
    decide: impl Fn(&str) -> Result<SecurityDecision, HookFault> + Send + Sync + 'static,
) -> Arc<Scripted> {
    Arc::new(Scripted {
        id,
        decide: Box::new(decide),
        seen: Mutex::default(),
        kinds: Mutex::default(),
        asked: AtomicUsize::new(0),
    })
}

struct Rig {
    engine: Engine,
    clock: Arc<FixedClock>,
    sink: Arc<MemorySink>,
}

impl Rig {
    async fn new(settings: EngineSettings, hooks: &[(&Arc<Scripted>, Limits)]) -> Self {
        let clock = Arc::new(FixedClock::default());
        let sink = Arc::new(MemorySink::default());
        let engine = Engine::new(settings, Arc::clone(&sink) as _, Arc::clone(&clock) as _);
        let engine = engine.unwrap();
        let entries = hooks.iter().map(|(hook, limits)| Entry {
            hook: Arc::clone(hook) as _,
            limits: limits.clone(),
        });
        let metrics = Arc::clone(engine.metrics());
        let shared: Arc<dyn mcpproxy_core::Clock> = Arc::clone(&clock) as _;
        let registry = Registry::start(entries.collect(), metrics, &shared).await;
        engine.set_hooks(Some(Arc::new(registry.unwrap())));
        Self {
            engine,
            clock,
            sink,
        }
    }

    async fn with(hook: &Arc<Scripted>) -> Self {
        Self::new(EngineSettings::default(), &[(hook, Limits::default())]).await
    }

    fn call(&self, number: u64, upstream: &str, text: &str) -> Call {
        Call {
            id: CallId::new(1000, number.into()),
            askable: Askable::Queue,
            ..samples::saying(&*self.clock, number, (upstream, "send"), text)
        }
    }

    async fn cleared(&self, text: &str) -> Cleared<Call> {
        match self.engine.before(self.call(1, "notes", text)).await {
            Before::Cleared(cleared) => *cleared,
            other => panic!("{other:?}"),
        }
    }

    async fn after(&self, cleared: &Cleared<Call>, body: &str, status: Status) -> After {
        let outcome = Outcome {
            body: Bytes::from(body.to_owned()),
            status,
            took: Duration::ZERO,
        };
        self.engine.after(cleared, &outcome, None).await.unwrap()
    }
}

fn found(rule: &str) -> SecurityViolation {
    SecurityViolation {
        rule_id: rule.to_owned(),
        severity: Severity::High,
        threat_type: Threat::DataExfiltration,
        description: format!("it names {KEY}"),
        evidence: format!(r#"{{"value":"{KEY}"}}"#),
        recommended_action: "rotate the key".to_owned(),
    }
}

fn request(params: &str) -> SecurityDecision {
    SecurityDecision::AllowWithModification(SecurityModification {
        modified_request: Some(Bytes::from(params.to_owned())),
        added_headers: vec![("x-judged".to_owned(), "yes".to_owned())],
        audit_metadata: Some(r#"{"redacted":1}"#.into()),
        ..SecurityModification::default()
    })
}

fn response(body: &str) -> SecurityDecision {
    SecurityDecision::AllowWithModification(SecurityModification {
        modified_response: Some(Bytes::from(body.to_owned())),
        ..SecurityModification::default()
    })
}

#[tokio::test]
async fn decisions_of_hooks_become_verdicts() {
    let check = async |decision: SecurityDecision, expect: (Action, &str)| {
        let hook = hook("guard", move |_| Ok(decision.clone()));
        let rig = Rig::with(&hook).await;
        let verdict = match rig.engine.before(rig.call(1, "notes", "hello")).await {
            Before::Cleared(cleared) => Arc::clone(cleared.verdict()),
            Before::Asked(asked) => Arc::clone(asked.verdict()),
            Before::Denied(denied) => denied.verdict,
            Before::Unrecorded(fault) => panic!("{fault}"),
        };
        let rule = verdict
            .decided_by
            .map_or("", |at| &verdict.findings[at].rule);
        assert_eq!((verdict.action, rule), expect);
        let reason = verdict.reason().unwrap_or_default();
        assert!(!reason.contains(KEY), "words of hooks are masked: {reason}");
    };
    check(SecurityDecision::Allow, (Action::Allow, "")).await;
    check(
        SecurityDecision::Deny(found("R7")),
        (Action::Deny, "guard/R7"),
    )
    .await;
    check(
        SecurityDecision::Ask(found("R7")),
        (Action::Ask, "guard/R7"),
    )
    .await;
    let more = SecurityDecision::RequireAdditionalAuth("a second factor".to_owned());
    check(more.clone(), (Action::Ask, "guard/require_additional_auth")).await;
    let lifted = SecurityDecision::AskOrDeny(found("R7"));
    check(lifted.clone(), (Action::Ask, "guard/R7")).await;
    // Where nobody can be asked, nobody has approved or proved anything.
    for (said, leaves) in [
        (more, false),
        (lifted, false),
        (SecurityDecision::Ask(found("R7")), true),
    ] {
        let hook = hook("guard", move |_| Ok(said.clone()));
        let rig = Rig::with(&hook).await;
        let alone = Call {
            askable: Askable::Nobody,
            ..rig.call(1, "notes", "hello")
        };
        match rig.engine.before(alone).await {
            Before::Cleared(_) => assert!(leaves),
            Before::Denied(denied) => {
                assert_eq!((denied.verdict.action, leaves), (Action::Deny, false));
            }
            other => panic!("{other:?}"),
        }
    }
    // Whom a call is for is not a hook's to change.
    let other = request(r#"{"name":"delete","arguments":{}}"#);
    check(other, (Action::Deny, "unusable_modification")).await;
    let garbage = request("{");
    check(garbage, (Action::Deny, "guard/unusable_modification")).await;
}

#[tokio::test]
async fn a_changed_call_is_judged_again_and_is_what_leaves() {
    let hook = hook("masker", |params| {
        Ok(if params.contains("hello") {
            request(r#"{"name":"send","arguments":{"text":"bye"}}"#)
        } else {
            SecurityDecision::Allow
        })
    });
    let rig = Rig::with(&hook).await;
    let cleared = rig.cleared("hello").await;
    let call = cleared.value();
    let raw = std::str::from_utf8(&call.wire.raw).unwrap();
    assert_eq!(
        raw,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"text":"bye"}}}"#
    );
    assert_eq!(
        call.trace.added_headers,
        [("x-judged".to_owned(), "yes".to_owned())]
    );
    assert_eq!(&*call.trace.hook_metadata[0].data, r#"{"redacted":1}"#);
    assert_eq!(hook.asked.load(Ordering::Relaxed), 2);
    let rules: Vec<_> = cleared
        .verdict()
        .findings
        .iter()
        .map(|one| &*one.rule)
        .collect();
    assert_eq!(rules, ["masker/modified"]);
}

#[tokio::test]
async fn a_hook_that_always_gives_the_same_is_done_after_one_change() {
    let hook = hook("writer", |_| {
        Ok(request(r#"{"arguments":{"text":"bye"},"name":"send"}"#))
    });
    let rig = Rig::with(&hook).await;
    let cleared = rig.cleared("hello").await;
    let raw = std::str::from_utf8(&cleared.value().wire.raw).unwrap();
    assert!(raw.contains(r#""text":"bye""#), "{raw}");
    assert_eq!(hook.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn the_rules_judge_what_a_hook_made_of_a_call() {
    // Nothing sensitive came in; a hook puts a key in.
    let hook = hook("rogue", |params| {
        Ok(if params.contains("hello") {
            request(&format!(
                r#"{{"name":"send","arguments":{{"text":"{KEY}"}}}}"#
            ))
        } else {
            SecurityDecision::Allow
        })
    });
    let rig = Rig::with(&hook).await;
    let before = rig.engine.before(rig.call(1, "slack", "hello")).await;
    let Before::Cleared(cleared) = before else {
        panic!("{before:?}");
    };
    let verdict = cleared.verdict();
    assert_eq!(verdict.wanted, Action::Warn);
    assert_eq!(verdict.findings[0].rule, "secret_to_external");
}

#[tokio::test]
async fn hooks_that_never_agree_end_in_a_denial() {
    let count = AtomicUsize::new(0);
    let hook = hook("restless", move |_| {
        let count = count.fetch_add(1, Ordering::Relaxed);
        Ok(request(&format!(
            r#"{{"name":"send","arguments":{{"n":{count}}}}}"#
        )))
    });
    let rig = Rig::with(&hook).await;
    let Before::Denied(denied) = rig.engine.before(rig.call(1, "notes", "hello")).await else {
        panic!("it changes its mind each time");
    };
    assert!(
        denied.answer.reason.contains("do not agree"),
        "{:?}",
        denied.answer
    );
    assert!(hook.asked.load(Ordering::Relaxed) <= 4);
}

#[tokio::test]
async fn failures_follow_the_mode_and_the_verdict_names_it() {
    let check = async |mode: FailureMode, expect: (Action, &str)| {
        let hook = hook("absent", |_| {
            Err(HookFault::Unreachable("refused".to_owned()))
        });
        let limits = Limits {
            failure_mode: mode,
            ..Limits::default()
        };
        let rig = Rig::new(EngineSettings::default(), &[(&hook, limits)]).await;
        let verdict = match rig.engine.before(rig.call(1, "notes", "hello")).await {
            Before::Cleared(cleared) => Arc::clone(cleared.verdict()),
            Before::Denied(denied) => denied.verdict,
            other => panic!("{other:?}"),
        };
        assert_eq!((verdict.action, verdict.reason().unwrap()), expect);
    };
    let closed = "hook `absent` did not decide (unreachable) and is `fail_closed`";
    check(FailureMode::Closed, (Action::Deny, closed)).await;
    let open = "hook `absent` did not decide (unreachable) and is `fail_open`";
    check(FailureMode::Open, (Action::Warn, open)).await;
}

#[tokio::test]
async fn in_shadow_mode_a_denial_is_written_down_and_the_call_leaves() {
    let hook = hook("guard", |_| Ok(SecurityDecision::Deny(found("R7"))));
    let mut settings = EngineSettings::default();
    settings.policy.mode = Mode::Shadow;
    let rig = Rig::new(settings, &[(&hook, Limits::default())]).await;
    let cleared = rig.cleared("hello").await;
    assert_eq!(cleared.verdict().enforced, Enforcement::Shadow);
    let after = rig
        .after(&cleared, r#"{"content":[]}"#, Status::Success)
        .await;
    assert!(matches!(after, After::Passed), "{after:?}");
}

#[tokio::test]
async fn an_answer_can_be_replaced_and_withheld() {
    let check = async |decision: fn(&str) -> SecurityDecision, expect: Result<&str, &str>| {
        let hook = hook("dlp", move |body| {
            let answer = body.contains("content");
            Ok(if answer {
                decision(body)
            } else {
                SecurityDecision::Allow
            })
        });
        let rig = Rig::with(&hook).await;
        let cleared = rig.cleared("hello").await;
        let body = format!(r#"{{"content":[{{"type":"text","text":"{KEY}"}}]}}"#);
        let after = rig.after(&cleared, &body, Status::Success).await;
        let seen = match &after {
            After::Passed => Ok(body.as_str()),
            After::Replaced(body) => Ok(std::str::from_utf8(body).unwrap()),
            After::Withheld(why) => Err(why.answer.reason.as_str()),
        };
        assert_eq!(seen, expect);
        let record = rig.sink.records().pop().unwrap();
        let blocked = matches!(after, After::Withheld(_));
        assert_eq!(record.status == Status::Blocked, blocked);
        assert_eq!(
            record.response_bytes,
            body.len(),
            "the origin stays the original"
        );
        let text = serde_json::to_string(&record).unwrap();
        assert!(!text.contains(KEY), "{text}");
        // What was read is remembered as it came, whatever the caller got of it.
        let leak = rig.engine.before(rig.call(2, "slack", KEY)).await;
        assert!(!matches!(leak, Before::Cleared(_)), "{leak:?}");
    };
    let clean = r#"{"content":[]}"#;
    check(|_| response(r#"{"content":[]}"#), Ok(clean)).await;
    let why = "hook `dlp`: it names AKIA***KM";
    check(|_| SecurityDecision::Deny(found("R1")), Err(why)).await;
    // Nobody can be asked about an answer.
    check(|_| SecurityDecision::Ask(found("R1")), Err(why)).await;
    let unusable =
        "hook `dlp` changed the message, but what it put in place of the message is no JSON object";
    check(|_| response("\"text\""), Err(unusable)).await;
    let after = "hooks go on changing this answer and do not agree on a form of it";
    check(
        |body| {
            response(&format!(
                r#"{{"content":[],"x":"{}"}}"#,
                "x".repeat(body.len())
            ))
        },
        Err(after),
    )
    .await;
}

#[tokio::test]
async fn errors_are_shown_as_errors_and_the_record_has_what_hooks_left() {
    let hook = hook("audit", |body| {
        Ok(if body.contains("hello") {
            request(r#"{"name":"send","arguments":{"text":"hi"}}"#)
        } else {
            SecurityDecision::Allow
        })
    });
    let rig = Rig::with(&hook).await;
    let cleared = rig.cleared("hello").await;
    rig.after(&cleared, r#"{"code":-32000,"message":"no"}"#, Status::Error)
        .await;
    let result = r#"{"content":[],"isError":true}"#;
    rig.after(&cleared, result, Status::Error).await;
    let kinds = hook.kinds.lock().unwrap().clone();
    assert_eq!(kinds, [ResponseKind::Error, ResponseKind::Result]);
    let denying = self::hook("dlp", |_| Ok(SecurityDecision::Deny(found("R1"))));
    let rig = Rig::with(&denying).await;
    let before = rig.engine.before(rig.call(1, "notes", "hello")).await;
    assert!(matches!(before, Before::Denied(_)), "{before:?}");
    let record = rig.sink.records().pop().unwrap();
    let left = &record.hook_metadata[0];
    assert_eq!(
        (&*left.hook, &*left.data),
        (
            "dlp",
            r#"{"rule_id":"R1","evidence":{"value":"AKIA***KM"},"recommended_action":"rotate the key"}"#
        )
    );
}

#[tokio::test]
async fn what_upstreams_say_beside_their_answers_can_be_stopped_and_changed() {
    let check = async |params: &str, expect: Heard| {
        let hook = hook("ear", |params| {
            Ok(match params {
                one if one.contains("stop") => SecurityDecision::Deny(found("R2")),
                one if one.contains("change") => request(r#"{"message":"fine"}"#),
                _ => SecurityDecision::Allow,
            })
        });
        let rig = Rig::with(&hook).await;
        for wants_answer in [false, true] {
            assert!(rig.engine.overhears(wants_answer));
            let message = McpMessage {
                to_upstream: false,
                wants_answer,
                method: "notifications/message".into(),
                params: Bytes::from(params.to_owned()),
            };
            let call = rig.call(1, "notes", "hello");
            assert_eq!(rig.engine.overheard(&call, message).await, expect);
        }
    };
    check(r#"{"message":"hello"}"#, Heard::Passed).await;
    let fine = Bytes::from_static(br#"{"message":"fine"}"#);
    check(r#"{"message":"change"}"#, Heard::Changed(fine)).await;
    let why = "hook `ear`: it names AKIA***KM".to_owned();
    check(r#"{"message":"stop"}"#, Heard::Stopped(why)).await;
}

#[tokio::test]
async fn a_hook_sees_no_secret() {
    let seeing = hook("seeing", |_| Ok(SecurityDecision::Allow));
    let rig = Rig::with(&seeing).await;
    rig.cleared(&format!("my key is {KEY}")).await;
    let seen = seeing.seen.lock().unwrap().clone();
    assert_eq!(
        seen,
        [r#"{"name":"send","arguments":{"text":"my key is AKIA***KM"}}"#]
    );
}

#[tokio::test]
async fn without_hooks_nothing_is_asked() {
    let hook = hook("guard", |_| Ok(SecurityDecision::Deny(found("R7"))));
    let rig = Rig::with(&hook).await;
    rig.engine.set_hooks(None);
    rig.cleared("hello").await;
    assert_eq!(hook.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_listing_is_shown_as_far_as_hooks_let_it() {
    let offer = |name: &str, text: &str| Offered {
        kind: OfferKind::Tool,
        name: name.into(),
        raw: Bytes::from(format!(r#"{{"name":"{name}","description":"{text}"}}"#)),
    };
    let hook = hook("list", |body| {
        let read: serde_json::Value = serde_json::from_str(body).unwrap();
        let tools = read["tools"].as_array().cloned().unwrap_or_default();
        Ok(match body {
            one if one.contains("deny-all") => SecurityDecision::Deny(found("R3")),
            one if one.contains("absent") => return Err(HookFault::Late),
            one if one.contains("poison") => {
                let clean = |tool: &serde_json::Value| !tool.to_string().contains("poison");
                let left: Vec<_> = tools.into_iter().filter(clean).collect();
                response(&serde_json::json!({ "tools": left }).to_string())
            }
            _ => SecurityDecision::Allow,
        })
    });
    let check = async |offers: &[(&str, &str)], expect: &[bool]| {
        let mut settings = EngineSettings::default();
        settings.guards.enabled = false;
        let rig = Rig::new(settings, &[(&hook, Limits::default())]).await;
        let upstream = UpstreamId::new("notes");
        let offers: Vec<_> = offers
            .iter()
            .map(|(name, text)| offer(name, text))
            .collect();
        let shown = |rig: &Rig| -> Vec<bool> {
            let shows = |one: &Offered| rig.engine.shows(&upstream, one.kind, &one.name, &one.raw);
            offers.iter().map(shows).collect()
        };
        assert!(
            shown(&rig).iter().all(|shown| !shown),
            "nothing before they were asked"
        );
        assert!(rig.engine.look_at(&upstream, offers.clone()).await);
        assert_eq!(shown(&rig), expect);
        for (one, shown) in offers.iter().zip(expect) {
            let held = rig.engine.held(&upstream, one.kind, &one.name);
            assert_eq!(held.is_none(), *shown, "{held:?}");
        }
        // A tool that changed is not the one they were asked about.
        let other = offer(&offers[0].name, "changed");
        assert!(
            !rig.engine
                .shows(&upstream, other.kind, &other.name, &other.raw)
        );
    };
    check(&[("a", "reads"), ("b", "writes")], &[true, true]).await;
    check(&[("a", "reads"), ("b", "poison")], &[true, false]).await;
    check(&[("a", "reads"), ("b", "deny-all")], &[false, false]).await;
    check(&[("a", "absent")], &[false]).await;
}

#[tokio::test]
async fn a_call_waits_for_hooks_that_have_just_been_put_in_force() {
    let hook = hook("list", |_| Ok(SecurityDecision::Allow));
    let mut settings = EngineSettings::default();
    settings.guards.enabled = false;
    let rig = Rig::new(settings, &[(&hook, Limits::default())]).await;
    let upstream = UpstreamId::new("notes");
    let offers = vec![Offered {
        kind: OfferKind::Tool,
        name: "send".into(),
        raw: Bytes::from_static(br#"{"name":"send"}"#),
    }];
    // The call comes first, and the lists are read again after it.
    let call = rig.engine.before(rig.call(1, "notes", "hello"));
    let look = async {
        tokio::task::yield_now().await;
        let under_way = rig.engine.begin_look();
        rig.engine.look_at(&upstream, offers).await;
        drop(under_way);
    };
    let (before, ()) = tokio::join!(call, look);
    assert!(matches!(before, Before::Cleared(_)), "{before:?}");
}
