//! A home folder with the fixtures where the agents keep their files.

use std::fs;
use std::path::{Path, PathBuf};

use mcpproxy_agents::{Endpoint, Found, Launch, Os, Places, Plan, discover, plan};
use tempfile::TempDir;

/// Fixture and place, of which the first folder is the home or the project.
pub(crate) const FILES: [(&str, &str); 11] = [
    ("claude_code.json", "home/.claude.json"),
    ("claude_code_project.json", "shop/.mcp.json"),
    (
        "claude_desktop.json",
        "home/.config/Claude/claude_desktop_config.json",
    ),
    ("cursor.json", "home/.cursor/mcp.json"),
    ("cursor_project.json", "shop/.cursor/mcp.json"),
    ("vscode.json", "home/.config/Code/User/mcp.json"),
    ("vscode_project.json", "shop/.vscode/mcp.json"),
    ("codex.toml", "home/.codex/config.toml"),
    ("gemini.json", "home/.gemini/settings.json"),
    ("windsurf.json", "home/.codeium/windsurf/mcp_config.json"),
    ("goose.yaml", "home/.config/goose/config.yaml"),
];

/// A folder that is removed with the test.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// Makes an empty home and an empty project.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "shop"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// Makes a home in which every agent has its fixture.
    pub(crate) fn full() -> Self {
        let home = Self::empty();
        for (name, place) in FILES {
            home.write(place, &fixture(name));
        }
        home
    }

    pub(crate) fn places(&self) -> Places {
        let path = |name| self.folder.path().join(name);
        Places::usual(&path("home"), &path("shop"), Os::Linux)
    }

    pub(crate) fn path(&self, place: &str) -> PathBuf {
        self.folder.path().join(place)
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.path("backups")
    }

    pub(crate) fn read(&self, place: &str) -> String {
        fs::read_to_string(self.path(place)).unwrap()
    }

    pub(crate) fn write(&self, place: &str, text: &str) {
        let path = self.path(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn found(&self) -> Vec<Found> {
        discover(&self.places())
    }

    pub(crate) fn plan(&self) -> Plan {
        plan(&self.found(), &http())
    }

    /// Returns a text in which the folder of this test has a fixed name.
    pub(crate) fn steady(&self, text: &str) -> String {
        text.replace(self.folder.path().to_str().unwrap(), "")
    }
}

pub(crate) fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fs::read_to_string(folder.join(name)).unwrap()
}

pub(crate) fn launch() -> Launch {
    Launch {
        command: "/usr/bin/mcpproxy".into(),
        args: vec!["stdio".into()],
    }
}

pub(crate) fn http() -> Endpoint {
    Endpoint::Http {
        url: "http://127.0.0.1:8080/mcp".into(),
        bridge: launch(),
    }
}
