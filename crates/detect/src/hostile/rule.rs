//! Patterns over ideas: reads lists of them and matches them against a sentence's tokens.

use crate::error::DetectError;
use crate::hostile::ideas::Ideas;
use crate::hostile::lexicon::Lexicon;
use crate::hostile::token::Token;

/// The most elements of a pattern.
const LONGEST: usize = 6;

/// How many words a negation reaches to a `without`.
const TWICE: usize = 5;

/// One way of doing one act.
#[derive(Debug)]
pub(crate) struct Rule {
    /// `act.name`.
    pub(crate) id: String,
    /// The act that the rule is a way of.
    pub(crate) act: String,
    /// The weights in what was authored and in data.
    pub(crate) weights: [u8; 2],
    elements: Vec<Element>,
    /// If set, the elements may stand in any order within so many words.
    window: Option<usize>,
    unless: Ideas,
    /// The idea whose words are searched for.
    pub(crate) cue: Ideas,
    /// Whether the pattern itself says "not" or "without", so that a negation does not undo it.
    negative: bool,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    ideas: Ideas,
    /// How many words may stand before it.
    gap: usize,
}

/// The ideas that undo a match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brakes {
    pub(crate) not: Ideas,
    pub(crate) donot: Ideas,
    pub(crate) without: Ideas,
    pub(crate) guard: Ideas,
    pub(crate) guards: Ideas,
    pub(crate) threat: Ideas,
    pub(crate) example: Ideas,
    pub(crate) specimen: Ideas,
    pub(crate) utterance: Ideas,
    pub(crate) passive: Ideas,
    pub(crate) before: Ideas,
    pub(crate) instead: Ideas,
    pub(crate) your: Ideas,
    pub(crate) tell: Ideas,
    pub(crate) form: Ideas,
    pub(crate) whenever: Ideas,
    pub(crate) lists: Ideas,
    pub(crate) user: Ideas,
    pub(crate) roster: Ideas,
    pub(crate) picked: Ideas,
    /// Words by which a list becomes an order.
    pub(crate) order: Ideas,
}

/// Places of the tokens that a rule matched, in order of its elements.
pub(crate) type Places = [usize; LONGEST];

/// Reads the patterns.
pub(crate) fn parse(
    file: &str,
    source: &str,
    lexicon: &Lexicon,
    brakes: &Brakes,
) -> Result<Vec<Rule>, DetectError> {
    let lines = source.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| parse_line(file, line, lexicon, brakes))
        .collect()
}

fn parse_line(
    file: &str,
    line: &str,
    lexicon: &Lexicon,
    brakes: &Brakes,
) -> Result<Rule, DetectError> {
    let (Head { id, weights }, pattern) = split_head(file, line)?;
    let fail = |reason: &str| fault(file, &id, reason);
    let (pattern, unless) = pattern.split_once("unless").unwrap_or((pattern, ""));
    let mut rule = Rule {
        id: id.clone(),
        act: id.split('.').next().unwrap_or_default().to_owned(),
        weights,
        elements: Vec::new(),
        window: None,
        unless: ideas(unless.trim(), lexicon).ok_or_else(|| fail("unknown idea in `unless`"))?,
        cue: Ideas::NONE,
        negative: false,
    };
    let mut gap = 0;
    for word in pattern.split_whitespace() {
        if let Some(words) = word.strip_prefix("..") {
            gap = words.parse().map_err(|_| fail("a gap is not a number"))?;
        } else if let Some(window) = word.strip_prefix('{') {
            let window = window.trim_end_matches('}').parse();
            rule.window = Some(window.map_err(|_| fail("a window is not a number"))?);
        } else {
            let cues: Vec<&str> = word
                .split('|')
                .filter_map(|idea| idea.strip_prefix('!'))
                .collect();
            rule.cue |= ideas(&cues.join("|"), lexicon).ok_or_else(|| fail("unknown idea"))?;
            let meant = ideas(&word.replace('!', ""), lexicon);
            let ideas = meant.ok_or_else(|| fail("unknown idea"))?;
            rule.negative |= ideas & (brakes.not | brakes.donot | brakes.without) != Ideas::NONE;
            rule.elements.push(Element { ideas, gap });
            gap = 0;
        }
    }
    if rule.elements.is_empty() || rule.elements.len() > LONGEST {
        return Err(fail("a pattern has one to six ideas"));
    }
    Ok(rule)
}

/// The beginning of a line of rules: `act.name A R :`.
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) weights: [u8; 2],
}

