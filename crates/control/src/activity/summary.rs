//! What a stretch of time came to: counts over the records of the log, and nothing of their words.
//!
//! The log counts by itself, however many records there are: each call once, by its intent only where
//! nothing followed it. Only what moved data and what somebody was asked about is read.

mod seen;
mod stretch;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use mcpproxy_core::count::INTENT;
use mcpproxy_core::{
    ActivityQuery, ActivityReader, Cell, CountQuery, Counted, Field, Principal, ReadFault, Wall,
};
use schemars::JsonSchema;
use serde::Serialize;

use self::seen::Seen;
use self::stretch::{Period, Stretch};
use super::{CHUNK, CLOSING, Question, intents, wrong};
use crate::change::{Act, Mandate};
use crate::control::Control;
use crate::error::{Error, Refused};

/// Records that are read for one part of a summary; of more the newest are, and it says so.
pub const MOST_READ: usize = 100_000;
/// Upstreams and groups that are named, the busiest first.
const MOST_NAMED: usize = 100;
/// Flows that are named, the most frequent first.
const MOST_FLOWS: usize = 50;
/// Flows that are told apart while counting, and uses of tools and sessions that are remembered.
const MOST_KEYS: usize = 10_000;

/// What records are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupBy {
    Server,
    Tool,
    Kind,
    Status,
    Session,
    Principal,
    Agent,
    FlowType,
    RiskLevel,
}

impl GroupBy {
    const ALL: [(&'static str, Self); 9] = [
        ("server", Self::Server),
        ("tool", Self::Tool),
        ("type", Self::Kind),
        ("status", Self::Status),
        ("session_id", Self::Session),
        ("principal", Self::Principal),
        ("agent", Self::Agent),
        ("flow_type", Self::FlowType),
        ("risk_level", Self::RiskLevel),
    ];

    /// Returns the fields whose values make a group.
    fn fields(self) -> Vec<Field> {
        match self {
            Self::Server => vec![Field::Upstream],
            Self::Tool => vec![Field::Upstream, Field::Tool],
            Self::Kind => vec![Field::Kind],
            Self::Status => vec![Field::Status],
            Self::Session => vec![Field::Session],
            Self::Principal => vec![Field::Principal],
            Self::Agent => vec![Field::Agent],
            Self::FlowType => vec![Field::FlowType],
            Self::RiskLevel => vec![Field::RiskLevel],
        }
    }
}

/// What a stretch of time came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ActivitySummary")]
pub struct Summary {
    /// The stretch, as it was asked for; `custom` where a start was given.
    pub period: String,
    /// Its start.
    pub start_time: String,
    /// Its end.
    pub end_time: String,
    /// Records.
    pub total: u64,
    /// Calls among them: uses of tools, prompts and resources, each once.
    pub calls: u64,
    /// Calls that were stopped.
    pub blocked: u64,
    /// Whether `flows`, `approvals` and the calls that nothing followed are of all records of the stretch;
    /// otherwise of those since `counted_from`. All other counts are of all records.
    pub complete: bool,
    /// From when on flows, questions and calls that nothing followed are counted, where that is not the
    /// start.
    pub counted_from: Option<String>,
    /// Records by how they ended.
    pub by_status: BTreeMap<String, u64>,
    /// Records by type.
    pub by_type: BTreeMap<String, u64>,
    /// Records by the risk of their flow.
    pub by_risk: BTreeMap<String, u64>,
    /// Records by the direction in which data moved; what closes a session says again what its calls did,
    /// and is not among them.
    pub by_flow: BTreeMap<String, u64>,
    /// Upstreams, the busiest first.
    pub servers: Vec<Named>,
    /// How many more upstreams there are.
    pub more_servers: usize,
    /// The stretch in equal parts, oldest first.
    pub buckets: Vec<Bucket>,
    /// Questions that were put to somebody.
    pub approvals: Asks,
    /// Where data was read and where it went, the most frequent first.
    pub flows: Vec<Flow>,
    /// What was asked for with `group_by`, the largest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<Group>>,
    /// How many more groups there are, where groups were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_groups: Option<usize>,
}

/// An upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "UpstreamActivity")]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Records about it.
    pub total: u64,
    /// Calls that were stopped.
    pub blocked: u64,
}

/// A group of records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Group {
    /// What they have in common.
    pub key: String,
    /// How many there are.
    pub total: u64,
    /// Calls that were stopped.
    pub blocked: u64,
}

/// A part of the stretch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bucket {
    /// Its start.
    pub start: String,
    /// Records.
    pub total: u64,
    /// Calls among them.
    pub calls: u64,
    /// Calls that were stopped.
    pub blocked: u64,
    /// Calls by risk.
    pub risk: BTreeMap<&'static str, u64>,
}

