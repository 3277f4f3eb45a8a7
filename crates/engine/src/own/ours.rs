//! What is ours on a machine, and what would stop it: the data folder, the programs, the process.

use std::borrow::Cow;

use mcpproxy_classify::shell::{Handed, Told};
use mcpproxy_detect::Detector;
use mcpproxy_text::{glob, path};

use crate::ready::Ready;

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
/// Variables that say where our folder is.
const VARIABLES: [&str; 2] = ["$MCPPROXY_DATA_DIR", "${MCPPROXY_DATA_DIR}"];
/// What tells in a command that what one program says is handed on to another as words.
const HANDED_ON: [&str; 6] = ["xargs", "$(", "`", "-exec", "parallel", " read "];
/// Verbs with which a program is taken away.
const REMOVING: [&str; 6] = ["uninstall", "remove", "purge", "rm", "autoremove", "-R"];
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

/// Writes a data folder of another name, and every file that is ours, as the usual folder, so that all
/// that is known of that one holds.
pub(super) fn as_usual<'t>(text: &'t str, own: &[Box<str>]) -> Cow<'t, str> {
    let mut usual = Cow::Borrowed(text);
    for place in own {
        if let Some(written) = one_as_usual(&usual, place.trim_end_matches('/')) {
            usual = Cow::Owned(written);
        }
    }
    usual
}

fn one_as_usual(text: &str, folder: &str) -> Option<String> {
    if folder.len() < SHORTEST || !text.contains(folder) {
        return None;
    }
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
    Some(usual)
}

/// What is known of the data folder, where keys and orders are.
#[derive(Clone, Copy)]
pub(super) struct Ours<'a> {
    pub(super) detector: &'a Detector,
    /// Where it is, if not in the usual place, and the files beside it.
    pub(super) own: &'a [Box<str>],
}

impl<'a> Ours<'a> {
    /// What the gateway knows of it.
    pub(super) fn of(ready: &'a Ready) -> Self {
        Self {
            detector: &ready.detector,
            own: &ready.settings.hooks.own,
        }
    }

    /// Tells whether a path leads there; a pattern does if it may.
    pub(super) fn holds(self, named: &str) -> bool {
        let folder = [named, "/"].concat();
        let found = self.detector.text(&folder).detections;
        found.iter().any(|found| found.detection.rule == RULE)
            || VARIABLES.iter().any(|variable| named.starts_with(variable))
            || is_usual(named)
            || self.compare(named, |asked, known| asked >= known)
    }

    /// Tells whether it goes with a path that goes.
    pub(super) fn goes_with(self, named: &str) -> bool {
        let normal = path::normal(named);
        let all = matches!(normal.trim_end_matches('/'), "" | "~" | "~/.*" | "/*");
        (all && !named.is_empty()) || self.compare(named, |asked, known| asked <= known)
    }

    /// Tells whether a path is on the way there, or within.
    pub(super) fn is_near(self, named: &str) -> bool {
        self.goes_with(named) || self.compare(named, |_, _| true)
    }

