//! What nobody can read on its way out, and whether it is known as it stands: what somebody outside
//! or the user wrote hides nothing, however it looks, and what went to the same place before is no
//! news.

use std::ops::Range;

use mcpproxy_core::Side;

use crate::fold::fold;
use crate::hits::SecretHit;
use crate::pool::{Pool, Seen};
use crate::roll::roll;
use crate::secret::{GRAM as SECRET, short};
use crate::state::{Errand, State, place_salt, said_salt};
use crate::typed::of_text;
use crate::winnow::{Room, winnow};

/// Bytes of a run that are compared, and how far the words at its ends are followed: a text with many
/// runs and no blanks takes no longer for that.
const MOST: usize = 1 << 12;
const REACH: usize = 1 << 10;

/// A run that nobody can read.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    pub(crate) leaf: u32,
    pub(crate) bytes: u32,
    symbols: Vec<u8>,
    /// Where the run itself stands among them.
    run: Range<usize>,
    /// Its tokens, and how long they are.
    tokens: Vec<(u64, usize)>,
}

impl Blob {
    /// Takes a run of a text, with the words at its ends.
    pub(crate) fn of(text: &str, run: Range<usize>, bytes: usize, leaf: u32) -> Self {
        let (start, end) = (run.start, run.end.min(run.start.saturating_add(MOST)));
        let from = text.floor_char_boundary(start.saturating_sub(REACH));
        let head = text.get(from..text.floor_char_boundary(start));
        let first = text.floor_char_boundary(start);
        let start = from
            + head
                .and_then(|head| head.rfind(char::is_whitespace))
                .unwrap_or(0);
        let end = text.ceil_char_boundary(end);
        let last = end;
        let tail = text.get(end..text.floor_char_boundary(end.saturating_add(REACH)));
        let tail = tail.unwrap_or_default();
        let end = end + tail.find(char::is_whitespace).unwrap_or(tail.len());
        let mut symbols = Vec::new();
        let mut add = |part: Range<usize>| {
            fold(text.get(part).unwrap_or_default(), &mut symbols);
            symbols.len()
        };
        let strange = add(start..first)..add(first..last);
        add(last..end);
        let run = text.get(start..end).unwrap_or_default();
        let mut tokens = Vec::new();
        of_text(run, true, |token, symbols| {
            tokens.push((token.hash, symbols.len()));
        });
        Self {
            leaf,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            symbols,
            run: strange,
            tokens,
        }
    }

    /// Tells whether at least half of it is values that were recognized there: who reads them knows
    /// what the run says.
    pub(crate) fn is_recognized(&self, state: &State, secrets: &[SecretHit]) -> bool {
        // What is known from outside is no objection by itself.
        let fits = |hit: &&SecretHit| {
            hit.enough && hit.leaf == self.leaf && hit.origin.side == Side::Inside
        };
        let values: Vec<u16> = secrets.iter().filter(fits).map(|hit| hit.number).collect();
        if values.is_empty() {
            return false;
        }
        let run = self.symbols.get(self.run.clone()).unwrap_or_default();
        let (mut at, mut until, mut covered) = (0, 0, 0);
        roll::<SECRET>(run, |hash| {
            let mut known = false;
            let of_value = |number, _| known |= values.contains(&number);
            state.vault.find(short(hash), of_value);
            if known {
                covered += at + SECRET - until.max(at);
                until = at + SECRET;
            }
            at += 1;
        });
        covered > 0 && covered * 2 >= run.len()
    }

    /// Tells whether at least half of it is known to hide nothing where it goes.
    pub(crate) fn is_known(&self, state: &State, errand: Errand<'_>, salts: &[u64]) -> bool {
        let alive = |seq| state.origins.is_alive(seq);
        let open = |seen: Seen| {
            let origin = state.origins.get(seen.seq);
            origin.is_some_and(|origin| origin.is_open(errand.to))
        };
        let has = |pool: &Pool, tag: u64| pool.get(tag, alive).is_some_and(open);
        let (mut windows, mut seen) = (0, 0);
        winnow(&self.symbols, &mut Room::default(), |gram| {
            windows += 1;
            let known = salts
                .iter()
                .any(|salt| has(&state.outside, gram.tag ^ salt));
            seen += usize::from(known);
        });
        let known = |hash: u64| {
            let narrow = |&salt: &u64| {
                let tags = [hash ^ salt, hash ^ said_salt(salt)];
                tags.into_iter().any(|tag| has(&state.supplied, tag))
            };
            has(&state.supplied, hash ^ place_salt(errand.to)) || salts.iter().any(narrow)
        };
        let tokens = self.tokens.iter().filter(|(hash, _)| known(*hash));
        let length: usize = tokens.map(|(_, length)| length).sum();
        windows > 0 && seen * 2 >= windows || length > 0 && length * 2 >= self.symbols.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_the_words_at_its_ends_along_and_no_more() {
        let check = |text: &str, run: Range<usize>, expect: usize| {
            let blob = Blob::of(text, run, 1, 0);
            // A border may lie in a letter.
            assert!((expect..=expect + 1).contains(&blob.symbols.len()));
        };
        check("one two three four", 5..6, 3);
        check("one two three four", 5..9, 8);
        check("one two", 0..7, 6);
        let long = "\u{e4}b".repeat(1 << 19);
        check(&long, 900_000..900_010, (2 * REACH + 10) * 2 / 3);
        check(&long, 900_000..1_200_000, (2 * REACH + MOST) * 2 / 3);
    }
}
