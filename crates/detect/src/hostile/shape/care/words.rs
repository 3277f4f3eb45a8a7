//! The words by which care is told from attacks, in folded text: one blank between and around words.

/// How a clause begins that says what something is done for.
pub(super) const PURPOSES: &[&str] = &[" so that ", " in order that ", " to make sure that "];

/// How a clause begins that names what is not taken.
pub(super) const COMPARISONS: &[&str] = &[" rather than ", " instead of "];

/// How a demand is told that somebody else may make.
pub(super) const DEMANDS: &[&str] = &[
    " asked to ",
    " asks you to ",
    " asks to ",
    " told to ",
    " tells you to ",
    " wants you to ",
    " instructs you to ",
];

/// How something is kept out of what is passed on.
pub(super) const LEAVING_OUT: &[&str] = &[
    " leave out ",
    " leaves out ",
    " leaving out ",
    " leave them out ",
    " leave it out of logs ",
];

/// What is said of work that may not be finished, and of what may not have been looked through.
pub(super) const CLAIMS: &[&str] = &[
    " is done ",
    " are done ",
    " is ready ",
    " is complete ",
    " is finished ",
    " is fixed ",
    " has finished ",
    " succeeded ",
    " worked ",
    " there are no ",
    " there is no ",
    " there is nothing ",
    " nothing was found ",
];

/// On what such a claim waits.
pub(super) const CONDITIONS: &[&str] = &[
    " before ", " until ", " if ", " unless ", " when ", " while ",
];

/// What else than a use of a tool may be waited for.
pub(super) const OUTCOMES: &[&str] = &[
    " fails ",
    " fail ",
    " failed ",
    " returns 4",
    " returns 5",
    " returns an error ",
    " returns nothing ",
    " reports an error ",
    " returned an error ",
    " errors ",
    " cannot ",
    " can't ",
    " times out ",
    " is not ",
    " isn't ",
    " does not ",
    " doesn't ",
];

/// What data can contain.
pub(super) const SAID: &[&str] = &[
    "instructions",
    "instruction",
    "commands",
    "orders",
    "requests",
    "links",
];

/// How instructions are said to stand in data.
pub(super) const THERE: &[&str] = &[
    "in",
    "inside",
    "within",
    "on",
    "from",
    "found",
    "contained",
    "embedded",
    "that",
    "hidden",
];

/// Whose instructions are to be followed, so that not to is no caution.
pub(super) const ENTITLED: &[&str] = &[
    "your",
    "you",
    "user",
    "user's",
    "users",
    "system",
    "developer",
    "operator",
    "owner",
    "human",
    "anthropic",
    "openai",
    "previous",
    "prior",
    "earlier",
];

/// What is done to be sure of somebody.
pub(super) const VERIFYING: &[&str] = &[
    " verify ",
    " verifies ",
    " verification ",
    " verified ",
    " approval ",
    " approve ",
    " confirm ",
    " confirmation ",
    " identity ",
    " consent ",
    " review ",
    " reviewed ",
];

/// What stands for something without being it.
pub(super) const REFERENCES: &[&str] = &[
    "name",
    "names",
    "id",
    "ids",
    "identifier",
    "identifiers",
    "alias",
    "label",
    "title",
    "slug",
    "reference",
    "handle",
    "arn",
    "path",
    "location",
];

/// What leads from a name to what it names.
pub(super) const OF: &[&str] = &["of", "for", "to"];

/// Participles without the usual ending.
pub(super) const PARTICIPLES: &[&str] =
    &["read", "been", "seen", "done", "run", "set", "had", "made"];

/// How something is said to appear, as a statement.
pub(super) const SHOWN: &[&str] = &[" shown as ", " described as ", " labelled as "];

/// Who may have the last word.
pub(super) const PERSONS: &[&str] = &[
    "user", "users", "human", "person", "they", "customer", "owner",
];

/// What a text may be sure of more than its reader.
pub(super) const EVEN: &[&str] = &[
    " even if you think ",
    " even if you know ",
    " even if you believe ",
    " even if you feel ",
    " even if it seems ",
    " even when you think ",
    " even when you know ",
    " even when you believe ",
];

/// What something comes before that is of its own kind.
pub(super) const AMONG: &[&str] = &[
    " over those ",
    " over the default",
    " over default",
    " each other ",
];

