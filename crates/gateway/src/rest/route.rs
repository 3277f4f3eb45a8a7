//! One table for three readers: the routes as they are served, whom each is for, and as the `OpenAPI`
//! document tells of them. What is not in the table is none of it.

use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::MethodRouter;
use http::StatusCode;
use mcpproxy_control::may_audit;
use mcpproxy_core::{Principal, PrincipalKind};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::{Who, failed};
use crate::gateway::Gateway;

/// A path and what can be done there.
pub(super) struct Route {
    pub(super) path: &'static str,
    pub(super) served: MethodRouter<Arc<Gateway>>,
    pub(super) operations: Vec<(&'static str, Told)>,
}

/// Who may use an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    /// Whoever is let in.
    Anybody,
    /// Agents within their scope, and the owner.
    Agents,
    /// The owner, and tokens that are made for the audit.
    Auditors,
    /// The owner.
    Owner,
    /// The owner, with the API key in hand, also over the socket. Who does it asks for the key, and says
    /// what it is needed for.
    Key,
}

impl For {
    /// Tells whether it is for somebody; agents' scopes are for the operations themselves to know.
    fn admits(self, who: &Principal) -> bool {
        match self {
            Self::Anybody | Self::Agents => true,
            Self::Auditors => may_audit(who),
            Self::Owner | Self::Key => who.kind == PrincipalKind::Owner,
        }
    }

    /// What those are told whom it is not for, and what would help them.
    fn refusal(self) -> (&'static str, &'static str) {
        match self {
            Self::Auditors => (
                "only the owner may do this, and tokens that are made for the audit",
                "make one with `mcpproxy token create NAME --audit`, or use the API key",
            ),
            Self::Anybody | Self::Agents | Self::Owner | Self::Key => (
                "only the owner may do this",
                "use the API key, or the Unix socket",
            ),
        }
    }
}

/// Turns those away whom an operation is not for, before anything of what they sent is read.
async fn admit(
    whose: For,
    (method, path): (&str, &str),
    who: Who,
    request: Request,
    next: Next,
) -> Response {
    if whose.admits(&who) {
        return next.run(request).await;
    }
    tracing::info!("refused to `{}`: {method} {path}", who.name);
    let (message, hint) = whose.refusal();
    failed(StatusCode::FORBIDDEN, message, Some(hint))
}

/// What the document tells of an operation.
pub(super) struct Told {
    pub(super) summary: &'static str,
    pub(super) whose: For,
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<fn(&mut SchemaGenerator) -> Schema>,
    /// When it is refused because of how things stand.
    pub(super) conflict: Option<&'static str>,
    pub(super) answer: Answer,
}

/// What an operation answers with.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// The envelope, with data of a type.
    Data(fn(&mut SchemaGenerator) -> Schema),
    /// Something else, of these types.
    Raw(&'static [&'static str]),
}

impl Route {
    pub(super) fn at(path: &'static str) -> Self {
        Self {
            path,
            served: MethodRouter::new(),
            operations: Vec::new(),
        }
    }

    pub(super) fn get<T: 'static>(self, to: impl Handler<T, Arc<Gateway>>, told: Told) -> Self {
        self.with("get", told, |served| served.get(to))
    }

    pub(super) fn post<T: 'static>(self, to: impl Handler<T, Arc<Gateway>>, told: Told) -> Self {
        self.with("post", told, |served| served.post(to))
    }

    pub(super) fn patch<T: 'static>(self, to: impl Handler<T, Arc<Gateway>>, told: Told) -> Self {
        self.with("patch", told, |served| served.patch(to))
    }

    pub(super) fn delete<T: 'static>(self, to: impl Handler<T, Arc<Gateway>>, told: Told) -> Self {
        self.with("delete", told, |served| served.delete(to))
    }

    fn with(
        mut self,
        method: &'static str,
        told: Told,
        serve: impl FnOnce(MethodRouter<Arc<Gateway>>) -> MethodRouter<Arc<Gateway>>,
    ) -> Self {
        let (whose, what) = (told.whose, (method, self.path));
        let admit =
            move |who: Who, request: Request, next: Next| admit(whose, what, who, request, next);
        let served = serve(MethodRouter::new()).route_layer(from_fn(admit));
        self.served = self.served.merge(served);
        self.operations.push((method, told));
        self
    }
}

impl Told {
    /// Tells what an operation does, for the owner, and what its answer is made of.
    pub(super) fn giving<T: JsonSchema>(summary: &'static str) -> Self {
        Self::new(summary, Answer::Data(SchemaGenerator::subschema_for::<T>))
    }

    /// The same of one whose answer is no envelope.
    pub(super) fn raw(summary: &'static str, types: &'static [&'static str]) -> Self {
        Self::new(summary, Answer::Raw(types))
    }

    fn new(summary: &'static str, answer: Answer) -> Self {
        Self {
            summary,
            whose: For::Owner,
            parameters: Vec::new(),
            body: None,
            conflict: None,
            answer,
        }
    }

    pub(super) fn whose(self, whose: For) -> Self {
        Self { whose, ..self }
    }

    pub(super) fn query(mut self, name: &str, schema: &Value, about: &str) -> Self {
        self.parameters.push(json!({
            "name": name, "in": "query", "description": about, "schema": schema,
        }));
        self
    }

    pub(super) fn required(mut self, name: &str, schema: &Value, about: &str) -> Self {
        self.parameters.push(json!({
            "name": name, "in": "query", "description": about, "schema": schema, "required": true,
        }));
        self
    }

    /// Adds parameters of which some go with others only: each of `shapes` says which.
    pub(super) fn exploded(mut self, name: &str, shapes: &Value, about: &str) -> Self {
        let mut shapes = shapes.clone();
        let all = shapes.as_array_mut().into_iter().flatten();
        for shape in all.filter_map(Value::as_object_mut) {
            shape.insert("type".to_owned(), json!("object"));
            shape.insert("additionalProperties".to_owned(), json!(false));
        }
        self.parameters.push(json!({
            "name": name, "in": "query", "style": "form", "explode": true,
            "description": about, "schema": { "oneOf": shapes },
        }));
        self
    }

    /// Narrows what a part of the path can be.
    pub(super) fn path(mut self, name: &str, schema: &Value) -> Self {
        self.parameters
            .push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
        self
    }

    /// Says when it is refused because of how things stand.
    pub(super) fn conflict(self, when: &'static str) -> Self {
        Self {
            conflict: Some(when),
            ..self
        }
    }

    pub(super) fn body<T: JsonSchema>(self) -> Self {
        Self {
            body: Some(SchemaGenerator::subschema_for::<T>),
            ..self
        }
    }
}
