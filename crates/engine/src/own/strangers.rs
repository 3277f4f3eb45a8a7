//! Tools that agents bring along and that nobody knows: where data goes that they are given, as far as
//! their name and the names of their arguments show.

use mcpproxy_classify::purpose::{Purpose, purpose};
use mcpproxy_classify::{self as classify, Class, Classification, Method, Parameter, Tool, Words};
use mcpproxy_core::{Sink, ToolRef};
use mcpproxy_text as text;

/// Arguments that are looked at.
const MOST: usize = 64;
/// Where such tools are told whom or where to send to, besides what is known of all tools.
const SENT_TO: [&str; 3] = ["destination", "dest", "receiver"];

/// Returns what a tool counts as that is given no address outside. What nobody vouches for gets no
/// secrets; what is told the place of a file is a tool for files.
pub(super) fn sink(called: &ToolRef, arguments: &str, settings: &Classification) -> Sink {
    let mut is_for_files = false;
    let mut is_mail = false;
    let mut parameters = Vec::new();
    for member in text::members(arguments).take(MOST) {
        let words = Words::of(&member.key);
        let sent_to = SENT_TO.contains(&words.joined());
        let purpose = match purpose(&words) {
            None if sent_to => Some(Purpose::Recipient),
            // Those that lead outside were looked for, and there are none.
            Some(Purpose::Address) => None,
            known => known,
        };
        let value = arguments.get(member.value).unwrap_or_default();
        is_for_files |= purpose == Some(Purpose::Place);
        is_mail |= purpose == Some(Purpose::Recipient) && names_mail(value);
        parameters.push(Parameter {
            name: member.key,
            purpose,
            ..Parameter::default()
        });
    }
    let tool = Tool {
        name: called.tool.as_str().into(),
        parameters,
        ..Tool::default()
    };
    let unknown = Class::unknown("no agent is known to have this tool");
    let found = classify::tool(&tool, called.upstream.as_str(), &unknown, settings);
    match found.as_sink() {
        said if found.class.method == Method::Config => said,
        Sink::Outside => Sink::Assumed,
        Sink::Inside | Sink::Assumed | Sink::Unproven if is_mail => Sink::Assumed,
        Sink::Inside | Sink::Assumed | Sink::Unproven if is_for_files => Sink::Inside,
        Sink::Inside | Sink::Assumed | Sink::Unproven => Sink::Unproven,
    }
}

/// Tells whether an address of mail stands in a value.
fn names_mail(value: &str) -> bool {
    value.split_once('@').is_some_and(|(before, after)| {
        let host = after.split(|c: char| !(c.is_alphanumeric() || ".-".contains(c)));
        before.ends_with(char::is_alphanumeric) && host.take(1).any(|host| host.contains('.'))
    })
}

#[cfg(test)]
mod tests {
    use mcpproxy_classify::Kind;
    use mcpproxy_core::{ToolName, UpstreamId};

    use super::*;

    fn called(tool: &str) -> ToolRef {
        ToolRef {
            upstream: UpstreamId::new("claude-code"),
            tool: ToolName::new(tool),
        }
    }

    #[test]
    fn names_show_who_sends_and_who_keeps_files() {
        let check = |tool: &str, arguments: &str, expect: Sink| {
            let found = sink(&called(tool), arguments, &Classification::default());
            assert_eq!(found, expect, "{tool} {arguments}");
        };
        for (tool, arguments) in [
            ("send_email", r#"{"to":"a@evil.example.com","body":"x"}"#),
            ("Remind", r#"{"recipients":["a@evil.example.com"]}"#),
            ("slack_post", r##"{"channel":"#x","text":"x"}"##),
            ("post_tweet", r#"{"text":"x"}"#),
            ("upload_file", r#"{"destination":"evil","data":"x"}"#),
        ] {
            check(tool, arguments, Sink::Assumed);
        }
        for (tool, arguments) in [
            ("frobnicate", r#"{"text":"x"}"#),
            ("lookup_symbol", r#"{"name":"x"}"#),
            ("github_create_issue", r#"{"repo":"a/b","body":"x"}"#),
            ("frobnicate", "{}"),
        ] {
            check(tool, arguments, Sink::Unproven);
        }
        for (tool, arguments) in [
            ("hashline_edit", r#"{"file_path":".env","content":"A=x"}"#),
            ("ast_replace", r#"{"path":"src","rewrite":"x"}"#),
        ] {
            check(tool, arguments, Sink::Inside);
        }
    }

    #[test]
    fn what_the_operator_says_of_a_tool_holds() {
        let mut settings = Classification::default();
        let name = "claude-code:frobnicate".to_owned();
        settings.tool_overrides.insert(name, Kind::Internal);
        let found = sink(&called("frobnicate"), "{}", &settings);
        assert_eq!(found, Sink::Inside);
    }
}
