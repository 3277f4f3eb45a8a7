//! Components that are replaced while they are asked.

use std::time::Duration;

use mcpproxy_core::security::SecurityHook as _;
use mcpproxy_hooks_wasm::{Reload, WasmHook};

use crate::asked::{EVERYTHING, PATIENT, ask, hook, settings};
use crate::guest::{Kept, component, hostile};

/// Both components.
fn two() -> (Vec<u8>, Vec<u8>) {
    let mask = component("examples/wasm-hooks", "mask-results");
    (hostile(), mask)
}

async fn health(hook: &WasmHook) -> String {
    hook.health_check().await.unwrap().message
}

#[tokio::test]
async fn a_changed_file_is_put_to_use_and_a_broken_one_is_not() {
    let (hostile, mask) = two();
    let kept = Kept::new(&hostile);
    let hook = hook(kept.path(), "{}");
    assert_eq!(hook.reload().await.unwrap(), Reload::Unchanged);
    assert_ne!(ask(&hook, "trap", PATIENT).await, "allow");

    kept.write(&mask);
    assert_eq!(hook.reload().await.unwrap(), Reload::Swapped);
    assert_eq!(ask(&hook, "trap", PATIENT).await, "allow");

    kept.write(b"half a file");
    assert!(hook.reload().await.is_err());
    assert_eq!(ask(&hook, "trap", PATIENT).await, "allow");
    let said = health(&hook).await;
    assert!(said.contains("since the file cannot be used: "), "{said}");

    kept.write(&mask);
    assert_eq!(hook.reload().await.unwrap(), Reload::Unchanged);
    let said = health(&hook).await;
    assert!(!said.contains("cannot be used"), "{said}");
}

#[tokio::test]
async fn a_hook_notices_by_itself_that_its_file_changed() {
    let (hostile, mask) = two();
    let kept = Kept::new(&hostile);
    let hook = hook(kept.path(), "{}");
    assert_eq!(hook.initialize().await, Ok(()));
    let before = health(&hook).await;
    kept.write(&mask);
    let noticed = async {
        while health(&hook).await == before {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENT, noticed).await.unwrap();
    assert_eq!(ask(&hook, "trap", PATIENT).await, "allow");
}

#[tokio::test]
async fn questions_go_on_while_components_are_swapped() {
    let (hostile, mask) = two();
    let kept = Kept::new(&hostile);
    let hook = hook(kept.path(), r#"{"max_instances":4}"#);
    let swaps = async {
        for component in [&mask, &hostile, &mask] {
            kept.write(component);
            assert_eq!(hook.reload().await.unwrap(), Reload::Swapped);
        }
    };
    let questions = async {
        for _ in 0..200 {
            assert_eq!(ask(&hook, "nothing", PATIENT).await, "allow");
        }
    };
    tokio::join!(swaps, questions);
}

#[tokio::test]
async fn a_pinned_component_is_never_another_one() {
    let (hostile, mask) = two();
    let kept = Kept::new(&hostile);
    let digest = health(&hook(kept.path(), "{}")).await;
    let (_, digest) = digest.rsplit_once(' ').unwrap();
    let pinned = format!(r#"{{"sha256":"{}"}}"#, digest.to_uppercase());
    let pinned_hook = hook(kept.path(), &pinned);

    kept.write(&mask);
    let why = pinned_hook.reload().await.unwrap_err().to_string();
    assert!(why.contains("not the one that `sha256` says"), "{why}");
    assert_ne!(ask(&pinned_hook, "trap", PATIENT).await, "allow");
    let made = WasmHook::new("x", 1, EVERYTHING, &settings(kept.path(), &pinned));
    assert!(made.is_err());
}
