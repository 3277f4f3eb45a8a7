//! From words to values: parameters, substitutions, tilde, splitting.
//!
//! What is not known stays in the text as `$NAME` or `$()`, so that a path or a host still shows
//! what is fixed about it.

use mcpproxy_text::glob;

use super::brace;
use super::interp::Interp;
use super::syntax::{Change, Piece, Word};
use super::value::{HOLE, Taint, Value};

/// Variables that are set on every machine and start with a slash.
const ROOTED: &[&str] = &["PATH", "HOME", "PWD", "SHELL", "OLDPWD"];

/// The fields a word becomes, being built.
struct Fields {
    done: Vec<Value>,
    current: Option<Value>,
}

impl Fields {
    fn push(&mut self, value: &Value) {
        self.current.get_or_insert_with(Value::default).push(value);
    }

    /// Appends an unquoted expansion: blanks in it separate fields.
    fn push_split(&mut self, value: &Value) {
        if !value.text.contains([' ', '\t', '\n']) {
            if !value.text.is_empty() || !value.known {
                self.push(value);
            } else if let Some(current) = &mut self.current {
                current.taint.join(value.taint);
            }
            return;
        }
        if value.text.starts_with([' ', '\t', '\n']) {
            self.cut();
        }
        let mut first = true;
        for part in value.text.split_ascii_whitespace() {
            if !std::mem::take(&mut first) {
                self.cut();
            }
            self.push(&value.derive(part));
        }
        if value.text.ends_with([' ', '\t', '\n']) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.done.extend(self.current.take());
    }
}

impl Interp {
    /// Expands words to the fields that a command gets.
    pub(super) fn fields(&mut self, words: &[Word]) -> Vec<Value> {
        let mut out = Vec::new();
        for word in words {
            match brace::expand(word) {
                None => self.word_fields(word, &mut out),
                Some((words, full)) => {
                    for word in &words {
                        self.word_fields(word, &mut out);
                    }
                    if full {
                        self.limit("brace expansion");
                    }
                }
            }
            if out.len() > super::MAX_WORDS {
                self.limit("words");
                out.truncate(super::MAX_WORDS);
                break;
            }
        }
        out
    }

    /// Expands a word to one value, without splitting, as in an assignment.
    pub(super) fn single(&mut self, word: &Word) -> Value {
        let mut value = Value::default();
        for piece in &word.pieces {
            let part = self.piece(piece);
            value.push(&part);
        }
        value
    }

    fn word_fields(&mut self, word: &Word, out: &mut Vec<Value>) {
        let mut fields = Fields {
            done: Vec::new(),
            current: None,
        };
        for piece in &word.pieces {
            match piece {
                Piece::Literal { text, .. } => fields.push(&Value::text(text.as_str())),
                Piece::Parameter {
                    name,
                    change: Change::None,
                    quoted,
                } if is_list(name) => {
                    self.list_fields(name, *quoted, &mut fields);
                }
                Piece::Parameter { quoted, .. } | Piece::Command { quoted, .. } => {
                    let value = self.piece(piece);
                    if *quoted {
                        fields.push(&value);
                    } else {
                        let value = self.separated(value);
                        fields.push_split(&value);
                    }
                }
                Piece::Process { .. } | Piece::Arithmetic(_) => {
                    let value = self.piece(piece);
                    fields.push(&value);
                }
            }
        }
        fields.cut();
        out.append(&mut fields.done);
    }

    /// Turns the separators that the command chose in `IFS` into blanks.
    fn separated(&mut self, value: Value) -> Value {
        match self.lookup("IFS") {
            Some(separators) if !separators.text.is_empty() => {
                let blank = |letter: char| separators.text.contains(letter);
                value.derive(value.text.replace(blank, " "))
            }
            _ => value,
        }
    }

    fn list_fields(&mut self, name: &str, quoted: bool, fields: &mut Fields) {
        for (index, value) in self.list(name).into_iter().enumerate() {
            if index > 0 {
                fields.cut();
            }
            if quoted {
                fields.push(&value);
            } else {
                fields.push_split(&value);
            }
        }
    }

    fn piece(&mut self, piece: &Piece) -> Value {
        match piece {
            Piece::Literal { text, .. } => Value::text(text.as_str()),
            Piece::Parameter { name, change, .. } => self.parameter(name, change),
            Piece::Command { script, .. } => {
                let mut value = self.substitute(script);
                let end = value.text.trim_end_matches('\n').len();
                value.text.truncate(end);
                if !value.known {
                    HOLE.clone_into(&mut value.text);
                }
                value
            }
            Piece::Process { script, output } => self.process(script, *output),
            Piece::Arithmetic(word) => {
                let inner = self.single(word);
                let number = inner
                    .exact()
                    .and_then(|text| text.trim().parse::<i64>().ok());
                match number {
                    Some(number) => Value {
                        text: number.to_string(),
                        known: true,
                        taint: inner.taint,
                    },
                    None => Value::unknown(HOLE, inner.taint),
                }
            }
        }
    }

