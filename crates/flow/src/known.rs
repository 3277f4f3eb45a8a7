//! Whether a text that is about to be written down or shown holds a sensitive value that was read: by
//! the windows of the value in their order, or as a whole word where a value has none.
//!
//! Nothing is decoded, and nothing of what left before is added: what a reader does not see at once is
//! for `hits`.

use std::collections::BTreeMap;

use mcpproxy_core::{Label, Nature};

use crate::fold::folded;
use crate::roll::{roll, whole};
use crate::secret::{Bits, Entry, GRAM, Vault, short};

/// Stands for a name that holds a sensitive value.
pub(crate) const WITHHELD: &str = "[withheld: it holds a secret]";

/// Returns what the gravest value that stands in a text is.
pub(crate) fn known<'v>(vault: &'v Vault, text: &str) -> Option<&'v Label> {
    if vault.is_empty() {
        return None;
    }
    let symbols = folded(text);
    let digits = symbols.iter().filter(|one| one.is_ascii_digit()).count();
    let mut lengths = vault.short_lengths();
    let mut found: Option<&Label> = None;
    let mut add = |label: &'v Label| {
        if found.is_none_or(|known| known.severity < label.severity) {
            found = Some(label);
        }
    };
    for (number, bits) in followed(vault, &symbols) {
        let Some(entry) = vault.entry(number) else {
            continue;
        };
        if vault.is_chance(entry, digits) {
            // Any long list of numbers has it: only as a word of its own is it that value.
            lengths |= 1 << entry.length.min(63);
        } else if entry.weigh(&bits).1 {
            add(&entry.label);
        }
    }
    for word in text.split(|char: char| !char.is_alphanumeric()) {
        let symbols = folded(word);
        if !symbols.is_empty() && lengths >> symbols.len().min(63) & 1 == 1 {
            let entry = vault.find_whole(whole(&symbols));
            let entry = entry.and_then(|number| vault.entry(number));
            entry
                .filter(|entry| is_grave(entry))
                .into_iter()
                .for_each(|entry| add(&entry.label));
        }
    }
    found
}

/// Returns which windows of each value stand in a text, one behind the other as in the value.
fn followed(vault: &Vault, symbols: &[u8]) -> BTreeMap<u16, Bits> {
    let mut text = Vec::new();
    roll::<GRAM>(symbols, |hash| text.push(short(hash)));
    let mut seen: BTreeMap<u16, (Bits, usize)> = BTreeMap::new();
    for (at, &window) in text.iter().enumerate() {
        vault.find(window, |number, position| {
            let Some(entry) = vault.entry(number).filter(|entry| is_grave(entry)) else {
                return;
            };
            let (bits, until) = seen.entry(number).or_default();
            if at < *until {
                return;
            }
            let apart = entry.apart();
            let before = text.get(*until..at).unwrap_or_default().iter().rev();
            let left = entry.windows.get(..position).unwrap_or_default();
            let back = alike(before.skip(apart - 1).step_by(apart), left.iter().rev());
            let after = text.get(at..).unwrap_or_default().iter();
            let right = entry.windows.get(position..).unwrap_or_default();
            let on = alike(after.step_by(apart), right.iter());
            *until = at + (on - 1) * apart + 1;
            // One window alone is an accident.
            let stretch = symbols.get(at - back * apart..*until + GRAM - 1);
            let may_be = entry.may_be(stretch.unwrap_or_default());
            if may_be && (back + on >= 2 || entry.windows.len() == 1) {
                (position - back..position + on).for_each(|position| bits.set(position));
            }
        });
    }
    let seen = seen.into_iter();
    seen.map(|(number, (bits, _))| (number, bits)).collect()
}

/// Tells whether nobody should read a value: a mail address or a ticket is read by everybody.
fn is_grave(entry: &Entry) -> bool {
    match entry.label.nature {
        Nature::Secret | Nature::Personal => true,
        Nature::Typed => false,
    }
}

fn alike<'w>(one: impl Iterator<Item = &'w u32>, other: impl Iterator<Item = &'w u32>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}
