//! The verbs in tool names, from `rules/verbs.txt`. The specification's list is the floor; a verb is
//! a word of its own, and the first one leads.

use std::collections::HashMap;
use std::sync::LazyLock;

use mcpproxy_core::Operation;

use crate::rules::sections;
use crate::words::Words;

/// The verb that decides what a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verb {
    /// What it says.
    pub operation: Operation,
    /// How sure that is, in percent.
    pub percent: u8,
    /// The verb, as it stands in the table.
    pub word: &'static str,
    /// What the name says if this verb is only what is read about: `snapshot_delete` deletes
    /// snapshots, or reads of deletions.
    pub read_about: Option<&'static str>,
}

impl Verb {
    /// Settles what the name of a tool that is said to only read comes to.
    #[must_use]
    pub fn said_to_read(self) -> Self {
        match self.read_about {
            Some(word) => Self {
                operation: Operation::Read,
                percent: DISPUTED,
                word,
                read_about: None,
            },
            None => self,
        }
    }
}

/// How sure it is what a name with a later verb says, in percent.
const DISPUTED: u8 = 75;

/// Verbs that read and are nothing but verbs: what follows them is what is read about, as in
/// `get_delete_policy` and `can_delete`. Others are as often things: `list_delete`.
const ASKS: &[&str] = &[
    "get", "read", "fetch", "find", "show", "describe", "lookup", "inspect", "retrieve", "explain",
    "validate", "verify", "is", "has", "can",
];

/// Words after which a name does a second thing.
const AND: &[&str] = &["and", "or", "then", "n"];

/// Says what the verbs of a name come to; nothing if it has none.
pub fn by_name(words: &Words) -> Option<Verb> {
    let mut leading: Option<Verb> = None;
    let mut joined = false;
    for (at, word) in words.iter().enumerate() {
        if AND.contains(&word) && at > 0 {
            joined = true;
            continue;
        }
        let Some(found) = entry(word) else { continue };
        let counted = match leading {
            None => found.verb,
            Some(first) if joined => second(first, found.verb),
            Some(first) => later(first, found, word),
        };
        leading = Some(counted);
    }
    leading.or_else(|| grown_together(words.joined()))
}

/// A second verb after `and`: the stricter counts.
fn second(first: Verb, found: Verb) -> Verb {
    if found.operation > first.operation {
        found
    } else {
        first
    }
}

/// A verb after the leading one: only one that destroys, or that cannot be a noun, counts. After a verb
/// that asks it is what is asked about.
fn later(first: Verb, found: Entry, word: &str) -> Verb {
    let Entry { verb, sort } = found;
    if verb.operation <= first.operation || sort != Sort::Certain || word != verb.word {
        return first;
    }
    let reads = first.operation == Operation::Read;
    match verb.operation {
        Operation::Destructive if reads && ASKS.contains(&first.word) => first,
        Operation::Destructive => Verb {
            percent: verb.percent.min(DISPUTED),
            read_about: reads.then_some(first.word),
            ..verb
        },
        Operation::Read | Operation::Write => Verb {
            percent: 65,
            ..verb
        },
    }
}

/// What a word of the table says, beside what it says as a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    verb: Verb,
    sort: Sort,
}

/// How far a word can be taken for a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// It is one.
    Certain,
    /// What it does depends on what it is used on.
    Doubtful,
    /// It is as often a noun.
    Noun,
}

static VERBS: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    for section in sections(include_str!("../../rules/verbs.txt")) {
        let Some((operation, percent, sort)) = parse(section.header) else {
            continue;
        };
        for word in section.names() {
            let verb = Verb {
                operation,
                percent,
                word,
                read_about: None,
            };
            table.insert(word, Entry { verb, sort });
        }
    }
    table
});

fn parse(header: &str) -> Option<(Operation, u8, Sort)> {
    Some(match header {
        "destructive" => (Operation::Destructive, 90, Sort::Certain),
        "doubtful" => (Operation::Destructive, 60, Sort::Doubtful),
        "write" => (Operation::Write, 85, Sort::Certain),
        "read" => (Operation::Read, 85, Sort::Certain),
        "nouns" => (Operation::Write, 85, Sort::Noun),
        _ => return None,
    })
}

/// Looks one word up, also as `deletes`; but `logs` and `messages` are things.
fn entry(word: &str) -> Option<Entry> {
    let third_person = || {
        let found = VERBS.get(word.strip_suffix('s')?)?;
        (found.sort != Sort::Noun).then_some(found)
    };
    VERBS.get(word).or_else(third_person).copied()
}

/// Looks for a verb at the start or end of a name written without boundaries: `deletefile`.
fn grown_together(name: &str) -> Option<Verb> {
    const ENDS: &[(&str, Operation)] = &[
        ("delete", Operation::Destructive),
        ("remove", Operation::Destructive),
        ("destroy", Operation::Destructive),
        ("purge", Operation::Destructive),
        ("terminate", Operation::Destructive),
        ("create", Operation::Write),
        ("update", Operation::Write),
        ("upload", Operation::Write),
        ("insert", Operation::Write),
        ("write", Operation::Write),
        ("fetch", Operation::Read),
        ("query", Operation::Read),
        ("search", Operation::Read),
    ];
    const STARTS: &[(&str, Operation)] = &[
        ("send", Operation::Write),
        ("get", Operation::Read),
        ("list", Operation::Read),
        ("find", Operation::Read),
        ("view", Operation::Read),
        ("read", Operation::Read),
    ];
    // `undelete` and `nodelete` do not delete.
    let ends = |verb: &str| name.ends_with(verb) && !name.ends_with(&["un", verb].concat());
    // `deleted` and `getter` are no orders, `deletefile` and `getuser` are.
    let starts = |verb: &str| name.starts_with(verb) && name.len() >= verb.len() + 3;
    let whole = ENDS.iter().find(|(verb, _)| starts(verb) || ends(verb));
    let start = STARTS
        .iter()
        .find(|(verb, _)| starts(verb) && name.len() >= 7);
    let (word, operation) = *whole.or(start)?;
    Some(Verb {
        operation,
        percent: 60,
        word,
        read_about: None,
    })
}

/// Says what a value of a choosing parameter does: `delete`, `POST`, `rm`.
pub(crate) fn choice(value: &Words) -> Option<Operation> {
    entry(value.word(0)).map(|found| found.verb.operation)
}

/// Says whether a word is a verb that destroys.
pub(crate) fn is_destructive(word: &str) -> bool {
    VERBS.get(word).is_some_and(|found| {
        found.verb.operation == Operation::Destructive && found.sort == Sort::Certain
    })
}
