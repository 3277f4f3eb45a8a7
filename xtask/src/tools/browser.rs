//! What the dashboard is looked at with: Chromium of the system, driven by Playwright, with axe to
//! find what keeps people out.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Set, apt, node, on_path};

pub(super) const NAME: &str = "browser";

const PACKAGES: &[&str] = &["axe-core@4.14.0", "playwright-core@1.65.0"];
/// Names under which systems have the browser.
const PROGRAMS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

pub(super) fn set(folder: &Path) -> Set {
    Set {
        name: NAME,
        contents: PACKAGES.join("\n"),
        proof: folder.join("node_modules/playwright-core/package.json"),
    }
}

/// Installs the packages without their install scripts, which would fetch a browser.
pub(super) fn install(folder: &Path) -> Result<()> {
    node::fetch(folder, PACKAGES)
}

/// Finds the browser, and tries to install it where it is missing; without it the dashboard is not
/// looked at, and the run says so.
pub(super) fn chromium() -> Option<PathBuf> {
    let found = on_path(PROGRAMS);
    if found.is_some() {
        return found;
    }
    apt("chromium");
    let found = on_path(PROGRAMS);
    if found.is_none() {
        println!("no Chromium: the dashboard is not tested in a browser");
        println!("install the package `chromium`, or put it on the PATH as `chromium`");
    }
    found
}
