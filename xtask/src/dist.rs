//! `cargo xtask dist`: the programs for release, laid out by what calls really run through.
//!
//! A call goes once through much code and through little of it often, so that most of its time is
//! code that has to be fetched. Counts of a real load tell the compiler what belongs together and
//! what is never run. Three steps: programs that count, the load, and the programs themselves.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::Outcome;
use crate::bench::load::{FAULT_LIMIT, Measured};
use crate::bench::measure::{Cell, generator};
use crate::gateway::{Gateway, Routing, Upstream};
use crate::probe::Probe;
use crate::process::{Guarded, free_address};
use crate::workspace;

/// What a user gets.
const PROGRAMS: [&str; 3] = [FRONT, "mcpproxy-rest", "assay"];
/// The one that agents' hooks start.
const FRONT: &str = "mcpproxy";
/// What links it as one file.
const STATIC: &str = "-Ctarget-feature=+crt-static";
/// Lengths of the texts that are echoed, and over how many connections at once.
const LOAD: [(usize, u32); 4] = [(256, 1), (256, 16), (1024, 16), (64 * 1024, 16)];
/// How long each of them is sent.
const STRETCH: Duration = Duration::from_secs(4);
/// Length of the longest text that is taken from the project's own pages.
const LONGEST: usize = 4000;

/// What the compiler says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Compiler {
    host: String,
    /// The major version of LLVM; counts are read only by a tool of the same.
    llvm: String,
}

