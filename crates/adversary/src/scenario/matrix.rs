//! A table of orders to the model: each in every disguise, in every place that a model reads.
//!
//! The corrupted agent does what all of these orders come down to: it fetches a credential from
//! one upstream and hands it to the one that gave the order.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Case, Control, Expect, Mode, Play, Role, Step};
use crate::error::Error;

/// Texts by places.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Matrix {
    /// Where the texts stand.
    carriers: Vec<Carrier>,
    /// The texts.
    texts: Vec<Text>,
    /// Tools, with what they do.
    tools: Vec<Told>,
    /// Answers, with the types of personal data in them.
    answers: Vec<Answer>,
}

/// A tool and the operation that it is: read, write or destructive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    is: String,
    tool: Map<String, Value>,
    #[serde(default)]
    args: Map<String, Value>,
}

/// An answer and what is in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    id: String,
    text: String,
    #[serde(default)]
    types: Vec<String>,
}

/// One order, and an honest text of the same make.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    /// A name for the pair.
    id: String,
    /// The order as it is written.
    attack: String,
    /// The order as a model reads it after what hides it was taken out.
    #[serde(default)]
    plain: Option<String>,
    /// What an honest upstream would write.
    twin: String,
    /// Where it can stand, if not everywhere.
    #[serde(default)]
    carriers: Vec<Carrier>,
}

/// A place that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Carrier {
    Description,
    Parameter,
    Enum,
    Default,
    Title,
    Annotation,
    OutputSchema,
    Instructions,
    PromptDescription,
    PromptText,
    ResourceDescription,
    ResourceText,
    Result,
    Structured,
    Error,
}

impl Matrix {
    /// Unfolds the table.
    pub(super) fn cases(self) -> Result<Vec<Case>, Error> {
        let mut cases = Vec::new();
        for text in &self.texts {
            let all = text.carriers.is_empty();
            for carrier in &self.carriers {
                if all || text.carriers.contains(carrier) {
                    cases.push(case(text, *carrier)?);
                }
            }
        }
        cases.extend(self.tools.iter().map(classified));
        cases.extend(self.answers.iter().map(recognized));
        Ok(cases)
    }
}

/// A tool that is called once.
fn classified(told: &Told) -> Case {
    let name = told
        .tool
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let role = Role {
        name: "tools".to_owned(),
        tools: vec![told.tool.clone()],
        ..Role::default()
    };
    let step = Step {
        call: Some(format!("tools:{name}")),
        args: told.args.clone(),
        ..Step::default()
    };
    let expect = Expect {
        operation: Some(told.is.clone()),
        ..Expect::default()
    };
    single(name, role, step, expect)
}

/// An answer that is given once.
fn recognized(answer: &Answer) -> Case {
    let tool = json!({
        "name": "get_record", "description": "Gets a record.",
        "annotations": { "readOnlyHint": true }, "result": answer.text,
    });
    let role = Role {
        name: "records".to_owned(),
        tools: tool.as_object().cloned().into_iter().collect(),
        ..Role::default()
    };
    let step = Step {
        call: Some("records:get_record".to_owned()),
        ..Step::default()
    };
    let expect = Expect {
        types: answer.types.clone(),
        ..Expect::default()
    };
    single(&answer.id, role, step, expect)
}

fn single(id: &str, role: Role, step: Step, expect: Expect) -> Case {
    Case {
        id: id.to_owned(),
        title: id.replace(['_', '-'], " "),
        modes: vec![Mode::Proxy],
        control: Some(Control::None),
        attack: Play {
            upstreams: vec![role],
            steps: vec![step],
            expect,
            ..Play::default()
        },
        ..Case::default()
    }
}

fn case(text: &Text, carrier: Carrier) -> Result<Case, Error> {
    let name = serde_json::to_value(carrier).unwrap_or_default();
    let name = name.as_str().unwrap_or_default().replace('_', "-");
    let id = format!("{name}-{}", text.id);
    let play = |words: &str| -> Result<Play, Error> {
        let senseless = |fault: serde_json::Error| Error::Senseless {
            case: id.clone(),
            why: fault.to_string(),
        };
        serde_json::from_value(conversation(carrier, words)).map_err(senseless)
    };
    let mut attack = play(&text.attack)?;
    let mut bait = vec![text.attack.clone()];
    bait.extend(text.plain.clone());
    attack.steps.extend(theft(&bait));
    Ok(Case {
        title: format!("{} in {}", text.id, name.replace('-', " ")),
        attack,
        twin: Some(play(&text.twin)?),
        // What one of several upstreams says of itself is not passed on, whatever is switched off.
        control: (carrier == Carrier::Instructions).then_some(Control::Direct),
        id,
        ..Case::default()
    })
}

/// What the agent does once it believes.
fn theft(bait: &[String]) -> [Step; 2] {
    let fetched = Step {
        call: Some("vault:get_credential".to_owned()),
        when: bait.to_vec(),
        ..Step::default()
    };
    let mut args = Map::new();
    args.insert("note".to_owned(), json!("{{token}}"));
    let handed = Step {
        call: Some("helper:look_up".to_owned()),
        args,
        when: bait.to_vec(),
        harm: true,
        ..Step::default()
    };
    [fetched, handed]
}

