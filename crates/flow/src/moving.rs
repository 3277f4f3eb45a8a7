//! What moves from call to call in a field that says the same otherwise: the segment of an address that
//! changes, the word behind a constant one, the word behind its number.
//!
//! Whoever sends a value in small pieces puts something around them more often than not. What stays
//! the same is taken off in two ways: by characters, at the beginning and at the end of the field, and
//! by words, each of which is read on from the word that stood in its column before. The same is done
//! with the rows of one message.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::sending::TAIL;
use crate::tail::End;
use crate::words::runs_of_words;

/// Words that are followed, from the beginning and from the end, and the bytes that are kept of each.
const COLUMNS: usize = 8;
const COLUMN: usize = 64;
/// Bytes of what moves in a field, by estimate.
pub(crate) const MOVING: usize = TAIL + 2 * COLUMNS * (COLUMN + 40);

/// Rows of one message that are read by columns, the fewest and the most.
const FEWEST_ROWS: usize = 3;
const MOST_ROWS: usize = 512;
/// Words of a row that are looked at, and of one that no line ends.
const MOST_WORDS: usize = 64;
const MOST_PERIOD: usize = 16;
/// One word in so many comes again where something stands between pieces.
const OFTEN: usize = 8;
/// Bytes of what stands in one column of a message, at the least and at the most.
const LEAST: usize = 6;
const MOST: usize = 1 << 12;

/// What moves in one field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moving {
    frame: Option<Frame>,
    /// What stood within the frame.
    middle: End,
    /// Words counted from the beginning, and from the end.
    first: Vec<Column>,
    last: Vec<Column>,
}

/// The bytes at the beginning and at the end of a field that have stayed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    before: usize,
    behind: usize,
}

/// The words at one place.
#[derive(Clone, Debug, Default)]
struct Column {
    end: End,
    /// Whether there was more than one word so far.
    moves: bool,
}

impl Moving {
    /// Takes note of a piece that follows another.
    pub(crate) fn push(&mut self, before: &str, piece: &str) {
        self.frame = Frame::of(before, piece, self.frame);
        match self.frame {
            Some(frame) => {
                if self.middle.text.is_empty() {
                    self.middle.push(frame.within(before), TAIL);
                }
                self.middle.push(frame.within(piece), TAIL);
            }
            None => self.middle = End::default(),
        }
        let words = || words(piece);
        push(&mut self.first, words());
        push(&mut self.last, words().rev());
    }

    /// Hands out what moved until now with what moves in the next piece, which follows `before`.
    pub(crate) fn each<'p, 't>(
        &'t self,
        before: &str,
        piece: &'p str,
        mut act: impl FnMut(Cow<'t, End>, &'p str),
    ) {
        if let Some(frame) = Frame::of(before, piece, self.frame) {
            let mut middle = Cow::Borrowed(&self.middle);
            if middle.text.is_empty() {
                middle.to_mut().push(frame.within(before), TAIL);
            }
            act(middle, frame.within(piece));
        }
        let words = || words(piece);
        let first = self.first.iter().zip(words());
        let last = self.last.iter().zip(words().rev());
        for (column, word) in first.chain(last) {
            if !column.is_still(word) {
                act(Cow::Borrowed(&column.end), word);
            }
        }
    }
}

fn push<'p>(columns: &mut Vec<Column>, words: impl Iterator<Item = &'p str>) {
    for (at, word) in words.take(COLUMNS).enumerate() {
        if columns.len() <= at {
            columns.push(Column::default());
        }
        if let Some(column) = columns.get_mut(at) {
            column.push(word);
        }
    }
}

impl Column {
    /// Tells whether a word is the one that always stood here.
    fn is_still(&self, word: &str) -> bool {
        !self.moves && word.ends_with(&self.end.text)
    }

    fn push(&mut self, word: &str) {
        let empty = self.end.text.is_empty();
        if empty || !self.is_still(word) {
            self.end.push(word, COLUMN);
            self.moves = !empty;
        }
    }
}

