//! Reads along with a message that passes by, in chunks, for whoever records and does not judge.
//!
//! A tap finds the parts of an envelope and never keeps more than those: a message may be longer
//! than memory. It does not check the grammar beyond what finding them takes, and it refuses
//! nothing; what it cannot follow is a [`Lost`], and the bytes go their way all the same.

use std::ops::Range;

use mcpproxy_text::{fold, unescape};

/// Deepest nesting whose brackets are matched; those further in are only counted.
const DEPTH: usize = 1024;
/// Longest key that can be one of ours, with every character escaped.
const KEY: usize = 64;
/// The byte order mark, which readers may skip before a message and may refuse.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// Longest id, method or name that is kept.
const SHORT: usize = 4096;

/// A part of a message that may be long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `params.arguments` of a request.
    Arguments,
    /// `result` of a response.
    Result,
    /// `error` of a response.
    Error,
}

/// One message, as far as it was read along with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The raw id.
    pub id: Option<Vec<u8>>,
    /// The raw method.
    pub method: Option<Vec<u8>>,
    /// The raw `params.name`.
    pub name: Option<Vec<u8>>,
    /// The raw `params.requestId`, which names the request that is cancelled.
    pub request_id: Option<Vec<u8>>,
    /// The raw `result.isError`.
    pub is_error: Option<Vec<u8>>,
    /// Where the arguments stand in the line.
    pub arguments: Option<Range<usize>>,
    /// Where the result stands in the line.
    pub result: Option<Range<usize>>,
    /// Where the error stands in the line.
    pub error: Option<Range<usize>>,
    /// A part stands twice or in another case, one that is kept is too long, something is nested too
    /// deep for many, or there is a NUL, at which a text ends to some, in a key, the method or the
    /// name: readers may differ about it.
    pub doubtful: bool,
}

impl Seen {
    /// Tells whether the method is `name`, however it is escaped.
    pub fn is_method(&self, name: &str) -> bool {
        self.method.as_deref().and_then(text).as_deref() == Some(name)
    }

    /// Returns the name of the tool, unescaped, if it is text.
    pub fn tool(&self) -> Option<String> {
        self.name.as_deref().and_then(text)
    }

    /// Tells whether the result says that the tool failed.
    pub fn failed(&self) -> bool {
        self.is_error.as_deref() == Some(b"true")
    }
}

/// Reads a raw JSON string; anything else is nothing.
pub fn text(raw: &[u8]) -> Option<String> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let inner = std::str::from_utf8(inner).ok()?;
    Some(unescape(inner).into_owned())
}

/// Is told what a tap reads.
pub trait Watch {
    /// Takes the next bytes of a long part of the message that is being read.
    fn part(&mut self, part: Part, bytes: &[u8]);
    /// Takes a message that was read to its end.
    fn message(&mut self, seen: Seen);
}

/// A line whose parts cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The byte of the line at which it became unreadable.
    pub at: usize,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Value,
    Key,
    Colon,
    After,
    InKey,
    InText,
    InScalar,
    /// Anything, further in than brackets are matched.
    Deep,
    Done,
}

/// What a key of ours leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Id,
    Method,
    Params,
    Name,
    RequestId,
    IsError,
    Long(Part),
}

/// A value that is being followed to its end.
#[derive(Debug)]
struct Followed<T> {
    what: T,
    /// How many brackets were open when it started.
    depth: usize,
    /// Where it started in the line.
    start: usize,
}

/// Reads along with one line.
#[derive(Debug)]
pub struct Tap {
    next: Next,
    escaped: bool,
    /// How many bytes were read before the current chunk.
    before: usize,
    /// Open brackets, outermost first.
    open: Vec<u8>,
    /// How many more are open than are matched.
    deep: usize,
    /// One if the line is a batch.
    base: usize,
    /// Whether a byte order mark was skipped.
    marked: bool,
    /// Where a value stands that is no message, or another behind the first: no line of messages.
    stray: Option<Lost>,
    key: Vec<u8>,
    /// The member of the envelope that is open.
    member: Option<Field>,
    kept: Option<Followed<(Field, Vec<u8>)>>,
    long: Option<Followed<Part>>,
    seen: Seen,
    lost: Option<Lost>,
}

