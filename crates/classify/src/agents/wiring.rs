//! The files in which agents keep what they start and what watches them: servers, hooks,
//! permissions. Whoever writes there decides what runs the next time.
//!
//! Where each agent looks is for `agents` to know; here a path alone must be enough.

use mcpproxy_text::{glob, path};

/// Names that are such a file in any folder.
const NAMES: [&str; 14] = [
    ".mcp.json",
    "mcp_config.json",
    "mcp-config.json",
    "mcp_settings.json",
    "cline_mcp_settings.json",
    "claude_desktop_config.json",
    ".claude.json",
    "opencode.json",
    "opencode.jsonc",
    // Ours: which upstreams are started, and what watches them.
    "mcpproxy.yaml",
    "mcpproxy.yml",
    "mcpproxy.json",
    // What programs made with an SDK take our hooks from.
    "mcpproxy_hooks.py",
    "mcpproxy_hooks.ts",
];
/// Ends of paths that are such a file.
const ENDS: [&str; 16] = [
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".vscode/mcp.json",
    ".kiro/settings/mcp.json",
    ".aws/amazonq/mcp.json",
    ".roo/mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".windsurf/hooks.json",
    ".codeium/windsurf/hooks.json",
    ".copilot/settings.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
];
/// Folders of which every file is run or read as such.
const FOLDERS: [&str; 10] = [
    ".claude/hooks",
    ".kiro/hooks",
    ".kiro/agents",
    ".github/hooks",
    ".copilot/hooks",
    ".opencode/plugin",
    ".opencode/plugins",
    ".agents/plugins",
    ".clinerules/hooks",
    "documents/cline/hooks",
];
/// Ends and folders that are such only where programs keep their settings: a project may have the same.
const SETTLED_ENDS: [&str; 6] = [
    "user/mcp.json",
    "claude-code/managed-settings.json",
    "gemini-cli/settings.json",
    "goose/config.yaml",
    "goose/config/config.yaml",
    "zed/settings.json",
];
const SETTLED_FOLDERS: [&str; 2] = ["opencode/plugin", "opencode/plugins"];
/// Where programs keep their settings.
const SETTLED: [&str; 5] = [
    ".config",
    "application support",
    "roaming",
    "etc",
    "programdata",
];
/// What is in every path of those above that has no dot.
const MARKS: [&str; 2] = ["hooks", "plugin"];
/// Folders that hold much else, and go for other reasons.
const SHARED: [&str; 7] = [
    ".vscode",
    ".github",
    ".aws",
    "user",
    "zed",
    "documents",
    "opencode",
];
/// Commands that write such a file: the program, and what it is told.
const COMMANDS: [(&str, &[&str]); 13] = [
    ("claude", &["config", "set"]),
    ("claude", &["config", "add"]),
    ("claude", &["config", "remove"]),
    ("claude", &["mcp", "add"]),
    ("claude", &["mcp", "add-json"]),
    ("claude", &["mcp", "remove"]),
    ("codex", &["mcp", "add"]),
    ("codex", &["mcp", "remove"]),
    ("gemini", &["mcp", "add"]),
    ("gemini", &["mcp", "remove"]),
    ("gemini", &["hooks", "disable"]),
    ("code", &["--add-mcp"]),
    ("cursor", &["--add-mcp"]),
];

/// Options with which an agent starts without its hooks, or with others.
const LOOSE: [(&str, &[&str]); 2] = [
    ("claude", &["--settings", "--setting-sources", "--bare"]),
    ("codex", &["--dangerously-bypass-hook-trust", "--disable"]),
];
/// Variables that say where an agent finds all that.
const VARIABLES: [&str; 2] = ["CLAUDE_CONFIG_DIR=", "CODEX_HOME="];

/// Tells at a glance whether a path may be one that decides: hardly any word of a command is, and to
/// compare each with all that is known takes a hundred times as long as to read it.
pub fn may_decide(named: &str) -> bool {
    let holds = |mark: &&str| {
        let mut windows = named.as_bytes().windows(mark.len());
        windows.any(|window| window.eq_ignore_ascii_case(mark.as_bytes()))
    };
    named.contains(['.', '*', '?', '[']) || MARKS.iter().any(holds)
}

/// Tells whether a file decides what an agent starts, by its path. A pattern counts as all that it
/// stands for.
pub fn is_wiring(named: &str) -> bool {
    let normal = path::normal(named).to_lowercase();
    let asked: Vec<_> = parts(&normal).collect();
    let named = asked.last().is_some_and(|name| {
        let patterned = || glob::is_pattern(name) && says_something(name);
        let stands = |known: &&str| name == known || (patterned() && stands_for(name, known));
        NAMES.iter().any(stands)
    });
    let ends = |end: &&str| {
        let end: Vec<_> = parts(end).collect();
        let tail = asked.len().checked_sub(end.len());
        tail.and_then(|at| asked.get(at..))
            .is_some_and(|tail| agree(tail, &end))
    };
    let inside = |folder: &&str| {
        let folder: Vec<_> = parts(folder).collect();
        let above = asked
            .split_last()
            .map(|(_, above)| above)
            .unwrap_or_default();
        above
            .windows(folder.len())
            .any(|window| agree(window, &folder))
    };
    let settled = || {
        is_settled(&asked) && (SETTLED_ENDS.iter().any(ends) || SETTLED_FOLDERS.iter().any(inside))
    };
    named || ENDS.iter().any(ends) || FOLDERS.iter().any(inside) || settled()
}

