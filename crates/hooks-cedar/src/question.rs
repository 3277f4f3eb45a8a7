//! A request as policies see it: caller, what is used, and what is known around it.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression,
};
use serde_json::Value;

use mcpproxy_core::{AccessRequest, OfferKind, Principal, PrincipalKind};

/// Bytes of arguments that policies are asked about; as values they take a hundred times as much.
const MOST: usize = 256 * 1024;

/// What is done with things.
pub(crate) const ACTIONS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// What of the arguments is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arguments {
    Known,
    Unknown,
}

/// A question to Cedar, with the entities that it names.
pub(crate) struct Question {
    pub(crate) request: Request,
    pub(crate) entities: Entities,
}

impl Question {
    pub(crate) fn new(about: &AccessRequest<'_>, arguments: Arguments) -> Result<Self, String> {
        let (action, kind) = use_of(about.kind)?;
        let principal = principal(about.who)?;
        let resource = resource(about, kind)?;
        let request = Request::new(
            principal.uid(),
            uid("Action", action)?,
            resource.uid(),
            context(about, arguments)?,
            None,
        );
        let entities = Entities::from_entities([principal, resource], None);
        Ok(Self {
            request: request.map_err(|why| why.to_string())?,
            entities: entities.map_err(|why| why.to_string())?,
        })
    }
}

/// Callers of each kind have a type of their own, so that nobody can be called what another is.
fn principal(who: &Principal) -> Result<Entity, String> {
    let kind = match who.kind {
        PrincipalKind::Owner => "Owner",
        PrincipalKind::Agent => "Agent",
        PrincipalKind::User => "User",
        PrincipalKind::Certificate => "Certificate",
        PrincipalKind::Local => "Local",
    };
    let Some(claims) = &who.claims else {
        return entity(kind, &who.name, Vec::new(), HashSet::new());
    };
    let roles = claims.roles.iter().map(|role| uid("Role", role));
    let roles = roles.collect::<Result<HashSet<_>, _>>()?;
    // Cedar takes each name once.
    let attributes: HashMap<_, _> = claims.attributes.iter().cloned().collect();
    let attributes = attributes.into_iter();
    let attributes = attributes.map(|(name, value)| (name, text(&value)));
    let known = vec![
        ("roles", texts(&claims.roles)),
        ("scopes", texts(&claims.scopes)),
        ("attributes", record(attributes)?),
    ];
    entity(kind, &claims.subject, known, roles)
}

fn entity(
    kind: &str,
    name: &str,
    mut known: Vec<(&str, RestrictedExpression)>,
    parents: HashSet<EntityUid>,
) -> Result<Entity, String> {
    known.push(("name", text(name)));
    let known = known.into_iter();
    let known = known.map(|(name, value)| (name.to_owned(), value));
    Entity::new(uid(kind, name)?, known.collect(), parents).map_err(|why| why.to_string())
}

/// What is done with a thing, and the type of the thing.
fn use_of(kind: OfferKind) -> Result<(&'static str, &'static str), String> {
    let [call, get, read] = ACTIONS;
    match kind {
        OfferKind::Tool => Ok((call, "Tool")),
        OfferKind::Prompt => Ok((get, "Prompt")),
        OfferKind::Resource | OfferKind::Template => Ok((read, "Resource")),
        OfferKind::Server | OfferKind::Instructions => {
            Err("policies are about tools, prompts and resources".to_owned())
        }
    }
}

fn resource(about: &AccessRequest<'_>, kind: &str) -> Result<Entity, String> {
    let known = HashMap::from([
        ("name".to_owned(), text(about.name)),
        ("server".to_owned(), text(about.upstream)),
    ]);
    // No upstream has a slash in its name.
    let id = format!("{}/{}", about.upstream, about.name);
    let server = HashSet::from([uid("Server", about.upstream)?]);
    Entity::new(uid(kind, &id)?, known, server).map_err(|why| why.to_string())
}

fn context(about: &AccessRequest<'_>, arguments: Arguments) -> Result<Context, String> {
    let arguments = match arguments {
        Arguments::Unknown => RestrictedExpression::new_unknown("arguments"),
        Arguments::Known if about.arguments.len() > MOST => {
            return Err("the arguments are too large for policies".to_owned());
        }
        Arguments::Known => {
            let value: Value = serde_json::from_str(about.arguments)
                .map_err(|_| "the arguments are not JSON".to_owned())?;
            expression(&value)?.map_or_else(|| record([]), Ok)?
        }
    };
    let operation = about.operation.map_or("unknown", |one| one.name());
    let known = [
        ("arguments".to_owned(), arguments),
        ("operation".to_owned(), text(operation)),
    ];
    Context::from_pairs(known).map_err(|why| why.to_string())
}

/// The entity types, by name: reading one is not free, and every question names five.
pub(crate) static TYPES: LazyLock<HashMap<&str, EntityTypeName>> = LazyLock::new(|| {
    let names = [
        "Action",
        "Agent",
        "Certificate",
        "Local",
        "Owner",
        "Prompt",
        "Resource",
        "Role",
        "Server",
        "Tool",
        "User",
    ];
    let read = |name: &'static str| Some((name, name.parse().ok()?));
    names.into_iter().filter_map(read).collect()
});

fn uid(kind: &str, id: &str) -> Result<EntityUid, String> {
    let known = TYPES.get(kind).cloned();
    let known = known.ok_or_else(|| format!("there is no type `{kind}`"))?;
    Ok(EntityUid::from_type_name_and_id(known, EntityId::new(id)))
}

/// Turns JSON into a value of Cedar, which has no null and no fractions: a null is not there, and
/// a number that is no 64-bit integer is its text.
fn expression(value: &Value) -> Result<Option<RestrictedExpression>, String> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(value) => RestrictedExpression::new_bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => RestrictedExpression::new_long(number),
            None => text(&number.to_string()),
        },
        Value::String(value) => text(value),
        Value::Array(items) => {
            let items = items.iter().filter_map(|item| expression(item).transpose());
            RestrictedExpression::new_set(items.collect::<Result<Vec<_>, _>>()?)
        }
        Value::Object(members) => {
            let members = members.iter().filter_map(|(name, value)| {
                let value = expression(value).transpose()?;
                Some(value.map(|value| (name.clone(), value)))
            });
            record(members.collect::<Result<Vec<_>, _>>()?)?
        }
    }))
}

fn record(
    members: impl IntoIterator<Item = (String, RestrictedExpression)>,
) -> Result<RestrictedExpression, String> {
    RestrictedExpression::new_record(members).map_err(|why| why.to_string())
}

fn text(value: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(value.to_owned())
}

fn texts(values: &[String]) -> RestrictedExpression {
    RestrictedExpression::new_set(values.iter().map(|value| text(value)))
}