/// Splits a line of rules into its head and its pattern.
pub(crate) fn split_head<'a>(file: &str, line: &'a str) -> Result<(Head, &'a str), DetectError> {
    let (head, pattern) = line
        .split_once(" : ")
        .ok_or_else(|| fault(file, line, "no colon"))?;
    let mut parts = head.split_whitespace();
    let id = parts.next().unwrap_or_default().to_owned();
    let mut weight = || parts.next().and_then(|weight| weight.parse().ok());
    match (weight(), weight()) {
        (Some(authored), Some(data)) if id.contains('.') => {
            let weights = [authored, data];
            Ok((Head { id, weights }, pattern.trim()))
        }
        _ => Err(fault(file, &id, "no act, or no two weights")),
    }
}

/// The ideas of `a|b|c`; none at all are no ideas.
fn ideas(names: &str, lexicon: &Lexicon) -> Option<Ideas> {
    let known = names.split('|').filter(|name| !name.is_empty());
    known
        .map(|name| lexicon.idea(name))
        .try_fold(Ideas::NONE, |all, idea| Some(all | idea?))
}

fn fault(file: &str, rule: &str, reason: &str) -> DetectError {
    DetectError::Rule {
        file: file.to_owned(),
        rule: rule.chars().take(40).collect(),
        reason: reason.to_owned(),
    }
}

impl Rule {
    /// The ideas of each element.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Ideas> {
        self.elements.iter().map(|element| element.ideas)
    }

    /// Whether a sentence with these ideas can match at all.
    pub(crate) fn fits(&self, all: Ideas) -> bool {
        all & self.unless == Ideas::NONE
            && self
                .elements
                .iter()
                .all(|element| element.ideas & all != Ideas::NONE)
    }

    /// Finds the first match that nothing undoes; `all` are the ideas of the whole sentence.
    pub(crate) fn find(
        &self,
        tokens: &[Token],
        all: Ideas,
        brakes: &Brakes,
    ) -> Option<(usize, usize)> {
        match self.window {
            Some(window) => self.find_near(tokens, window, all, brakes),
            None => self.find_sequence(tokens, all, brakes),
        }
    }

    /// The elements in order. For each element the latest place where it can stand is enough to
    /// know, so one pass over the tokens decides.
    fn find_sequence(
        &self,
        tokens: &[Token],
        all: Ideas,
        brakes: &Brakes,
    ) -> Option<(usize, usize)> {
        let mut reached: [Option<Places>; LONGEST] = [None; LONGEST];
        let count = self.elements.len();
        let any = self.elements().fold(Ideas::NONE, |any, ideas| any | ideas);
        for (at, token) in tokens.iter().enumerate() {
            // Most words mean nothing to a pattern.
            if token.ideas & any == Ideas::NONE {
                continue;
            }
            for (rank, element) in self.elements.iter().enumerate().rev() {
                if token.ideas & element.ideas == Ideas::NONE {
                    continue;
                }
                let mut places = match rank.checked_sub(1) {
                    None => [at; LONGEST],
                    Some(before) => match reached.get(before).copied().flatten() {
                        Some(places) if is_within(&places, before, at, element.gap) => places,
                        _ => continue,
                    },
                };
                if let Some(place) = places.get_mut(rank) {
                    *place = at;
                }
                if let Some(slot) = reached.get_mut(rank) {
                    *slot = Some(places);
                }
                let matched = places.get(..count).unwrap_or_default();
                if rank + 1 == count && !self.is_undone(tokens, matched, all, brakes) {
                    return Some((matched.first().copied()?, at));
                }
            }
        }
        None
    }

    /// The elements in any order, all within a window around the first one.
    fn find_near(
        &self,
        tokens: &[Token],
        window: usize,
        all: Ideas,
        brakes: &Brakes,
    ) -> Option<(usize, usize)> {
        let first = self.elements.first()?;
        for (anchor, token) in tokens.iter().enumerate() {
            if token.ideas & first.ideas == Ideas::NONE {
                continue;
            }
            let mut places = [anchor; LONGEST];
            for rank in 1..self.elements.len() {
                let ideas = self.elements.get(rank)?.ideas;
                let taken = places.get(..rank)?;
                // What follows the anchor belongs to it rather than what stands before.
                let ahead = (anchor + 1)..(anchor + window).min(tokens.len());
                let behind = (anchor.saturating_sub(window)..anchor).rev();
                let meant = |at: &usize| {
                    tokens
                        .get(*at)
                        .is_some_and(|token| token.ideas & ideas != Ideas::NONE)
                };
                // Each idea needs a word of its own.
                let near = ahead
                    .chain(behind)
                    .find(|at| meant(at) && !taken.contains(at));
                let (Some(near), Some(place)) = (near, places.get_mut(rank)) else {
                    break;
                };
                *place = near;
            }
            let matched = places.get(..self.elements.len())?;
            let found = matched.iter().skip(1).all(|&at| at != anchor);
            let (&start, &end) = (matched.iter().min()?, matched.iter().max()?);
            if found && end - start < window && !self.is_undone(tokens, matched, all, brakes) {
                return Some((start, end));
            }
        }
        None
    }

    /// Whether what surrounds a match turns it into a warning, a description of a defence, or an
    /// order not to do it.
    fn is_undone(&self, tokens: &[Token], matched: &[usize], all: Ideas, brakes: &Brakes) -> bool {
        if !self.negative && matched.iter().any(|&at| is_negated(tokens, at, brakes.not)) {
            return true;
        }
        if self.negative && is_twice_negated(tokens, matched, brakes) {
            return true;
        }
        if self.act == "credential" && is_passive(tokens, matched, brakes.passive) {
            return true;
        }
        if self.act == "credential" && is_passed_over(tokens, matched, brakes.instead) {
            return true;
        }
        if self.act == "exfiltrate" && is_awaited(tokens, matched, brakes) {
            return true;
        }
        if self.act == "secrecy" && is_apart(tokens, matched, brakes) {
            return true;
        }
        if self.act == "credential" && is_picked(tokens, matched, brakes) {
            return true;
        }
        if self.act == "secrecy" && is_form(tokens, matched, brakes) {
            return true;
        }
        if self.act == "phish" && is_occasion(tokens, matched, brakes) {
            return true;
        }
        if all & (brakes.guard | brakes.guards | brakes.threat | brakes.example | brakes.specimen)
            == Ideas::NONE
        {
            return false;
        }
        let quoted = matched
            .iter()
            .any(|&at| tokens.get(at).is_some_and(|token| token.quoted));
        let labelled =
            all & brakes.specimen != Ideas::NONE && all & brakes.utterance != Ideas::NONE;
        let shown = all & (brakes.guards | brakes.threat | brakes.example) != Ideas::NONE;
        if quoted && (shown || labelled) {
            return true;
        }
        let Some((at, first)) = matched
            .iter()
            .min()
            .and_then(|&at| Some((at, tokens.get(at)?)))
        else {
            return false;
        };
        let before = tokens.get(..at).unwrap_or_default();
        // `Checks whether a text tells ...` quotes without marks; data does not move by that,
        // unless it is a list of what attacks do: `Detects attempts to ..., ... or ...`.
        let has = |ideas: Ideas| move |token: &Token| token.ideas & ideas != Ideas::NONE;
        let checks = before.first().is_some_and(has(brakes.guards));
        let speaks = matches!(self.act.as_str(), "override" | "extract" | "roleplay");
        let lists = before.iter().any(has(brakes.threat)) && !before.iter().any(has(brakes.order));
        if checks && (speaks || lists) {
            return true;
        }
        is_defence(before, first.clause, brakes) || is_specimen(before, first.clause, brakes)
    }
}

