//! Where paths lead: one that an agent's tool is given may be a link to what it must not touch, or say
//! only half of where it is.
//!
//! It is looked at from here. A gateway that runs elsewhere, or as somebody who may not look, sees no
//! link; and who changes one after this was looked at is not seen either.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpproxy_agents::hook::Asked;
use mcpproxy_engine::{MOST_PATHS, paths_given};
use serde_json::Value;

/// How long it may take to look at the paths of one call: a folder may be far away.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns where the paths of a call lead that do not say it: links, and those that begin where the agent
/// works. Nothing where they are too many, or that takes too long.
pub(super) async fn followed(arguments: &Value, asked: &Asked) -> Option<Vec<Box<str>>> {
    let paths = paths_given(&arguments.to_string());
    if paths.is_empty() {
        return Some(Vec::new());
    }
    if paths.len() >= MOST_PATHS {
        return None;
    }
    let folder = PathBuf::from(asked.cwd.as_deref().unwrap_or("/"));
    let look = move || {
        let led = paths.iter().filter_map(|path| led(&folder, path));
        led.map(|path| path.to_string_lossy().into()).collect()
    };
    let looked = tokio::task::spawn_blocking(look);
    tokio::time::timeout(PATIENCE, looked).await.ok()?.ok()
}

fn led(folder: &Path, path: &str) -> Option<PathBuf> {
    let whole = folder.join(path);
    let says_less = !path.starts_with(['/', '~']);
    lead(&whole).or_else(|| says_less.then_some(whole))
}

/// Returns where a path leads, if it is not where it says. A file that is not there yet is where its
/// folder is.
fn lead(path: &Path) -> Option<PathBuf> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        // A link to a file that is not there makes it.
        Err(_) => match (path.read_link(), path.parent(), path.file_name()) {
            (Ok(target), Some(folder), _) => folder.join(target),
            (Err(_), Some(folder), Some(name)) => folder.canonicalize().ok()?.join(name),
            _ => return None,
        },
    };
    (real != path).then_some(real)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_and_other_paths_are_where_they_say() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let at = |name: &str| home.join(name);
        std::fs::create_dir(at(".claude")).unwrap();
        std::fs::write(at(".claude/settings.json"), "{}").unwrap();
        std::fs::write(at("notes.md"), "lamps").unwrap();
        symlink(at(".claude/settings.json"), at("link.md")).unwrap();
        symlink(at(".claude"), at("folder")).unwrap();
        symlink(at(".mcp.json"), at("dangling.md")).unwrap();
        symlink(".mcp.json", at("relative.md")).unwrap();
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(lead(&at(name)), expect.map(at), "{name}");
        };
        check("notes.md", None);
        check("new.md", None);
        check("no/such/folder.md", None);
        check("link.md", Some(".claude/settings.json"));
        check("folder/settings.json", Some(".claude/settings.json"));
        check("folder/new.json", Some(".claude/new.json"));
        check("dangling.md", Some(".mcp.json"));
        check("relative.md", Some(".mcp.json"));
        let led = |path: &str| led(&at(".claude"), path);
        assert_eq!(led("settings.json"), Some(at(".claude/settings.json")));
        assert_eq!(led("../notes.md"), Some(at("notes.md")));
        assert_eq!(led(&at("notes.md").to_string_lossy()), None);
    }
}
