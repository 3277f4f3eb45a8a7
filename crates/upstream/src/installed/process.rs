//! The processes of an upstream, and the file that each runs.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// The longest command line that is read.
const LONGEST: u64 = 256 * 1024;

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    /// Its arguments, the program first.
    pub(super) arguments: Vec<OsString>,
    /// The folder that it is in.
    pub(super) folder: PathBuf,
    /// The file that is executed.
    pub(super) program: PathBuf,
}

/// What a process runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// A script, by an interpreter.
    Script(PathBuf),
    /// A module, by a Python interpreter of this name.
    Module(String, PathBuf),
    /// A program.
    Program(PathBuf),
}

/// Programs that start others: what they are says nothing about what they start.
const STARTERS: [&str; 14] = [
    "env", "sudo", "npm", "npx", "pnpm", "pnpx", "yarn", "uv", "uvx", "pipx", "docker", "podman",
    "nerdctl", "timeout",
];

/// Options of interpreters that take the next argument.
const WITH_VALUE: [&str; 10] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-C",
    "--conditions",
    "--env-file",
    "-X",
    "-W",
];

/// Options with which an interpreter of JavaScript runs no file.
const EVALUATES: [&str; 5] = ["-e", "--eval", "-p", "--print", "-"];

impl Process {
    /// Says what the process runs, if it is not only there to start another.
    pub(super) fn runs(&self) -> Option<Runs> {
        let first = Path::new(self.arguments.first()?);
        let named = self.program.file_name()?.to_str()?;
        let stem = named.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.');
        match stem {
            "python" | "pypy" => {
                // One that was found in PATH has no folder; its real file does.
                let bare = first.components().count() < 2;
                let interpreter = if bare {
                    self.program.clone()
                } else {
                    self.at(first)
                };
                self.by_python(&interpreter)
            }
            "node" | "nodejs" | "bun" | "deno" => self.script(&EVALUATES).map(Runs::Script),
            "sh" | "bash" | "dash" | "zsh" => self.script(&["-c", "-s"]).map(Runs::Script),
            starter if STARTERS.contains(&starter) => None,
            _ => Some(Runs::Program(self.program.clone())),
        }
    }

    fn by_python(&self, interpreter: &Path) -> Option<Runs> {
        let mut rest = self.arguments.iter().skip(1).filter_map(|one| one.to_str());
        while let Some(argument) = rest.next() {
            match argument {
                "-m" => {
                    return Some(Runs::Module(
                        rest.next()?.to_owned(),
                        interpreter.to_owned(),
                    ));
                }
                "-c" | "-" => return None,
                option if WITH_VALUE.contains(&option) => drop(rest.next()),
                option if option.starts_with('-') => {}
                script => return self.file(script).map(Runs::Script),
            }
        }
        None
    }

    /// The script among the arguments; nothing where one of them says that there is none.
    fn script(&self, without: &[&str]) -> Option<PathBuf> {
        let mut rest = self.arguments.iter().skip(1).filter_map(|one| one.to_str());
        while let Some(argument) = rest.next() {
            match argument {
                option if without.contains(&option) => return None,
                option if WITH_VALUE.contains(&option) => drop(rest.next()),
                option if option.starts_with('-') || option == "run" => {}
                script => return self.file(script),
            }
        }
        None
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        let file = self.at(Path::new(name));
        // Node finds the ending by itself.
        let endings = ["", ".js", ".mjs", ".cjs"].map(|ending| {
            let mut name = file.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        });
        let index = file.join("index.js");
        let mut found = endings.into_iter().chain([index]);
        found.find(|file| file.is_file())
    }

    fn at(&self, name: &Path) -> PathBuf {
        self.folder.join(name)
    }
}

/// Finds the processes below one, nearest first.
pub(super) fn descendants(table: &Path, root: u32, most: usize) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir(table).into_iter().flatten().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some((pid, parent)) = pid.and_then(|pid| Some((pid, parent(table, pid)?))) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut queue, mut found) = (VecDeque::from([root]), Vec::new());
    while let Some(pid) = queue.pop_front() {
        let mut below = children.remove(&pid).unwrap_or_default();
        below.sort_unstable();
        queue.extend(&below);
        found.extend(below.into_iter().filter_map(|pid| read(table, pid)));
        if found.len() >= most {
            break;
        }
    }
    found.truncate(most);
    found
}

fn parent(table: &Path, pid: u32) -> Option<u32> {
    let stat = super::read(&table.join(pid.to_string()).join("stat"), 4096)?;
    // The name of the program is in parentheses and may hold anything, also parentheses.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

fn read(table: &Path, pid: u32) -> Option<Process> {
    let place = table.join(pid.to_string());
    let line = super::read_bytes(&place.join("cmdline"), LONGEST)?;
    let line = line.strip_suffix(&[0]).unwrap_or(&line);
    let arguments = line.split(|byte| *byte == 0);
    Some(Process {
        arguments: arguments
            .map(|one| OsString::from_vec(one.to_vec()))
            .collect(),
        folder: std::fs::read_link(place.join("cwd")).ok()?,
        program: std::fs::read_link(place.join("exe")).ok()?,
    })
}