/// Whether the first word of a match says what is done, as in `the key is read from`.
fn is_passive(tokens: &[Token], matched: &[usize], passive: Ideas) -> bool {
    let first = matched.iter().min().and_then(|at| at.checked_sub(1));
    first.is_some_and(|at| {
        let before = tokens.get(at);
        before.is_some_and(|token| token.ideas & passive != Ideas::NONE)
    })
}

/// Whether a word of a match is what something else is used in place of: `instead of read_file`.
fn is_passed_over(tokens: &[Token], matched: &[usize], instead: Ideas) -> bool {
    matched.iter().skip(1).any(|&at| {
        let close = tokens.get(at.saturating_sub(2)..at).unwrap_or_default();
        close
            .iter()
            .any(|token| token.ideas & instead != Ideas::NONE)
    })
}

/// Whether a match is what something is to be done before: `run this before you send it`.
fn is_awaited(tokens: &[Token], matched: &[usize], brakes: &Brakes) -> bool {
    let first = matched.iter().min().copied().unwrap_or_default();
    let before = tokens.get(..first).unwrap_or_default();
    let has = |token: &Token, ideas: Ideas| token.ideas & ideas != Ideas::NONE;
    match before {
        [.., one, you] if has(you, brakes.your) => has(one, brakes.before),
        [.., one] => has(one, brakes.before),
        [] => false,
    }
}

