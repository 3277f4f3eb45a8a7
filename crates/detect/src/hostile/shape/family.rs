//! The families of evidence, their names in `hostile.shape`, and sets of them.

/// One family of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    Mood,
    Strong,
    Whole,
    Model,
    You,
    User,
    Move,
    Act,
    Credential,
    /// Credentials that no tool asks for by the way: key files, cookies, wallets.
    Vault,
    Talk,
    Private,
    Channel,
    /// Silence that is demanded in whatever way.
    Quiet,
    Hush,
    Until,
    But,
    Tell,
    Reply,
    Omit,
    Consent,
    Checks,
    Off,
    Rank,
    Directive,
    Obey,
    Source,
    Pose,
    Lie,
    Settled,
    Excuse,
    Sense,
    Courtesy,
    Quiz,
    Every,
    Turn,
    Calls,
    Choose,
    Example,
    Rival,
    Worse,
    Only,
    Swap,
    Target,
    Edit,
    Startup,
    Command,
    Threat,
    Not,
    /// A literal address outside: known by its shape.
    Address,
    /// A literal address that something goes to.
    Toward,
    /// A literal account, wallet or number to pay or call: known by its shape.
    Account,
    /// An address by number, in the open.
    Number,
    /// A shell's grammar, whatever the program.
    Pipeline,
    /// An address with a place for somebody's data: known by its shape.
    Slot,
}

use Family as F;

/// The families by their names in the file.
pub(crate) const FAMILIES: &[(&str, Family)] = &[
    ("mood", F::Mood),
    ("strong", F::Strong),
    ("whole", F::Whole),
    ("model", F::Model),
    ("you", F::You),
    ("user", F::User),
    ("move", F::Move),
    ("act", F::Act),
    ("credential", F::Credential),
    ("vault", F::Vault),
    ("talk", F::Talk),
    ("private", F::Private),
    ("channel", F::Channel),
    ("hush", F::Hush),
    ("until", F::Until),
    ("but", F::But),
    ("tell", F::Tell),
    ("reply", F::Reply),
    ("omit", F::Omit),
    ("consent", F::Consent),
    ("checks", F::Checks),
    ("off", F::Off),
    ("rank", F::Rank),
    ("directive", F::Directive),
    ("obey", F::Obey),
    ("source", F::Source),
    ("pose", F::Pose),
    ("lie", F::Lie),
    ("settled", F::Settled),
    ("excuse", F::Excuse),
    ("sense", F::Sense),
    ("courtesy", F::Courtesy),
    ("quiz", F::Quiz),
    ("every", F::Every),
    ("turn", F::Turn),
    ("calls", F::Calls),
    ("choose", F::Choose),
    ("example", F::Example),
    ("rival", F::Rival),
    ("worse", F::Worse),
    ("only", F::Only),
    ("swap", F::Swap),
    ("target", F::Target),
    ("edit", F::Edit),
    ("startup", F::Startup),
    ("command", F::Command),
    ("threat", F::Threat),
    ("not", F::Not),
];

/// Words by which a tool shows that something is its business, beyond the words of the family.
pub(crate) const OWN: &[(&str, Family)] = &[
    (" url", F::Address),
    (" uri", F::Address),
    (" http", F::Address),
    (" web", F::Address),
    (" email", F::Address),
    (" mail", F::Address),
    (" host", F::Address),
    (" fetch", F::Address),
    (" endpoint", F::Address),
    (" site", F::Address),
    (" page", F::Address),
    (" link", F::Address),
    (" browser", F::Address),
    (" navigate", F::Address),
    (" auth", F::Credential),
    (" login", F::Credential),
    (" secret", F::Credential),
    (" key", F::Credential),
    (" vault", F::Credential),
    (" env", F::Credential),
    (" ssh", F::Vault),
    (" wallet", F::Vault),
    (" cookie", F::Vault),
    (" keychain", F::Vault),
    (" oauth", F::Credential),
    (" session", F::Talk),
    (" chat", F::Talk),
    (" message", F::Talk),
    (" memory", F::Talk),
    (" prompt", F::Talk),
    (" thread", F::Talk),
    (" phone", F::Account),
    (" account", F::Account),
    (" payment", F::Account),
    (" channel", F::Channel),
    (" message", F::Channel),
    (" command", F::Command),
    (" exec", F::Command),
    (" shell", F::Command),
    (" bash", F::Command),
    (" cron", F::Startup),
    (" config", F::Startup),
];

/// A set of families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Families(u64);

impl Families {
    pub(crate) fn has(self, family: Family) -> bool {
        self.0 & (1 << family as u8) != 0
    }

    pub(crate) fn any(self, families: &[Family]) -> bool {
        families.iter().any(|family| self.has(*family))
    }

    pub(crate) fn add(&mut self, family: Family) {
        self.0 |= 1 << family as u8;
    }

    pub(crate) fn drop(&mut self, family: Family) {
        self.0 &= !(1 << family as u8);
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