fn is_settled(asked: &[&str]) -> bool {
    asked.iter().any(|part| SETTLED.contains(part))
}

/// Tells whether what goes takes along what decides what an agent starts: such a file, or a folder
/// that is there for them.
pub fn holds_wiring(named: &str) -> bool {
    let normal = path::normal(named).to_lowercase();
    let mut asked: Vec<_> = parts(&normal).collect();
    // All that is in a folder is the folder.
    while asked.last().is_some_and(|part| matches!(*part, "*" | ".*")) {
        asked.pop();
    }
    let holds = |folder: &str| {
        let folder: Vec<_> = parts(folder).collect();
        (1..=folder.len()).any(|depth| {
            let above = folder.get(..depth).unwrap_or_default();
            let tail = asked.len().checked_sub(depth);
            let tail = tail.and_then(|at| asked.get(at..)).unwrap_or_default();
            let shared = depth == 1 && above.iter().any(|first| SHARED.contains(first));
            !shared && agree(tail, above)
        })
    };
    let above = |end: &&'static str| Some(end.rsplit_once('/')?.0);
    let (files, settled) = (ENDS.iter(), SETTLED_ENDS.iter());
    is_wiring(named)
        || files.filter_map(above).chain(FOLDERS).any(holds)
        || (is_settled(&asked) && settled.filter_map(above).chain(SETTLED_FOLDERS).any(holds))
}

/// Compares parts of paths, of which some may be patterns; the first must say what folder it means,
/// or begin like one whose file is named.
fn agree(asked: &[&str], known: &[&str]) -> bool {
    let named = || asked.last().is_some_and(|last| !glob::is_pattern(last));
    let begins = |first: &str| first.starts_with('.') && first.contains(char::is_alphabetic);
    let says = asked.first().is_some_and(|first| {
        says_something(first) || (asked.len() > 1 && begins(first) && named())
    });
    let mut pairs = asked.iter().zip(known);
    says && asked.len() == known.len() && pairs.all(|(asked, known)| stands_for(asked, known))
}

/// A star does not stand for names that begin with a dot.
fn stands_for(asked: &str, known: &str) -> bool {
    let hidden = known.starts_with('.') && !asked.starts_with(['.', '[', '?']);
    !hidden && (asked == known || glob::matches(asked, known))
}

/// Tells whether a part says enough of a name: `*.json` may be any.
fn says_something(part: &str) -> bool {
    let letters = part.chars().filter(|letter| !"*?[]".contains(*letter));
    !glob::is_pattern(part) || (letters.count() >= 3 && !part.starts_with('*'))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    let each = path.split('/');
    each.filter(|part| !part.is_empty() && *part != ".")
}

/// Tells whether a command has an agent add to what it starts, by the words it is made of.
pub fn rewires(words: &[&str]) -> bool {
    let mut places = words.iter().enumerate();
    let told = places.any(|(at, word)| {
        let (name, rest) = (program(word), words.get(at + 1..).unwrap_or_default());
        let mut commands = COMMANDS.iter();
        commands.any(|(known, told)| *known == name && rest.starts_with(told))
    });
    // Only what is run counts here: an option may be spoken of anywhere.
    let loosened = |(name, options): &(&str, &[&str])| {
        let (first, rest) = words.split_first().unwrap_or((&"", &[]));
        let mut given = rest
            .iter()
            .map(|word| word.split('=').next().unwrap_or(word));
        program(first) == *name && given.any(|option| options.contains(&option))
    };
    let moved = || {
        let is_set = |word: &&str| VARIABLES.iter().any(|name| word.starts_with(name));
        let mut behind = words.iter().skip_while(|word| !is_set(word));
        behind.any(|word| LOOSE.iter().any(|(name, _)| program(word) == *name))
    };
    told || LOOSE.iter().any(loosened) || moved()
}