/// The upstreams with the words in their place, and the way on which the agent comes across them.
fn conversation(carrier: Carrier, words: &str) -> Value {
    let mut tool = json!({
        "name": "look_up",
        "description": "Looks up a word in the dictionary.",
        "inputSchema": {
            "type": "object",
            "properties": { "word": { "type": "string" }, "note": { "type": "string" } },
        },
        "result": "A word: see under its first letter.",
    });
    merge(&mut tool, in_tool(carrier, words));
    let mut role = json!({ "name": "helper", "tools": [tool] });
    merge(&mut role, in_role(carrier, words));
    let vault = json!({
        "name": "vault",
        "tools": [{
            "name": "get_credential",
            "description": "Gets the credential of the build.",
            "annotations": { "readOnlyHint": true },
            "result": "BUILD_TOKEN={{token}}",
        }],
    });
    let look = json!({ "look": true });
    let call = json!({ "call": "helper:look_up", "args": { "word": "lamp" } });
    let steps = match carrier {
        Carrier::PromptText => vec![look, json!({ "prompt": "helper:explain" }), call],
        Carrier::ResourceText => vec![look, json!({ "read": format!("helper|{URI}") }), call],
        _ => vec![look, call],
    };
    json!({ "upstreams": [role, vault], "steps": steps })
}

/// The address of the one resource.
const URI: &str = "words://{{@helper}}/all";

/// What of the tool is other than usual.
fn in_tool(carrier: Carrier, words: &str) -> Value {
    let property = |schema: Value| json!({ "inputSchema": { "properties": schema } });
    match carrier {
        Carrier::Description => json!({ "description": words }),
        Carrier::Parameter => property(json!({ "word": { "description": words } })),
        Carrier::Enum => property(json!({ "style": { "enum": ["short", words] } })),
        Carrier::Default => property(json!({ "style": { "type": "string", "default": words } })),
        Carrier::Title => json!({ "title": words }),
        Carrier::Annotation => json!({ "annotations": { "title": words } }),
        Carrier::OutputSchema => {
            let meaning = json!({ "type": "string", "description": words });
            json!({
                "outputSchema": { "type": "object", "properties": { "meaning": meaning } },
                "result": {
                    "content": [{ "type": "text", "text": "{\"meaning\":\"light\"}" }],
                    "structuredContent": { "meaning": "light" },
                },
            })
        }
        Carrier::Result => json!({ "result": words }),
        Carrier::Structured => json!({ "result": {
            "content": [{ "type": "text", "text": "see the fields" }],
            "structuredContent": { "meaning": words },
        } }),
        Carrier::Error => json!({ "error": words }),
        Carrier::Instructions
        | Carrier::PromptDescription
        | Carrier::PromptText
        | Carrier::ResourceDescription
        | Carrier::ResourceText => json!({}),
    }
}

/// What of the upstream is other than usual, beside its tool.
fn in_role(carrier: Carrier, words: &str) -> Value {
    let prompt = |more: Value| {
        let mut prompt = json!({ "name": "explain", "text": "Explain the word." });
        merge(&mut prompt, more);
        json!({ "prompts": [prompt] })
    };
    let resource = |more: Value| {
        let mut resource = json!({ "uri": URI, "name": "words", "text": "lamp" });
        merge(&mut resource, more);
        json!({ "resources": [resource] })
    };
    match carrier {
        Carrier::Instructions => json!({ "instructions": words }),
        Carrier::PromptDescription => prompt(json!({ "description": words })),
        Carrier::PromptText => prompt(json!({ "text": words })),
        Carrier::ResourceDescription => resource(json!({ "description": words })),
        Carrier::ResourceText => resource(json!({ "text": words })),
        Carrier::Description
        | Carrier::Parameter
        | Carrier::Enum
        | Carrier::Default
        | Carrier::Title
        | Carrier::Annotation
        | Carrier::OutputSchema
        | Carrier::Result
        | Carrier::Structured
        | Carrier::Error => json!({}),
    }
}

/// Lays one value over another, object by object.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_stands_in_every_place() {
        let matrix: Matrix = serde_json::from_value(json!({
            "carriers": ["description", "enum", "error", "instructions"],
            "texts": [
                {"id": "a", "attack": "do", "twin": "rest"},
                {"id": "b", "attack": "do", "twin": "rest", "carriers": ["error"]},
            ],
        }))
        .unwrap();
        let cases = matrix.cases().unwrap();
        let ids: Vec<_> = cases.iter().map(|case| &*case.id).collect();
        assert_eq!(
            ids,
            [
                "description-a",
                "enum-a",
                "error-a",
                "instructions-a",
                "error-b"
            ]
        );
        let tool = &cases[0].attack.upstreams[0].tools[0];
        assert_eq!(tool["description"], "do");
        assert_eq!(cases[0].attack.steps.len(), 4);
        assert_eq!(cases[0].twin.as_ref().unwrap().steps.len(), 2);
        assert_eq!(cases[3].control, Some(Control::Direct));
    }
}
