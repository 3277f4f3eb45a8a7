//! From the words of a sentence to the families they belong to.
//!
//! A negation undoes what stands close behind it, and what is quoted as an attack is not read.

use crate::hostile::shape::outright::{Heard, Outright};
use crate::hostile::shape::sign::{Firm, Sentence};
use crate::hostile::shape::{Families, Family as F, Place, Seen, Shape, care, fair, literal};

/// How far, in bytes of folded text, a negation reaches.
const NEGATED: usize = 24;

/// How far a negation reaches to what is told: `no need for anybody to hear`.
const UNTOLD: usize = 48;

/// How far apart words may stand that mean something together.
const NEAR: usize = 64;

/// Verbs with which a tool says that it looks at what others wrote.
const CHECKS: &[&str] = &[
    "checks",
    "detects",
    "flags",
    "scans",
    "identifies",
    "finds",
    "classifies",
    "blocks",
    "rates",
    "scores",
    "warns",
    "explains",
    "tests",
    "recognizes",
    "recognises",
    "analyzes",
    "analyses",
    "inspects",
    "audits",
    "lints",
    "hunts",
    "spots",
];

/// Words of labels before what is only shown: what it is, and of what.
const SPECIMENS: &[&str] = &[
    "expected",
    "mock",
    "sample",
    "example",
    "dummy",
    "fixture",
    "canned",
    "readme",
    "fake",
    "training",
    "illustrative",
    "placeholder",
    "test",
];
const UTTERANCES: &[&str] = &[
    "response", "output", "answer", "reply", "text", "prompt", "input", "payload", "shows",
    "strings", "prompts", "phrases", "inputs", "payloads",
];

/// Families that a negation undoes.
const UNDONE: &[F] = &[
    F::Take,
    F::Give,
    F::Send,
    F::Run,
    F::Edit,
    F::Destroy,
    F::Obey,
    F::Consent,
    F::Only,
    F::Persona,
    F::Rank,
    F::Quiet,
    F::Lie,
    F::Quiz,
];

/// What an order not to do it is an order to go ahead.
const HESITATING: &[&str] = &[
    "hesitate", "fail", "forget", "neglect", "wait", "ask", "refuse",
];

/// How texts warn of orders that stand in data.
const CAUTIONS: &[&str] = &[
    " instructions in them ",
    " instructions in it ",
    " instructions found ",
    " instructions inside ",
    " instructions within ",
    " instructions contained ",
    " instructions embedded ",
    " instructions that appear ",
    " commands found ",
    " commands in them ",
    " orders in them ",
];

/// Verbs that tell somebody to hide something.
const HIDING: &[&str] = &[
    "keep", "stay", "remain", "hide", "conceal", "omit", "exclude", "say", "leave", "suppress",
];

/// Participles that do not end as most do: `is recorded and sent` orders nothing.
const PARTICIPLES: &[&str] = &["sent", "given", "written", "resent"];

/// Orders to keep something out of logs.
const LOGGING: &[&str] = &[" do not log ", " don't log "];

/// Families of doing something.
const DOING: &[F] = &[
    F::Take,
    F::Give,
    F::Send,
    F::Run,
    F::Edit,
    F::Destroy,
    F::Obey,
    F::Off,
];

