//! What programs are told that decide about an agent or about what guards it: their words are kept as
//! a shell would hand them over, whatever quotes, variables and wrappers stand around them.

use mcpproxy_text::glob;

use super::super::facts::{Handed, Told};
use super::super::interp::Interp;
use super::super::value::Value;
use crate::agents::wiring;

/// Programs that are listened to: the guard, agents, and what ends or looks up processes and services.
const HEARD: [&str; 20] = [
    "mcpproxy",
    "mcpproxy-rest",
    "claude",
    "codex",
    "gemini",
    "code",
    "cursor",
    "kill",
    "pkill",
    "killall",
    "killall5",
    "pgrep",
    "pidof",
    "fuser",
    "skill",
    "systemctl",
    "service",
    "launchctl",
    "taskkill",
    "stop-process",
];
/// Programs with which processes are looked for, and programs are taken away: heard only where they name
/// the guard's.
const SEEKERS: [&str; 24] = [
    "grep", "egrep", "fgrep", "rg", "awk", "gawk", "sed", "ps", "cargo", "brew", "npm", "pnpm",
    "yarn", "apt", "apt-get", "dnf", "yum", "pacman", "snap", "pip", "pipx", "scoop", "choco",
    "winget",
];
/// Programs that are given text: behind which options it stands, and whether the first word beside
/// options is text where none of them is there. A path in a text is only spoken of.
const TEXTS: [(&str, &[&str], bool); 14] = [
    ("git", &["-m", "--message", "--grep"], false),
    (
        "gh",
        &["-b", "--body", "-t", "--title", "-n", "--notes"],
        false,
    ),
    (
        "glab",
        &["-d", "--description", "-t", "--title", "-m"],
        false,
    ),
    ("jj", &["-m", "--message"], false),
    ("hg", &["-m", "--message"], false),
    ("grep", &["-e", "--regexp"], true),
    ("egrep", &["-e", "--regexp"], true),
    ("fgrep", &["-e", "--regexp"], true),
    ("rg", &["-e", "--regexp"], true),
    ("ag", &[], true),
    ("sed", &["-e", "--expression"], true),
    ("awk", &[], true),
    ("gawk", &[], true),
    ("perl", &["-e", "-E"], false),
];
/// How many words of one program are kept.
const MOST_WORDS: usize = 64;
/// How many words are looked at for paths.
const MOST_HANDED: usize = 1024;
/// The longest word that is a path.
const LONGEST_PATH: usize = 4096;
/// How much of a word is kept.
const LONGEST: usize = 256;
/// How many programs are kept.
const MOST: usize = 256;

/// Keeps the words of a program that is listened to.
pub(super) fn note(interp: &mut Interp, name: &str, args: &[Value]) {
    let program = name.to_ascii_lowercase();
    let seeks = SEEKERS.contains(&program.as_str()) && args.iter().any(seeks_guard);
    if !HEARD.contains(&program.as_str()) && !seeks {
        return;
    }
    let words = args.iter().take(MOST_WORDS);
    let short = |word: &Value| word.text.chars().take(LONGEST).collect();
    let told = Told {
        program,
        words: words.map(short).collect(),
    };
    if interp.facts.told.contains(&told) {
        return;
    }
    // An order may stand past what is kept; of others there may be as many words as there are files.
    let cut = args.len() > MOST_WORDS && told.program.starts_with("mcpproxy");
    if cut || interp.facts.told.len() >= MOST {
        interp.limit("words");
    } else {
        interp.facts.told.push(told);
    }
}

/// Keeps the words of a program that is handed a file of the agent's, or of the guard's.
pub(super) fn hand(interp: &mut Interp, name: &str, args: &[Value]) {
    let each = args.iter().take(MOST_HANDED).enumerate();
    let spoken = spoken(name, args);
    let paths: Vec<String> = each
        .filter(|(at, _)| !spoken.contains(at))
        .map(|(_, arg)| arg)
        .flat_map(|arg| paths(&arg.text))
        .map(|path| interp.resolve(path))
        .filter(|path| decides(path))
        .collect();
    note_paths(interp, name, args, paths);
}

/// Keeps what a program is handed; the words of code in another language are its literals.
pub(super) fn note_paths(interp: &mut Interp, name: &str, args: &[Value], paths: Vec<String>) {
    if paths.is_empty() {
        return;
    }
    let words = args.iter().take(MOST_WORDS);
    let short = |word: &Value| word.text.chars().take(LONGEST).collect();
    let handed = Handed {
        program: name.to_ascii_lowercase(),
        words: words.map(short).collect(),
        paths,
    };
    if interp.facts.handed.contains(&handed) {
        return;
    }
    if interp.facts.handed.len() >= MOST {
        interp.limit("words");
    } else {
        interp.facts.handed.push(handed);
    }
}

/// Returns the places of the words that are text, and name no file.
fn spoken(name: &str, args: &[Value]) -> Vec<usize> {
    let mut known = TEXTS.iter();
    let Some((_, options, first)) = known.find(|(program, _, _)| *program == name) else {
        return Vec::new();
    };
    // `-am text` is `-a -m text`, and `--message=text` is one word.
    let is_option = |word: &str| {
        let bundled = |option: &&str| {
            let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
            let bundle = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            letter
                .zip(bundle)
                .is_some_and(|(letter, bundle)| bundle.ends_with(letter))
        };
        options.contains(&word) || options.iter().any(bundled)
    };
    let holds = |word: &str| {
        let named = word.split_once('=').map(|(option, _)| option);
        named.is_some_and(|option| option.starts_with("--") && options.contains(&option))
    };
    let words = || args.iter().map(|arg| arg.text.as_str()).enumerate();
    let mut places: Vec<usize> = words()
        .filter(|(at, word)| {
            let before = at.checked_sub(1).and_then(|before| args.get(before));
            holds(word) || before.is_some_and(|before| is_option(&before.text))
        })
        .map(|(at, _)| at)
        .collect();
    if *first && places.is_empty() {
        places.extend(
            words()
                .find(|(_, word)| !word.starts_with('-'))
                .map(|(at, _)| at),
        );
    }
    places
}

/// The paths that a word may hold: itself, the value of an option, a file behind `@`, what is
/// mounted elsewhere.
fn paths(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once('=').map(|(_, value)| value);
    let file = word.split_once('@').map(|(_, file)| file);
    let mounted = word.split_once(':').map(|(path, _)| path);
    let each = [Some(word), value, file, mounted].into_iter().flatten();
    each.filter(|path| !path.is_empty() && path.len() <= LONGEST_PATH)
}

/// Tells whether a path may be one that decides. Whether one is the guard's is for others to know.
fn decides(path: &str) -> bool {
    // Most words of a command are no paths at all, and looking closely takes its time.
    if !wiring::may_decide(path) {
        return false;
    }
    let hidden = || path.contains("/.") || path.starts_with('.');
    path.contains(".mcp")
        || (glob::is_pattern(path) && hidden())
        || wiring::is_wiring(path)
        || wiring::holds_wiring(path)
}

/// `[m]cpproxy` is how people keep a search from finding itself.
fn seeks_guard(word: &Value) -> bool {
    let plain = |letter: &char| !"[]".contains(*letter);
    let plain: String = word.text.chars().take(LONGEST).filter(plain).collect();
    plain.contains("mcpprox")
}
