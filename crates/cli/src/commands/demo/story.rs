//! The story: an agent reads a private file, posts words of its own, then tries to post the file.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::agent::Agent;
use super::narrator::{Narrator, Step};
use super::stage::Stage;
use crate::output;

/// The file that is read: an ordinary one, without any secret in it.
const FILE: &str = "docs/on-call.md";
/// What the agent writes by itself.
const OWN_WORDS: &str = "The on-call notes are up to date, nothing to do this week.";

/// Tells the story to its end, or to the first step that comes out wrong.
pub(super) async fn tell(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
    let address = stage.address;
    narrator.say(&format!(
        "A gateway runs at http://{address}/mcp, with two sample upstreams:"
    ))?;
    narrator.say("  github  a private code host, classified internal")?;
    narrator.say("  slack   a chat that others read, classified external")?;
    narrator.say("What is read inside may not be sent outside (internal_to_external: deny).")?;
    let mut agent = Agent::connect(address).await?;
    agent.wait_until_ready().await?;
    greet(&mut agent, narrator).await?;
    list(&mut agent, narrator).await?;
    search(&mut agent, narrator).await?;
    let read = read(&mut agent, narrator).await?;
    post(&mut agent, narrator).await?;
    leak(&mut agent, narrator, &read).await?;
    agent.leave().await?;
    received(stage, narrator, &read)?;
    recorded(stage, narrator)?;
    narrator.say(
        "\nThis version recognizes a field that is sent on whole. Parts of a text, encodings and \
         secrets\nare recognized by later versions.",
    )?;
    narrator.say("Next: `mcpproxy init` imports the servers of your agents, `mcpproxy serve` runs.")
}

