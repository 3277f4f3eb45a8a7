//! What a stretch of time came to: counts over the records of the log, and nothing of their words.

mod seen;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use mcpproxy_core::{ActivityReader, Principal, ReadFault, Wall};
use schemars::JsonSchema;
use serde::Serialize;

use self::seen::Seen;
use super::{CHUNK, Question, wrong};
use crate::change::{Act, Mandate};
use crate::control::Control;
use crate::error::{Error, Refused};

/// Records that are counted; of more the newest are, and the summary says so.
pub const MOST_COUNTED: usize = 100_000;
/// Upstreams and groups that are named, the busiest first.
const MOST_NAMED: usize = 100;
/// Flows that are named, the most frequent first.
const MOST_FLOWS: usize = 50;
/// Keys that are told apart while counting; the rest is counted under [`OTHERS`].
const MOST_KEYS: usize = 10_000;
/// What stands for keys beyond those that are told apart.
const OTHERS: &str = "(others)";

/// A stretch of time up to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Period {
    Hour,
    Day,
    Week,
    Month,
}

impl Period {
    const ALL: [(&'static str, Self); 4] = [
        ("1h", Self::Hour),
        ("24h", Self::Day),
        ("7d", Self::Week),
        ("30d", Self::Month),
    ];

    /// How long it is, and into how many buckets it is cut.
    fn cut(self) -> (Duration, u64) {
        match self {
            Self::Hour => (Duration::from_hours(1), 60),
            Self::Day => (Duration::from_hours(24), 24),
            Self::Week => (Duration::from_hours(24 * 7), 28),
            Self::Month => (Duration::from_hours(24 * 30), 30),
        }
    }
}

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
}

/// What a stretch of time came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// The stretch, as it was asked for.
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
    /// Whether all records of the stretch are counted; otherwise only those since `counted_from`.
    pub complete: bool,
    /// The time of the oldest record that is counted.
    pub counted_from: Option<String>,
    /// Records by how they ended.
    pub by_status: BTreeMap<String, u64>,
    /// Records by type.
    pub by_type: BTreeMap<String, u64>,
    /// Records by the risk of their flow.
    pub by_risk: BTreeMap<String, u64>,
    /// Records by the direction in which data moved.
    pub by_flow: BTreeMap<String, u64>,
    /// Upstreams, the busiest first.
    pub servers: Vec<Named>,
    /// The stretch in equal parts, oldest first.
    pub buckets: Vec<Bucket>,
    /// Questions that were put to somebody.
    pub approvals: Asks,
    /// Where data was read and where it went, the most frequent first.
    pub flows: Vec<Flow>,
    /// What was asked for with `group_by`, the largest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<Group>>,
}

/// An upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
        let mut period = Period::ALL[1];
        let mut group_by = None;
        let mut filters = Vec::new();
        for (name, value) in asked {
            match name.as_str() {
                "period" => period = one_of(name, value, &Period::ALL)?,
                "group_by" => group_by = Some(one_of(name, value, &GroupBy::ALL)?.1),
                "cursor" | "limit" | "offset" => {
                    return Err(wrong(name, value, "a summary has no pages").into());
                }
                _ => filters.push((name.clone(), value.clone())),
            }
        }
        let question = self.question(&filters)?;
        let mut count = Count::new(period, group_by, &question, self.now());
        count.run(log, question).map_err(Error::Unreadable)?;
        Ok(count.finish())
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
struct Count {
    summary: Summary,
    from: u64,
    width: u64,
    group_by: Option<GroupBy>,
    servers: BTreeMap<String, (u64, u64)>,
    groups: BTreeMap<String, (u64, u64)>,
    flows: BTreeMap<Flow, u64>,
    /// Uses of tools that agents' hooks reported as done; newer than what they were asked about.
    done: HashSet<String>,
    /// Questions by the call that they are about, and how they were answered, if they were.
    questions: HashMap<String, Option<bool>>,
}

