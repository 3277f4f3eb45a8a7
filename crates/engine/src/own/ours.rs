//! What is ours on a machine, and what would stop it: the data folder, the programs, the process.

use std::borrow::Cow;

use mcpproxy_classify::shell::{Handed, Told};
use mcpproxy_detect::Detector;
use mcpproxy_text::{glob, path};

/// The rule that knows our own folder.
const RULE: &str = "file-mcpproxy";
/// No signal has a greater number.
const LAST_SIGNAL: u32 = 64;
/// Our own folder, and what in it is worth looking for.
const FOLDER: &str = ".mcpproxy";
const USUAL: &str = "~/.mcpproxy";
/// The shortest path of a data folder that is looked for.
const SHORTEST: usize = 4;
const KEPT: [&str; 2] = ["api_key", "mcpproxy.sock"];
/// Our programs, and the folders in which a file of that name is one of them, not somebody's project.
const PROGRAMS: [&str; 2] = ["mcpproxy", "mcpproxy-rest"];
const PROGRAM_FOLDERS: [&str; 4] = ["bin", "sbin", "libexec", "mcpproxy"];
/// Programs that say where something is and not what is in it, and ours, whose orders are known.
const LOOKERS: [&str; 26] = [
    "ls",
    "eza",
    "exa",
    "lsd",
    "tree",
    "stat",
    "test",
    "[",
    "[[",
    "cd",
    "pushd",
    "echo",
    "printf",
    "du",
    "df",
    "realpath",
    "readlink",
    "dirname",
    "basename",
    "which",
    "mkdir",
    "export",
    "alias",
    "find",
    "mcpproxy",
    "mcpproxy-rest",
];
/// Verbs with which a service is stopped.
const STOPPING: [&str; 9] = [
    "stop",
    "disable",
    "mask",
    "kill",
    "restart",
    "unload",
    "bootout",
    "remove",
    "try-restart",
];

/// Writes a data folder of another name as the usual one, so that all that is known of that one holds.
pub(super) fn as_usual<'t>(text: &'t str, folder: Option<&str>) -> Cow<'t, str> {
    let folder = folder.map(|folder| folder.trim_end_matches('/'));
    let named = |folder: &&str| folder.len() >= SHORTEST && text.contains(*folder);
    let Some(folder) = folder.filter(named) else {
        return Cow::Borrowed(text);
    };
    let goes_on = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.');
    let mut usual = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(folder) {
        let whole = !before.ends_with(goes_on) && !after.starts_with(goes_on);
        usual.push_str(before);
        usual.push_str(if whole { USUAL } else { folder });
        rest = after;
    }
    usual.push_str(rest);
    Cow::Owned(usual)
}

/// Tells whether a path leads into the data folder, where keys and orders are; a pattern does if it
/// may.
pub(super) fn is_ours(detector: &Detector, named: &str) -> bool {
    let folder = [named, "/"].concat();
    let found = detector.text(&folder).detections;
    if found.iter().any(|found| found.detection.rule == RULE) {
        return true;
    }
    let normal = path::normal(named).to_lowercase();
    let parts: Vec<_> = normal.split('/').filter(|part| !part.is_empty()).collect();
    let within = parts.iter().enumerate().any(|(at, part)| {
        let next = parts.get(at + 1).copied().unwrap_or_default();
        stands_for_folder(part)
            && (says_something(part) || KEPT.iter().any(|kept| is_kept(next, kept)))
    });
    // Looked for in all of a home: `find ~ -name api_key`.
    let sought = match parts.as_slice() {
        [name] | ["~" | "root", name] | ["home" | "users", _, name] => KEPT.contains(name),
        _ => false,
    };
    within || (sought && normal.starts_with(['/', '~']))
}

/// A star does not stand for names that begin with a dot.
fn stands_for_folder(part: &str) -> bool {
    glob::is_pattern(part) && part.starts_with(['.', '[', '?']) && glob::matches(part, FOLDER)
}

fn is_kept(part: &str, kept: &str) -> bool {
    says_something(part) && glob::matches(part, kept)
}

/// Tells whether a pattern says something of a name: `.*` may be any.
fn says_something(part: &str) -> bool {
    part.chars().any(char::is_alphabetic)
}

/// Tells whether a program may look into the files that it is handed.
pub(super) fn opens(handed: &Handed) -> bool {
    !LOOKERS.contains(&handed.program.as_str())
}

/// Tells whether a path is that of a program of ours. What a project builds below itself is its own.
pub(super) fn is_program(named: &str) -> bool {
    let normal = path::normal(named);
    if !normal.starts_with(['/', '~', '$']) {
        return false;
    }
    let (folder, name) = normal.rsplit_once('/').unwrap_or_default();
    let within = folder.rsplit('/').next().unwrap_or_default();
    PROGRAMS.contains(&name) && PROGRAM_FOLDERS.contains(&within)
}

