//! Files of five agents before and after, and what happens to made-up ones.

use proptest::prelude::*;

use super::*;
use crate::hook::target::{Body, Setting};
use crate::hook::{FailMode, HookAgent, HookCommand};
use crate::places::{Os, Places, Scope};

fn entries(agent: HookAgent, fail: FailMode) -> (Vec<(&'static str, Node)>, Vec<Entry>) {
    let places = Places::usual("/me".as_ref(), "/shop".as_ref(), Os::Linux);
    let command = HookCommand {
        program: "/opt/my apps/mcpproxy".to_owned(),
        fail,
        options: Vec::new(),
    };
    let setting = Setting {
        agent,
        places: &places,
        scope: Scope::User,
        command: &command,
    };
    let target = agent.adapter().targets(&setting).unwrap().remove(0);
    match target.body {
        Body::Json { head, entries, .. } => (head, entries),
        Body::Text { .. } => panic!("{agent} has no JSON"),
    }
}

fn installed(agent: HookAgent, fail: FailMode, text: &str) -> Result<String, Refusal> {
    let (head, entries) = entries(agent, fail);
    install(text, &head, &entries)
}

/// Installs twice, which must be as once, and takes it out again.
#[track_caller]
fn check(agent: HookAgent, fail: FailMode, before: &str, after: &str) {
    let once = installed(agent, fail, before).unwrap();
    assert_eq!(once, after, "{agent}");
    assert_eq!(
        installed(agent, fail, &once).unwrap(),
        once,
        "{agent} twice"
    );
    assert_eq!(uninstall(&once).unwrap(), before, "{agent} out again");
}

#[test]
fn claude_code_beside_others() {
    check(
        HookAgent::ClaudeCode,
        FailMode::Closed,
        r#"{
  "model": "opus", // mine
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "lint" } ] }
    ]
  }
}
"#,
        r#"{
  "model": "opus", // mine
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "lint" } ] },
      {
        "matcher": "Read|Glob|Grep|Bash|Write|Edit|WebFetch|WebSearch|Task|mcp__.*",
        "hooks": [
          {
            "type": "command",
            "command": "'/opt/my apps/mcpproxy' hook evaluate --agent claude-code --event PreToolUse --quiet-allow --fail-closed",
            "timeout": 5,
            "onFailure": "block"
          }
        ]
      }
    ],
    "PostToolUse": [
      {
        "matcher": "Read|Glob|Grep|Bash|Write|Edit|WebFetch|WebSearch|Task|mcp__.*",
        "hooks": [
          {
            "type": "command",
            "command": "'/opt/my apps/mcpproxy' hook evaluate --agent claude-code --event PostToolUse --quiet-allow --fail-closed",
            "timeout": 5,
            "async": true
          }
        ]
      }
    ],
    "PostToolUseFailure": [
      {
        "matcher": "Read|Glob|Grep|Bash|Write|Edit|WebFetch|WebSearch|Task|mcp__.*",
        "hooks": [
          {
            "type": "command",
            "command": "'/opt/my apps/mcpproxy' hook evaluate --agent claude-code --event PostToolUseFailure --quiet-allow --fail-closed",
            "timeout": 5,
            "async": true
          }
        ]
      }
    ]
  }
}
"#,
    );
}

