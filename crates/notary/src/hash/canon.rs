//! Canonical JSON from raw text that arrives in chunks, without a tree of values.
//!
//! A member of an object waits in a rope of its own until the object closes, since canonical
//! order is by key. Long strings go to a file, so that memory does not grow with them. What is
//! not strict JSON is a [`Fault`]: the caller hashes the raw bytes then and says so.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use mcpproxy_text::unescape;

use super::number::{self, Numbers};
use super::rope::Rope;
use super::string::Text;
use crate::spill::Spill;

/// The bounds of a value. Past them it is not canonicalized.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep arrays and objects may nest.
    pub depth: usize,
    /// How many bytes may wait in memory: keys, members, and all of it where nothing can spill.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 128,
            memory: 8 << 20,
        }
    }
}

/// Why a value has no canonical form here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not strict JSON.
    #[error("the value is not strict JSON: {0}")]
    Syntax(&'static str),
    /// An object has one key twice.
    #[error("the value has a duplicate key")]
    DuplicateKey,
    /// A number is beyond a double.
    #[error("the value has a number beyond the range of a double")]
    Number,
    /// It nests too deep.
    #[error("the value is nested too deep")]
    Depth,
    /// It has too many members to be sorted in bounded memory.
    #[error("the value has more members than can be sorted in bounded memory")]
    Memory,
    /// The file for long strings failed.
    #[error("a long value cannot be set aside: {0}")]
    Spill(String),
}

/// What an open array or object takes in memory, beside its text.
const FRAME: usize = 128;
/// What a member takes that waits for its object to close.
const MEMBER: usize = 128;

/// An open array or object.
#[derive(Debug)]
enum Frame {
    Array(Rope),
    Object {
        members: Vec<(String, Rope)>,
        key: String,
        value: Rope,
    },
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of an array that has just been opened.
    ValueOrEnd,
    Key,
    /// A key, or the end of an object that has just been opened.
    KeyOrEnd,
    Colon,
    /// A comma or an end.
    After,
    InString,
    InKey,
    InNumber,
    InWord,
    Done,
}

/// Takes raw JSON in chunks and keeps it in canonical form.
#[derive(Debug)]
pub struct Canon {
    numbers: Numbers,
    limits: Limits,
    folder: Option<PathBuf>,
    spill: Option<Spill>,
    frames: Vec<Frame>,
    root: Rope,
    next: Next,
    text: Text,
    token: String,
    held: usize,
}

impl Canon {
    /// Makes one that keeps long strings in a nameless file in `folder`, if there is one.
    pub fn new(numbers: Numbers, limits: Limits, folder: Option<&Path>) -> Self {
        Self {
            numbers,
            limits,
            folder: folder.map(Path::to_owned),
            spill: None,
            frames: Vec::new(),
            root: Rope::default(),
            next: Next::Value,
            text: Text::default(),
            token: String::new(),
            held: 0,
        }
    }

