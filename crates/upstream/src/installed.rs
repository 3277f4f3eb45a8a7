//! What a started program is made of: the package or the file that its processes run, with a digest
//! of the contents. Seen from the processes themselves, since `npx` and `uvx` choose only when they
//! run which version it will be.
//!
//! Nothing is executed, and nothing is known where the system has no `/proc`. A process that hides
//! what it runs hides it from here too: this is for packages that change, not for programs that
//! lie about themselves on a machine that they run on anyway.

mod digest;
mod npm;
mod process;
mod pypi;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use mcpproxy_core::{Installed, Origin};

use self::process::{Process, Runs};

/// The most processes that are looked at for one upstream.
const MOST_PROCESSES: usize = 64;

/// Says what the descendants of a process run, if that can be told. A package counts before a file,
/// and the process nearest to the supervisor before others.
pub fn installed(supervisor: u32) -> Option<Installed> {
    let processes = process::descendants(Path::new("/proc"), supervisor, MOST_PROCESSES);
    let mut found = processes.iter().filter_map(of);
    let first = found.next()?;
    if first.origin.is_package() {
        return Some(first);
    }
    let package = found.find(|one| one.origin.is_package());
    Some(package.unwrap_or(first))
}

fn of(process: &Process) -> Option<Installed> {
    match process.runs()? {
        Runs::Script(file) => {
            let package = npm::package(&file).or_else(|| pypi::of_script(&file));
            package.or_else(|| plain(&file))
        }
        Runs::Module(name, interpreter) => pypi::of_module(&name, &interpreter),
        Runs::Program(file) => plain(&file),
    }
}

/// Reads a file; nothing where it is none, is no text or is longer than that.
fn read(file: &Path, longest: u64) -> Option<String> {
    String::from_utf8(read_bytes(file, longest)?).ok()
}

fn read_bytes(file: &Path, longest: u64) -> Option<Vec<u8>> {
    // A pipe would be waited for.
    std::fs::metadata(file).ok()?.is_file().then_some(())?;
    let (file, mut bytes) = (File::open(file).ok()?, Vec::new());
    let read = file.take(longest + 1).read_to_end(&mut bytes).ok()?;
    u64::try_from(read)
        .is_ok_and(|read| read <= longest)
        .then_some(bytes)
}

/// A file that is no part of a package.
fn plain(file: &Path) -> Option<Installed> {
    let name = file.file_name()?.to_string_lossy().into_owned();
    Some(Installed {
        origin: Origin::File,
        name,
        version: None,
        digest: digest::of_file(file),
    })
}
