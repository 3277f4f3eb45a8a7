//! What a parameter or an argument is for, by its name, from `rules/purposes.txt`.
//!
//! The same names serve tools, where they say what can be given, and calls, where they say what
//! was.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::operation::verbs::is_destructive;
use crate::rules::{Section, sections};
use crate::words::{Words, forms};

/// What a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Chooses what is done.
    Choice,
    /// Is what is written.
    Content,
    /// Names somebody.
    Recipient,
    /// Is an address.
    Address,
    /// Is a place inside: a path, a query, a table.
    Place,
    /// Asks for destruction when it is set.
    Destroys,
}

static NAMES: LazyLock<HashMap<&'static str, Purpose>> = LazyLock::new(|| {
    let each = |section: Section| {
        let purpose = parse(section.header);
        section
            .names()
            .filter_map(move |name| Some((name, purpose?)))
    };
    sections(include_str!("../rules/purposes.txt"))
        .flat_map(each)
        .collect()
});

fn parse(header: &str) -> Option<Purpose> {
    Some(match header {
        "choice" => Purpose::Choice,
        "content" => Purpose::Content,
        "recipient" => Purpose::Recipient,
        "address" => Purpose::Address,
        "place" => Purpose::Place,
        "destroys" => Purpose::Destroys,
        _ => return None,
    })
}

/// Says what a value of this name is for; nothing if the name does not say it.
pub fn purpose(name: &Words) -> Option<Purpose> {
    let whole = forms(name.joined()).filter(|(_, ending)| ending.is_empty());
    let listed = whole
        .into_iter()
        .find_map(|(stem, _)| NAMES.get(stem).copied());
    // `delete_branch_on_merge` and `force_push` ask for it, `deleted_at` and `is_deleted` do not.
    let first = name.word(0);
    let asks = || is_destructive(first) || (first == "force" && name.len() > 1);
    listed.or_else(|| asks().then_some(Purpose::Destroys))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_values_are_for() {
        let check = |name: &str, expect: Option<Purpose>| {
            assert_eq!(purpose(&Words::of(name)), expect, "{name}");
        };
        check("recipients", Some(Purpose::Recipient));
        check("to", Some(Purpose::Recipient));
        check("webhookUrl", Some(Purpose::Address));
        check("file_path", Some(Purpose::Place));
        check("http_method", Some(Purpose::Choice));
        check("body", Some(Purpose::Content));
        check("force", Some(Purpose::Destroys));
        check("force-push", Some(Purpose::Destroys));
        check("delete_source_branch", Some(Purpose::Destroys));
        check("deleteMany", Some(Purpose::Destroys));
        check("deleted_at", None);
        check("is_deleted", None);
        check("enforce", None);
        check("token", None);
        check("", None);
    }

    #[test]
    fn no_name_has_two_purposes_or_none() {
        let table = sections(include_str!("../rules/purposes.txt"));
        assert_eq!(table.flat_map(Section::names).count(), NAMES.len());
    }
}