/// How somebody is shown what they could not see.
pub(super) const SHOWN_THEN: &[&str] = &[
    " send the user ",
    " show the user ",
    " tell the user ",
    " summarize ",
    " summarise ",
];

/// How something is left out of a call.
pub(super) const LEFT: &[&str] = &[
    " leave it out if ",
    " leave it out when ",
    " leave it out unless ",
    " leave it out for ",
    " leave it out to get ",
    " leave it out to use ",
    " leave it out to let ",
    " leave it out to take ",
    " leave it out to search ",
    " leave it out to list ",
    " leave it out to include ",
    " leave it out and the ",
    " leave it out and all ",
    " leave it out ; ",
    " leave them out ; ",
];

/// How something is kept until its time.
pub(super) const KEPT: &[&str] = &[" to yourself ", " keep it to yourself "];

/// What is said by whoever hides nothing.
pub(super) const CANDID: &[&str] = &[
    " don't know ",
    " do not know ",
    " cannot ",
    " can't ",
    " could not ",
    " couldn't ",
    " may ",
    " might ",
    " tried ",
    " tries ",
    " incomplete ",
    " uncertain ",
    " untrusted ",
    " suspicious ",
];

/// What is done, or stands for what is.
pub(super) const DEEDS: &[&str] = &[
    "this",
    "it",
    "that",
    "these",
    "those",
    "them",
    "any",
    "anything",
    "step",
    "steps",
    "action",
    "actions",
    "call",
    "calls",
    "tool",
    "tools",
    "upload",
    "copy",
    "request",
    "requests",
    "sync",
    "transfer",
    "instruction",
    "instructions",
    "note",
    "to",
    "user",
    "anyone",
    "anybody",
    "was",
    "were",
    "did",
    "existence",
    "file",
    "files",
    "data",
    "parameter",
    "field",
];

/// What follows a word that ends what is said.
pub(super) const AFTERWARDS: &[&str] =
    &[";", "until", "and", "or", "unless", "to", "by", "at", "for"];

/// How the order of calls is told.
pub(super) const SEQUENCE: &[&str] = &[
    " last step ",
    " final step ",
    " afterwards ",
    " after that ",
    " in parallel ",
    " at the same time ",
    " same turn ",
    " simultaneously ",
    " concurrently ",
];

/// What announces that something is only shown.
pub(super) const SHOWING: &[&str] = &[
    "such as",
    "like",
    "e.g.",
    "e.g.,",
    "eg",
    "for example",
    "for example,",
    "for instance",
    "for instance,",
    "as in",
];

/// How the reader is said not to get something.
pub(super) const NEVER: &[&str] = &["never", "cannot", "not", "doesn't", "only", "don't"];
pub(super) const SEES: &[&str] = &[
    "see", "sees", "get", "gets", "receive", "receives", "learn", "learns", "handle", "handles",
    "know", "knows",
];

/// Words that make a condition of what somebody agreed to.
pub(super) const WHEN: &[&str] = &["if", "once", "when", "after", "until", "unless", "whether"];

/// Who agrees, and words of agreeing.
pub(super) const AGREEING: &[&str] = &[
    "the", "user", "users", "they", "person", "human", "has", "have",
];

/// What may stand between a no and what is not meant.
pub(super) const DETERMINERS: &[&str] = &["the", "a", "an", "any", "its", "their", "this", "each"];

/// Words before which something is, and is not done.
pub(super) const STATES: &[&str] = &["is", "are", "merely", "only", "just", "was", "were"];

/// Things that are called like what was done to get them.
pub(super) const HOLDERS: &[&str] = &[
    "dump",
    "copy",
    "export",
    "download",
    "snapshot",
    "screenshot",
    "capture",
];

/// Who claims something in what a text warns of.
pub(super) const CLAIMANTS: &[&str] = &["they", "it", "that", "which", "who", "whoever", "sender"];

/// How tools are told by what they change, or by what they answer.
pub(super) const GUARDED: &[&str] = &[
    " tool which changes ",
    " tool that changes ",
    " tool which writes ",
    " tool that writes ",
    " tool which deletes ",
    " tool that deletes ",
    " tool which modifies ",
    " tool that modifies ",
    " tool says ",
    " tools say ",
    " tool answers ",
    " tools answer ",
    " tool reports ",
    " tools report ",
];

