//! Hooks of every temper, and what becomes of the message. Time stands still unless a test moves it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Action, HealthStatus, HookFault, Identity, Later, McpRequest, McpResponse, McpSessionInfo,
    Phases, RequestMetadata, ResponseKind, SecurityContext, SecurityDecision, SecurityHook,
    SecurityModification, SecurityViolation, Severity, Sight, Threat, Wall,
};
use mcpproxy_testkit::FixedClock;

use super::*;
use crate::breaker::BreakerSettings;
use crate::limits::Rate;

/// How a hook behaves.
#[derive(Clone, Debug)]
enum Temper {
    Allows,
    Denies,
    Asks,
    WantsMore,
    Changes(&'static str),
    Adds(&'static str),
    Hangs,
    Blocks,
    Panics,
    /// Fails at every message, and is well.
    Fails(HookFault),
    /// Fails at every message, and is not well.
    Dies(HookFault),
    /// Fails at the first two questions, and takes a while for the others.
    Heals,
    /// Fails at every second question.
    Flaps,
    CannotStart,
}

#[derive(Debug)]
struct Fake {
    id: &'static str,
    priority: u32,
    temper: Temper,
    asked: AtomicUsize,
    seen: Mutex<Vec<(SecurityContext, String, String)>>,
}

fn fake(id: &'static str, priority: u32, temper: Temper) -> Arc<Fake> {
    Arc::new(Fake {
        id,
        priority,
        temper,
        asked: AtomicUsize::new(0),
        seen: Mutex::default(),
    })
}

fn violation() -> SecurityViolation {
    SecurityViolation {
        rule_id: "R\n1".to_owned(),
        severity: Severity::High,
        threat_type: Threat::CommandInjection,
        description: "a shell in the arguments".to_owned(),
        evidence: r#"{"at":"params"}"#.to_owned(),
        recommended_action: "remove it".to_owned(),
    }
}

impl Fake {
    async fn decide(&self, change: SecurityModification) -> Result<SecurityDecision, HookFault> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        match &self.temper {
            Temper::Denies => Ok(SecurityDecision::Deny(violation())),
            Temper::Asks => Ok(SecurityDecision::Ask(violation())),
            Temper::WantsMore => {
                let what = "a second factor".to_owned();
                Ok(SecurityDecision::RequireAdditionalAuth(what))
            }
            Temper::Changes(_) => Ok(SecurityDecision::AllowWithModification(change)),
            Temper::Adds(header) => {
                let change = SecurityModification {
                    added_headers: vec![((*header).to_owned(), "1".to_owned())],
                    audit_metadata: Some(r#"{"seen":true}"#.into()),
                    ..SecurityModification::default()
                };
                Ok(SecurityDecision::AllowWithModification(change))
            }
            Temper::Hangs => std::future::pending().await,
            Temper::Blocks => {
                std::thread::sleep(Duration::from_millis(300));
                Ok(SecurityDecision::Allow)
            }
            Temper::Panics => panic!("a hook breaks down"),
            Temper::Fails(fault) | Temper::Dies(fault) => Err(fault.clone()),
            Temper::Heals if asked < 2 => Err(HookFault::Unreachable("refused".to_owned())),
            Temper::Heals => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                Ok(SecurityDecision::Allow)
            }
            Temper::Flaps if asked.is_multiple_of(2) => {
                Err(HookFault::Unreachable("refused".to_owned()))
            }
            Temper::Allows | Temper::CannotStart | Temper::Flaps => Ok(SecurityDecision::Allow),
        }
    }

    fn change(&self) -> Option<Bytes> {
        match self.temper {
            Temper::Changes(to) => Some(Bytes::from_static(to.as_bytes())),
            _ => None,
        }
    }

    fn see(&self, context: &SecurityContext, request: &McpRequest, body: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let seen = (context.clone(), text(&request.params), text(body));
        self.seen.lock().unwrap().push(seen);
    }
}

impl SecurityHook for Fake {
    fn id(&self) -> &'static str {
        self.id
    }