impl Count {
    fn new(
        (name, period): (&'static str, Period),
        group_by: Option<GroupBy>,
        question: &Question,
        now: Wall,
    ) -> Self {
        let (length, parts) = period.cut();
        let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        let to = question.query.to.unwrap_or(now);
        let from = Wall(to.0.saturating_sub(length));
        let width = (length / parts).max(1);
        let bucket = |number: u64| Bucket {
            start: Wall(from.0 + number * width).rfc3339(),
            risk: ["none", "medium", "high", "critical"]
                .map(|risk| (risk, 0))
                .into(),
            ..Bucket::default()
        };
        Self {
            summary: Summary {
                period: name.to_owned(),
                start_time: from.rfc3339(),
                end_time: to.rfc3339(),
                buckets: (0..parts).map(bucket).collect(),
                ..Summary::default()
            },
            from: from.0,
            width,
            group_by,
            servers: BTreeMap::new(),
            groups: BTreeMap::new(),
            flows: BTreeMap::new(),
            done: HashSet::new(),
            questions: HashMap::new(),
        }
    }

    /// Counts page after page, newest first.
    fn run(&mut self, log: &dyn ActivityReader, mut question: Question) -> Result<(), ReadFault> {
        let query = &mut question.query;
        let later = query.from.map_or(self.from, |from| from.0.max(self.from));
        query.from = Some(Wall(later));
        query.to = Wall::from_rfc3339(&self.summary.end_time);
        query.limit = CHUNK;
        let mut looked = 0;
        loop {
            let page = log.page(&question.query)?;
            looked += page.records.len();
            for record in &page.records {
                self.add(record);
            }
            match page.next {
                Some(next) if looked < MOST_COUNTED => question.query.before = Some(next),
                next => {
                    self.summary.complete = next.is_none();
                    return Ok(());
                }
            }
        }
    }

    fn add(&mut self, record: &str) {
        let Ok(seen) = serde_json::from_str::<Seen<'_>>(record) else {
            return;
        };
        // The record of a call that is about to leave stands again, with how it ended.
        if seen.kind == "intent" {
            return;
        }
        // What a person withholds or refuses is on record as well, and stops no call by itself.
        let blocked = matches!(&*seen.status, "blocked" | "rejected") && seen.is_call();
        let blocked = u64::from(blocked);
        let summary = &mut self.summary;
        summary.total += 1;
        summary.blocked += blocked;
        summary.counted_from = Some(seen.timestamp.clone().into_owned());
        for (counts, key) in [
            (&mut summary.by_status, &seen.status),
            (&mut summary.by_type, &seen.kind),
            (&mut summary.by_risk, &seen.risk_level),
            (&mut summary.by_flow, &seen.flow_type),
        ] {
            *counts.entry(key.to_string()).or_default() += 1;
        }
        if !seen.server_name.is_empty() {
            tally(&mut self.servers, &seen.server_name, blocked);
        }
        if let Some(key) = self.group_by.and_then(|by| seen.key(by)) {
            tally(&mut self.groups, &key, blocked);
        }
        self.place(&seen, blocked);
        self.follow(&seen);
        self.ask(&seen);
    }

    /// Counts a record in its part of the stretch.
    fn place(&mut self, seen: &Seen<'_>, blocked: u64) {
        let at = Wall::from_rfc3339(&seen.timestamp).map_or(0, |at| at.0);
        let number = at.saturating_sub(self.from) / self.width;
        let last = self.summary.buckets.len().saturating_sub(1);
        let number = usize::try_from(number).unwrap_or(usize::MAX).min(last);
        let Some(bucket) = self.summary.buckets.get_mut(number) else {
            return;
        };
        bucket.total += 1;
        if seen.is_call() {
            self.summary.calls += 1;
            bucket.calls += 1;
            bucket.blocked += blocked;
            if let Some(count) = bucket.risk.get_mut(&*seen.risk_level) {
                *count += 1;
            }
        }
    }

    /// Counts where the data of a call was read.
    fn follow(&mut self, seen: &Seen<'_>) {
        if seen.flow_type == "none" {
            return;
        }
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

    /// Counts a question. Whoever asks a person puts on record that they do, and what is answered. An
    /// agent that was told to ask reports the use of the tool if its user agreed.
    fn ask(&mut self, seen: &Seen<'_>) {
        if let Some((about, answer)) = seen.question() {
            let known = self.questions.contains_key(about);
            if known || self.questions.len() < MOST_COUNTED {
                let kept = self.questions.entry(about.to_owned()).or_default();
                *kept = kept.or(answer);
            }
            return;
        }
        let used = seen.hooked_use();
        if let Some((used, true)) = &used
            && self.done.len() < MOST_KEYS
        {
            self.done.insert(used.clone());
        }
        let asks = seen.decision == "ask" && seen.effective == "ask";
        if let Some((used, false)) = used
            && asks
            && seen.kind == "hook_evaluation"
        {
            let approved = self.done.contains(&used);
            self.summary.approvals.count(Some(approved));
        }
    }

    fn finish(mut self) -> Summary {
        let named = sorted(self.servers).into_iter();
        self.summary.servers = named
            .map(|(name, total, blocked)| Named {
                name,
                total,
                blocked,
            })
            .collect();
        self.summary.groups = self.group_by.map(|_| {
            let groups = sorted(self.groups).into_iter();
            let group = |(key, total, blocked)| Group {
                key,
                total,
                blocked,
            };
            groups.map(group).collect()
        });
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

fn tally(counts: &mut BTreeMap<String, (u64, u64)>, key: &str, blocked: u64) {
    let known = counts.len() < MOST_KEYS || counts.contains_key(key);
    let key = if known { key } else { OTHERS };
    let (total, stopped) = counts.entry(key.to_owned()).or_default();
    *total += 1;
    *stopped += blocked;
}

/// The largest first.
fn sorted(counts: BTreeMap<String, (u64, u64)>) -> Vec<(String, u64, u64)> {
    let counts = counts.into_iter();
    let mut counts: Vec<_> = counts.map(|(key, (all, some))| (key, all, some)).collect();
    counts.sort_by(|(one, many, _), (other, more, _)| more.cmp(many).then(one.cmp(other)));
    counts.truncate(MOST_NAMED);
    counts
}

#[cfg(test)]
mod tests;
