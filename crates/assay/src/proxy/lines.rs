//! Cuts a stream into messages without ever holding a long one: past a limit its parts are handed
//! on as they come.
//!
//! A message is a line, which ends at `\n` and nowhere else, and the end belongs to it. Peers that
//! put `Content-Length` before each message are understood too; the head belongs to the message.
//! A head has no other lines than those of lengths and types, so that no message hides in it.

/// A piece of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A whole message.
    Whole(Framed<'a>),
    /// Part of a long message.
    Part(Framed<'a>),
    /// The last part of a long message.
    End(Framed<'a>),
}

/// Bytes of a message, with what precedes its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Framed<'a> {
    /// The bytes as they came.
    pub(super) bytes: &'a [u8],
    /// How many of them are a head.
    pub(super) head: usize,
}

impl<'a> Framed<'a> {
    /// Returns the message itself, with its line end if it has one.
    pub(super) fn text(self) -> &'a [u8] {
        self.bytes.get(self.head..).unwrap_or_default()
    }
}

/// Longest head of a message.
const HEAD: usize = 4096;

/// What the stream is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Line,
    /// A head, whose message has so many bytes.
    Head(usize),
    /// A message behind a head, of which so many bytes are to come.
    Body(usize),
}

/// Cuts a stream into messages.
#[derive(Debug)]
pub(super) struct Lines {
    held: Vec<u8>,
    inside: Inside,
    /// How many of the held bytes are a head.
    head: usize,
    long: bool,
    limit: usize,
}

impl Lines {
    /// Holds messages of up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            held: Vec::new(),
            inside: Inside::Line,
            head: 0,
            long: false,
            limit,
        }
    }

    /// Takes the next bytes and hands on what they complete.
    pub(super) fn push<E>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (count, ends) = match self.inside {
                Inside::Line | Inside::Head(_) => match memchr::memchr(b'\n', rest) {
                    Some(at) => (at + 1, true),
                    None => (rest.len(), false),
                },
                Inside::Body(left) => (left.min(rest.len()), left <= rest.len()),
            };
            let (now, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            rest = after;
            let inside = self.inside;
            match inside {
                Inside::Head(length) => self.head(now, ends, length, &mut each)?,
                Inside::Line if ends && !self.long && self.starts_head(now) => {}
                Inside::Line => self.take(now, ends, &mut each)?,
                Inside::Body(left) => {
                    self.inside = if ends {
                        Inside::Line
                    } else {
                        Inside::Body(left - count)
                    };
                    self.take(now, ends, &mut each)?;
                }
            }
        }
        Ok(())
    }

    /// Begins a head if a line is one.
    fn starts_head(&mut self, now: &[u8]) -> bool {
        let short = self.held.len() + now.len() <= 64;
        let line = [self.held.as_slice(), now].concat();
        let Some(length) = content_length(&line).filter(|_| short) else {
            return false;
        };
        self.held = line;
        self.inside = Inside::Head(length);
        true
    }

    /// Takes a line of a head: a blank one ends it, and what is no header was never part of it.
    fn head<E>(
        &mut self,
        now: &[u8],
        ends: bool,
        length: usize,
        each: &mut impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.held.extend_from_slice(now);
        let front = self.held.strip_suffix(b"\n").unwrap_or(&self.held);
        let front = if ends { front } else { &self.held };
        let at = memchr::memrchr(b'\n', front).map_or(0, |at| at + 1);
        let line = self.held.get(at..).unwrap_or_default();
        let blank = ends && matches!(line, b"\n" | b"\r\n");
        if blank && length > 0 {
            self.head = self.held.len();
            self.inside = Inside::Body(length);
        } else if blank {
            self.inside = Inside::Line;
            self.take(b"", true, each)?;
        } else if (ends && !is_content_type(line)) || self.held.len() > HEAD {
            let line = self.held.split_off(at);
            self.inside = Inside::Line;
            self.whole(each)?;
            if !(ends && self.starts_head(&line)) {
                self.take(&line, ends, each)?;
            }
        }
        Ok(())
    }

    fn take<E>(
        &mut self,
        now: &[u8],
        ends: bool,
        each: &mut impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let bare = |bytes| Framed { bytes, head: 0 };
        if self.long {
            self.long = !ends;
            return each(if ends {
                Piece::End(bare(now))
            } else {
                Piece::Part(bare(now))
            });
        }
        if ends && self.held.is_empty() {
            return each(Piece::Whole(bare(now)));
        }
        // What ends here is at most a chunk beyond the limit.
        if ends || self.held.len() + now.len() <= self.limit {
            self.held.extend_from_slice(now);
            return if ends { self.whole(each) } else { Ok(()) };
        }
        self.long = true;
        if !self.held.is_empty() {
            let (bytes, head) = (self.held.as_slice(), self.head);
            each(Piece::Part(Framed { bytes, head }))?;
            self.release();
        }
        each(Piece::Part(bare(now)))
    }

    fn whole<E>(&mut self, each: &mut impl FnMut(Piece<'_>) -> Result<(), E>) -> Result<(), E> {
        let (bytes, head) = (self.held.as_slice(), self.head);
        each(Piece::Whole(Framed { bytes, head }))?;
        self.release();
        Ok(())
    }

    /// Hands on a last message that has no end.
    pub(super) fn finish<E>(
        mut self,
        mut each: impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.long) {
            return each(Piece::End(Framed {
                bytes: b"",
                head: 0,
            }));
        }
        if self.held.is_empty() {
            return Ok(());
        }
        self.whole(&mut each)
    }

    /// Forgets what was held; room for a large message is given back.
    fn release(&mut self) {
        self.head = 0;
        self.held.clear();
        self.held.shrink_to(64 << 10);
    }
}

