//! What a value looks like by itself: a placeholder, a password, a random string. No context here.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::words::commonness;

/// The longest piece that a value is looked at for repeating.
const PERIOD: usize = 8;
/// The fewest characters of a value without symbols that a generator made. Shorter ones are years,
/// ports, amounts and names of versions too often.
const MADE: usize = 10;
/// The most characters of such a value; what is longer is judged by its entropy alone.
const MADE_MOST: usize = 64;
/// What a change between letters and digits counts for beside `commonness`: as rare as letters
/// that no word has side by side.
const CHANGE: u32 = 12;
/// Below this mean of `commonness` letters do not make words. Of the identifiers in ordinary
/// sources one in a hundred lies below it, of random letters nine in ten do, and of random letters
/// and digits nearly all.
const WORDLESS: u32 = 16;

/// Words that stand where a secret will be filled in, and passwords that are none.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "sample",
    "placeholder",
    "your",
    "xxxx",
    "changeme",
    "change_me",
    "change-me",
    "redacted",
    "dummy",
    "fake",
    "insert",
    "replace",
    "****",
    "....",
    "todo",
    "fixme",
    "mysecret",
    "my_secret",
    "my-secret",
    "password",
    "passw0rd",
    "p@ssw0rd",
    "p@ssword",
    "pa$$w",
    "letmein",
    "removed",
    "masked",
    "hidden",
    "secret_key",
    "some_",
    "some-",
    "undefined",
    "lorem",
    "foobar",
    "notreal",
    "not-real",
    "not_real",
    "testtest",
    "deadbeef",
    "cafebabe",
    "aaaaaa",
    "123456",
    "abcdef",
    "qwerty",
    "000000",
    "fffffff",
    "nopqrst",
    "ghijkl",
];

/// Tells whether a value has two characters that begin or make up a reference to one held elsewhere.
fn has_reference_mark(bytes: &[u8]) -> bool {
    let first = |byte: &u8| matches!(byte, b'$' | b'{' | b'}' | b'<' | b'%' | b'#' | b'[' | b'@');
    bytes.iter().any(first) && bytes.windows(2).any(is_reference_mark)
}

fn is_reference_mark(pair: &[u8]) -> bool {
    matches!(
        pair,
        b"${"
            | b"{{"
            | b"}}"
            | b"$("
            | b"<%"
            | b"%("
            | b"#{"
            | b"%s"
            | b"%d"
            | b"{0"
            | b"{}"
            | b"[["
            | b"@{"
    )
}

/// Tells whether a value only marks the place of a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let bytes = value.as_bytes();
    let Some(first) = bytes.first() else {
        return true;
    };
    if matches!(first, b'$' | b'<' | b'{' | b'%' | b'[' | b'(') && opens_reference(bytes) {
        return true;
    }
    has_reference_mark(bytes) || has_placeholder_word(value) || is_monotonous(bytes)
}

/// Tells whether a value, its first character being special, is a variable and not a password.
fn opens_reference(bytes: &[u8]) -> bool {
    match bytes {
        [b'<', .., b'>'] | [b'{', .., b'}'] | [b'[', .., b']'] | [b'(', .., b')'] => true,
        [b'%', inner @ .., b'%'] | [b'$' | b'%', inner @ ..] => inner
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':' | b'.')),
        _ => false,
    }
}

fn has_placeholder_word(value: &str) -> bool {
    // Longer texts are keys in an armour, where four letters prove nothing.
    if value.len() > 256 {
        return false;
    }
    let words = PLACEHOLDER_WORDS.as_ref();
    words.is_some_and(|words| words.is_match(value))
}

/// The words in one automaton; building it fails only for far more words than there are.
static PLACEHOLDER_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let builder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(PLACEHOLDERS);
    builder.ok()
});

/// Tells whether a value repeats or counts instead of being random.
fn is_monotonous(bytes: &[u8]) -> bool {
    let pairs = bytes.len().saturating_sub(1);
    if pairs < 3 {
        return false;
    }
    let periodic = bytes.len() >= 12 && is_periodic(bytes, PERIOD);
    neighbours(bytes) * 2 > pairs || periodic || distinct(bytes) <= 3
}

/// Returns how many characters are the same as the one before them or next to it.
fn neighbours(bytes: &[u8]) -> usize {
    let later = bytes.get(1..).unwrap_or_default();
    let pairs = bytes.iter().zip(later);
    pairs.filter(|(one, two)| one.abs_diff(**two) <= 1).count()
}

fn is_periodic(bytes: &[u8], most: usize) -> bool {
    (2..=most).any(|period| {
        let later = bytes.get(period..).unwrap_or_default();
        let mut others = bytes.iter().zip(later).filter(|(one, two)| one != two);
        // One in ten may differ; a random value has as many at once.
        others.nth(later.len() / 10).is_none()
    })
}

fn distinct(bytes: &[u8]) -> usize {
    let seen = seen(bytes);
    seen.iter()
        .map(|word| usize::try_from(word.count_ones()).unwrap_or(0))
        .sum()
}

