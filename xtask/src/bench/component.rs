//! Makes a WebAssembly component of an example, by the steps that `docs/wasm-hooks.md` gives.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wit_component::ComponentEncoder;

use crate::workspace;

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "path-guard";

/// Builds the hook that allows everything outside the paths it guards, into `folder`.
pub(super) fn built(root: &Path, folder: &Path) -> Result<PathBuf> {
    let mut cargo = workspace::cargo(&root.join("examples/wasm-hooks"));
    cargo
        .args(["build", "--quiet", "--release", "--locked"])
        .args(["--target", TARGET, "--package", PACKAGE, "--target-dir"])
        .arg(folder.join("build"))
        // Flags for this machine are none for WebAssembly.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    if !cargo.status().context("cannot run cargo")?.success() {
        bail!(
            "cannot build {PACKAGE}; where {TARGET} is missing, `rustup target add {TARGET}` adds it"
        );
    }
    let module = folder.join(format!("build/{TARGET}/release/path_guard.wasm"));
    let module = fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
    let component = ComponentEncoder::default().module(&module)?;
    let file = folder.join("path_guard.component.wasm");
    fs::write(&file, component.validate(true).encode()?)
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
