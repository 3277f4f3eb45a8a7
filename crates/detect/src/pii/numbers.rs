//! The pass from digit to digit: which family may claim the word that a digit stands in.

use std::cell::OnceCell;
use std::ops::Range;

use mcpproxy_core::Severity;

use super::context::{Near, Topic};
use super::found::Found;
use super::view::{View, next_digit};
use super::wallet::Wallet;
use super::{Pii, address, bank, birth, card, labelled, network, phone, wallet};
use crate::Level;

/// The longest word that can be a number of anything.
const LONGEST_WORD: usize = 62;

/// One word with a digit in it, and what stands around it.
struct Candidate<'a> {
    pii: &'a Pii,
    view: View<'a>,
    word: Range<usize>,
    /// Whether it has no letters.
    plain: bool,
    near: OnceCell<Near>,
}

impl Pii {
    /// Adds what is found at the digits of a text.
    pub(super) fn numbers(&self, view: View<'_>, found: &mut Vec<Found>) {
        let mut at = 0;
        while let Some(digit) = next_digit(view.bytes(), at) {
            let word = view.word(digit, at);
            at = word.end;
            if word.len() > LONGEST_WORD || !is_worth(view, &word) {
                continue;
            }
            let digits = view.run(word.start, word.len(), |byte| byte.is_ascii_digit());
            let candidate = Candidate {
                pii: self,
                view,
                plain: digits == word.len(),
                word,
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
fn is_worth(view: View<'_>, word: &Range<usize>) -> bool {
    if word.len() > 5 {
        return true;
    }
    let next = view.at(word.end + 1).is_ascii_alphanumeric();
    match view.at(word.end) {
        b'.' | b'-' | b'/' | b':' => next,
        b' ' => next || view.at(word.end + 1) == b'(',
        b')' => view.before(word.start, 1) == b'(',
        b',' => view.at(word.end + 1) == b' ' && view.at(word.end + 2).is_ascii_digit(),
        _ => view.before(word.start, 1) == b' ',
    }
}

impl Candidate<'_> {
    /// What the words around say, read once.
    fn near(&self, end: usize) -> &Near {
        let start = self.word.start;
        self.near
            .get_or_init(|| self.pii.vocabulary.around(self.view, start, end))
    }

    fn judge(&self) -> Option<Found> {
        let opens = self.view.opens(self.word.start);
        if self.plain {
            return self
                .machine()
                .or_else(|| self.card().filter(|_| opens))
                .or_else(|| self.number())
                .or_else(|| self.birthday())
                .or_else(|| self.label().filter(|_| opens))
                .or_else(|| self.address());
        }
        let machine = self.machine();
        if machine.is_some() || !opens {
            return machine;
        }
        self.account()
            .or_else(|| self.wallet())
            .or_else(|| self.national(self.word.start))
            .or_else(|| self.label())
            .or_else(|| self.birthday())
    }

    /// Telephone or national number, whichever the nearest label prefers.
    fn number(&self) -> Option<Found> {
        let national = self
            .national(self.word.start)
            .filter(|_| self.view.opens(self.word.start))
            .or_else(|| self.led_by_letters());
        match national {
            Some(found) if found.confidence >= 90 => Some(found),
            Some(found) if !self.near(found.span.end).has(Topic::Phone) => Some(found),
            national => self.phone().or(national),
        }
    }

    fn national(&self, start: usize) -> Option<Found> {
        let matched = self.pii.kinds.find(self.view, start, |end| self.near(end))?;
        Some(Found {
            kind: matched.kind.kind,
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

    /// The number whose one or two letters stand before a space: `AA 12 34 56 B`.
    fn led_by_letters(&self) -> Option<Found> {
        let start = self.word.start;
        if !matches!(self.view.before(start, 1), b' ' | b'-') {
            return None;
        }
        let letters = self.view.run_back(start - 1, 3, |byte| byte.is_ascii_alphabetic());
        let first = start - 1 - letters;
        ((1..=2).contains(&letters) && self.view.opens(first))
            .then(|| self.national(first))
            .flatten()
    }

    fn phone(&self) -> Option<Found> {
        let phone = phone::find(self.view, self.word.start, |end| self.near(end))?;
        Some(Found {
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
        let card = card::find(self.view, self.word.start)?;
        let named = self.near(card.span.end).has(Topic::Card);
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
        let found = match (self.word.len(), next) {
            (1..=3, b'.') if self.plain => self.ipv4(),
            (2, b':' | b'-') | (1..=4, b':') | (4, b'.') => {
                network::hexadecimal(self.view, self.word.start)
            }
            _ => None,
        }?;
        Some(Found {
            kind: found.kind,
            name: found.name,
            severity: Severity::Low,
            confidence: if found.level == Level::Note { 40 } else { 80 },
            level: found.level,
            span: found.span,
            why: match found.level {
                Level::Note => "well formed, but private, reserved or everybody's",
                Level::Warn | Level::Block => "well formed and of one machine",
            },
        })
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
        let kind = wallet::of(self.view.slice(span.clone()))?;
        let named = self.near(span.end).has(Topic::Wallet);
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
        let span = birth::date(self.view, self.word.start)?;
        self.near(span.end).has(Topic::Birth).then_some(Found {
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
        if end - self.word.start < 5 || !self.view.closes(end) {
            return None;
        }
        let span = self.word.start..end;
        let label = labelled::find(self.view, span.clone(), self.near(end))?;
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
        Some(Found {
            kind: "postal_address",
            name: "postal address",
            severity: Severity::Medium,
            confidence: 70,
            level: Level::Warn,
            span,
            why: "a house number beside a street",
        })
    }
}
