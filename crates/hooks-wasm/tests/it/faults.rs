//! Components that break, hang, grow, lie or want more than they are given.

use std::time::{Duration, Instant};

use mcpproxy_core::security::{HookFault, SecurityHook as _};
use mcpproxy_hooks_wasm::WasmHook;

use crate::asked::{EVERYTHING, PATIENT, ask, call, context, hook, settings};
use crate::guest::{Kept, hostile};

#[tokio::test]
async fn what_is_no_decision_is_a_fault_that_says_why() {
    let component = hostile();
    let kept = Kept::new(&component);
    let hook = hook(kept.path(), r#"{"max_memory":"8MiB","max_fuel":20000000}"#);
    let check = async |tool: &str, expect: &str| {
        assert_eq!(ask(&hook, tool, PATIENT).await, expect, "{tool}");
        // Whatever the last one did, the next is answered as ever.
        assert_eq!(
            ask(&hook, "nothing", PATIENT).await,
            "allow",
            "after {tool}"
        );
    };
    check("loop", "it broke down: it used up its fuel").await;
    let trap = "it broke down: wasm trap: wasm `unreachable` instruction executed";
    check("trap", trap).await;
    check("give-up", "it broke down: it gave up").await;
    let memory = "it broke down: it wanted more memory than it may have";
    check("allocate", memory).await;
    check("huge", "the message or its answer is too large").await;
    check("multiply", "the message or its answer is too large").await;
    // An objection counts; what it is based on is left out.
    check("bad-evidence", "deny hostile:  null").await;
    let phase = "its answer is no decision: the modification does not fit what was asked about";
    check("wrong-phase", phase).await;
    let nothing = "its answer is no decision: the modification changes nothing";
    check("nothing-changed", nothing).await;
    let header = "its answer is no decision: a header of the modification is none";
    check("bad-header", header).await;

    let not_text = ask(&hook, "not-text", PATIENT).await;
    assert!(
        not_text.starts_with("its answer is no decision: "),
        "{not_text}"
    );
    let recurse = ask(&hook, "recurse", PATIENT).await;
    assert!(recurse.starts_with("it broke down: "), "{recurse}");
}

#[tokio::test]
async fn nothing_is_left_over_for_the_next_question() {
    let component = hostile();
    let kept = Kept::new(&component);
    let hook = hook(kept.path(), r#"{"max_instances":1}"#);
    for _ in 0..5 {
        assert_eq!(ask(&hook, "remember", PATIENT).await, "allow");
    }
}

#[tokio::test]
async fn a_component_that_hangs_is_late_and_gives_its_instance_back() {
    let component = hostile();
    let kept = Kept::new(&component);
    let config = r#"{"max_instances":1,"max_fuel":9000000000000000000}"#;
    let hook = hook(kept.path(), config);
    let begun = Instant::now();
    let hurried = context(Duration::from_millis(100));
    let late = hook.inspect_request(&hurried, &call("loop", "{}")).await;
    assert_eq!(late, Err(HookFault::Late));
    assert!(begun.elapsed() < Duration::from_secs(10));
    // There is one instance only, so this waits until the first is stopped.
    assert_eq!(ask(&hook, "nothing", PATIENT).await, "allow");

    // The same where the caller gives up by itself.
    let patient = context(PATIENT);
    let asked = call("loop", "{}");
    let question = hook.inspect_request(&patient, &asked);
    let given_up = tokio::time::timeout(Duration::from_millis(100), question).await;
    assert!(given_up.is_err());
    assert_eq!(ask(&hook, "nothing", PATIENT).await, "allow");
}

#[tokio::test]
async fn who_finds_no_instance_free_in_time_is_told_that_it_is_busy() {
    let component = hostile();
    let kept = Kept::new(&component);
    let config = r#"{"max_instances":1,"max_fuel":9000000000000000000}"#;
    let hook = hook(kept.path(), config);
    let (long, short) = (
        context(Duration::from_secs(2)),
        context(Duration::from_millis(50)),
    );
    let asked = call("loop", "{}");
    let (first, second) = tokio::join!(
        hook.inspect_request(&long, &asked),
        hook.inspect_request(&short, &asked),
    );
    assert_eq!(first, Err(HookFault::Late));
    assert_eq!(second, Err(HookFault::Busy));
}

#[tokio::test]
async fn a_message_above_the_bound_is_not_shown_at_all() {
    let component = hostile();
    let kept = Kept::new(&component);
    let hook = hook(kept.path(), r#"{"max_body_size":100}"#);
    let long = call("nothing", &format!(r#"{{"text":"{}"}}"#, "x".repeat(100)));
    let context = context(PATIENT);
    let decision = hook.inspect_request(&context, &long).await;
    assert_eq!(decision, Err(HookFault::TooLarge));
    // Larger than the memory of an instance, where the configuration lets it be shown.
    let told = r#"{"max_body_size":"64MiB","max_memory":"4MiB"}"#;
    let hook = self::hook(kept.path(), told);
    let long = call(
        "nothing",
        &format!(r#"{{"text":"{}"}}"#, "x".repeat(8 << 20)),
    );
    let decision = hook.inspect_request(&context, &long).await;
    let why = "it wanted more memory than it may have".to_owned();
    assert_eq!(decision, Err(HookFault::Crashed(why)));
}

#[test]
fn a_component_that_wants_anything_is_not_loaded() {
    let check = |text: &str, expect: &str| {
        let kept = Kept::new(&wat::parse_str(text).unwrap());
        let made = WasmHook::new("x", 1, EVERYTHING, &settings(kept.path(), "{}"));
        let why = made.unwrap_err().to_string();
        let why = why.replace(&kept.path().display().to_string(), "FILE");
        assert!(why.starts_with(expect), "{why}");
    };
    check(
        r#"(component (import "wasi:cli/environment@0.2.0" (instance
            (export "get-environment" (func (result string))))))"#,
        "`FILE` wants what no hook is given: component imports instance \
         `wasi:cli/environment@0.2.0`",
    );
    check(
        r#"(component (import "clock" (func (result u64))))"#,
        "`FILE` wants what no hook is given: component imports function `clock`",
    );
    check(
        "(component)",
        "`FILE` does not export `check-config` as the world `mcpproxy:hook` has it",
    );
    check(
        r#"(component
            (core module $m (func (export "f") (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            (func $f (result u32) (canon lift (core func $i "f")))
            (export "check-config" (func $f))
            (export "inspect" (func $f)))"#,
        "`FILE` does not export `inspect` as the world `mcpproxy:hook` has it",
    );
    check(
        "(module)",
        "`FILE` cannot be used as a WebAssembly component: ",
    );
    check(
        "(component (core module $m (memory 100000)) (core instance (instantiate $m)))",
        "`FILE` cannot be used as a WebAssembly component: ",
    );
}

#[test]
fn a_file_that_is_no_component_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = settings(folder.path().join("none.wasm"), "{}");
    let why = WasmHook::new("x", 1, EVERYTHING, &missing).unwrap_err();
    assert!(why.to_string().starts_with("cannot read `"), "{why}");
    let kept = Kept::new(b"not WebAssembly");
    let why = WasmHook::new("x", 1, EVERYTHING, &settings(kept.path(), "{}")).unwrap_err();
    assert!(
        why.to_string().contains("as a WebAssembly component"),
        "{why}"
    );
}

#[test]
fn a_component_that_fails_on_its_settings_is_refused() {
    let component = hostile();
    let kept = Kept::new(&component);
    let check = |config: &str, expect: &str| {
        let made = WasmHook::new("x", 1, EVERYTHING, &settings(kept.path(), config));
        assert_eq!(made.unwrap_err().to_string(), expect);
    };
    check(
        r#"{"settings":{"refuse":true}}"#,
        "the component refuses its `settings`: it does not like this",
    );
    check(
        r#"{"settings":{"trap":true}}"#,
        "the component failed when it was shown its `settings`: it broke down: wasm trap: wasm \
         `unreachable` instruction executed",
    );
}
