//! Questions that wait for a person, on one board for all gateways: each writes its own there, anybody
//! may answer there, and who asked hears of it. Answers stand on the board, so that a notice that was
//! missed delays one and loses none.
//!
//! What could not be written there is written when it can be, and what the store forgot is written
//! again: who reads the board also looks what it does not say yet.
//!
//! An answer that no call waits for any more, and one that counts for a session, are kept where every
//! gateway finds them: the same call may come again by another. The first counts once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcpproxy_core::{ApprovalNote, CallId, Id128, Journal, LiveFault, LiveStore, Wall};
use mcpproxy_engine::{Approval, Asked, Event, Happening, Kept, Said, Settled};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::gateway::Gateway;
use crate::notices::Notice;

/// The room of the board; scopes are digests, and none is this.
const ROOM: Id128 = Id128(1);
/// Entries of the board that are kept.
const ENTRIES: usize = 4096;
/// Who answered, where an earlier version did not say.
const ELSEWHERE: &str = "another gateway";
/// The longest name of who answered, in characters.
const LONGEST_NAME: usize = 256;

/// What a person says about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decision {
    /// It may leave.
    Approve,
    /// It may leave, and so may the next for the same reason in this session.
    ApproveForSession,
    /// It may not.
    Deny,
}

impl Decision {
    /// Returns what it says of the call.
    fn said(self) -> Said {
        match self {
            Self::Approve | Self::ApproveForSession => Said::Yes,
            Self::Deny => Said::No,
        }
    }

    /// Returns the word for what came of the question.
    pub(crate) fn outcome(self) -> &'static str {
        match self {
            Self::Approve | Self::ApproveForSession => "approved",
            Self::Deny => "denied",
        }
    }
}

/// An answer as it is kept for every gateway.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Answered {
    yes: bool,
    note: ApprovalNote,
}

/// What an earlier answer says of a call, and which it is.
pub(crate) type Before = (Said, Option<Box<ApprovalNote>>);

impl Answered {
    /// Reads one; nothing where a later version wrote it.
    fn read(kept: &[u8]) -> Option<Before> {
        // An earlier version kept the word alone.
        match kept {
            b"yes" => return Some((Said::Yes, None)),
            b"no" => return Some((Said::No, None)),
            _ => {}
        }
        let answered: Self = serde_json::from_slice(kept).ok()?;
        let said = if answered.yes { Said::Yes } else { Said::No };
        Some((said, Some(Box::new(answered.note))))
    }
}

/// What stands on the board.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    /// A question, until when it waits, and what is shown of it.
    Asked {
        id: String,
        until: u64,
        /// The name under which the same call would find the answer.
        #[serde(default)]
        name: String,
        shown: Value,
    },
    /// An answer, and who gave it.
    Answered {
        id: String,
        decision: Decision,
        #[serde(default)]
        by: String,
    },
    /// A question that does not wait any more.
    Ended { id: String },
}

/// The board as it was read last.
#[derive(Debug)]
pub(crate) struct Board(Mutex<Read>);

impl Default for Board {
    fn default() -> Self {
        Self(Mutex::new(Read {
            journal: Journal::new(ROOM, ENTRIES),
            waiting: BTreeMap::new(),
            told: BTreeSet::new(),
            unsaid: Vec::new(),
        }))
    }
}

#[derive(Debug)]
struct Read {
    journal: Journal,
    waiting: BTreeMap<String, Waiting>,
    /// Questions of this gateway that the board may say to be waiting.
    told: BTreeSet<String>,
    /// Answers to questions of other gateways that are not on the board yet.
    unsaid: Vec<Entry>,
}

/// What somebody said at another gateway.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    id: String,
    decision: Decision,
    by: String,
}

/// A question that waits somewhere.
#[derive(Debug)]
struct Waiting {
    until: u64,
    name: String,
    shown: Value,
}

impl Read {
    /// Writes on the board what it does not say yet of the questions that wait `here`, each as `asked`
    /// has it, and reads what others wrote; returns their answers, and whether the store forgot what it was
    /// told.
    async fn exchange<Q>(
        &mut self,
        live: &dyn LiveStore,
        here: &BTreeMap<String, Q>,
        asked: impl Fn(&Q) -> Entry,
        rest: Duration,
    ) -> Result<(Vec<Answer>, bool), LiveFault> {
        let (mut answers, mut forgot) = (Vec::new(), false);
        loop {
            let owed = self.owed(here, &asked);
            let append = owed
                .iter()
                .map(|one| serde_json::to_vec(one).unwrap_or_default());
            let turn = self.journal.turn(live, append.collect(), rest).await?;
            if turn.forgot {
                // Those that ended meanwhile may still be listed by who read them before.
                self.told.retain(|id| !here.contains_key(id));
            }
            self.unsaid.clear();
            for entry in &owed {
                self.wrote(entry);
            }
            for bytes in turn.entries {
                // What is not understood was written by a later version.
                if let Ok(entry) = serde_json::from_slice(&bytes) {
                    self.take(entry, &mut answers);
                }
            }
            forgot |= turn.forgot;
            if !turn.forgot {
                return Ok((answers, forgot));
            }
        }
    }