impl Default for Tap {
    fn default() -> Self {
        Self {
            next: Next::Value,
            escaped: false,
            before: 0,
            open: Vec::new(),
            deep: 0,
            base: 0,
            marked: false,
            stray: None,
            key: Vec::new(),
            member: None,
            kept: None,
            long: None,
            seen: Seen::default(),
            lost: None,
        }
    }
}

/// The chunk that is being read.
struct Chunk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// From where on the followed value has not been handed on.
    kept_from: usize,
    long_from: usize,
    watch: &'a mut dyn Watch,
}

impl Chunk<'_> {
    fn slice(&self, from: usize, to: usize) -> &[u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }
}

impl Tap {
    /// Reads the next bytes of the line, its end left out.
    pub fn push(&mut self, bytes: &[u8], watch: &mut dyn Watch) {
        let mut chunk = Chunk {
            bytes,
            at: 0,
            kept_from: 0,
            long_from: 0,
            watch,
        };
        while self.lost.is_none()
            && let Some(&byte) = bytes.get(chunk.at)
        {
            self.step(byte, &mut chunk);
        }
        let end = bytes.len();
        self.keep(chunk.slice(chunk.kept_from, end));
        if let Some(long) = &self.long {
            let rest = bytes.get(chunk.long_from..end).unwrap_or_default();
            chunk.watch.part(long.what, rest);
        }
        self.before += end;
    }

    /// Ends the line.
    pub fn finish(mut self) -> Result<(), Lost> {
        let blank = self.next == Next::Value && self.open.is_empty();
        if self.lost.is_none() && !blank && self.next != Next::Done {
            self.lose(0);
        }
        self.stray.or(self.lost).map_or(Ok(()), Err)
    }

    /// Tells whether the line is a batch.
    pub fn is_batch(&self) -> bool {
        self.base == 1
    }

    /// Tells whether a byte order mark stands before the message: some readers refuse it, others
    /// read what is behind it.
    pub fn is_marked(&self) -> bool {
        self.marked
    }

    /// Returns what was seen of the message that is being read.
    pub fn partial(&self) -> &Seen {
        &self.seen
    }

    fn lose(&mut self, at: usize) {
        self.lost = Some(Lost {
            at: self.before + at,
        });
    }

    fn stray(&mut self, at: usize) {
        let at = self.before + at;
        self.stray.get_or_insert(Lost { at });
    }

    fn step(&mut self, byte: u8, chunk: &mut Chunk<'_>) {
        match self.next {
            Next::InKey | Next::InText => return self.string(chunk),
            Next::InScalar => return self.scalar(chunk),
            Next::Deep => return self.deep(byte, chunk),
            _ if byte.is_ascii_whitespace() => {}
            // No message begins with one of its bytes.
            Next::Value if self.open.is_empty() && MARK.contains(&byte) => self.marked = true,
            Next::Value => return self.value(byte, chunk),
            Next::Key if byte == b'"' => {
                self.key.clear();
                self.next = Next::InKey;
            }
            Next::Colon if byte == b':' => self.next = Next::Value,
            Next::After if byte == b',' => {
                let object = self.open.last() == Some(&b'{');
                self.next = if object { Next::Key } else { Next::Value };
            }
            // Readers of streams take what follows at once for the next message.
            Next::Done if matches!(byte, b'{' | b'[') => {
                self.stray(chunk.at);
                return self.value(byte, chunk);
            }
            Next::Key | Next::After => return self.close(byte, chunk),
            Next::Colon | Next::Done => self.lose(chunk.at),
        }
        chunk.at += 1;
    }

