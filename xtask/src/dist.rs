//! `cargo xtask dist`: the programs for release, compiled and laid out by what calls really run through.
//!
//! A call goes once through much code and through little of it often, so that much of its time is
//! code that has to be fetched. Counts of a real load tell the compiler what is worth to be inlined and
//! which way a branch goes. Then BOLT, of LLVM, lays the linked program out anew by counts of the same
//! load: what runs together stands together, and what is never run is out of the way.

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
const PROGRAMS: [&str; 3] = [FRONT, REST, "assay"];
/// The one that agents' hooks start.
const FRONT: &str = "mcpproxy";
/// The one that calls go through.
const REST: &str = "mcpproxy-rest";
/// What leaves in a program the places that change when its parts are moved.
const MOVABLE: &str = "-Clink-arg=-Wl,--emit-relocs";
/// How the parts are put in order. Functions written in assembler are left as they are.
const LAYOUT: [&str; 7] = [
    "-reorder-blocks=ext-tsp",
    "-reorder-functions=cdsort",
    "-split-functions",
    "-split-all-cold",
    "-split-eh",
    "-icf=1",
    "-skip-funcs=ring_core_.*",
];
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
    /// The major version of LLVM.
    llvm: String,
}

/// The tools of LLVM that read counts and lay a program out.
struct Tools {
    counts: PathBuf,
    bolt: PathBuf,
    merge: PathBuf,
}

/// Builds, counts, lays out, and says where the programs are.
pub(crate) fn run() -> Result<Outcome> {
    let root = workspace::root()?;
    let compiler = compiler()?;
    let tools = Tools::find(&compiler)?;
    let folder = workspace::metadata(&root)?.target_directory.join("dist");
    let (raw, counting) = (folder.join("raw"), folder.join("counting"));
    // This program may be built anew meanwhile, and its file is gone then.
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let own = folder.join("xtask");
    let this = env::current_exe().context("cannot tell where this program is")?;
    copy(&this, &own)?;

    println!("1 of 6: building a gateway that counts for the compiler ...");
    let flags = format!("-Cprofile-generate={}", raw.display());
    let first = Compilation::new(&root, &compiler, folder.join("count"), &[&flags]);
    // In the same profile as what is made by the counts: cargo has another one in the names of functions,
    // and counts of other names are not used.
    let first = first.build(&[FRONT, REST])?;
    emptied(&raw)?;
    println!("2 of 6: calls of an echo, over HTTP and over stdio ...");
    train(&root, &own, &first)?;
    let counts = tools.gathered(&raw)?;

    println!("3 of 6: building the programs by these counts ...");
    // Cargo does not see that counts are others when they are in a file of the same name.
    let whole = emptied(&folder.join("build"))?;
    let flags = format!("-Cprofile-use={}", counts.display());
    let programs = Compilation::new(&root, &compiler, whole, &[&flags, MOVABLE]);
    let built = programs.build(&PROGRAMS)?;
    programs.link_front()?;
    println!("4 of 6: making one that counts what it runs ...");
    emptied(&counting)?;
    copy(&built.join(FRONT), &counting.join(FRONT))?;
    tools.count(&built.join(REST), &counting)?;
    println!("5 of 6: the same calls ...");
    train(&root, &own, &counting)?;
    println!("6 of 6: laying it out by these counts ...");
    tools.lay_out(&built.join(REST), &counting, &folder.join(REST))?;
    for program in PROGRAMS.into_iter().filter(|name| *name != REST) {
        copy(&built.join(program), &folder.join(program))?;
    }
    println!("{} are in {}", PROGRAMS.join(", "), folder.display());
    Ok(Outcome::Clean)
}

impl Tools {
    /// Finds the tools: those of the compiler's version, or any.
    fn find(compiler: &Compiler) -> Result<Self> {
        let Compiler { llvm, .. } = compiler;
        let versions = [format!("-{llvm}"), String::new()];
        let find = |tool: &str, package: &str| {
            let names = versions.iter().map(|version| format!("{tool}{version}"));
            let found = names.map(PathBuf::from).find(|tool| {
                let mut tool = Command::new(tool);
                tool.arg("--version").output().is_ok()
            });
            found.with_context(|| {
                format!("no `{tool}` (Debian: `apt-get install {package}-{llvm}`)")
            })
        };
        Ok(Self {
            counts: find("llvm-profdata", "llvm")?,
            bolt: find("llvm-bolt", "bolt")?,
            merge: find("merge-fdata", "bolt")?,
        })
    }

    /// Puts together what processes counted for the compiler, and returns the file.
    fn gathered(&self, raw: &Path) -> Result<PathBuf> {
        let together = raw.join("all.profdata");
        let mut command = Command::new(&self.counts);
        command.arg("merge").arg("-o").arg(&together).arg(raw);
        quietly(&mut command, "llvm-profdata")?;
        Ok(together)
    }

