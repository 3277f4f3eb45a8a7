//! What can be wrong with rules and settings. Text that is scanned never makes an error.

/// A rule or a setting that cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum DetectError {
    /// A pattern that is not a regular expression, or one that is too large.
    #[error("the pattern of `{rule}` cannot be used: {reason}")]
    Pattern {
        /// The rule that has it.
        rule: String,
        /// What the regular expression compiler said.
        reason: String,
    },
    /// A rule file that cannot be read.
    #[error("rule `{rule}` in {file}: {reason}")]
    Rule {
        /// The file of rules.
        file: String,
        /// The rule, or its number in the file.
        rule: String,
        /// What is wrong with it.
        reason: String,
    },
}
