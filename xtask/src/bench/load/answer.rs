//! Judges one answer against its question.

use memchr::memmem;
use serde::Deserialize;

use super::question::TOKEN_LENGTH;

/// The code of an error that says that there is too much to do. Written out here: the generator knows
/// the gateway as agents do, and shares no code with it.
const OVERLOADED: i64 = -31003;

/// What an answer is to its question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::bench) enum Answer {
    /// It has the question's id and its whole text.
    Right,
    /// It is a result, but of another question, or a changed one.
    Wrong,
    /// It says, under the question's id, that there is too much to do.
    TurnedAway,
    /// It is another error, or nothing that could be read.
    Refused,
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<u32>,
    error: Option<Told>,
}

#[derive(Deserialize)]
struct Told {
    code: i64,
}

/// Judges the body of an answer, plain JSON or an event stream.
pub(in crate::bench) fn judge(body: &[u8], id: u32, text: &[u8]) -> Answer {
    match envelope(body) {
        Some(Envelope {
            id: Some(found),
            error: None,
        }) => {
            if found == id && contains(body, text) {
                Answer::Right
            } else {
                Answer::Wrong
            }
        }
        Some(Envelope {
            id: Some(found),
            error: Some(Told { code: OVERLOADED }),
        }) if found == id => Answer::TurnedAway,
        Some(_) | None => Answer::Refused,
    }
}

/// Says whether the whole text is in the body. It is searched by its token, which is short: a
/// search for the text itself would first study all of it.
fn contains(body: &[u8], text: &[u8]) -> bool {
    let token = text.get(..TOKEN_LENGTH).unwrap_or(text);
    let found = memmem::find(body, token).and_then(|at| body.get(at..at + text.len()));
    found == Some(text)
}

/// Finds the response: the body itself, or the first event that has an id.
fn envelope(body: &[u8]) -> Option<Envelope> {
    if body.first() == Some(&b'{') {
        return serde_json::from_slice(body).ok();
    }
    body.split(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_prefix(b"data:"))
        .filter_map(|data| serde_json::from_slice::<Envelope>(data).ok())
        .find(|envelope| envelope.id.is_some())
}

#[cfg(test)]
mod tests {
    use super::Answer::{self, Refused, Right, TurnedAway, Wrong};
    use super::TOKEN_LENGTH;

    fn check(body: &str, expect: Answer) {
        assert_eq!(
            super::judge(body.as_bytes(), 7, b"token 7"),
            expect,
            "{body}"
        );
    }

    #[test]
    fn an_answer_must_be_that_of_its_question() {
        check(
            r#"{"id":7,"result":{"content":[{"text":"token 7"}]}}"#,
            Right,
        );
        check(
            r#"{"id": 7, "result":{"content":[{"text":"token 8"}]}}"#,
            Wrong,
        );
        check(
            r#"{"id":8,"result":{"content":[{"text":"token 7"}]}}"#,
            Wrong,
        );
        check(r#"{"id":7,"result":{}}"#, Wrong);
        check(
            r#"{"id":7,"error":{"code":-1,"message":"token 7"}}"#,
            Refused,
        );
        check("", Refused);
        check("oops", Refused);
        // Only the code says that it may be tried again later, and only to whoever asked.
        check(
            r#"{"id":7,"error":{"code":-31003,"message":"too many calls"}}"#,
            TurnedAway,
        );
        check(
            r#"{"id":8,"error":{"code":-31003,"message":"too many calls"}}"#,
            Refused,
        );
        check(
            r#"{"id":7,"error":{"code":-32603,"message":"too many calls"}}"#,
            Refused,
        );
        check(r#"{"error":"too many calls"}"#, Refused);
    }

    #[test]
    fn the_text_must_be_there_to_its_end() {
        let text = format!("{:<TOKEN_LENGTH$}and more", "token");
        let body = |text: &str| format!(r#"{{"id":7,"result":"{text}"}}"#);
        let judge = |body: &str| super::judge(body.as_bytes(), 7, text.as_bytes());
        assert_eq!(judge(&body(&text)), Right);
        assert_eq!(judge(&body(&text.replace("more", "less"))), Wrong);
        assert_eq!(judge(&body(text.trim_end_matches('e'))), Wrong);
    }

    #[test]
    fn an_event_stream_is_searched_for_the_response() {
        check(
            "event: message\ndata: {\"id\":7,\"result\":{\"t\":\"token 7\"}}\n\n",
            Right,
        );
        check(
            "data: {\"method\":\"x\"}\n\ndata: {\"id\":7,\"result\":{\"t\":\"token 7\"}}\n\n",
            Right,
        );
        check("data: {\"id\":9,\"result\":{\"t\":\"token 7\"}}\n\n", Wrong);
        check(": nothing\n\n", Refused);
    }
}
