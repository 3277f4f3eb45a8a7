//! Values whose key says what they are: `{"ssn": "123456789"}`.
//!
//! Only what a look at the value alone does not find; a value that is a whole text is no value.

use mcpproxy_core::Severity;

use super::context::{Near, Topic};
use super::found::Found;
use super::view::View;
use super::{Pii, bank, birth, card, labelled, phone};
use crate::Level;

/// The longest value that a key can speak for.
const LONGEST: usize = 96;

impl Pii {
    /// What `key` makes of `value`, unless `value` gives itself away.
    pub(super) fn find_keyed(&self, key: &str, value: &str) -> Option<Found> {
        let inner = value.trim();
        if inner.is_empty() || inner.len() > LONGEST {
            return None;
        }
        let near = self.vocabulary.of_key(key);
        let mut found = self.judge(View::new(inner), &near)?;
        if self
            .find(value)
            .iter()
            .any(|found| found.level >= Level::Warn)
        {
            return None;
        }
        let lead = value.len() - value.trim_start().len();
        found.span = lead..lead + inner.len();
        Some(found)
    }

    fn judge(&self, view: View<'_>, near: &Near) -> Option<Found> {
        let found = |kind, name, severity, confidence| Found {
            kind,
            name,
            severity,
            confidence,
            level: Level::Warn,
            span: 0..view.len(),
            why: "its key names it",
        };
        let whole = 0..view.len();
        if let Some(number) = self
            .kinds
            .find_whole(view, near)
            .filter(|number| number.labelled)
        {
            return Some(found(
                number.kind.code,
                number.kind.name,
                number.kind.severity,
                90,
            ));
        }
        if near.has(Topic::Card) && card::find(view, 0).is_some_and(|card| card.span == whole) {
            return Some(found("credit_card", "payment card", Severity::Critical, 95));
        }
        if near.has(Topic::Birth) && birth::date(view, 0).is_some_and(|date| date == whole) {
            return Some(found("date_of_birth", "date of birth", Severity::High, 90));
        }
        if near.has(Topic::Phone) && phone::is_whole(view) {
            return Some(found("phone", "telephone number", Severity::Medium, 90));
        }
        if near.has(Topic::Bic) && bank::is_bic(view.bytes()) {
            return Some(found("bic", "bank identifier", Severity::Low, 80));
        }
        if let Some(label) = labelled::find(view, whole, near).filter(|_| is_one_word(view)) {
            return Some(found(label.kind, label.name, label.severity, 80));
        }
        (near.has(Topic::Address) && is_street(view))
            .then(|| found("postal_address", "postal address", Severity::Medium, 60))
    }
}

/// Letters, digits and the separators of numbers, nothing else.
fn is_one_word(view: View<'_>) -> bool {
    view.bytes()
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b' ' | b'.' | b'/'))
}

/// Words and a number, as a street has them; not an address of another kind.
fn is_street(view: View<'_>) -> bool {
    let bytes = view.bytes();
    let has = |byte: u8| bytes.contains(&byte);
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = bytes.iter().filter(|byte| is_letter(**byte)).count();
    let foreign = [b'@', b'{', b'<', b'=', b'_', b'\\'].into_iter().any(has)
        || memchr::memmem::find(bytes, b"://").is_some();
    has(b' ') && !foreign && (1..=10).contains(&digits) && letters >= 4
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte > 127
}
