//! The thread behind the desk: it makes receipts of what was handed in and gives them to the ledger,
//! and packs when that is due.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_core::{CallId, Clock, Deed, Durability, Ended, SessionKey, Tick};

use super::deed::{self, Load};
use super::{Ending, Handed, Job, Known, OnPack, Reply, Rules};
use crate::error::NotaryError;
use crate::ledger::{Done, End, Ledger, Packing, Ticket};
use crate::pack::Built;
use crate::receipt::{Answer, Call, CallReceipt, Mark, Outcome};
use crate::rolling::Rolling;

/// How often is looked for what is due.
const TICK: Duration = Duration::from_millis(200);
/// How long relaxed receipts are gathered, so that the calls need not wake anybody for each.
const GATHER: Duration = Duration::from_millis(5);
/// How many are worked through before is looked for what is due.
const BATCH: usize = 4096;
/// How long an agent may take to say what a tool of its own gave.
const PATIENCE: Duration = Duration::from_mins(30);
/// How many uses of agents' own tools may be outstanding; past that the oldest is closed.
const OUTSTANDING: usize = 4096;
/// How many bytes of theirs may be kept in clear meanwhile; the same.
const OUTSTANDING_BYTES: usize = 64 << 20;

pub(super) struct Clerk {
    ledger: Arc<Ledger>,
    rules: Arc<Rules>,
    known: Arc<Mutex<Known>>,
    waiting: Arc<AtomicUsize>,
    clock: Arc<dyn Clock>,
    on_pack: Arc<OnPack>,
    /// Whether nobody waits for what is written.
    gathers: bool,
    rolling: Rolling,
    /// Calls at upstreams.
    open: HashMap<(CallId, u8), Ticket>,
    /// Uses of agents' own tools.
    uses: HashMap<Use, Ticket>,
    /// How many bytes these keep in clear.
    kept: usize,
    /// The same in order, with their times; what was reported meanwhile is still in here.
    order: VecDeque<(Tick, Use)>,
}

/// One use of a tool, as its agent tells it apart: by its own id, or by what was given to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Use(SessionKey, String);

impl Clerk {
    pub(super) fn new(
        ledger: Arc<Ledger>,
        rules: Arc<Rules>,
        known: Arc<Mutex<Known>>,
        waiting: Arc<AtomicUsize>,
        (durability, clock): (Durability, Arc<dyn Clock>),
        on_pack: OnPack,
    ) -> Self {
        let rolling = Rolling::new(rules.interval, clock.tick());
        Self {
            ledger,
            rules,
            known,
            waiting,
            clock,
            on_pack: Arc::new(on_pack),
            gathers: durability == Durability::Relaxed,
            rolling,
            open: HashMap::new(),
            uses: HashMap::new(),
            kept: 0,
            order: VecDeque::new(),
        }
    }

