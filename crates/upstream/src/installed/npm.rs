//! Packages of npm: the nearest folder above a script that is a package in `node_modules`.

use std::path::Path;

use mcpproxy_core::{Installed, Origin};
use serde::Deserialize;

use super::digest;

/// The largest `package.json`.
const LARGEST: u64 = 1024 * 1024;

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    version: Option<String>,
}

/// Returns the package that a script is of. A script that is in no `node_modules` is somebody's own
/// work, and changes without a new version.
pub(super) fn package(script: &Path) -> Option<Installed> {
    // What starts a package is a link in `node_modules/.bin`.
    let script = script.canonicalize().ok()?;
    let mut folders = script.ancestors().skip(1);
    let (folder, name) = folders.find_map(|folder| Some((folder, name(folder)?)))?;
    let manifest = super::read(&folder.join("package.json"), LARGEST)?;
    let Manifest { version } = serde_json::from_str(&manifest).ok()?;
    Some(Installed {
        origin: Origin::Npm,
        name,
        version,
        digest: digest::of_folder(folder, &["node_modules"]),
    })
}

/// Names the package that a folder is: `node_modules/name` or `node_modules/@scope/name`. What the
/// package calls itself is its own word; the folder is the installer's.
fn name(folder: &Path) -> Option<String> {
    let own = |folder: &Path| folder.file_name()?.to_str().map(str::to_owned);
    let parent = folder.parent()?;
    let (name, above) = (own(folder)?, own(parent)?);
    if above == "node_modules" {
        // A scope is no package.
        return (!name.starts_with('@')).then_some(name);
    }
    let scoped = above.starts_with('@') && own(parent.parent()?)? == "node_modules";
    scoped.then(|| format!("{above}/{name}"))
}
