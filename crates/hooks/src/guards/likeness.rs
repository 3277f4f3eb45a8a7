//! Names that are taken for one another: by letters that look the same, by a letter too many, too few
//! or in the wrong place. Upstreams and their tools are compared with the same eyes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use mcpproxy_classify::Words;
use mcpproxy_detect::confusable::skeleton;

/// The shortest name of which an odd letter is overlooked.
const OVERLOOKED: usize = 5;
/// The shortest name of several words of which a slip in one of them is overlooked, and the shortest
/// such word: `get_id` and `get_ip` are two things.
const LONG: usize = 8;
const WORD: usize = 4;

/// How a name resembles another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness<'a> {
    /// It looks the same.
    Look(Option<Odd<'a>>),
    /// A slip makes one of the other: what comes of it may be a word by itself, as `note` of `node`.
    Slip(Odd<'a>),
}

/// The one word in which two names differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Odd<'a> {
    /// The word of the one.
    pub(super) own: &'a str,
    /// The word of the other.
    pub(super) other: &'a str,
}

/// A name as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    spelled: Box<str>,
    lower: Box<str>,
    strokes: Box<str>,
    words: Words,
}

impl Name {
    /// Reads a name.
    pub(super) fn read(name: &str) -> Self {
        Self {
            spelled: name.into(),
            lower: name.to_lowercase().into(),
            strokes: strokes(&skeleton(name)).into(),
            words: Words::of(name),
        }
    }

    /// What a hasty reader sees of it.
    pub(super) fn strokes(&self) -> &str {
        &self.strokes
    }

    /// Says how it resembles another that is not spelled the same. Another way to write the same words
    /// (`sendEmail` for `send_email`) is no trick; neither are capitals in a single word.
    pub(super) fn likeness<'a>(&'a self, other: &'a Self) -> Option<Likeness<'a>> {
        if self.lower == other.lower {
            let several = self.words.len().max(other.words.len()) > 1;
            let cased = several && self.spelled != other.spelled;
            return cased.then_some(Likeness::Look(None));
        }
        let (one, two) = (self.words.joined(), other.words.joined());
        if one == two || one.len().abs_diff(two.len()) > 2 {
            return None;
        }
        let odd = self.odd(other);
        if self.strokes == other.strokes {
            return (one.len() >= OVERLOOKED).then_some(Likeness::Look(odd));
        }
        let odd = odd.filter(|_| self.words.len() > 1 && one.len().min(two.len()) >= LONG)?;
        odd.likeness()
    }

    /// Hashes of which two names that resemble each other have one in common, so that a name is
    /// compared with few of many. A slip in a word leaves the same behind when the letter that it is
    /// about is left out; so do letters that changed places.
    pub(super) fn traces(&self) -> Vec<u64> {
        let mut traces = vec![trace('l', [&*self.lower]), trace('s', [&*self.strokes])];
        let is_long = self.words.len() > 1 && self.words.joined().len() >= LONG;
        for (at, word) in self.words.iter().enumerate() {
            if !is_long || word.len() < WORD || has_digit(word) {
                continue;
            }
            let with = |part: char, word: &str| {
                let words = self.words.iter().enumerate();
                let words = words.map(|(place, other)| if place == at { word } else { other });
                trace(part, words)
            };
            traces.push(with('w', word));
            let single: String = single(word).into_iter().collect();
            traces.push(with('1', &single));
            for (out, letter) in word.char_indices() {
                let (before, after) = word.split_at(out);
                let after = after.get(letter.len_utf8()..).unwrap_or_default();
                traces.push(with('w', &format!("{before}{after}")));
            }
        }
        traces.sort_unstable();
        traces.dedup();
        traces
    }

    /// The word in which two names differ, where it is one.
    fn odd<'a>(&'a self, other: &'a Self) -> Option<Odd<'a>> {
        if self.words.len() != other.words.len() {
            return None;
        }
        let pairs = self.words.iter().zip(other.words.iter());
        let mut odd = pairs.filter(|(own, other)| own != other);
        let (own, other) = odd.next()?;
        odd.next().is_none().then_some(Odd { own, other })
    }
}

impl<'a> Odd<'a> {
    fn likeness(self) -> Option<Likeness<'a>> {
        let Self { own, other } = self;
        if own.len().min(other.len()) < WORD || has_digit(own) || has_digit(other) {
            return None;
        }
        if single(own) == single(other) {
            return Some(Likeness::Look(Some(self)));
        }
        let (short, long) = if own.len() <= other.len() {
            (own, other)
        } else {
            (other, own)
        };
        // One is many of the other, or goes on in front as `email` does with `mail`.
        let is_another = is_form(long, short) || long.ends_with(short);
        let slipped = is_swapped(own, other) || (!is_another && distance(short, long) == 1);
        slipped.then_some(Likeness::Slip(self))
    }
}

