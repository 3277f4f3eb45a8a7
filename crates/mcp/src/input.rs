//! The modern era's way of asking the downstream: `input_required` results and their retries.

use mcpproxy_text as text;

use crate::Frame;
use crate::compose::quoted;

/// What an upstream needs before it can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRequired {
    /// The questions: a key, the method, the raw parameters.
    pub requests: Vec<InputRequest>,
    /// The upstream's own raw state string, if any.
    pub state: Option<String>,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRequest {
    /// The key under which the answer is expected.
    pub key: String,
    /// The method.
    pub method: String,
    /// The raw parameters.
    pub params: String,
}

/// Reads the result type of a modern result; a result without one is complete.
pub fn result_type(result: &str) -> String {
    text::get(result, &["resultType"])
        .and_then(|(value, _)| text::string(value))
        .map_or_else(|| "complete".to_owned(), std::borrow::Cow::into_owned)
}

/// Reads an `input_required` result; any other result is nothing.
pub fn required(frame: &Frame) -> Option<InputRequired> {
    let result = frame.payload();
    if result_type(result) != "input_required" {
        return None;
    }
    let (requests, _) = text::get(result, &["inputRequests"]).unwrap_or(("{}", 0..0));
    let requests = text::members(requests)
        .filter_map(|member| {
            let request = requests.get(member.value)?;
            let method =
                text::get(request, &["method"]).and_then(|(value, _)| text::string(value))?;
            let params = text::get(request, &["params"]).map_or("{}", |(value, _)| value);
            Some(InputRequest {
                key: member.key.into_owned(),
                method: method.into_owned(),
                params: params.to_owned(),
            })
        })
        .collect();
    let state = text::get(result, &["requestState"]).map(|(value, _)| value.to_owned());
    Some(InputRequired { requests, state })
}

/// Prints an `input_required` result with one question.
pub fn ask(key: &str, method: &str, params: &str, state: &str) -> String {
    let (key, method, state) = (quoted(key), quoted(method), quoted(state));
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{{key}:{{"method":{method},"params":{params}}}}},"requestState":{state}}}"#
    )
}

/// Prints the members that a retry adds to the parameters.
pub fn retry_members(answers: &[(String, String)], state: Option<&str>) -> String {
    let answers: Vec<_> = answers
        .iter()
        .map(|(key, answer)| format!("{}:{answer}", quoted(key)))
        .collect();
    let state = state
        .map(|state| format!(r#","requestState":{state}"#))
        .unwrap_or_default();
    format!(r#""inputResponses":{{{}}}{state}"#, answers.join(","))
}

#[cfg(test)]
mod tests {
    use mcpproxy_text::Limits;

    use super::*;

    #[test]
    fn questions_are_written_and_read() {
        let result = ask("q", "elicitation/create", r#"{"message":"?"}"#, "s\"1");
        let raw = crate::compose::result("1", &result);
        let frame = Frame::parse(raw, Limits::default()).unwrap();
        let found = required(&frame).unwrap();
        assert_eq!(found.state.as_deref(), Some(r#""s\"1""#));
        assert_eq!(found.requests[0].method, "elicitation/create");
        assert_eq!(found.requests[0].params, r#"{"message":"?"}"#);
        let done = Frame::parse(crate::compose::result("1", "{}"), Limits::default()).unwrap();
        assert_eq!(required(&done), None);
    }
}
