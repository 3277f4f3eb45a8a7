//! One thing that was looked at, and how it is shown.

use serde_json::{Value, json};

use crate::output::flat;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// As it should be.
    Ok,
    /// To be looked at.
    Warn,
    /// Not working.
    Fail,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at. What is not as it should be has a hint.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) area: &'static str,
    pub(super) status: Status,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Check {
    pub(super) fn ok(area: &'static str, message: String) -> Self {
        Self {
            area,
            status: Status::Ok,
            message,
            hint: None,
        }
    }

    pub(super) fn warn(area: &'static str, message: String, hint: &str) -> Self {
        Self {
            area,
            status: Status::Warn,
            message,
            hint: Some(hint.to_owned()),
        }
    }

    pub(super) fn fail(area: &'static str, message: String, hint: &str) -> Self {
        Self {
            area,
            status: Status::Fail,
            message,
            hint: Some(hint.to_owned()),
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "area": self.area,
            "status": self.status.word(),
            "message": self.message,
            "hint": self.hint,
        })
    }

    /// Returns the lines of a table. What programs and files say is shown without their control
    /// characters.
    pub(super) fn lines(&self) -> Vec<String> {
        let message = format!("  {:4}  {}", self.status.word(), flat(&self.message));
        let hint = self
            .hint
            .iter()
            .map(|hint| format!("        hint: {}", flat(hint)));
        std::iter::once(message).chain(hint).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_shown_on_lines_of_its_own() {
        let check = Check::fail("Area", "it\u{1b}[2J is\nbroken".to_owned(), "mend it");
        assert_eq!(
            check.lines(),
            ["  fail  it [2J is broken", "        hint: mend it"]
        );
        assert_eq!(
            check.json().to_string(),
            r#"{"area":"Area","status":"fail","message":"it\u001b[2J is\nbroken","hint":"mend it"}"#
        );
        assert_eq!(
            Check::ok("Area", "fine".to_owned()).lines(),
            ["  ok    fine"]
        );
    }
}