/// Questions that were put to somebody, and how they ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Asks {
    /// Questions. A call that is made again while its question waits is no other one.
    pub asked: u64,
    /// Those that were answered with yes.
    pub approved: u64,
    /// Those that were answered with no, or of which an agent did not go on to use the tool.
    pub denied: u64,
    /// Those that nobody has answered: they wait, or their time is over.
    pub unanswered: u64,
    /// The share of those with an answer that was approved; nothing where none has one.
    pub approved_share: Option<f64>,
}

impl Asks {
    fn count(&mut self, answer: Option<bool>) {
        self.asked += 1;
        match answer {
            Some(true) => self.approved += 1,
            Some(false) => self.denied += 1,
            None => self.unanswered += 1,
        }
    }
}

/// Data from one place to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Flow {
    /// Where it was read, as `upstream:tool`.
    pub source: String,
    /// Where it went, as `upstream:tool`.
    pub destination: String,
    /// The direction.
    pub flow_type: String,
    /// The risk.
    pub risk_level: String,
    /// How often.
    pub count: u64,
}

impl Control {
    /// Counts what is on record, as `GET /activity/summary` is asked for it: `period`, `group_by`
    /// and every filter of the list.
    pub fn activity_summary(
        &self,
        who: &Principal,
        asked: &[(String, String)],
    ) -> Result<Summary, Refused> {
        Mandate::to_audit(who, Act::ReadActivity)?;
        let log = self.log()?;
        let mut period = None;
        let mut group_by = None;
        let mut filters = Vec::new();
        for (name, value) in asked {
            match name.as_str() {
                "period" => period = Some(one_of(name, value, &Period::ALL)?),
                "group_by" => group_by = Some(one_of(name, value, &GroupBy::ALL)?.1),
                "cursor" | "limit" | "offset" => {
                    return Err(wrong(name, value, "a summary has no pages").into());
                }
                _ => filters.push((name.clone(), value.clone())),
            }
        }
        let question = self.question(&filters)?;
        let stretch = Stretch::of(period, &question.query, self.now());
        let summing = Summing::new(stretch, group_by);
        Ok(summing.run(log, question).map_err(Error::Unreadable)?)
    }
}

/// Finds what goes by a name.
fn one_of<T: Copy>(
    name: &str,
    value: &str,
    all: &[(&'static str, T)],
) -> Result<(&'static str, T), Error> {
    let found = all.iter().find(|(known, _)| *known == value);
    found.copied().ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|(known, _)| *known).collect();
        wrong(name, value, &format!("known are {}", known.join(", ")))
    })
}

/// A summary that is being made.
struct Summing {
    summary: Summary,
    stretch: Stretch,
    group_by: Option<GroupBy>,
    flows: BTreeMap<Flow, u64>,
    /// Uses of tools about which an agent was told to ask, by the session of each.
    asked: Vec<(String, String)>,
    /// Questions by the call that they are about, and how they were answered, if they were.
    questions: HashMap<String, Option<bool>>,
}

impl Summing {
    fn new(stretch: Stretch, group_by: Option<GroupBy>) -> Self {
        let bucket = |start: Wall| Bucket {
            start: start.rfc3339(),
            risk: ["none", "medium", "high", "critical"]
                .map(|risk| (risk, 0))
                .into(),
            ..Bucket::default()
        };
        Self {
            summary: Summary {
                period: stretch.name.to_owned(),
                start_time: stretch.from.rfc3339(),
                end_time: stretch.to.rfc3339(),
                complete: true,
                buckets: stretch.starts().map(bucket).collect(),
                ..Summary::default()
            },
            stretch,
            group_by,
            flows: BTreeMap::new(),
            asked: Vec::new(),
            questions: HashMap::new(),
        }
    }

    fn run(mut self, log: &dyn ActivityReader, question: Question) -> Result<Summary, ReadFault> {
        let mut query = question.query;
        query.from = Some(self.stretch.from);
        query.to = Some(self.stretch.to);
        query.limit = CHUNK;
        let mut by = vec![vec![Field::Upstream]];
        by.extend(self.group_by.map(GroupBy::fields));
        let asked = CountQuery {
            query,
            part: self.stretch.part,
            by,
        };
        self.count(log.count(&asked)?);
        let query = asked.query;
        self.follow(log, &query)?;
        self.ask(log, &query)?;
        Ok(self.finish())
    }

