//! What is ordered outright: a verb at the head of a clause and what it governs right behind it.
//!
//! `Reveal passwords`, `bypass authorization` and `disregard all` are orders of two words, with
//! nothing else about them that would give them away. The same words are honest where somebody is
//! kept from doing it, where it is an option, and where they are the first part of something else:
//! `skip validation errors`, `include the token in the header`.

/// What the reader is told outright.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outright {
    /// To show or pass on credentials.
    Reveal,
    /// To go around who may do what.
    Bypass,
    /// To drop what was said before.
    Drop,
}

/// The verbs of each order.
const VERBS: &[(Outright, &[&str])] = &[
    (
        Outright::Reveal,
        &[
            "reveal", "output", "include", "send", "export", "transmit", "disclose", "divulge",
            "expose", "leak", "print", "dump",
        ],
    ),
    (
        Outright::Bypass,
        &[
            "bypass",
            "skip",
            "ignore",
            "circumvent",
            "evade",
            "sidestep",
        ],
    ),
    (Outright::Drop, &["disregard", "ignore", "forget"]),
];

/// What stands between a verb and its object and changes nothing.
const DETERMINERS: &[&str] = &[
    "the", "a", "any", "all", "every", "each", "your", "their", "its", "user", "users", "stored",
    "saved",
];

/// Objects of one word.
const CREDENTIALS: &[&str] = &[
    "password",
    "passwords",
    "passphrase",
    "passphrases",
    "apikey",
    "apikeys",
    "token",
    "tokens",
    "secret",
    "secrets",
    "credential",
    "credentials",
];
const CHECKS: &[&str] = &[
    "auth",
    "authentication",
    "authorization",
    "authorisation",
    "permission",
    "permissions",
    "validation",
];
const EVERYTHING: &[&str] = &["all", "previous", "everything"];

/// First words of objects of two, and the second ones.
const OF_KEYS: &[&str] = &["api", "access", "auth", "secret", "private"];
const KEYS: &[&str] = &["key", "keys", "token", "tokens"];

/// Words that belong to the name of a check.
const OF_CHECKS: &[&str] = &["check", "checks", "prompt", "prompts", "step", "steps"];

/// Words before a verb behind which it is still an order.
const LEADS: &[&str] = &[
    ";", "please", "then", "also", "and", "first", "just", "simply", "now",
];

/// Words by which somebody is told; they order the reader only where the reader is meant.
const MODALS: &[&str] = &["must", "shall", "should", "always"];

/// Words of tags that stand behind an object where its tag is closed.
const TAGS: &[&str] = &[
    "important",
    "system",
    "critical",
    "instruction",
    "instructions",
    "hidden",
    "secret",
    "admin",
    "priority",
    "mandatory",
    "urgent",
    "override",
];

/// Words that go on after an object without making it a part of something else.
const AFTER: &[&str] = &[
    ";",
    "of",
    "to",
    "from",
    "for",
    "in",
    "into",
    "on",
    "with",
    "by",
    "at",
    "as",
    "and",
    "or",
    "before",
    "after",
    "when",
    "whenever",
    "while",
    "here",
    "now",
    "entirely",
    "completely",
    "verbatim",
    "first",
];

/// Where credentials belong, so that somebody may be told to put them there.
const PLACES: &[&str] = &[
    "header",
    "headers",
    "authorization",
    "connection",
    "config",
    "configuration",
    "env",
    "environment",
    "vault",
];

/// Words that make a choice of an order, wherever they stand and where they follow it.
const OPTIONS: &[&str] = &[
    "true",
    "false",
    "flag",
    "option",
    "options",
    "optional",
    "optionally",
    "default",
    "defaults",
    "whether",
    "can",
    "may",
    "mode",
    "parameter",
];
const CONDITIONS: &[&str] = &["if", "unless"];

/// Words that say no; what they forbid stays forbidden up to a turn.
const NOT: &[&str] = &[
    "not",
    "never",
    "don't",
    "dont",
    "cannot",
    "can't",
    "won't",
    "mustn't",
    "shouldn't",
    "no",
    "nor",
    "avoid",
    "refuse",
    "refuses",
    "without",
    "nobody",
];
const TURNS: &[&str] = &["but", "instead", "rather"];

