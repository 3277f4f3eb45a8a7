//! Bytes to lines, none of them longer than it may be.

/// The longest line that is judged, in bytes; of a longer one only the head is kept.
pub(super) const LONGEST: usize = 16 << 20;
/// What is kept of a line that is too long: enough to find its id.
const HEAD: usize = 4096;

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// The head of one that is too long.
    Long(Vec<u8>),
}

impl Line {
    /// Returns what is known of it.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) | Self::Long(bytes) => bytes,
        }
    }
}

/// The line that has begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    long: bool,
}

impl Lines {
    /// Takes bytes and returns the lines that end in them.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut ended = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(piece) => {
                    self.grow(piece);
                    ended.extend(self.end());
                }
                None => self.grow(piece),
            }
        }
        ended
    }

    /// Returns the last line, which no line end closes.
    pub(super) fn rest(&mut self) -> Vec<Line> {
        self.end().into_iter().collect()
    }

    fn grow(&mut self, piece: &[u8]) {
        if self.long {
            return;
        }
        if self.begun.len() + piece.len() <= LONGEST {
            self.begun.extend_from_slice(piece);
            return;
        }
        self.long = true;
        self.begun.extend(piece.iter().take(HEAD));
        self.begun.truncate(HEAD);
        self.begun.shrink_to_fit();
    }

    /// Ends the line; an empty one is nothing.
    fn end(&mut self) -> Option<Line> {
        let bytes = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.long) {
            return Some(Line::Long(bytes));
        }
        let blank = bytes.iter().all(u8::is_ascii_whitespace);
        (!blank).then_some(Line::Whole(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_the_bytes_come() {
        let text = b"one\n\n  \r\ntwo\nlast";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut all = Vec::new();
            for bytes in text.chunks(size) {
                all.extend(lines.take(bytes));
            }
            all.extend(lines.rest());
            let expect = ["one", "two", "last"].map(|line| Line::Whole(line.into()));
            assert_eq!(all, expect, "{size}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; LONGEST / 2 + 1];
        assert_eq!(lines.take(&piece), []);
        assert_eq!(lines.take(&piece), []);
        let ended = lines.take(b"y\nnext\n");
        assert_eq!(
            ended,
            [Line::Long(vec![b'x'; HEAD]), Line::Whole(b"next".into())]
        );
        assert_eq!(lines.rest(), []);
    }
}