    fn value(&mut self, byte: u8, chunk: &mut Chunk<'_>) {
        if byte == b']' && self.open.last() == Some(&b'[') {
            return self.close(byte, chunk);
        }
        if matches!(byte, b',' | b':' | b'}' | b']') {
            return self.lose(chunk.at);
        }
        if self.open.is_empty() && !matches!(byte, b'{' | b'[') {
            self.stray(chunk.at);
        }
        self.start(chunk);
        self.next = match byte {
            b'{' | b'[' => {
                if self.open.is_empty() {
                    self.base = usize::from(byte == b'[');
                }
                if self.open.len() >= DEPTH {
                    self.seen.doubtful = true;
                    self.next = Next::Deep;
                    return;
                }
                self.open.push(byte);
                if byte == b'{' { Next::Key } else { Next::Value }
            }
            b'"' => Next::InText,
            _ => Next::InScalar,
        };
        chunk.at += 1;
    }

    fn close(&mut self, byte: u8, chunk: &mut Chunk<'_>) {
        let opened = self.open.pop();
        if !matches!((opened, byte), (Some(b'{'), b'}') | (Some(b'['), b']')) {
            return self.lose(chunk.at);
        }
        chunk.at += 1;
        self.ended(chunk);
        if opened == Some(b'{') && self.open.len() == self.base {
            chunk.watch.message(std::mem::take(&mut self.seen));
        }
    }

    /// Looks for the end of what is nested deeper than brackets are matched.
    fn deep(&mut self, byte: u8, chunk: &mut Chunk<'_>) {
        chunk.at += 1;
        match byte {
            b'"' => self.next = Next::InText,
            b'{' | b'[' => self.deep += 1,
            b'}' | b']' => self.deep -= 1,
            _ => {}
        }
        if self.deep == 0 {
            self.ended(chunk);
        }
    }

    fn string(&mut self, chunk: &mut Chunk<'_>) {
        let rest = chunk.bytes.get(chunk.at..).unwrap_or_default();
        let run = if self.escaped {
            usize::from(!rest.is_empty())
        } else {
            memchr::memchr2(b'"', b'\\', rest).map_or(rest.len(), |found| found + 1)
        };
        let taken = rest.get(..run).unwrap_or_default();
        if self.next == Next::InKey && self.key.len() <= KEY {
            let room = KEY + 1 - self.key.len();
            self.key.extend(taken.iter().take(room));
        }
        chunk.at += run;
        match taken.last() {
            _ if self.escaped => self.escaped = false,
            Some(b'\\') => self.escaped = true,
            Some(b'"') if self.next == Next::InKey => self.next = Next::Colon,
            Some(b'"') => self.ended(chunk),
            _ => {}
        }
    }

    fn scalar(&mut self, chunk: &mut Chunk<'_>) {
        let rest = chunk.bytes.get(chunk.at..).unwrap_or_default();
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
        match rest.iter().position(ends) {
            Some(run) => {
                chunk.at += run;
                self.ended(chunk);
            }
            None => chunk.at = chunk.bytes.len(),
        }
    }

    /// Notes that a value starts where the chunk stands.
    fn start(&mut self, chunk: &mut Chunk<'_>) {
        let depth = self.open.len();
        let inside = self.open.last() == Some(&b'{');
        if !inside || !(self.base + 1..=self.base + 2).contains(&depth) {
            return;
        }
        let envelope = depth == self.base + 1;
        let field = self.field(envelope);
        if envelope {
            self.member = field;
        }
        let Some(field) = field else { return };
        self.note_twice(field);
        let start = self.before + chunk.at;
        match field {
            Field::Params => {}
            Field::Long(what) => {
                chunk.long_from = chunk.at;
                self.long = Some(Followed { what, depth, start });
            }
            field => {
                chunk.kept_from = chunk.at;
                let what = (field, Vec::new());
                self.kept = Some(Followed { what, depth, start });
            }
        }
    }

