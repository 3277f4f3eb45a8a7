//! Intents in lists and exports. In strict mode a call is on record before it leaves, and once more with
//! how it ended. A list tells of a call once: by its intent only where nothing followed it, as of a call
//! that is under way or that a stop cut off. Whoever asks for a type gets all that is of it. Counts keep
//! to the same, by the log itself.

use std::collections::BTreeSet;

use mcpproxy_core::count::INTENT;
use mcpproxy_core::{ActivityPage, ActivityQuery, ActivityReader, CallId, Field, ReadFault, Wall};
use serde::Deserialize;

use super::{CALLS, CHUNK};

#[cfg(test)]
mod tests;

/// Records that are looked through for one page. Where nearly all are intents that were followed, a
/// page ends here with fewer than are wanted, and the next goes on.
const MOST_LOOKED: usize = 10_000;

/// What is looked at of a record.
#[derive(Debug, Deserialize)]
struct Seen {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    request_id: String,
    timestamp: String,
}

/// Returns a page without the intents that were followed.
pub(super) fn page(
    log: &dyn ActivityReader,
    query: &ActivityQuery,
) -> Result<ActivityPage, ReadFault> {
    page_within(log, query, MOST_LOOKED)
}

/// The same, with so many records looked through at most.
fn page_within(
    log: &dyn ActivityReader,
    query: &ActivityQuery,
    most: usize,
) -> Result<ActivityPage, ReadFault> {
    if !query.may_meet_intents() || (query.skip > 0 && has_none(log, query)?) {
        return log.page(query);
    }
    let mut sifted = Sifted {
        query: ActivityQuery {
            skip: 0,
            limit: query.skip.saturating_add(query.limit).min(CHUNK),
            ..query.clone()
        },
        skip: query.skip,
        limit: query.limit,
        page: ActivityPage::default(),
    };
    let mut looked = 0;
    while looked < most {
        let read = log.page(&sifted.query)?;
        looked += read.records.len();
        sifted.take(log, read)?;
        if sifted.is_whole() {
            break;
        }
        sifted.query.before = sifted.page.next;
        // What was followed comes in long rows where little else is asked for.
        sifted.query.limit = (sifted.query.limit * 2).min(CHUNK);
    }
    Ok(sifted.page)
}

/// Tells whether a question is about no intent at all, as in a log that was never strict: the log can
/// then skip records by itself.
fn has_none(log: &dyn ActivityReader, query: &ActivityQuery) -> Result<bool, ReadFault> {
    let mut intents = ActivityQuery {
        skip: 0,
        limit: 1,
        ..query.clone()
    };
    let kind = (Field::Kind, vec![INTENT.to_owned()]);
    intents.wanted.push(kind);
    Ok(log.page(&intents)?.records.is_empty())
}

/// A page that is being put together.
struct Sifted {
    /// The next question to the log.
    query: ActivityQuery,
    /// Records that are still to be left out.
    skip: usize,
    limit: usize,
    page: ActivityPage,
}

impl Sifted {
    /// Tells whether nothing more can come to the page.
    fn is_whole(&self) -> bool {
        self.page.records.len() >= self.limit || self.page.next.is_none()
    }

    /// Takes what was read, as far as there is room for it.
    fn take(&mut self, log: &dyn ActivityReader, read: ActivityPage) -> Result<(), ReadFault> {
        let shown = shown(log, &read.records)?;
        (self.page.lost, self.page.next) = (read.lost, read.next);
        let records = read.records.into_iter().zip(shown);
        for (place, (record, shown)) in records.enumerate() {
            if self.page.records.len() >= self.limit {
                // Only the log knows where the last one that fits stands. What is asked lies behind
                // a cursor, where nothing new comes in between.
                self.query.limit = place;
                self.page.next = log.page(&self.query)?.next;
                break;
            }
            match shown {
                false => {}
                true if self.skip > 0 => self.skip -= 1,
                true => self.page.records.push(record),
            }
        }
        Ok(())
    }
}

/// Leaves of the answer to a question what tells of a call once.
pub(super) fn sifted(
    log: &dyn ActivityReader,
    query: &ActivityQuery,
    records: Vec<String>,
) -> Result<Vec<String>, ReadFault> {
    if !query.may_meet_intents() {
        return Ok(records);
    }
    let shown = shown(log, &records)?;
    let records = records.into_iter().zip(shown);
    Ok(records
        .filter_map(|(record, shown)| shown.then_some(record))
        .collect())
}

/// Says of each record whether it is shown: an intent only if nothing followed it.
fn shown(log: &dyn ActivityReader, records: &[String]) -> Result<Vec<bool>, ReadFault> {
    let may_be = |record: &String| record.contains("\"intent\"");
    if !records.iter().any(may_be) {
        return Ok(vec![true; records.len()]);
    }
    let seen: Vec<Option<Seen>> = records
        .iter()
        .map(|record| serde_json::from_str(record).ok())
        .collect();
    let (intents, others): (Vec<&Seen>, Vec<&Seen>) =
        seen.iter().flatten().partition(|one| one.kind == INTENT);
    let ends = others.iter().map(|one| one.id.clone());
    let mut ended: BTreeSet<String> = ends.collect();
    let open = intents.into_iter().filter(|one| !ended.contains(&one.id));
    let open: Vec<&Seen> = open.collect();
    ended.extend(followed(log, open)?);
    let is_shown = |one: &Option<Seen>| {
        let intent = one.as_ref().filter(|one| one.kind == INTENT);
        intent.is_none_or(|one| !ended.contains(&one.id))
    };
    Ok(seen.iter().map(is_shown).collect())
}

/// Returns the calls, of some intents, of which the log has more.
///
/// They are looked for together: both records of a call have its time and its request, by which the
/// log finds them without looking at others.
fn followed(log: &dyn ActivityReader, mut open: Vec<&Seen>) -> Result<Vec<String>, ReadFault> {
    let mut found = Vec::new();
    let Some(mut query) = ends_of(&open) else {
        return Ok(found);
    };
    let mut looked = 0;
    while !open.is_empty() && looked < MOST_LOOKED {
        let page = log.page(&query)?;
        looked += page.records.len();
        let ends = page.records.iter();
        let ends = ends.filter_map(|record| serde_json::from_str::<Seen>(record).ok());
        let ends: BTreeSet<String> = ends.map(|one| one.id).collect();
        open.retain(|one| !ends.contains(&one.id));
        found.extend(ends);
        let Some(next) = page.next else {
            return Ok(found);
        };
        query.before = Some(next);
    }
    // Who gives all requests one name is answered call by call.
    for intent in open {
        let call = CallId::parse(&intent.id);
        let last = call.map(|call| log.get(call)).transpose()?.flatten();
        let last = last.and_then(|record| serde_json::from_str::<Seen>(&record).ok());
        found.extend(last.filter(|one| one.kind != INTENT).map(|one| one.id));
    }
    Ok(found)
}

/// The question about what followed intents; nothing where there are none.
fn ends_of(open: &[&Seen]) -> Option<ActivityQuery> {
    let times = open.iter();
    let times = times.filter_map(|one| Wall::from_rfc3339(&one.timestamp));
    let (first, last) = (times.clone().min()?, times.max()?);
    let requests: BTreeSet<&String> = open.iter().map(|one| &one.request_id).collect();
    Some(ActivityQuery {
        wanted: vec![
            (Field::Request, requests.into_iter().cloned().collect()),
            (Field::Kind, CALLS.map(str::to_owned).to_vec()),
        ],
        from: Some(first),
        to: Some(last),
        limit: CHUNK,
        ..ActivityQuery::default()
    })
}