async fn greet(agent: &mut Agent, narrator: &mut Narrator) -> Result<()> {
    let answer = agent.greet().await?;
    let at = |path: &str| {
        answer
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (name, version) = (at("/result/serverInfo/name"), at("/result/protocolVersion"));
    narrator.step(&Step {
        title: "The agent opens a session",
        sent: "initialize".to_owned(),
        answer: match name {
            "" => answer.to_string(),
            name => format!("{name} {}, MCP {version}", at("/result/serverInfo/version")),
        },
        wanted: "mcpproxy should open a session",
        as_wanted: name == "mcpproxy" && !version.is_empty(),
    })
}

async fn list(agent: &mut Agent, narrator: &mut Narrator) -> Result<()> {
    let answer = agent.ask("tools/list", &json!({})).await?;
    let tools = answer.pointer("/result/tools").and_then(Value::as_array);
    let names: Vec<_> = tools
        .into_iter()
        .flatten()
        .filter_map(|tool| tool.get("name")?.as_str())
        .collect();
    let wanted = ["retrieve_tools", "call_tool_read", "call_tool_write"];
    narrator.step(&Step {
        title: "It lists the tools: a few that find and call all others",
        sent: "tools/list".to_owned(),
        answer: if names.is_empty() {
            answer.to_string()
        } else {
            names.join(", ")
        },
        wanted: "the tools to find and to call tools should be listed",
        as_wanted: wanted.iter().all(|wanted| names.contains(wanted)),
    })
}

async fn search(agent: &mut Agent, narrator: &mut Narrator) -> Result<()> {
    let arguments = json!({ "query": "read a file of the repository", "limit": 3 });
    let answer = agent.call("retrieve_tools", &arguments).await?;
    let tools = answer
        .pointer("/result/structuredContent/tools")
        .and_then(Value::as_array);
    let line = |tool: &Value| {
        let text = |name: &str| tool.get(name).and_then(Value::as_str).unwrap_or_default();
        format!(
            "{}: {} ({})",
            text("name"),
            text("description"),
            text("call_with")
        )
    };
    let lines: Vec<_> = tools.into_iter().flatten().map(line).collect();
    narrator.step(&Step {
        title: "It looks for a tool",
        sent: format!("retrieve_tools {arguments}"),
        answer: if lines.is_empty() {
            answer.to_string()
        } else {
            lines.join("\n")
        },
        wanted: "`github:get_file` should be found",
        as_wanted: lines
            .iter()
            .any(|line| line.starts_with("github:get_file:")),
    })
}

async fn read(agent: &mut Agent, narrator: &mut Narrator) -> Result<String> {
    let arguments = json!({ "name": "github:get_file", "args": { "path": FILE } });
    let answer = agent.call("call_tool_read", &arguments).await?;
    narrator.step(&Step {
        title: "It reads a file inside",
        sent: format!("call_tool_read {arguments}"),
        answer: spoken(&answer),
        wanted: "the file should be read",
        as_wanted: succeeded(&answer),
    })?;
    let text = answer
        .pointer("/result/content/0/text")
        .and_then(Value::as_str);
    text.map(str::to_owned)
        .context("the file came without text")
}

async fn post(agent: &mut Agent, narrator: &mut Narrator) -> Result<()> {
    let arguments = message(OWN_WORDS);
    let answer = agent.call("call_tool_write", &arguments).await?;
    narrator.step(&Step {
        title: "It posts words of its own outside, which is nobody's secret: allowed",
        sent: format!("call_tool_write {arguments}"),
        answer: spoken(&answer),
        wanted: "the message should be posted",
        as_wanted: succeeded(&answer),
    })
}

async fn leak(agent: &mut Agent, narrator: &mut Narrator, read: &str) -> Result<()> {
    let arguments = message(read);
    let answer = agent.call("call_tool_write", &arguments).await?;
    narrator.step(&Step {
        title: "It tries to post the file that it read: denied before it leaves",
        sent: format!("call_tool_write {arguments}"),
        answer: spoken(&answer),
        wanted: "the call should be denied",
        as_wanted: !succeeded(&answer) && spoken(&answer).contains("internal source (github)"),
    })
}

fn received(stage: &Stage, narrator: &mut Narrator, read: &str) -> Result<()> {
    let calls = stage.received()?;
    let posted = |call: &Value| {
        let text = call
            .pointer("/params/arguments/text")
            .and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let texts: Vec<_> = calls.iter().map(posted).collect();
    narrator.step(&Step {
        title: "What slack received, from its own notes",
        sent: format!("{} call(s)", texts.len()),
        answer: texts.join("\n"),
        wanted: "only the agent's own words should have arrived",
        as_wanted: texts == [OWN_WORDS] && !texts.iter().any(|text| text == read),
    })
}

fn recorded(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
    let records = stage.records()?;
    let last: Vec<_> = records.iter().rev().take(2).rev().collect();
    let line = |record: &&Value| {
        let text = |name: &str| match record.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let names = [
            "timestamp",
            "type",
            "server_name",
            "tool_name",
            "decision",
            "status",
        ];
        let more = ["flow_type", "risk_level"].map(|name| format!("{name}={}", text(name)));
        format!("{} {}", names.map(text).join(" "), more.join(" "))
    };
    let lines: Vec<_> = last.iter().map(line).collect();
    let decision = |record: &&Value| {
        let is = |name: &str, value: &str| record.get(name) == Some(&json!(value));
        (
            is("server_name", "slack"),
            is("decision", "allow"),
            is("decision", "deny"),
        )
    };
    let decisions: Vec<_> = last.iter().map(decision).collect();
    narrator.step(&Step {
        title: "What is on record about these two calls",
        sent: format!("activity log, last 2 of {} records", records.len()),
        answer: lines.join("\n"),
        wanted: "the log should have one call allowed and one denied",
        as_wanted: decisions == [(true, true, false), (true, false, true)],
    })
}

fn message(text: &str) -> Value {
    json!({ "name": "slack:post_message", "args": { "channel": "partners", "text": text } })
}

/// Tells whether a call went through and its tool did what it was asked to.
fn succeeded(answer: &Value) -> bool {
    let result = answer.get("result");
    result.is_some_and(|result| result.get("isError") != Some(&Value::Bool(true)))
}

/// Returns what an answer says in words.
fn spoken(answer: &Value) -> String {
    let blocks = answer.pointer("/result/content").and_then(Value::as_array);
    let texts: Vec<_> = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block.get("text")?.as_str())
        .collect();
    let error = answer.get("error");
    match error.and_then(|error| Some((error.get("code")?, error.get("message")?.as_str()?))) {
        Some((code, message)) => format!("error {code}: {message}"),
        None if texts.is_empty() => output::flat(&answer.to_string()),
        None => texts.join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_is() {
        let check = |answer: Value, words: &str, fine: bool| {
            assert_eq!(
                (spoken(&answer).as_str(), succeeded(&answer)),
                (words, fine)
            );
        };
        let content = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
        check(json!({ "result": { "content": content } }), "a\nb", true);
        check(
            json!({ "result": { "content": content, "isError": true } }),
            "a\nb",
            false,
        );
        check(
            json!({ "error": { "code": -1, "message": "no" } }),
            "error -1: no",
            false,
        );
        check(json!({ "odd": 1 }), r#"{"odd":1}"#, false);
    }
}
