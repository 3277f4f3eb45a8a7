//! Payloads of agents' hooks: any bytes are read as every agent's, twice alike, and what was
//! understood can be answered.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_agents::hook::{HookAgent, Ruling, read, reply};

fuzz_target!(|data: &[u8]| {
    for agent in HookAgent::ALL.map(Some).into_iter().chain([None]) {
        let first = read(data, agent, Some("PreToolUse"));
        assert_eq!(first, read(data, agent, Some("PreToolUse")), "two readings of one payload");
        let Ok(asked) = first else { continue };
        assert_ne!(asked.borrowed_by, Some(asked.agent), "an agent that borrows from itself");
        let name = &asked.event_name;
        for ruling in [Ruling::Allow, Ruling::Warn, Ruling::Ask, Ruling::Deny] {
            let reply = reply(asked.agent, asked.event, name, ruling, "", true);
            assert!(matches!(reply.exit, 0 | 2), "an exit code that means nothing");
        }
    }
});