#[test]
fn cursor_beside_others() {
    check(
        HookAgent::Cursor,
        FailMode::Closed,
        "{\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"stop\": [{ \"command\": \"say done\" }]\n\t}\n}",
        "{\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"stop\": [{ \"command\": \"say done\" }],\
         \n\t\t\"beforeShellExecution\": [\n\t\t\t{\
         \n\t\t\t\t\"command\": \"'/opt/my apps/mcpproxy' hook evaluate --agent cursor --event beforeShellExecution --quiet-allow --fail-closed\",\
         \n\t\t\t\t\"timeout\": 5,\n\t\t\t\t\"failClosed\": true\n\t\t\t}\n\t\t],\
         \n\t\t\"beforeMCPExecution\": [\n\t\t\t{\
         \n\t\t\t\t\"command\": \"'/opt/my apps/mcpproxy' hook evaluate --agent cursor --event beforeMCPExecution --quiet-allow --fail-closed\",\
         \n\t\t\t\t\"timeout\": 5,\n\t\t\t\t\"failClosed\": true\n\t\t\t}\n\t\t],\
         \n\t\t\"beforeReadFile\": [\n\t\t\t{\
         \n\t\t\t\t\"command\": \"'/opt/my apps/mcpproxy' hook evaluate --agent cursor --event beforeReadFile --quiet-allow --fail-closed\",\
         \n\t\t\t\t\"timeout\": 5,\n\t\t\t\t\"failClosed\": true\n\t\t\t}\n\t\t],\
         \n\t\t\"preToolUse\": [\n\t\t\t{\
         \n\t\t\t\t\"command\": \"'/opt/my apps/mcpproxy' hook evaluate --agent cursor --event preToolUse --quiet-allow --fail-closed\",\
         \n\t\t\t\t\"matcher\": \"^(?!Shell$|Read$|MCP:)\",\
         \n\t\t\t\t\"timeout\": 5,\n\t\t\t\t\"failClosed\": true\n\t\t\t}\n\t\t],\
         \n\t\t\"postToolUse\": [\n\t\t\t{\
         \n\t\t\t\t\"command\": \"'/opt/my apps/mcpproxy' hook evaluate --agent cursor --event postToolUse --quiet-allow --fail-closed\",\
         \n\t\t\t\t\"timeout\": 5\n\t\t\t}\n\t\t],\
         \n\t\t\"postToolUseFailure\": [\n\t\t\t{\
         \n\t\t\t\t\"command\": \"'/opt/my apps/mcpproxy' hook evaluate --agent cursor --event postToolUseFailure --quiet-allow --fail-closed\",\
         \n\t\t\t\t\"timeout\": 5\n\t\t\t}\n\t\t]\n\t}\n}",
    );
}

#[test]
fn gemini_counts_in_milliseconds() {
    check(
        HookAgent::GeminiCli,
        FailMode::Open,
        "{\r\n    \"theme\": \"dark\"\r\n}\r\n",
        "{\r\n    \"theme\": \"dark\",\r\n    \"hooks\": {\r\n        \"BeforeTool\": [\
         \r\n            {\r\n                \"matcher\": \".*\",\r\n                \"hooks\": [\
         \r\n                    {\r\n                        \"name\": \"mcpproxy\",\
         \r\n                        \"type\": \"command\",\
         \r\n                        \"command\": \"'/opt/my apps/mcpproxy' hook evaluate --agent gemini-cli --event BeforeTool --quiet-allow --fail-open\",\
         \r\n                        \"timeout\": 5000\r\n                    }\
         \r\n                ]\r\n            }\r\n        ],\r\n        \"AfterTool\": [\
         \r\n            {\r\n                \"matcher\": \".*\",\r\n                \"hooks\": [\
         \r\n                    {\r\n                        \"name\": \"mcpproxy\",\
         \r\n                        \"type\": \"command\",\
         \r\n                        \"command\": \"'/opt/my apps/mcpproxy' hook evaluate --agent gemini-cli --event AfterTool --quiet-allow --fail-open\",\
         \r\n                        \"timeout\": 5000\r\n                    }\
         \r\n                ]\r\n            }\r\n        ]\r\n    }\r\n}\r\n",
    );
}

#[test]
fn codex_on_one_line() {
    let line = |event: &str| {
        format!(
            r#"{{ "hooks": [{{ "type": "command", "command": "'/opt/my apps/mcpproxy' hook evaluate --agent codex --event {event} --quiet-allow --fail-open", "timeout": 5 }}] }}"#
        )
    };
    let before = r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "a"}]}]}}"#;
    let after = installed(HookAgent::Codex, FailMode::Open, before).unwrap();
    let expect = format!(
        r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{{"type": "command", "command": "a"}}]}}, {}], "PostToolUse": [{}]}}}}"#,
        line("PreToolUse"),
        line("PostToolUse")
    );
    assert_eq!(after, expect);
    assert!(
        parse(&uninstall(&after).unwrap())
            .unwrap()
            .same(&parse(before).unwrap())
    );
}