/// One bit for each byte that there is.
fn seen(bytes: &[u8]) -> [u64; 4] {
    let mut seen = [0_u64; 4];
    for byte in bytes {
        if let Some(word) = seen.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }
    seen
}

/// The numbers of the bits that are set, in order.
fn places(seen: [u64; 4]) -> impl Iterator<Item = usize> {
    let words = seen.into_iter().zip((0..).step_by(64));
    words.flat_map(|(mut word, base)| {
        std::iter::from_fn(move || {
            let place = (word != 0).then(|| base + word.trailing_zeros() as usize)?;
            word &= word - 1;
            Some(place)
        })
    })
}

/// Returns the Shannon entropy in bits a character.
pub(super) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX).max(1));
    let term = |count: u32| {
        let share = f64::from(count) / total;
        -share * share.log2()
    };
    // Most characters of a random value occur equally often, and logarithms are slow.
    let mut terms = [None; 8];
    let present = places(seen(bytes)).filter_map(|byte| counts.get(byte));
    let known = present.map(|count| {
        match usize::try_from(*count)
            .ok()
            .and_then(|at| terms.get_mut(at))
        {
            Some(known) => *known.get_or_insert_with(|| term(*count)),
            None => term(*count),
        }
    });
    known.sum()
}

/// How many characters of each class a value has, and how often the class changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    pub(super) symbols: usize,
    pub(super) changes: usize,
    /// Characters that join words and paths and prove nothing: `_ - . / :`.
    pub(super) joints: usize,
}

impl Shape {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut counts = [0; 5];
        let (mut last, mut changes) = (None, 0);
        for byte in bytes {
            let class = CLASSES.get(usize::from(*byte)).copied().unwrap_or(SYMBOL);
            if let Some(count) = counts.get_mut(usize::from(class)) {
                *count += 1;
            }
            changes += usize::from(last.is_some_and(|last| last != class));
            last = Some(class);
        }
        let [lower, upper, digits, joints, symbols] = counts;
        Self {
            lower,
            upper,
            digits,
            symbols,
            changes,
            joints,
        }
    }

    /// Returns how many kinds of characters there are, joints left out.
    pub(super) fn classes(&self) -> usize {
        [self.lower, self.upper, self.digits, self.symbols]
            .iter()
            .filter(|n| **n > 0)
            .count()
    }

    /// Tells whether letters and digits mix as words and numbers do not.
    pub(super) fn is_mixed(&self, len: usize) -> bool {
        let letters = self.lower + self.upper;
        let cased = self.lower > 1 && self.upper > 1;
        // Without digits it takes more than the humps of a name.
        let restless = cased && len >= 20 && self.changes * 5 >= len * 2;
        letters > 1 && (self.digits > 1 && self.changes * 5 >= len || restless)
    }
}

/// The number of the class of symbols, which is what nothing else is.
const SYMBOL: u8 = 4;

/// The class of each byte. A table, since jumps are guessed wrong in random text.
const CLASSES: [u8; 256] = classes();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn classes() -> [u8; 256] {
    let mut table = [SYMBOL; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' => 0,
            b'A'..=b'Z' => 1,
            b'0'..=b'9' => 2,
            b'_' | b'-' | b'.' | b'/' | b':' => 3,
            _ => SYMBOL,
        };
        byte += 1;
    }
    table
}

/// Tells whether a value looks like one that a generator made.
pub(super) fn is_random(value: &str, min_entropy: f64) -> bool {
    let bytes = value.as_bytes();
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.+/=~:|!@#$%^&*".contains(byte);
    (16..=512).contains(&bytes.len())
        && bytes.iter().all(fits)
        && Shape::of(bytes).is_mixed(bytes.len())
        && entropy(bytes) >= min_entropy
        && !is_placeholder(value)
        && !is_reference(value)
        && !is_uuid(bytes)
}

/// Tells whether a value looks like a password that a person chose or was given.
pub(super) fn is_password(value: &str) -> bool {
    let bytes = value.as_bytes();
    if !(6..=128).contains(&bytes.len()) || value.contains(char::is_whitespace) {
        return false;
    }
    let shape = Shape::of(bytes);
    let letters = shape.lower + shape.upper;
    let strong = shape.classes() >= 3 || bytes.len() >= 8 && shape.digits + shape.symbols * 2 > 1;
    letters > 0
        && shape.digits + shape.symbols > 0
        && strong
        && bytes.first() != Some(&b',')
        && !is_placeholder(value)
        && !is_reference(value)
        && !is_uuid(bytes)
}

/// Tells whether a value of letters and digits alone was made by a generator: a row of digits, of
/// hexadecimal digits, or of letters that make no word. That much is said of every count, hash and
/// row of a table too, so the name has to say the rest.
pub(super) fn is_made(value: &str) -> bool {
    let bytes = value.as_bytes();
    if !(MADE..=MADE_MOST).contains(&bytes.len()) || !bytes.iter().all(u8::is_ascii_alphanumeric) {
        return false;
    }
    let shape = Shape::of(bytes);
    let made = if shape.digits == bytes.len() {
        !is_regular(bytes)
    } else if is_hex(bytes) {
        shape.digits > 1 && (shape.changes > 1 || !starts_with_word(bytes)) && !is_monotonous(bytes)
    } else {
        is_wordless(bytes) && !is_monotonous(bytes)
    };
    made && !has_placeholder_word(value)
}