/// A sentence in which orders are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard<'a> {
    /// The sentence as it was written.
    pub(super) words: &'a str,
    /// The same, folded.
    pub(super) folded: &'a str,
    /// Whether its first words tell what a tool is for.
    pub(super) opens: bool,
    /// Whether the reader is spoken to.
    pub(super) reader: bool,
}

impl Heard<'_> {
    /// The first order in the sentence.
    pub(super) fn order(&self) -> Option<Outright> {
        let words = self.folded.split_whitespace();
        if !words.clone().any(is_verb) || self.is_item() {
            return None;
        }
        let words: Vec<&str> = words.collect();
        if words.iter().any(|word| OPTIONS.contains(word)) {
            return None;
        }
        let mut forbidden = false;
        for (at, word) in words.iter().enumerate() {
            forbidden = (forbidden || NOT.contains(word)) && !TURNS.contains(word);
            let (before, rest) = words.split_at_checked(at).unwrap_or_default();
            if forbidden || !is_verb(word) || !self.leads(before, word) {
                continue;
            }
            let behind = rest.get(1..).unwrap_or_default();
            let mut meant = VERBS.iter().filter(|(_, verbs)| verbs.contains(word));
            if let Some((order, _)) = meant.find(|(order, _)| governs(*order, behind)) {
                return Some(*order);
            }
        }
        None
    }

    /// Whether a verb with these words before it tells the reader to do something.
    fn leads(&self, before: &[&str], verb: &str) -> bool {
        let so_far = match before {
            [] => !self.opens,
            [.., "you", "will"] => true,
            [.., "need" | "needs" | "have" | "has" | "required", "to"] => self.reader,
            [.., last] => {
                LEADS.contains(last)
                    || (MODALS.contains(last) && self.reader)
                    || (last.ends_with("ly") && last.len() > 3)
            }
        };
        so_far || self.is_tagged(verb)
    }

    /// Whether a verb stands right behind a tag, where an order shouts.
    fn is_tagged(&self, verb: &str) -> bool {
        let mut behind = self.words.split(['>', ']']).skip(1);
        behind.any(|text| {
            let head = text.trim_start().get(..verb.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(verb))
        })
    }

    /// Whether it is an item of a list: what a tool can do is listed in the form of orders.
    fn is_item(&self) -> bool {
        self.words.trim_start().starts_with(['-', '*', '\u{2022}'])
    }
}

fn is_verb(word: &str) -> bool {
    VERBS.iter().any(|(_, verbs)| verbs.contains(&word))
}

/// Whether what follows a verb is all that the order is about.
fn governs(order: Outright, behind: &[&str]) -> bool {
    let conditional = behind.iter().any(|word| CONDITIONS.contains(word));
    if order == Outright::Drop {
        let object = behind.first().is_some_and(|word| EVERYTHING.contains(word));
        return object && ends(behind.get(1..).unwrap_or_default()) && !conditional;
    }
    let skipped = behind
        .iter()
        .take(3)
        .take_while(|word| DETERMINERS.contains(word));
    let object = behind.get(skipped.count()..).unwrap_or_default();
    let rest = match (order, object) {
        (Outright::Reveal, [first, second, rest @ ..])
            if OF_KEYS.contains(first) && KEYS.contains(second) =>
        {
            rest
        }
        (Outright::Reveal, [first, rest @ ..]) if CREDENTIALS.contains(first) => rest,
        (Outright::Bypass, [first, second, rest @ ..])
            if CHECKS.contains(first) && OF_CHECKS.contains(second) =>
        {
            rest
        }
        (Outright::Bypass, [first, rest @ ..]) if CHECKS.contains(first) => rest,
        _ => return false,
    };
    let placed = order == Outright::Reveal && rest.iter().any(|word| PLACES.contains(word));
    let closed = rest
        .first()
        .is_none_or(|next| AFTER.contains(next) || TAGS.contains(next));
    closed && !placed && !conditional
}

/// Whether a clause ends here, or a tag is closed.
fn ends(rest: &[&str]) -> bool {
    rest.first()
        .is_none_or(|next| *next == ";" || TAGS.contains(next) || matches!(*next, "and" | "of"))
}