impl Shape {
    /// Reads one sentence; `read` says where it stands.
    pub(super) fn read(&self, words: &str, mut read: Sentence) -> Sentence {
        let attacks = || read.own.has(F::Threat) || self.quotes(words);
        let folded = folded(&care::uncalled(&care::unquoted(words, attacks)));
        let seen = self.seen(&folded);
        let seen = without_trade(&folded, seen);
        let spared = care::spared(&folded, &seen);
        // Scripts without blanks have their letters apart once they are folded.
        let counted = if words.is_ascii() { words } else { &folded };
        read.words = counted.split_whitespace().count();
        read.clauses = folded.matches(';').count();
        literal::find(words, |family| read.families.add(family));
        // `Do not send a, b or c, nor pass d`: what was forbidden first stays so up to a turn.
        let mut forbidden = folded.starts_with(" no ");
        let prohibits = prohibits(&folded, &seen);
        for (at, one) in seen.iter().enumerate() {
            let negated = is_negated(&folded, seen.get(..at).unwrap_or_default(), one);
            match one.family {
                F::But => forbidden = false,
                _ if care::is_spared(one, &spared) => read.families.add(F::Forbidden),
                F::Give if care::leaves_out(&folded, one) => {
                    forbidden = true;
                    read.families.add(F::Forbidden);
                }
                F::Take | F::Give | F::Send | F::Model | F::Credential | F::Vault | F::Consent
                    if care::is_told(&folded, one, prohibits) =>
                {
                    read.families.add(F::Forbidden);
                }
                F::Tell if care::is_for_you(&folded, one) => {}
                F::Quiet if care::is_mishap(&folded, one) || care::is_privilege(&folded, one) => {}
                F::Lie if care::is_claimed(&folded, one) => {}
                F::Lie if care::is_shown(&folded, one) || care::is_candid(&folded, one) => {}
                F::Rank if care::is_fair(&folded, one) => {}
                F::Private if care::is_kept(&folded, one) => {}
                F::Quiet | F::Tell if care::is_made_up_for(&folded, one) => {}
                F::Quiet | F::Give if care::is_for_now(&folded, one) => {
                    read.families.add(F::Forbidden);
                }
                F::Tell if care::is_for_now(&folded, one) => {}
                F::Quiet if care::is_subject(&folded, one) => read.families.add(F::Untold),
                F::Tell if negated && care::is_early(&folded, one) => {
                    read.families.add(F::Forbidden);
                }
                F::Take | F::Give | F::Send if forbidden || negated => {
                    forbidden = true;
                    read.families.add(F::Forbidden);
                }
                F::Quiet if follows(seen.get(..at).unwrap_or_default(), one) => {}
                F::Quiet if spares(&folded, seen.get(at..).unwrap_or_default()) => {
                    read.families.add(F::Forbidden);
                }
                F::Tell if negated => read.families.add(F::Untold),
                F::Tell | F::Not => {}
                family if negated && UNDONE.contains(&family) => read.families.add(F::Forbidden),
                family => read.families.add(family),
            }
        }
        for (family, pair) in [(F::Guard, F::GuardOff), (F::Rules, F::RulesOff)] {
            if is_put_off(&folded, &seen, family) {
                read.families.add(pair);
            }
        }
        if hooks(&folded, &seen) {
            read.families.add(F::Hook);
        }
        read.describes = describes(&folded);
        read.guarded = care::is_guarded(&folded);
        read.notice = care::is_notice(&folded);
        read.verifies = care::verifies(&folded);
        read.firm = if care::is_caution(&folded, &seen) {
            Firm::Caution
        } else if keeps(&folded, &seen) {
            Firm::Kept
        } else {
            Firm::No
        };
        read.refers = care::is_reference(&folded);
        read.passive = folded.contains(" is read by ");
        read.sequence = care::is_sequence(&folded);
        read.checks = checks(&folded);
        read.is_specimen = is_specimen(words);
        read.leads = seen.iter().any(|one| leads(&folded, one, read.opens));
        // `Set x to ...` is an order to hand something over; a set is not.
        if folded.starts_with(" set ") && !read.opens {
            read.families.add(F::Give);
            read.leads = true;
        }
        read.outright = outright(words, &folded, &read);
        read.leads |= read.outright.is_some();
        read.fair = fair::is_fair(&folded, read.families, read.leads);
        if read.outright == Some(Outright::Reveal) {
            read.families.add(F::Give);
        }
        read
    }

    /// Whether a text speaks of what attacks look like.
    fn quotes(&self, text: &str) -> bool {
        let seen = self.seen(&folded(text));
        seen.iter().any(|one| one.family == F::Threat)
    }

    /// The families that a name or a plain sentence has words of.
    pub(super) fn topics(&self, text: &str) -> Families {
        let mut topics = Families::default();
        for seen in self.seen(&folded(text)) {
            topics.add(seen.family);
        }
        literal::find(text, |family| topics.add(family));
        topics
    }
}

/// Words of families without the rules of some trade.
fn without_trade(folded: &str, seen: Vec<Seen>) -> Vec<Seen> {
    let trade = |one: &Seen| one.family == F::Rules && care::is_trade(folded, &seen, one);
    let kept: Vec<bool> = seen.iter().map(|one| !trade(one)).collect();
    let both = seen.into_iter().zip(kept);
    both.filter_map(|(one, keep)| keep.then_some(one)).collect()
}

