//! What ARCHITECTURE.md says of how a recorded session ends, tried out row by row.

use rustix::process::Signal;
use serde_json::json;

use crate::endings::unheard;
use crate::support::{ANSWERS, Left, Scene, call, until};

/// How a session of one call ended.
struct Case {
    /// The first cell of its row.
    row: &'static str,
    outcome: &'static str,
    marks: &'static [&'static str],
    complete: bool,
    code: i32,
    run: fn(&Scene) -> Left,
}

/// Ignores signals, says that it does, and answers nothing.
const HANGS: &str = "trap '' TERM INT HUP; echo '{}'; while :; do sleep 0.05; done";

fn answered(scene: &Scene, answer: &str) -> Left {
    let script = format!("read -r l; echo '{answer}'; cat >/dev/null");
    scene.run(&[], &script, (call(1, "t", "{}") + "\n").as_bytes())
}

fn without_id(scene: &Scene, flags: &[&str]) -> Left {
    let line = call(1, "t", "{}").replace("\"id\":1,", "") + "\n";
    scene.run(flags, ANSWERS, line.as_bytes())
}

fn policed(scene: &Scene, profile: &str, default: &str) -> [String; 4] {
    let text = format!("version: 1\ndefault: {default}\n");
    let policy = scene.file("p.yaml", &text);
    ["--profile", profile, "--policy", &policy].map(str::to_owned)
}

fn denied(scene: &Scene, profile: &str) -> Left {
    let flags = policed(scene, profile, "deny");
    let flags = flags.each_ref().map(String::as_str);
    scene.run(&flags, ANSWERS, (call(1, "t", "{}") + "\n").as_bytes())
}

fn signalled(scene: &Scene, signal: Signal) -> Left {
    let mut proxy = scene.proxy(&["--shutdown-timeout", "0.3"], HANGS);
    proxy.line();
    proxy.send(&call(1, "t", "{}"));
    until("the intent", || scene.receipts().len() > 1);
    proxy.signal(signal);
    proxy.wait()
}

/// Is left by its client while it hangs.
fn abandoned(scene: &Scene, flags: &[&str]) -> Left {
    let mut proxy = scene.proxy(flags, HANGS);
    proxy.line();
    proxy.send(&call(1, "t", "{}"));
    proxy.left()
}

fn waited(scene: &Scene, flags: &[&str], line: Option<&str>) -> Left {
    let mut proxy = scene.proxy(flags, "cat >/dev/null");
    proxy.send(&call(1, "t", "{}"));
    if let Some(line) = line {
        proxy.send(line);
    }
    until("the receipt", || !scene.calls().is_empty());
    proxy.left()
}

