//! Finds all keywords in one pass. Each keyword is filed under its rarest three characters, five
//! bits of each, so that case does not matter; a bitmap that fits the first cache answers for most
//! positions of a text. An automaton is no faster on clean text and takes longer to build than the
//! whole gateway may take to start.

use std::borrow::Cow;
use std::ops::Range;

/// The fewest characters of a keyword.
pub(super) const SHORTEST: usize = 3;

/// The number of different signatures: three times five bits.
const SIGNATURES: usize = 1 << 15;

/// Bytes that are looked at together: one bit of a word for each.
const BLOCK: usize = 64;

/// The keywords, filed.
#[derive(Debug)]
pub(super) struct Words {
    bitmap: Box<[u64; SIGNATURES / 64]>,
    /// For each signature its group, if it has one.
    groups: Box<[u16]>,
    about: Vec<Group>,
    entries: Vec<Entry>,
}

/// What the keywords of one signature have in common, so that most places where it stands in a text
/// are known to hold none of them without a look at any.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Its entries.
    first: usize,
    count: usize,
    /// One bit for each character, five bits of it, that can stand before and behind the signature.
    before: u32,
    behind: u32,
}

#[derive(Debug)]
struct Entry {
    signature: u16,
    /// Where the signature ends in the keyword.
    end: usize,
    keyword: Cow<'static, str>,
    owners: Vec<usize>,
}

impl Words {
    /// Files keywords of at least three characters, each with the rules that it stands for.
    pub(super) fn new(keywords: impl IntoIterator<Item = (Cow<'static, str>, Vec<usize>)>) -> Self {
        let mut entries: Vec<Entry> = keywords
            .into_iter()
            .filter_map(|(keyword, owners)| {
                let (signature, end) = rarest(keyword.as_bytes())?;
                Some(Entry {
                    signature,
                    end,
                    keyword,
                    owners,
                })
            })
            .collect();
        entries.sort_by_key(|entry| entry.signature);
        let mut bitmap = Box::new([0_u64; SIGNATURES / 64]);
        let mut groups = vec![0_u16; SIGNATURES].into_boxed_slice();
        let mut about = Vec::new();
        let mut first = 0;
        for entries in entries.chunk_by(|one, two| one.signature == two.signature) {
            let signature = entries
                .first()
                .map_or(0, |entry| usize::from(entry.signature));
            if let Some(word) = bitmap.get_mut(signature / 64) {
                *word |= 1 << (signature % 64);
            }
            if let (Some(slot), Ok(group)) = (groups.get_mut(signature), u16::try_from(about.len()))
            {
                *slot = group;
            }
            about.push(Group::of(first, entries));
            first += entries.len();
        }
        Self {
            bitmap,
            groups,
            about,
            entries,
        }
    }

    /// Calls `found` with every keyword in a text and the rules it stands for.
    pub(super) fn find(&self, bytes: &[u8], mut found: impl FnMut(Range<usize>, &[usize])) {
        let mut signature = 0_u16;
        for (block, bytes_of_block) in bytes.chunks(BLOCK).enumerate() {
            let mut hits = 0_u64;
            let before = signature;
            for (at, byte) in bytes_of_block.iter().enumerate() {
                signature = push(signature, *byte);
                let word = self.bitmap.get(usize::from(signature / 64));
                hits |= (word.copied().unwrap_or(0) >> (signature % 64) & 1) << (at % BLOCK);
            }
            if hits != 0 {
                self.confirm_block(bytes, block * BLOCK, before, hits, &mut found);
            }
        }
    }

    /// Looks at the places of a block where a signature stands.
    fn confirm_block(
        &self,
        bytes: &[u8],
        base: usize,
        before: u16,
        mut hits: u64,
        found: &mut impl FnMut(Range<usize>, &[usize]),
    ) {
        while hits != 0 {
            let step = hits.trailing_zeros() as usize;
            hits &= hits - 1;
            let at = base + step;
            let last = bytes.get(base..=at).unwrap_or_default();
            let last = last.get(last.len().saturating_sub(3)..).unwrap_or_default();
            let signature = last.iter().fold(before, |all, byte| push(all, *byte));
            self.confirm(bytes, at, signature, found);
        }
    }

    fn confirm(
        &self,
        bytes: &[u8],
        at: usize,
        signature: u16,
        found: &mut impl FnMut(Range<usize>, &[usize]),
    ) {
        let group = self.groups.get(usize::from(signature));
        let group = group.and_then(|group| self.about.get(usize::from(*group)));
        let Some(group) = group.filter(|group| group.can_stand(bytes, at)) else {
            return;
        };
        let entries = self.entries.get(group.first..).unwrap_or_default();
        for entry in entries.iter().take(group.count) {
            let Some(start) = at.checked_sub(entry.end) else {
                continue;
            };
            let span = start..start + entry.keyword.len();
            let text = bytes.get(span.clone()).unwrap_or_default();
            if text.eq_ignore_ascii_case(entry.keyword.as_bytes()) {
                found(span, &entry.owners);
            }
        }
    }
}

impl Group {
    fn of(first: usize, entries: &[Entry]) -> Self {
        let mut group = Self {
            first,
            count: entries.len(),
            before: 0,
            behind: 0,
        };
        for entry in entries {
            let keyword = entry.keyword.as_bytes();
            let before = entry.end.checked_sub(3).and_then(|at| keyword.get(at));
            // What a keyword does not say may be anything.
            group.before |= before.map_or(u32::MAX, |byte| bit(*byte));
            let behind = keyword.get(entry.end + 1);
            group.behind |= behind.map_or(u32::MAX, |byte| bit(*byte));
        }
        group
    }

