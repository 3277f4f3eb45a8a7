//! Which crate may depend on which. The table is the architecture; change it there first.
//!
//! Dev-dependencies are free, since tests may look from anywhere. Crates from the registry are
//! not judged here.

use std::path::Path;

use super::Problem;
use crate::workspace::{Dependency, Package};

/// What one crate may depend on.
enum Allowed {
    Only(&'static [&'static str]),
    All,
}

use Allowed::{All, Only};

/// The layers of the workspace by folder name, lowest first.
const EDGES: &[(&str, Allowed)] = &[
    ("core", Only(&[])),
    ("search", Only(&[])),
    ("text", Only(&["core"])),
    ("store", Only(&["core"])),
    ("hooks-remote", Only(&["core"])),
    ("hooks-wasm", Only(&["core"])),
    ("hooks-cedar", Only(&["text", "core"])),
    ("detect", Only(&["text", "core"])),
    ("classify", Only(&["text", "core"])),
    ("flow", Only(&["text", "core"])),
    ("policy", Only(&["text", "core"])),
    ("mcp", Only(&["text", "core"])),
    ("agents", Only(&["text", "core"])),
    ("notary", Only(&["text", "core"])),
    (
        "hooks",
        Only(&["detect", "classify", "flow", "policy", "text", "core"]),
    ),
    (
        "engine",
        Only(&[
            "hooks", "detect", "classify", "flow", "policy", "text", "core",
        ]),
    ),
    ("upstream", Only(&["mcp", "text", "core"])),
    ("control", Only(&["engine", "core"])),
    (
        "gateway",
        Only(&[
            "engine", "upstream", "mcp", "agents", "control", "search", "policy", "classify",
            "text", "core",
        ]),
    ),
    ("web", Only(&["mcp", "text", "core"])),
    ("auditor", Only(&["control", "core"])),
    (
        "config",
        Only(&[
            "gateway",
            "upstream",
            "hooks",
            "hooks-remote",
            "detect",
            "classify",
            "flow",
            "policy",
            "text",
            "core",
        ]),
    ),
    ("assay", Only(&["notary", "mcp", "agents", "text", "core"])),
    ("adversary", Only(&["config", "mcp", "text", "core"])),
    ("cli", All),
    ("testkit", Only(&["core", "text", "mcp"])),
    ("xtask", Only(&["adversary", "engine", "core"])),
];

/// Returns the dependencies of `package` that the table does not have.
pub(super) fn check(package: &Package, root: &Path, manifest: &str) -> Vec<Problem> {
    let file = package
        .manifest_path
        .strip_prefix(root)
        .unwrap_or(&package.manifest_path);
    let file = file.display().to_string();
    let Some(from) = package.manifest_path.parent().and_then(folder) else {
        return vec![Problem::new(&file, 1, "the package has no folder")];
    };
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == from) else {
        let message = format!("crate `{from}` has no row in the table of edges");
        return vec![Problem::new(&file, 1, message)];
    };
    let mut problems = Vec::new();
    for dependency in package
        .dependencies
        .iter()
        .filter(|d| d.kind.as_deref() != Some("dev"))
    {
        let Some(to) = dependency.path.as_deref().and_then(folder) else {
            continue;
        };
        if !permits(allowed, to) {
            let message = format!("crate `{from}` may not depend on `{to}`");
            problems.push(Problem::new(&file, line_of(manifest, dependency), message));
        }
    }
    problems
}

fn permits(allowed: &Allowed, to: &str) -> bool {
    match allowed {
        Only(names) => names.contains(&to),
        All => true,
    }
}

fn folder(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Finds the line that brings the dependency in: outside a dev section if there is one.
fn line_of(manifest: &str, dependency: &Dependency) -> usize {
    let mut dev = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            dev = line.contains("dev-dependencies");
        }
        let rest = line.strip_prefix(dependency.name.as_str());
        if !dev && rest.is_some_and(|rest| rest.starts_with([' ', '.', '='])) {
            return index + 1;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::path::PathBuf;

    use super::*;

    /// Each dependency is `folder` or `dev:folder`.
    fn check(from: &str, dependencies: &[&str], expect: &[&str]) {
        let dependencies: Vec<Dependency> = dependencies.iter().map(|name| parse(name)).collect();
        let lines = dependencies
            .iter()
            .map(|d| format!("{}.workspace = true\n", d.name));
        let manifest: String = iter::once("[dependencies]\n".to_owned())
            .chain(lines)
            .collect();
        let manifest_path = PathBuf::from(format!("/r/crates/{from}/Cargo.toml"));
        let package = Package {
            manifest_path,
            dependencies,
        };
        let found: Vec<String> = super::check(&package, Path::new("/r"), &manifest)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expect, "{from}");
    }

    fn parse(name: &str) -> Dependency {
        let (kind, folder) = name
            .split_once(':')
            .map_or((None, name), |(k, f)| (Some(k), f));
        let path = (folder != "serde").then(|| PathBuf::from(format!("/r/crates/{folder}")));
        let name = path
            .as_ref()
            .map_or(folder.to_owned(), |_| format!("mcpproxy-{folder}"));
        Dependency {
            name,
            kind: kind.map(ToOwned::to_owned),
            path,
        }
    }

    #[test]
    fn edges_outside_the_table_are_named_with_their_line() {
        check("text", &["core", "serde"], &[]);
        check(
            "core",
            &["text"],
            &["crates/core/Cargo.toml:2: crate `core` may not depend on `text`"],
        );
        check(
            "control",
            &["engine", "core", "store"],
            &["crates/control/Cargo.toml:4: crate `control` may not depend on `store`"],
        );
        check("policy", &["dev:testkit", "dev:engine"], &[]);
        check(
            "policy",
            &["build:mcp"],
            &["crates/policy/Cargo.toml:2: crate `policy` may not depend on `mcp`"],
        );
        check("cli", &["gateway", "store", "testkit"], &[]);
        check(
            "extra",
            &[],
            &["crates/extra/Cargo.toml:1: crate `extra` has no row in the table of edges"],
        );
    }

    #[test]
    fn the_table_has_no_cycle() {
        // Every crate stands below those that use it once the table is walked lowest first.
        let mut placed: Vec<&str> = Vec::new();
        let mut waiting: Vec<&(&str, Allowed)> = EDGES.iter().collect();
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|(name, allowed)| {
                let ready = match allowed {
                    Only(names) => names.iter().all(|to| placed.contains(to)),
                    All => true,
                };
                if ready {
                    placed.push(name);
                }
                !ready
            });
            assert!(
                waiting.len() < before,
                "cycle or unknown name among the rest"
            );
        }
    }
}
