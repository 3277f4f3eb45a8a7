//! The files in which agents keep what they start and what watches them: servers, hooks,
//! permissions. Whoever writes there decides what runs the next time.
//!
//! Where each agent looks is for `agents` to know; here a path alone must be enough.

use mcpproxy_text::path;

/// Names that are such a file in any folder.
const NAMES: [&str; 10] = [
    ".mcp.json",
    "mcp_config.json",
    "mcp-config.json",
    "mcp_settings.json",
    "cline_mcp_settings.json",
    "claude_desktop_config.json",
    ".claude.json",
    // Ours: which upstreams are started, and what watches them.
    "mcpproxy.yaml",
    "mcpproxy.yml",
    "mcpproxy.json",
];
/// Ends of paths that are such a file.
const ENDS: [&str; 17] = [
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".vscode/mcp.json",
    "user/mcp.json",
    ".kiro/settings/mcp.json",
    ".aws/amazonq/mcp.json",
    ".roo/mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".windsurf/hooks.json",
    "goose/config.yaml",
    "goose/config/config.yaml",
    "opencode/opencode.json",
    "zed/settings.json",
];
/// Folders of which every file is run or read as such.
const FOLDERS: [&str; 6] = [
    ".claude/hooks",
    ".kiro/hooks",
    ".github/hooks",
    ".copilot/hooks",
    ".opencode/plugin",
    ".opencode/plugins",
];
/// Commands that write such a file: the program, and what it is told.
const COMMANDS: [(&str, &[&str]); 6] = [
    ("claude", &["mcp", "add"]),
    ("claude", &["mcp", "add-json"]),
    ("codex", &["mcp", "add"]),
    ("gemini", &["mcp", "add"]),
    ("code", &["--add-mcp"]),
    ("cursor", &["--add-mcp"]),
];

/// Tells whether a file decides what an agent starts, by its path.
pub fn is_wiring(named: &str) -> bool {
    let normal = path::normal(named).to_lowercase();
    let rooted = ["/", normal.trim_start_matches('/')].concat();
    let name = rooted.rsplit('/').next().unwrap_or_default();
    let ends = |end: &&str| {
        let before = rooted.strip_suffix(*end);
        before.is_some_and(|before| before.ends_with('/'))
    };
    let inside = |folder: &&str| rooted.contains(&["/", folder, "/"].concat());
    NAMES.contains(&name) || ENDS.iter().any(ends) || FOLDERS.iter().any(inside)
}

/// Tells whether a command has an agent add to what it starts, by the words it is made of.
pub fn rewires(words: &[&str]) -> bool {
    let program = |word: &str, name: &str| {
        let bare = word.rsplit(['/', '\\']).next().unwrap_or(word);
        bare.trim_end_matches(".cmd").trim_end_matches(".exe") == name
    };
    COMMANDS.iter().any(|(name, told)| {
        let mut places = words.iter().enumerate();
        places.any(|(at, word)| {
            let rest = words.get(at + 1..).unwrap_or_default();
            program(word, name) && rest.starts_with(told)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ".github/hooks/build.json",
            "~/.codeium/windsurf/mcp_config.json",
            "/srv/project/mcpproxy.yaml",
            "mcpproxy.json",
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
        check("claude mcp list", false);
        check("echo mcp add", false);
        check("claude", false);
    }
}
