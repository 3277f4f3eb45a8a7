//! `/activity`: pages of the log, single records, what a stretch of time came to, and exports. What
//! can be asked is for `control` to know.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State as AxumState;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::poll_fn;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use mcpproxy_control::{Export, Refused};
use mcpproxy_core::{CallId, Field, Receipted, ShownRecord, Wall};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, mpsc};

use super::layers::too_many;
use super::route::{For, Told};
use super::taken::{Asked, At};
use super::{Shared, Who, done, failed, refused, sessions};
use crate::gateway::Gateway;
use crate::shed::Place;

/// Says where an export that was asked for in parts goes on.
const NEXT: HeaderName = HeaderName::from_static("x-next-cursor");
/// Chunks of an export that wait for who reads it.
const WAITING: usize = 2;
/// Exports at once: of everybody, and of one caller.
const EXPORTS: (usize, usize) = (16, 4);
/// How long a summary waits for those before it.
const PATIENCE: Duration = Duration::from_secs(10);
/// When to come again after too many long questions at once.
const LATER: Duration = Duration::from_secs(1);

/// A date from 1970 on, or a time as RFC 3339 has it, with the days that a month has in its year. Its
/// seconds may be left out, and a blank may stand for the `T`.
const TIME: &str = "^((19[7-9][0-9]|[2-9][0-9]{3})-\
    ((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])\
    |(0[469]|11)-(0[1-9]|[12][0-9]|30)\
    |02-(0[1-9]|1[0-9]|2[0-8]))\
    |(19(7[26]|8[048]|9[26])|[2-9][0-9](0[48]|[2468][048]|[13579][26])\
    |([2468][048]|[3579][26])00)-02-29)\
    ([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60))?(\\.[0-9]+)?\
    ([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?$";

/// Adds to what is told of a route the filters that it takes.
pub(super) fn filtered(mut told: Told) -> Told {
    for field in Field::ALL {
        let schema = match (field, field.known()) {
            (Field::Sensitive, Some(known)) => json!({ "type": "string", "enum": known }),
            (_, Some(known)) => {
                let one = known.join("|").replace('→', "(→|->|_to_)");
                json!({ "type": "string", "pattern": listed(&one) })
            }
            (_, None) => json!({ "type": "string" }),
        };
        let about = match field {
            Field::RiskLevel => {
                "That level and above; of several, with commas between, the lowest."
            }
            Field::Session => {
                "The session, by its id on record, the client's `Mcp-Session-Id` or the agent's own \
                 name for it, with those that are linked with it, in the order in which calls began."
            }
            Field::McpSession => {
                "Only records under the session of a hook that name this MCP session, by its id on record."
            }
            Field::Kind => {
                "One or several, with commas between. Lists leave out an `intent` that was followed, \
                 unless types are named."
            }
            Field::Source
            | Field::Upstream
            | Field::Status
            | Field::Decision
            | Field::FlowType
            | Field::Severity
            | Field::Operation => "One or several, with commas between.",
            Field::Detection => "One or several types or families, with commas between.",
            Field::Request => "Only records of one request.",
            Field::Parent => "Only records that are part of one.",
            Field::Agent => "Only what an agent's hooks reported.",
            _ => "Only records that have this.",
        };
        told = told.query(field.name(), &schema, about);
    }
    let time = json!({
        "type": "string",
        "pattern": TIME,
        "description": "A date from 1970 on, or a time as RFC 3339 has it, also without seconds.",
    });
    told.whose(For::Auditors)
        .query("start_time", &time, "Not before this time.")
        .query(
            "end_time",
            &time,
            "Not after this time; a date takes its whole day along.",
        )
}

/// Returns an expression for one or several, with commas between them and blanks about each.
pub(super) fn listed(one: &str) -> String {
    format!("^ *({one}) *(, *({one}) *)*$")
}

/// A record as it is sent.
pub(super) type Shown = ShownRecord<'static, Value>;

/// A page of the log.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ActivityPage")]
pub(super) struct Page {
    /// The records, newest first.
    #[schemars(with = "Vec<Shown>")]
    activities: Vec<Option<Box<RawValue>>>,
    /// Where the next page begins, to be handed back as `cursor`; nothing where there are no more.
    next_cursor: Option<String>,
    /// How many records are known to have been lost, ever.
    lost: u64,
}

/// The receipts of a call.
#[derive(Serialize, JsonSchema)]
pub(super) struct Receipts {
    /// Whether receipts are written.
    enabled: bool,
    /// What was receipted, oldest first.
    receipts: Vec<Found>,
}

/// A receipt, and where it is.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Receipt")]
struct Found {
    /// The receipt as it was written, which `assay` reads.
    #[schemars(with = "Map<String, Value>")]
    receipt: Option<Box<RawValue>>,
    /// The name of the pack that it is in, once it is in one.
    pack: Option<String>,
    /// The proof that it is in that pack.
    #[schemars(with = "Option<Map<String, Value>>")]
    proof: Option<Box<RawValue>>,
}