    fn name(&self) -> &'static str {
        "A fake"
    }

    fn description(&self) -> &'static str {
        "Behaves as a test wants"
    }

    fn priority(&self) -> u32 {
        self.priority
    }

    fn runs_on(&self) -> Phases {
        Phases {
            request: true,
            response: true,
            ..Phases::default()
        }
    }

    fn initialize(&self) -> Later<'_, Result<(), HookFault>> {
        let can = !matches!(self.temper, Temper::CannotStart);
        let fault = || HookFault::Unreachable("nobody listens".to_owned());
        Box::pin(async move { can.then_some(()).ok_or_else(fault) })
    }

    fn inspect_request<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        self.see(context, request, b"");
        let modified_request = self.change();
        Box::pin(self.decide(SecurityModification {
            modified_request,
            ..SecurityModification::default()
        }))
    }

    fn inspect_response<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
        response: &'a McpResponse,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        self.see(context, request, &response.body);
        let modified_response = self.change();
        Box::pin(self.decide(SecurityModification {
            modified_response,
            ..SecurityModification::default()
        }))
    }

    fn health_check(&self) -> Later<'_, Result<HealthStatus, HookFault>> {
        Box::pin(async move {
            let asked = self.asked.load(Ordering::Relaxed);
            match self.temper {
                Temper::Hangs => std::future::pending().await,
                Temper::Heals if asked <= 2 => Err(HookFault::Unreachable("refused".to_owned())),
                _ => Ok(HealthStatus {
                    healthy: !matches!(self.temper, Temper::Dies(_)),
                    message: "ready".to_owned(),
                }),
            }
        })
    }
}

fn around() -> Around {
    Around {
        correlation_id: "c-1".into(),
        session: Arc::new(McpSessionInfo {
            session_id: "s-1".to_owned(),
            server_id: "files".to_owned(),
            server_name: "Files".to_owned(),
            protocol_version: "2025-11-25".to_owned(),
            established_at: Wall(0),
        }),
        identity: Some(Arc::new(Identity {
            user_id: "ada".to_owned(),
            ..Identity::default()
        })),
        request: Arc::new(RequestMetadata {
            method: "tools/call".to_owned(),
            path: "/mcp".to_owned(),
            headers: vec![("x-team".to_owned(), "blue".to_owned())],
            remote_addr: Some("127.0.0.1:9".to_owned()),
            timestamp: Wall(0),
        }),
        earlier: Vec::new(),
        left: Duration::from_secs(30),
    }
}