    /// Tells which of our fields the current key is; one that is only almost a field of ours makes
    /// the message doubtful, since readers who are lax about case take it for that.
    fn field(&mut self, envelope: bool) -> Option<Field> {
        let inner = self.key.strip_suffix(b"\"");
        let key = inner.unwrap_or(&self.key);
        let key = unescape(std::str::from_utf8(key).ok()?);
        self.seen.doubtful |= key.contains('\0');
        // One that is too long to be kept is none of ours.
        inner?;
        let field = self.named(envelope, &key);
        let alike = field.is_none() && self.named(envelope, &fold(&key)).is_some();
        self.seen.doubtful |= alike;
        field
    }

    fn named(&self, envelope: bool, key: &str) -> Option<Field> {
        match (envelope, self.member, key) {
            (true, _, "id") => Some(Field::Id),
            (true, _, "method") => Some(Field::Method),
            (true, _, "params") => Some(Field::Params),
            (true, _, "result") => Some(Field::Long(Part::Result)),
            (true, _, "error") => Some(Field::Long(Part::Error)),
            (false, Some(Field::Params), "name") => Some(Field::Name),
            (false, Some(Field::Params), "arguments") => Some(Field::Long(Part::Arguments)),
            (false, Some(Field::Params), "requestId") => Some(Field::RequestId),
            (false, Some(Field::Long(Part::Result)), "isError") => Some(Field::IsError),
            _ => None,
        }
    }

    fn note_twice(&mut self, field: Field) {
        let seen = &self.seen;
        self.seen.doubtful |= match field {
            Field::Id => seen.id.is_some(),
            Field::Method => seen.method.is_some(),
            Field::Name => seen.name.is_some(),
            Field::RequestId => seen.request_id.is_some(),
            Field::IsError => seen.is_error.is_some(),
            Field::Params => seen.name.is_some() || seen.arguments.is_some(),
            Field::Long(Part::Arguments) => seen.arguments.is_some(),
            Field::Long(Part::Result) => seen.result.is_some(),
            Field::Long(Part::Error) => seen.error.is_some(),
        };
    }

    fn keep(&mut self, bytes: &[u8]) {
        let Some(kept) = &mut self.kept else { return };
        let (_, value) = &mut kept.what;
        let room = SHORT.saturating_sub(value.len());
        self.seen.doubtful |= bytes.len() > room;
        value.extend(bytes.iter().take(room));
    }

    /// Notes that a value has ended before where the chunk stands.
    fn ended(&mut self, chunk: &mut Chunk<'_>) {
        let depth = self.open.len();
        self.next = match (depth, self.deep) {
            (_, 1..) => Next::Deep,
            (0, _) => Next::Done,
            _ => Next::After,
        };
        if self.kept.as_ref().is_some_and(|kept| kept.depth == depth) {
            self.keep(chunk.slice(chunk.kept_from, chunk.at));
            if let Some(Followed { what, .. }) = self.kept.take() {
                self.store(what);
            }
        }
        if let Some(long) = self.long.take_if(|long| long.depth == depth) {
            let rest = chunk.bytes.get(chunk.long_from..chunk.at);
            chunk.watch.part(long.what, rest.unwrap_or_default());
            let span = Some(long.start..self.before + chunk.at);
            match long.what {
                Part::Arguments => self.seen.arguments = span,
                Part::Result => self.seen.result = span,
                Part::Error => self.seen.error = span,
            }
        }
    }

    fn store(&mut self, (field, value): (Field, Vec<u8>)) {
        let named = matches!(field, Field::Method | Field::Name);
        self.seen.doubtful |= named && text(&value).is_some_and(|text| text.contains('\0'));
        let value = Some(value);
        match field {
            Field::Id => self.seen.id = value,
            Field::Method => self.seen.method = value,
            Field::Name => self.seen.name = value,
            Field::RequestId => self.seen.request_id = value,
            Field::IsError => self.seen.is_error = value,
            Field::Params | Field::Long(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
