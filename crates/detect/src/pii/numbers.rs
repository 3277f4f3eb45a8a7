//! The pass from digit to digit: which family may claim the word that a digit stands in.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use mcpproxy_core::Severity;

use super::context::{Cursor, Near, Topic};
use super::found::Found;
use super::view::{Numbers, View};
use super::wallet::Wallet;
use super::{Pii, address, bank, birth, card, context, labelled, network, phone, stamp, wallet};
use crate::Level;

/// The longest word that can be a number of anything.
const LONGEST_WORD: usize = 62;

/// The longest word that can be a number of a person, not of an account or a wallet.
const LONGEST_NUMBER: usize = 18;
/// How far the digits of one number may spread, in bytes.
const SPREAD: usize = 26;
/// The most letters among the digits of one number.
const LETTERS: usize = 12;
/// The fewest digits of anything but a date, an address or a machine.
const FEWEST: usize = 5;
/// The same if there are letters among them.
const FEWEST_MIXED: usize = 4;

/// One word with a digit in it, and what stands before it.
struct Candidate<'a> {
    pii: &'a Pii,
    view: View<'a>,
    word: Range<usize>,
    /// Whether it has no letters.
    plain: bool,
    /// Whether nothing before it claims it for something else.
    opens: bool,
    /// How many digits there are in it and in the groups that follow.
    digits: usize,
    /// What reads the words before it, until that was asked for; nothing if no label counts.
    cursor: Cell<Option<&'a mut Cursor>>,
    near: OnceCell<Near>,
}

impl Pii {
    /// Adds what is found at the digits of a text.
    pub(super) fn numbers(&self, view: View<'_>, found: &mut Vec<Found>) {
        let mut cursor = Cursor::new(view);
        let mut words = Numbers::new(view);
        let mut at = 0;
        while let Some((word, plain)) = words.next(at) {
            let floor = at;
            at = word.end;
            if word.len() > LONGEST_WORD {
                continue;
            }
            if let Some(address) = network::led_by_letters(view, word.start, floor) {
                at = at.max(address.span.end);
                found.push(machine(address));
                continue;
            }
            let own = if plain {
                word.len()
            } else {
                let bytes = view.slice(word.clone()).iter();
                bytes.filter(|byte| byte.is_ascii_digit()).count()
            };
            if !is_worth(view, &word, own) {
                continue;
            }
            if let Some(end) = stamp::end(view, &word) {
                at = end;
                continue;
            }
            let opens = view.opens(word.start);
            if !opens && is_inside(view, &word, plain) {
                continue;
            }
            let digits = match own {
                // All that a word with letters could be needs no more of them.
                FEWEST.. if !plain && word.len() - own <= LETTERS => own,
                _ => spread(view, &word, plain),
            };
            let enough = digits >= FEWEST || !plain && digits >= FEWEST_MIXED;
            let labelled = opens && enough;
            if labelled {
                cursor.pass(word.start);
            }
            let candidate = Candidate {
                pii: self,
                view,
                word,
                plain,
                opens,
                digits,
                cursor: Cell::new(labelled.then_some(&mut cursor)),
                near: OnceCell::new(),
            };
            if let Some(one) = candidate.judge() {
                at = at.max(one.span.end);
                found.push(one);
            }
        }
    }
}

