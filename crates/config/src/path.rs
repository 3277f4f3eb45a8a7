//! Where a value stands in the configuration: `mcpServers.github.args[2]`.

use std::fmt;

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Into a map.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// The steps from the root to a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(Vec<Segment>);

impl Path {
    /// Makes a path through maps.
    pub(crate) fn of<const N: usize>(keys: [&str; N]) -> Self {
        Self(
            keys.iter()
                .map(|key| Segment::Key((*key).to_owned()))
                .collect(),
        )
    }

    /// Returns the path of the value under `key`.
    pub(crate) fn key(&self, key: &str) -> Self {
        self.join([Segment::Key(key.to_owned())])
    }

    /// Returns the path of the item at `index`.
    pub(crate) fn index(&self, index: usize) -> Self {
        self.join([Segment::Index(index)])
    }

    /// Returns the path that goes on with `segments`.
    pub(crate) fn join(&self, segments: impl IntoIterator<Item = Segment>) -> Self {
        Self(self.0.iter().cloned().chain(segments).collect())
    }

    /// Tells whether this path is `other` or leads to it.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.0
    }
}

impl From<Vec<Segment>> for Path {
    fn from(segments: Vec<Segment>) -> Self {
        Self(segments)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match segment {
                Segment::Key(key) if is_plain(key) => write!(f, "{dot}{key}")?,
                Segment::Key(key) => write!(f, "{dot}{key:?}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A key that could be taken for several steps is quoted.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.contains(|c: char| matches!(c, '.' | '[' | '"') || c.is_whitespace())
}
