//! Records of the log that are looked through for a page: page after page, up to a bound, with a word
//! about whether that was all.

use mcpproxy_core::count::STOPPED;
use serde_json::Value;

use crate::api::Api;
use crate::error::Error;
use crate::look::Look as _;
use crate::session::Viewer;

/// Asks for records of calls that took something along, and of the sessions in which they did.
pub(super) const FLOWS: &str = "flow_type=internal_to_internal,external_to_external,\
                                external_to_internal,internal_to_external";
/// Records of a page, the most that the interface gives.
const PAGE: usize = 100;

/// Some records, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    pub(super) records: Vec<Value>,
    /// Whether the log has more.
    pub(super) more: bool,
}

impl Looked {
    /// Asks for pages until there are no more, or so many were read, or what was read is enough.
    pub(super) async fn at(
        api: &Api,
        viewer: &Viewer,
        question: &str,
        pages: usize,
        enough: impl Fn(&[Value]) -> bool,
    ) -> Result<Self, Error> {
        Self::read(api, viewer, question, pages, |_| true, enough).await
    }

    /// Asks in the same way for calls that took something along. What closes a session says again
    /// what its calls did, and is left out.
    pub(super) async fn flows(
        api: &Api,
        viewer: &Viewer,
        question: &str,
        pages: usize,
        enough: impl Fn(&[Value]) -> bool,
    ) -> Result<Self, Error> {
        let question = format!("{question}&{FLOWS}");
        Self::read(api, viewer, &question, pages, is_no_closing, enough).await
    }

    async fn read(
        api: &Api,
        viewer: &Viewer,
        question: &str,
        pages: usize,
        meant: impl Fn(&Value) -> bool,
        enough: impl Fn(&[Value]) -> bool,
    ) -> Result<Self, Error> {
        let mut looked = Self::default();
        let mut cursor = String::new();
        for _ in 0..pages {
            let path = format!("/activity?{question}&limit={PAGE}{cursor}");
            let mut page = api.get(viewer, &path).await?;
            if let Some(Value::Array(records)) = page.get_mut("activities").map(Value::take) {
                looked.records.extend(records.into_iter().filter(&meant));
            }
            let next = page.text("next_cursor");
            looked.more = !next.is_empty();
            if !looked.more || enough(&looked.records) {
                break;
            }
            cursor = format!("&cursor={}", mcpproxy_text::url::encoded(next));
        }
        Ok(looked)
    }

    /// Takes in what is not there yet.
    pub(super) fn add(&mut self, other: Self) {
        for record in other.records {
            let known = |one: &Value| one.text("id") == record.text("id");
            if !self.records.iter().any(known) {
                self.records.push(record);
            }
        }
    }
}

/// Tells whether a record is of something else than the end of a session.
pub(super) fn is_no_closing(record: &Value) -> bool {
    record.text("type") != "flow_summary"
}

/// How bad a risk is, for comparing.
pub(super) fn rank(level: &str) -> usize {
    let levels = ["none", "medium", "high", "critical"];
    levels.iter().position(|one| *one == level).unwrap_or(0)
}

/// Tells whether what has this status was stopped.
pub(super) fn is_stopped(status: &str) -> bool {
    STOPPED.contains(&status)
}