    /// Takes the next bytes of the text.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.next {
                Next::InString | Next::InKey => self.string(rest)?,
                Next::InNumber | Next::InWord => self.word(rest)?,
                _ => self.mark(rest)?,
            };
        }
        Ok(())
    }

    /// Hands the canonical bytes to `sink` once the text is complete.
    pub fn finish(mut self, sink: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
        if matches!(self.next, Next::InNumber | Next::InWord) {
            self.end_word()?;
        }
        if self.next != Next::Done {
            return Err(Fault::Syntax("the text ends early"));
        }
        let read = self.root.read(self.spill.as_mut(), sink);
        read.map_err(|fault| Fault::Spill(fault.to_string()))
    }

    /// Handles one byte outside of strings and words.
    fn mark<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Fault> {
        let Some((&byte, rest)) = bytes.split_first() else {
            return Ok(bytes);
        };
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(rest);
        }
        match (self.next, byte) {
            (Next::KeyOrEnd, b'}') | (Next::ValueOrEnd, b']') | (Next::After, b'}' | b']') => {
                self.close(byte)?;
            }
            (Next::Key | Next::KeyOrEnd, b'"') => self.next = Next::InKey,
            (Next::Colon, b':') => self.next = Next::Value,
            (Next::After, b',') => self.comma()?,
            (Next::Value | Next::ValueOrEnd, _) => return self.value(byte, bytes, rest),
            _ => return Err(Fault::Syntax("a mark out of place")),
        }
        Ok(rest)
    }

    fn value<'a>(&mut self, byte: u8, all: &'a [u8], rest: &'a [u8]) -> Result<&'a [u8], Fault> {
        match byte {
            b'{' => {
                let (members, key, value) = (Vec::new(), String::new(), Rope::default());
                self.open(
                    Frame::Object {
                        members,
                        key,
                        value,
                    },
                    Next::KeyOrEnd,
                )?;
            }
            b'[' => {
                let mut rope = Rope::default();
                rope.push(b"[");
                self.open(Frame::Array(rope), Next::ValueOrEnd)?;
            }
            b'"' => {
                self.emit(b"\"")?;
                self.next = Next::InString;
            }
            b'-' | b'0'..=b'9' => {
                self.next = Next::InNumber;
                return Ok(all);
            }
            b't' | b'f' | b'n' => {
                self.next = Next::InWord;
                return Ok(all);
            }
            _ => return Err(Fault::Syntax("a value is missing")),
        }
        Ok(rest)
    }

    fn open(&mut self, frame: Frame, next: Next) -> Result<(), Fault> {
        if self.frames.len() >= self.limits.depth {
            return Err(Fault::Depth);
        }
        self.hold(FRAME + 1)?;
        self.frames.push(frame);
        self.next = next;
        Ok(())
    }

    fn comma(&mut self) -> Result<(), Fault> {
        match self.frames.last() {
            Some(Frame::Array(_)) => {
                self.emit(b",")?;
                self.next = Next::Value;
            }
            Some(Frame::Object { .. }) => self.next = Next::Key,
            None => return Err(Fault::Syntax("a mark out of place")),
        }
        Ok(())
    }

    fn close(&mut self, byte: u8) -> Result<(), Fault> {
        let rope = match (self.frames.pop(), byte) {
            (Some(Frame::Array(mut rope)), b']') => {
                rope.push(b"]");
                self.held += 1;
                rope
            }
            (Some(Frame::Object { members, .. }), b'}') => {
                // Members become their marks: two quotes, a colon, and a comma or the end.
                self.held = self.held.saturating_sub(members.len() * (MEMBER - 4));
                sorted(members)?
            }
            _ => return Err(Fault::Syntax("an end without a beginning")),
        };
        self.held = self.held.saturating_sub(FRAME);
        self.current().append(rope);
        self.ended()
    }

    /// Files the value that has just ended and says what may follow.
    fn ended(&mut self) -> Result<(), Fault> {
        self.settle()?;
        if let Some(Frame::Object {
            members,
            key,
            value,
        }) = self.frames.last_mut()
        {
            let member = (std::mem::take(key), std::mem::take(value));
            members.push(member);
            self.hold(MEMBER)?;
        }
        self.next = if self.frames.is_empty() {
            Next::Done
        } else {
            Next::After
        };
        Ok(())
    }

    fn string<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Fault> {
        let key = self.next == Next::InKey;
        let mut out = Vec::new();
        let rest = self.text.take(bytes, &mut out)?;
        if key {
            // INVARIANT: `take` checked the UTF-8, and never cuts a character.
            self.token
                .push_str(std::str::from_utf8(&out).unwrap_or_default());
            self.hold(out.len())?;
        } else {
            self.emit(&out)?;
        }
        let Some(rest) = rest else {
            return Ok(&[]);
        };
        if key {
            let token = std::mem::take(&mut self.token);
            if let Some(Frame::Object { key, .. }) = self.frames.last_mut() {
                *key = token;
            }
            self.next = Next::Colon;
        } else {
            self.emit(b"\"")?;
            self.ended()?;
        }
        Ok(rest)
    }

    /// Collects a number, `true`, `false` or `null`.
    fn word<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Fault> {
        let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = bytes
            .iter()
            .position(|byte| !inside(byte))
            .unwrap_or(bytes.len());
        let (part, rest) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
        self.token
            .push_str(std::str::from_utf8(part).unwrap_or_default());
        if self.token.len() > 4096 {
            return Err(Fault::Memory);
        }
        if !rest.is_empty() {
            self.end_word()?;
        }
        Ok(rest)
    }

    fn end_word(&mut self) -> Result<(), Fault> {
        let token = std::mem::take(&mut self.token);
        if self.next == Next::InNumber {
            mcpproxy_text::check(token.as_bytes(), mcpproxy_text::Limits::default())
                .map_err(|_| Fault::Syntax("a number is misspelled"))?;
            let number = number::canonical(&token, self.numbers).ok_or(Fault::Number)?;
            self.emit(number.as_bytes())?;
        } else if matches!(token.as_str(), "true" | "false" | "null") {
            self.emit(token.as_bytes())?;
        } else {
            return Err(Fault::Syntax("an unknown word"));
        }
        self.ended()
    }

    fn current(&mut self) -> &mut Rope {
        match self.frames.last_mut() {
            Some(Frame::Array(rope) | Frame::Object { value: rope, .. }) => rope,
            None => &mut self.root,
        }
    }

    fn emit(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.current().push(bytes);
        self.held += bytes.len();
        self.settle()
    }

    fn hold(&mut self, bytes: usize) -> Result<(), Fault> {
        self.held += bytes;
        if self.held > self.limits.memory {
            return Err(Fault::Memory);
        }
        Ok(())
    }

    /// Moves a long tail to the file, and refuses what stays in memory past the bound.
    fn settle(&mut self) -> Result<(), Fault> {
        if self.current().is_long()
            && let Some(folder) = &self.folder
        {
            let failed = |fault: std::io::Error| Fault::Spill(fault.to_string());
            let mut spill = match self.spill.take() {
                Some(spill) => spill,
                None => Spill::create(folder).map_err(failed)?,
            };
            let moved = self.current().spill(&mut spill).map_err(failed);
            self.spill = Some(spill);
            self.held = self.held.saturating_sub(moved?);
        }
        self.hold(0)
    }
}

/// Joins the members of an object in the order of their keys' UTF-16 units.
fn sorted(mut members: Vec<(String, Rope)>) -> Result<Rope, Fault> {
    members.sort_by(|(one, _), (other, _)| by_units(one, other));
    let twins = members
        .windows(2)
        .any(|pair| matches!(pair, [(one, _), (other, _)] if one == other));
    if twins {
        return Err(Fault::DuplicateKey);
    }
    let mut rope = Rope::default();
    let mut before: &[u8] = b"{\"";
    for (key, value) in members {
        rope.push(before);
        rope.push(key.as_bytes());
        rope.push(b"\":");
        rope.append(value);
        before = b",\"";
    }
    rope.push(if before == b"{\"" { b"{}" } else { b"}" });
    Ok(rope)
}

fn by_units(one: &str, other: &str) -> Ordering {
    let plain = |key: &str| key.is_ascii() && memchr::memchr(b'\\', key.as_bytes()).is_none();
    if plain(one) && plain(other) {
        return one.cmp(other);
    }
    let (one, other) = (unescape(one), unescape(other));
    one.encode_utf16().cmp(other.encode_utf16())
}
