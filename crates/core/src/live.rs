//! What several gateways share while it lasts, and the port behind which it is kept: logs that
//! everybody appends to and reads on from, values by name, limits that calls are charged to, and
//! notices.
//!
//! Deliberately absent: what any of it means. Whoever keeps it sees bytes, and sees to it that nobody
//! else can read or write them.

mod journal;

use std::fmt;
use std::time::Duration;

use crate::activity::Later;
use crate::id::Id128;

pub use self::journal::{Journal, Turn};

/// A place in a log; later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub u64, pub u64);

/// What is asked of one log.
#[derive(Clone, Debug, Default)]
pub struct LogAsk {
    /// What is appended, in order.
    pub append: Vec<Vec<u8>>,
    /// Up to where it was read; nothing for none of it.
    pub after: Option<Place>,
    /// From where on it is still wanted; what is older may go.
    pub keep: Option<Place>,
}

/// What is asked of the logs of a room, in one step.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The room.
    pub room: Id128,
    /// The logs.
    pub logs: [LogAsk; 2],
    /// How long they are kept when nobody appends any more.
    pub rest: Duration,
}

/// What one log says.
#[derive(Clone, Debug, Default)]
pub struct LogSaid {
    /// What was appended after the place that was asked for and before what was appended now, oldest
    /// first; what nobody here can read is empty.
    pub entries: Vec<(Place, Vec<u8>)>,
    /// Whether there is more.
    pub more: bool,
    /// Where what was appended now stands.
    pub appended: Vec<Place>,
}

/// What the logs of a room say.
#[derive(Clone, Debug)]
pub struct Exchanged {
    /// The logs.
    pub logs: [LogSaid; 2],
    /// Changes when what was kept is lost.
    pub epoch: Id128,
}

/// One limit that gateways keep together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A bucket that fills with time.
    Bucket {
        /// The time that it takes to fill up again what a call takes.
        cost: Duration,
        /// How long it may take at most until it is full again.
        room: Duration,
        /// How long it takes by what is known here, where the store may know less.
        known: Duration,
    },
    /// Places for calls under way.
    Places(u32),
}

/// A call that is charged to all of its limits or to none.
#[derive(Clone, Debug)]
pub struct Charge {
    /// Names the call.
    pub call: String,
    /// The limits by name, in the order in which they are looked at.
    pub limits: Vec<(String, Limit)>,
    /// How long a place is taken where nobody gives it back or renews it.
    pub lease: Duration,
}

/// What came of a charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charged {
    /// It was charged; how long it takes until each bucket is full again.
    Taken(Vec<Duration>),
    /// A limit has no room for it.
    Full {
        /// Which, counted from the first.
        limit: usize,
        /// When there would be, for a bucket.
        wait: Duration,
    },
}

/// A place that a call under way has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The limit.
    pub limit: String,
    /// The call.
    pub call: String,
}

/// Why something was not shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFault(pub String);

impl fmt::Display for LiveFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for LiveFault {}

/// Where gateways share what they know of what goes on. Nothing takes longer than a stated time.
pub trait LiveStore: Send + Sync + fmt::Debug {
    /// Appends to the logs of a room, and returns what others appended.
    fn exchange(&self, asked: Exchange) -> Later<'_, Result<Exchanged, LiveFault>>;

    /// Keeps a value for a time.
    fn put<'a>(
        &'a self,
        name: &'a str,
        value: Vec<u8>,
        span: Duration,
    ) -> Later<'a, Result<(), LiveFault>>;

    /// Returns a value that is kept.
    fn get<'a>(&'a self, name: &'a str) -> Later<'a, Result<Option<Vec<u8>>, LiveFault>>;

    /// Forgets a value; tells whether there was one.
    fn remove<'a>(&'a self, name: &'a str) -> Later<'a, Result<bool, LiveFault>>;

    /// Takes a name for a time; tells whether nobody else has it.
    fn claim<'a>(&'a self, name: &'a str, span: Duration) -> Later<'a, Result<bool, LiveFault>>;

    /// Charges a call, in one step.
    fn charge(&self, charge: Charge) -> Later<'_, Result<Charged, LiveFault>>;

    /// Gives places back.
    fn leave(&self, seats: Vec<Seat>) -> Later<'_, Result<(), LiveFault>>;

    /// Renews the lease of places; those that the store does not know are taken only where `anew`
    /// says that it may have forgotten them.
    fn stay(
        &self,
        seats: Vec<Seat>,
        lease: Duration,
        anew: bool,
    ) -> Later<'_, Result<(), LiveFault>>;

    /// Tells all others something; returns how many gateways hear it, this one among them.
    fn announce(&self, notice: Vec<u8>) -> Later<'_, Result<usize, LiveFault>>;

    /// Waits for what another gateway tells; nothing where some of it may have been missed.
    fn heard(&self) -> Later<'_, Option<Vec<u8>>>;

    /// Says why nothing is shared, while that is so.
    fn problem(&self) -> Option<String>;
}
