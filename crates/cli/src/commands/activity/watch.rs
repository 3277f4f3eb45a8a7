//! `activity watch`: what happens, as it happens. A stream that breaks is opened again, after what
//! was seen last.

use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::args::{ActivityWatch, Format, Global};
use crate::commands::client::{encoded, open, runtime, socket};
use crate::output;

/// The ends of calls, which are what is watched where nothing else is asked for.
const ENDS: &str = "activity.tool_call.completed,activity.policy_decision,\
    activity.hook_evaluation.completed,activity.flow_summary.completed,activity.quarantine_change,\
    activity.tool_quarantine_change";
/// How long to wait before a stream is opened again.
const AGAIN: Duration = Duration::from_secs(3);
/// The longest line of a stream.
const LONGEST: usize = 1024 * 1024;
/// The risks, mildest first.
const RISKS: [&str; 4] = ["none", "medium", "high", "critical"];
/// What a row has room for.
const COLUMNS: [&str; 8] = [
    "timestamp",
    "event",
    "server_name",
    "tool_name",
    "status",
    "decision",
    "flow_type",
    "risk_level",
];

/// Prints events until there were enough, or for ever.
pub(super) fn run(global: &Global, watch: &ActivityWatch) -> Result<()> {
    let socket = socket(global);
    let types = watch.events.as_deref().unwrap_or(ENDS);
    let path = format!("/events?types={}", encoded(types));
    runtime()?.block_on(async {
        let mut watching = Watching {
            format: global.format(),
            watch,
            left: watch.number.unwrap_or(usize::MAX),
            last: None,
        };
        // Where nobody answers at first, nobody is waited for.
        let mut body = open(&socket, &path, None).await?;
        loop {
            if watching.read(body).await? {
                return Ok(());
            }
            output::note("notice: the stream ended; it is opened again");
            body = loop {
                tokio::time::sleep(AGAIN).await;
                if let Ok(body) = open(&socket, &path, watching.last.as_deref()).await {
                    break body;
                }
            };
        }
    })
}

struct Watching<'a> {
    format: Format,
    watch: &'a ActivityWatch,
    left: usize,
    last: Option<String>,
}

/// One event as it comes in.
#[derive(Default)]
struct Coming {
    name: String,
    data: String,
}

impl Watching<'_> {
    /// Reads a stream to its end; tells whether enough was printed.
    async fn read(&mut self, mut body: Incoming) -> Result<bool> {
        let (mut kept, mut coming) = (Vec::new(), Coming::default());
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else {
                continue;
            };
            for line in lines(&mut kept, &data) {
                if self.line(&line, &mut coming)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn line(&mut self, line: &str, coming: &mut Coming) -> Result<bool> {
        if line.is_empty() {
            let Coming { name, data } = std::mem::take(coming);
            return self.event(&name, &data);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut coming.name),
            "data" => coming.data.push_str(value),
            "id" => self.last = Some(value.to_owned()),
            _ => {}
        }
        Ok(false)
    }

    fn event(&mut self, name: &str, data: &str) -> Result<bool> {
        if matches!(name, "" | "status" | "ping") {
            return Ok(false);
        }
        let told: Value = serde_json::from_str(data).unwrap_or_default();
        let mut row = told.get("payload").cloned().unwrap_or_default();
        if name == "missed" {
            output::note("notice: some events were missed");
            return Ok(false);
        }
        if !self.wants(&row) {
            return Ok(false);
        }
        if let Some(row) = row.as_object_mut() {
            row.insert("event".to_owned(), json!(name));
            row.insert(
                "timestamp".to_owned(),
                told.get("timestamp").cloned().unwrap_or_default(),
            );
        }
        self.print(&row)?;
        self.left = self.left.saturating_sub(1);
        Ok(self.left == 0)
    }

    fn wants(&self, row: &Value) -> bool {
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
        let same = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| text(name) == wanted)
        };
        let rank = |risk: &str| RISKS.iter().position(|one| *one == risk).unwrap_or(0);
        let least = self.watch.risk_level.as_deref().map_or(0, rank);
        same(&self.watch.server, "server_name")
            && same(&self.watch.session_id, "session_id")
            && rank(text("risk_level")) >= least
    }

    fn print(&self, row: &Value) -> Result<()> {
        match self.format {
            Format::Table => {
                let cells = COLUMNS.map(|name| match row.get(name) {
                    Some(Value::String(text)) => output::flat(text),
                    Some(Value::Null) | None => "-".to_owned(),
                    Some(other) => other.to_string(),
                });
                output::line(&cells.join("  "))
            }
            Format::Yaml => output::rows(Format::Yaml, &[], std::slice::from_ref(row)),
            // Something that goes on has one value a line.
            Format::Json | Format::Jsonl | Format::Sarif => output::line(&row.to_string()),
        }
    }
}

/// Takes the lines out of what came in; what is not a line yet is kept.
fn lines(kept: &mut Vec<u8>, data: &Bytes) -> Vec<String> {
    kept.extend_from_slice(data);
    let mut lines = Vec::new();
    while let Some(end) = kept.iter().position(|byte| *byte == b'\n') {
        let rest = kept.split_off(end + 1);
        let line = std::mem::replace(kept, rest);
        let line = String::from_utf8_lossy(&line);
        lines.push(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    if kept.len() > LONGEST {
        kept.clear();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_wherever_the_stream_is_cut() {
        let text = "event: a\r\ndata: {}\n\n: ping\n";
        for cut in 0..text.len() {
            let (one, other) = text.as_bytes().split_at(cut);
            let mut kept = Vec::new();
            let mut all = lines(&mut kept, &Bytes::copy_from_slice(one));
            all.extend(lines(&mut kept, &Bytes::copy_from_slice(other)));
            assert_eq!(all, ["event: a", "data: {}", "", ": ping"], "{cut}");
        }
    }
}
