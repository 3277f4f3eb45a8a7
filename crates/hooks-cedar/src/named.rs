//! What policies name: types, actions and things that no question has. A policy that names one would
//! never apply, and a `forbid` that never applies looks like protection, so that it is an error when
//! policies are read. A server that nobody configured may come later and is only told.

use cedar_policy::Policy;
use serde_json::Value;

use mcpproxy_text::nearest;

use crate::question::{ACTIONS, TYPES};

/// Who calls.
const CALLERS: [&str; 5] = ["Agent", "Certificate", "Local", "Owner", "User"];
/// What is used, and what its name is made of.
const THINGS: [(&str, &str); 3] = [
    ("Prompt", "<server>/<prompt>"),
    ("Resource", "<server>/<uri>"),
    ("Tool", "<server>/<tool>"),
];

/// What a policy names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Types of entities, and the one entity where it is one.
    entities: Vec<(String, Option<String>)>,
}

impl Named {
    /// Reads what a policy names, or says why it could never apply.
    pub(crate) fn of(policy: &Policy) -> Result<Self, String> {
        let form = policy.to_json().map_err(|why| why.to_string())?;
        let mut named = Self::default();
        for part in ["principal", "action", "resource"] {
            let part_form = form.get(part).unwrap_or(&Value::Null);
            scope(part, part_form)?;
            named.read(part_form);
        }
        named.read(form.get("conditions").unwrap_or(&Value::Null));
        named.check()?;
        Ok(named)
    }

    /// Returns the servers that it names, by themselves or with something that they offer.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &str> {
        self.entities.iter().filter_map(|(kind, id)| {
            let id = id.as_deref()?;
            let (server, _) = id.split_once('/').unwrap_or((id, ""));
            let known = kind == "Server" || THINGS.iter().any(|(thing, _)| thing == kind);
            known.then_some(server)
        })
    }

    /// Collects entities and types from the JSON form of a policy, wherever they stand.
    fn read(&mut self, form: &Value) {
        match form {
            Value::Array(items) => items.iter().for_each(|item| self.read(item)),
            Value::Object(members) => {
                let text = |name: &str| members.get(name).and_then(Value::as_str);
                // In a record that a policy writes out, neither is text but an expression.
                if let (Some(kind), Some(id)) = (text("type"), text("id")) {
                    self.entities.push((kind.to_owned(), Some(id.to_owned())));
                }
                if let Some(kind) = text("entity_type") {
                    self.entities.push((kind.to_owned(), None));
                }
                members.values().for_each(|member| self.read(member));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn check(&self) -> Result<(), String> {
        for (kind, id) in &self.entities {
            if !TYPES.contains_key(kind.as_str()) {
                let known = meant(kind, TYPES.keys().copied());
                return Err(format!("names the type `{kind}`, which nothing has{known}"));
            }
            let Some(id) = id else { continue };
            if kind == "Action" && !ACTIONS.contains(&id.as_str()) {
                let known = meant(id, ACTIONS);
                return Err(format!("names the action `{id}`, which nobody does{known}"));
            }
            let thing = THINGS.iter().find(|(thing, _)| thing == kind);
            if let Some((_, form)) = thing
                && id.find('/').is_none_or(|at| at == 0)
            {
                return Err(format!(
                    "names `{kind}::\"{id}\"`, which nothing is called: write `{kind}::\"{form}\"`"
                ));
            }
        }
        Ok(())
    }
}

/// Refuses in the head of a policy what can stand there but never be so.
fn scope(part: &str, form: &Value) -> Result<(), String> {
    let of = |place: &str| form.pointer(place).and_then(Value::as_str);
    let of = |place: &str| of(place).unwrap_or_default();
    let kind = match of("/op") {
        "==" => of("/entity/type"),
        "is" => of("/entity_type"),
        _ => return Ok(()),
    };
    let right = match part {
        "principal" => CALLERS.contains(&kind),
        "resource" => THINGS.iter().any(|(thing, _)| *thing == kind),
        _ => kind == "Action",
    };
    if right || !TYPES.contains_key(kind) {
        return Ok(());
    }
    let hint = match kind {
        "Role" | "Server" => format!("; write `{part} in {kind}::...`"),
        _ => String::new(),
    };
    Err(format!(
        "has a `{part}` of the type `{kind}`, which none is{hint}"
    ))
}

/// Says what was probably meant, else what there is.
fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; there are `{}`", known.join("`, `")),
    }
}