/// Returns the program that a word names. Every word of a command is asked, so nothing is prepared to
/// search in it.
fn program(word: &str) -> &str {
    let bare = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let ends = [".cmd", ".exe"];
    let stem = ends.iter().find_map(|end| bare.strip_suffix(end));
    stem.unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_is_seen_at_a_glance() {
        let folders = FOLDERS.iter().chain(&SETTLED_FOLDERS);
        let within = folders.map(|folder| format!("{folder}/run"));
        let known = NAMES.iter().chain(&ENDS).chain(&SETTLED_ENDS);
        let known = known.map(ToString::to_string);
        for path in known.chain(within) {
            assert!(may_decide(&path), "{path}");
        }
        assert!(may_decide("~/Documents/Cline/HOOKS/PreToolUse"));
        assert!(!may_decide("brown") && !may_decide("/usr/bin/env"));
    }

    #[test]
    fn files_that_decide_what_an_agent_starts_are_known() {
        let check = |path: &str, expect: bool| assert_eq!(is_wiring(path), expect, "{path}");
        for path in [
            ".mcp.json",
            "/srv/project/.cursor/mcp.json",
            "/srv/project/.cursor/../.cursor/MCP.json",
            r"C:\Users\ann\.claude\settings.local.json",
            "~/.claude.json",
            "$HOME/.codex/config.toml",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
            "~/.config/Code/User/mcp.json",
            "~/Library/Application Support/Code/User/mcp.json",
            "/etc/claude-code/managed-settings.json",
            "~/.config/goose/config.yaml",
            "~/.config/zed/settings.json",
            ".github/hooks/build.json",
            "~/.codeium/windsurf/mcp_config.json",
            "/srv/project/mcpproxy.yaml",
            "mcpproxy.json",
            // What `hook install` writes.
            "~/.agents/plugins/mcpproxy/hooks/hooks.json",
            "~/.config/opencode/plugins/mcpproxy.ts",
            ".opencode/plugins/mcpproxy.ts",
            "~/.codeium/windsurf/hooks.json",
            ".windsurf/hooks.json",
            ".clinerules/hooks/PreToolUse",
            "~/Documents/Cline/Hooks/PreToolUse",
            "mcpproxy_hooks.py",
            "src/mcpproxy_hooks.ts",
            ".kiro/hooks/mcpproxy.json",
            ".copilot/hooks/mcpproxy.json",
            // Patterns.
            "~/.claude/settings*",
            "~/.claude/*.json",
            "~/.cl*/settings.json",
            "~/.c?aude/settings.json",
            ".mcp*",
            "~/.claude/hooks/*",
        ] {
            check(path, true);
        }
        for path in [
            "mcp.json",
            "src/settings.json",
            ".vscode/settings.json",
            "docs/cursor/mcp.json.md",
            "my.cursor/mcp.json",
            ".claude/commands/review.md",
            ".git/hooks/pre-commit",
            "*.json",
            "*/*.yaml",
            "src/*/config.yaml",
            // Of a project.
            "src/user/mcp.json",
            "charts/goose/config.yaml",
            "packages/opencode/plugins/x.ts",
            "~/.claude/agents/*.md",
            "~/.claude",
            "",
        ] {
            check(path, false);
        }
    }

    #[test]
    fn folders_that_hold_such_files_are_known() {
        let check = |path: &str, expect: bool| assert_eq!(holds_wiring(path), expect, "{path}");
        for path in [
            "~/.claude",
            "~/.claude/",
            "/srv/project/.claude",
            "~/.claude/*",
            "~/.cla*",
            "~/.claude/hooks",
            ".cursor",
            "~/.gemini",
            "~/.codex",
            "~/.codeium/windsurf",
            "~/.agents/plugins",
            ".clinerules",
            "~/.config/opencode/plugins",
            ".github/hooks",
            "~/.claude/settings.json",
        ] {
            check(path, true);
        }
        for path in [
            "~/.claude.bak",
            "~/.claude/commands",
            "~/.claude/projects/x",
            ".vscode",
            ".github",
            ".github/workflows",
            "documents",
            "build",
            "*",
            ".*",
            "src/opencode",
            "",
        ] {
            check(path, false);
        }
    }

    #[test]
    fn commands_that_add_to_it_are_known() {
        let check = |command: &str, expect: bool| {
            let words: Vec<_> = command.split_whitespace().collect();
            assert_eq!(rewires(&words), expect, "{command}");
        };
        check("claude mcp add notes -- npx notes", true);
        check("cd x && /usr/bin/claude mcp add-json n {}", true);
        check("code --add-mcp {\"name\":\"x\"}", true);
        check(r"C:\bin\claude.exe mcp add notes", true);
        check("claude.cmd mcp remove notes", true);
        check("claude mcp remove mcpproxy", true);
        check("claude --settings {\"disableAllHooks\":true} -p x", true);
        check("codex exec --dangerously-bypass-hook-trust x", true);
        check("CLAUDE_CONFIG_DIR=/tmp/x claude -p y", true);
        check("claude mcp list", false);
        check("claude -p x", false);
        check("echo claude --settings", false);
        check("ls $CLAUDE_CONFIG_DIR", false);
        check("echo mcp add", false);
        check("claude", false);
    }
}
