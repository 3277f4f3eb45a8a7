//! What a parameter or an argument is for, by its name.
//!
//! The same names serve tools, where they say what can be given, and calls, where they say what
//! was.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::operation::verbs::is_destructive;
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

/// Names of choices.
const CHOICES: &[&str] = &[
    "action",
    "operation",
    "op",
    "command",
    "cmd",
    "method",
    "mode",
    "verb",
    "httpmethod",
    "type",
    "subcommand",
    "requestmethod",
    "actiontype",
    "operationtype",
];
/// Names of what is written.
const CONTENTS: &[&str] = &[
    "body",
    "content",
    "contents",
    "filecontent",
    "newcontent",
    "payload",
    "data",
    "message",
    "comment",
    "newtext",
    "newstring",
    "newstr",
    "patch",
    "diff",
    "edits",
    "changes",
    "updates",
    "attachment",
    "attachments",
    "html",
];
/// Names of recipients.
const RECIPIENTS: &[&str] = &[
    "to",
    "cc",
    "bcc",
    "recipient",
    "toemail",
    "toaddress",
    "toaddr",
    "sendto",
    "recipientemail",
    "recipientid",
    "emailaddress",
    "phonenumber",
    "tonumber",
    "phone",
    "chatid",
    "channelid",
    "channel",
    "channelname",
    "roomid",
    "threadts",
    "attendee",
    "invitee",
    "mailto",
    "touser",
    "subscriber",
    "audience",
    "guest",
];
/// Names of addresses.
const ADDRESSES: &[&str] = &[
    "url",
    "uri",
    "href",
    "endpoint",
    "webhook",
    "webhookurl",
    "callbackurl",
    "callback",
    "host",
    "hostname",
    "domain",
    "baseurl",
    "targeturl",
    "link",
    "website",
    "site",
    "apiurl",
    "remoteurl",
    "destinationurl",
    "ipaddress",
    "posturl",
    "pageurl",
    "target",
];
/// Names of places inside.
const PLACES: &[&str] = &[
    "path",
    "filepath",
    "filename",
    "directory",
    "dir",
    "folder",
    "sql",
    "table",
    "tablename",
    "database",
    "databasename",
    "schema",
    "collection",
    "collectionname",
    "workspace",
    "cwd",
    "workingdirectory",
    "absolutepath",
    "relativepath",
    "rootpath",
    "projectroot",
    "projectpath",
    "statement",
];
/// Names that ask for destruction.
const DESTROYS: &[&str] = &[
    "force",
    "forced",
    "recursive",
    "permanent",
    "permanently",
    "hard",
    "cascade",
    "overwrite",
    "noconfirm",
    "skipconfirmation",
    "autoapprove",
    "skiptrash",
    "allowdestructive",
];

static NAMES: LazyLock<HashMap<&'static str, Purpose>> = LazyLock::new(|| {
    let tables = [
        (CHOICES, Purpose::Choice),
        (CONTENTS, Purpose::Content),
        (RECIPIENTS, Purpose::Recipient),
        (ADDRESSES, Purpose::Address),
        (PLACES, Purpose::Place),
        (DESTROYS, Purpose::Destroys),
    ];
    let each = |(names, purpose): (&'static [&'static str], Purpose)| {
        names.iter().map(move |name| (*name, purpose))
    };
    tables.into_iter().flat_map(each).collect()
});

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
    fn no_name_has_two_purposes() {
        let all = [CHOICES, CONTENTS, RECIPIENTS, ADDRESSES, PLACES, DESTROYS];
        assert_eq!(
            all.iter().map(|names| names.len()).sum::<usize>(),
            NAMES.len()
        );
    }
}