    pub(super) fn run(mut self, queue: &Receiver<Job>) {
        let mut looked = self.clock.tick();
        loop {
            match queue.recv_timeout(TICK) {
                Ok(job) => {
                    if let Some(reply) = self.work(job, queue) {
                        reply.try_send(self.finish()).unwrap_or_default();
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Everybody who could finish the session is gone: the next start closes it.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = self.clock.tick();
            if looked.after(TICK) <= now {
                looked = now;
                self.tend(now);
            }
        }
    }

    /// Does what is there to do; returns who waits for the end, if it has come.
    fn work(&mut self, first: Job, queue: &Receiver<Job>) -> Option<Reply> {
        if self.gathers && !matches!(first, Job::Finish(_)) {
            std::thread::sleep(GATHER);
        }
        for job in std::iter::once(first).chain(queue.try_iter().take(BATCH)) {
            let size = size(&job);
            if let Job::Finish(reply) = job {
                return Some(reply);
            }
            // What the ledger does not take shows in its own state, where everybody looks.
            self.take(job).unwrap_or_default();
            self.waiting.fetch_sub(size, Ordering::Relaxed);
        }
        None
    }

    fn take(&mut self, job: Job) -> Result<(), NotaryError> {
        match job {
            Job::Intent(handed, done) => self.intent(*handed, done),
            Job::Denied(mut handed, done) => {
                // The upstream never knew it: its number of ours is nobody's.
                handed.deed.ticket = None;
                let rule = deed::rule(&handed.deed);
                let (_, call) = self.call(*handed)?;
                let outcome = Outcome::Denied(rule);
                self.ledger.call_then(CallReceipt { call, outcome }, done)
            }
            Job::Outcome(handed, ending, done) => self.outcome(*handed, ending, done),
            Job::Finish(_) => Ok(()),
        }
    }

    fn intent(&mut self, handed: Handed, done: Option<Done>) -> Result<(), NotaryError> {
        let (deed, call) = self.call(handed)?;
        let named = use_of(&deed, &call);
        let ticket = self.ledger.intent_then(call, done)?;
        match named {
            None => drop(self.open.insert((deed.id, deed.leg), ticket)),
            Some(named) => self.begin(named, ticket),
        }
        Ok(())
    }

    /// Makes the call of a receipt.
    fn call(&self, handed: Handed) -> Result<(Deed, Call), NotaryError> {
        let Handed { deed, arguments } = handed;
        let arguments = arguments.made(&self.rules.arguments, self.rules.pepper.as_ref());
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let call = deed::call(&deed, &known, arguments)?;
        Ok((deed, call))
    }

    /// Records how a call ended; one whose intent was lost has a receipt all the same.
    fn outcome(
        &mut self,
        handed: Handed,
        ending: Ending,
        done: Option<Done>,
    ) -> Result<(), NotaryError> {
        let (deed, call) = self.call(handed)?;
        let found = match use_of(&deed, &call) {
            None => self.open.remove(&(deed.id, deed.leg)),
            Some(named) => self.used(&named),
        };
        let since = found.as_ref().map_or(&call, Ticket::call).observed_at;
        let waited = Duration::from_millis(ending.at.0.saturating_sub(since.0));
        let mut marks = Vec::from_iter(deed::mark(&ending.ended));
        let outcome = self.how(ending, waited, &mut marks);
        if let Some(ticket) = found {
            return self.ledger.outcome_then(ticket, outcome, &marks, done);
        }
        let mut call = call;
        call.marks.append(&mut marks);
        self.ledger.call_then(CallReceipt { call, outcome }, done)
    }

    fn how(&self, ending: Ending, waited: Duration, marks: &mut Vec<Mark>) -> Outcome {
        let Ending {
            ended,
            at,
            result,
            replaced_by,
        } = ending;
        let pepper = self.rules.pepper.as_ref();
        let result = result.map(|load| load.made(&self.rules.results, pepper));
        let (took, is_error) = match ended {
            Ended::Answered { took, is_error, .. } => (took, is_error),
            Ended::Unanswered { took, .. } => (took, false),
            Ended::Unsent { took, .. } => (took, true),
            Ended::Reported { is_error, .. } => (waited, is_error),
        };
        let Some((result, more)) = result else {
            return Outcome::Timeout { after: took };
        };
        marks.extend(more);
        let answer = Answer {
            result,
            replaced_by: replaced_by.map(|digest| *digest),
            observed_at: at,
            duration: took,
        };
        if is_error {
            Outcome::Error(answer)
        } else {
            Outcome::Forwarded(answer)
        }
    }

    /// Follows the use of an agent's own tool until the agent says what it gave.
    fn begin(&mut self, named: Use, ticket: Ticket) {
        self.order.push_back((self.clock.tick(), named.clone()));
        if let Some(before) = self.used(&named) {
            self.unreported(before);
        }
        self.kept += ticket.call().arguments.size();
        self.uses.insert(named, ticket);
        self.close_uses(|_, outstanding, kept| {
            outstanding > OUTSTANDING || kept > OUTSTANDING_BYTES
        });
    }

    /// Finds a use, which is outstanding no more.
    fn used(&mut self, named: &Use) -> Option<Ticket> {
        let ticket = self.uses.remove(named)?;
        self.kept = self.kept.saturating_sub(ticket.call().arguments.size());
        Some(ticket)
    }

    /// Closes uses, oldest first, for as long as `over` says of one's beginning, their number and
    /// what they keep.
    fn close_uses(&mut self, over: impl Fn(Tick, usize, usize) -> bool) {
        while let Some((since, named)) = self.order.pop_front() {
            if !over(since, self.order.len() + 1, self.kept) {
                self.order.push_front((since, named));
                return;
            }
            if let Some(ticket) = self.used(&named) {
                self.unreported(ticket);
            }
        }
    }

    /// Records that an agent did not say what became of the use of a tool.
    fn unreported(&self, ticket: Ticket) {
        let now = self.clock.wall();
        let after = now.0.saturating_sub(ticket.call().observed_at.0);
        let outcome = Outcome::Timeout {
            after: Duration::from_millis(after),
        };
        let closed = self
            .ledger
            .outcome_then(ticket, outcome, &[Mark::Unreported], None);
        closed.unwrap_or_default();
    }

    /// Closes what has waited too long, and has a pack made when that is due.
    fn tend(&mut self, now: Tick) {
        self.close_uses(|since, _, _| since.after(PATIENCE) <= now);
        if !self.rolling.due(now, self.ledger.counts().calls()) {
            return;
        }
        let (ledger, told) = (Arc::clone(&self.ledger), Arc::clone(&self.on_pack));
        // Beside the clerk, who goes on taking what is handed in.
        let thread = std::thread::Builder::new().name("pack".to_owned());
        let started = thread.spawn(move || {
            if let Some(made) = ledger.pack().transpose() {
                told(made);
            }
        });
        if let Err(fault) = started {
            (self.on_pack)(Err(NotaryError::Thread(fault)));
        }
    }

    fn finish(&mut self) -> Result<Option<Built>, NotaryError> {
        // What is in use now was not seen to its end, no more than a call that is in flight.
        let whole = self.open.is_empty() && self.uses.is_empty();
        self.close_uses(|_, _, _| true);
        let end = if whole { End::Interrupted } else { End::Cut };
        self.ledger.finish(end, Packing::Pack)
    }
}

/// Returns how many bytes of messages a job holds on to.
pub(super) fn size(job: &Job) -> usize {
    match job {
        Job::Intent(handed, _) | Job::Denied(handed, _) => handed.arguments.size(),
        Job::Outcome(handed, ending, _) => {
            handed.arguments.size() + ending.result.as_ref().map_or(0, Load::size)
        }
        Job::Finish(_) => 0,
    }
}

/// Names the use of a tool that a hook tells of.
fn use_of(deed: &Deed, call: &Call) -> Option<Use> {
    let hook = deed.hook.as_ref()?;
    let name = match &hook.tool_use {
        Some(id) => id.to_string(),
        None => format!("{} {}", deed.tool.tool.as_str(), call.arguments.digest),
    };
    Some(Use(deed.session, name))
}
