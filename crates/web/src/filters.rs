//! The filters of the activity page: a form that asks, and the question that it makes.
//!
//! Which filters and values there are is for the log to know.

use maud::{Markup, html};
use mcpproxy_core::Field;
use mcpproxy_text::url::encoded;

use crate::shown::whole;

/// Filters that are always seen; the others are behind a fold.
const FIRST: [Field; 6] = [
    Field::Kind,
    Field::Upstream,
    Field::Tool,
    Field::Status,
    Field::RiskLevel,
    Field::Session,
];
/// Bounds in time, which the log takes beside the fields.
const TIMES: [(&str, &str); 2] = [("start_time", "From"), ("end_time", "To")];

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters(Vec<(String, String)>);

impl Filters {
    /// Takes what a query says about fields of the log, and leaves the rest.
    pub(crate) fn of(query: Vec<(String, String)>) -> Self {
        let known = |name: &str| {
            Field::ALL.iter().any(|field| field.name() == name)
                || TIMES.iter().any(|(time, _)| *time == name)
                || name == "cursor"
        };
        let asked = query.into_iter();
        Self(
            asked
                .filter(|(name, value)| known(name) && !value.is_empty())
                .collect(),
        )
    }

    /// The value that was asked for; empty where none was.
    fn value(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Tells whether this is the page with what is newest.
    pub(crate) fn is_newest(&self) -> bool {
        self.value("cursor").is_empty()
    }

    /// Tells whether something is left out.
    pub(crate) fn is_narrow(&self) -> bool {
        self.0.iter().any(|(name, _)| name != "cursor")
    }

    /// The question, as a query; with another place to go on from, if one is given.
    pub(crate) fn query(&self, cursor: Option<&str>) -> String {
        let asked = self
            .0
            .iter()
            .filter(|(name, _)| cursor.is_none() || name != "cursor");
        let pairs = asked.map(|(name, value)| (name.as_str(), value.as_str()));
        let pairs = pairs.chain(cursor.map(|cursor| ("cursor", cursor)));
        let pairs = pairs.map(|(name, value)| format!("{name}={}", encoded(value)));
        pairs.collect::<Vec<_>>().join("&")
    }

    /// The form.
    pub(crate) fn form(&self) -> Markup {
        let rest = Field::ALL
            .into_iter()
            .filter(|field| !FIRST.contains(field));
        let rest: Vec<_> = rest.collect();
        let folded = rest
            .iter()
            .map(|field| field.name())
            .chain(TIMES.map(|(name, _)| name));
        let open = { folded }.any(|name| !self.value(name).is_empty());
        html! {
            form.filters method="get" action="/ui/activity" role="search" aria-label="Filter records" {
                div.fields { @for field in FIRST { (self.field(field)) } }
                details open[open] {
                    summary { "More filters" }
                    div.fields {
                        @for field in &rest { (self.field(*field)) }
                        @for (name, label) in TIMES { (self.time(name, label)) }
                    }
                }
                div.buttons {
                    button.primary type="submit" { "Filter" }
                    @if self.is_narrow() { a.button href="/ui/activity" { "Clear" } }
                }
            }
        }
    }

    fn field(&self, field: Field) -> Markup {
        let name = field.name();
        let value = self.value(name);
        html! {
            div.field {
                label for={ "filter-" (name) } { (label(field)) }
                @match field.known() {
                    Some(known) => select id={ "filter-" (name) } name=(name) {
                        option value="" { "any" }
                        @for one in known {
                            option value=(one) selected[*one == value] {
                                (one) @if field == Field::RiskLevel && *one != "critical" { " or worse" }
                            }
                        }
                        // Several at once can be asked for by hand.
                        @if !value.is_empty() && !known.contains(&value) {
                            option value=(value) selected { (whole(value)) }
                        }
                    },
                    None => input id={ "filter-" (name) } name=(name) value=(value)
                        spellcheck="false" autocomplete="off";,
                }
            }
        }
    }

    fn time(&self, name: &str, label: &str) -> Markup {
        html! {
            div.field {
                label for={ "filter-" (name) } { (label) " (UTC)" }
                input id={ "filter-" (name) } name=(name) value=(self.value(name))
                    placeholder="2026-01-31T12:00:00Z" spellcheck="false" autocomplete="off";
            }
        }
    }
}

fn label(field: Field) -> &'static str {
    match field {
        Field::Kind => "Type",
        Field::Source => "Source",
        Field::Upstream => "Server",
        Field::Tool => "Tool",
        Field::Session => "Session",
        Field::McpSession => "MCP session",
        Field::Principal => "Caller",
        Field::Status => "Status",
        Field::Decision => "Decision",
        Field::FlowType => "Flow",
        Field::RiskLevel => "Risk",
        Field::Operation => "Operation",
        Field::Sensitive => "Sensitive data",
        Field::Severity => "Severity",
        Field::Detection => "Detected type",
        Field::Request => "Request",
        Field::Parent => "Part of",
        Field::Agent => "Agent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(pairs: &[(&str, &str)]) -> Filters {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Filters::of(pairs.collect())
    }

    #[test]
    fn only_what_the_log_knows_is_asked_for() {
        let check = |pairs: &[(&str, &str)], cursor: Option<&str>, expect: &str| {
            assert_eq!(filters(pairs).query(cursor), expect, "{pairs:?}");
        };
        check(&[], None, "");
        check(&[("type", ""), ("evil", "1")], None, "");
        check(&[("tool", "a b&c=d")], None, "tool=a%20b%26c%3Dd");
        check(
            &[("type", "tool_call"), ("cursor", "7")],
            None,
            "type=tool_call&cursor=7",
        );
        check(
            &[("type", "tool_call"), ("cursor", "7")],
            Some("9"),
            "type=tool_call&cursor=9",
        );
    }

    #[test]
    fn the_form_keeps_what_was_asked_for() {
        let form = filters(&[
            ("tool", "\"><script>"),
            ("risk_level", "high"),
            ("agent", "x"),
        ]);
        let form = form.form().into_string();
        assert!(
            form.contains("value=\"&quot;&gt;&lt;script&gt;\""),
            "{form}"
        );
        assert!(form.contains("<option value=\"high\" selected>"), "{form}");
        assert!(!form.contains("<script>"), "{form}");
    }
}
