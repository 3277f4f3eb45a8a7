//! Events as each agent sends them, written from their formats.

use serde_json::{Value, json};

/// What an agent does, in one conversation.
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) session: String,
}

/// What it does it with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use<'a> {
    Shell(&'a str),
    Read(&'a str),
    Fetch(&'a str),
    Call(&'a str, &'a Value),
}

/// Agents whose reports carry what a command printed.
pub(crate) const TELLING: [&str; 10] = [
    "claude-code",
    "claude-agent-sdk",
    "codex",
    "cursor",
    "gemini-cli",
    "copilot-cli",
    "vscode",
    "kiro",
    "cline",
    "opencode",
];
/// The others.
pub(crate) const SILENT: [&str; 2] = ["windsurf", "goose"];

impl Agent {
    pub(crate) fn new(name: &'static str, session: &str) -> Self {
        Self {
            name,
            session: session.to_owned(),
        }
    }

    /// What the agent sends before it uses a tool.
    pub(crate) fn pre(&self, tool: Use<'_>) -> String {
        self.event(tool, None).to_string()
    }

    /// What it sends afterwards.
    pub(crate) fn post(&self, tool: Use<'_>, gave: &str) -> String {
        self.event(tool, Some(gave)).to_string()
    }

    fn event(&self, tool: Use<'_>, gave: Option<&str>) -> Value {
        match self.name {
            "claude-code" | "claude-agent-sdk" | "vscode" | "codex" => self.claude(tool, gave),
            "cursor" => self.cursor(tool, gave),
            "gemini-cli" => self.gemini(tool, gave),
            "copilot-cli" => self.copilot(tool, gave),
            "windsurf" => self.windsurf(tool),
            "goose" => self.goose(tool),
            "kiro" => self.kiro(tool, gave),
            "cline" => self.cline(tool, gave),
            "opencode" => self.opencode(tool, gave),
            other => panic!("{other} is not known"),
        }
    }

    fn claude(&self, tool: Use<'_>, gave: Option<&str>) -> Value {
        let (name, input) = match tool {
            Use::Shell(command) => ("Bash".to_owned(), json!({ "command": command })),
            Use::Read(path) => ("Read".to_owned(), json!({ "file_path": path })),
            Use::Fetch(url) => (
                "WebFetch".to_owned(),
                json!({ "url": url, "prompt": "sum it up" }),
            ),
            Use::Call(tool, given) => (format!("mcp__mcpproxy__{tool}"), given.clone()),
        };
        let event = if gave.is_some() {
            "PostToolUse"
        } else {
            "PreToolUse"
        };
        let mut payload = json!({
            "session_id": self.session, "transcript_path": "/t/a.jsonl", "cwd": "/w",
            "permission_mode": "default", "hook_event_name": event, "tool_name": name,
            "tool_input": input, "tool_use_id": format!("toolu_{}", self.session),
        });
        if self.name == "codex" {
            payload["turn_id"] = json!("1");
            payload["model"] = json!("scripted");
        }
        if let Some(gave) = gave {
            payload["tool_response"] = match tool {
                Use::Shell(_) => json!({ "stdout": gave, "stderr": "", "interrupted": false }),
                Use::Read(path) => {
                    json!({ "type": "text", "file": { "filePath": path, "content": gave } })
                }
                Use::Fetch(_) | Use::Call(..) => json!(gave),
            };
        }
        payload
    }

    fn cursor(&self, tool: Use<'_>, gave: Option<&str>) -> Value {
        let mut payload = json!({
            "conversation_id": self.session, "generation_id": "g1", "session_id": self.session,
            "model": "m", "cursor_version": "3.1", "workspace_roots": ["/w"],
        });
        let mut set = |key: &str, value: Value| payload[key] = value;
        match (tool, gave) {
            (Use::Shell(command), None) => {
                set("hook_event_name", json!("beforeShellExecution"));
                set("command", json!(command));
                set("cwd", json!("/w"));
            }
            (Use::Call(tool, given), None) => {
                set("hook_event_name", json!("beforeMCPExecution"));
                set("tool_name", json!(tool));
                set("tool_input", json!(given.to_string()));
                set("mcp_server_name", json!("mcpproxy"));
            }
            (tool, gave) => {
                let event = if gave.is_some() {
                    "postToolUse"
                } else {
                    "preToolUse"
                };
                let (name, input) = match tool {
                    Use::Shell(command) => ("Shell".to_owned(), json!({ "command": command })),
                    Use::Read(path) => ("Read".to_owned(), json!({ "file_path": path })),
                    Use::Fetch(url) => ("WebFetch".to_owned(), json!({ "url": url })),
                    Use::Call(tool, given) => (format!("MCP:{tool}"), given.clone()),
                };
                set("hook_event_name", json!(event));
                set("tool_name", json!(name));
                set("tool_input", input);
                if let Some(gave) = gave {
                    let output = json!({ "output": gave, "exitCode": 0 });
                    set("tool_output", json!(output.to_string()));
                }
            }
        }
        payload
    }

    fn gemini(&self, tool: Use<'_>, gave: Option<&str>) -> Value {
        let (name, input) = match tool {
            Use::Shell(command) => (
                "run_shell_command".to_owned(),
                json!({ "command": command }),
            ),
            Use::Read(path) => ("read_file".to_owned(), json!({ "absolute_path": path })),
            Use::Fetch(url) => (
                "web_fetch".to_owned(),
                json!({ "prompt": format!("sum up {url}") }),
            ),
            Use::Call(tool, given) => (format!("mcp_mcpproxy_{tool}"), given.clone()),
        };
        let event = if gave.is_some() {
            "AfterTool"
        } else {
            "BeforeTool"
        };
        let mut payload = json!({
            "session_id": self.session, "transcript_path": "/t/a", "cwd": "/w",
            "hook_event_name": event, "timestamp": "2026-11-15T00:00:00Z",
            "tool_name": name, "tool_input": input,
        });
        if let Use::Call(tool, _) = tool {
            payload["mcp_context"] = json!({ "server_name": "mcpproxy", "tool_name": tool });
        }
        if let Some(gave) = gave {
            payload["tool_response"] = json!({ "llmContent": gave, "returnDisplay": "done" });
        }
        payload
    }

    fn copilot(&self, tool: Use<'_>, gave: Option<&str>) -> Value {
        let (name, input) = match tool {
            Use::Shell(command) => ("bash".to_owned(), json!({ "command": command })),
            Use::Read(path) => ("view".to_owned(), json!({ "path": path })),
            Use::Fetch(url) => ("web_fetch".to_owned(), json!({ "url": url })),
            Use::Call(tool, given) => (format!("mcpproxy-{tool}"), given.clone()),
        };
        let mut payload = json!({
            "sessionId": self.session, "timestamp": 1, "cwd": "/w", "toolName": name,
            "toolArgs": input.to_string(),
        });
        if let Some(gave) = gave {
            payload["toolResult"] = json!({ "resultType": "success", "textResultForLlm": gave });
        }
        payload
    }

    fn windsurf(&self, tool: Use<'_>) -> Value {
        let (event, info) = match tool {
            Use::Shell(command) => (
                "pre_run_command",
                json!({ "command_line": command, "cwd": "/w" }),
            ),
            Use::Read(path) => ("pre_read_code", json!({ "file_path": path })),
            Use::Fetch(url) => panic!("there is no hook for {url}"),
            Use::Call(tool, given) => (
                "pre_mcp_tool_use",
                json!({ "mcp_server_name": "mcpproxy", "mcp_tool_name": tool, "mcp_tool_arguments": given }),
            ),
        };
        json!({ "agent_action_name": event, "trajectory_id": self.session, "tool_info": info })
    }

    fn goose(&self, tool: Use<'_>) -> Value {
        let (name, input) = match tool {
            Use::Shell(command) => ("developer__shell".to_owned(), json!({ "command": command })),
            Use::Read(path) => ("read_file".to_owned(), json!({ "path": path })),
            Use::Fetch(url) => ("fetch".to_owned(), json!({ "url": url })),
            Use::Call(tool, given) => (format!("mcpproxy__{tool}"), given.clone()),
        };
        json!({
            "event": "PreToolUse", "session_id": self.session, "matcher_context": name,
            "tool_name": name, "tool_input": input, "working_dir": "/w", "tool_call_id": "c1",
        })
    }

    fn kiro(&self, tool: Use<'_>, gave: Option<&str>) -> Value {
        let (name, input) = match tool {
            Use::Shell(command) => ("execute_bash".to_owned(), json!({ "command": command })),
            Use::Read(path) => ("fs_read".to_owned(), json!({ "path": path })),
            Use::Fetch(url) => ("web_fetch".to_owned(), json!({ "url": url })),
            Use::Call(tool, given) => (format!("@mcpproxy/{tool}"), given.clone()),
        };
        let event = if gave.is_some() {
            "postToolUse"
        } else {
            "preToolUse"
        };
        let mut payload = json!({
            "hook_event_name": event, "cwd": "/w", "session_id": self.session,
            "tool_name": name, "tool_input": input,
        });
        if let Some(gave) = gave {
            payload["tool_response"] = json!({ "success": true, "result": [gave] });
        }
        payload
    }

    fn cline(&self, tool: Use<'_>, gave: Option<&str>) -> Value {
        let (name, input) = match tool {
            Use::Shell(command) => ("execute_command", json!({ "command": command })),
            Use::Read(path) => ("read_file", json!({ "path": path })),
            Use::Fetch(url) => ("web_fetch", json!({ "url": url })),
            Use::Call(tool, given) => (
                "use_mcp_tool",
                json!({ "server_name": "mcpproxy", "tool_name": tool, "arguments": given.to_string() }),
            ),
        };
        let mut inner = json!({ "toolName": name, "parameters": input });
        let (event, key) = match gave {
            Some(gave) => {
                inner["result"] = json!(gave);
                ("PostToolUse", "postToolUse")
            }
            None => ("PreToolUse", "preToolUse"),
        };
        json!({
            "clineVersion": "4.1", "hookName": event, "timestamp": "1", "taskId": self.session,
            "workspaceRoots": ["/w"], "userId": "u", key: inner,
        })
    }

    fn opencode(&self, tool: Use<'_>, gave: Option<&str>) -> Value {
        let (name, input) = match tool {
            Use::Shell(command) => ("bash".to_owned(), json!({ "command": command })),
            Use::Read(path) => ("read".to_owned(), json!({ "filePath": path })),
            Use::Fetch(url) => ("webfetch".to_owned(), json!({ "url": url })),
            Use::Call(tool, given) => (format!("mcpproxy_{tool}"), given.clone()),
        };
        let event = if gave.is_some() {
            "tool.execute.after"
        } else {
            "tool.execute.before"
        };
        let mut payload = json!({
            "event": event, "sessionID": self.session, "callID": "c1", "tool": name,
            "args": input, "cwd": "/w",
        });
        if let Some(gave) = gave {
            payload["output"] = json!(gave);
        }
        payload
    }
}

/// The name that the installed command has for an event of a payload.
pub(crate) fn event_of(agent: &str, after: bool) -> &'static str {
    match (agent, after) {
        ("copilot-cli", false) => "preToolUse",
        ("copilot-cli", true) => "postToolUse",
        (_, false) => "PreToolUse",
        (_, true) => "PostToolUse",
    }
}
