//! Starting an upstream's program: no shell, a minimal environment, a group of its own, standard
//! error kept in a ring.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpproxy_mcp::line::LineReader;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::Error;
use crate::settings::UpstreamSettings;

/// Variables that a program cannot do without; everything else must be asked for by name.
const MINIMAL: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TERM",
    "TZ",
    "XDG_RUNTIME_DIR",
];

/// The longest line of standard error that is kept whole.
const STDERR_LINE: usize = 8 * 1024;

/// The program that supervises children: this very program under another name.
#[derive(Clone, Debug)]
pub struct Supervisor {
    /// The program.
    pub program: PathBuf,
    /// What it is given before the grace and the child's own command.
    pub args: Vec<OsString>,
}

/// The last lines of a child's standard error.
#[derive(Clone, Debug, Default)]
pub struct Ring(Arc<Mutex<VecDeque<String>>>);

impl Ring {
    /// Returns the kept lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }

    /// Returns the last line, which is often the reason for an exit.
    pub fn last(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .back()
            .cloned()
    }

    /// Adds a line; the oldest goes once there are more than `keep`.
    pub fn push(&self, line: String, keep: usize) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(line);
        while lines.len() > keep {
            lines.pop_front();
        }
    }
}

/// A started program.
#[derive(Debug)]
pub struct Started {
    /// Its standard input. Dropping it is how the program is ended.
    pub stdin: ChildStdin,
    /// Its standard output.
    pub stdout: ChildStdout,
    /// Its supervisor.
    pub process: Child,
}

/// Starts the program of an upstream.
pub fn start(
    settings: &UpstreamSettings,
    supervisor: &Supervisor,
    ring: &Ring,
) -> Result<Started, Error> {
    let program = settings.command.clone().unwrap_or_default();
    let fault = |why: String| Error::Start {
        program: program.clone(),
        why,
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = locate(Path::new(&program), &path, settings.working_dir.as_deref())
        .ok_or_else(|| fault("no such program in PATH".to_owned()))?;
    let mut command = Command::new(&supervisor.program);
    command
        .args(&supervisor.args)
        .arg(grace(settings))
        .arg("--")
        .arg(found)
        .args(&settings.args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
        .process_group(0)
        .env_clear()
        .envs(environment(settings));
    if let Some(folder) = &settings.working_dir {
        command.current_dir(folder);
    }
    let mut process = command.spawn().map_err(|why| fault(why.to_string()))?;
    let stdin = process
        .stdin
        .take()
        .ok_or_else(|| fault("no standard input".to_owned()))?;
    let stdout = process
        .stdout
        .take()
        .ok_or_else(|| fault("no standard output".to_owned()))?;
    if let Some(stderr) = process.stderr.take() {
        tokio::spawn(keep_stderr(stderr, ring.clone(), settings.stderr_lines));
    }
    Ok(Started {
        stdin,
        stdout,
        process,
    })
}

fn grace(settings: &UpstreamSettings) -> String {
    Duration::from(settings.shutdown_grace)
        .as_millis()
        .to_string()
}

/// Finds a program as `execvp` would, so that a missing one is told before anything is started.
fn locate(program: &Path, search: &std::ffi::OsStr, folder: Option<&Path>) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        let whole = folder.map_or_else(|| program.to_owned(), |folder| folder.join(program));
        return whole.is_file().then(|| program.to_owned());
    }
    std::env::split_paths(search)
        .map(|place| place.join(program))
        .find(|file| file.is_file())
}

fn environment(settings: &UpstreamSettings) -> Vec<(OsString, OsString)> {
    let inherited = settings.inherit_env.iter().map(String::as_str);
    let passed = MINIMAL.into_iter().chain(inherited);
    let mut environment: Vec<_> = passed
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .collect();
    let set = settings
        .env
        .iter()
        .map(|(name, value)| (name.into(), value.expose().into()));
    environment.extend(set);
    environment
}

async fn keep_stderr(stderr: ChildStderr, ring: Ring, keep: usize) {
    let mut lines = LineReader::new(stderr, STDERR_LINE);
    // A line past the bound ends the reading of it, not the child: the pipe is drained below.
    while let Ok(Some(line)) = lines.next().await {
        ring.push(String::from_utf8_lossy(&line).into_owned(), keep);
    }
    let mut rest = lines.into_inner();
    let drained = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
    if let Ok(bytes) = drained
        && bytes > 0
    {
        ring.push(
            format!("({bytes} more bytes on one line were not kept)"),
            keep,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_would() {
        let search = std::ffi::OsStr::new("/nowhere:/bin:/usr/bin");
        assert!(locate(Path::new("sh"), search, None).is_some());
        assert_eq!(
            locate(Path::new("no-such-program-here"), search, None),
            None
        );
        assert_eq!(
            locate(Path::new("/bin/sh"), search, None),
            Some("/bin/sh".into())
        );
        assert_eq!(
            locate(Path::new("./sh"), search, Some(Path::new("/bin"))),
            Some("./sh".into())
        );
    }

    #[test]
    fn the_ring_keeps_the_last_lines() {
        let ring = Ring::default();
        for number in 0..5 {
            ring.push(number.to_string(), 3);
        }
        assert_eq!(ring.lines(), ["2", "3", "4"]);
        assert_eq!(ring.last().as_deref(), Some("4"));
    }
}