    /// Tells whether a keyword can stand where a signature ends.
    fn can_stand(&self, bytes: &[u8], at: usize) -> bool {
        let before = at.checked_sub(3).and_then(|at| bytes.get(at));
        let behind = bytes.get(at + 1);
        let fits = |mask: u32, byte: Option<&u8>| {
            byte.map_or(mask == u32::MAX, |byte| mask & bit(*byte) != 0)
        };
        fits(self.before, before) && fits(self.behind, behind)
    }
}

fn bit(byte: u8) -> u32 {
    1 << (byte & 31)
}

fn push(signature: u16, byte: u8) -> u16 {
    (signature << 5 | u16::from(byte & 31)) & 0x7FFF
}

/// Returns the signature of the rarest three characters and where the last of them stands.
fn rarest(keyword: &[u8]) -> Option<(u16, usize)> {
    let common = |bytes: &[u8]| bytes.iter().map(|byte| commonness(*byte)).sum::<u32>();
    let (start, triple) = keyword
        .windows(3)
        .enumerate()
        .min_by_key(|(_, triple)| common(triple))?;
    Some((
        triple
            .iter()
            .fold(0, |signature, byte| push(signature, *byte)),
        start + 2,
    ))
}

/// How often a character stands in prose and code, roughly.
fn commonness(byte: u8) -> u32 {
    match byte {
        b' ' => 18,
        // Common above all to the keywords: every scheme ends in these.
        b'e' | b't' | b':' | b'/' => 12,
        b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 8,
        b'd' | b'l' | b'c' | b'u' | b'-' => 5,
        b'm' | b'p' | b'f' | b'h' | b'g' | b'_' | b'.' => 3,
        b'y' | b'b' | b'w' | b'v' | b'=' | b'"' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_wherever_it_stands() {
        let check = |text: &str, expect: &[(usize, usize)]| {
            let words = ["ghp_", "password", "pass"].into_iter().enumerate();
            let words = Words::new(words.map(|(index, word)| (word.into(), vec![index])));
            let mut seen = Vec::new();
            words.find(text.as_bytes(), |span, owners| {
                seen.extend(owners.iter().map(|owner| (span.start, *owner)));
            });
            seen.sort_unstable();
            assert_eq!(seen, expect, "{text}");
        };
        check("", &[]);
        check("gh", &[]);
        check("ghp_", &[(0, 0)]);
        check("a GHP_ghp_", &[(2, 0), (6, 0)]);
        check("PassWord", &[(0, 1), (0, 2)]);
        check("xpass", &[(1, 2)]);
        check("passwor", &[(0, 2)]);
    }
}
