//! Nodes to the owners' types, with every mistake named.
//!
//! The types are the only truth about what is allowed: serde stops at the first mistake, so the
//! value at fault is marked as removed and the rest is read again, until nothing is left to
//! complain about.

mod fault;
mod reader;

use mcpproxy_text::nearest;
use serde::de::DeserializeOwned;

use self::fault::Kind;
use self::reader::Reader;
use crate::node::Node;
use crate::path::Path;
use crate::report::Report;
use crate::source::Texts;

/// Reads a value of type `T` out of the node at `base`; what cannot be read is reported and left at
/// its default.
///
/// `also` names keys that are understood beside those of `T`.
pub(crate) fn decode<T: DeserializeOwned + Default>(
    node: &mut Node,
    base: &Path,
    also: &[&str],
    texts: &Texts,
    report: &mut Report,
) -> T {
    while !report.is_full() {
        let fault = match T::deserialize(Reader::new(node)) {
            Ok(value) => return value,
            Err(fault) => fault,
        };
        let (path, kind) = fault.into_parts();
        let full = base.join(path.clone());
        let place = match kind {
            Kind::UnknownKey { .. } => node.key_place(&path),
            Kind::UnknownValue { .. } | Kind::Missing(_) | Kind::Other { .. } => {
                node.place_of(&path)
            }
        };
        let place = place.unwrap_or(node.place);
        // A missing key is often a misspelled one, which is reported already.
        if !(matches!(kind, Kind::Missing(_)) && report.touches(&full)) {
            let also = if path.len() == 1 { also } else { &[] };
            let (message, hint) = explain(&kind, also);
            report.add(texts, &full, place, message, hint);
        }
        if path.is_empty() || !node.remove(&path) {
            break;
        }
    }
    T::default()
}

/// Returns the message for a mistake and, where there is one, the remedy.
fn explain(kind: &Kind, also: &[&str]) -> (String, Option<String>) {
    match kind {
        Kind::UnknownKey { name, known } => {
            let known = known.iter().chain(also).copied();
            let hint = nearest(name, known).map(|name| format!("did you mean `{name}`?"));
            ("unknown key".to_owned(), hint)
        }
        Kind::UnknownValue { name, known } => {
            let hint = match name
                .as_deref()
                .and_then(|name| nearest(name, known.iter().copied()))
            {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("use one of {}", list(known)),
            };
            let shown = name.as_deref().unwrap_or("***");
            (format!("unknown value `{shown}`"), Some(hint))
        }
        Kind::Missing(name) => (format!("`{name}` is missing"), None),
        Kind::Other { message, hint } => (message.clone(), hint.clone()),
    }
}

fn list(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