/// Whether a word close before, in the same clause, says no.
pub(super) fn is_negated(folded: &str, before: &[Seen], one: &Seen) -> bool {
    let reach = if one.family == F::Tell {
        UNTOLD
    } else {
        NEGATED
    };
    let close = |other: &&Seen| other.family == F::Not && one.at - other.at <= reach;
    // `Unless somebody knows` is a condition.
    let says_no = |other: &&Seen| {
        let word = folded.get(other.at..).unwrap_or_default();
        one.family != F::Tell || !word.starts_with(" unless ")
    };
    let not = before
        .iter()
        .rev()
        .find(|other| close(other) && other.at < one.at && says_no(other));
    not.is_some_and(|not| {
        let between = folded.get(not.at..one.at).unwrap_or_default();
        !between.contains(';')
    })
}

/// Whether words for putting something off stand close to those of a family. `Do not skip it` puts
/// nothing off, unless what is not to be done is to hesitate.
fn is_put_off(folded: &str, seen: &[Seen], family: F) -> bool {
    let off = seen.iter().enumerate().filter(|(at, one)| {
        let before = seen.get(..*at).unwrap_or_default();
        one.family == F::Off && !is_forbidden(folded, before, one)
    });
    let off = off.filter(|(_, one)| !care::is_privilege(folded, one));
    let at = || seen.iter().filter(|one| one.family == family);
    let mut off = off.map(|(_, one)| one.at);
    off.any(|off| at().any(|one| one.at.abs_diff(off) <= NEAR))
}

/// Whether a word is negated by what stands directly before it.
fn is_forbidden(folded: &str, before: &[Seen], one: &Seen) -> bool {
    let head = folded.get(..one.at).unwrap_or_default();
    let tail = head.rsplit(';').next().unwrap_or_default();
    let heeds = |word: &str| HESITATING.contains(&word);
    is_negated(folded, before, one) && !tail.split_whitespace().any(heeds)
}

/// Whether a sentence forbids to hand something over.
fn prohibits(folded: &str, seen: &[Seen]) -> bool {
    seen.iter().enumerate().any(|(at, one)| {
        let before = seen.get(..at).unwrap_or_default();
        matches!(one.family, F::Give | F::Send) && is_negated(folded, before, one)
    })
}

/// Whether something is not to be put off.
fn keeps(folded: &str, seen: &[Seen]) -> bool {
    seen.iter().enumerate().any(|(at, one)| {
        let before = seen.get(..at).unwrap_or_default();
        one.family == F::Off && is_forbidden(folded, before, one)
    })
}

/// Whether something waits for another tool: `before any other tool`, `when a mail tool is used`.
fn hooks(folded: &str, seen: &[Seen]) -> bool {
    let at = |family| seen.iter().filter(move |seen| seen.family == family);
    at(F::Trigger).any(|trigger| {
        at(F::Tools).any(|tool| {
            let between = folded.get(trigger.at..tool.at);
            between.is_some_and(|between| between.len() <= NEGATED && !between.contains(';'))
                && !care::is_outcome(folded, tool)
        })
    })
}

/// Whether a sentence says what something does, by its first word: `Detects ...`, `Returns ...`.
fn describes(folded: &str) -> bool {
    let first = folded.split_whitespace().find(|word| *word != ";");
    first.is_some_and(|word| word.len() > 3 && word.ends_with('s') && !word.ends_with("ss"))
}

/// Whether a sentence begins by checking what others wrote.
fn checks(folded: &str) -> bool {
    if CAUTIONS.iter().any(|caution| folded.contains(caution)) && !folded.contains(" your ") {
        return !folded.contains(" obey ") && !folded.contains(" carry out ");
    }
    let mut words = folded.split_whitespace().filter(|word| *word != ";");
    match (words.next(), words.next()) {
        (Some("looks"), next) => next == Some("for"),
        (first, _) => first.is_some_and(|word| CHECKS.contains(&word)),
    }
}

/// What a sentence orders outright. What is offered for a parameter, what is shown, and what attacks
/// are said to do, orders nobody.
fn outright(words: &str, folded: &str, read: &Sentence) -> Option<Outright> {
    let told = matches!(read.place, Place::Whole | Place::Opening);
    if !told || read.checks || read.families.any(&[F::Example, F::Threat]) {
        return None;
    }
    let model = read.families.has(F::Model) && !read.own.has(F::Model);
    let heard = Heard {
        words,
        folded,
        opens: read.opens,
        reader: model || read.families.has(F::You),
    };
    heard.order()
}