    /// Takes over what the log counted.
    fn count(&mut self, counted: Counted) {
        let is_by_direction = self.group_by == Some(GroupBy::FlowType);
        let directions = is_by_direction.then(|| directions(&counted));
        for (cell, many) in counted.cells {
            self.add(&cell, many);
        }
        if let Some(since) = counted.intents_since {
            self.stop(Some(since.rfc3339()));
        }
        let mut groups = counted.groups.into_iter();
        let (named, more) = groups.next().map(sorted).unwrap_or_default();
        let named = named.into_iter().map(|(name, total, blocked)| Named {
            name,
            total,
            blocked,
        });
        self.summary.servers = named.collect();
        self.summary.more_servers = more;
        let groups = directions.or_else(|| groups.next());
        if let Some((groups, more)) = groups.map(sorted) {
            let group = |(key, total, blocked)| Group {
                key,
                total,
                blocked,
            };
            self.summary.groups = Some(groups.into_iter().map(group).collect());
            self.summary.more_groups = Some(more);
        }
    }

    fn add(&mut self, cell: &Cell, many: u64) {
        let blocked = if cell.is_stopped() { many } else { 0 };
        let calls = if cell.is_call { many } else { 0 };
        let summary = &mut self.summary;
        summary.total += many;
        summary.calls += calls;
        summary.blocked += blocked;
        let count = |counts: &mut BTreeMap<String, u64>, key: &String| {
            *counts.entry(key.clone()).or_default() += many;
        };
        count(&mut summary.by_status, &cell.status);
        count(&mut summary.by_type, &cell.kind);
        // The end of a session tells once more of the worst in it.
        if cell.kind != CLOSING {
            count(&mut summary.by_risk, &cell.risk_level);
            count(&mut summary.by_flow, &cell.flow_type);
        }
        let last = summary.buckets.len().saturating_sub(1);
        let number = usize::try_from(cell.part).unwrap_or(usize::MAX).min(last);
        let Some(bucket) = summary.buckets.get_mut(number) else {
            return;
        };
        bucket.total += many;
        bucket.calls += calls;
        bucket.blocked += blocked;
        if let Some(count) = bucket.risk.get_mut(&*cell.risk_level) {
            *count += calls;
        }
    }

    /// Reads the records that have some values in a field beside what is asked for, newest first.
    fn read(
        &mut self,
        log: &dyn ActivityReader,
        query: &ActivityQuery,
        narrow: &[(Field, Vec<String>)],
        mut each: impl FnMut(&mut Self, &Seen<'_>),
    ) -> Result<(), ReadFault> {
        let mut query = narrowed(query, narrow);
        let mut looked = 0;
        loop {
            let page = log.page(&query)?;
            looked += page.records.len();
            let mut oldest = None;
            for record in &intents::sifted(log, &query, page.records)? {
                if let Ok(seen) = serde_json::from_str::<Seen<'_>>(record) {
                    oldest = Some(seen.timestamp.clone().into_owned());
                    each(self, &seen);
                }
            }
            match page.next {
                None => return Ok(()),
                Some(next) if looked < MOST_READ => query.before = Some(next),
                Some(_) => {
                    self.stop(oldest);
                    return Ok(());
                }
            }
        }
    }

    /// Notes that something is told only from a time on.
    fn stop(&mut self, oldest: Option<String>) {
        self.summary.complete = false;
        let latest = &mut self.summary.counted_from;
        *latest = oldest.max(latest.take());
    }

    /// Counts where data was read and where it went.
    fn follow(&mut self, log: &dyn ActivityReader, query: &ActivityQuery) -> Result<(), ReadFault> {
        let moved = Field::FlowType.known().unwrap_or_default().iter();
        let moved = moved.filter(|flow| **flow != "none");
        let mut narrow = vec![(
            Field::FlowType,
            moved.map(|&flow| flow.to_owned()).collect(),
        )];
        if query.asks_for_types() {
            // What is about to leave stands again, with how it ended.
            let kinds = Field::Kind.known().unwrap_or_default().iter();
            let kinds = kinds.filter(|kind| **kind != INTENT);
            narrow.push((Field::Kind, kinds.map(|&kind| kind.to_owned()).collect()));
        }
        self.read(log, query, &narrow, Self::add_flow)
    }

