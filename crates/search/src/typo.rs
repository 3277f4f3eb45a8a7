//! Tells how far a misspelt word is from a known one. Which words are tried is up to `expand`.

/// How many slips are forgiven in a word of that many characters.
pub(crate) fn tolerance(characters: usize) -> usize {
    match characters {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}

/// Which characters a word has, and how many: enough to rule out most words in one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Signature {
    characters: u64,
    length: u8,
}

impl Signature {
    pub(crate) fn of(word: &str) -> Self {
        let characters = word
            .chars()
            .fold(0, |set, character| set | 1 << bit(character));
        let length = u8::try_from(word.chars().count()).unwrap_or(u8::MAX);
        Self { characters, length }
    }

    /// Says whether two words may be at most `slips` apart; never wrong when it says no, because a
    /// slip changes the length by at most one and the set by at most two characters.
    pub(crate) fn is_near(self, other: Self, slips: usize) -> bool {
        usize::from(self.length.abs_diff(other.length)) <= slips
            && (self.characters ^ other.characters).count_ones() as usize <= slips.saturating_mul(2)
    }
}

/// Letters and digits of English have a bit each; all other characters share the rest.
fn bit(character: char) -> u32 {
    match character {
        'a'..='z' => u32::from(character) - u32::from('a'),
        '0'..='9' => u32::from(character) - u32::from('0') + 26,
        other => 36 + u32::from(other) % 28,
    }
}

/// Counts the slips between two words (a character too many, missing, wrong, or two swapped), or
/// nothing if there are more than `most`. A wrong beginning counts twice: people seldom get that
/// wrong, and `now` is not what `know` means.
pub(crate) fn slips(left: &str, right: &str, most: usize) -> Option<usize> {
    let begin_alike = left.chars().next() == right.chars().next();
    let slips = distance(left, right, most)? + usize::from(!begin_alike);
    (slips <= most).then_some(slips)
}

fn distance(left: &str, right: &str, most: usize) -> Option<usize> {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut previous = None;
    for (row, character) in left.chars().enumerate() {
        let current = next_row(character, previous, row, &right, &above, &before);
        if current.iter().min().is_none_or(|least| *least > most) {
            return None;
        }
        before = std::mem::replace(&mut above, current);
        previous = Some(character);
    }
    above.last().copied().filter(|slips| *slips <= most)
}

/// One row of the table of distances between the beginnings of two words.
fn next_row(
    character: char,
    previous: Option<char>,
    row: usize,
    right: &[char],
    above: &[usize],
    before: &[usize],
) -> Vec<usize> {
    let mut current = Vec::with_capacity(above.len());
    let mut left = row + 1;
    current.push(left);
    for (column, (other, corner)) in right.iter().zip(above).enumerate() {
        let up = above.get(column + 1).copied().unwrap_or(usize::MAX - 1);
        let replaced = corner + usize::from(character != *other);
        let mut least = replaced.min(left + 1).min(up + 1);
        let column_before = column.checked_sub(1);
        let other_before = column_before.and_then(|column| right.get(column).copied());
        if previous == Some(*other) && other_before == Some(character) {
            let swapped = column_before.and_then(|column| before.get(column));
            least = least.min(swapped.map_or(least, |swapped| swapped + 1));
        }
        current.push(least);
        left = least;
    }
    current
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(left: &str, right: &str, expect: Option<usize>) {
        assert_eq!(slips(left, right, 2), expect, "{left} {right}");
        assert_eq!(slips(right, left, 2), expect, "{right} {left}");
        if let Some(expect) = expect {
            assert!(
                Signature::of(left).is_near(Signature::of(right), expect),
                "{left} {right}"
            );
        }
    }

    #[test]
    fn slips_are_counted() {
        check("issue", "issue", Some(0));
        check("isue", "issue", Some(1));
        check("wirte", "write", Some(1));
        check("serach", "search", Some(1));
        check("decsribe", "describe", Some(1));
        check("subscripton", "subscription", Some(1));
        check("reposiotyr", "repository", Some(2));
        check("nissue", "issue", Some(2));
        check("ab", "ba", Some(2));
        check("", "ab", None);
        check("größe", "grösse", Some(2));
        check("delete", "create", None);
        check("", "abc", None);
    }

    #[test]
    fn a_signature_rules_out_what_is_far() {
        let far = [("delete", "archive"), ("pod", "deployment"), ("a", "1234")];
        for (left, right) in far {
            assert!(
                !Signature::of(left).is_near(Signature::of(right), 2),
                "{left} {right}"
            );
        }
    }
}