#[test]
fn a_file_that_is_not_there_is_written_whole() {
    let check = |agent, expect: &str| {
        let text = installed(agent, FailMode::Open, "").unwrap();
        assert_eq!(text, expect);
        assert_eq!(installed(agent, FailMode::Open, &text).unwrap(), text);
    };
    check(
        HookAgent::CopilotCli,
        r#"{
  "version": 1,
  "hooks": {
    "preToolUse": [
      {
        "type": "command",
        "bash": "'/opt/my apps/mcpproxy' hook evaluate --agent copilot-cli --event preToolUse --quiet-allow --fail-open",
        "timeoutSec": 5
      }
    ],
    "postToolUse": [
      {
        "type": "command",
        "bash": "'/opt/my apps/mcpproxy' hook evaluate --agent copilot-cli --event postToolUse --quiet-allow --fail-open",
        "timeoutSec": 5
      }
    ]
  }
}
"#,
    );
    check(
        HookAgent::Kiro,
        r#"{
  "version": "v1",
  "hooks": [
    {
      "name": "mcpproxy-before",
      "trigger": "PreToolUse",
      "matcher": ".*",
      "action": {
        "type": "command",
        "command": "'/opt/my apps/mcpproxy' hook evaluate --agent kiro --event PreToolUse --quiet-allow --fail-open"
      },
      "timeout": 5,
      "enabled": true
    },
    {
      "name": "mcpproxy-after",
      "trigger": "PostToolUse",
      "matcher": ".*",
      "action": {
        "type": "command",
        "command": "'/opt/my apps/mcpproxy' hook evaluate --agent kiro --event PostToolUse --quiet-allow --fail-open"
      },
      "timeout": 5,
      "enabled": true
    }
  ]
}
"#,
    );
    check(
        HookAgent::Windsurf,
        r#"{
  "hooks": {
    "pre_run_command": [
      {
        "command": "'/opt/my apps/mcpproxy' hook evaluate --agent windsurf --event pre_run_command --quiet-allow --fail-open",
        "show_output": true
      }
    ],
    "pre_mcp_tool_use": [
      {
        "command": "'/opt/my apps/mcpproxy' hook evaluate --agent windsurf --event pre_mcp_tool_use --quiet-allow --fail-open",
        "show_output": true
      }
    ],
    "pre_read_code": [
      {
        "command": "'/opt/my apps/mcpproxy' hook evaluate --agent windsurf --event pre_read_code --quiet-allow --fail-open",
        "show_output": true
      }
    ],
    "pre_write_code": [
      {
        "command": "'/opt/my apps/mcpproxy' hook evaluate --agent windsurf --event pre_write_code --quiet-allow --fail-open",
        "show_output": true
      }
    ],
    "post_mcp_tool_use": [
      {
        "command": "'/opt/my apps/mcpproxy' hook evaluate --agent windsurf --event post_mcp_tool_use --quiet-allow --fail-open",
        "show_output": true
      }
    ]
  }
}
"#,
    );
}

#[test]
fn another_mode_replaces_the_entries_where_they_stand() {
    let mine = r#"{ "hooks": [{ "type": "command", "command": "mine" }] }"#;
    let text = format!("{{\n  \"hooks\": {{\n    \"PreToolUse\": [{mine}]\n  }}\n}}\n");
    let open = installed(HookAgent::Codex, FailMode::Open, &text).unwrap();
    let with_more = open.replacen("]\n  }", "],\n    \"Stop\": []\n  }", 1);
    let closed = installed(HookAgent::Codex, FailMode::Closed, &with_more).unwrap();
    assert_eq!(closed, with_more.replace("--fail-open", "--fail-closed"));
}