/// Tells whether a value begins with letters enough for a word.
fn starts_with_word(bytes: &[u8]) -> bool {
    bytes.iter().take(4).all(u8::is_ascii_alphabetic)
}

/// Tells whether letters stand side by side as they do not in words and the names made of them.
fn is_wordless(bytes: &[u8]) -> bool {
    let (mut sum, mut count) = (0, 0);
    for pair in bytes.windows(2) {
        let letters = pair
            .iter()
            .filter(|byte| byte.is_ascii_alphabetic())
            .count();
        sum += match letters {
            0 => continue,
            1 => CHANGE,
            _ => commonness(pair),
        };
        count += 1;
    }
    sum < count * WORDLESS
}

/// Tells whether digits count or repeat from end to end. Of random digits more than a quarter
/// are next to the one before by chance, so that most of them have to be.
fn is_regular(bytes: &[u8]) -> bool {
    let pairs = bytes.len().saturating_sub(1);
    // Two digits at the end that are those at the beginning are an accident.
    let most = PERIOD.min(bytes.len() / 2);
    neighbours(bytes) * 4 >= pairs * 3 || is_periodic(bytes, most) || distinct(bytes) <= 3
}

/// Tells whether digits are a moment: seconds since 1970 and their thousandths, millionths and
/// billionths, or year, month and day with a time behind them.
pub(super) fn is_moment(value: &str) -> bool {
    let bytes = value.as_bytes();
    let number = |from, to| {
        value
            .get(from..to)
            .and_then(|part| part.parse::<u32>().ok())
    };
    bytes.iter().all(u8::is_ascii_digit)
        && match bytes.len() {
            // From 2014 on, and up to 2033.
            10 | 13 | 16 | 19 => number(0, 2).is_some_and(|lead| (14..20).contains(&lead)),
            12 | 14 | 17 => {
                number(0, 2).is_some_and(|century| (19..21).contains(&century))
                    && number(4, 6).is_some_and(|month| (1..13).contains(&month))
                    && number(6, 8).is_some_and(|day| (1..32).contains(&day))
            }
            _ => false,
        }
}

/// Tells whether a value is code, a path, an address or a name rather than a secret.
pub(super) fn is_reference(value: &str) -> bool {
    let bytes = value.as_bytes();
    let call = value.contains("()")
        || value.contains("::")
        || value.contains("->")
        || value.contains("=>");
    let path = bytes.starts_with(b"/") && value.matches('/').count() > 1
        || [&b"./"[..], b"../", b"~/", b"C:\\"]
            .iter()
            .any(|start| bytes.starts_with(start));
    let cased = bytes.iter().any(u8::is_ascii_uppercase) && bytes.iter().any(u8::is_ascii_digit);
    let words =
        value.matches('/').count() > 1 && !cased || matches!(bytes, [b'(' | b'[' | b'{', ..]);
    let call = call || value.contains("?.") || value.contains(".*") || value.contains("*.");
    call || path
        || words
        || is_address(bytes)
        || value.contains("://")
        || is_dotted_name(bytes)
        || is_call(bytes)
        || is_template(bytes)
}

/// Tells whether parts joined by dots are all names: `config.db.password2`.
fn is_dotted_name(bytes: &[u8]) -> bool {
    let mut parts = 0;
    for part in bytes.split(|byte| *byte == b'.') {
        let named = part
            .first()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        let plain = part
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let shape = Shape::of(part);
        let random = shape.digits > 2 || part.len() >= 16 && shape.is_mixed(part.len());
        if !named || !plain || random {
            return false;
        }
        parts += 1;
    }
    parts > 1
}

/// Tells whether a value reads `name@place.tld`.
fn is_address(bytes: &[u8]) -> bool {
    let mut parts = bytes.splitn(2, |byte| *byte == b'@');
    let (Some(name), Some(place)) = (parts.next(), parts.next()) else {
        return false;
    };
    let plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    !name.is_empty()
        && name.iter().all(plain)
        && place.iter().all(plain)
        && memchr::memchr(b'.', place).is_some()
}

/// Tells whether a value is a name with something in brackets behind it.
fn is_call(bytes: &[u8]) -> bool {
    let name = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
        .count();
    name > 0 && matches!(bytes.get(name), Some(b'(' | b'[' | b'{'))
}

/// Tells whether braces or angle brackets in a value frame a name.
fn is_template(bytes: &[u8]) -> bool {
    let framed = |open, close| {
        let start = memchr::memchr(open, bytes);
        let end = memchr::memrchr(close, bytes);
        matches!((start, end), (Some(start), Some(end)) if start < end)
    };
    framed(b'{', b'}') || framed(b'<', b'>')
}

/// Tells whether a value is a UUID.
pub(super) fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Tells whether a value consists of hexadecimal digits only.
pub(super) fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_hexdigit)
}