    /// Returns what the board does not say yet.
    fn owed<Q>(&self, here: &BTreeMap<String, Q>, asked: impl Fn(&Q) -> Entry) -> Vec<Entry> {
        let untold = here.iter().filter(|(id, _)| !self.told.contains(*id));
        let ended = self.told.iter().filter(|id| !here.contains_key(*id));
        let ended = ended.map(|id| Entry::Ended { id: id.clone() });
        let untold = untold.map(|(_, one)| asked(one));
        untold
            .chain(ended)
            .chain(self.unsaid.iter().cloned())
            .collect()
    }

    /// Notes what stands on the board now.
    fn wrote(&mut self, entry: &Entry) {
        match entry {
            Entry::Asked { id, .. } => drop(self.told.insert(id.clone())),
            Entry::Ended { id } => drop(self.told.remove(id)),
            Entry::Answered { .. } => {}
        }
    }

    fn take(&mut self, entry: Entry, answers: &mut Vec<Answer>) {
        match entry {
            Entry::Asked {
                id,
                until,
                name,
                shown,
            } => {
                let waiting = Waiting { until, name, shown };
                self.waiting.insert(id, waiting);
            }
            Entry::Answered { id, decision, by } => {
                self.waiting.remove(&id);
                let by = name(&by);
                answers.push(Answer { id, decision, by });
            }
            Entry::Ended { id } => {
                self.waiting.remove(&id);
            }
        }
    }
}

impl Gateway {
    /// Answers a question that waits here; says what it was about, or nothing if none does.
    pub(crate) async fn settle_question(
        &self,
        id: &str,
        decision: Decision,
        by: &str,
    ) -> Option<Approval> {
        let (engine, approvals) = (&self.engine, self.engine.approvals());
        let (now, patience) = (self.clock.tick(), engine.patience().unwrap_or_default());
        let mut note = ApprovalNote::once(by);
        if decision == Decision::ApproveForSession
            && let Some(kept) = approvals.keep(id, by, (now, self.clock.wall()))
        {
            let Kept { name, span, until } = kept;
            note = note.for_session(until);
            self.keep_answer(&name, Said::Yes, note.about(id), span)
                .await;
        }
        let said = decision.said();
        let settled = approvals.answer(id, said, &note, now, patience)?;
        let Settled { about, unheard } = settled;
        if let Some(name) = unheard
            && self
                .keep_answer(&name, said, note.about(id), patience)
                .await
        {
            approvals.hand_over(&name);
        }
        let resolved = Event::approval_resolved(&about, decision.outcome());
        engine.events().tell(resolved);
        let answered = Happening::Answered {
            about: Box::new(about.clone()),
            outcome: decision.outcome(),
            by: by.to_owned(),
            note: (said == Said::Yes).then(|| Box::new(note)),
        };
        engine.chronicle(answered).await;
        Some(about)
    }

    /// Keeps an answer where every gateway finds it; tells whether it is there.
    async fn keep_answer(
        &self,
        name: &str,
        said: Said,
        note: ApprovalNote,
        span: Duration,
    ) -> bool {
        let Some(live) = &self.live else {
            return false;
        };
        let yes = said == Said::Yes;
        let answer = serde_json::to_vec(&Answered { yes, note }).unwrap_or_default();
        let kept = live.put(name, answer, span).await;
        if let Err(fault) = &kept {
            tracing::warn!("an answer counts at this gateway alone: {fault}");
        }
        kept.is_ok()
    }

