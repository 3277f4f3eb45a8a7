//! One tool: what it says about itself, and what changed in it, side by side: as it was approved, and
//! as it is offered now.

use maud::{Markup, html};
use mcpproxy_core::Wall;
use mcpproxy_text::decode::is_hidden;
use mcpproxy_text::url::encoded;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::act::Visit;
use crate::look::Look as _;
use crate::page::hidden;
use crate::pieces::{self, facts, panel};
use crate::shown::{plain, whole};

/// Characters of a text up to which its words are compared; a longer one is shown as it is.
const COMPARED: usize = 20_000;

/// The page; with what the tool says about itself, where it is a tool that is offered.
pub(super) fn body(visit: &Visit, diff: &Value, said: Option<&str>, now: Wall) -> Markup {
    let (server, name) = (diff.text("server_name"), diff.text("name"));
    let state = diff.text("state");
    let standing = html! {
        (facts(&[
            ("State", pieces::health(state)),
            ("Put there by", html! { (whole(diff.text("by"))) }),
            ("Since", html! { (pieces::time(diff.text("since"), now)) " UTC" }),
            ("Kind", html! { (whole(diff.text("kind"))) }),
        ]))
        p.said { (whole(diff.text("reason"))) }
        (word(visit, diff))
    };
    html! {
        p.crumbs { a href="/ui/tools" { "Tools" } " / "
            a href={ "/ui/tools/" (encoded(server)) } { (whole(server)) } " / " (whole(name)) }
        (panel("Standing", &standing))
        @if let Some(said) = said {
            // Whole, as agents read it: what a first line leaves out is where an order would stand.
            (panel("What it says about itself", &html! { p.wrapped { (whole(said)) } }))
        }
        (panel("What changed since it was approved", &changes(diff)))
        (panel("Fingerprints", &html! { div.code { (pieces::tree(diff.part("fingerprint"))) } }))
    }
}

fn word(visit: &Visit, diff: &Value) -> Markup {
    let (server, name) = (diff.text("server_name"), diff.text("name"));
    let hash = diff.part("fingerprint").text("combined_hash");
    html! {
        form method="post" action={ "/ui/tools/" (encoded(server)) "/" (encoded(name)) } {
            (hidden(visit))
            input type="hidden" name="hash" value=(plain(hash));
            div.buttons {
                @if diff.text("state") != "approved" {
                    button.primary type="submit" name="act" value="approve" { "Approve this version" }
                }
                @if diff.text("state") != "blocked" {
                    button.danger type="submit" name="act" value="block" { "Block" }
                }
            }
        }
    }
}

fn changes(diff: &Value) -> Markup {
    let changes = diff.list("changes");
    let first = diff.text("approved_hash").is_empty();
    html! {
        @if changes.is_empty() { (pieces::empty("Nothing: it is as it was approved.")) }
        @if first { p.quiet { "It was never approved, so everything is new." } }
        @for change in changes {
            @let (before, after) = (unspelled(change.text("before")), unspelled(change.text("after")));
            section.change {
                h3.code { (whole(&unspelled(change.text("path")))) }
                div.sides {
                    div { p.side { "Approved" } p.was { (side(&before, &after, ChangeTag::Delete)) } }
                    div { p.side { "Now" } p.is { (side(&before, &after, ChangeTag::Insert)) } }
                }
            }
        }
    }
}

/// Undoes what spells out characters that nobody sees, as `\u{a}`: a page breaks its lines, and shows
/// the others by their numbers, like everywhere else. What spells out any other character was written so.
fn unspelled(text: &str) -> String {
    let mut parts = text.split(r"\u{");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let spelled = part.split_once('}').and_then(|(code, rest)| {
            let char = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
            let unseen =
                char.is_control() || is_hidden(char) || matches!(char, '\u{2028}' | '\u{2029}');
            unseen.then_some((char, rest))
        });
        match spelled {
            Some((char, rest)) => {
                whole.push(char);
                whole.push_str(rest);
            }
            None => whole.extend([r"\u{", part]),
        }
    }
    whole
}

/// One side of a change, with the words marked that are on this side only.
fn side(before: &str, after: &str, only: ChangeTag) -> Markup {
    let own = if only == ChangeTag::Delete {
        before
    } else {
        after
    };
    if own.is_empty() {
        return html! { span.quiet { "nothing" } };
    }
    if before.len() + after.len() > COMPARED {
        return html! { (whole(own)) };
    }
    let compared = TextDiff::from_words(before, after);
    html! { @for change in compared.iter_all_changes() {
        @match change.tag() {
            ChangeTag::Equal => (whole(change.value())),
            ChangeTag::Delete if only == ChangeTag::Delete => del { (whole(change.value())) },
            ChangeTag::Insert if only == ChangeTag::Insert => ins { (whole(change.value())) },
            ChangeTag::Delete | ChangeTag::Insert => {},
        }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression for #8: a description of many lines was one block.
    #[test]
    fn what_is_spelled_out_is_shown_like_everywhere_else() {
        let check = |text: &str, expect: &str| assert_eq!(unspelled(text), expect);
        check("plain", "plain");
        check(r"a\u{a}b\u{202e}c", "a\nb\u{202e}c");
        check(
            r"\u{41} \u{zz} \u{d800} \u{ \u",
            r"\u{41} \u{zz} \u{d800} \u{ \u",
        );
    }

    #[test]
    fn each_side_marks_what_only_it_has() {
        let check = |before: &str, after: &str, expect: [&str; 2]| {
            let sides = [ChangeTag::Delete, ChangeTag::Insert];
            let sides = sides.map(|only| side(before, after, only).into_string());
            assert_eq!(sides, expect, "{before} {after}");
        };
        check(
            "Creates local backups.",
            "Creates cloud backups.",
            [
                "Creates <del>local</del> backups.",
                "Creates <ins>cloud</ins> backups.",
            ],
        );
        check(
            "",
            "new",
            ["<span class=\"quiet\">nothing</span>", "<ins>new</ins>"],
        );
        check(
            "<b>",
            "<i>",
            ["<del>&lt;b&gt;</del>", "<ins>&lt;i&gt;</ins>"],
        );
        let long = "a ".repeat(COMPARED);
        assert_eq!(side(&long, "b", ChangeTag::Insert).into_string(), "b");
    }
}