    fn parameter(&mut self, name: &str, change: &Change) -> Value {
        let set = self.lookup(name);
        match change {
            Change::None => set.unwrap_or_else(|| self.environment(name)),
            Change::Default(word, assigns) => self.default_of(name, set, word, *assigns),
            Change::Alternative(word) => {
                let mut value = self.single(word);
                value.known &= set.is_some();
                value
            }
            Change::Slice(word) => self.slice(name, set, word),
            Change::Trim {
                pattern,
                end,
                longest,
            } => {
                let pattern = self.single(pattern);
                let value = set.unwrap_or_else(|| self.environment(name));
                // A pattern is tried at every place, each time over what is left.
                let tries = value.text.len().min(MAX_TRIM);
                if self.spent(tries * tries * 8) {
                    return Value::unknown(HOLE, value.taint);
                }
                trim(value, &pattern.text, *end, *longest)
            }
            Change::Replace { pattern, with, all } => {
                let (pattern, with) = (self.single(pattern), self.single(with));
                let value = set.unwrap_or_else(|| self.environment(name));
                replace(&value, &pattern.text, &with, *all)
            }
            Change::Case { upper, all } => {
                recase(set.unwrap_or_else(|| self.environment(name)), *upper, *all)
            }
            Change::Indirect => match set.as_ref().and_then(Value::exact) {
                Some(target) => {
                    let target = target.to_owned();
                    self.parameter(&target, &Change::None)
                }
                None => Value::unknown(HOLE, Taint::default()),
            },
            Change::Length => Value::unknown(HOLE, Taint::default()),
            Change::Other => {
                let value = set.unwrap_or_else(|| self.environment(name));
                Value::unknown(HOLE, value.taint)
            }
        }
    }

    fn default_of(&mut self, name: &str, set: Option<Value>, word: &Word, assigns: bool) -> Value {
        match set {
            Some(value) if !value.text.is_empty() => value,
            Some(_) => self.single(word),
            // It may be set in the environment; what is written here is the better guess.
            None => {
                let mut value = self.single(word);
                if assigns {
                    self.assign(name, vec![value.clone()], false);
                } else if value.text.is_empty() {
                    value = self.environment(name);
                }
                value
            }
        }
    }

    fn slice(&mut self, name: &str, set: Option<Value>, range: &Word) -> Value {
        let range = self.single(range);
        let mut parts = range
            .text
            .splitn(2, ':')
            .map(|part| part.trim().parse::<i64>());
        let (offset, length) = (parts.next(), parts.next());
        if set.is_none() && ROOTED.contains(&name) && offset == Some(Ok(0)) && length == Some(Ok(1))
        {
            return Value::text("/");
        }
        let value = set.unwrap_or_else(|| self.environment(name));
        let Some(Ok(offset)) = offset else {
            return Value::unknown(HOLE, value.taint);
        };
        let count = value.text.chars().count();
        let start = match usize::try_from(offset) {
            Ok(offset) => offset,
            Err(_) => count.saturating_sub(usize::try_from(offset.unsigned_abs()).unwrap_or(count)),
        };
        let most = match length {
            None => count,
            Some(Ok(length)) => usize::try_from(length).unwrap_or_else(|_| {
                let cut = usize::try_from(length.unsigned_abs()).unwrap_or(count);
                count.saturating_sub(start).saturating_sub(cut)
            }),
            Some(Err(_)) => return Value::unknown(HOLE, value.taint),
        };
        if !value.known {
            return Value::unknown(HOLE, value.taint);
        }
        value.derive(
            value
                .text
                .chars()
                .skip(start)
                .take(most)
                .collect::<String>(),
        )
    }
}

fn is_list(name: &str) -> bool {
    name == "@" || name == "*" || name.ends_with("[@]") || name.ends_with("[*]")
}

/// How long a text may be after a replacement, at worst.
const MAX_REPLACED: usize = 1 << 15;
/// Longest text on which a pattern is tried at every place.
const MAX_TRIM: usize = 128;

fn trim(value: Value, pattern: &str, end: bool, longest: bool) -> Value {
    if !value.known {
        return value;
    }
    if !glob::is_pattern(pattern) {
        let text = if end {
            value.text.strip_suffix(pattern)
        } else {
            value.text.strip_prefix(pattern)
        };
        return text.map_or_else(|| value.clone(), |text| value.derive(text));
    }
    if value.text.len() > MAX_TRIM || pattern.len() > 64 {
        return Value::unknown(HOLE, value.taint);
    }
    let mut cuts: Vec<usize> = value
        .text
        .char_indices()
        .map(|(at, _)| at)
        .chain([value.text.len()])
        .collect();
    if longest != end {
        cuts.reverse();
    }
    for cut in cuts {
        let (before, after) = value.text.split_at_checked(cut).unwrap_or_default();
        let (removed, kept) = if end {
            (after, before)
        } else {
            (before, after)
        };
        if glob::matches(pattern, removed) {
            return value.derive(kept);
        }
    }
    value
}

fn replace(value: &Value, pattern: &str, with: &Value, all: bool) -> Value {
    if !value.known
        || glob::is_pattern(pattern)
        || pattern.is_empty()
        || value.text.len() * (1 + with.text.len()) > MAX_REPLACED
    {
        return Value::unknown(HOLE, value.taint.with(with.taint));
    }
    let most = if all { usize::MAX } else { 1 };
    let text = value.text.replacen(pattern, &with.text, most);
    let mut out = value.derive(text);
    out.taint.join(with.taint);
    out.known &= with.known;
    out
}

fn recase(value: Value, upper: bool, all: bool) -> Value {
    if !value.known {
        return value;
    }
    let change = |text: &str| {
        if upper {
            text.to_uppercase()
        } else {
            text.to_lowercase()
        }
    };
    if all {
        return value.derive(change(&value.text));
    }
    let mut letters = value.text.chars();
    let first: String = letters.next().into_iter().collect();
    value.derive(change(&first) + letters.as_str())
}