/// Tells whether a command ends our process, by what programs are told.
pub(super) fn is_ended(told: &[Told]) -> bool {
    let names = |told: &Told| {
        let exact = is_exact(told);
        told.words.iter().any(|word| means_us(word, exact))
    };
    // Which process it ends is found out by another command.
    let seeks = |one: &Told| match one.program.as_str() {
        "pgrep" | "pidof" | "fuser" => names(one),
        // Heard only where they look for us.
        "grep" | "egrep" | "fgrep" | "rg" | "awk" | "gawk" | "sed" | "ps" => true,
        _ => false,
    };
    let sought = told.iter().any(seeks);
    told.iter().any(|one| match one.program.as_str() {
        "pkill" | "killall" | "skill" | "taskkill" | "stop-process" => names(one),
        "kill" => sought && !is_told_which(one),
        "systemctl" | "service" | "launchctl" => {
            let mut words = one.words.iter();
            words.any(|word| STOPPING.contains(&word.as_str())) && names(one)
        }
        _ => false,
    })
}

/// Tells whether a program takes a name for the whole name.
fn is_exact(told: &Told) -> bool {
    let has = |flags: &[&str]| told.words.iter().any(|word| flags.contains(&word.as_str()));
    match told.program.as_str() {
        "killall" => !has(&["-r", "--regexp"]),
        "pidof" => true,
        "pkill" | "pgrep" | "skill" => has(&["-x", "--exact"]),
        _ => false,
    }
}

/// Tells whether the processes that are ended are given by their numbers, which nobody had to look up;
/// smaller numbers are those of signals.
fn is_told_which(told: &Told) -> bool {
    let mut words = told.words.iter().filter(|word| !word.starts_with('-'));
    let number = |word: &String| word.parse::<u32>().is_ok_and(|number| number > LAST_SIGNAL);
    words.clone().next().is_some() && words.all(number)
}

/// Tells whether a word, which may be a pattern for names, means our process.
fn means_us(word: &str, exact: bool) -> bool {
    let plain: String = word.chars().filter(|c| !"[]^$".contains(*c)).collect();
    if exact {
        return plain.starts_with("mcpproxy");
    }
    let part = plain.len() >= 3 && !plain.starts_with('-') && "mcpproxy".contains(&plain);
    part || plain.contains("mcpprox")
}

#[cfg(test)]
mod tests {
    use mcpproxy_classify::shell;

    use super::*;

    #[test]
    fn a_data_folder_of_another_name_is_written_as_the_usual_one() {
        let check = |text: &str, expect: &str| {
            assert_eq!(as_usual(text, Some("/srv/mp/")), expect, "{text}");
        };
        check("cat /srv/mp/api_key", "cat ~/.mcpproxy/api_key");
        check(
            "cd /srv/mp && ls; cat '/srv/mp'",
            "cd ~/.mcpproxy && ls; cat '~/.mcpproxy'",
        );
        check(
            "ls /srv/mp-old /srv/mp2 /x/srv/mpx",
            "ls /srv/mp-old /srv/mp2 /x/srv/mpx",
        );
        check("nothing", "nothing");
        assert_eq!(as_usual("cat /srv/mp/api_key", None), "cat /srv/mp/api_key");
    }

    #[test]
    fn our_programs_are_told_from_projects() {
        let check = |path: &str, expect: bool| assert_eq!(is_program(path), expect, "{path}");
        check("/srv/tools/bin/mcpproxy", true);
        check("~/.cargo/bin/mcpproxy-rest", true);
        check("/opt/mcpproxy/mcpproxy", true);
        check("~/src/mcpproxy", false);
        check("mcpproxy", false);
        check("bin/mcpproxy", false);
        check("./dist/bin/mcpproxy", false);
        check("/usr/bin/curl", false);
        check("bin/mcpproxy.md", false);
    }

    #[test]
    fn whoever_ends_our_process_is_known() {
        let check = |command: &str, expect: bool| {
            let told = shell::read(command).told;
            assert_eq!(is_ended(&told), expect, "{command}: {told:?}");
        };
        for command in [
            "pkill mcpproxy",
            "pkill -9 -f mcpproxy",
            "pkill -f '[m]cpproxy'",
            "pkill mcpp",
            "sudo killall mcpproxy",
            "kill $(pgrep mcpproxy)",
            "kill -9 `pidof mcpproxy`",
            "pgrep mcpproxy | xargs kill",
            "p=$(pgrep -f 'mcpproxy serve'); kill $p",
            "kill $(ps aux | grep mcpproxy | awk '{print $2}')",
            "ps aux | grep mcpproxy | awk '{print $2}' | xargs kill -9",
            "pgrep mcpproxy | xargs kill -s 9",
            "killall -r mcpp",
            "pkill -x mcpproxy-rest",
            "systemctl --user stop mcpproxy",
            "systemctl disable --now mcpproxy.service",
            "launchctl bootout gui/501/dev.mcpproxy",
        ] {
            check(command, true);
        }
        for command in [
            "pkill node",
            "pkill -f 'npm run dev'",
            "kill 4321",
            "kill $(pgrep node)",
            "kill %1",
            "pgrep mcpproxy",
            "ps aux | grep mcpproxy",
            "cd ~/src/mcpproxy && kill $PID",
            "cd ~/src/mcpproxy && kill $(cat dev.pid)",
            "kill $(lsof -ti:3000) && cd ~/mcpproxy-demo && npm start",
            "cd /srv/mcpproxy-site && npm run dev & sleep 5; kill $(jobs -p)",
            "kill $(lsof -ti:3000) # mcpproxy dev",
            "killall proxy",
            "pkill -x proxy",
            "ps aux | grep mcpproxy; kill 4321",
            "systemctl status mcpproxy",
            "systemctl stop nginx",
            "echo pkill mcpproxy",
        ] {
            check(command, false);
        }
    }
}
