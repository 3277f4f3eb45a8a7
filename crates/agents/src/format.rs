//! The three file formats behind one door: read, and change with proof.
//!
//! A change is returned only when the new text, read again, means exactly the old text with the
//! edit made to it. What an edit is about is not known here.

use crate::tree::{Edit, Node, Syntax};
use crate::{jsonc, toml, yaml};

/// How an agent writes its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, read with comments and trailing commas.
    Jsonc,
    Toml,
    Yaml,
}

impl Format {
    /// Parses a text.
    pub(crate) fn parse(self, text: &str) -> Result<Node, Syntax> {
        match self {
            Self::Jsonc => jsonc::parse(text),
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
        }
    }

    /// Returns the text after an edit, or why it cannot be made.
    pub(crate) fn edit(self, text: &str, edit: &Edit) -> Result<String, String> {
        let before = self.parse(text).map_err(|syntax| syntax.message)?;
        let after = match self {
            Self::Jsonc => jsonc::edit::apply(text, &before, edit)?,
            Self::Toml => toml::apply(text, edit)?,
            Self::Yaml => yaml::edit::apply(text, &before, edit)?,
        };
        // INVARIANT: no text leaves here that says anything but what the edit asked for.
        match self.parse(&after) {
            Ok(root) if root.same(&before.after(edit)) => Ok(after),
            _ => Err("it is written in a way that cannot be changed safely".to_owned()),
        }
    }
}
