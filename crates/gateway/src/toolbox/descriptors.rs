//! How the gateway's own tools describe themselves. All parameters are flat: nested objects in a
//! schema break some agents.

use serde_json::{Value, json};

use crate::quarantine::OPERATIONS;

/// Returns the raw descriptors; management tools can be left out.
pub fn descriptors(management: bool) -> Vec<String> {
    let mut tools = vec![retrieve_tools(), describe_tool()];
    tools.extend(["read", "write", "destructive"].map(call_tool));
    tools.push(read_cache());
    if management {
        tools.push(upstream_servers());
        tools.push(quarantine_security());
    }
    tools.iter().map(Value::to_string).collect()
}

fn schema(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn retrieve_tools() -> Value {
    let properties = json!({
        "query": { "type": "string", "description": "What the tool should do, in words, or a tool's name" },
        "limit": { "type": "integer", "description": "How many to return (15, at most 100)" },
        "detail": { "type": "string", "enum": ["full", "compact"], "description": "compact leaves schemas out" },
        "read_only_only": { "type": "boolean", "description": "Only tools that say they only read" },
        "exclude_destructive": { "type": "boolean", "description": "Leave out tools that may destroy" },
        "exclude_open_world": { "type": "boolean", "description": "Leave out tools that reach outside" },
        "include_disabled": { "type": "boolean", "description": "Also name tools that are filtered or whose server is down" },
        "debug": { "type": "boolean", "description": "Say why each result matched" },
        "explain_tool": { "type": "string", "description": "Say how `server:tool` ranks for the query" },
    });
    json!({
        "name": "retrieve_tools",
        "title": "Find tools",
        "description": "Searches the tools of all connected MCP servers. Call this first; each result names the call_tool_* variant to call it with.",
        "inputSchema": schema(&properties, &["query"]),
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn describe_tool() -> Value {
    let properties = json!({
        "name": { "type": "string", "description": "The tool as `server:tool`" },
    });
    json!({
        "name": "describe_tool",
        "title": "Describe a tool",
        "description": "Returns the full descriptor of one tool, with its input schema.",
        "inputSchema": schema(&properties, &["name"]),
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn call_tool(operation: &str) -> Value {
    let properties = json!({
        "name": { "type": "string", "description": "The tool as `server:tool`" },
        "args": { "type": "object", "description": "The tool's arguments", "additionalProperties": true },
        "args_json": { "type": "string", "description": "The tool's arguments as a JSON string; wins over args" },
        "intent_data_sensitivity": { "type": "string", "enum": ["public", "internal", "private", "unknown"], "description": "How sensitive the data in the arguments is" },
        "intent_reason": { "type": "string", "maxLength": 1000, "description": "Why the call is made" },
        "flow_justification": { "type": "string", "maxLength": 1000, "description": "Why data is sent outside, if it is" },
        "flow_destination_type": { "type": "string", "maxLength": 1000, "description": "What kind of destination the data goes to" },
    });
    let (description, annotations) = match operation {
        "read" => (
            "Calls a tool that only reads.",
            json!({ "readOnlyHint": true, "openWorldHint": true }),
        ),
        "write" => (
            "Calls a tool that creates or changes something.",
            json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true }),
        ),
        _ => (
            "Calls a tool that deletes or cannot be undone.",
            json!({ "readOnlyHint": false, "destructiveHint": true, "openWorldHint": true }),
        ),
    };
    json!({
        "name": format!("call_tool_{operation}"),
        "title": format!("Call a tool ({operation})"),
        "description": description,
        "inputSchema": schema(&properties, &["name"]),
        "annotations": annotations,
    })
}

fn read_cache() -> Value {
    let properties = json!({
        "key": { "type": "string", "description": "The key named where the answer was cut" },
        "offset": { "type": "integer", "description": "Where to read on, in bytes" },
        "limit": { "type": "integer", "description": "How many bytes to return" },
    });
    json!({
        "name": "read_cache",
        "title": "Read on",
        "description": "Reads on in an answer that was cut for its length.",
        "inputSchema": schema(&properties, &["key"]),
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn upstream_servers() -> Value {
    let operations = [
        "list", "add", "remove", "update", "patch", "enable", "disable", "restart", "refresh",
        "tail_log",
    ];
    let properties = json!({
        "operation": { "type": "string", "enum": operations, "description": "What to do; changing anything needs the owner's key" },
        "name": { "type": "string", "description": "The server" },
        "command": { "type": "string", "description": "The program to start (add, update, patch)" },
        "args_json": { "type": "string", "description": "Its arguments as a JSON array of strings" },
        "env_json": { "type": "string", "description": "Its environment as a JSON object of strings" },
        "url": { "type": "string", "description": "The address of a server that already runs" },
        "headers_json": { "type": "string", "description": "Headers for the address as a JSON object of strings" },
        "lines": { "type": "integer", "description": "How many lines of its log (tail_log)" },
    });
    json!({
        "name": "upstream_servers",
        "title": "Manage MCP servers",
        "description": "Lists the MCP servers behind this gateway and how they are doing, and changes them.",
        "inputSchema": schema(&properties, &["operation"]),
        "annotations": { "readOnlyHint": false, "destructiveHint": true, "openWorldHint": false },
    })
}

fn quarantine_security() -> Value {
    let properties = json!({
        "operation": { "type": "string", "enum": OPERATIONS, "description": "What to do; approving is left to a person" },
        "name": { "type": "string", "description": "The server" },
        "tool_name": { "type": "string", "description": "The tool (block_tool)" },
    });
    json!({
        "name": "quarantine_security",
        "title": "Look into the quarantine",
        "description": "Lists tools and servers that are withheld and why, and withholds more of them. Letting something out is left to a person.",
        "inputSchema": schema(&properties, &["operation"]),
        "annotations": { "readOnlyHint": false, "destructiveHint": false, "openWorldHint": false },
    })
}
