//! `call`: one tool call through the running gateway.

use std::io::Read as _;

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::args::{Call, CallTool, Format, Global};
use crate::commands::client::request;
use crate::exit::{Exit, bad_input};
use crate::output;

/// Arguments read from standard input at most.
const MOST: u64 = 16 * 1024 * 1024;

/// Calls a tool and prints what it answered; a tool that says it failed ends with code 1.
pub(crate) fn run(global: &Global, command: Call) -> Result<Exit> {
    let (operation, call) = match command {
        Call::ToolRead(call) => ("read", call),
        Call::ToolWrite(call) => ("write", call),
        Call::ToolDestructive(call) => ("destructive", call),
    };
    let arguments = arguments(&call)?;
    let body = json!({ "name": call.name, "operation": operation, "arguments": arguments });
    let result = request(global, Method::POST, "/tools/call", Some(&body))?;
    if global.format() == Format::Table {
        for text in texts(&result) {
            output::line(text)?;
        }
    } else {
        output::value(global.format(), &result)?;
    }
    let failed = result.get("isError") == Some(&Value::Bool(true));
    Ok(if failed { Exit::Findings } else { Exit::Fine })
}

fn arguments(call: &CallTool) -> Result<Value> {
    let mut text = call.arguments.clone();
    if text == "-" {
        text.clear();
        std::io::stdin().take(MOST).read_to_string(&mut text)?;
    }
    let value: Value = serde_json::from_str(&text)
        .map_err(|fault| bad_input(format!("the arguments are not JSON: {fault}"), None))?;
    if !value.is_object() {
        let hint = Some(r#"give an object, as '{"path": "README.md"}'"#);
        return Err(bad_input("the arguments must be a JSON object", hint));
    }
    Ok(value)
}

fn texts(result: &Value) -> impl Iterator<Item = &str> {
    let content = result.get("content").and_then(Value::as_array);
    content
        .into_iter()
        .flatten()
        .filter_map(|block| block.get("text").and_then(Value::as_str))
}