/// Whether a word can begin anything: long enough, or followed or led by what goes with digits.
///
/// This turns away nearly all of the digits in prose and code.
fn is_worth(view: View<'_>, word: &Range<usize>, digits: usize) -> bool {
    let plain = digits == word.len();
    if word.len() > 5 {
        // The digits of a number, not only the one of `python3`.
        return plain || word.len() >= wallet::SHORTEST || digits >= FEWEST_MIXED;
    }
    let separator = view.at(word.end);
    let next = view.at(word.end + 1);
    if !plain {
        // The first group of a bank account, or of a number with letters in it.
        let group = word.len() == 4 && !view.at(word.start + 1).is_ascii_lowercase();
        return match separator {
            b':' | b'.' => next.is_ascii_hexdigit(),
            b'-' => next.is_ascii_hexdigit() || group && next.is_ascii_uppercase(),
            b' ' => group && next.is_ascii_alphanumeric(),
            _ => false,
        };
    }
    match separator {
        b'.' | b'-' | b'/' | b':' => next.is_ascii_alphanumeric(),
        b' ' if next.is_ascii_digit() || next.is_ascii_uppercase() || next == b'(' => true,
        b' ' if next.is_ascii_lowercase() => {
            let word = view.head(word.end + 1, 3);
            address::may_begin(word) || birth::may_begin(word)
        }
        b')' => view.before(word.start, 1) == b'(',
        // The year of a date behind its day.
        b',' if view.run(word.end + 2, 5, |byte| byte.is_ascii_digit()) == 4 => true,
        _ if separator.is_ascii_lowercase() => false,
        _ => view.before(word.start, 1) == b' ' && address::may_follow(view, word.start),
    }
}

/// Whether a word that does not open anything is the middle of a date, a version or a name.
fn is_inside(view: View<'_>, word: &Range<usize>, plain: bool) -> bool {
    match view.before(word.start, 1) {
        b'-' => !view.before(word.start, 2).is_ascii_alphabetic(),
        b'.' | b'_' => true,
        _ => !plain && word.len() > 4,
    }
}

/// Counts the digits that one number beginning with `word` could have, through its separators.
///
/// Letters count as separators only in words that have some, and in a date with its month.
fn spread(view: View<'_>, word: &Range<usize>, plain: bool) -> usize {
    let next = view.at(word.end);
    let month = matches!(next, b' ' | b',' | b'.' | b'-') || next.is_ascii_lowercase();
    let spelled = plain && month && word.len() <= 2 && birth::date(view, word.start).is_some();
    let mut digits = 0;
    let mut letters = if plain && !spelled { LETTERS } else { 0 };
    let mut separators = 0;
    for byte in view.head(word.start, SPREAD) {
        match PARTS
            .get(usize::from(*byte))
            .copied()
            .unwrap_or(Part::Other)
        {
            Part::Digit => {
                digits += 1;
                separators = 0;
            }
            Part::Separator if separators < 2 => separators += 1,
            Part::Letter if letters < LETTERS => {
                letters += 1;
                separators = 0;
            }
            Part::Separator | Part::Letter | Part::Other => break,
        }
    }
    digits
}

/// What a byte can be in a number that is written in groups.
#[derive(Clone, Copy)]
enum Part {
    Digit,
    Separator,
    Letter,
    Other,
}

/// A table, since every word with a digit is looked at.
const PARTS: [Part; 256] = parts();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn parts() -> [Part; 256] {
    let mut table = [Part::Other; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'0'..=b'9' => Part::Digit,
            b' ' | b'-' | b'.' | b'/' | b'(' | b')' | b'+' | b',' => Part::Separator,
            b'a'..=b'z' | b'A'..=b'Z' => Part::Letter,
            _ => Part::Other,
        };
        byte += 1;
    }
    table
}

/// The address of a machine.
fn machine(address: network::Address) -> Found {
    let network::Address {
        kind,
        name,
        level,
        span,
    } = address;
    Found {
        kind,
        name,
        severity: Severity::Low,
        confidence: if level == Level::Note { 40 } else { 80 },
        level,
        span,
        why: match level {
            Level::Note => "well formed, but private, reserved or everybody's",
            Level::Warn | Level::Block => "well formed and of one machine",
        },
    }
}

