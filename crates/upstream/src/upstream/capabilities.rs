//! What of a downstream's capabilities makes a difference to a conversation that several of its
//! clients share: what they can be asked, and nothing that they may write there besides.

use mcpproxy_text as text;

/// What a downstream can be asked, with the variants of each that upstreams look for.
const ASKED: [(&str, &[&str]); 3] = [
    ("elicitation", &["form", "url"]),
    ("roots", &["listChanged"]),
    ("sampling", &["context", "tools"]),
];

/// Spells what a capabilities object says about being asked in the one way.
pub(super) fn normalized(capabilities: &str) -> String {
    let members: Vec<_> = ASKED
        .into_iter()
        .filter_map(|(name, variants)| {
            let (raw, _) = declared(capabilities, name)?;
            Some(format!(r#""{name}":{{{}}}"#, kept(raw, variants)))
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

fn kept(object: &str, variants: &[&str]) -> String {
    let kept = variants
        .iter()
        .filter(|name| declared(object, name).is_some());
    let kept: Vec<_> = kept
        .map(|name| match *name {
            "listChanged" => r#""listChanged":true"#.to_owned(),
            name => format!(r#""{name}":{{}}"#),
        })
        .collect();
    // A downstream that names no form of elicitation means the plain one.
    if kept == [r#""form":{}"#] {
        return String::new();
    }
    kept.join(",")
}

fn declared<'a>(object: &'a str, name: &str) -> Option<(&'a str, std::ops::Range<usize>)> {
    text::get(object, &[name]).filter(|(raw, _)| !matches!(*raw, "false" | "null"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_asked_counts() {
        let check = |given: &str, expect: &str| assert_eq!(normalized(given), expect, "{given}");
        check("{}", "{}");
        check(r#"{"experimental":{"x":1},"tasks":{}}"#, "{}");
        check(
            r#"{"elicitation":{"form":{"x":1}}}"#,
            r#"{"elicitation":{}}"#,
        );
        check(
            r#"{ "sampling":{"tools":{},"y":2}, "elicitation":{"url":{},"form":{}} }"#,
            r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}}}"#,
        );
        check(
            r#"{"roots":{"listChanged":true}}"#,
            r#"{"roots":{"listChanged":true}}"#,
        );
        check(r#"{"roots":{"listChanged":false}}"#, r#"{"roots":{}}"#);
        check(r#"{"roots":null,"sampling":false}"#, "{}");
        check(r#"{"sampling":"yes"}"#, r#"{"sampling":{}}"#);
    }
}