#[test]
fn strays_of_ours_go_and_those_of_others_stay() {
    let before = r#"{
  "hooks": {
    "Stop": [{ "hooks": [{ "type": "command", "command": "mcpproxy hook evaluate" }] }],
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          { "type": "command", "command": "/old/mcpproxy hook evaluate --event x" },
          { "type": "command", "command": "theirs" }
        ]
      }
    ]
  }
}"#;
    let expect = r#"{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          { "type": "command", "command": "theirs" }
        ]
      }
    ]
  }
}"#;
    assert_eq!(uninstall(before).unwrap(), expect);
    let installed = installed(HookAgent::Codex, FailMode::Open, before).unwrap();
    assert!(!installed.contains("/old/mcpproxy") && installed.contains("theirs"));
    assert_eq!(uninstall(&installed).unwrap(), expect);
}

#[test]
fn a_broken_file_is_refused_with_the_place() {
    let check = |text: &str, expect: &str| {
        let refusal = installed(HookAgent::Cursor, FailMode::Open, text).unwrap_err();
        let shown = match refusal {
            Refusal::Syntax(it) => format!("{}:{} {}", it.line, it.column, it.message),
            Refusal::Shape { place, reason } => format!("{place} {reason}"),
        };
        assert_eq!(shown, expect, "{text}");
    };
    check("{\n  \"hooks\": }", "2:12 expected a value");
    check("[]", "the whole file is not a map");
    check("{\"version\": 2}", "version is not 1");
    check("{\"hooks\": []}", "hooks is not a map");
    check(
        "{\"hooks\": {\"preToolUse\": {}}}",
        "hooks.preToolUse is not a list",
    );
}

#[derive(Clone, Debug)]
struct Layout {
    unit: &'static str,
    newline: &'static str,
}

/// Makes up a configuration with entries of others in it, laid out in one of several ways.
fn configuration() -> impl Strategy<Value = String> {
    let text = "[ -~é]{0,12}".prop_map(serde_json::Value::from);
    let scalar = prop_oneof![
        text,
        any::<i32>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from)
    ];
    let handler = proptest::collection::btree_map("[a-z]{1,6}", scalar.clone(), 1..3);
    let event = prop_oneof![
        Just("PreToolUse".to_owned()),
        Just("beforeShellExecution".to_owned()),
        "[A-Za-z]{3,8}"
    ];
    let items = proptest::collection::vec(handler, 1..3);
    let hooks = proptest::collection::btree_map(event, items, 0..3);
    let rest = proptest::collection::btree_map("[a-z]{1,8}", scalar, 0..3);
    let layout = prop_oneof![
        Just(Layout {
            unit: "  ",
            newline: "\n"
        }),
        Just(Layout {
            unit: "\t",
            newline: "\r\n"
        }),
    ];
    (rest, hooks, layout).prop_map(|(rest, hooks, layout)| {
        let mut root = serde_json::json!(rest);
        root["version"] = 1.into();
        if !hooks.is_empty() {
            root["hooks"] = serde_json::json!(hooks);
        }
        let pretty = format!("{root:#}\n");
        let lines = pretty.lines().map(|line| {
            let rest = line.trim_start_matches(' ');
            let depth = (line.len() - rest.len()) / 2;
            format!("{}{rest}{}", layout.unit.repeat(depth), layout.newline)
        });
        lines.collect()
    })
}

proptest! {
    #[test]
    fn what_was_installed_comes_out_again(text in configuration(), closed in any::<bool>()) {
        let fail = if closed { FailMode::Closed } else { FailMode::Open };
        for agent in [HookAgent::ClaudeCode, HookAgent::Cursor, HookAgent::VsCode] {
            let once = installed(agent, fail, &text).unwrap();
            prop_assert_eq!(&installed(agent, fail, &once).unwrap(), &once);
            prop_assert_eq!(uninstall(&once).unwrap(), text.clone());
        }
    }

    #[test]
    fn any_text_is_taken(text in "[\\[\\]{}\",: a-z/*\n]{0,60}") {
        if let Ok(after) = installed(HookAgent::Codex, FailMode::Open, &text) {
            let before = parse(&text).unwrap();
            let out = uninstall(&after).unwrap();
            prop_assert!(before.members().is_some());
            prop_assert!(spot::find(&parse(&out).unwrap()).is_empty());
        }
    }
}
