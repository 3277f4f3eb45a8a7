//! Writes the questions: calls of the echo tool with a text that no other call has.

use std::ops::Range;

use bytes::Bytes;

/// The length of `token 00000000.00000000 `.
pub(super) const TOKEN_LENGTH: usize = 24;

const FILLER: &str = "the quick brown fox jumps over the lazy dog ";

/// The questions of one connection, one after the other.
pub(in crate::bench) struct Questions {
    tool: String,
    filler: String,
    connection: u32,
    sequence: u32,
}

/// One call.
pub(in crate::bench) struct Question {
    pub(in crate::bench) id: u32,
    pub(in crate::bench) body: Bytes,
    /// Where the text stands in the body.
    pub(in crate::bench) text: Range<usize>,
}

impl Questions {
    /// Prepares calls of `tool` with texts of `payload` bytes, or of a token if that is longer.
    pub(in crate::bench) fn new(tool: &str, payload: usize, connection: u32) -> Self {
        let length = payload.saturating_sub(TOKEN_LENGTH);
        let filler = FILLER.chars().cycle().take(length).collect();
        Self {
            tool: tool.to_owned(),
            filler,
            connection,
            sequence: 0,
        }
    }

    /// Writes the next call.
    pub(in crate::bench) fn next(&mut self) -> Question {
        self.sequence += 1;
        let Self {
            tool,
            filler,
            connection,
            sequence,
        } = self;
        let head = format!(
            r#"{{"jsonrpc":"2.0","id":{sequence},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"#
        );
        let start = head.len() + 1;
        let text = start..start + TOKEN_LENGTH + filler.len();
        let body = format!(r#"{head}"token {connection:08x}.{sequence:08x} {filler}"}}}}}}"#);
        Question {
            id: *sequence,
            body: Bytes::from(body),
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: usize, connection: u32, length: usize, token: &str) {
        let mut questions = Questions::new("echo", payload, connection);
        questions.next();
        let question = questions.next();
        let message: serde_json::Value = serde_json::from_slice(&question.body).unwrap();
        let text = message["params"]["arguments"]["text"].as_str().unwrap();
        assert_eq!(&question.body[question.text.clone()], text.as_bytes());
        assert_eq!(text.len(), length);
        assert!(text.starts_with(token), "{text}");
        assert_eq!(message["id"], 2);
    }

    #[test]
    fn every_question_has_its_length_and_a_token_of_its_own() {
        check(256, 1, 256, "token 00000001.00000002 the quick");
        check(65536, u32::MAX, 65536, "token ffffffff.00000002 the quick");
        check(0, 0, TOKEN_LENGTH, "token 00000000.00000002 ");
    }
}
