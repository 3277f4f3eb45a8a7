//! Cuts a stream into lines without ever holding a long one: past a limit its parts are handed on
//! as they come. A line ends at `\n` and nowhere else; the end belongs to the line.

/// A piece of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A whole line with its end, or the last one without.
    Line(&'a [u8]),
    /// Part of a long line.
    Part(&'a [u8]),
    /// The last part of a long line.
    End(&'a [u8]),
}

/// Cuts a stream into lines.
#[derive(Debug)]
pub(super) struct Lines {
    held: Vec<u8>,
    long: bool,
    limit: usize,
}

impl Lines {
    /// Holds lines of up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            held: Vec::new(),
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
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at_checked(end + 1).unwrap_or((rest, &[]));
            rest = after;
            if self.long {
                self.long = false;
                each(Piece::End(line))?;
            } else if self.held.is_empty() {
                each(Piece::Line(line))?;
            } else {
                self.held.extend_from_slice(line);
                each(Piece::Line(&self.held))?;
                self.release();
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        if !self.long && self.held.len() + rest.len() <= self.limit {
            self.held.extend_from_slice(rest);
            return Ok(());
        }
        self.long = true;
        if !self.held.is_empty() {
            each(Piece::Part(&self.held))?;
            self.release();
        }
        each(Piece::Part(rest))
    }

    /// Hands on a last line that has no end.
    pub(super) fn finish<E>(
        mut self,
        mut each: impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.long) {
            return each(Piece::End(b""));
        }
        if self.held.is_empty() {
            return Ok(());
        }
        each(Piece::Line(&self.held))
    }

    /// Forgets what was held; room for a large line is given back.
    fn release(&mut self) {
        self.held.clear();
        self.held.shrink_to(64 << 10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_up_to_the_limit() {
        let check = |chunks: &[&str], expect: &[&str]| {
            let mut found = Vec::new();
            let mut lines = Lines::new(4);
            let mut each = |piece: Piece<'_>| -> Result<(), ()> {
                let (kind, bytes) = match piece {
                    Piece::Line(bytes) => ('L', bytes),
                    Piece::Part(bytes) => ('P', bytes),
                    Piece::End(bytes) => ('E', bytes),
                };
                found.push(format!("{kind}{}", String::from_utf8_lossy(bytes)));
                Ok(())
            };
            for chunk in chunks {
                lines.push(chunk.as_bytes(), &mut each).unwrap();
            }
            lines.finish(&mut each).unwrap();
            assert_eq!(found, expect, "{chunks:?}");
        };
        check(&["a\n"], &["La\n"]);
        check(&["a\nb\n", "c\n"], &["La\n", "Lb\n", "Lc\n"]);
        check(&["a", "b", "\nc"], &["Lab\n", "Lc"]);
        check(&["abc", "def", "g\nh\n"], &["Pabc", "Pdef", "Eg\n", "Lh\n"]);
        check(&["abcdefgh"], &["Pabcdefgh", "E"]);
        check(&["abcdefgh\n"], &["Labcdefgh\n"]);
        check(&["a\u{2028}b\r\n"], &["La\u{2028}b\r\n"]);
        check(&["\n\n"], &["L\n", "L\n"]);
        check(&[""], &[]);
    }
}