/// What a cursor looks like.
pub(super) fn cursor() -> Value {
    json!({ "type": "string", "pattern": "^[0-9]{1,18}(-[0-9]{1,18})?$" })
}

/// Lists records, newest first.
pub(super) async fn list(
    AxumState(gateway): Shared,
    who: Who,
    Asked(asked): Asked<Vec<(String, String)>>,
) -> Response {
    let asked = resolved(&gateway, asked);
    let control = Arc::clone(gateway.access.control());
    let page = blocking(move || {
        let page = control.activity(&who, &asked)?;
        Ok(Page {
            activities: page.records.into_iter().map(raw).collect(),
            next_cursor: page.next.map(|next| next.to_string()),
            lost: page.lost,
        })
    });
    page.await
}

/// Counts what a stretch of time came to.
pub(super) async fn summary(
    AxumState(gateway): Shared,
    who: Who,
    Asked(asked): Asked<Vec<(String, String)>>,
) -> Response {
    // Those before it do not take long, and whoever watches a page comes again and again.
    let asked = resolved(&gateway, asked);
    let control = Arc::clone(gateway.access.control());
    few(&gateway.summaries, move || {
        control.activity_summary(&who, &asked)
    })
    .await
}

/// Answers what takes long, a few at once: whoever hangs up ends the request, and not the work.
pub(super) async fn few<T: Serialize>(
    places: &Arc<Semaphore>,
    question: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Response {
    let place = tokio::time::timeout(PATIENCE, Arc::clone(places).acquire_owned()).await;
    let Ok(Ok(place)) = place else {
        return too_many(LATER);
    };
    let answered = move || {
        let answer = question();
        drop(place);
        answer
    };
    blocking(answered).await
}

/// Carries records away, chunk by chunk as they are read.
pub(super) async fn export(
    AxumState(gateway): Shared,
    who: Who,
    Asked(asked): Asked<Vec<(String, String)>>,
) -> Response {
    let caller = Gateway::flow_scope(&who).0;
    let (all, each) = EXPORTS;
    let Some(place) = gateway.exports.admit(caller, all, each) else {
        return too_many(LATER);
    };
    let in_parts = asked.iter().any(|(name, _)| name == "limit");
    let asked = resolved(&gateway, asked);
    let control = Arc::clone(gateway.access.control());
    let begun = tokio::task::spawn_blocking(move || {
        let mut export = control.export_activity(&who, &asked)?;
        let mut part = Vec::new();
        // Where a part ends is told before it: such a part is bounded, and read whole.
        while in_parts && let Some(chunk) = export.chunk() {
            part.extend(chunk.map_err(Refused::Failed)?);
        }
        Ok((export, part))
    });
    match begun.await {
        Ok(Ok((export, part))) => sent(export, part, place),
        Ok(Err(refusal)) => refused(&refusal),
        Err(_) => lost(),
    }
}

fn sent(mut export: Export, part: Vec<u8>, place: Place) -> Response {
    let name = format!("attachment; filename=\"activity.{}\"", export.extension());
    let (kind, next) = (export.media_type(), export.next());
    let first = (!part.is_empty()).then_some(Ok(part));
    let rest = std::iter::from_fn(move || export.chunk());
    let mut answer = body(first.into_iter().chain(rest), place).into_response();
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    let next = next.and_then(|next| HeaderValue::from_str(&next.to_string()).ok());
    if let Some(next) = next {
        headers.insert(NEXT, next);
    }
    answer
}

/// Sends chunks as they are made. What breaks off ends in a way that no reader takes for the end.
fn body<F: Display>(
    chunks: impl Iterator<Item = Result<Vec<u8>, F>> + Send + 'static,
    place: impl Send + 'static,
) -> Body {
    let (sender, mut receiver) = mpsc::channel::<Result<Bytes, io::Error>>(WAITING);
    tokio::task::spawn_blocking(move || {
        for chunk in chunks {
            let (chunk, ends) = match chunk {
                Ok(chunk) if chunk.is_empty() => continue,
                Ok(chunk) => (Ok(chunk.into()), false),
                Err(fault) => {
                    tracing::error!("an export was broken off: {fault}");
                    (Err(io::Error::other("broken off")), true)
                }
            };
            // Who reads may be gone.
            if sender.blocking_send(chunk).is_err() || ends {
                break;
            }
        }
        drop(place);
    });
    Body::from_stream(poll_fn(move |context| receiver.poll_recv(context)))
}

/// Sessions may be asked for by the names that agents have for them; the log knows others.
fn resolved(gateway: &Gateway, asked: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut resolved = Vec::with_capacity(asked.len());
    for (name, value) in asked {
        if name != Field::Session.name() {
            resolved.push((name, value));
            continue;
        }
        for id in sessions::meant(gateway, &value) {
            let id = id.to_string();
            // One that lasts knows its links; those of one that has ended are on record.
            let linked = gateway.engine.linked(&id);
            let pair = |id: String| (name.clone(), id);
            resolved.extend(linked.into_iter().chain([id]).map(pair));
        }
    }
    resolved
}

/// Shows what was last recorded about a call.
pub(super) async fn show(AxumState(gateway): Shared, who: Who, At(id): At<String>) -> Response {
    let control = Arc::clone(gateway.access.control());
    blocking(move || control.activity_record(&who, &id).map(raw)).await
}

/// Shows the receipts of a call.
pub(super) async fn receipts(AxumState(gateway): Shared, who: Who, At(id): At<String>) -> Response {
    let control = Arc::clone(gateway.access.control());
    let call = CallId::parse(&id);
    let record = tokio::task::spawn_blocking(move || control.activity_record(&who, &id)).await;
    let record: Value = match record {
        Ok(Ok(record)) => serde_json::from_str(&record).unwrap_or_default(),
        Ok(Err(refusal)) => return refused(&refusal),
        Err(_) => return lost(),
    };
    let at = record.get("timestamp").and_then(Value::as_str);
    let (Some(keeper), Some(call), Some(at)) = (
        gateway.engine.receipts(),
        call,
        at.and_then(Wall::from_rfc3339),
    ) else {
        return done(&Receipts {
            enabled: false,
            receipts: Vec::new(),
        });
    };
    match keeper.find(call, at).await {
        Ok(found) => done(&Receipts {
            enabled: true,
            receipts: found.into_iter().map(Found::of).collect(),
        }),
        Err(why) => failed(StatusCode::INTERNAL_SERVER_ERROR, &why, None),
    }
}

impl Found {
    fn of(found: Receipted) -> Self {
        Self {
            receipt: raw(found.line),
            pack: found.pack,
            proof: found.proof.and_then(raw),
        }
    }
}

/// Hands JSON text on as it is.
fn raw(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}

/// Asks where waiting for the disk holds nobody else up.
pub(super) async fn blocking<T: Serialize>(
    question: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Response {
    let answered = move || match question() {
        Ok(answer) => done(&answer),
        Err(refusal) => refused(&refusal),
    };
    let answered = tokio::task::spawn_blocking(answered).await;
    answered.unwrap_or_else(|_| lost())
}

pub(super) fn lost() -> Response {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    failed(status, "the answer was lost", None)
}

#[cfg(test)]
mod tests {
    use mcpproxy_mcp::body::read_bounded;
    use regex::Regex;

    use super::*;

    /// Regression for #8: the document let pass what was refused, as days that a month does not have.
    #[test]
    fn what_the_document_says_of_times_is_what_is_taken() {
        let pattern = Regex::new(TIME).unwrap();
        let check = |text: &str| {
            let is_read = Wall::from_rfc3339(text).is_some();
            assert_eq!(pattern.is_match(text), is_read, "{text}");
            is_read
        };
        let years = (0..2).chain(1960..2110).chain(2390..2410);
        let (mut read, years) = (0, years.chain([3000, 3200, 9600, 9900, 9996, 9999]));
        for year in years {
            for month in 0..=13 {
                for day in 0..=32 {
                    read += usize::from(check(&format!("{year:04}-{month:02}-{day:02}")));
                }
            }
        }
        assert!(read > 60_000, "{read}");
        for time in [
            "00:00:00Z",
            "00:00:00+23:59",
            "23:59:59.123-23:59",
            "12:00:00z",
        ] {
            for date in ["1970-01-01", "9999-12-31"] {
                assert!(check(&format!("{date}T{time}")), "{date}T{time}");
            }
        }
        for wrong in [
            "2026-01-01T",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.Z",
        ] {
            assert!(!check(wrong));
        }
    }

    #[test]
    fn every_list_that_is_taken_is_in_the_document() {
        let told = filtered(Told::giving::<Page>("Lists."));
        let check = |name: &str, list: &str| {
            let mut parameters = told.parameters.iter();
            let one = parameters.find(|one| one["name"] == name).unwrap();
            let pattern = one["schema"]["pattern"].as_str().unwrap();
            assert!(Regex::new(pattern).unwrap().is_match(list), "{name}: {one}");
        };
        check("decision", "ask,deny");
        check("severity", "high,critical");
        check("risk_level", "medium,high");
        check("source", "mcp,hook");
        check(
            "flow_type",
            "internal→external,internal->internal,external_to_internal",
        );
    }

    #[tokio::test]
    async fn an_export_that_breaks_off_does_not_look_whole() {
        let chunk = |text: &str| Ok::<_, &str>(text.as_bytes().to_vec());
        let whole = body([chunk("a"), chunk(""), chunk("b")].into_iter(), ());
        let read = async |body| read_bounded(body, 100, Duration::from_secs(5)).await;
        assert_eq!(&*read(whole).await.unwrap(), b"ab");
        let broken = [chunk("a"), Err("the database is gone"), chunk("b")];
        let broken = body(broken.into_iter(), ());
        assert!(read(broken).await.is_err());
    }
}