/// Whether a sentence stands behind a label, as in `expected output:`.
fn is_specimen(words: &str) -> bool {
    let label = words.split_once(':').map_or("", |(label, _)| label);
    let label = label.split(|letter: char| !letter.is_alphanumeric());
    let label = label.filter(|word| !word.is_empty());
    let label: Vec<String> = label.map(str::to_lowercase).collect();
    let has = |known: &[&str]| label.iter().any(|word| known.contains(&word.as_str()));
    label.len() <= 4 && has(SPECIMENS) && has(UTTERANCES)
}

/// Whether a word stands close behind a turn, as in `instead of silently failing`.
fn follows(before: &[Seen], one: &Seen) -> bool {
    let turn = |other: &&Seen| other.family == F::But && one.at - other.at <= NEGATED;
    before.iter().rev().any(|other| turn(&other))
}

/// Whether what is not to be logged are credentials, which hides nothing that anybody should see.
fn spares(folded: &str, rest: &[Seen]) -> bool {
    let Some((one, behind)) = rest.split_first() else {
        return false;
    };
    let word = folded.get(one.at..).unwrap_or_default();
    let logs = LOGGING.iter().any(|verb| word.starts_with(verb));
    let credential = |other: &Seen| {
        matches!(other.family, F::Credential | F::Vault) && other.at - one.at <= NEAR
    };
    logs && behind.iter().any(credential)
}

/// Whether a word begins a clause as an order: `Send ...` is one, `Sends ...` says what a tool does.
/// The first words of a description say what the tool is for in the same form.
fn leads(folded: &str, one: &Seen, opens: bool) -> bool {
    let (before, rest) = folded.split_at_checked(one.at).unwrap_or((folded, ""));
    let word = rest.split_whitespace().next().unwrap_or_default();
    let hides = one.family == F::Quiet && HIDING.contains(&word);
    if !hides && !DOING.contains(&one.family) {
        return false;
    }
    let bare = !word.ends_with("ed") && !word.ends_with("ing") && !PARTICIPLES.contains(&word);
    let describes = word.ends_with('s') && !word.ends_with("ss");
    let lead = before.trim_end().rsplit(' ').next().unwrap_or_default();
    let clause = match lead {
        "" => !opens,
        ";" | "please" | "then" | "also" | "and" => true,
        adverb => adverb.ends_with("ly"),
    };
    bare && !describes && clause && !is_base64_noun(rest)
}

/// Whether `base64` is said of something, as in `base64 strings`, and not what is to be done.
fn is_base64_noun(rest: &str) -> bool {
    let mut words = rest.split_whitespace();
    let object = |word: &str| matches!(word, "the" | "it" | "them" | "this" | "your" | "all");
    words.next() == Some("base64") && !words.next().is_some_and(object)
}

/// A text in lower case with single blanks between and around its words, without the `'s` of
/// owners, and with `;` where a clause ends. Letters of scripts without blanks stand alone.
pub(super) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + 2);
    folded.push(' ');
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let owner = matches!(letter, '\'' | '\u{2019}') && letters.peek() == Some(&'s');
        if letter.is_ascii_alphanumeric() {
            folded.push(letter.to_ascii_lowercase());
        } else if owner {
            letters.next();
        } else if matches!(letter, '\u{3040}'..='\u{9fff}') {
            blank(&mut folded);
            folded.push(letter);
            folded.push(' ');
        } else if letter.is_alphanumeric() || letter == '\'' {
            folded.extend(letter.to_lowercase());
        } else if letter == '\u{2019}' {
            folded.push('\'');
        } else if (matches!(letter, ':' | ';' | ',' | '(' | ')' | '!')
            || (letter == '.' && !letters.peek().is_some_and(|next| next.is_alphanumeric())))
            && !folded.ends_with("; ")
        {
            blank(&mut folded);
            folded.push_str("; ");
        } else {
            blank(&mut folded);
        }
    }
    blank(&mut folded);
    folded
}

fn blank(folded: &mut String) {
    if !folded.ends_with(' ') {
        folded.push(' ');
    }
}
