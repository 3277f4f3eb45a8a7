//! Packages of `PyPI`: what `site-packages` says was installed with a script or a module.
//!
//! Every package has a folder `name-version.dist-info` whose `RECORD` lists its files
//! (the specification "Recording installed projects").

use std::path::{Path, PathBuf};

use mcpproxy_core::{Installed, Origin};

use super::digest;

/// The largest `RECORD` or `METADATA`.
const LARGEST: u64 = 8 * 1024 * 1024;
/// The most packages that are looked through.
const MOST: usize = 4096;

/// Returns the package that put a script into the folder of programs.
pub(super) fn of_script(script: &Path) -> Option<Installed> {
    let name = script.file_name()?.to_str()?;
    let programs = script.parent()?;
    let ending = format!("/{}/{name}", programs.file_name()?.to_str()?);
    find(programs.parent()?, |file| {
        file.starts_with("../") && file.ends_with(&ending)
    })
}

/// Returns the package that a module is of, for the interpreter of an environment.
pub(super) fn of_module(module: &str, interpreter: &Path) -> Option<Installed> {
    let top = module.split('.').next()?;
    let (folder, file) = (format!("{top}/"), format!("{top}.py"));
    // Not the real file, which is that of the system: the link is in the environment.
    let environment = interpreter.parent()?.parent()?;
    find(environment, |one| one.starts_with(&folder) || one == file)
}

/// Looks through the packages of an environment for one with such a file.
fn find(environment: &Path, wanted: impl Fn(&str) -> bool) -> Option<Installed> {
    let versions = std::fs::read_dir(environment.join("lib")).ok()?;
    let sites = versions.filter_map(|entry| Some(entry.ok()?.path().join("site-packages")));
    let mut packages = sites
        .filter_map(|site| std::fs::read_dir(site).ok())
        .flatten();
    let packages = packages
        .by_ref()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let mut packages =
        packages.filter(|path| path.extension().is_some_and(|end| end == "dist-info"));
    packages.by_ref().take(MOST).find_map(|folder| {
        let record = super::read(&folder.join("RECORD"), LARGEST)?;
        let files: Vec<&str> = record.lines().filter_map(named).collect();
        let has = files.iter().any(|file| wanted(file));
        has.then(|| described(&folder, &files)).flatten()
    })
}

/// The file that a line of a `RECORD` is about; one with a comma or a quote in its name stands in
/// quotes, with quotes doubled.
fn named(line: &str) -> Option<&str> {
    match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(name, _)| name),
        None => line.split(',').next().filter(|name| !name.is_empty()),
    }
}

fn described(folder: &Path, files: &[&str]) -> Option<Installed> {
    let metadata = super::read(&folder.join("METADATA"), LARGEST)?;
    let head = metadata.lines().take_while(|line| !line.is_empty());
    let value = |key: &str| {
        let mut values = head.clone().filter_map(|line| line.strip_prefix(key));
        values.next().map(|value| value.trim().to_owned())
    };
    let site = folder.parent()?;
    Some(Installed {
        origin: Origin::Pypi,
        name: value("Name:")?,
        version: value("Version:"),
        digest: digest::of_files(site, own(site, files)),
    })
}

/// The files of a package that come with it. What is made here is left out: compiled modules, and
/// scripts and notes of the installer, which name the folder that they are in.
fn own(site: &Path, files: &[&str]) -> Vec<PathBuf> {
    let made = |file: &str| {
        let outside = file.starts_with('/') || file.split('/').any(|part| part == "..");
        let compiled = Path::new(file).extension().is_some_and(|end| end == "pyc");
        outside || compiled || file.contains(".dist-info/")
    };
    let files = files.iter().filter(|file| !made(file));
    files.map(|file| site.join(file)).collect()
}
