//! The `OpenAPI` document, made from the table of routes and the types that handlers read and send.
//!
//! A type may be read and sent in two shapes: what may be left out of a request can be in every answer.
//! So each way has schemas of its own.

use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::route::{Answer, For, Route, Told};
use super::routes;

/// Serves the document. It tells nothing that the program's own text does not.
pub(super) async fn serve() -> Response {
    let document = document(&routes(), &super::outside());
    ([(CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

/// Makes the document of routes under `/api/v1` and of those beside it.
pub(super) fn document(inner: &[Route], beside: &[Route]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for (prefix, routes) in [("/api/v1", inner), ("", beside)] {
        for route in routes {
            let path = format!("{prefix}{}", route.path);
            let told = route.operations.iter();
            let told = told.map(|(method, told)| {
                let operation = operation(method, route.path, told, &mut schemas);
                ((*method).to_owned(), operation)
            });
            paths.insert(path, Value::Object(told.collect()));
        }
    }
    let mut schemas = schemas.finish(&mut paths);
    schemas.insert("Error".to_owned(), error());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "mcpproxy",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The interface of the running gateway: what the command line, the \
                dashboard and scripts use. Answers are `{success, data | error, request_id}`.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Refused": {
                    "description": "What was asked for makes no sense here, or not from you.",
                    "content": { "application/json": { "schema": reference("Error") } },
                },
                "Failed": {
                    "description": "It could not be done, by no fault of who asked: 503 when there is \
                        too much to do, 502 and 504 when an upstream gave no answer.",
                    "content": { "application/json": { "schema": reference("Error") } },
                },
            },
            "securitySchemes": {
                "key": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
                "token": { "type": "http", "scheme": "bearer" },
            },
        },
        "security": [{ "key": [] }, { "token": [] }],
    })
}

/// Where definitions stand.
const DEFINITIONS: &str = "#/components/schemas/";

/// The schemas of what is read from requests, and of what is sent.
struct Schemas {
    read: SchemaGenerator,
    sent: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self {
            read: settings.clone().for_deserialize().into_generator(),
            sent: settings.for_serialize().into_generator(),
        }
    }

    /// Returns the definitions of both ways. What is read in another shape than it is sent gets another
    /// name, also in the paths.
    fn finish(mut self, paths: &mut Map<String, Value>) -> Map<String, Value> {
        let mut all = self.sent.take_definitions(true);
        let read = self.read.take_definitions(true);
        let clashes =
            |(name, schema): &(&String, &Value)| all.get(*name).is_some_and(|sent| sent != *schema);
        let renamed: Vec<_> = read
            .iter()
            .filter(clashes)
            .map(|(name, _)| name.clone())
            .collect();
        let operations = paths.values_mut().filter_map(Value::as_object_mut);
        let operations = operations.flat_map(|path| path.values_mut());
        for body in operations.filter_map(|operation| operation.get_mut("requestBody")) {
            rename(body, &renamed);
        }
        for (name, mut schema) in read {
            rename(&mut schema, &renamed);
            let name = if renamed.contains(&name) {
                as_read(&name)
            } else {
                name
            };
            all.insert(name, schema);
        }
        all
    }
}

/// The name of a type as it is read.
fn as_read(name: &str) -> String {
    format!("{name}Input")
}