/// Reads the header that begins a head.
fn content_length(line: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let (name, value) = line.split_at_checked(NAME.len())?;
    let value = std::str::from_utf8(value.trim_ascii()).ok()?;
    name.eq_ignore_ascii_case(NAME)
        .then(|| value.parse().ok())?
}

/// Tells whether a line is the other header that a head may have.
fn is_content_type(line: &[u8]) -> bool {
    const NAME: &[u8] = b"content-type:";
    let line = line.trim_ascii_end();
    let name = line.get(..NAME.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(NAME)) && !line.contains(&b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chunks: &[&str], expect: &[&str]) {
        let mut found = Vec::new();
        let mut lines = Lines::new(40);
        let mut each = |piece: Piece<'_>| -> Result<(), ()> {
            let (kind, framed) = match piece {
                Piece::Whole(framed) => ('W', framed),
                Piece::Part(framed) => ('P', framed),
                Piece::End(framed) => ('E', framed),
            };
            let head = if framed.head > 0 { "+" } else { "" };
            found.push(format!(
                "{kind}{head}{}",
                String::from_utf8_lossy(framed.text())
            ));
            Ok(())
        };
        for chunk in chunks {
            lines.push(chunk.as_bytes(), &mut each).unwrap();
        }
        lines.finish(&mut each).unwrap();
        assert_eq!(found, expect, "{chunks:?}");
    }

    #[test]
    fn lines_are_whole_up_to_the_limit() {
        let long = "x".repeat(50);
        check(&["a\n"], &["Wa\n"]);
        check(&["a\nb\n", "c\n"], &["Wa\n", "Wb\n", "Wc\n"]);
        check(&["a", "b", "\nc"], &["Wab\n", "Wc"]);
        check(
            &["abc", &long, "g\nh\n"],
            &["Pabc", &format!("P{long}"), "Eg\n", "Wh\n"],
        );
        check(&[&long], &[&format!("P{long}"), "E"]);
        check(&[&format!("{long}\n")], &[&format!("W{long}\n")]);
        check(&["a\u{2028}b\r\n"], &["Wa\u{2028}b\r\n"]);
        check(&["\n\n"], &["W\n", "W\n"]);
        check(&[""], &[]);
    }

    #[test]
    fn messages_behind_a_head_are_whole_too() {
        let two = "Content-Length: 2\r\n\r\n{}content-length:4\r\nContent-Type: y\r\n\r\n[\n1]{}\n";
        check(&[two], &["W+{}", "W+[\n1]", "W{}\n"]);
        let cut: Vec<String> = two.chars().map(String::from).collect();
        let cut: Vec<&str> = cut.iter().map(String::as_str).collect();
        check(&cut, &["W+{}", "W+[\n1]", "W{}\n"]);
        check(
            &["Content-Length: 0\r\n\r\na\n"],
            &["WContent-Length: 0\r\n\r\n", "Wa\n"],
        );
        check(&["Content-Length: x\r\n"], &["WContent-Length: x\r\n"]);
        check(&["Content-Length: 5\r\n\r\nab"], &["W+ab"]);
        let long = "x".repeat(30);
        check(
            &["Content-Length: 61\r\n\r\n", &long, &long, "z{}\n"],
            &[
                "P+",
                &format!("P{long}"),
                &format!("P{long}"),
                "Ez",
                "W{}\n",
            ],
        );
    }

    #[test]
    fn nothing_hides_in_a_head() {
        let head = "Content-Length: 2\r\n";
        check(
            &[&format!("{head}{{a}}\r\n\r\n{{}}\n")],
            &["WContent-Length: 2\r\n", "W{a}\r\n", "W\r\n", "W{}\n"],
        );
        check(
            &[head, "Content-Type: \r{a}\r\n", "b\n"],
            &["WContent-Length: 2\r\n", "WContent-Type: \r{a}\r\n", "Wb\n"],
        );
        // Which of two lengths counts is for the reader to choose, so the first is none.
        check(
            &["Content-Length: 4\r\n", head, "\r\n{}a\n"],
            &["WContent-Length: 4\r\n", "W+{}", "Wa\n"],
        );
        let long = "x".repeat(HEAD + 1);
        check(
            &[head, &long, "y\n", "z\n"],
            &[
                "WContent-Length: 2\r\n",
                &format!("P{long}"),
                "Ey\n",
                "Wz\n",
            ],
        );
    }
}