fn request() -> McpRequest {
    McpRequest {
        method: "tools/call".into(),
        name: "read".into(),
        params: Bytes::from_static(br#"{"key":"hunter2"}"#),
        id: Some("1".into()),
    }
}

fn masked(body: &Bytes) -> Option<Bytes> {
    let text = String::from_utf8(body.to_vec()).ok()?;
    Some(text.replace("hunter2", "***").into())
}

struct Bench {
    registry: Registry,
    clock: Arc<FixedClock>,
}

async fn bench(hooks: Vec<(Arc<Fake>, Limits)>) -> Result<Bench, Error> {
    let clock = Arc::new(FixedClock::default());
    let entries = hooks
        .into_iter()
        .map(|(hook, limits)| Entry { hook, limits });
    let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let registry = Registry::start(entries.collect(), Arc::default(), &shared).await?;
    Ok(Bench { registry, clock })
}

impl Bench {
    async fn ask(&self) -> Ran {
        let subject = Subject::Request(request());
        self.registry.ask(subject, &around(), &masked).await
    }

    /// Waits until a hook that is asked how it is has said so, or had its time.
    async fn examined(&self) {
        tokio::time::sleep(Duration::from_secs(3)).await;
    }

    fn errors(&self, id: &str, kind: &str) -> u64 {
        let counts = self.registry.metrics().of(id).counts();
        counts.errors.get(kind).copied().unwrap_or(0)
    }
}

fn open() -> Limits {
    Limits {
        failure_mode: FailureMode::Open,
        ..Limits::default()
    }
}

#[tokio::test(start_paused = true)]
async fn every_temper_has_its_outcome_open_and_closed() {
    use Action::{Allow, Ask, Deny, Warn};
    let check = async |temper: Temper, closed: (Action, &str), open: (Action, &str)| {
        for (limits, expect) in [(Limits::default(), closed), (self::open(), open)] {
            let bench = bench(vec![(fake("h", 1, temper.clone()), limits)])
                .await
                .unwrap();
            let ran = bench.ask().await;
            let rule = ran.noted.last().map_or("", |noted| noted.rule.as_str());
            assert_eq!((ran.wants(), rule), expect, "{temper:?}");
        }
    };
    let both = |expect| (expect, expect);
    for (temper, (closed, open)) in [
        (Temper::Allows, both((Allow, ""))),
        (Temper::Denies, both((Deny, "h/R_1"))),
        (Temper::Asks, both((Ask, "h/R_1"))),
        (Temper::WantsMore, both((Ask, "h/require_additional_auth"))),
        (Temper::Changes("{}"), both((Allow, "h/modified"))),
        (
            Temper::Changes("{"),
            both((Deny, "h/unusable_modification")),
        ),
        (Temper::Adds("x-a"), both((Allow, ""))),
        (
            Temper::Adds("host"),
            both((Deny, "h/unusable_modification")),
        ),
        (Temper::Hangs, ((Deny, "h/timeout"), (Warn, "h/timeout"))),
        (Temper::Panics, ((Deny, "h/crashed"), (Warn, "h/crashed"))),
        (
            Temper::Fails(HookFault::Garbage("no JSON".to_owned())),
            ((Deny, "h/garbage"), (Warn, "h/garbage")),
        ),
        (
            Temper::Fails(HookFault::TooLarge),
            ((Deny, "h/too_large"), (Warn, "h/too_large")),
        ),
        (
            Temper::Fails(HookFault::Unreachable("refused".to_owned())),
            ((Deny, "h/unreachable"), (Warn, "h/unreachable")),
        ),
    ] {
        check(temper, closed, open).await;
    }
}

#[tokio::test]
async fn a_hook_that_blocks_its_thread_costs_its_timeout_and_no_more() {
    let limits = Limits {
        timeout: Duration::from_millis(20),
        ..Limits::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let asked = runtime.spawn(async move {
        let bench = bench(vec![(fake("h", 1, Temper::Blocks), limits)])
            .await
            .unwrap();
        let ran = bench.ask().await;
        (ran.wants(), ran.noted[0].rule.clone())
    });
    assert_eq!(asked.await.unwrap(), (Action::Deny, "h/timeout".to_owned()));
    runtime.shutdown_background();
}

#[tokio::test(start_paused = true)]
async fn the_order_is_by_priority_then_id_and_a_denial_ends_it() {
    let (last, first) = (fake("a", 9, Temper::Allows), fake("c", 1, Temper::Asks));
    let (second, denying) = (fake("b", 5, Temper::Allows), fake("d", 5, Temper::Denies));
    let hooks = [&last, &denying, &first, &second];
    let hooks = hooks.map(|hook| (Arc::clone(hook), Limits::default()));
    let bench = bench(hooks.into()).await.unwrap();
    let ran = bench.ask().await;
    let rules: Vec<_> = ran.noted.iter().map(|noted| noted.rule.as_str()).collect();
    assert_eq!(rules, ["c/R_1", "d/R_1"]);
    let asked = |hook: &Fake| hook.asked.load(Ordering::Relaxed);
    assert_eq!(
        [&first, &second, &denying, &last].map(|hook| asked(hook)),
        [1, 1, 1, 0]
    );
    let order: Vec<_> = bench
        .registry
        .health()
        .await
        .into_iter()
        .map(|one| one.id)
        .collect();
    assert_eq!(order, ["c", "b", "d", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_demand_for_more_holds_the_call_and_those_behind_may_still_deny() {
    let check = async |behind: Temper, expect: Action| {
        let (wanting, behind) = (fake("a", 1, Temper::WantsMore), fake("b", 2, behind));
        let hooks = [&wanting, &behind].map(|hook| (Arc::clone(hook), Limits::default()));
        let ran = bench(hooks.into()).await.unwrap().ask().await;
        assert_eq!(ran.wants(), expect);
        assert_eq!(ran.noted[0].rule, "a/require_additional_auth");
        assert_eq!(behind.asked.load(Ordering::Relaxed), 1);
    };
    check(Temper::Allows, Action::Ask).await;
    check(Temper::Denies, Action::Deny).await;
}

#[tokio::test(start_paused = true)]
async fn ids_are_unique_and_a_hook_that_cannot_start_stops_the_start_unless_open() {
    let check = async |hooks: Vec<(Arc<Fake>, Limits)>, expect: Option<&str>| {
        let fault = bench(hooks).await.err().map(|fault| fault.to_string());
        assert_eq!(fault.as_deref(), expect);
    };
    let hook = |id, temper| (fake(id, 1, temper), Limits::default());
    let twice = vec![hook("a", Temper::Allows), hook("a", Temper::Denies)];
    check(twice, Some("two hooks have the id `a`")).await;
    check(vec![hook("", Temper::Allows)], Some("a hook has no id")).await;
    let expect = "hook `a` cannot start: it could not be reached: nobody listens";
    check(vec![hook("a", Temper::CannotStart)], Some(expect)).await;
    let opened = || vec![(fake("a", 1, Temper::CannotStart), open())];
    check(opened(), None).await;
    // It is tried again with each question, and fails as any other does.
    let bench = bench(opened()).await.unwrap();
    assert_eq!(bench.ask().await.noted[0].rule, "a/unreachable");
    let health = bench.registry.health().await;
    assert!(!health[0].started && health[0].healthy);
}

#[tokio::test(start_paused = true)]
async fn what_one_hook_changed_the_next_one_sees() {
    let (changing, seeing) = (
        fake("a", 1, Temper::Changes(r#"{"key":"x"}"#)),
        fake("b", 2, Temper::Allows),
    );
    let hooks = [&changing, &seeing].map(|hook| (Arc::clone(hook), Limits::default()));
    let ran = bench(hooks.into()).await.unwrap().ask().await;
    assert_eq!(ran.changed.as_deref(), Some(&br#"{"key":"x"}"#[..]));
    assert_eq!(seeing.seen.lock().unwrap()[0].1, r#"{"key":"x"}"#);
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_saw_masked_stays_what_it_was() {
    let check = async |change: &'static str, sight: Sight, expect: Option<&str>| {
        let hook = fake("a", 1, Temper::Changes(change));
        // A change that cannot be used is a denial, also of a hook that fails open.
        let limits = Limits { sight, ..open() };
        let bench = bench(vec![(hook, limits)]).await.unwrap();
        let response = McpResponse {
            kind: ResponseKind::Result,
            body: request().params,
        };
        for subject in [
            Subject::Request(request()),
            Subject::Response(request(), response),
        ] {
            let ran = bench.registry.ask(subject, &around(), &masked).await;
            let changed = ran.changed.as_deref();
            let changed = changed.map(|changed| std::str::from_utf8(changed).unwrap());
            assert_eq!(changed, expect, "{change}");
            let wants = expect.map_or(Action::Deny, |_| Action::Allow);
            assert_eq!(ran.wants(), wants, "{change}");
        }
    };
    let (adds, moves) = (r#"{"key":"***","team":"blue"}"#, r#"{"note":"***"}"#);
    let kept = Some(r#"{"key":"hunter2","team":"blue"}"#);
    check(adds, Sight::default(), kept).await;
    check(moves, Sight::default(), None).await;
    let all = Sight {
        secrets: true,
        ..Sight::default()
    };
    check(adds, all, Some(adds)).await;
    check(moves, all, Some(moves)).await;
    let blind = Sight {
        arguments: false,
        results: false,
        ..all
    };
    check(adds, blind, None).await;
}

#[tokio::test(start_paused = true)]
async fn metadata_and_headers_add_up() {
    let (adding, seeing) = (
        fake("a", 1, Temper::Adds("x-a")),
        fake("b", 2, Temper::Adds("x-b")),
    );
    let hooks = [&adding, &seeing].map(|hook| (Arc::clone(hook), Limits::default()));
    let ran = bench(hooks.into()).await.unwrap().ask().await;
    let left: (Box<str>, Box<str>) = ("a".into(), r#"{"seen":true}"#.into());
    assert_eq!(*seeing.seen.lock().unwrap()[0].0.security_metadata, [left]);
    let names: Vec<_> = ran.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        (names.as_slice(), ran.metadata.len()),
        (&["x-a", "x-b"][..], 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_shown_what_it_may_see() {
    let check = async |sight: Sight, params: &str, body: &str, expect: (bool, bool, &str)| {
        let hook = fake("a", 1, Temper::Allows);
        let limits = Limits {
            sight,
            ..Limits::default()
        };
        let bench = bench(vec![(Arc::clone(&hook), limits)]).await.unwrap();
        let response = McpResponse {
            kind: ResponseKind::Result,
            body: Bytes::from_static(br#"{"text":"hunter2"}"#),
        };
        let subject = Subject::Response(request(), response);
        bench.registry.ask(subject, &around(), &masked).await;
        let seen = hook.seen.lock().unwrap();
        let (context, seen_params, seen_body) = &seen[0];
        assert_eq!((seen_params.as_str(), seen_body.as_str()), (params, body));
        let (identity, request) = (&context.identity, &context.request_metadata);
        let seen = (
            identity.is_some() && request.remote_addr.is_some(),
            !request.headers.is_empty(),
            context.session.session_id.as_str(),
        );
        assert_eq!(seen, expect, "{sight:?}");
    };
    let all = Sight {
        secrets: true,
        ..Sight::default()
    };
    let nothing = Sight {
        arguments: false,
        results: false,
        identity: false,
        headers: false,
        secrets: true,
    };
    let (exact, body) = (r#"{"key":"hunter2"}"#, r#"{"text":"hunter2"}"#);
    check(all, exact, body, (true, true, "s-1")).await;
    let (hidden, shown) = (r#"{"key":"***"}"#, r#"{"text":"***"}"#);
    check(Sight::default(), hidden, shown, (true, true, "s-1")).await;
    check(nothing, "{}", "{}", (false, false, "")).await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_is_left_alone_and_tried_again() {
    let limits = Limits {
        breaker: BreakerSettings {
            failures: 2,
            rest: Duration::from_secs(10),
            probes: 1,
        },
        ..open()
    };
    let hook = fake("h", 1, Temper::Hangs);
    let bench = bench(vec![(Arc::clone(&hook), limits)]).await.unwrap();
    let mut rules = Vec::new();
    for pause in [0, 0, 0, 9, 1, 0] {
        bench.clock.advance(Duration::from_secs(pause));
        rules.push(bench.ask().await.noted[0].rule.clone());
        bench.examined().await;
    }
    let (late, resting) = ("h/timeout", "h/circuit_open");
    assert_eq!(rules, [late, late, resting, resting, late, resting]);
    assert_eq!(hook.asked.load(Ordering::Relaxed), 3);
    let health = &bench.registry.health().await[0];
    assert_eq!((health.circuit, health.healthy), (Standing::Open, false));
    assert_eq!(bench.errors("h", "circuit_open"), 3);
    // The time for which it was waited counts too.
    let text = bench.registry.metrics().text();
    assert!(
        text.contains("security_hooks_duration_seconds_count{hook_id=\"h\"} 3"),
        "{text}"
    );
}

/// Whoever writes messages that a hook cannot digest does not switch it off for others.
#[tokio::test(start_paused = true)]
async fn a_circuit_opens_for_a_hook_that_is_not_well_and_for_no_message() {
    let check = async |temper: Temper, expect: Standing| {
        for limits in [Limits::default(), open()] {
            let bench = bench(vec![(fake("h", 1, temper.clone()), limits)])
                .await
                .unwrap();
            for _ in 0..6 {
                bench.ask().await;
                bench.examined().await;
            }
            let circuit = bench.registry.health().await[0].circuit;
            assert_eq!(circuit, expect, "{temper:?}");
        }
    };
    let why = || "why".to_owned();
    let (late, crashed) = (HookFault::Late, HookFault::Crashed(why()));
    let unreachable = HookFault::Unreachable(why());
    for fault in [&late, &crashed, &unreachable] {
        check(Temper::Dies(fault.clone()), Standing::Open).await;
        check(Temper::Fails(fault.clone()), Standing::Closed).await;
    }
    check(Temper::Hangs, Standing::Open).await;
    check(Temper::Panics, Standing::Closed).await;
    // What it answers is no decision, but an answer.
    for fault in [
        HookFault::Garbage(why()),
        HookFault::TooLarge,
        HookFault::Busy,
    ] {
        check(Temper::Dies(fault), Standing::Closed).await;
    }
}

/// A caller that goes away at once says nothing about the hook.
#[tokio::test(start_paused = true)]
async fn a_question_that_is_given_up_is_no_failure() {
    let bench = bench(vec![(fake("h", 1, Temper::Hangs), Limits::default())])
        .await
        .unwrap();
    for _ in 0..10 {
        let asked = tokio::time::timeout(Duration::from_millis(1), bench.ask()).await;
        assert!(asked.is_err());
    }
    bench.examined().await;
    assert_eq!(bench.registry.health().await[0].circuit, Standing::Closed);
}

/// Who is not let through while another is tried has not failed.
#[tokio::test(start_paused = true)]
async fn a_hook_that_healed_is_asked_again_however_many_ask_at_once() {
    let limits = Limits {
        breaker: BreakerSettings {
            failures: 2,
            rest: Duration::from_secs(10),
            probes: 2,
        },
        ..Limits::default()
    };
    let bench = bench(vec![(fake("h", 1, Temper::Heals), limits)])
        .await
        .unwrap();
    bench.ask().await;
    bench.ask().await;
    bench.examined().await;
    assert_eq!(bench.registry.health().await[0].circuit, Standing::Open);
    bench.clock.advance(Duration::from_secs(10));
    for _ in 0..2 {
        tokio::join!(bench.ask(), bench.ask(), bench.ask(), bench.ask());
    }
    assert_eq!(bench.registry.health().await[0].circuit, Standing::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_flaps_is_judged_by_each_answer() {
    let bench = bench(vec![(fake("h", 1, Temper::Flaps), Limits::default())])
        .await
        .unwrap();
    for expect in [Action::Deny, Action::Allow, Action::Deny, Action::Allow] {
        assert_eq!(bench.ask().await.wants(), expect);
    }
    assert_eq!(bench.registry.health().await[0].circuit, Standing::Closed);
}

#[tokio::test(start_paused = true)]
async fn limits_on_rate_concurrency_and_size_hold() {
    let rate = Limits {
        rate: Some(Rate {
            per_second: 1,
            burst: 1,
        }),
        ..Limits::default()
    };
    let limited = bench(vec![(fake("h", 1, Temper::Allows), rate)])
        .await
        .unwrap();
    assert_eq!(limited.ask().await.wants(), Action::Allow);
    assert_eq!(limited.ask().await.noted[0].rule, "h/busy");
    limited.clock.advance(Duration::from_secs(1));
    assert_eq!(limited.ask().await.wants(), Action::Allow);

    let one = Limits {
        concurrency: 1,
        ..Limits::default()
    };
    let narrow = bench(vec![(fake("h", 1, Temper::Hangs), one)])
        .await
        .unwrap();
    let (first, second) = tokio::join!(narrow.ask(), narrow.ask());
    let mut rules = [first, second].map(|ran| ran.noted[0].rule.clone());
    rules.sort();
    assert_eq!(rules, ["h/busy", "h/timeout"]);

    let blind = bench(vec![(fake("h", 1, Temper::Allows), Limits::default())])
        .await
        .unwrap();
    let subject = Subject::Request(request());
    let ran = blind.registry.ask(subject, &around(), &|_| None).await;
    assert_eq!(ran.noted[0].rule, "h/too_large");

    let small = Limits {
        max_body: 4,
        ..Limits::default()
    };
    let small = bench(vec![(fake("h", 1, Temper::Allows), small)])
        .await
        .unwrap();
    assert_eq!(small.ask().await.noted[0].rule, "h/too_large");
}

#[tokio::test(start_paused = true)]
async fn an_asynchronous_hook_delays_nothing_and_drops_are_counted() {
    let limits = Limits {
        asynchronous: true,
        concurrency: 1,
        ..Limits::default()
    };
    let (hook, denying) = (
        fake("slow", 1, Temper::Hangs),
        fake("late", 2, Temper::Denies),
    );
    let hooks = vec![(hook, limits.clone()), (Arc::clone(&denying), limits)];
    let bench = bench(hooks).await.unwrap();
    assert_eq!(bench.ask().await.wants(), Action::Allow);
    for _ in 0..1100 {
        bench
            .registry
            .tell(Subject::Request(request()), &around(), &masked);
    }
    assert_eq!(bench.errors("slow", "dropped"), 1100 - 1024);
    assert_eq!(bench.registry.health().await[0].waiting, 1024);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(denying.asked.load(Ordering::Relaxed) >= 1024);
    let text = bench.registry.metrics().text();
    assert!(
        text.contains(r#"threat_type="command_injection",severity="high"} 1024"#),
        "{text}"
    );
}