fn trace<'a>(part: char, words: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    words.into_iter().for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

fn has_digit(word: &str) -> bool {
    word.contains(|one: char| one.is_ascii_digit())
}

/// Tells whether a text of words in lower case speaks of a word, in one of its forms.
pub(super) fn speaks_of(text: &str, word: &str) -> bool {
    text.split(' ').any(|said| is_form(said, word))
}

fn is_form(said: &str, word: &str) -> bool {
    let ending = said.strip_prefix(word);
    ending.is_some_and(|ending| ["", "s", "es", "d", "ed", "ing"].contains(&ending))
}

/// Tells whether a name has letters that stand for others.
pub(super) fn is_disguised(name: &str) -> bool {
    let plain = name.chars().filter(|letter| letter.is_alphanumeric());
    let plain: String = plain.flat_map(char::to_lowercase).collect();
    skeleton(name) != plain
}

/// Tells whether the name of an upstream can be taken for that of another. Those that differ in numbers
/// alone are told apart by them, and one that goes on where the other ends is another word.
pub(super) fn is_alike(one: &str, other: &str) -> bool {
    let unnumbered = |name: &str| {
        name.to_lowercase()
            .replace(|one: char| one.is_ascii_digit(), "")
    };
    if one.to_lowercase() != other.to_lowercase() && unnumbered(one) == unnumbered(other) {
        return false;
    }
    let others = readings(other);
    let mut own = readings(one).into_iter();
    own.any(|own| others.iter().any(|other| is_misread(&own, other)))
}

/// What a name can be read as: a 1 is an l or an i, and a capital i is an l.
fn readings(name: &str) -> [String; 3] {
    let read = |name: &str| skeleton(name).into_owned();
    [
        read(name),
        read(&name.replace('1', "i")),
        read(&name.replace('I', "l")),
    ]
}

/// Tells whether two readings are the same, but for letters that look alike, that are doubled, or two
/// that have changed places.
fn is_misread(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let long = one.len().min(other.len()) >= OVERLOOKED;
    long && (strokes(one) == strokes(other)
        || single(one) == single(other)
        || mirrored(one) == mirrored(other)
        || is_swapped(one, other))
}

/// A folded name in which letters that are each other's mirror image are one.
fn mirrored(folded: &str) -> String {
    folded.replace('d', "b").replace('q', "p")
}

/// What a name with signs and digits in the place of letters is read as: `cr3ate` is `create`. Letters
/// of another script that look like ours in small print are among them.
pub(super) fn guise(name: &str) -> String {
    let read = |letter: char| match letter {
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '\u{442}' => 't',
        '!' => 'i',
        '\u{433}' => 'r',
        '\u{432}' => 'b',
        '\u{43a}' => 'k',
        '\u{43c}' => 'm',
        '\u{43d}' => 'h',
        '\u{43f}' => 'n',
        letter => letter,
    };
    skeleton(&name.chars().map(read).collect::<String>()).into_owned()
}

/// Tells whether a name has something in or around it that is no part of a name, so that it shows like
/// another: spaces or separators around it, or signs that nobody writes between words.
pub(super) fn is_dressed(name: &str) -> bool {
    let usual = |letter: char| letter.is_alphanumeric() || "_-./: ".contains(letter);
    let outer = |letter: char| !letter.is_alphanumeric();
    name.starts_with(outer) || name.ends_with(outer) || !name.chars().all(usual)
}

/// A folded name without what small print hides: an i is an l, an r and an n are an m.
fn strokes(folded: &str) -> String {
    let folded = folded.replace("rn", "m").replace("vv", "w");
    folded.replace('i', "l")
}

/// A word with every run of a letter as one.
fn single(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.dedup_by(|one, other| one == other && one.is_alphabetic());
    letters
}

fn is_swapped(one: &str, other: &str) -> bool {
    if one.chars().count() != other.chars().count() {
        return false;
    }
    let pairs = one.chars().zip(other.chars()).enumerate();
    let differ: Vec<_> = pairs.filter(|(_, (one, other))| one != other).collect();
    matches!(
        differ.as_slice(),
        [(at, (a, b)), (next, (c, d))] if *next == at + 1 && a == d && b == c
    )
}

