//! What a judgement says: problems with stable codes, and the class they add up to.

use mcpproxy_core::Wall;

use crate::claims::Completeness;
use crate::json::Json;

/// What a judgement comes to; the number is the program's exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Intact, and signed by a trusted key.
    #[default]
    Pass = 0,
    /// Intact, but the signer is unknown, it is stale, or it says itself that something failed.
    Doubt = 1,
    /// Changed, cut or put together wrongly.
    Tampered = 2,
}

impl Class {
    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Doubt => 1,
            Self::Tampered => 2,
        }
    }

    /// Returns the name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Doubt => "doubt",
            Self::Tampered => "tampered",
        }
    }
}

/// What is wrong. The names are stable, and those of the peer where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The manifest, or a file that it lists, is not what was signed.
    ManifestTamper,
    /// The signature does not hold.
    SignatureInvalid,
    /// Receipts are missing or there are more than there should be.
    Omission,
    /// A path leads out of the pack.
    PathEscape,
    /// Two receipts have one id.
    DuplicateId,
    /// A receipt is not canonical JSON.
    CanonMismatch,
    /// A receipt lacks what every receipt has.
    SchemaUnknown,
    /// A time cannot be read.
    TimestampInvalid,
    /// The pack is older than it may be.
    PackStale,
    /// The pack ends in the future.
    Future,
    /// The chain, the tree or the checkpoint does not hold.
    ChainBroken,
    /// A tree that was seen before is not part of this one.
    Truncated,
    /// A tree that was seen before ends too early for this pack to tell.
    Earlier,
    /// The attestation says itself that the receipts or the claims failed.
    AttestedFail,
    /// The session is not as complete as it says.
    ClaimFail,
    /// A timestamp by an authority does not hold.
    TimeAuthority,
}

impl Code {
    /// Returns the stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ManifestTamper => "E_MANIFEST_TAMPER",
            Self::SignatureInvalid => "E_PACK_SIG_INVALID",
            Self::Omission => "E_PACK_OMISSION_DETECTED",
            Self::PathEscape => "E_PATH_ESCAPE",
            Self::DuplicateId => "E_DUPLICATE_ID",
            Self::CanonMismatch => "E_CANON_MISMATCH",
            Self::SchemaUnknown => "E_SCHEMA_UNKNOWN",
            Self::TimestampInvalid => "E_TIMESTAMP_INVALID",
            Self::PackStale => "E_PACK_STALE",
            Self::Future => "E_PACK_FUTURE",
            Self::ChainBroken => "E_CHAIN_BROKEN",
            Self::Truncated => "E_TRUNCATED",
            Self::Earlier => "E_CHECKPOINT_EARLIER",
            Self::AttestedFail => "E_ATTESTED_FAIL",
            Self::ClaimFail => "E_CLAIM_FAIL",
            Self::TimeAuthority => "E_TIME_AUTHORITY",
        }
    }

    fn class(self) -> Class {
        match self {
            Self::PackStale
            | Self::Future
            | Self::AttestedFail
            | Self::ClaimFail
            | Self::Earlier
            | Self::TimeAuthority => Class::Doubt,
            Self::ManifestTamper
            | Self::SignatureInvalid
            | Self::Omission
            | Self::PathEscape
            | Self::DuplicateId
            | Self::CanonMismatch
            | Self::SchemaUnknown
            | Self::TimestampInvalid
            | Self::ChainBroken
            | Self::Truncated => Class::Tampered,
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub code: Code,
    /// In words.
    pub message: String,
}

/// What is known of the signer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Its key is trusted.
    Trusted,
    /// A trusted key named it as its successor.
    Successor,
    /// Nothing.
    #[default]
    Unknown,
}

impl Known {
    /// Returns the name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Successor => "successor",
            Self::Unknown => "unknown",
        }
    }
}

/// The most problems that one report lists.
const MOST: usize = 100;