/// Whether something else is not to be done, and somebody is told: `do not retry; tell the user`.
fn is_apart(tokens: &[Token], matched: &[usize], brakes: &Brakes) -> bool {
    let [no, ..] = *matched else {
        return false;
    };
    let has = |at: &&usize| {
        let token = tokens.get(**at);
        token.is_some_and(|token| token.ideas & brakes.tell != Ideas::NONE)
    };
    let Some(&tell) = matched.iter().find(has) else {
        return false;
    };
    let clause = |at: usize| tokens.get(at).map(|token| token.clause);
    let begins = tell > no + 1 && clause(tell) != clause(tell - 1);
    let other = |at: usize| {
        let token = tokens.get(at);
        token.is_some_and(|token| token.ideas & brakes.not == Ideas::NONE)
    };
    let forbids = begins && clause(tell - 1) == clause(no) && other(tell - 1);
    let behind = tokens.get(tell + 1..tell + 3).unwrap_or_default();
    let user = behind
        .iter()
        .any(|token| token.ideas & brakes.user != Ideas::NONE);
    forbids && user
}

/// Whether only what stands for something is listed, or a list is named: `list hosts in ~/.netrc`,
/// `the deny list (.env)`.
fn is_picked(tokens: &[Token], matched: &[usize], brakes: &Brakes) -> bool {
    let first = matched.first().copied().unwrap_or_default();
    let is = |at: usize, ideas: Ideas| {
        let token = tokens.get(at);
        token.is_some_and(|token| token.ideas & ideas != Ideas::NONE)
    };
    let noun = first.checked_sub(1).is_some_and(|at| is(at, brakes.roster));
    is(first, brakes.lists)
        && (noun || is(first + 1, brakes.picked) || is(first + 2, brakes.picked))
}

/// Whether what is not to be told is only how something is written: ids, markup.
fn is_form(tokens: &[Token], matched: &[usize], brakes: &Brakes) -> bool {
    let has = |at: &&usize| {
        let token = tokens.get(**at);
        token.is_some_and(|token| token.ideas & brakes.tell != Ideas::NONE)
    };
    matched.iter().find(has).is_some_and(|&at| {
        let object = tokens.get(at + 1..at + 4).unwrap_or_default();
        object
            .iter()
            .any(|token| token.ideas & brakes.form != Ideas::NONE)
    })
}

/// Whether a credential only says when to ask, or what not to ask for: `ask the user whenever you
/// see a password`, `ask for the address, never for the password`.
fn is_occasion(tokens: &[Token], matched: &[usize], brakes: &Brakes) -> bool {
    let (Some(&first), Some(&last)) = (matched.iter().min(), matched.iter().max()) else {
        return false;
    };
    let within = tokens.get(first..last).unwrap_or_default();
    let when = brakes.whenever | brakes.before | brakes.not;
    within.iter().any(|token| token.ideas & when != Ideas::NONE)
}

/// Whether the clause so far speaks of a defence or of an attack as a thing.
fn is_defence(before: &[Token], clause: u32, brakes: &Brakes) -> bool {
    let clause = before
        .iter()
        .rev()
        .take_while(|token| token.clause == clause);
    let said = clause.fold(Ideas::NONE, |said, token| said | token.ideas);
    said & (brakes.guards | brakes.threat) != Ideas::NONE
}

/// Whether the clause before is a label, as in `expected output:`.
fn is_specimen(before: &[Token], clause: u32, brakes: &Brakes) -> bool {
    let mut label = before
        .iter()
        .rev()
        .skip_while(|token| token.clause == clause);
    let last = label.next();
    let named = last.is_some_and(|token| token.ideas & brakes.utterance != Ideas::NONE);
    named
        && label
            .take(2)
            .any(|token| token.ideas & brakes.specimen != Ideas::NONE)
}

/// Whether what is done without somebody is forbidden: `never send without approval`.
fn is_twice_negated(tokens: &[Token], matched: &[usize], brakes: &Brakes) -> bool {
    let without = |at: &&usize| {
        let token = tokens.get(**at);
        token.is_some_and(|token| token.ideas & brakes.without != Ideas::NONE)
    };
    matched.iter().find(without).is_some_and(|&at| {
        let before = tokens.get(at.saturating_sub(TWICE)..at).unwrap_or_default();
        let clause = tokens.get(at).map(|token| token.clause);
        before.iter().any(|token| {
            token.ideas & (brakes.not | brakes.donot) != Ideas::NONE && Some(token.clause) == clause
        })
    })
}

/// Whether a word close before `at`, in the same clause, says no.
fn is_negated(tokens: &[Token], at: usize, not: Ideas) -> bool {
    let Some(token) = tokens.get(at) else {
        return false;
    };
    let before = tokens.get(at.saturating_sub(3)..at).unwrap_or_default();
    before
        .iter()
        .any(|other| other.clause == token.clause && other.ideas & not != Ideas::NONE)
}

fn is_within(places: &Places, rank: usize, at: usize, gap: usize) -> bool {
    places
        .get(rank)
        .is_some_and(|&before| at > before && at - before <= gap + 1)
}
