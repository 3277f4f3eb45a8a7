//! Components that are compiled for the tests, by the steps that `docs/wasm-hooks.md` gives.

use std::path::{Path, PathBuf};
use std::process::Command;

use wit_component::ComponentEncoder;

const TARGET: &str = "wasm32-unknown-unknown";

/// Compiles a workspace and makes a component of one of its packages.
pub(crate) fn component(workspace: &str, package: &str) -> Vec<u8> {
    // A test that does nothing would say that all is well.
    assert!(
        has_target(),
        "there is no target {TARGET}: `rustup target add {TARGET}` adds it"
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--locked"])
        .args(["--target", TARGET, "--package", package])
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(root.join(workspace))
        // Flags for this machine are none for WebAssembly.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status();
    assert!(built.unwrap().success(), "cannot build {package}");
    let file = format!("{TARGET}/release/{}.wasm", package.replace('-', "_"));
    let module = std::fs::read(folder.join(file)).unwrap();
    let encoder = ComponentEncoder::default().module(&module).unwrap();
    encoder.validate(true).encode().unwrap()
}

/// Compiles the hook that does what a tool's name tells it to.
pub(crate) fn hostile() -> Vec<u8> {
    component("crates/hooks-wasm/tests/hostile", "hostile")
}

/// Puts a component into a file that is gone after the test.
pub(crate) struct Kept {
    folder: tempfile::TempDir,
}

impl Kept {
    pub(crate) fn new(component: &[u8]) -> Self {
        let kept = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        kept.write(component);
        kept
    }

    /// Replaces the file at once, as an editor or a package manager does.
    pub(crate) fn write(&self, component: &[u8]) {
        let beside = self.folder.path().join("hook.new");
        std::fs::write(&beside, component).unwrap();
        std::fs::rename(beside, self.path()).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("hook.wasm")
    }
}

fn has_target() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .unwrap();
    Path::new(String::from_utf8(printed.stdout).unwrap().trim()).exists()
}