/// How the record of a call is told.
pub(super) const RECORDED: &[&str] = &[
    " is logged ",
    " are logged ",
    " is recorded ",
    " are recorded ",
    " is audited ",
    " are audited ",
];

/// What is said of what only some may do.
pub(super) const PRIVILEGED: &[&str] = &[
    " takes the role ",
    " needs the role ",
    " requires the role ",
    " is logged ",
    " is audited ",
    " is only possible ",
    " is not possible ",
    " is refused ",
    " is not an option ",
    " isn't an option ",
    " is not allowed ",
    " is not permitted ",
    " is forbidden ",
    " is prohibited ",
    " is an offence ",
    " is an offense ",
    " is illegal ",
    " is unlawful ",
];

/// Words behind which a tool is named that is to be called.
pub(super) const CALLING: &[&str] = &["use", "call", "calling", "run", "using", "running"];

/// What is picked from a file that holds more.
pub(super) const PICKED: &[&str] = &["context", "profile", "alias", "section", "remote"];

/// How the reader is said not to see something.
pub(super) const UNSEEN: &[&str] = &[
    " you won't",
    " you will never",
    " you will not",
    " you cannot",
    " you can't",
    " you never",
];

/// Words of rules that may be those of some trade.
pub(super) const RULES: &[&str] = &[
    "rule",
    "rules",
    "instruction",
    "instructions",
    "guideline",
    "guidelines",
    "constraint",
    "constraints",
    "directive",
    "directives",
];

/// What stands before rules that may be anybody's, the model's too.
pub(super) const ANYONE_S: &[&str] = &[
    "the",
    "all",
    "any",
    "other",
    "every",
    "each",
    "some",
    "these",
    "those",
    "this",
    "that",
    "such",
    "your",
    "our",
    "their",
    "its",
    "her",
    "his",
    "and",
    "with",
    "from",
    "over",
    "but",
    "not",
    "new",
    "previous",
    "prior",
    "earlier",
    "preceding",
    "above",
    "former",
    "existing",
    "original",
    "initial",
    "default",
    "current",
    "standing",
    "general",
    "usual",
    "normal",
    "common",
    "given",
    "hidden",
    "further",
    "additional",
    "explicit",
    "implicit",
    "strict",
    "important",
    "special",
    "conflicting",
    "contrary",
    "competing",
    "following",
    "subsequent",
    "later",
    "system",
    "user",
    "users",
    "developer",
    "operator",
    "owner",
    "admin",
    "administrator",
    "vendor",
    "provider",
    "safety",
    "security",
    "privacy",
    "ethical",
    "moral",
    "ethics",
    "confidentiality",
    "compliance",
    "governance",
    "guard",
    "house",
    "company",
    "corporate",
    "internal",
    "content",
    "usage",
    "platform",
    "policy",
    "behaviour",
    "behavior",
    "conduct",
    "model",
    "agent",
    "assistant",
    "session",
    "conversation",
    "chat",
    "prompt",
    "task",
    "tool",
    "tools",
    "server",
    "built",
    "core",
    "base",
    "basic",
    "own",
    "personal",
    "human",
    "restrictive",
    "protective",
    "access",
    "permission",
    "approval",
    "sharing",
    "disclosure",
    "handling",
    "execution",
    "overriding",
    "operational",
    "organisational",
    "organizational",
    "organisation",
    "organization",
    "trained",
    "training",
    "alignment",
    "written",
    "stated",
    "whatever",
    "whose",
    "which",
    "certain",
    "many",
    "most",
    "both",
    "two",
    "three",
    "old",
    "older",
    "outdated",
    "obsolete",
    "unnecessary",
];

/// What goes wrong without a word, or what is done instead of what was asked, as a statement.
pub(super) const MISHAPS: &[&str] = &[
    "fails",
    "failing",
    "failed",
    "fall",
    "falls",
    "falling",
    "truncates",
    "truncated",
    "drops",
    "dropped",
    "dropping",
    "ignored",
    "ignores",
    "lost",
    "default",
    "discarded",
    "discards",
    "overwritten",
    "overwrites",
    "swallowed",
    "swallows",
    "skipped",
    "capped",
    "clipped",
    "rounded",
    "coerced",
    "wraps",
    "empty",
    "nothing",
    "wrong",
    "stale",
];
