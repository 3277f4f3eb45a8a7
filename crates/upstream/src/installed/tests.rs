//! Packages as npm and pip lay them out, and processes as the system shows them.

use std::fs::{create_dir_all, write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::process::descendants;
use super::*;

fn put(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let file = folder.path().join(name);
    create_dir_all(file.parent().unwrap()).unwrap();
    write(&file, text).unwrap();
    file
}

/// A package as `npx` installs it, with the link that starts it.
fn npm(folder: &TempDir, version: &str) -> PathBuf {
    let manifest = format!(r#"{{"name":"calls-itself-so","version":"{version}"}}"#);
    put(folder, "node_modules/@a/sums/package.json", &manifest);
    put(folder, "node_modules/@a/sums/dist/index.js", "run()");
    put(folder, "node_modules/@a/sums/node_modules/dep/x.js", "1");
    let link = folder.path().join("node_modules/.bin/sums");
    create_dir_all(link.parent().unwrap()).unwrap();
    drop(std::fs::remove_file(&link));
    symlink("../@a/sums/dist/index.js", &link).unwrap();
    link
}

/// A package as pip installs it into an environment.
fn pypi(folder: &TempDir) -> PathBuf {
    let site = "lib/python3.12/site-packages";
    put(
        folder,
        &format!("{site}/sums/__init__.py"),
        "def main(): ...",
    );
    put(
        folder,
        &format!("{site}/sums/__pycache__/x.pyc"),
        "compiled",
    );
    let info = format!("{site}/sums_mcp-1.2.dist-info");
    let record = "sums/__init__.py,sha256=x,15\n\"a,b.py\",,\nsums/__pycache__/x.pyc,,\n\
                  ../../../bin/sums-mcp,sha256=y,9\nsums_mcp-1.2.dist-info/RECORD,,\n";
    put(folder, &format!("{site}/a,b.py"), "1");
    put(folder, &format!("{info}/RECORD"), record);
    put(
        folder,
        &format!("{info}/METADATA"),
        "Metadata-Version: 2.1\nName: sums-mcp\nVersion: 1.2\n\nVersion: 9\n",
    );
    put(
        folder,
        &format!("{site}/other-1.dist-info/RECORD"),
        "other.py,,\n",
    );
    put(folder, "bin/sums-mcp", "#!python")
}

#[test]
fn a_package_of_npm_is_named_by_its_folder_and_known_by_its_files() {
    let folder = TempDir::new().unwrap();
    let script = npm(&folder, "1.0.15");
    let first = npm::package(&script).unwrap();
    assert_eq!(
        (first.origin, first.name.as_str()),
        (Origin::Npm, "@a/sums")
    );
    assert_eq!(first.version.as_deref(), Some("1.0.15"));
    assert_eq!(npm::package(&script), Some(first.clone()));
    // Dependencies have digests of their own nowhere: they are left out.
    put(&folder, "node_modules/@a/sums/node_modules/dep/x.js", "2");
    assert_eq!(npm::package(&script), Some(first.clone()));
    put(&folder, "node_modules/@a/sums/dist/index.js", "run(bcc)");
    let changed = npm::package(&script).unwrap();
    assert_eq!(changed.version, first.version);
    assert_ne!(changed.digest, first.digest);
    put(&folder, "node_modules/@a/sums/dist/index.js", "run()");
    put(&folder, "node_modules/@a/sums/dist/more.js", "");
    assert_ne!(npm::package(&script).unwrap().digest, first.digest);
    // Somebody's own work is a file.
    let own = put(&folder, "work/index.js", "run()");
    assert_eq!(npm::package(&own), None);
}

#[test]
fn a_package_of_pypi_is_found_by_its_script_and_by_its_module() {
    let folder = TempDir::new().unwrap();
    let script = pypi(&folder);
    let found = pypi::of_script(&script).unwrap();
    assert_eq!(
        (found.origin, found.name.as_str()),
        (Origin::Pypi, "sums-mcp")
    );
    assert_eq!(found.version.as_deref(), Some("1.2"));
    let python = folder.path().join("bin/python");
    assert_eq!(pypi::of_module("sums.cli", &python), Some(found.clone()));
    assert_eq!(pypi::of_module("sum", &python), None);
    assert_eq!(pypi::of_script(&folder.path().join("bin/sums")), None);
    // What is made at the first run does not count, and what was installed does.
    let site = "lib/python3.12/site-packages";
    put(&folder, &format!("{site}/sums/__pycache__/x.pyc"), "again");
    assert_eq!(pypi::of_script(&script), Some(found.clone()));
    put(
        &folder,
        &format!("{site}/sums/__init__.py"),
        "def main(): evil()",
    );
    assert_ne!(pypi::of_script(&script).unwrap().digest, found.digest);
}

#[test]
fn what_cannot_be_digested_within_bounds_has_no_digest() {
    let folder = TempDir::new().unwrap();
    let large = folder.path().join("large");
    let file = std::fs::File::create(&large).unwrap();
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    assert_eq!(digest::of_file(&large), None);
    assert_eq!(digest::of_folder(folder.path(), &[]), None);
    file.set_len(64 * 1024 * 1024).unwrap();
    assert!(digest::of_file(&large).is_some());
    assert_eq!(digest::of_file(&folder.path().join("nowhere")), None);
    // A pipe is not waited for.
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    assert_eq!(digest::of_file(&pipe), None);
    let deep = TempDir::new().unwrap();
    put(&deep, &format!("{}x", "a/".repeat(40)), "");
    assert_eq!(digest::of_folder(deep.path(), &[]), None);
    let many = TempDir::new().unwrap();
    for number in 0..=10_000 {
        write(many.path().join(number.to_string()), "").unwrap();
    }
    assert_eq!(digest::of_folder(many.path(), &[]), None);
}

#[test]
fn a_process_runs_a_script_a_module_or_a_program() {
    let folder = TempDir::new().unwrap();
    let script = put(&folder, "server.js", "");
    let python = put(&folder, "server.py", "");
    let check = |program: &str, line: &str, expect: Option<Runs>| {
        let process = Process {
            arguments: line.split(' ').map(Into::into).collect(),
            folder: folder.path().to_owned(),
            program: program.into(),
        };
        assert_eq!(process.runs(), expect, "{line}");
    };
    let js = || Some(Runs::Script(script.clone()));
    check("/usr/bin/node", "node server.js --port 1", js());
    check("/usr/bin/node", "node --require x server", js());
    check("/usr/bin/node", "node -e 1", None);
    check("/usr/bin/node", "npm exec sums", None);
    let py = || Some(Runs::Script(python.clone()));
    check("/usr/bin/python3.12", "python3 -u server.py", py());
    let module = |at: &str| Some(Runs::Module("sums".to_owned(), at.into()));
    check(
        "/usr/bin/python3.12",
        "/venv/bin/python -m sums",
        module("/venv/bin/python"),
    );
    check(
        "/usr/bin/python3.12",
        "python -m sums",
        module("/usr/bin/python3.12"),
    );
    check("/usr/bin/python3.12", "python -c 1", None);
    check("/usr/bin/bash", "sh -c server.js", None);
    check("/usr/bin/bash", "sh -e server.js", js());
    check("/usr/bin/docker", "docker run sums", None);
    check(
        "/opt/sums",
        "sums --all",
        Some(Runs::Program("/opt/sums".into())),
    );
}

#[test]
fn processes_are_found_from_the_one_that_watches_over_them() {
    // A shell that waits for its child, which ends once nobody can write to it any more.
    let mut shell = Command::new("sh")
        .args(["-c", "cat - /dev/null; true"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let proc = Path::new("/proc");
    let line = |one: &Process| {
        one.arguments
            .join(" ".as_ref())
            .to_string_lossy()
            .into_owned()
    };
    let of = |pid: u32, most: usize| -> Vec<String> {
        descendants(proc, pid, most).iter().map(line).collect()
    };
    while of(shell.id(), 64) != ["cat - /dev/null"] {
        std::thread::yield_now();
    }
    let found = installed(shell.id()).unwrap();
    assert_eq!(found.origin, Origin::File);
    assert!(found.digest.is_some());
    let all = of(std::process::id(), 64);
    let place = |wanted: &str| all.iter().position(|one| one.starts_with(wanted)).unwrap();
    assert!(place("sh -c cat") < place("cat - /dev/null"), "{all:?}");
    assert_eq!(of(std::process::id(), 1).len(), 1);
    drop(shell.stdin.take());
    assert!(shell.wait().unwrap().success());
}
