//! Words that people and tools use for the same thing, written by hand for tools in general. The
//! table is small on purpose: a wrong synonym costs more than a missing one. Forms of one word are
//! the business of `stem`, misspellings of `typo`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::stem::stem;

/// Groups of words that may stand for each other. A word may be in several groups; what it shares
/// with one does not reach the other.
const GROUPS: &[&str] = &[
    // What is done.
    "get read fetch retrieve obtain load return",
    "get show view see display",
    "list show enumerate display view browse",
    "find search lookup look locate discover query seek",
    "create add new make insert generate",
    "create open start",
    "add append attach include",
    "delete remove erase destroy drop purge trash discard rid forget clear",
    "cancel stop end abort terminate kill halt",
    "update edit modify change alter adjust revise patch set",
    "write save store put record",
    "remember store save memorize",
    "send post deliver publish submit",
    "send write compose",
    "message notify tell inform",
    "run execute invoke call trigger launch perform dispatch evaluate",
    "start begin launch boot",
    "restart reboot reload",
    "move transfer relocate rename",
    "reschedule postpone move update",
    "copy duplicate clone replicate",
    "merge combine join",
    "link connect associate relate",
    "upload attach import",
    "download save export",
    "reply respond answer",
    "comment note remark",
    "assign delegate",
    "close resolve finish complete done",
    "accept approve confirm",
    "reject decline deny refuse",
    "open visit navigate go browse",
    "open read view",
    "click press tap push",
    "type enter fill input",
    "describe explain inspect detail",
    "convert translate transform",
    "compare diff difference change",
    "schedule book plan arrange create",
    "scale resize",
    "deploy apply release rollout install",
    "enable activate",
    "disable deactivate",
    "check verify validate test",
    "count number total amount",
    "monitor watch track",
    "summarize summary",
    "filter rule",
    "forward redirect",
    "refund reimburse return",
    // What it is done to.
    "email mail",
    "inbox mailbox",
    "message chat dm msg",
    "file document",
    "folder directory dir",
    "repository repo",
    "pull pr",
    "issue ticket bug",
    "task todo",
    "event meeting appointment",
    "calendar agenda schedule",
    "invitation invite",
    "user member person people",
    "attendee participant guest",
    "image picture photo screenshot img pic",
    "page website site webpage web",
    "url link address",
    "database db",
    "postgres postgresql pg",
    "kubernetes k8s cluster",
    "pod container",
    "cpu processor",
    "memory ram",
    "log output",
    "history log",
    "schema structure",
    "invoice bill",
    "payment charge",
    "customer client",
    "time clock hour",
    "date day",
    "current now today",
    "timezone tz zone",
    "environment env",
    "configuration config setting",
    "parameter param argument arg",
    "information info detail metadata",
    "documentation doc",
    "application app",
    "authentication auth login",
    "command cmd shell",
    "organization organisation org",
    "reference ref",
    "statistic stat metric",
    "variable var",
    "javascript js",
    "pipeline workflow ci",
    "status state",
    "free available",
    "error failure exception crash",
    "team group",
    "channel room",
    "thread conversation",
    "price cost",
    "order purchase",
    "weather forecast",
    "video clip",
    "audio sound",
];

/// Stems of the words in [`GROUPS`], each with the stems that may stand for it, and the words
/// themselves, which are known even while no tool uses them.
static TABLE: LazyLock<Table> = LazyLock::new(Table::build);

#[derive(Debug, Default)]
struct Table {
    by_stem: BTreeMap<String, Vec<String>>,
    words: Vec<&'static str>,
}

impl Table {
    fn build() -> Self {
        let mut table = Self::default();
        for group in GROUPS {
            let stems: Vec<String> = group.split(' ').map(stem).collect();
            for own in &stems {
                let others = table.by_stem.entry(own.clone()).or_default();
                others.extend(stems.iter().filter(|other| *other != own).cloned());
                others.sort_unstable();
                others.dedup();
            }
            table.words.extend(group.split(' '));
        }
        table.words.sort_unstable();
        table.words.dedup();
        table
    }
}

/// Returns the stems that may stand for a stem, in order of the alphabet.
pub(crate) fn of(stem: &str) -> &'static [String] {
    TABLE.by_stem.get(stem).map_or(&[], Vec::as_slice)
}

/// Returns every word of the table, so that a misspelt one can be recognised.
pub(crate) fn words() -> &'static [&'static str] {
    &TABLE.words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expect: &str, is_synonym: bool) {
        assert_eq!(
            of(&stem(word)).contains(&stem(expect)),
            is_synonym,
            "{word} {expect}"
        );
        assert_eq!(
            of(&stem(expect)).contains(&stem(word)),
            is_synonym,
            "{expect} {word}"
        );
    }

    #[test]
    fn words_of_one_group_stand_for_each_other() {
        check("fetch", "read", true);
        check("removing", "deleted", true);
        check("repos", "repository", true);
        check("k8s", "kubernetes", true);
        check("read", "delete", false);
        check("list", "get", false);
        check("issue", "issues", false);
    }

    #[test]
    fn groups_are_well_formed() {
        for group in GROUPS {
            let mut stems: Vec<String> = group.split(' ').map(stem).collect();
            assert!(stems.len() > 1, "{group}");
            stems.sort_unstable();
            let all = stems.len();
            stems.dedup();
            assert_eq!(stems.len(), all, "two forms of one word in `{group}`");
            assert!(
                group
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
            );
        }
    }
}