/// Leads references to these names to the shape that is read.
fn rename(value: &mut Value, names: &[String]) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let target = value.as_str().filter(|_| key == "$ref");
                let target = target.and_then(|target| target.strip_prefix(DEFINITIONS));
                match target.map(str::to_owned) {
                    Some(name) if names.contains(&name) => *value = json!(pointer(&as_read(&name))),
                    _ => rename(value, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn pointer(name: &str) -> String {
    format!("{DEFINITIONS}{name}")
}

fn reference(name: &str) -> Value {
    json!({ "$ref": pointer(name) })
}

fn error() -> Value {
    json!({
        "type": "object",
        "required": ["success", "error", "request_id"],
        "properties": {
            "success": { "const": false },
            "error": { "type": "string", "description": "What is wrong." },
            "hint": { "type": "string", "description": "What would make it right." },
            "request_id": { "type": "string" },
        },
    })
}

fn operation(method: &str, path: &str, told: &Told, schemas: &mut Schemas) -> Value {
    let mut parameters = told.parameters.clone();
    for name in parts(path) {
        if !parameters
            .iter()
            .any(|one| one.get("name").is_some_and(|known| known == name))
        {
            parameters.push(json!({
                "name": name, "in": "path", "required": true,
                "schema": { "type": "string", "minLength": 1 },
            }));
        }
    }
    let mut operation = json!({
        "operationId": format!("{method}{}", path.replace(['/', '{', '}', '.'], "_")),
        "summary": told.summary,
        "description": format!("For {}.", whose(told.whose)),
        "parameters": parameters,
        "responses": responses(method, told, &mut schemas.sent),
    });
    // Callers without a credential are let in on loopback unless `require_auth` says otherwise.
    if let (For::Anybody | For::Agents, Some(operation)) = (told.whose, operation.as_object_mut()) {
        let security = json!([{ "key": [] }, { "token": [] }, {}]);
        operation.insert("security".to_owned(), security);
    }
    if let (Some(body), Some(operation)) = (told.body, operation.as_object_mut()) {
        let schema = body(&mut schemas.read);
        let content = json!({ "application/json": { "schema": schema } });
        let body = json!({ "required": true, "content": content });
        operation.insert("requestBody".to_owned(), body);
    }
    operation
}

fn responses(method: &str, told: &Told, generator: &mut SchemaGenerator) -> Value {
    let envelope = |data: Value| {
        json!({ "application/json": { "schema": {
            "type": "object",
            "required": ["success", "data", "request_id"],
            "properties": {
                "success": { "const": true },
                "data": data,
                "request_id": { "type": "string" },
            },
        } } })
    };
    let content = match told.answer {
        Answer::Data(schema) => envelope(schema(generator).to_value()),
        Answer::Raw(types) => {
            let types = types.iter().map(|one| ((*one).to_owned(), json!({})));
            Value::Object(types.collect())
        }
    };
    let mut responses = json!({
        "200": { "description": "Done.", "content": content },
        "4XX": { "$ref": "#/components/responses/Refused" },
        "5XX": { "$ref": "#/components/responses/Failed" },
    });
    if let (Some(responses), Some(when)) = (responses.as_object_mut(), told.conflict) {
        let conflict = json!({
            "description": when,
            "content": { "application/json": { "schema": reference("Error") } },
        });
        responses.insert("409".to_owned(), conflict);
    }
    // What stands in no envelope has no tag.
    if let (Some(responses), "get", Answer::Data(_)) =
        (responses.as_object_mut(), method, told.answer)
    {
        let unchanged = json!({ "description": "It is as `If-None-Match` says." });
        responses.insert("304".to_owned(), unchanged);
    }
    responses
}

fn whose(whose: For) -> &'static str {
    match whose {
        For::Anybody => "everybody who is let in",
        For::Agents => "agents within the scope of their token, and the owner",
        For::Auditors => "the owner, and tokens made for the audit",
        For::Owner => "the owner",
        For::Key => "the owner, who must show the API key also over the socket",
    }
}

/// The names that stand for parts of a path.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('/');
    parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mcpproxy_control::TokenScope;
    use mcpproxy_core::{Operation, Span};
    use regex::Regex;
    use schemars::JsonSchema as _;

    use super::*;

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
            match value {
                Value::Object(members) => members.iter().for_each(|(name, value)| {
                    found.extend(value.as_str().filter(|_| name == "$ref"));
                    references(value, found);
                }),
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let document = document(&routes(), &super::super::outside());
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    /// What was `data` of any kind could be anything, and no reader of the document would know.
    #[test]
    fn every_answer_says_what_it_is_made_of() {
        let document = document(&routes(), &super::super::outside());
        let mut answers = 0;
        for path in document["paths"].as_object().unwrap().values() {
            for operation in path.as_object().unwrap().values() {
                let content = &operation["responses"]["200"]["content"];
                let schema = &content["application/json"]["schema"];
                if let Some(data) = schema.pointer("/properties/data") {
                    let says = ["$ref", "type", "anyOf"]
                        .iter()
                        .any(|one| data.get(one).is_some());
                    assert!(says, "{operation}");
                    answers += 1;
                }
            }
        }
        assert!(answers > 35, "{answers}");
        // A second type of one name would get a number, which tells nobody anything.
        for name in document["components"]["schemas"]
            .as_object()
            .unwrap()
            .keys()
        {
            assert!(
                !name.ends_with(|last: char| last.is_ascii_digit()),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_read_in_another_shape_than_it_is_sent_has_another_name() {
        let mut schemas = Schemas::new();
        let sent = schemas.sent.subschema_for::<TokenScope>();
        let body = schemas.read.subschema_for::<TokenScope>();
        let list = schemas.read.subschema_for::<Vec<Operation>>();
        let same = schemas.sent.subschema_for::<Operation>();
        let path = json!({ "post": { "requestBody": [body, list], "responses": [sent, same] } });
        let mut paths = Map::from_iter([("/x".to_owned(), path)]);
        let all = schemas.finish(&mut paths);
        let must_name = |name: &str| all[name].get("required").is_some();
        assert!(must_name("TokenScope") && !must_name("TokenScopeInput"));
        let post = &paths["/x"]["post"];
        assert_eq!(post["responses"][0], reference("TokenScope"));
        assert_eq!(post["requestBody"][0], reference("TokenScopeInput"));
        assert_eq!(post["requestBody"][1]["items"], reference("Operation"));
        assert_eq!(post["responses"][1], reference("Operation"));
    }

    /// Regression for #8: what answers without a credential was told to need one.
    #[test]
    fn what_needs_no_credential_says_so() {
        let document = document(&routes(), &super::super::outside());
        let check = |method: &str, path: &str, optional: bool| {
            let security = &document["paths"][path][method]["security"];
            let expect = if optional {
                json!([{ "key": [] }, { "token": [] }, {}])
            } else {
                Value::Null
            };
            assert_eq!(*security, expect, "{method} {path}");
        };
        check("get", "/api/v1/openapi.json", true);
        check("post", "/api/v1/tools/call", true);
        check("get", "/api/v1/activity", false);
        check("get", "/api/v1/config", false);
    }

    /// Regression for #8: what handlers demand of a body was left for its sender to find out.
    #[test]
    fn what_is_demanded_of_a_body_is_stated() {
        let document = document(&routes(), &super::super::outside());
        let schemas = &document["components"]["schemas"];
        for name in ["Change", "Replay"] {
            let either = schemas[name]["oneOf"].as_array().unwrap();
            let required: Vec<_> = either.iter().map(|one| &one["required"][0]).collect();
            assert_eq!(required, ["text", "patch"], "{name}");
        }
        for (name, member, key) in [
            ("NewServer", "name", "pattern"),
            ("NewToken", "name", "pattern"),
            ("StopOrder", "scope", "pattern"),
            ("ToolCall", "operation", "enum"),
        ] {
            let stated = &schemas[name]["properties"][member];
            assert!(stated.get(key).is_some(), "{name}: {stated}");
        }
        let resume = &document["paths"]["/api/v1/stops/{scope}"]["delete"]["parameters"];
        assert_eq!(resume[0]["schema"]["pattern"], super::super::stops::SCOPE);
        assert_eq!(resume.as_array().unwrap().len(), 1);
        let calls = &schemas["Tried"]["anyOf"][1]["properties"]["calls"];
        assert_eq!(calls["minItems"], 1);
    }

    /// Regression for #8: what is written past the longest was let through by the document and refused.
    #[test]
    fn the_document_lets_through_the_spans_that_are_read() {
        let schema = Span::json_schema(&mut SchemaGenerator::default()).to_value();
        let schema = &schema["anyOf"];
        let pattern = Regex::new(schema[1]["pattern"].as_str().unwrap()).unwrap();
        let most = schema[0]["maximum"].as_u64().unwrap();
        let check = |text: &str| {
            let is_read = text.parse::<Span>().is_ok();
            assert_eq!(pattern.is_match(text), is_read, "{text}");
            is_read
        };
        let mut read = 0;
        for (unit, longest) in [
            ("", most),
            ("s", most),
            ("m", most / 60),
            ("h", most / 3600),
            ("ms", most * 1000),
        ] {
            for near in (0..200).chain(longest - 100..longest + 100) {
                read += usize::from(check(&format!("{near}{unit}")));
                check(format!("00{near} {unit}").trim_end());
            }
            for power in 1..19 {
                check(&format!("{}{unit}", 10_u64.pow(power)));
                check(&format!("{}{unit}", 9 * 10_u64.pow(power)));
            }
        }
        assert_eq!(read, 5 * 301);
        for odd in ["", "s", "-1", "1.5h", "1d", "1H"] {
            assert!(!check(odd), "{odd}");
        }
        for (json, is_read) in [
            ("10.0", true),
            ("-0.0", true),
            ("10.5", false),
            ("-1.0", false),
        ] {
            let span = serde_json::from_str::<Span>(json);
            assert_eq!(span.is_ok(), is_read, "{json}");
        }
        assert!(serde_json::from_str::<Span>(&most.to_string()).is_ok());
        assert!(serde_json::from_str::<Span>(&(most + 1).to_string()).is_err());
    }

    #[test]
    fn operations_have_names_of_their_own() {
        let document = document(&routes(), &super::super::outside());
        let mut names = BTreeSet::new();
        for path in document["paths"].as_object().unwrap().values() {
            for operation in path.as_object().unwrap().values() {
                assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()));
                assert!(!operation["summary"].as_str().unwrap().is_empty());
            }
        }
        assert!(names.len() > 30, "{}", names.len());
    }
}