impl Candidate<'_> {
    fn judge(&self) -> Option<Found> {
        if let Some(machine) = self.machine() {
            return Some(machine);
        }
        if !self.plain {
            return self.opens.then(|| self.mixed()).flatten();
        }
        if self.digits < FEWEST {
            return self.birthday().or_else(|| self.address());
        }
        if !self.opens {
            return self.phone().or_else(|| self.led_by_letters());
        }
        self.card()
            .or_else(|| self.number())
            .or_else(|| self.birthday())
            .or_else(|| self.label())
            .or_else(|| self.address())
    }

    /// What a word of letters and digits can be.
    fn mixed(&self) -> Option<Found> {
        let special = self.account().or_else(|| self.wallet());
        let unfit = self.digits < FEWEST_MIXED || self.word.len() > LONGEST_NUMBER;
        if special.is_some() || unfit {
            return special;
        }
        self.national(self.word.start)
            .or_else(|| self.led_by_letters())
            .or_else(|| self.label())
            .or_else(|| self.birthday())
    }

    /// What stands before it.
    fn near(&self) -> &Near {
        self.near.get_or_init(|| match self.cursor.take() {
            Some(cursor) => cursor.near(&self.pii.vocabulary, self.view),
            None => Near::none(),
        })
    }

    /// What stands before the number and on its line behind it.
    fn around(&self, end: usize) -> Near {
        let mut near = self.near().clone();
        self.pii.vocabulary.after(self.view, end, &mut near);
        near
    }

    /// Telephone or national number, whichever the nearest label prefers.
    fn number(&self) -> Option<Found> {
        let national = self
            .national(self.word.start)
            .or_else(|| self.led_by_letters());
        match national {
            Some(found) if found.confidence >= 90 || !self.near().has(Topic::Phone) => Some(found),
            // A call that is only hinted at gives way to any number that is named.
            national => self
                .phone()
                .filter(|phone| phone.confidence > phone::HINTED || self.label().is_none())
                .or(national),
        }
    }

    fn national(&self, start: usize) -> Option<Found> {
        let matched = self.pii.kinds.find(self.view, start, || self.near())?;
        Some(Found {
            kind: matched.kind.code,
            name: matched.kind.name,
            severity: matched.kind.severity,
            confidence: if matched.labelled { 95 } else { 75 },
            level: Level::Warn,
            span: matched.span,
            why: if matched.labelled {
                "shape and check hold, and a word near by names it"
            } else {
                "shape and check hold"
            },
        })
    }

    /// The number whose one or two letters stand before a space: `HB 90 17 42 C`.
    fn led_by_letters(&self) -> Option<Found> {
        let start = self.word.start;
        if !matches!(self.view.before(start, 1), b' ' | b'-') {
            return None;
        }
        let letters = self
            .view
            .run_back(start - 1, 3, |byte| byte.is_ascii_alphabetic());
        let first = start - 1 - letters;
        ((1..=2).contains(&letters) && self.view.opens(first))
            .then(|| self.national(first))
            .flatten()
    }

    fn phone(&self) -> Option<Found> {
        let start = self.word.start;
        let lead = self.view.before(start, 1);
        let bare = self.digits == self.word.len() && self.view.at(start) != b'0' && lead != b'+';
        let unnamed = || bare && !self.near().any();
        let phone = phone::find(self.view, start, || self.near()).or_else(|| {
            let grouped = matches!(self.view.at(self.word.end), b' ' | b'-' | b')');
            let year = matches!(
                self.view.slice(self.word.clone()),
                [b'1' | b'2', b'0' | b'9', _, _]
            );
            let worth = grouped && !year && self.digits > FEWEST && !unnamed();
            let near = worth.then(|| self.around(self.word.end))?;
            phone::find(self.view, start, || &near)
        })?;
        (!unnamed()).then_some(Found {
            kind: "phone",
            name: "telephone number",
            severity: Severity::Medium,
            confidence: phone.confidence,
            level: Level::Warn,
            span: phone.span,
            why: phone.why,
        })
    }

    fn card(&self) -> Option<Found> {
        if self.digits < card::SHORTEST {
            return None;
        }
        let card = card::find(self.view, self.word.start)?;
        let named = self.near().has(Topic::Card);
        (named || !card.weak).then_some(Found {
            kind: "credit_card",
            name: "payment card",
            severity: Severity::Critical,
            confidence: if named { 99 } else { 85 },
            level: Level::Warn,
            span: card.span,
            why: "issuer's range and Luhn check hold",
        })
    }

    fn account(&self) -> Option<Found> {
        let span = bank::iban(self.view, self.word.start)?;
        Some(Found {
            kind: "iban",
            name: "bank account",
            severity: Severity::High,
            confidence: 98,
            level: Level::Warn,
            span,
            why: "length of its country and check digits hold",
        })
    }

    fn machine(&self) -> Option<Found> {
        let next = self.view.at(self.word.end);
        let named = || self.near().to(Topic::Mac) >= context::CLOSE;
        let found = match (self.word.len(), next) {
            (12, _) if !self.plain => network::bare(self.view, &self.word).filter(|_| named()),
            (1..=3, b'.') if self.plain => self.ipv4(),
            (2, b':' | b'-') | (1..=4, b':') | (4, b'.') => {
                network::hexadecimal(self.view, self.word.start, named)
            }
            _ => None,
        };
        found.map(machine)
    }

    fn ipv4(&self) -> Option<network::Address> {
        let before = self.view.before(self.word.start, 1);
        let inside = before.is_ascii_alphanumeric() || matches!(before, b'.' | b'-' | b'_' | b'+');
        if inside {
            return None;
        }
        network::ipv4(self.view, self.word.start)
    }

    fn wallet(&self) -> Option<Found> {
        let span = self.word.clone();
        if span.len() < wallet::SHORTEST {
            return None;
        }
        let kind = wallet::of(self.view.slice(span.clone()))?;
        let named = self.near().has(Topic::Wallet);
        let sure = kind == Wallet::Bitcoin || named;
        Some(Found {
            kind: "crypto_address",
            name: "address of a crypto currency",
            severity: Severity::Medium,
            confidence: if sure { 90 } else { 50 },
            level: if sure { Level::Warn } else { Level::Note },
            span,
            why: match kind {
                Wallet::Bitcoin => "Bitcoin's checksum holds",
                Wallet::Ethereum => "the shape of Ethereum",
            },
        })
    }

    fn birthday(&self) -> Option<Found> {
        if self.digits < FEWEST {
            return None;
        }
        let span = birth::date(self.view, self.word.start)?;
        let named = self.near().to(Topic::Birth) >= context::CLOSE;
        named.then_some(Found {
            kind: "date_of_birth",
            name: "date of birth",
            severity: Severity::High,
            confidence: 85,
            level: Level::Warn,
            span,
            why: "a date beside a word for birth",
        })
    }

    fn label(&self) -> Option<Found> {
        let end = labelled::end_of_groups(self.view, self.word.end);
        let span = self.word.start..end;
        let literal = self.view.is_literal(span.start, end);
        if span.len() < 5 || literal || !self.view.closes(end) {
            return None;
        }
        if !labelled::may_name(self.view, span.clone()) {
            return None;
        }
        let named = |near: &Near| labelled::find(self.view, span.clone(), near);
        let label = named(self.near()).or_else(|| {
            let worth = !self.plain && self.digits >= FEWEST;
            named(&worth.then(|| self.around(end))?)
        })?;
        Some(Found {
            kind: label.kind,
            name: label.name,
            severity: label.severity,
            confidence: 70,
            level: Level::Warn,
            span,
            why: "a word near by names it",
        })
    }

    fn address(&self) -> Option<Found> {
        let span = address::find(self.view, self.word.clone())?;
        let firm = address::is_of_a_firm(self.view, span.start);
        Some(Found {
            kind: "postal_address",
            name: "postal address",
            severity: Severity::Medium,
            confidence: if firm { 50 } else { 70 },
            level: if firm { Level::Note } else { Level::Warn },
            span,
            why: if firm {
                "a house number beside a street, of a firm"
            } else {
                "a house number beside a street"
            },
        })
    }
}