    /// Compares a path with each that is ours, as far as both go, and then how far they go.
    fn compare(self, named: &str, goes: fn(usize, usize) -> bool) -> bool {
        let asked = path::normal(named);
        let asked = parts(&asked);
        if asked.is_empty() || (asked.len() == 1 && !named.starts_with('/')) {
            return false;
        }
        self.own.iter().any(|known| {
            let known = path::normal(known);
            let known = parts(&known);
            let mut pairs = asked.iter().zip(&known);
            goes(asked.len(), known.len())
                && pairs.all(|(asked, known)| asked == known || glob::matches(asked, known))
        })
    }
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// Tells whether a pattern may stand for the usual folder, or a path for what is looked for in a home.
fn is_usual(named: &str) -> bool {
    let normal = path::normal(named).to_lowercase();
    let parts = parts(&normal);
    let within = parts.iter().enumerate().any(|(at, part)| {
        let next = parts.get(at + 1).copied().unwrap_or_default();
        stands_for_folder(part)
            && (says_something(part) || KEPT.iter().any(|kept| is_kept(next, kept)))
    });
    // Looked for in all of a home: `find ~ -name 'api_k*'`, `~/*/api_key`.
    let sought = match parts.as_slice() {
        ["~" | "root", between @ .., name]
        | ["home" | "users", _, between @ .., name]
        | [between @ .., name] => {
            let anywhere = between.iter().all(|part| matches!(*part, "*" | "**"));
            anywhere && KEPT.iter().any(|kept| name == kept || is_kept(name, kept))
        }
        [] => false,
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

/// Tells whether a program may look into the files that it is handed, or says to another where they are.
pub(super) fn opens(handed: &Handed, command: &str) -> bool {
    let goes_on = || {
        let speaks = !matches!(
            handed.program.as_str(),
            "mcpproxy" | "mcpproxy-rest" | "cd" | "pushd"
        );
        speaks && HANDED_ON.iter().any(|mark| command.contains(mark))
    };
    !LOOKERS.contains(&handed.program.as_str()) || goes_on()
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
    let has = |one: &Told, any: &[&str]| one.words.iter().any(|word| any.contains(&word.as_str()));
    told.iter().any(|one| match one.program.as_str() {
        "pkill" | "killall" | "skill" | "taskkill" | "stop-process" => names(one),
        // Whatever may be ended, or one that was looked for.
        "kill" => ends_all(one) || (sought && !is_told_which(one)),
        "systemctl" | "service" | "launchctl" => has(one, &STOPPING) && names(one),
        // Those only look, and an agent is only told to forget a server of that name.
        "grep" | "egrep" | "fgrep" | "rg" | "awk" | "gawk" | "sed" | "ps" | "pgrep" | "pidof"
        | "claude" | "codex" | "gemini" | "code" | "cursor" => false,
        _ => has(one, &REMOVING) && has(one, &PROGRAMS),
    })
}

/// `kill -9 -1`: a number alone would be the signal.
fn ends_all(told: &Told) -> bool {
    told.words.len() > 1 && told.words.last().is_some_and(|last| last == "-1")
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
            assert_eq!(as_usual(text, &["/srv/mp/".into()]), expect, "{text}");
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
        assert_eq!(as_usual("cat /srv/mp/api_key", &[]), "cat /srv/mp/api_key");
    }

    #[test]
    fn a_data_folder_elsewhere_is_known_by_where_paths_lead() {
        let detector = Detector::new(&mcpproxy_detect::Settings::default()).unwrap();
        let ours = Ours {
            detector: &detector,
            own: &["/srv/mp/data".into()],
        };
        for path in [
            "/srv/mp/data",
            "/srv/mp/./data/api_key",
            "/srv//mp/data/keys/x",
            "/srv/m*/data/api_key",
            "/srv/mp/d?ta",
            "~/.mcpproxy/api_key",
            "$MCPPROXY_DATA_DIR/api_key",
            "~/*/api_key",
            "~/api_k*",
            "~/**/api_key",
        ] {
            assert!(ours.holds(path), "{path}");
        }
        for path in [
            "/srv/mp",
            "/srv/mp/database",
            "/srv",
            "*",
            "src/api_key.rs",
            "/srv/app/api_key",
        ] {
            assert!(!ours.holds(path), "{path}");
        }
        for path in ["/srv/mp", "/srv/mp/data", "/srv/mp/*", "~", "/", "~/.*"] {
            assert!(ours.goes_with(path), "{path}");
        }
        for path in ["/srv/other", "/srv/mp/x", "build", "", "*", "~/src"] {
            assert!(!ours.goes_with(path), "{path}");
        }
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
            "cargo uninstall mcpproxy",
            "brew uninstall mcpproxy",
            "kill -9 -1",
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
            "cargo install mcpproxy",
            "npm remove left-pad",
            "kill -1 4321",
            "grep -R mcpproxy docs",
            "systemctl stop nginx",
            "echo pkill mcpproxy",
        ] {
            check(command, false);
        }
    }
}
