//! Why policies cannot be used.

/// Why policies cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The text is not Cedar.
    #[error("`{source_name}` line {line} column {column}: {why}")]
    Syntax {
        /// Where the text is from.
        source_name: String,
        /// The line, from 1.
        line: usize,
        /// The character in its line, from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// There was no reading it.
    #[error("`{source_name}`: {why}")]
    Unread {
        /// Where the text is from.
        source_name: String,
        /// Why not.
        why: String,
    },
    /// Two policies have the same name, so that a decision would not say which one it is of.
    #[error("`{source_name}`: two policies have the name `{name}`")]
    SameName {
        /// Where the text is from.
        source_name: String,
        /// The name.
        name: String,
    },
    /// A template, which nothing links.
    #[error("`{source_name}`: policy `{name}` is a template, and nothing fills it in")]
    Template {
        /// Where the text is from.
        source_name: String,
        /// The name.
        name: String,
    },
    /// A policy names what no question has, so that it would never apply.
    #[error("`{source_name}`: policy `{name}` would never apply: it {why}")]
    NeverApplies {
        /// Where the text is from.
        source_name: String,
        /// The policy.
        name: String,
        /// What it names.
        why: String,
    },
}
