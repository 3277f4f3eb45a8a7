//! The foreign programs that tests and suites talk to: Python and Node packages, an agent, the
//! notary's peer, databases, and a browser.
//!
//! They are installed once into a folder that outlives the clone. Each set has a stamp that says
//! what was installed, so that a warm folder costs nothing and a changed version installs anew.

mod agents;
mod assay;
mod browser;
mod databases;
mod node;
mod python;
mod services;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{run_bounded, wait_for};

const INSTALL_LIMIT: Duration = Duration::from_mins(15);
const LOCK_LIMIT: Duration = Duration::from_mins(20);

/// Where the installed programs are.
#[derive(Debug)]
pub(crate) struct Tools {
    /// The virtual environment's interpreter.
    pub(crate) python: PathBuf,
    /// An interpreter with what services for hooks are written with.
    pub(crate) services: PathBuf,
    /// A Node of the version that the conformance suite needs.
    pub(crate) node: PathBuf,
    /// The folder with the Node packages.
    pub(crate) node_modules: PathBuf,
    /// The Python SDK's conformance client.
    pub(crate) conformance_client: PathBuf,
    /// An agent that can be driven without a person, a script for `node`.
    pub(crate) codex: PathBuf,
    /// The notary's peer.
    pub(crate) assay: PathBuf,
    /// The folder with the packages that drive a browser.
    pub(crate) browser_modules: PathBuf,
    /// A browser, where there is one.
    pub(crate) chromium: Option<PathBuf>,
}

impl Tools {
    /// Tells the tests where the programs are.
    pub(crate) fn export(&self, command: &mut Command) {
        command.env("MCPPROXY_TOOLS_PYTHON", &self.python);
        command.env("MCPPROXY_TOOLS_SERVICES", &self.services);
        command.env("MCPPROXY_TOOLS_NODE", &self.node);
        command.env("MCPPROXY_TOOLS_NODE_MODULES", &self.node_modules);
        command.env("MCPPROXY_TOOLS_CODEX", &self.codex);
        command.env("MCPPROXY_TOOLS_ASSAY", &self.assay);
        command.env("MCPPROXY_TOOLS_BROWSER_MODULES", &self.browser_modules);
        if let Some(chromium) = &self.chromium {
            command.env("MCPPROXY_TOOLS_CHROMIUM", chromium);
        }
    }

    /// Returns the conformance suite's entry point, a script for `node`.
    pub(crate) fn conformance_suite(&self) -> PathBuf {
        self.node_modules
            .join("@modelcontextprotocol/conformance/dist/index.js")
    }
}

/// A group of programs that is installed as one.
struct Set {
    name: &'static str,
    /// What the stamp must say.
    contents: String,
    /// A file that exists when the set is complete.
    proof: PathBuf,
}

/// Installs what is missing and returns where everything is.
pub(crate) fn ready() -> Result<Tools> {
    let root = folder()?;
    fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;
    let python = root.join(python::NAME);
    let node = root.join(node::NAME);
    ensure(&root, &python::set(&python), || python::install(&python))?;
    let services = root.join(services::NAME);
    ensure(&root, &services::set(&services), || {
        services::install(&services)
    })?;
    let agents = root.join(agents::NAME);
    ensure(&root, &node::set(&node), || node::install(&node))?;
    ensure(&root, &agents::set(&agents), || agents::install(&agents))?;
    let assay = root.join(assay::NAME);
    ensure(&root, &assay::set(&assay), || assay::install(&assay))?;
    let browser = root.join(browser::NAME);
    ensure(&root, &browser::set(&browser), || {
        browser::install(&browser)
    })?;
    databases::ready();
    Ok(Tools {
        browser_modules: browser.join("node_modules"),
        chromium: browser::chromium(),
        python: python::interpreter(&python),
        services: python::interpreter(&services),
        node: node::interpreter(&node),
        node_modules: node.join("node_modules"),
        conformance_client: python::conformance_client(&python),
        codex: agents::codex(&agents),
        assay: assay::program(&assay),
    })
}

/// Finds a program of the system under one of its names.
fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let mut places = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.find(|place| place.is_file())
}

/// Tries to install a package of the system. A fresh machine has no list of packages, or an old one.
fn apt(package: &str) {
    let install = ["install", "--yes", "--no-install-recommends", package];
    for arguments in [&install[..], &["update"], &install] {
        let name = format!("apt-get {}", arguments.join(" "));
        println!("trying `{name}` ...");
        let mut apt = Command::new("apt-get");
        match step(&name, apt.args(arguments)) {
            Ok(()) if arguments.ends_with(&[package]) => return,
            Ok(()) => {}
            Err(fault) => println!("{fault:#}"),
        }
    }
}

/// Returns the folder of the installed programs, which need not be there yet.
pub(crate) fn folder() -> Result<PathBuf> {
    if let Some(folder) = env::var_os("MCPPROXY_TOOLS") {
        return Ok(folder.into());
    }
    let home = env::home_dir().context("no home folder; set MCPPROXY_TOOLS")?;
    Ok(home.join(".cache/mcpproxy-tools"))
}

fn ensure(root: &Path, set: &Set, install: impl FnOnce() -> Result<()>) -> Result<()> {
    if is_complete(root, set) {
        return Ok(());
    }
    let _lock = lock(root)?;
    if is_complete(root, set) {
        return Ok(());
    }
    println!(
        "installing the {} packages into {} ...",
        set.name,
        root.display()
    );
    let folder = root.join(set.name);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    install().with_context(|| format!("cannot install the {} packages", set.name))?;
    if !set.proof.exists() {
        bail!(
            "{} packages: {} is missing after the installation",
            set.name,
            set.proof.display()
        );
    }
    // CRASH: the stamp is last, so that an installation cut short is done again.
    fs::write(stamp(root, set), &set.contents).context("cannot write the stamp")
}

fn is_complete(root: &Path, set: &Set) -> bool {
    let written = fs::read_to_string(stamp(root, set)).unwrap_or_default();
    written == set.contents && set.proof.exists()
}

fn stamp(root: &Path, set: &Set) -> PathBuf {
    root.join(format!("{}.stamp", set.name))
}

/// Keeps two runs on one machine from installing into each other.
fn lock(root: &Path) -> Result<File> {
    let file = File::create(root.join("lock")).context("cannot create the lock file")?;
    if !wait_for(LOCK_LIMIT, || Ok(file.try_lock().is_ok()))? {
        bail!("another installation holds {}", root.join("lock").display());
    }
    Ok(file)
}

/// Runs one step of an installation.
fn step(name: &str, command: &mut Command) -> Result<()> {
    let status = run_bounded(name, command, INSTALL_LIMIT)?;
    if !status.success() {
        bail!("{name} failed: {status}");
    }
    Ok(())
}

/// Returns what `program arguments` prints; the error says what to install.
fn version(program: &str, arguments: &[&str], remedy: &str) -> Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("`{program}` is missing; {remedy}"))?;
    if !output.status.success() {
        bail!("`{program} {}` failed; {remedy}", arguments.join(" "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