/// Tells whether so many are rows at all.
pub(crate) fn are_rows(count: usize) -> bool {
    count >= FEWEST_ROWS
}

/// Returns what stands in the columns of some rows that are not the same everywhere, each by itself,
/// and all of them row by row.
pub(crate) fn columns<'p>(rows: impl Iterator<Item = &'p str>) -> Vec<String> {
    let rows = rows.map(|row| words(row).take(MOST_WORDS).collect());
    let rows: Vec<Vec<&str>> = rows.filter(|row: &Vec<&str>| !row.is_empty()).collect();
    table(&rows)
}

/// The same of a text in which a word comes again after every few others, whatever stands between,
/// and all that comes less often than that.
pub(crate) fn periods(text: &str) -> Vec<String> {
    // Every word is compared with many, four at a time, by half of what is known of it: those are no fewer
    // than the same, and nearly always too few already.
    let halves = halves(text);
    let is_row = |(period, again): &(usize, usize)| {
        let rows = halves.len() / period;
        rows >= FEWEST_ROWS && again * 5 >= (rows - 1) * 4
    };
    let is_often = |most: usize| most >= FEWEST_ROWS - 1 && most * OFTEN >= halves.len();
    let alike = counts(&halves);
    if !alike.iter().any(|one| is_row(one) || is_often(one.1)) {
        return Vec::new();
    }
    let words: Vec<&str> = words(text).take(MOST_ROWS * 2).collect();
    let hashes: Vec<u64> = words.iter().map(|word| first(word)).collect();
    let counts = counts(&hashes);
    let mut found = Vec::new();
    if let Some(&(period, _)) = counts.iter().find(|one| is_row(one)) {
        found = table(
            &words
                .chunks(period)
                .map(<[&str]>::to_vec)
                .collect::<Vec<_>>(),
        );
    }
    let most = counts.iter().map(|(_, again)| *again).max().unwrap_or(0);
    if is_often(most) {
        let mut seen = HashMap::new();
        for hash in &hashes {
            *seen.entry(hash).or_insert(0) += 1;
        }
        // Pieces may come again, too, but not as often as what stands between them.
        let most = seen.values().copied().max().unwrap_or(0);
        let both = words.iter().zip(&hashes);
        let seldom = both.filter(|(_, hash)| {
            let count = seen.get(hash).copied().unwrap_or(0);
            count == 1 || count * 2 < most
        });
        found.extend(joined(seldom.map(|(word, _)| *word)));
    }
    found
}

/// Counts for each period how many words are the same as the one so many further on.
fn counts<T: PartialEq>(words: &[T]) -> [(usize, usize); MOST_PERIOD - 1] {
    let mut counts = [(0, 0); MOST_PERIOD - 1];
    for (count, period) in counts.iter_mut().zip(2..) {
        let later = words.get(period..).unwrap_or_default();
        let same = words
            .iter()
            .zip(later)
            .map(|(one, two)| u32::from(one == two));
        // INVARIANT: there are fewer words than would wrap; checked sums are slow here.
        let again = same.fold(0, u32::wrapping_add);
        *count = (period, usize::try_from(again).unwrap_or(0));
    }
    counts
}

/// Returns half of the beginning of each word of a text.
fn halves(text: &str) -> Vec<u32> {
    if !text.is_ascii() {
        let words = words(text).take(MOST_ROWS * 2);
        return words.map(|word| half(first(word))).collect();
    }
    let bytes = text.as_bytes();
    let mut halves = Vec::with_capacity(bytes.len().min(MOST_ROWS * 8) / 4);
    runs_of_words(bytes, |span| {
        if halves.len() < MOST_ROWS * 2 {
            let rest = bytes.get(span.start..).unwrap_or_default();
            let number = match rest.first_chunk() {
                Some(first) => u64::from_le_bytes(*first),
                None => rest
                    .iter()
                    .rfold(0, |number, byte| number << 8 | u64::from(*byte)),
            };
            // What stands behind a short word is moved out.
            let over = 8_usize.saturating_sub(span.len());
            halves.push(half(number << (8 * over)));
        }
    });
    halves
}