    /// Returns what another gateway knows of a question: how it was answered, or under which id it
    /// waits there.
    pub(crate) async fn known_elsewhere(&self, asked: &Asked) -> Option<Result<Before, String>> {
        let live = self.live.as_ref()?;
        let (now, patience) = (self.clock.wall(), self.engine.patience());
        let names = self.engine.approvals();
        let names = names.names(asked, now, patience.unwrap_or_default());
        // Whoever cannot ask the others asks the person.
        let kept = live.get(&names.kept).await.ok().flatten();
        let kept = kept.and_then(|kept| Answered::read(&kept));
        if let Some(before) = kept.filter(|(said, _)| *said == Said::Yes) {
            return Some(Ok(before));
        }
        let answer = live.get(&names.answer).await.ok().flatten();
        if let Some(answer) = answer
            && live.remove(&names.answer).await.unwrap_or(false)
        {
            // Of two calls that are the same, the one that took the answer has it.
            return Some(Ok(Answered::read(&answer).unwrap_or((Said::No, None))));
        }
        self.share_questions().await;
        let board = self.board.0.lock().await;
        let mut waiting = board.waiting.iter();
        let same = waiting.find(|(_, one)| one.name == names.answer && one.until > now.0);
        let same = same.map(|(id, _)| id.clone());
        drop(board);
        // One of this gateway's own is its own to find.
        let own = |id: &String| {
            let here = self.engine.approvals().list(self.clock.tick());
            here.iter().any(|one| one.id.to_string() == *id)
        };
        same.filter(|id| !own(id)).map(Err)
    }

    /// Lets other gateways see what waits here, and acts on what they wrote on the board.
    pub(crate) async fn share_questions(&self) {
        let Some(live) = &self.live else { return };
        let rest = self.engine.patience().unwrap_or_default() * 2;
        let rest = rest.max(Duration::from_mins(1));
        let mut board = self.board.0.lock().await;
        // Listed once nobody else writes: of a question that is told meanwhile this would say that it ended.
        let here = self.engine.approvals().list(self.clock.tick());
        let here = here.into_iter().map(|one| (one.id.to_string(), one));
        let asked = |one: &Approval| self.on_board(one);
        let here = here.collect();
        let answers = board.exchange(&**live, &here, asked, rest).await;
        drop(board);
        match answers {
            Ok((answers, forgot)) => {
                if forgot {
                    self.sessions.unpublished();
                }
                for Answer { id, decision, by } in answers {
                    self.settle_question(&id, decision, &by).await;
                }
            }
            Err(fault) => tracing::warn!("the board of questions cannot be reached: {fault}"),
        }
    }

    /// Returns a question that waits here as it stands on the board.
    fn on_board(&self, shown: &Approval) -> Entry {
        let until = Wall::from_rfc3339(&shown.expires_at);
        let name = self.engine.approvals().name_of(shown.id);
        Entry::Asked {
            id: shown.id.to_string(),
            until: until.unwrap_or_else(|| self.clock.wall()).0,
            name: name.unwrap_or_default(),
            shown: serde_json::to_value(shown).unwrap_or_default(),
        }
    }

    /// Takes a question that was answered here from the board.
    pub(crate) async fn take_from_board(&self, id: CallId) {
        // It may be there although nobody said so, as where the store answered too late.
        self.board.0.lock().await.told.insert(id.to_string());
        self.share_questions().await;
    }

    /// Returns the questions that wait at other gateways, oldest first.
    pub(crate) async fn asked_elsewhere(&self) -> Vec<Value> {
        if self.live.is_none() {
            return Vec::new();
        }
        self.share_questions().await;
        let here = self.engine.approvals().list(self.clock.tick());
        let here: Vec<String> = here.iter().map(|one| one.id.to_string()).collect();
        let now = self.clock.wall().0;
        let mut board = self.board.0.lock().await;
        board.waiting.retain(|_, one| one.until > now);
        let others = board.waiting.iter().filter(|(id, _)| !here.contains(id));
        others.map(|(_, one)| one.shown.clone()).collect()
    }

    /// Answers a question that waits at another gateway, whose record then names who did; tells whether
    /// there is one.
    pub(crate) async fn answer_elsewhere(&self, id: &str, decision: Decision, by: &str) -> bool {
        let others = self.asked_elsewhere().await;
        if !others.iter().any(|one| one["id"] == *id) {
            return false;
        }
        let mut board = self.board.0.lock().await;
        board.waiting.remove(id);
        let (id, by) = (id.to_owned(), name(by));
        board.unsaid.push(Entry::Answered { id, decision, by });
        drop(board);
        self.share_questions().await;
        self.announce(Notice::Answered).await;
        true
    }
}

