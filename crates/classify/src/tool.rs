//! A tool as its upstream describes it: name, description, hints, and the parameters it takes.
//!
//! Everything here is the upstream's word. It is read with bounds and judged elsewhere.

use std::borrow::Cow;

use mcpproxy_text::{elements, get, members, string};

use crate::class::World;
use crate::purpose::{Purpose, purpose};
use crate::words::Words;

/// Parameters of one tool that are read.
const MOST_PARAMETERS: usize = 128;
/// Values of one parameter that are read.
const MOST_VALUES: usize = 64;

/// A tool.
#[derive(Clone, Debug, Default)]
pub struct Tool<'a> {
    /// Its name at the upstream.
    pub name: Cow<'a, str>,
    /// What the upstream writes about it.
    pub description: Cow<'a, str>,
    /// The upstream's hints.
    pub annotations: Annotations,
    /// What it takes.
    pub parameters: Vec<Parameter<'a>>,
}

/// The hints of an upstream about one of its tools; nothing where it gave none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// Whether it only looks.
    pub read_only: Option<bool>,
    /// Whether it may destroy.
    pub destructive: Option<bool>,
    /// Whether it reaches outside.
    pub open_world: Option<bool>,
}

impl Annotations {
    /// Returns what was said about the world that the tool reaches.
    pub fn world(&self) -> World {
        match self.open_world {
            Some(true) => World::Open,
            Some(false) => World::Closed,
            None => World::Unsaid,
        }
    }
}

/// One parameter of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// The values it may take, if they are listed.
    pub values: Vec<Cow<'a, str>>,
    /// Whether it must be an address.
    pub is_address: bool,
    /// What it is for, by its name.
    pub purpose: Option<Purpose>,
}

impl<'a> Tool<'a> {
    /// Reads a descriptor as it stands in `tools/list`.
    ///
    /// The text has passed `text::check`; of anything else as much is read as can be.
    pub fn read(descriptor: &'a str) -> Self {
        let mut tool = Self::default();
        for member in members(descriptor) {
            let value = descriptor.get(member.value).unwrap_or_default();
            match &*member.key {
                "name" => tool.name = string(value).unwrap_or_default(),
                "description" => tool.description = string(value).unwrap_or_default(),
                "annotations" => tool.annotations = annotations(value),
                "inputSchema" => tool.parameters = parameters(value),
                _ => {}
            }
        }
        tool
    }

    /// Makes a tool of which only the name is known.
    pub fn named(name: &'a str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            ..Self::default()
        }
    }
}

fn annotations(object: &str) -> Annotations {
    let mut hints = Annotations::default();
    for member in members(object) {
        let value = object.get(member.value).and_then(|raw| raw.parse().ok());
        match &*member.key {
            "readOnlyHint" => hints.read_only = value,
            "destructiveHint" => hints.destructive = value,
            "openWorldHint" => hints.open_world = value,
            _ => {}
        }
    }
    hints
}

fn parameters(schema: &str) -> Vec<Parameter<'_>> {
    let Some((properties, _)) = get(schema, &["properties"]) else {
        return Vec::new();
    };
    let listed = members(properties).take(MOST_PARAMETERS);
    listed
        .map(|member| {
            let about = properties.get(member.value).unwrap_or_default();
            parameter(member.key, about)
        })
        .collect()
}

fn parameter<'a>(name: Cow<'a, str>, about: &'a str) -> Parameter<'a> {
    let mut parameter = Parameter {
        purpose: purpose(&Words::of(&name)),
        name,
        ..Parameter::default()
    };
    for member in members(about) {
        let value = about.get(member.value).unwrap_or_default();
        match &*member.key {
            "enum" => {
                let listed = elements(value).take(MOST_VALUES);
                let texts = listed.filter_map(|span| string(value.get(span)?));
                parameter.values = texts.collect();
            }
            "const" => parameter.values.extend(string(value)),
            "format" => {
                parameter.is_address = string(value).is_some_and(|format| {
                    ["uri", "url", "email", "hostname", "iri"].contains(&&*format)
                });
            }
            _ => {}
        }
    }
    parameter
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_descriptor_is_read() {
        let tool = Tool::read(
            r#"{"name":"send_it","description":"Sends.\n","annotations":{"readOnlyHint":false,
            "openWorldHint":true,"title":"x"},"inputSchema":{"type":"object","properties":{
            "to":{"type":"string","format":"email"},"mode":{"enum":["add","delete",3]}}}}"#,
        );
        assert_eq!((&*tool.name, &*tool.description), ("send_it", "Sends.\n"));
        let expect = Annotations {
            read_only: Some(false),
            destructive: None,
            open_world: Some(true),
        };
        assert_eq!(tool.annotations, expect);
        let [to, mode] = &*tool.parameters else {
            panic!("{:?}", tool.parameters);
        };
        assert!(to.is_address && &*to.name == "to");
        assert_eq!(mode.values, ["add", "delete"]);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "\\PC{0,200}") {
            let _tool = Tool::read(&text);
        }

        #[test]
        fn nearly_json_is_taken(text in r#"[{}\[\]":,a-z\\ ]{0,120}"#) {
            let _tool = Tool::read(&text);
        }
    }
}
