//! Verdicts that nobody waits for: a gateway is held up for longer than an agent's hook waits, which
//! then answers by itself. The record says how it went, and not how it was meant.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Service, deny};
use crate::support::{Gateway, Heard, hook, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_that_no_hook_waited_for_is_not_put_on_record_as_one() {
    let asked = Arc::new(Notify::new());
    let ask = Arc::clone(&asked);
    let service = Service::start(move |question| {
        if question["phase"] == "request" && question.to_string().contains("late") {
            ask.notify_one();
            std::thread::sleep(Duration::from_secs(1));
        }
        deny("NO-1")
    });
    let service = service.await;
    let config = json!({
        "activity": { "durability": "strict" },
        "security": { "hooks": [service.hook(&json!({ "sees": ["arguments"] }))] },
    });
    let gateway = Gateway::start(&config).await;
    let own = Pid::from_raw(i32::try_from(gateway.pid()).unwrap()).unwrap();
    // Held up while it asks the service, and let go when the hook has ended.
    let held_up = async |late: bool| {
        if late {
            asked.notified().await;
            kill_process(own, Signal::STOP).unwrap();
        }
    };
    let check = async |name: &str, command: &str, more: &[&str], told: Heard, expect: [&str; 4]| {
        let payload = json!({
            "session_id": name, "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": command },
        });
        let payload = payload.to_string();
        let said = hook(&gateway.home, "claude-code", &payload, more);
        let (said, ()) = tokio::join!(said, held_up(command.contains("late")));
        kill_process(own, Signal::CONT).unwrap();
        assert_eq!(said.heard("claude-code"), told, "{name}: {said:?}");
        let record = until("the record", || async {
            let mut records = gateway.home.activity();
            records.retain(|one| one["hook"]["session"] == name);
            records.pop()
        });
        let record: Value = record.await;
        let said = ["decision", "effective", "enforcement", "status"].map(|key| &record[key]);
        assert_eq!(said, expect, "{name}: {record}");
    };
    let (open, closed): (&[&str], &[&str]) = (&[], &["--fail-closed"]);
    let expect = ["deny", "deny", "enforced", "blocked"];
    check("in time", "ls", open, Heard::Deny, expect).await;
    let expect = ["deny", "allow", "unheard", "success"];
    check("open", "ls # late", open, Heard::Allow, expect).await;
    let expect = ["deny", "deny", "unheard", "blocked"];
    check("closed", "ls # late", closed, Heard::Deny, expect).await;
}