/// Returns what a record calls somebody who answered at another gateway.
fn name(by: &str) -> String {
    match by {
        "" => ELSEWHERE.to_owned(),
        by => by.chars().take(LONGEST_NAME).collect(),
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_testkit::MemoryLive;

    use super::*;

    const REST: Duration = Duration::from_mins(1);

    /// One gateway at the board.
    struct Side {
        live: MemoryLive,
        board: Read,
        here: BTreeMap<String, String>,
    }

    impl Side {
        fn new(live: &MemoryLive) -> Self {
            Self {
                live: live.clone(),
                board: Board::default().0.into_inner(),
                here: BTreeMap::new(),
            }
        }

        fn ask(&mut self, id: &str) {
            self.here.insert(id.to_owned(), id.to_owned());
        }

        /// Returns the answers, or nothing where the store is away.
        async fn share(&mut self) -> Option<Vec<String>> {
            let asked = |id: &String| Entry::Asked {
                id: id.clone(),
                until: 1,
                name: String::new(),
                shown: Value::Null,
            };
            let Self { live, board, here } = self;
            let (answers, _) = board.exchange(live, here, asked, REST).await.ok()?;
            Some(answers.into_iter().map(|one| one.id).collect())
        }

        /// What waits anywhere, as far as was read.
        async fn waiting(&mut self) -> Vec<String> {
            self.share().await.unwrap();
            self.board.waiting.keys().cloned().collect()
        }
    }

    /// Regression for #8: what was put or ended while the store was away was never told.
    #[tokio::test]
    async fn what_could_not_be_told_is_told_when_the_store_is_back_and_what_it_forgot_again() {
        for forgets in [false, true] {
            let live = MemoryLive::default();
            let (mut one, mut other) = (Side::new(&live), Side::new(&live));
            one.ask("before");
            one.ask("ends");
            one.share().await.unwrap();
            assert_eq!(other.waiting().await, ["before", "ends"]);
            live.lose(true);
            one.ask("meanwhile");
            one.here.remove("ends");
            assert_eq!(one.share().await, None);
            let (id, decision) = ("before".to_owned(), Decision::Approve);
            let by = "owner".to_owned();
            let answer = Entry::Answered { id, decision, by };
            other.board.waiting.remove("before");
            other.board.unsaid.push(answer);
            assert_eq!(other.share().await, None);
            live.lose(false);
            if forgets {
                live.forget();
            }
            // One that comes later knows of it, too, and nothing is told twice.
            one.share().await.unwrap();
            let mut late = Side::new(&live);
            assert_eq!(late.waiting().await, ["before", "meanwhile"], "{forgets}");
            assert_eq!(other.waiting().await, ["meanwhile"], "{forgets}");
            assert_eq!(one.share().await.unwrap(), ["before"], "{forgets}");
            let entries = live.entries();
            assert!(one.share().await.unwrap().is_empty());
            assert_eq!(live.entries(), entries, "{forgets}");
            one.here.remove("before");
            one.share().await.unwrap();
            assert_eq!(other.waiting().await, ["meanwhile"], "{forgets}");
        }
    }

    /// Regression for #8: nothing named who had answered at another gateway.
    #[test]
    fn an_answer_says_who_gave_it_and_one_of_an_earlier_version_is_understood() {
        let check = |written: &str, expect: &str| {
            let Board(board) = Board::default();
            let mut answers = Vec::new();
            let entry = serde_json::from_str(written).unwrap();
            board.into_inner().take(entry, &mut answers);
            let expect = Answer {
                id: "1".to_owned(),
                decision: Decision::Deny,
                by: expect.to_owned(),
            };
            assert_eq!(answers, [expect], "{written}");
        };
        let earlier = r#"{"answered":{"id":"1","decision":"deny"}}"#;
        check(earlier, "another gateway");
        let entry = |by: &str| {
            let entry = Entry::Answered {
                id: "1".to_owned(),
                decision: Decision::Deny,
                by: by.to_owned(),
            };
            serde_json::to_string(&entry).unwrap()
        };
        check(&entry("owner"), "owner");
        check(&entry(&"x".repeat(5000)), &"x".repeat(LONGEST_NAME));
    }

    #[test]
    fn an_answer_that_is_kept_says_who_gave_it_and_one_of_an_earlier_version_is_understood() {
        let check = |kept: &[u8], expect: Option<Before>| {
            assert_eq!(Answered::read(kept), expect);
        };
        check(b"yes", Some((Said::Yes, None)));
        check(b"no", Some((Said::No, None)));
        check(b"of a later version", None);
        for (yes, said) in [(true, Said::Yes), (false, Said::No)] {
            let note = ApprovalNote::once("owner").about("1");
            let answered = Answered { yes, note };
            let kept = serde_json::to_vec(&answered).unwrap();
            check(&kept, Some((said, Some(Box::new(answered.note)))));
        }
    }
}