/// Builds, counts, builds again, and says where the programs are.
pub(crate) fn run() -> Result<Outcome> {
    let root = workspace::root()?;
    let compiler = compiler()?;
    let merge = merger(&compiler)?;
    let folder = workspace::metadata(&root)?.target_directory.join("dist");
    let counts = folder.join("counts");
    if counts.exists() {
        fs::remove_dir_all(&counts)
            .with_context(|| format!("cannot clear {}", counts.display()))?;
    }
    fs::create_dir_all(&counts).with_context(|| format!("cannot create {}", counts.display()))?;

    println!("1 of 3: building programs that count what they run ...");
    let flag = format!("-Cprofile-generate={}", counts.display());
    let counting = build(&root, &folder, &compiler, &flag)?;
    println!("2 of 3: calls of an echo, over HTTP and over stdio ...");
    train(&root, &counting)?;
    let merged = folder.join("calls.profdata");
    let mut command = Command::new(&merge);
    command.arg("merge").arg("-o").arg(&merged).arg(&counts);
    succeed(&mut command, "llvm-profdata")?;
    println!("3 of 3: building the programs by these counts ...");
    let flag = format!("-Cprofile-use={}", merged.display());
    let built = build(&root, &folder, &compiler, &flag)?;
    link_front(&root, &folder, &compiler, &flag)?;
    for program in PROGRAMS {
        let (from, to) = (built.join(program), folder.join(program));
        fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    println!("{} are in {}", PROGRAMS.join(", "), folder.display());
    Ok(Outcome::Clean)
}

/// Compiles the programs with one more flag and returns the folder that they are in.
fn build(root: &Path, folder: &Path, compiler: &Compiler, flag: &str) -> Result<PathBuf> {
    let mut command = compile(root, folder, compiler, flag, "build");
    command
        .args(["--package", "assay"])
        .args(PROGRAMS.iter().flat_map(|name| ["--bin", name]));
    succeed(&mut command, "cargo build")?;
    Ok(folder.join("build").join(&compiler.host).join("release"))
}

/// Links the program in front again, as one file: an agent starts it at every use of a tool, and
/// finding and fixing up libraries takes as long as all that it does.
fn link_front(root: &Path, folder: &Path, compiler: &Compiler, flag: &str) -> Result<()> {
    let mut command = compile(root, folder, compiler, flag, "rustc");
    command.args(["--bin", FRONT, "--", STATIC]);
    succeed(&mut command, "cargo rustc")
}

/// Links the program in front of the plain release build as it is shipped, in its place.
pub(crate) fn link_plain_front() -> Result<()> {
    let mut command = workspace::cargo(&workspace::root()?);
    command
        .args(["rustc", "--quiet", "--release", "--package", "mcpproxy"])
        .args(["--bin", FRONT, "--", STATIC]);
    succeed(&mut command, "cargo rustc")
}

/// Begins a command of cargo. The packages are named, since `rustc` takes only one and what it finds
/// compiled must be what it would compile.
fn compile(root: &Path, folder: &Path, compiler: &Compiler, flag: &str, verb: &str) -> Command {
    let mut command = workspace::cargo(root);
    // With a target named, build scripts and macros are compiled without the flag.
    command
        .args([verb, "--quiet", "--release", "--package", "mcpproxy"])
        .args(["--target", &compiler.host])
        .env("CARGO_TARGET_DIR", folder.join("build"))
        .env("CARGO_ENCODED_RUSTFLAGS", flag);
    command
}

/// Runs what is counted; every process leaves its counts in the folder that it was compiled with.
fn train(root: &Path, programs: &Path) -> Result<()> {
    let program = programs.join("mcpproxy");
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let own = env::current_exe().context("cannot tell where this program is")?;
    let address = free_address()?;
    let mut echo = Command::new(&own);
    echo.arg("echo-http").arg(address.to_string());
    let _echo = Guarded::start("echo-http", &mut echo, &folder.path().join("echo.log"))?;
    let over_http = Upstream::Http {
        url: format!("http://{address}/mcp"),
    };
    let over_stdio = Upstream::Stdio {
        program: own.clone(),
        arguments: vec!["echo-stdio".to_owned()],
    };
    for (name, upstream) in [("http", over_http), ("stdio", over_stdio)] {
        let folder = folder.path().join(name);
        fs::create_dir_all(&folder).context("cannot create a folder")?;
        let gateway = Gateway::start(&program, &folder, Routing::Single, &[("echo", upstream)])?;
        for (payload, connections) in LOAD {
            send(&own, gateway.address(), payload, connections)?;
        }
        tell(root, gateway.address())?;
    }
    Ok(())
}

/// Has texts of many kinds echoed, too: the project's own pages, paragraph by paragraph.
fn tell(root: &Path, to: SocketAddr) -> Result<()> {
    let session = Probe::open(to, "/mcp").context("the gateway takes no session")?;
    let pages = fs::read_dir(root.join("docs")).context("cannot list the pages")?;
    for page in pages {
        let page = page.context("cannot list the pages")?.path();
        if page.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let text =
            fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        for paragraph in text.split("\n\n") {
            let words: String = paragraph.chars().take(LONGEST).collect();
            let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": { "name": "echo", "arguments": { "text": words } } });
            // Some pages show attacks; those are refused, which counts as well.
            session.request(&call.to_string(), "\"id\":2");
        }
    }
    Ok(())
}

fn send(own: &Path, to: SocketAddr, payload: usize, connections: u32) -> Result<()> {
    let cell = Cell {
        payload,
        connections,
        calls: u32::MAX,
        time: STRETCH,
        faults: FAULT_LIMIT,
    };
    let output = generator(own, to, cell).output();
    let output = output.context("cannot run the load generator")?;
    let seen: Measured =
        serde_json::from_slice(&output.stdout).context("the load generator failed")?;
    if seen.calls == 0 || seen.wrong > 0 {
        bail!(
            "{} calls of {payload} bytes answered, {} of them wrongly",
            seen.calls,
            seen.wrong
        );
    }
    Ok(())
}

fn compiler() -> Result<Compiler> {
    let output = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("-vV")
        .output()
        .context("cannot run rustc")?;
    read_compiler(&String::from_utf8_lossy(&output.stdout)).context("cannot read `rustc -vV`")
}

fn read_compiler(text: &str) -> Option<Compiler> {
    let field = |name| text.lines().find_map(|line| line.strip_prefix(name));
    let (llvm, _) = field("LLVM version: ")?.split_once('.')?;
    Some(Compiler {
        host: field("host: ")?.to_owned(),
        llvm: llvm.to_owned(),
    })
}

/// Finds the tool that adds counts up: the compiler's own, or the system's of the same version.
fn merger(compiler: &Compiler) -> Result<PathBuf> {
    let output = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--print", "target-libdir"])
        .output()
        .context("cannot run rustc")?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let beside = libraries.with_file_name("bin").join("llvm-profdata");
    let Compiler { llvm, .. } = compiler;
    let named = format!("llvm-profdata-{llvm}");
    [beside, named.clone().into()]
        .into_iter()
        .find(|tool| Command::new(tool).arg("--version").output().is_ok())
        .with_context(|| {
            format!(
                "no tool of LLVM {llvm} to add counts up: `rustup component add llvm-tools`, or \
                 install `{named}` (Debian: `apt-get install llvm-{llvm}`)"
            )
        })
}

fn succeed(command: &mut Command, name: &str) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {name}"))?;
    if !status.success() {
        bail!("{name} ended with {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_s_words_are_read() {
        let text =
            "rustc 1.95.0 (5 2026-04-14)\nhost: a-b-c\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
        let compiler = Compiler {
            host: "a-b-c".to_owned(),
            llvm: "22".to_owned(),
        };
        assert_eq!(read_compiler(text), Some(compiler));
        assert_eq!(read_compiler("rustc 1.95.0"), None);
    }
}
