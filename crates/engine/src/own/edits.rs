//! Programs that change a file in its place: what they write to is a word like any other, and only
//! the program, or one of its options, tells that it is not read.

use mcpproxy_classify::agents::wiring;
use mcpproxy_classify::shell::Handed;

/// Programs that are there to change the files that they are given.
const EDITORS: [&str; 20] = [
    "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "micro", "sd", "patch", "sponge", "truncate",
    "shred", "chmod", "chown", "chattr", "gzip", "bzip2", "xz", "crudini",
];
/// Programs that change files when they are told so, and the words for it.
const TOLD: [(&str, &[&str]); 14] = [
    ("awk", &["inplace"]),
    ("gawk", &["inplace"]),
    ("yq", &["-i", "--inplace", "--in-place"]),
    ("jaq", &["-i", "--in-place"]),
    ("tomlq", &["-i", "--in-place"]),
    ("json", &["-I"]),
    ("dasel", &["put", "delete", "-w"]),
    ("prettier", &["--write", "-w"]),
    ("biome", &["--write", "--fix", "--apply"]),
    ("dprint", &["fmt"]),
    ("eslint", &["--fix"]),
    ("jj", &["restore"]),
    ("hg", &["revert", "mv", "rm"]),
    ("chezmoi", &["apply", "add"]),
];
/// Programs that run the program of a package.
const RUNNERS: [&str; 6] = ["npx", "bunx", "pnpm", "yarn", "npm", "uvx"];
/// What git is told when it changes files, and what keeps it from that.
const GIT: [&str; 8] = [
    "mv", "rm", "checkout", "restore", "reset", "apply", "clean", "stash",
];
const INDEX_ONLY: [&str; 2] = ["--cached", "--staged"];
/// Programs that put files into a folder, or something else into its place, or make another way there.
const UNPACKERS: [&str; 6] = ["unzip", "7z", "7za", "cpio", "mount", "ln"];

/// Tells whether a program changes what decides what an agent starts.
pub(super) fn is_edit(handed: &Handed) -> bool {
    let mut words = handed.words.iter().map(String::as_str);
    let program = match handed.program.as_str() {
        runner if RUNNERS.contains(&runner) => {
            let mut named = words.clone();
            let named =
                named.find(|word| !word.starts_with('-') && !matches!(*word, "exec" | "dlx"));
            named.unwrap_or_default()
        }
        program => program,
    };
    let holds = || handed.paths.iter().any(|path| wiring::holds_wiring(path));
    if UNPACKERS.contains(&program) {
        return holds();
    }
    if program == "git" {
        return is_git_edit(handed);
    }
    if matches!(program, "tar" | "bsdtar") {
        return words.any(unpacks) && holds();
    }
    let changes = EDITORS.contains(&program)
        || (matches!(program, "perl" | "ruby") && words.clone().any(is_in_place))
        || TOLD
            .iter()
            .filter(|(name, _)| *name == program)
            .any(|(_, told)| words.any(|word| told.contains(&word)));
    changes && handed.paths.iter().any(|path| wiring::is_wiring(path))
}

/// A folder goes with all that is in it, and what `clean` leaves out stays.
fn is_git_edit(handed: &Handed) -> bool {
    let has = |any: &[&str]| handed.words.iter().any(|word| any.contains(&word.as_str()));
    let kept = |path: &String| {
        let mut pairs = handed.words.windows(2);
        pairs.any(|pair| matches!(pair, [option, value] if matches!(option.as_str(), "-e" | "--exclude") && path.ends_with(value.as_str())))
    };
    let mut changed = handed.paths.iter().filter(|path| !kept(path));
    has(&GIT) && !has(&INDEX_ONLY) && changed.any(|path| wiring::holds_wiring(path))
}

/// `xf`, `-xzf`, `--extract`.
fn unpacks(word: &str) -> bool {
    let letters = word.trim_start_matches('-');
    let bundle = letters.len() <= 6 && letters.chars().all(|letter| letter.is_ascii_alphabetic());
    matches!(word, "--extract" | "--get") || (bundle && letters.contains('x'))
}

/// `-i`, `-pi`, `-i.bak`; not `-Ilib` or `-MList::Util`.
fn is_in_place(word: &str) -> bool {
    let options = word.strip_prefix('-').unwrap_or_default();
    let mut letters = options.chars();
    !options.starts_with(['I', 'M', 'm', 'r', '-'])
        && letters
            .by_ref()
            .take(8)
            .take_while(char::is_ascii_alphanumeric)
            .any(|letter| letter == 'i')
}

#[cfg(test)]
mod tests {
    use mcpproxy_classify::shell;

    use super::*;

    #[test]
    fn changes_in_place_are_told_from_reading() {
        let check = |command: &str, expect: bool| {
            let handed = shell::read(command).handed;
            assert_eq!(handed.iter().any(is_edit), expect, "{command}: {handed:?}");
        };
        for command in [
            "perl -i -pe s/mcpproxy/true/ ~/.claude/settings.json",
            "perl -pi.bak -e s/a/b/ ~/.claude/settings.json",
            "awk -i inplace 1 ~/.claude/settings.json",
            "yq -i 'del(.hooks)' ~/.gemini/settings.json",
            "ed ~/.claude/settings.json",
            "cd ~/.claude && vim -es settings.json",
            "sudo chmod 000 ~/.cursor/hooks.json",
            "git mv .claude/settings.json x",
            "git checkout HEAD~3 -- .claude/settings.json",
            "git restore --source=HEAD~1 .claude/settings.json",
            "npx prettier --write .mcp.json",
            "git checkout HEAD~1 .claude",
            "git -C ~/.claude stash",
            "git stash -- .claude/settings.json",
            "gzip ~/.claude/settings.json",
            "jaq -i 'del(.hooks)' ~/.claude/settings.json",
            "mount --bind /tmp/x ~/.claude",
            "ln -s ~/.claude /tmp/c",
            "tar xf x.tar -C ~/.claude",
            "unzip x.zip -d ~/.claude",
        ] {
            check(command, true);
        }
        for command in [
            "cat ~/.claude/settings.json",
            "jq .hooks ~/.claude/settings.json",
            "perl -ne print ~/.claude/settings.json",
            "git diff .claude/settings.json",
            "git add .mcp.json",
            "git rm --cached .mcp.json",
            "git restore --staged .mcp.json",
            "git clean -fd -e .claude",
            "git commit -m 'rm .claude/settings.json'",
            "ln -s ../shared/AGENTS.md AGENTS.md",
            "git checkout main",
            "prettier --check .mcp.json",
            "tar czf x.tgz .claude",
            "vim src/main.rs",
            "chmod +x run.sh",
        ] {
            check(command, false);
        }
    }
}
