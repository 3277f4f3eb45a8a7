//! A file that is scanned: its text, what it says, and lines and columns of its parts.

use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use mcpproxy_agents::Document;

use crate::exit::bad_input;

/// More than any tool list or configuration has.
const MOST: u64 = 64 << 20;

/// A file and what it says.
pub(super) struct Source {
    /// The file, as it was named.
    pub(super) name: String,
    pub(super) document: Document,
    text: String,
}

/// A part of a file: lines and columns from one, columns in characters, the end not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Region {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) end_line: usize,
    pub(super) end_column: usize,
}

impl Source {
    /// Reads a file.
    pub(super) fn read(name: &str) -> Result<Self> {
        let wrong = |why: &str| bad_input(format!("`{name}` cannot be scanned: {why}"), None);
        let path = Path::new(name);
        let about = std::fs::metadata(path).map_err(|fault| wrong(&fault.to_string()))?;
        if !about.is_file() {
            return Err(wrong("it is not a file"));
        }
        if about.len() > MOST {
            return Err(wrong(&format!("it is larger than {} MB", MOST >> 20)));
        }
        let text = std::fs::read_to_string(path).map_err(|fault| wrong(&fault.to_string()))?;
        let document = Document::parse(path, &text).map_err(|fault| wrong(&fault.to_string()))?;
        Ok(Self {
            name: name.to_owned(),
            document,
            text,
        })
    }

    /// Returns where the part at a path stands, or else what is around it.
    pub(super) fn region(&self, path: &str) -> Option<Region> {
        let mut path = path;
        loop {
            if let Some(span) = self.document.place(path) {
                return Some(region(&self.text, &span));
            }
            path = path.rfind(['.', '[']).and_then(|at| path.get(..at))?;
        }
    }
}

fn region(text: &str, span: &Range<usize>) -> Region {
    let (line, column) = position(text, span.start);
    let (end_line, end_column) = position(text, span.end);
    Region {
        line,
        column,
        end_line,
        end_column,
    }
}

fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, last.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_in_characters() {
        let check = |text: &str, span: Range<usize>, expect: [usize; 4]| {
            let Region {
                line,
                column,
                end_line,
                end_column,
            } = region(text, &span);
            assert_eq!([line, column, end_line, end_column], expect, "{text:?}");
        };
        check("ab", 0..2, [1, 1, 1, 3]);
        check("a\nbc\n", 3..5, [2, 2, 3, 1]);
        check("é\né=x", 6..7, [2, 3, 2, 4]);
    }
}
