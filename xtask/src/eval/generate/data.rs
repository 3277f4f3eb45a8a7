//! Arguments that name a file of credentials, and arguments that do not.

use serde_json::{Value, json};

use crate::eval::case::{Case, Detector};

const CREDENTIALS: &[&str] = &[
    "/home/ada/.ssh/id_ecdsa",
    "~/.aws/credentials",
    "/Users/ada/.config/gcloud/application_default_credentials.json",
    "C:\\Users\\ada\\.ssh\\id_rsa",
    "C:\\Users\\ada\\AppData\\Roaming\\gcloud\\credentials.db",
    "~/.kube/config",
    "../../.env.production",
    "/etc/shadow",
    "~/.docker/config.json",
    "~/.netrc",
    "~/.pgpass",
    "$HOME/.gnupg/private-keys-v1.d",
    "~/.git-credentials",
    "~/.cargo/credentials.toml",
    "~/.npmrc",
    "/Users/ada/Library/Keychains/login.keychain-db",
    "/proc/self/environ",
    "~/.azure/accessTokens.json",
    "~/.terraform.d/credentials.tfrc.json",
    "file:///home/ada/.ssh/id_ed25519",
];

const ORDINARY: &[&str] = &[
    "src/main.rs",
    "/home/ada/notes/credentials-policy.md",
    "docs/ssh.md",
    "C:\\Users\\ada\\Documents\\invoice.pdf",
    "~/.bashrc",
    "package.json",
    "/etc/hosts",
    "tests/fixtures/env.json",
    "~/.ssh/id_rsa.pub",
    "~/.ssh/known_hosts",
    ".env.example",
    "/var/log/syslog",
    "~/.config/nvim/init.lua",
    "keyboard.toml",
    "/usr/share/doc/passwd/README",
    "secretary/minutes.txt",
];

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (bad, source, paths) in [
        (true, "credentials", CREDENTIALS),
        (false, "ordinary", ORDINARY),
    ] {
        for (row, path) in paths.iter().enumerate() {
            for (column, arguments) in arguments(path).into_iter().enumerate() {
                let question = json!({ "kind": "args", "args": arguments });
                let id = format!("own/args/{source}/{row}/{column}");
                cases.push(Case::own(Detector::Paths, bad, source, id, question));
            }
        }
    }
    cases
}

fn arguments(path: &str) -> [Value; 4] {
    [
        json!({ "path": path }),
        json!({ "files": ["README.md", path], "encoding": "utf-8" }),
        json!({ "command": format!("cat \"{path}\" | head -5") }),
        json!({ "message": format!("please attach {path} to the ticket") }),
    ]
}
