//! A hook that masks words in results and takes tools out of listings.

use serde::Deserialize;
use serde_json::{Value, json};

use mcpproxy::hook::types::{Exchange, Modification, ResponseKind};

wit_bindgen::generate!({ path: "../../../wit", world: "hook" });

struct MaskResults;

/// What the configuration says.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rules {
    /// Words that no agent sees.
    words: Vec<String>,
    /// What stands in their place.
    mask: String,
    /// Tools that are not listed.
    hidden_tools: Vec<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            mask: "[masked]".to_owned(),
            hidden_tools: Vec::new(),
        }
    }
}

impl Guest for MaskResults {
    fn check_config(config: String) -> Result<(), String> {
        let rules = rules(&config)?;
        if rules.words.iter().any(String::is_empty) {
            return Err("an empty word is in every text".to_owned());
        }
        Ok(())
    }

    fn inspect(context: Context, subject: Subject) -> Result<Decision, String> {
        let rules = rules(&context.config)?;
        match subject {
            Subject::Response(exchange) => changed(&exchange, &rules),
            Subject::Request(_) | Subject::Message(_) => Ok(Decision::Allow),
        }
    }
}

fn rules(config: &str) -> Result<Rules, String> {
    serde_json::from_str(config).map_err(|why| why.to_string())
}

fn changed(exchange: &Exchange, rules: &Rules) -> Result<Decision, String> {
    let mut body: Value =
        serde_json::from_str(&exchange.body).map_err(|_| "the result is not JSON".to_owned())?;
    let changes = match exchange.kind {
        ResponseKind::Result | ResponseKind::Error => mask(&mut body, rules),
        ResponseKind::Listing => hide(&mut body, rules),
    };
    if changes == 0 {
        return Ok(Decision::Allow);
    }
    Ok(Decision::Modify(Modification {
        params: None,
        body: Some(body.to_string()),
        headers: Vec::new(),
        audit: Some(json!({ "changes": changes }).to_string()),
    }))
}

/// Masks the words in every text and says in how many.
fn mask(value: &mut Value, rules: &Rules) -> usize {
    match value {
        Value::String(text) => {
            let mut masked = text.clone();
            for word in &rules.words {
                masked = masked.replace(word, &rules.mask);
            }
            let changed = masked != *text;
            *text = masked;
            usize::from(changed)
        }
        Value::Array(items) => items.iter_mut().map(|item| mask(item, rules)).sum(),
        Value::Object(members) => members.values_mut().map(|item| mask(item, rules)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Takes hidden tools out of a list and says how many.
fn hide(body: &mut Value, rules: &Rules) -> usize {
    let Some(Value::Array(tools)) = body.get_mut("tools") else {
        return 0;
    };
    let before = tools.len();
    tools.retain(|tool| {
        let name = tool["name"].as_str().unwrap_or_default();
        !rules.hidden_tools.iter().any(|hidden| hidden == name)
    });
    before - tools.len()
}

export!(MaskResults);
