//! A string as far as it is known, and where its contents come from.

/// What an unresolved substitution is replaced by in a text.
pub(super) const HOLE: &str = "$()";

/// How long a known text may grow; past that it becomes unknown.
const MAX_TEXT: usize = 128 * 1024;

/// A set of origins, by their number in the analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taint(u128);

impl Taint {
    /// How many origins can be told apart.
    pub(super) const CAPACITY: usize = 128;

    pub(super) fn of(index: usize) -> Self {
        let shift = u32::try_from(index).unwrap_or(u32::MAX);
        Self(1_u128.checked_shl(shift).unwrap_or(1 << 127))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        (0..Self::CAPACITY).filter(move |&index| self.meets(Self::of(index)))
    }
}

/// A word, the contents of a file, or what runs through a pipe.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) text: String,
    /// Whether `text` is all of it.
    pub(super) known: bool,
    pub(super) taint: Taint,
}

impl Default for Value {
    fn default() -> Self {
        Self::text("")
    }
}

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            known: true,
            taint: Taint::default(),
        }
    }

    pub(super) fn unknown(text: impl Into<String>, taint: Taint) -> Self {
        Self {
            text: text.into(),
            known: false,
            taint,
        }
    }

    /// Appends another value; what grows past the bound is no longer known.
    pub(super) fn push(&mut self, other: &Self) {
        self.taint.join(other.taint);
        self.known &= other.known;
        if self.text.len() + other.text.len() <= MAX_TEXT {
            self.text.push_str(&other.text);
        } else {
            self.known = false;
        }
    }

    /// Gives the text if all of it is known.
    pub(super) fn exact(&self) -> Option<&str> {
        self.known.then_some(self.text.as_str())
    }

    /// Makes a value of another text that comes from the same places.
    pub(super) fn derive(&self, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            known: self.known,
            taint: self.taint,
        }
    }
}
