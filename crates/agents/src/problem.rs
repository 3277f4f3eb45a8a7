//! What the user should know about a file, in a form that can be shown.

use std::fmt;

use crate::shown::printable;

/// Something about a file that the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The file cannot be read; it is left alone.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// The file cannot be parsed; it is left alone.
    Syntax {
        /// The line, from one.
        line: usize,
        /// The column in characters, from one.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// The file is not laid out as the agent would; it is left alone.
    Shape {
        /// How.
        reason: String,
    },
    /// An entry cannot be imported and stays in the file.
    Left {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// Another setting of the file keeps mcpproxy from being used.
    Obstacle {
        /// Which.
        reason: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Unreadable { reason } => format!("cannot be read: {reason}"),
            Self::Syntax {
                line,
                column,
                message,
            } => {
                format!("line {line}, column {column}: {message}")
            }
            Self::Shape { reason } | Self::Obstacle { reason } => reason.clone(),
            Self::Left { name, reason } => format!("`{name}` stays: {reason}"),
        };
        f.write_str(&printable(&text))
    }
}