/// A judgement.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What it comes to.
    pub class: Class,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What a reader should know.
    pub warnings: Vec<String>,
    /// The pack's id.
    pub pack_id: Option<String>,
    /// The digest that names the pack's evidence, if it holds.
    pub pack_root: Option<String>,
    /// The name of the signer.
    pub signer_id: Option<String>,
    /// The signer's key, in base64, if the signature holds.
    pub signer_key: Option<String>,
    /// What is known of it.
    pub signer: Known,
    /// How many receipts there are.
    pub receipts: u64,
    /// Whether the session was seen to its end; nothing if it goes on, or the pack does not say.
    pub session_complete: Option<bool>,
    /// Why the session ended, once that is told.
    pub end_reason: Option<String>,
    /// How many of its receipts could not be written.
    pub lost: u64,
    /// How many bytes of its file were damaged and left out, when a start closed it.
    pub dropped: u64,
    /// The claim card of packs that hold a session's start and end.
    pub claim: Option<Completeness>,
    /// When an authority saw the checkpoint, if one that is believed did.
    pub stamped_at: Option<Wall>,
    /// How many lines the tree has that the checkpoint signs.
    pub tree_size: Option<u64>,
    /// Its root, in hexadecimal.
    pub root: Option<String>,
}

impl Report {
    pub(crate) fn add(&mut self, code: Code, message: impl Into<String>) {
        self.class = self.class.max(code.class());
        if self.problems.len() < MOST {
            self.problems.push(Problem {
                code,
                message: message.into(),
            });
        }
    }

    pub(crate) fn warn(&mut self, message: impl Into<String>) {
        if self.warnings.len() < MOST {
            self.warnings.push(message.into());
        }
    }

    /// Counts an unknown signer in.
    pub(super) fn concluded(mut self) -> Self {
        if self.signer == Known::Unknown {
            self.class = self.class.max(Class::Doubt);
        }
        self
    }

    /// Says in one line what the judgement comes to.
    pub fn summary(&self) -> &'static str {
        match (self.class, self.signer) {
            (Class::Pass, Known::Successor) => {
                "pass: intact, signed by the successor of a trusted key"
            }
            (Class::Pass, _) => "pass: intact, signed by a trusted key",
            (Class::Doubt, Known::Unknown) => "intact, signer unknown",
            (Class::Doubt, _) => "intact, but not all is well",
            (Class::Tampered, _) => "tampered",
        }
    }

    /// Returns the judgement for machines.
    pub fn json(&self) -> Json {
        let problems = self.problems.iter().map(|problem| {
            Json::Object(vec![
                ("code", Json::text(problem.code.name())),
                ("message", Json::text(&problem.message)),
            ])
        });
        let flag = |flag: Option<bool>| flag.map_or(Json::Null, Json::Flag);
        Json::Object(vec![
            ("verdict", Json::text(self.class.name())),
            ("exit_code", Json::Number(self.class.code().into())),
            ("summary", Json::text(self.summary())),
            ("pack_id", Json::optional(self.pack_id.clone())),
            ("pack_root", Json::optional(self.pack_root.clone())),
            ("receipts", Json::Number(self.receipts)),
            ("session_complete", flag(self.session_complete)),
            (
                "session_end_reason",
                Json::optional(self.end_reason.clone()),
            ),
            ("receipts_lost", Json::Number(self.lost)),
            ("bytes_dropped", Json::Number(self.dropped)),
            ("signer_id", Json::optional(self.signer_id.clone())),
            ("signer_key", Json::optional(self.signer_key.clone())),
            ("signer", Json::text(self.signer.name())),
            (
                "stamped_at",
                Json::optional(self.stamped_at.map(Wall::rfc3339)),
            ),
            ("tree_size", self.tree_size.map_or(Json::Null, Json::Number)),
            ("root_hash", Json::optional(self.root.clone())),
            (
                "claim",
                self.claim.as_ref().map_or(Json::Null, Completeness::json),
            ),
            ("problems", Json::List(problems.collect())),
            ("warnings", Json::texts(self.warnings.clone())),
        ])
    }
}
