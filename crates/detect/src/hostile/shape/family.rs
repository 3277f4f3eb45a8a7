//! The families of words, their names in `hostile.shape`, and sets of them.

/// One family of words, or a literal of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    Model,
    You,
    Must,
    Trigger,
    Besides,
    Take,
    Give,
    Send,
    Run,
    Edit,
    Destroy,
    Exec,
    /// Credentials that no tool asks for by the way: key files, cookies, wallets.
    Vault,
    Credential,
    Talk,
    Whole,
    Utter,
    Private,
    Guard,
    Off,
    Rules,
    Prior,
    Obey,
    Source,
    Rank,
    Persona,
    Tools,
    Worse,
    Only,
    Outside,
    Dest,
    Startup,
    Quiet,
    Lie,
    Tell,
    User,
    Consent,
    Excuse,
    Claim,
    Quiz,
    Field,
    Threat,
    Courtesy,
    Example,
    Not,
    But,
    /// Words that mean something else than each of them does.
    Idiom,
    /// Checks that are off, close together.
    GuardOff,
    /// Instructions that are off, close together.
    RulesOff,
    /// Another tool whose use is what something waits for.
    Hook,
    /// Somebody is not to be told.
    Untold,
    /// Something that is forbidden, not ordered.
    Forbidden,
    /// A literal address outside: known by its shape.
    Address,
    /// A literal address that something goes to.
    Toward,
    /// A literal account, wallet or number to pay or call: known by its shape.
    Account,
    /// A path where settings, keys or hidden things lie.
    Path,
    /// An address by number, in the open.
    Number,
    /// A shell's grammar, whatever the program.
    Pipeline,
    /// An address with a place for somebody's data: known by its shape.
    Slot,
    /// An identifier: a tool, a parameter, a variable.
    Name,
    /// Brackets that shout.
    Aside,
}

use Family as F;

/// The families by their names in the file.
pub(crate) const FAMILIES: &[(&str, Family)] = &[
    ("model", F::Model),
    ("you", F::You),
    ("must", F::Must),
    ("trigger", F::Trigger),
    ("besides", F::Besides),
    ("take", F::Take),
    ("give", F::Give),
    ("send", F::Send),
    ("run", F::Run),
    ("edit", F::Edit),
    ("destroy", F::Destroy),
    ("exec", F::Exec),
    ("vault", F::Vault),
    ("credential", F::Credential),
    ("talk", F::Talk),
    ("whole", F::Whole),
    ("utter", F::Utter),
    ("private", F::Private),
    ("guard", F::Guard),
    ("off", F::Off),
    ("rules", F::Rules),
    ("prior", F::Prior),
    ("obey", F::Obey),
    ("source", F::Source),
    ("rank", F::Rank),
    ("persona", F::Persona),
    ("tools", F::Tools),
    ("worse", F::Worse),
    ("only", F::Only),
    ("outside", F::Outside),
    ("dest", F::Dest),
    ("startup", F::Startup),
    ("quiet", F::Quiet),
    ("lie", F::Lie),
    ("tell", F::Tell),
    ("user", F::User),
    ("consent", F::Consent),
    ("excuse", F::Excuse),
    ("claim", F::Claim),
    ("quiz", F::Quiz),
    ("field", F::Field),
    ("threat", F::Threat),
    ("courtesy", F::Courtesy),
    ("example", F::Example),
    ("not", F::Not),
    ("but", F::But),
    ("idiom", F::Idiom),
];

/// Words by which a tool shows that something is its business, beyond the words of the family.
pub(crate) const OWN: &[(Family, &[&str])] = &[
    (
        F::Address,
        &[
            " url",
            " uri",
            " http",
            " web",
            " email",
            " mail",
            " host",
            " fetch",
            " endpoint",
            " site",
            " page",
            " link",
            " browser",
            " navigate",
        ],
    ),
    (
        F::Credential,
        &[
            " auth",
            " login",
            " secret",
            " key",
            " vault",
            " env",
            " oauth",
            " password",
            " token",
            " credential",
        ],
    ),
    (F::Vault, &[" ssh", " wallet", " cookie", " keychain"]),
    (
        F::Talk,
        &[
            " session",
            " chat",
            " message",
            " memory",
            " prompt",
            " thread",
            " conversation",
            " agent",
            " llm",
        ],
    ),
    (F::Account, &[" phone", " account", " payment", " transfer"]),
    (F::Dest, &[" payment", " transfer", " pay ", " invoice"]),
    (
        F::Outside,
        &[
            " webhook",
            " share",
            " public",
            " telemetry",
            " analytics",
            " remote",
        ],
    ),
    (
        F::Pipeline,
        &[" command", " exec", " shell", " run", " bash", " script"],
    ),
    (
        F::Private,
        &[" contact", " profile", " location", " clipboard", " file"],
    ),
    (
        F::Model,
        &[
            " agent",
            " assistant",
            " llm",
            " model",
            " ai ",
            " bot ",
            " chat",
        ],
    ),
    (F::Startup, &[" cron", " config", " hook", " memory"]),
    (F::Destroy, &[" delete", " remove"]),
    (
        F::Exec,
        &[
            " command", " exec", " shell", " run", " bash", " script", " eval",
        ],
    ),
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

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
