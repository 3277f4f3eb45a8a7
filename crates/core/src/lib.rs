//! The values every other crate speaks in: identities, calls, findings, verdicts, records, and the
//! ports behind which clocks and stores stand.
//!
//! Deliberately absent: I/O, a runtime, and any wire format. A door translates bytes into these
//! values and back; nothing here knows JSON-RPC.

pub mod access;
pub mod activity;
pub mod baseline;
pub mod call;
pub mod clearance;
pub mod clock;
pub mod count;
pub mod exact;
pub mod facts;
pub mod file;
pub mod finding;
pub mod flow;
pub mod history;
pub mod hook;
pub mod id;
pub mod installed;
pub mod live;
pub mod receipt;
pub mod secret;
pub mod security;
pub mod share;
pub mod shown;
pub mod statement;
pub mod units;
pub mod verdict;
pub mod who;

pub use access::{AccessDecision, AccessRequest, AccessRules};
pub use activity::{
    ActivitySink, ApprovalNote, ApprovalTerm, Bodies, ChangeNote, Durability, HookLeft, Later,
    QuarantineNote, Record, SinkFault, TraceNote, TraceSink,
};
pub use baseline::{
    Baseline, BaselineFault, BaselineStore, FirstRead, Habits, MemoryBaselines, OfferKind,
    OfferState, Trust,
};
pub use call::{
    Askable, Call, Declared, Detected, Door, MessageKind, Operation, Outcome, Status, ToolRef,
    Trace, Traced, Wire,
};
pub use clearance::Cleared;
pub use clock::{Clock, SystemClock, Tick, Wall};
pub use count::{Cell, CountQuery, Counted};
pub use exact::exact;
pub use facts::{Contradiction, Destination, Facts, History, Moved, Recent, Sensitive, Suspicious};
pub use file::open_regular;
pub use finding::{Finding, Severity, Source, Threat, Tier};
pub use flow::{
    DataOrigin, FlowEvidence, FlowSummary, Label, Likeness, Match, Nature, Opaque, Reduced, Side,
    Sink, Taint, Weight,
};
pub use history::{ActivityPage, ActivityQuery, ActivityReader, Cursor, Field, Order, ReadFault};
pub use hook::{
    Asker, Classified, Coverage, GAPS, GAPS_FULL, Gap, GapCause, HookNote, Hooked, Owner, Phase,
    Waiting,
};
pub use id::{CallId, Id128, ToolName, UpstreamId};
pub use installed::{Installed, Origin};
pub use live::{
    Charge, Charged, Exchange, Exchanged, Journal, Limit, LiveFault, LiveStore, LogAsk, LogSaid,
    Place, Seat, Turn,
};
pub use receipt::{
    Cause, Deed, Ended, Oddity, PackInterval, Passing, ReceiptSink, Receipted, Unanswered,
};
pub use secret::{Masked, Secret};
pub use security::{
    HealthStatus, HookFault, Identity, McpMessage, McpRequest, McpResponse, McpSessionInfo, Phases,
    RequestMetadata, ResponseKind, SecurityContext, SecurityDecision, SecurityHook,
    SecurityModification, SecurityViolation, Sight,
};
pub use share::{Room, Shares};
pub use shown::ShownRecord;
pub use statement::{Signed, StatementCheck, StatementSigner};
pub use units::{ByteSize, InvalidUnit, Span, whole};
pub use verdict::{Action, Enforcement, FlowType, Risk, RiskLevel, Verdict};
pub use who::{Claims, FlowScope, Principal, PrincipalKind, SessionBasis, SessionKey};
