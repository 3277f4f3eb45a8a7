//! Finds all keywords in one pass. Each keyword is filed under its rarest three characters, five
//! bits of each, so that case does not matter; a table that fits the first cache answers for most
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

/// A block with what stands beside it.
const AROUND: usize = BLOCK + 4;

/// The keywords, filed.
#[derive(Debug)]
pub(super) struct Words {
    /// One for each signature that some keyword has; a byte is read in fewer steps than a bit.
    filed: Box<[u8; SIGNATURES]>,
    /// For each signature its group, if it has one.
    groups: Box<[u16]>,
    about: Vec<Group>,
    entries: Vec<Entry>,
}

/// What the keywords of one signature have in common, so that most places where it stands in a text
/// are known to hold none of them without a look at any.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Its entries.
    first: u16,
    count: u16,
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
    #[expect(
        clippy::large_stack_arrays,
        reason = "an array whose length is known is read without a check; made once, at the start"
    )]
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
        let mut filed = Box::new([0; SIGNATURES]);
        let mut groups = vec![0_u16; SIGNATURES].into_boxed_slice();
        let mut about = Vec::new();
        let mut first = 0;
        for entries in entries.chunk_by(|one, two| one.signature == two.signature) {
            let signature = entries
                .first()
                .map_or(0, |entry| usize::from(entry.signature));
            if let Some(filed) = filed.get_mut(signature) {
                *filed = 1;
            }
            if let (Some(slot), Ok(group)) = (groups.get_mut(signature), u16::try_from(about.len()))
            {
                *slot = group;
            }
            about.extend(Group::of(first, entries));
            first += entries.len();
        }
        Self {
            filed,
            groups,
            about,
            entries,
        }
    }

    /// Calls `found` with every keyword in a text and the rules it stands for.
    pub(super) fn find(&self, bytes: &[u8], mut found: impl FnMut(Range<usize>, &[usize])) {
        let mut base = 0;
        let mut before = [0; 3];
        while let Some(block) = bytes.get(base..).and_then(<[u8]>::first_chunk::<BLOCK>) {
            let behind = bytes.get(base + BLOCK).copied().unwrap_or(0);
            let around = around(before, block, behind);
            let signatures = signatures(&around);
            let mut hits = self.standing(&around, &signatures);
            while hits != 0 {
                let step = hits.trailing_zeros() as usize % BLOCK;
                hits &= hits - 1;
                let signature = signatures.get(step).copied().unwrap_or(0);
                self.confirm(bytes, base + step, signature, &mut found);
            }
            before = block.last_chunk().copied().unwrap_or_default();
            base += BLOCK;
        }
        let mut signature = before.iter().fold(0, |all, byte| push(all, *byte));
        let rest = bytes.get(base..).unwrap_or_default();
        for (at, byte) in (base..).zip(rest) {
            signature = push(signature, *byte);
            if self.is_filed(signature) != 0 && self.group(signature).can_stand(bytes, at) {
                self.confirm(bytes, at, signature, &mut found);
            }
        }
    }

    /// One bit for each place of a block where a keyword may stand by its signature and by what is
    /// beside that. Nothing is decided by a jump, since a jump that goes now here, now there costs
    /// more than all the rest.
    fn standing(&self, around: &[u8; AROUND], signatures: &[u16; BLOCK]) -> u64 {
        let mut hits = self.hits(signatures);
        let mut standing = 0;
        while hits != 0 {
            let place = hits.trailing_zeros();
            hits &= hits - 1;
            let step = place as usize % BLOCK;
            let group = self.group(signatures.get(step).copied().unwrap_or(0));
            let before = around.get(step).copied().unwrap_or(0);
            let behind = around.get(step + 4).copied().unwrap_or(0);
            let fits = group.before.wrapping_shr(u32::from(before) & 31)
                & group.behind.wrapping_shr(u32::from(behind) & 31)
                & 1;
            standing |= u64::from(fits).wrapping_shl(place);
        }
        standing
    }

    /// One bit for each place of a block where the signature of some keyword ends.
    fn hits(&self, signatures: &[u16; BLOCK]) -> u64 {
        let signatures = signatures.iter().rev();
        signatures.fold(0, |hits, signature| {
            hits << 1 | u64::from(self.is_filed(*signature))
        })
    }

    fn is_filed(&self, signature: u16) -> u8 {
        let filed = self.filed.get(usize::from(signature) % SIGNATURES);
        filed.copied().unwrap_or(0)
    }

    fn group(&self, signature: u16) -> Group {
        let group = self.groups.get(usize::from(signature) % SIGNATURES);
        let group = group.and_then(|group| self.about.get(usize::from(*group)));
        group.copied().unwrap_or_default()
    }

    fn confirm(
        &self,
        bytes: &[u8],
        at: usize,
        signature: u16,
        found: &mut impl FnMut(Range<usize>, &[usize]),
    ) {
        let group = self.group(signature);
        let entries = self.entries.get(usize::from(group.first)..);
        let entries = entries.unwrap_or_default().iter();
        for entry in entries.take(usize::from(group.count)) {
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
    fn of(first: usize, entries: &[Entry]) -> Option<Self> {
        let mut group = Self {
            first: u16::try_from(first).ok()?,
            count: u16::try_from(entries.len()).ok()?,
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
        Some(group)
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

/// A block with the three bytes before it and the one behind.
fn around(before: [u8; 3], block: &[u8; BLOCK], behind: u8) -> [u8; AROUND] {
    let mut bytes = [behind; AROUND];
    let (head, rest) = bytes.split_at_mut(before.len());
    head.copy_from_slice(&before);
    if let Some(body) = rest.first_chunk_mut() {
        *body = *block;
    }
    bytes
}

/// The signature that ends at each byte of a block. Each is made from three bytes and not from the
/// one before, and those are read from three arrays of one length, so that the compiler makes many in
/// one go in every build.
fn signatures(around: &[u8; AROUND]) -> [u16; BLOCK] {
    let mut signatures = [0; BLOCK];
    let [first, second, third] = [1, 2, 3].map(|by| shifted(around, by));
    let bytes = first.iter().zip(second).zip(third);
    for (signature, ((first, second), third)) in signatures.iter_mut().zip(bytes) {
        let (first, second) = (u16::from(first & 31), u16::from(second & 31));
        *signature = first << 10 | second << 5 | u16::from(third & 31);
    }
    signatures
}

/// As many bytes as a block has, from a place on.
fn shifted(around: &[u8; AROUND], by: usize) -> &[u8; BLOCK] {
    let rest = around.get(by..).and_then(<[u8]>::first_chunk);
    rest.unwrap_or(&[0; BLOCK])
}

fn push(signature: u16, byte: u8) -> u16 {
    (signature << 5 | u16::from(byte & 31)) & 0x7FFF
}

/// Returns the signature of the rarest three characters and where the last of them stands.
fn rarest(keyword: &[u8]) -> Option<(u16, usize)> {
    let common = |triple: &[u8]| triple.windows(2).map(commonness).sum::<u32>();
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

/// How often two characters, five bits of each, follow each other.
pub(super) fn commonness(pair: &[u8]) -> u32 {
    let [first, second] = pair else { return 0 };
    let row = PAIRS.get(usize::from(first & 31));
    let letter = row.and_then(|row| row.as_bytes().get(usize::from(second & 31)));
    letter.map_or(0, |letter| u32::from(letter - b'a'))
}

/// The logarithm of how often two characters follow each other in prose, code and data of many
/// sorts, as a letter: a row for the first of them, a column for the second.
const PAIRS: [&str; 32] = [
    "zuvutsusturpststtqtuvsrsopotqunp",
    "smrssmororoptsumrlttuqpooqnnklnm",
    "rrrqprooorsltorrpoqqqroomqsmmpom",
    "tsosmspmsrorrpouopsqsqnnooopmljo",
    "urpnrumopsqmppprmlpqnpnllnpllnlq",
    "vtrstrrqqqrmtsuprqvutnqpspqnnpnr",
    "srnmmrqplsmiqprsllqppqlklnnmknkm",
    "spponsmoqspkroqrnlqqookljkolonmp",
    "rspqouportplopornmqqsrmmknmqmmjo",
    "sqrsrrrrlqsntsvtqkqtukqjqgrqlpnn",
    "vposopplmpulosorpkopppomhjmropjl",
    "qolklrlmnqmkmmnmjjlokmjkfiljkmin",
    "usonquronttktootnjmrrqmlgqnlmmlp",
    "ttqpptoonrpkrsossprqpqomlnnkllqo",
    "usqtttqtqsspqqrsrqrturponpomnnlq",
    "trrssorsoqqqrtuuspurssqrolnlkmlp",
    "qsomotlnpromsorsrpssrsonqqomlolo",
    "omnlmllkjoojonqkpppooroooolkjojl",
    "ttqqqvorptppqrstrostssqoorpmnpop",
    "uqqqnumnrtqoqqssroqsuronmqsnmplq",
    "utqqpupovupkrrqusntstsnposqnopnr",
    "ppsqoroplrmjsrsnrostsoomommiinil",
    "ormljtknmqminpnnonnnpmnmnmmjinlm",
    "prmkkqklqrmjnmppmmppnmmnmmliknfn",
    "qpnolplllpngooonqonnqnononnklojn",
    "snollnlnnooipoqprmoppmnnmnokkojo",
    "tonnnronlorimnosnjnonmllhksnlkgm",
    "qnprpmmmkntknnlkpmmnomkkijknlokj",
    "ponmnlmommmkmlnplilnnokkngilnlik",
    "tipijikmqpskqlnjjjjkjihhffqokqoj",
    "rjljjhjjmlpdnjjijiijjhhghekkolpf",
    "mppqpppnnpmmppoopmpqpoonjkmmkkkp",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn the_keywords_are_those_that_a_look_at_each_place_finds(
            text in "([a-z_ .]{0,30}|ghp_|PASSword|x-|api-key){0,12}",
        ) {
            const WORDS: [&str; 6] = ["ghp_", "password", "pass", "word", "x-a", "api-key"];
            let words = WORDS.into_iter().enumerate();
            let words = Words::new(words.map(|(index, word)| (word.into(), vec![index])));
            let mut seen = Vec::new();
            words.find(text.as_bytes(), |span, owners| {
                seen.extend(owners.iter().map(|owner| (span.start, *owner)));
            });
            seen.sort_unstable();
            let lower = text.to_ascii_lowercase();
            let mut expect: Vec<(usize, usize)> = Vec::new();
            for (index, word) in WORDS.iter().enumerate() {
                let bytes = lower.as_bytes();
                let places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(word.as_bytes()));
                expect.extend(places.map(|at| (at, index)));
            }
            expect.sort_unstable();
            prop_assert_eq!(seen, expect);
        }
    }
}
