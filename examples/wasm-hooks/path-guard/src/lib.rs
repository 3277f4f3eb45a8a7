//! A hook that denies tool calls which name a guarded file, wherever in the arguments it stands.

use serde::Deserialize;
use serde_json::{Value, json};

use mcpproxy::hook::types::{Request, Severity, Threat, Violation};

wit_bindgen::generate!({ path: "../../../wit", world: "hook" });

struct PathGuard;

/// What the configuration says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// Names of files and folders that no call may name.
    guarded: Vec<String>,
}

impl Guest for PathGuard {
    fn check_config(config: String) -> Result<(), String> {
        rules(&config).map(|_| ())
    }

    fn inspect(context: Context, subject: Subject) -> Result<Decision, String> {
        let rules = rules(&context.config)?;
        let Subject::Request(request) = subject else {
            return Ok(Decision::Allow);
        };
        if request.method != "tools/call" {
            return Ok(Decision::Allow);
        }
        let params: Value = serde_json::from_str(&request.params)
            .map_err(|_| "the parameters are not JSON".to_owned())?;
        let found = guarded_name(&params["arguments"], &rules);
        Ok(found.map_or(Decision::Allow, |name| deny(name, &request)))
    }
}

fn rules(config: &str) -> Result<Rules, String> {
    serde_json::from_str(config).map_err(|why| why.to_string())
}

/// Finds a guarded name among the parts of every path in every text.
fn guarded_name<'a>(value: &Value, rules: &'a Rules) -> Option<&'a str> {
    match value {
        Value::String(text) => {
            let parts = || text.split(['/', '\\', ' ', '"', '\'']);
            let named = |name: &&String| parts().any(|part| part.eq_ignore_ascii_case(name));
            rules.guarded.iter().find(named).map(String::as_str)
        }
        Value::Array(items) => items.iter().find_map(|item| guarded_name(item, rules)),
        Value::Object(members) => members.values().find_map(|item| guarded_name(item, rules)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn deny(name: &str, request: &Request) -> Decision {
    Decision::Deny(Violation {
        rule_id: "guarded-path".to_owned(),
        severity: Severity::High,
        threat_type: Threat::UnauthorizedAccess,
        description: format!("`{}` names the guarded `{name}`", request.name),
        evidence: Some(json!({ "name": name }).to_string()),
        recommended_action: "leave the file alone".to_owned(),
    })
}

export!(PathGuard);