const CASES: &[Case] = &[
    Case {
        row: "no id, audit",
        outcome: "timeout",
        marks: &["no_id"],
        complete: true,
        code: 0,
        run: |scene| without_id(scene, &[]),
    },
    Case {
        row: "no id, guard",
        outcome: "denied",
        marks: &["no_id"],
        complete: true,
        code: 1,
        run: |scene| {
            let flags = policed(scene, "guard", "allow");
            without_id(scene, &flags.each_ref().map(String::as_str))
        },
    },
    Case {
        row: "cancelled, and not answered within 5 s",
        outcome: "timeout",
        marks: &["cancelled"],
        complete: true,
        code: 0,
        run: |scene| {
            let cancel =
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
            waited(scene, &[], Some(cancel))
        },
    },
    Case {
        row: "result with `isError`, or a JSON-RPC error",
        outcome: "error",
        marks: &[],
        complete: true,
        code: 0,
        run: |scene| {
            answered(
                scene,
                r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true}}"#,
            )
        },
    },
    Case {
        row: "result with `isError`, or a JSON-RPC error",
        outcome: "error",
        marks: &[],
        complete: true,
        code: 0,
        run: |scene| answered(scene, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1}}"#),
    },
    Case {
        row: "no answer within `--call-timeout`",
        outcome: "timeout",
        marks: &[],
        complete: true,
        code: 0,
        run: |scene| waited(scene, &["--call-timeout", "0.2"], None),
    },
    Case {
        row: "the upstream exits during a call, or closes its output",
        outcome: "timeout",
        marks: &["upstream_exited"],
        complete: false,
        code: 2,
        run: |scene| scene.run(&[], "read -r l", (call(1, "t", "{}") + "\n").as_bytes()),
    },
    Case {
        row: "no answer within `--call-timeout`",
        outcome: "timeout",
        marks: &[],
        complete: true,
        code: 0,
        run: |scene| {
            abandoned(
                scene,
                &["--call-timeout", "0.1", "--shutdown-timeout", "0.8"],
            )
        },
    },
    Case {
        row: "the client closes its stream, and the upstream neither answers nor ends in `--shutdown-timeout`",
        outcome: "timeout",
        marks: &["proxy_stopped"],
        complete: false,
        code: 2,
        run: |scene| abandoned(scene, &["--shutdown-timeout", "0.3"]),
    },
    Case {
        row: "the client takes no more while a call is in flight",
        outcome: "forwarded",
        marks: &[],
        complete: false,
        code: 2,
        run: |scene| unheard(scene, &[], false),
    },
    Case {
        row: "SIGINT",
        outcome: "timeout",
        marks: &["proxy_stopped"],
        complete: false,
        code: 130,
        run: |scene| signalled(scene, Signal::INT),
    },
    Case {
        row: "SIGTERM, SIGHUP",
        outcome: "timeout",
        marks: &["proxy_stopped"],
        complete: false,
        code: 143,
        run: |scene| signalled(scene, Signal::TERM),
    },
    Case {
        row: "SIGTERM, SIGHUP",
        outcome: "timeout",
        marks: &["proxy_stopped"],
        complete: false,
        code: 143,
        run: |scene| signalled(scene, Signal::HUP),
    },
    Case {
        row: "the policy denies, audit (advice)",
        outcome: "forwarded",
        marks: &[],
        complete: true,
        code: 1,
        run: |scene| denied(scene, "audit"),
    },
    Case {
        row: "the policy denies, guard",
        outcome: "denied",
        marks: &[],
        complete: true,
        code: 1,
        run: |scene| denied(scene, "guard"),
    },
];

#[test]
fn every_ending_is_what_the_table_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let page = std::fs::read_to_string(page).unwrap();
    for case in CASES {
        let scene = Scene::new();
        let left = (case.run)(&scene);
        let row = case.row;
        assert_eq!(left.code(), Some(case.code), "{row}: {left:?}");
        let calls = scene.calls();
        assert_eq!(calls.len(), 1, "{row}");
        let said = (&calls[0]["outcome"], &calls[0]["marks"]);
        assert_eq!(said, (&json!(case.outcome), &json!(case.marks)), "{row}");
        let receipts = scene.receipts();
        let end = receipts.iter().find(|one| one["type"] == "mcp.session_end");
        assert_eq!(end.unwrap()["session_complete"], case.complete, "{row}");
        assert_eq!(scene.verified(), 1, "{row}");

        let begins = format!("| {row} | ");
        let line = page.lines().find_map(|line| line.strip_prefix(&begins));
        let line = line.unwrap_or_else(|| panic!("no row `{row}`"));
        let parts: Vec<&str> = line.trim_end_matches(" |").split(" | ").collect();
        let [told, complete, code] = parts[..] else {
            panic!("{line}");
        };
        assert_eq!(code, case.code.to_string(), "{row}");
        let complete = complete
            .strip_suffix(" if all were answered")
            .map_or(complete, |_| "false");
        assert_eq!(complete, case.complete.to_string(), "{row}");
        let as_before = told == "the same" || told.starts_with("as answered");
        let named = |name: &&str| told.contains(&format!("`{name}`"));
        assert!(
            as_before || named(&case.outcome) && case.marks.iter().all(named),
            "{row}: {told}"
        );
    }
}
