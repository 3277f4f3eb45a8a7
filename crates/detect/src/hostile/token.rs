//! A sentence as tokens that carry ideas.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use crate::hostile::ideas::Ideas;
use crate::hostile::letters;
use crate::hostile::lexicon::{Entry, Lead, Lexicon, is_unspaced};

/// How many letters of a script without spaces count as a word that is not known.
const UNSPACED: usize = 2;

/// One word, address, path or name.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// Where it stands in the sentence.
    pub(crate) span: Range<usize>,
    /// What it means.
    pub(crate) ideas: Ideas,
    /// Which clause it is in; punctuation starts a new one.
    pub(crate) clause: u32,
    /// Whether it stands between quotes.
    pub(crate) quoted: bool,
}

/// The bits of the shapes, looked up once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes {
    pub(crate) url: Ideas,
    pub(crate) email: Ideas,
    pub(crate) path: Ideas,
    pub(crate) name: Ideas,
    /// What the name of a variable means that holds a credential.
    pub(crate) variable: Ideas,
}

/// Reads sentences; its buffers are used again for the next one.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    lexicon: &'a Lexicon,
    shapes: Shapes,
    paths: &'a AhoCorasick,
    pub(crate) tokens: Vec<Token>,
    /// Where each token leads, and where in `words` its folded form stands; a plain word has none
    /// but itself, since most words lead nowhere and need not be copied.
    leads: Vec<(Option<Range<usize>>, Lead)>,
    words: String,
    /// Neighbours in lower case, one blank between.
    joined: String,
    clause: u32,
    quoted: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(lexicon: &'a Lexicon, shapes: Shapes, paths: &'a AhoCorasick) -> Self {
        Self {
            lexicon,
            shapes,
            paths,
            tokens: Vec::new(),
            leads: Vec::new(),
            words: String::new(),
            joined: String::new(),
            clause: 0,
            quoted: false,
        }
    }

    /// Reads `sentence` into `tokens`.
    pub(crate) fn read(&mut self, sentence: &str) {
        self.tokens.clear();
        self.words.clear();
        self.leads.clear();
        self.clause = 0;
        self.quoted = false;
        if sentence.is_ascii() {
            self.ascii(sentence);
        } else {
            for chunk in sentence.split_whitespace().flat_map(apart) {
                let start = chunk.as_ptr().addr() - sentence.as_ptr().addr();
                self.chunk(chunk, start);
            }
        }
        self.join(sentence);
    }

    /// Reads what stands between the blanks of a sentence in ASCII, as most are.
    fn ascii(&mut self, sentence: &str) {
        let mut start = 0;
        while let Some(rest) = sentence
            .as_bytes()
            .get(start..)
            .filter(|rest| !rest.is_empty())
        {
            let (mut length, mut sorts) = (0, 0);
            for byte in rest {
                let sort = sort(*byte);
                if sort == BLANK {
                    break;
                }
                sorts |= sort;
                length += 1;
            }
            let chunk = sentence.get(start..start + length).unwrap_or_default();
            if sorts & (MARK | INNER) != 0 {
                self.chunk(chunk, start);
            } else if sorts != 0 {
                self.plain(chunk, start, sorts & CAPITAL != 0);
            }
            start += length + 1;
        }
    }

    /// Reads what stands between two blanks.
    fn chunk(&mut self, chunk: &str, start: usize) {
        if chunk.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            self.plain(chunk, start, true);
            return;
        }
        let core = chunk.trim_start_matches(|letter: char| is_fringe(letter));
        let head = chunk.len() - core.len();
        self.punctuation(chunk.get(..head).unwrap_or_default(), true);
        let core = core.trim_end_matches(|letter: char| is_fringe(letter) || letter == '.');
        let tail = chunk.get(head + core.len()..).unwrap_or_default();
        let start = start + head;
        if core.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            self.plain(core, start, true);
        } else if !self.whole(core, start) {
            self.pieces(core, start);
        }
        let head = chunk.get(..head).unwrap_or_default();
        if ['`', '\'', '"']
            .iter()
            .any(|mark| head.ends_with(*mark) && tail.starts_with(*mark))
            && let Some(token) = self.tokens.last_mut()
        {
            // A single quoted word is somebody's name for something.
            token.ideas |= self.shapes.name;
        }
        self.punctuation(tail, false);
    }

    /// Reads addresses, paths and entries with dots as one token.
    fn whole(&mut self, core: &str, start: usize) -> bool {
        let shaped =
            |byte: &u8| matches!(byte, b'/' | b'\\' | b'.' | b'~' | b'_' | b'-' | b'@' | b':');
        if !core.as_bytes().iter().any(shaped) {
            return false;
        }
        let lower = core.to_ascii_lowercase();
        let mut ideas = self.lexicon.ideas(&lower);
        if lower.contains("://") || is_domain(&lower) {
            ideas |= self.shapes.url;
        } else if is_email(&lower) {
            ideas |= self.shapes.email;
        }
        let leads = self.paths.is_match(&lower);
        let public = leads && PUBLIC.iter().any(|end| lower.ends_with(end));
        if leads && !public {
            ideas |= self.shapes.path;
        }
        if ideas != Ideas::NONE || public {
            self.push(&lower, start..start + core.len(), ideas);
        }
        ideas != Ideas::NONE || public
    }

    /// Reads the words of a chunk.
    fn pieces(&mut self, core: &str, start: usize) {
        let stops =
            |letter: char| !letters::is_letter(letter) && !matches!(letter, '_' | '-' | '\'');
        for piece in core.split(stops) {
            let at = start + piece.as_ptr().addr() - core.as_ptr().addr();
            let before = core
                .get(..at - start)
                .and_then(|head| head.chars().next_back());
            match before {
                Some(',' | ';' | ':' | '(' | '.') if !piece.is_empty() => self.clause += 1,
                Some(mark) if !mark.is_ascii() => self.mark(mark),
                _ => {}
            }
            if is_unspaced(piece) {
                self.unspaced(piece, at);
            } else if !piece.is_empty() {
                self.word(piece, at);
            }
        }
    }

    /// Reads a word of plain letters, in which there may be capitals or not.
    fn plain(&mut self, word: &str, start: usize, capitals: bool) {
        if word.is_empty() {
            return;
        }
        let mut entry = self.lexicon.plain(word);
        if capitals && is_camel(word) {
            entry.ideas |= self.shapes.name;
        }
        self.enter(None, start..start + word.len(), entry);
    }

    fn word(&mut self, piece: &str, start: usize) {
        if piece.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            self.plain(piece, start, true);
            return;
        }
        let lower = letters::folded(piece);
        let mut ideas = self.lexicon.ideas(&lower);
        if piece.contains('_') || is_camel(piece) {
            ideas |= self.shapes.name;
        }
        if is_variable(piece) {
            ideas |= self.shapes.variable;
        }
        if ideas == Ideas::NONE && lower.bytes().any(|byte| byte.is_ascii_digit()) {
            ideas = self.lexicon.ideas(&plain_letters(&lower));
        }
        if ideas & !self.shapes.name == Ideas::NONE && lower.contains(['_', '-']) {
            ideas |= self.lexicon.ideas(&lower.replace(['_', '-'], " "));
        }
        if ideas == Ideas::NONE
            && let Some((head, rest)) = lower.split_once('\'')
        {
            // An article or a `no` that French and Italian write together with the next word.
            if self.lexicon.knows(head) {
                self.push(head, start..start + head.len(), self.lexicon.ideas(head));
            }
            ideas = self.lexicon.ideas(rest);
        }
        let bare = letters::without_proclitic(&lower);
        if ideas == Ideas::NONE && bare.len() < lower.len() {
            ideas = self.lexicon.ideas(bare);
        }
        if ideas == Ideas::NONE && lower.contains('-') {
            for part in piece.split('-').filter(|part| !part.is_empty()) {
                let at = start + part.as_ptr().addr() - piece.as_ptr().addr();
                let lower = letters::folded(part);
                self.push(&lower, at..at + part.len(), self.lexicon.ideas(&lower));
            }
            return;
        }
        self.push(&lower, start..start + piece.len(), ideas);
    }

    /// Reads a run of letters of a script without spaces: the longest known words, in order.
    fn unspaced(&mut self, piece: &str, start: usize) {
        let mut rest = piece;
        let mut unknown = 0;
        while let Some(letter) = rest.chars().next() {
            let at = start + (piece.len() - rest.len());
            let ends = rest
                .char_indices()
                .skip(1)
                .map(|(end, _)| end)
                .chain([rest.len()]);
            let ends: Vec<usize> = ends.take(self.lexicon.unspaced).collect();
            let known = ends.iter().rev().find_map(|&end| {
                let word = rest.get(..end)?;
                let ideas = self.lexicon.ideas(word);
                (ideas != Ideas::NONE).then_some((word, ideas))
            });
            let length = if let Some((word, ideas)) = known {
                self.push(word, at..at + word.len(), ideas);
                word.len()
            } else {
                unknown += 1;
                if unknown % UNSPACED == 0 {
                    self.push("", at..at + letter.len_utf8(), Ideas::NONE);
                }
                letter.len_utf8()
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    fn push(&mut self, word: &str, span: Range<usize>, ideas: Ideas) {
        let entry = self.lexicon.leading(word).with(ideas);
        let start = self.words.len();
        self.words.push_str(word);
        self.enter(Some(start..self.words.len()), span, entry);
    }

    fn enter(&mut self, folded: Option<Range<usize>>, span: Range<usize>, entry: Entry) {
        self.leads.push((folded, entry.lead));
        self.tokens.push(Token {
            span,
            ideas: entry.ideas,
            clause: self.clause,
            quoted: self.quoted,
        });
    }

    /// Notes quotes and clauses; `opens` before a word, not after it.
    fn punctuation(&mut self, marks: &str, opens: bool) {
        for mark in marks.chars() {
            match mark {
                ',' | ';' | ':' | '(' | ')' => self.clause += 1,
                '"' | '`' => self.quoted = !self.quoted,
                '\'' if opens => self.quoted = true,
                '\'' => self.quoted = false,
                _ => self.mark(mark),
            }
        }
    }

    /// Notes quotes and clauses by marks that other scripts than Latin have, or that stand alone.
    fn mark(&mut self, mark: char) {
        match mark {
            '\u{2014}' | '\u{2013}' | '、' | '،' | '؛' => self.clause += 1,
            '„' | '「' | '『' => self.quoted = true,
            '」' | '』' => self.quoted = false,
            _ => {}
        }
    }

    /// The folded form of a token, but for the case of a plain word.
    fn form<'s>(&'s self, sentence: &'s str, at: usize) -> Option<&'s str> {
        match self.leads.get(at)? {
            (Some(place), _) => self.words.get(place.clone()),
            (None, _) => sentence.get(self.tokens.get(at)?.span.clone()),
        }
    }

    /// Gives the first of several words the ideas of all of them together.
    fn join(&mut self, sentence: &str) {
        let mut joined = std::mem::take(&mut self.joined);
        for first in 0..self.tokens.len() {
            let Some((_, lead)) = self.leads.get(first).filter(|(_, lead)| lead.reach > 1) else {
                continue;
            };
            let reach = first..first + lead.reach;
            let next = self.form(sentence, first + 1);
            if !next.is_some_and(|next| lead.goes_on(next)) {
                continue;
            }
            joined.clear();
            for at in reach {
                let Some(word) = self.form(sentence, at) else {
                    break;
                };
                if at > first {
                    joined.push(' ');
                }
                joined.push_str(word);
                joined.make_ascii_lowercase();
                if at > first {
                    let ideas = self.lexicon.ideas(&joined);
                    if let Some(token) = self.tokens.get_mut(first) {
                        token.ideas |= ideas;
                    }
                }
            }
        }
        self.joined = joined;
    }
}

/// Splits a chunk where a script without spaces meets another, as before an address.
fn apart(chunk: &str) -> impl Iterator<Item = &str> {
    let mut rest = chunk;
    std::iter::from_fn(move || {
        let wide = is_wide(rest.chars().next()?);
        let end = if rest.is_ascii() {
            None
        } else {
            rest.find(|letter| is_wide(letter) != wide)
        };
        let (head, tail) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        rest = tail;
        Some(head)
    })
}

/// Whether a character belongs to a script without spaces, or to its punctuation.
fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{3000}'..='\u{9fff}')
}

/// Whether a letter at a chunk's edge is punctuation rather than a part of a path.
fn is_fringe(letter: char) -> bool {
    match u8::try_from(letter) {
        Ok(byte) if byte.is_ascii() => sort(byte) & (MARK | BLANK) != 0,
        _ => !letters::is_letter(letter),
    }
}

/// What a byte of ASCII is in a sentence.
fn sort(byte: u8) -> u8 {
    SORTS.get(usize::from(byte)).copied().unwrap_or(MARK)
}

const LETTER: u8 = 1;
const CAPITAL: u8 = 16;
/// Ends of files beside those that hold credentials which are there to be shown.
const PUBLIC: &[&str] = &[".pub", ".example", ".sample", ".template", ".dist"];

/// A digit, or what stands in paths and names.
const INNER: u8 = 2;
const MARK: u8 = 4;
const BLANK: u8 = 8;

const SORTS: [u8; 256] = sorts();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when compiled; a wrong index does not build"
)]
const fn sorts() -> [u8; 256] {
    let mut table = [MARK; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' => LETTER,
            b'A'..=b'Z' => CAPITAL,
            b'0'..=b'9' | b'.' | b'~' | b'/' | b'\\' | b'_' | b'$' => INNER,
            b'\t'..=b'\r' | b' ' => BLANK,
            _ => MARK,
        };
        byte += 1;
    }
    table
}

fn is_email(lower: &str) -> bool {
    lower
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
}

/// Whether a name is that of an environment variable that holds a credential.
fn is_variable(word: &str) -> bool {
    let upper = word
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let ends = [
        "_KEY",
        "_TOKEN",
        "_SECRET",
        "_PASSWORD",
        "_CREDENTIALS",
        "_PAT",
    ];
    upper && ends.iter().any(|end| word.ends_with(end))
}

/// Whether a word is a host's name: letters, a dot, and an ending that hosts have.
fn is_domain(lower: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "com", "net", "org", "io", "dev", "xyz", "site", "app", "example", "test", "info", "biz",
        "ru", "cn", "top", "online", "cloud", "club", "shop", "tk", "co",
    ];
    if !lower.contains('.') {
        return false;
    }
    let host = lower.split(['/', ':']).next().unwrap_or_default();
    let named = host.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty() && !name.contains('@') && ENDINGS.contains(&ending)
    });
    named || host.starts_with("www.")
}

fn is_camel(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
}

/// Digits that stand for letters, undone.
fn plain_letters(word: &str) -> String {
    let plain = word.chars().map(|letter| match letter {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        other => other,
    });
    plain.collect()
}