    /// Makes a program that leaves its counts in `counting` when it ends.
    fn count(&self, program: &Path, counting: &Path) -> Result<()> {
        let file = counting.join("of");
        let mut command = Command::new(&self.bolt);
        command
            .arg(program)
            .arg("-instrument")
            .arg(format!("-instrumentation-file={}", file.display()))
            .arg("-instrumentation-file-append-pid")
            .arg("-o")
            .arg(counting.join(REST));
        quietly(&mut command, "llvm-bolt")
    }

    /// Lays a program out by the counts that are in `counting`.
    fn lay_out(&self, program: &Path, counting: &Path, to: &Path) -> Result<()> {
        let files = fs::read_dir(counting).context("cannot list the counts")?;
        let files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        let counts = files
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "fdata"));
        let merged = counting.join("all");
        let output = Command::new(&self.merge).args(counts).output();
        let output = output.context("cannot run merge-fdata")?;
        if !output.status.success() || output.stdout.is_empty() {
            bail!("merge-fdata found no counts: {}", output.status);
        }
        fs::write(&merged, output.stdout).context("cannot write the counts")?;
        let mut command = Command::new(&self.bolt);
        command
            .arg(program)
            .arg(format!("-data={}", merged.display()))
            .args(LAYOUT)
            .arg("-o")
            .arg(to);
        quietly(&mut command, "llvm-bolt")
    }
}

/// Makes a folder with nothing in it.
fn emptied(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder.to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// One way to compile the programs.
struct Compilation<'a> {
    root: &'a Path,
    host: &'a str,
    folder: PathBuf,
    flags: String,
}

impl<'a> Compilation<'a> {
    fn new(root: &'a Path, compiler: &'a Compiler, folder: PathBuf, flags: &[&str]) -> Self {
        Self {
            root,
            host: &compiler.host,
            folder,
            flags: flags.join("\x1f"),
        }
    }

    /// Compiles programs, and returns the folder that they are in.
    fn build(&self, programs: &[&str]) -> Result<PathBuf> {
        let mut command = self.command("build");
        command
            .args(["--package", "assay"])
            .args(programs.iter().flat_map(|name| ["--bin", name]));
        succeed(&mut command, "cargo build")?;
        Ok(self.folder.join(self.host).join("release"))
    }

    /// Links the program in front again, as one file: an agent starts it at every use of a tool, and
    /// finding and fixing up libraries takes as long as all that it does.
    fn link_front(&self) -> Result<()> {
        let mut command = self.command("rustc");
        command.args(["--bin", FRONT, "--", STATIC]);
        succeed(&mut command, "cargo rustc")
    }

    /// Begins a command of cargo. The packages are named, since `rustc` takes only one and what it finds
    /// compiled must be what it would compile.
    fn command(&self, verb: &str) -> Command {
        let mut command = workspace::cargo(self.root);
        // With a target named, build scripts and macros are compiled without the flags.
        command
            .args([verb, "--quiet", "--release", "--package", "mcpproxy"])
            .args(["--target", self.host])
            .env("CARGO_TARGET_DIR", &self.folder)
            .env("CARGO_ENCODED_RUSTFLAGS", &self.flags);
        command
    }
}

/// Links the program in front of the plain release build as it is shipped, in its place.
pub(crate) fn link_plain_front() -> Result<()> {
    let mut command = workspace::cargo(&workspace::root()?);
    command
        .args(["rustc", "--quiet", "--release", "--package", "mcpproxy"])
        .args(["--bin", FRONT, "--", STATIC]);
    succeed(&mut command, "cargo rustc")
}

/// Runs what is counted; every process leaves its counts when it ends. `own` is this program.
fn train(root: &Path, own: &Path, programs: &Path) -> Result<()> {
    let program = programs.join("mcpproxy");
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let address = free_address()?;
    let mut echo = Command::new(own);
    echo.arg("echo-http").arg(address.to_string());
    let _echo = Guarded::start("echo-http", &mut echo, &folder.path().join("echo.log"))?;
    let over_http = Upstream::Http {
        url: format!("http://{address}/mcp"),
    };
    let over_stdio = Upstream::Stdio {
        program: own.to_owned(),
        arguments: vec!["echo-stdio".to_owned()],
    };
    for (name, upstream) in [("http", over_http), ("stdio", over_stdio)] {
        let folder = folder.path().join(name);
        fs::create_dir_all(&folder).context("cannot create a folder")?;
        let gateway = Gateway::start(&program, &folder, Routing::Single, &[("echo", upstream)])?;
        for (payload, connections) in LOAD {
            send(own, gateway.address(), payload, connections)?;
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

/// Runs a tool that says much; what it said is shown where it failed.
fn quietly(command: &mut Command, name: &str) -> Result<()> {
    let output = command.output();
    let output = output.with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} ended with {}: {said}", output.status);
    }
    Ok(())
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
