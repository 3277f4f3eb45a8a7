//! The text of one file and the way from an offset in it to line and column.

use std::path::PathBuf;

use crate::origin::{Origin, Position};

/// One text with its name and its lines.
pub(crate) struct Source {
    path: PathBuf,
    text: String,
    /// Offset at which each line starts.
    lines: Vec<usize>,
}

impl Source {
    pub(crate) fn new(path: PathBuf, text: String) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Self { path, text, lines }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Tells by the name whether the text is JSON rather than YAML.
    pub(crate) fn is_json(&self) -> bool {
        self.path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
    }

    /// Returns line and column, both from 1, columns in characters.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line
            .checked_sub(1)
            .and_then(|at| self.lines.get(at))
            .copied()
            .unwrap_or(0);
        let column = self
            .text
            .get(start..offset)
            .map_or(0, |before| before.chars().count())
            + 1;
        Position { line, column }
    }

    /// Returns the origin of a value that stands at `offset`.
    pub(crate) fn origin(&self, offset: usize) -> Origin {
        Origin::File {
            path: self.path.clone(),
            position: Some(self.position(offset)),
        }
    }
}

/// All texts of one load; a node names its text by number.
#[derive(Default)]
pub(crate) struct Texts(Vec<Source>);

impl Texts {
    /// Adds a text and returns its number.
    pub(crate) fn add(&mut self, source: Source) -> usize {
        self.0.push(source);
        self.0.len() - 1
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Source> {
        self.0.get(number)
    }
}