/// Returns half of a number, in which all of it has a part.
fn half(number: u64) -> u32 {
    let both = number ^ number >> 32;
    u32::try_from(both & u64::from(u32::MAX)).unwrap_or(0)
}

/// Returns the beginning of a word as a number, which is quicker to compare than the word.
fn first(word: &str) -> u64 {
    let bytes = word.as_bytes();
    match bytes.first_chunk() {
        Some(first) => u64::from_le_bytes(*first),
        None => bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Returns the words of a text.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(divides).filter(|word| !word.is_empty())
}

fn table<'p>(rows: &[Vec<&'p str>]) -> Vec<String> {
    if !are_rows(rows.len()) || rows.len() > MOST_ROWS {
        return Vec::new();
    }
    let width = rows.first().map_or(0, Vec::len);
    let even = rows.iter().all(|row| row.len() == width);
    let from_start = |at: usize| rows.iter().map(move |row| row.get(at).copied());
    let from_end = |at: usize| {
        let place = move |row: &Vec<&'p str>| row.len().checked_sub(at + 1);
        rows.iter().map(move |row| row.get(place(row)?).copied())
    };
    let mut found: Vec<String> = (0..COLUMNS)
        .filter_map(|at| joined(from_start(at).flatten()))
        .collect();
    if !even || width > COLUMNS {
        found.extend((0..COLUMNS).filter_map(|at| joined(from_end(at).flatten())));
    }
    if even {
        let first = rows.first().map_or(&[][..], Vec::as_slice);
        let moves = |at: usize| from_start(at).any(|word| word != first.get(at).copied());
        let moving: Vec<usize> = (0..width).filter(|at| moves(*at)).collect();
        if moving.len() > 1 {
            let cells = |row: &Vec<&'p str>| -> Vec<&'p str> {
                moving
                    .iter()
                    .filter_map(|at| row.get(*at).copied())
                    .collect()
            };
            found.extend(joined(rows.iter().flat_map(cells)));
        }
    }
    found
}

/// Puts words together, unless all are the same or too little; numbers stay apart.
fn joined<'p>(words: impl Iterator<Item = &'p str>) -> Option<String> {
    let words: Vec<&str> = words.collect();
    let first = words.first()?;
    if words.iter().all(|word| word == first) {
        return None;
    }
    let number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let between = if words.iter().all(number) { " " } else { "" };
    let mut text = words.join(between);
    text.truncate(text.floor_char_boundary(MOST));
    (text.len() >= LEAST).then_some(text)
}

impl Frame {
    /// Returns what two pieces, and those that `known` stands for, have in common at either end.
    fn of(one: &str, two: &str, known: Option<Self>) -> Option<Self> {
        if one == two {
            return known;
        }
        let most = known.map_or(usize::MAX, |known| known.before);
        let before = common(one.chars(), two.chars()).min(most);
        let most = known.map_or(usize::MAX, |known| known.behind);
        let behind = common(rest(one, before), rest(two, before)).min(most);
        (before + behind > 0).then_some(Self { before, behind })
    }

    /// Returns what stands within.
    fn within(self, text: &str) -> &str {
        let end = text.len().saturating_sub(self.behind);
        text.get(self.before..end).unwrap_or_default()
    }
}

/// Returns the bytes of the characters that two texts have in common.
fn common(one: impl Iterator<Item = char>, two: impl Iterator<Item = char>) -> usize {
    let both = one.zip(two).take_while(|(one, two)| one == two);
    both.map(|(char, _)| char.len_utf8()).sum()
}

/// Returns what stands behind a place, from its end.
fn rest(text: &str, at: usize) -> impl Iterator<Item = char> {
    text.get(at..).unwrap_or_default().chars().rev()
}

/// Tells what stands between words.
fn divides(char: char) -> bool {
    !char.is_alphanumeric()
}