    /// Counts questions. Whoever asks a person puts on record that they do, and what is answered. An
    /// agent that was told to ask reports the use of the tool if its user agreed.
    fn ask(&mut self, log: &dyn ActivityReader, query: &ActivityQuery) -> Result<(), ReadFault> {
        let only = |field: Field, value: &str| (field, vec![value.to_owned()]);
        let approvals = [only(Field::Kind, "approval")];
        self.read(log, query, &approvals, Self::add_question)?;
        let told = [
            only(Field::Kind, "hook_evaluation"),
            only(Field::Decision, "ask"),
        ];
        self.read(log, query, &told, |summing, seen| {
            if seen.effective == "ask"
                && let Some((used, false)) = seen.hooked_use()
            {
                let session = seen.session_id.clone().into_owned();
                summing.asked.push((session, used));
            }
        })?;
        let done = self.done(log, query)?;
        for (_, used) in &self.asked {
            self.summary.approvals.count(Some(done.contains(used)));
        }
        Ok(())
    }

    /// Returns the uses of tools that took place in the sessions in which agents were told to ask.
    fn done(
        &mut self,
        log: &dyn ActivityReader,
        query: &ActivityQuery,
    ) -> Result<HashSet<String>, ReadFault> {
        let sessions: BTreeSet<_> = self.asked.iter().map(|(session, _)| session).collect();
        if sessions.is_empty() {
            return Ok(HashSet::new());
        }
        let sessions: Vec<_> = sessions.into_iter().take(MOST_KEYS).cloned().collect();
        let narrow = [
            (Field::Kind, vec!["hook_evaluation".to_owned()]),
            (Field::Session, sessions),
        ];
        let mut done = HashSet::new();
        self.read(log, query, &narrow, |_, seen| {
            if let Some((used, true)) = seen.hooked_use() {
                done.insert(used);
            }
        })?;
        Ok(done)
    }

    fn add_flow(&mut self, seen: &Seen<'_>) {
        for source in seen.sources() {
            let flow = Flow {
                source,
                destination: format!("{}:{}", seen.server_name, seen.tool_name),
                flow_type: seen.flow_type.to_string(),
                risk_level: seen.risk_level.to_string(),
                count: 0,
            };
            if self.flows.len() < MOST_KEYS || self.flows.contains_key(&flow) {
                *self.flows.entry(flow).or_default() += 1;
            }
        }
    }

    fn add_question(&mut self, seen: &Seen<'_>) {
        let Some((about, answer)) = seen.question() else {
            return;
        };
        let known = self.questions.contains_key(about);
        if known || self.questions.len() < MOST_READ {
            let kept = self.questions.entry(about.to_owned()).or_default();
            *kept = kept.or(answer);
        }
    }

    fn finish(mut self) -> Summary {
        let mut flows: Vec<_> = self.flows.into_iter().collect();
        flows.sort_by(|(one, many), (other, more)| more.cmp(many).then(one.cmp(other)));
        let flow = |(flow, count)| Flow { count, ..flow };
        self.summary.flows = flows.into_iter().take(MOST_FLOWS).map(flow).collect();
        let asks = &mut self.summary.approvals;
        self.questions.values().for_each(|one| asks.count(*one));
        asks.approved_share = share(asks.approved, asks.approved + asks.denied);
        self.summary
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    let float = |number: u64| u32::try_from(number).map_or(f64::from(u32::MAX), f64::from);
    (whole > 0).then(|| float(part) / float(whole))
}

/// Returns a question about those records alone that have one of some values in fields.
fn narrowed(query: &ActivityQuery, narrow: &[(Field, Vec<String>)]) -> ActivityQuery {
    let mut query = query.clone();
    for (field, values) in narrow {
        match query.wanted.iter_mut().find(|(known, _)| known == field) {
            Some((_, known)) => known.retain(|one| values.contains(one)),
            None => query.wanted.push((*field, values.clone())),
        }
    }
    query
}

/// Counts records by direction, but for those that close sessions.
fn directions(counted: &Counted) -> BTreeMap<String, (u64, u64)> {
    let mut directions: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let cells = counted.cells.iter();
    for (cell, many) in cells.filter(|(cell, _)| cell.kind != CLOSING) {
        let (total, blocked) = directions.entry(cell.flow_type.clone()).or_default();
        *total += many;
        *blocked += if cell.is_stopped() { *many } else { 0 };
    }
    directions
}

/// The largest first, as many as are named, and how many more there are.
fn sorted(counts: BTreeMap<String, (u64, u64)>) -> (Vec<(String, u64, u64)>, usize) {
    let counts = counts.into_iter();
    let mut counts: Vec<_> = counts.map(|(key, (all, some))| (key, all, some)).collect();
    counts.sort_by(|(one, many, _), (other, more, _)| more.cmp(many).then(one.cmp(other)));
    let more = counts.len().saturating_sub(MOST_NAMED);
    counts.truncate(MOST_NAMED);
    (counts, more)
}

#[cfg(test)]
mod tests;
