//! A conversation and those that are linked with it: an agent's hook knows a session by one name,
//! the protocol by another, and who asks for either wants both.

use std::collections::BTreeSet;

use mcpproxy_core::{ActivityQuery, ActivityReader, Field, Order, ReadFault};
use serde::Deserialize;

use super::CLOSING;

/// Records that are looked through for links; they are the newest of the session.
const LOOKED: usize = 200;
/// Sessions that one question can come to be about.
const MOST: usize = 64;

/// What a record says about links.
#[derive(Deserialize)]
struct Linked {
    session_id: String,
    #[serde(default)]
    mcp_session_id: Option<String>,
    #[serde(default)]
    summary: Option<Summary>,
}

#[derive(Deserialize)]
struct Summary {
    linked_sessions: Vec<String>,
}

/// Adds to the sessions that are asked for those that their records name, and has all of them told
/// in the order of time: a call that took long stands where it began, not where it ended.
///
/// A record of a linked conversation stands under the hook's session and names the protocol's: so from
/// the protocol's side the hooks' are looked for first, and from there all others are one step away.
/// What closes a session names its links.
pub(super) fn widen(log: &dyn ActivityReader, query: &mut ActivityQuery) -> Result<(), ReadFault> {
    let wanted = query.wanted.iter_mut();
    let Some((_, sessions)) = wanted
        .into_iter()
        .find(|(field, _)| *field == Field::Session)
    else {
        return Ok(());
    };
    query.order = Order::Begun;
    let mut known: BTreeSet<String> = sessions.iter().cloned().collect();
    let named = vec![(Field::McpSession, sessions.clone())];
    known.extend(looked(log, named)?.into_iter().map(|one| one.session_id));
    let from: Vec<_> = known.iter().take(MOST).cloned().collect();
    for kinds in [&[CLOSING][..], &["tool_call", "policy_decision"]] {
        let kinds = kinds.iter().map(|&kind| kind.to_owned()).collect();
        let named = vec![(Field::Session, from.clone()), (Field::Kind, kinds)];
        for linked in looked(log, named)? {
            known.extend(linked.mcp_session_id);
            let summary = linked.summary.map(|summary| summary.linked_sessions);
            known.extend(summary.into_iter().flatten());
        }
    }
    for session in known.into_iter().take(MOST) {
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    Ok(())
}

/// Returns what the newest records that have something say about links.
fn looked(
    log: &dyn ActivityReader,
    wanted: Vec<(Field, Vec<String>)>,
) -> Result<Vec<Linked>, ReadFault> {
    let page = log.page(&ActivityQuery {
        wanted,
        limit: LOOKED,
        ..ActivityQuery::default()
    })?;
    let records = page.records.iter();
    let read = records.map(|record| serde_json::from_str(record));
    Ok(read.filter_map(Result::ok).collect())
}