/// How many letters have to be put in, left out or changed; 3 stands for more.
pub(super) fn distance(short: &str, long: &str) -> usize {
    const MOST: usize = 256;
    let (short, long): (Vec<char>, Vec<char>) = (short.chars().collect(), long.chars().collect());
    if long.len() - short.len().min(long.len()) > 2 || long.len() > MOST {
        return 3;
    }
    let mut row: Vec<usize> = (0..=short.len()).collect();
    for (at, letter) in long.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(at + 1);
        for (place, pair) in row.windows(2).enumerate() {
            let &[diagonal, above] = pair else { continue };
            let changed = diagonal + usize::from(short.get(place) != Some(letter));
            let left = next.last().copied().unwrap_or(0);
            next.push(changed.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0).min(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_s_name_resembles_another_by_its_looks_or_by_a_slip() {
        let check = |one: &str, other: &str, expect: &str| {
            for (one, other) in [(one, other), (other, one)] {
                let (one, other) = (Name::read(one), Name::read(other));
                let traces = other.traces();
                let shared = one.traces().iter().any(|trace| traces.contains(trace));
                assert!(shared || expect == "no", "{one:?} {other:?}");
                let found = match one.likeness(&other) {
                    None => "no",
                    Some(Likeness::Look(_)) => "look",
                    Some(Likeness::Slip(_)) => "slip",
                };
                assert_eq!(found, expect, "{one:?} {other:?}");
            }
        };
        check("send_invoice", "send_lnvoice", "look");
        check("send_invoice", "send_1nvoice", "look");
        check("send_invoice", "Send_Invoice", "look");
        check("send_invoice", "send_invvoice", "look");
        check("return_form", "retum_form", "look");
        check("read_file", "read_fille", "look");
        check("read_file", "read_flie", "look");
        check("read_file", "read_fiel", "slip");
        check("send_invoice", "send_invoce", "slip");
        check("create_note", "create_node", "slip");
        // Another way to write, a word alone, more than one, and words that are others.
        check("send_email", "send_email", "no");
        check("send_email", "sendEmail", "no");
        check("Search", "search", "no");
        check("query", "quary", "no");
        check("list_issue", "list_issues", "no");
        check("send_mail", "send_email", "no");
        check("get_id_of", "get_ip_of", "no");
        check("get_time_now", "set_time_now", "no");
        check("query_v1_rows", "query_v2_rows", "no");
        check("read_file", "read_file_fast", "no");
        check("mail", "mall", "no");
    }

    #[test]
    fn whatever_resembles_another_shares_a_trace_with_it() {
        let names = [
            "send_invoice",
            "read_file",
            "create_note_of_meeting",
            "bookkeepper_list",
        ];
        let mut alike = 0;
        for name in names {
            let whole = Name::read(name);
            let traces = whole.traces();
            for (at, _) in name.char_indices() {
                let (before, after) = name.split_at(at);
                let mut letters = after.chars();
                let (first, second) = (letters.next().unwrap(), letters.next());
                let rest = letters.as_str();
                let second = second.map(String::from).unwrap_or_default();
                let slips = [
                    format!("{before}{second}{rest}"),
                    format!("{before}{first}{first}{second}{rest}"),
                    format!("{before}{second}{first}{rest}"),
                    format!("{before}k{second}{rest}"),
                    format!("{before}l{second}{rest}"),
                    format!("{before}x{after}"),
                    format!("{before}{}{second}{rest}", first.to_uppercase()),
                ];
                for slip in slips {
                    let slipped = Name::read(&slip);
                    if whole.likeness(&slipped).is_some() {
                        let mut own = slipped.traces().into_iter();
                        assert!(own.any(|one| traces.contains(&one)), "{name} {slip}");
                        alike += 1;
                    }
                }
            }
        }
        assert!(alike > 200, "{alike}");
    }

    #[test]
    fn a_text_speaks_of_a_word_in_its_forms() {
        let check = |text, word, expect| assert_eq!(speaks_of(text, word), expect, "{text} {word}");
        check("adds a node", "node", true);
        check("adds nodes", "node", true);
        check("sends an invoice", "invoic", false);
        check("reads a file", "fille", false);
    }

    #[test]
    fn letters_are_counted() {
        let check = |one, other, expect| assert_eq!(distance(one, other), expect, "{one} {other}");
        check("same", "same", 0);
        check("same", "some", 1);
        check("same", "same1", 1);
        check("", "ab", 2);
        check("abcd", "dcba", 3);
    }
}
