//! What can go wrong, what would make it right, and how an operation is refused.
//!
//! Messages leave the remedy out; whoever prints them puts it on a line of its own.

use std::io;
use std::path::{Path, PathBuf};

use mcpproxy_core::{BaselineFault, ReadFault};

use crate::change::Act;
use crate::configurer::ChangeFault;
use crate::keys::SHORTEST_KEY;

/// Why a file, a key, a token or an order could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is open to more users than its owner.
    #[error("`{}` is open to other users (mode {mode:04o})", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A folder can be written by more users than its owner.
    #[error("folder `{}` can be written by other users (mode {mode:04o})", path.display())]
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A file, folder or link belongs to another user.
    #[error("`{}` belongs to the user with id {owner}, not to the one who runs this", path.display())]
    Foreign {
        /// The file, folder or link.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Whether root looks at what another user, as that of a service, keeps for itself.
        seen_by_root: bool,
    },
    /// Something else stands where a file or a folder should.
    #[error("`{}` is not a {expected}", path.display())]
    Misplaced {
        /// Where it stands.
        path: PathBuf,
        /// What should stand there.
        expected: &'static str,
    },
    /// A file is larger than it may be, or would become so.
    #[error("`{}` is larger than the {limit} bytes it may have", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The bound.
        limit: usize,
    },
    /// A file does not say what it should.
    #[error("cannot understand `{}`: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process keeps the lock.
    #[error("another process keeps `{}` locked", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// The system gave no randomness.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// The API key is too short to resist guessing.
    #[error("the API key has {length} characters and needs at least {SHORTEST_KEY}")]
    ShortKey {
        /// How many it has.
        length: usize,
    },
    /// The API key cannot be sent in a header.
    #[error("the API key contains a character other than printable ASCII")]
    OddKey,
    /// The name cannot be used for a token.
    #[error("`{name}` is no name for a token: 1 to 64 letters, digits, `_`, `.` and `-` only")]
    TokenName {
        /// The name, made printable.
        name: String,
    },
    /// The name is taken.
    #[error("there is a token `{name}` already")]
    TokenTaken {
        /// The name.
        name: String,
    },
    /// There is no such token.
    #[error("there is no token `{name}`")]
    TokenUnknown {
        /// The name, made printable.
        name: String,
    },
    /// The scope makes no sense.
    #[error("the scope of token `{name}` is wrong: {reason}")]
    TokenScope {
        /// The token.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The token would have ended before it was made.
    #[error("the end of token `{name}` is wrong: {reason}")]
    TokenEnded {
        /// The token.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No further token can be kept.
    #[error("there are {limit} tokens already, and no more are kept")]
    TooManyTokens {
        /// The bound.
        limit: usize,
    },
    /// The scope of an order names nothing that could be stopped.
    #[error("`{scope}` names nothing that could be stopped")]
    OrderScope {
        /// The scope, made printable.
        scope: String,
    },
    /// No further order can be kept.
    #[error("there are {limit} orders already, and no more are kept")]
    TooManyOrders {
        /// The bound.
        limit: usize,
    },
    /// There is no such order.
    #[error("calls of `{scope}` are not stopped")]
    OrderUnknown {
        /// The scope, made printable.
        scope: String,
    },
    /// What was asked of the activity log makes no sense.
    #[error("{reason}")]
    Filter {
        /// Why.
        reason: String,
    },
    /// No record has the id.
    #[error("there is no record `{id}`")]
    RecordUnknown {
        /// The id, made printable.
        id: String,
    },
    /// Nothing is recorded.
    #[error("the activity log is switched off")]
    NoActivity,
    /// The activity log cannot be read.
    #[error(transparent)]
    Unreadable(ReadFault),
    /// Nothing of the name was ever listed.
    #[error("nothing named `{name}` was listed yet")]
    OfferUnknown {
        /// The name, made printable.
        name: String,
    },
    /// What is meant has changed since it was looked at.
    #[error("`{name}` is no longer what was looked at")]
    OfferChanged {
        /// The name, made printable.
        name: String,
    },
    /// The state of a tool cannot be written down.
    #[error(transparent)]
    BaselineUnkept(BaselineFault),
    /// The order is in force, but a restart would forget it.
    #[error("calls of `{scope}` are stopped, but a restart would forget it: {cause}")]
    NotKept {
        /// The scope.
        scope: String,
        /// Why it could not be written.
        cause: Box<Error>,
    },
}

/// Why an operation was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The caller may not do this.
    #[error("`{who}` may not {act}; only the owner may")]
    Forbidden {
        /// Who asked.
        who: String,
        /// For what.
        act: Act,
    },
    /// It was tried and failed.
    #[error(transparent)]
    Failed(#[from] Error),
    /// The configuration could not be changed.
    #[error(transparent)]
    Change(#[from] ChangeFault),
}

/// What kind of refusal it is, for whoever turns it into a status or an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The caller may not do this.
    Forbidden,
    /// What was named does not exist.
    Unknown,
    /// What was named exists already, a bound is reached, or what it would come to is wrong as things
    /// stand.
    Conflict,
    /// What was given makes no sense.
    Invalid,
    /// Somebody else is at it; trying again may help.
    Busy,
    /// This installation is at fault.
    Failed,
}

impl Error {
    /// Makes a closure that wraps what the system said.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns what would make it right, where that is known.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Exposed { path, .. } => format!(
                "run `chmod 600 {0}`; if somebody may have read it, remove it and make a new one",
                path.display()
            ),
            Self::Writable { path, .. } => format!("run `chmod 700 {}`", path.display()),
            // Root could take it away from a service that needs it.
            Self::Foreign {
                owner,
                seen_by_root: true,
                ..
            } => format!("run it as that user, with `sudo -u '#{owner}'` before the command"),
            Self::Foreign { path, .. } => format!(
                "run as its owner, run `chown -h` on `{}`, or choose another data folder",
                path.display()
            ),
            Self::Misplaced { path, .. } => {
                format!(
                    "move `{}` away, or choose another data folder",
                    path.display()
                )
            }
            Self::TooLarge { path, .. } => {
                format!("remove what is no longer needed from `{}`", path.display())
            }
            Self::Broken { path, .. } => format!(
                "restore `{0}` from a backup, or remove it and make again what it held",
                path.display()
            ),
            Self::Busy { .. } => "try again when the other process is done".to_owned(),
            Self::ShortKey { .. } | Self::OddKey => {
                "choose a long random one, or give none and let one be made".to_owned()
            }
            Self::TooManyTokens { .. } => "revoke those that are no longer used".to_owned(),
            Self::TooManyOrders { .. } => {
                "stop `all`, or resume what need not be stopped".to_owned()
            }
            Self::NoActivity => "set `activity.enabled: true` and start again".to_owned(),
            Self::OfferChanged { .. } => "look at it again with `mcpproxy tools diff`".to_owned(),
            Self::OfferUnknown { .. } => "`mcpproxy tools list` shows what is known".to_owned(),
            Self::NotKept { cause, .. } => return cause.remedy(),
            Self::Io { .. }
            | Self::Random(_)
            | Self::TokenName { .. }
            | Self::TokenTaken { .. }
            | Self::TokenUnknown { .. }
            | Self::TokenScope { .. }
            | Self::TokenEnded { .. }
            | Self::OrderScope { .. }
            | Self::OrderUnknown { .. }
            | Self::Filter { .. }
            | Self::RecordUnknown { .. }
            | Self::BaselineUnkept(_)
            | Self::Unreadable(_) => return None,
        })
    }

    /// Returns the message with its remedy, for a line of a report.
    pub(crate) fn with_remedy(&self) -> String {
        match self.remedy() {
            Some(remedy) => format!("{self}; {remedy}"),
            None => self.to_string(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::TokenUnknown { .. }
            | Self::OrderUnknown { .. }
            | Self::RecordUnknown { .. }
            | Self::OfferUnknown { .. }
            | Self::NoActivity => Kind::Unknown,
            Self::TokenTaken { .. }
            | Self::TokenEnded { .. }
            | Self::TooManyTokens { .. }
            | Self::TooManyOrders { .. }
            | Self::OfferChanged { .. }
            | Self::TooLarge { .. } => Kind::Conflict,
            Self::ShortKey { .. }
            | Self::OddKey
            | Self::TokenName { .. }
            | Self::TokenScope { .. }
            | Self::OrderScope { .. }
            | Self::Filter { .. } => Kind::Invalid,
            Self::Busy { .. } => Kind::Busy,
            Self::Io { .. }
            | Self::Exposed { .. }
            | Self::Writable { .. }
            | Self::Foreign { .. }
            | Self::Misplaced { .. }
            | Self::Broken { .. }
            | Self::Random(_)
            | Self::Unreadable(_)
            | Self::BaselineUnkept(_)
            | Self::NotKept { .. } => Kind::Failed,
        }
    }
}

impl Refused {
    /// Answers about something that an upstream does not offer, or that the caller may not know of.
    pub fn unknown_offer(name: &str) -> Self {
        Self::Failed(Error::OfferUnknown { name: shown(name) })
    }

    /// Returns what kind of refusal it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Forbidden { .. } => Kind::Forbidden,
            Self::Failed(error) => error.kind(),
            Self::Change(fault) => match fault {
                ChangeFault::Unknown { .. } => Kind::Unknown,
                ChangeFault::Name { .. } => Kind::Invalid,
                // Whether a configuration is right depends on what else is in it, and on this machine.
                ChangeFault::Exists { .. } | ChangeFault::Invalid { .. } => Kind::Conflict,
                ChangeFault::Failed { .. } => Kind::Failed,
            },
        }
    }

    /// Returns what would make it right, where that is known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Forbidden { .. } => {
                Some("show the API key, or come over the Unix socket as the owner".to_owned())
            }
            Self::Failed(error) => error.remedy(),
            Self::Change(fault) => fault.hint().map(ToOwned::to_owned),
        }
    }
}

/// Makes text from outside short and printable, so that a message stays one line.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
