//! The machine behind the ports of the guard: its resolver and its file system.

use std::fs;
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{Files, Resolver};

/// Asks the resolver of the machine, for a bounded time in all.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver {
    deadline: Instant,
}

impl SystemResolver {
    /// Waits for all the answers it gives for no longer than `patience`, from now on.
    pub fn within(patience: Duration) -> Self {
        Self {
            deadline: Instant::now() + patience,
        }
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, name: &str) -> Vec<IpAddr> {
        if Instant::now() >= self.deadline {
            return Vec::new();
        }
        let (send, receive) = mpsc::channel();
        let name = name.to_owned();
        let asked = thread::Builder::new()
            .name("resolve".to_owned())
            .spawn(move || {
                let found = (name.as_str(), 0).to_socket_addrs();
                let found = found.map(|all| all.map(|one| one.ip()).collect());
                // Nobody listens any more once the time is over.
                drop(send.send(found.unwrap_or_default()));
            });
        match asked {
            Ok(_) => {
                let left = self.deadline.saturating_duration_since(Instant::now());
                receive.recv_timeout(left).unwrap_or_default()
            }
            Err(_) => Vec::new(),
        }
    }
}

/// The file system as this process sees it; an upstream it starts sees the same.
#[derive(Clone, Copy, Debug)]
pub struct SystemFiles;

impl Files for SystemFiles {
    fn folder(&self) -> Option<String> {
        std::env::current_dir()
            .ok()?
            .into_os_string()
            .into_string()
            .ok()
    }

    fn home(&self) -> Option<String> {
        std::env::home_dir()?.into_os_string().into_string().ok()
    }

    fn real(&self, path: &str) -> Option<String> {
        let mut front = Path::new(path);
        let mut tail: Vec<Component<'_>> = Vec::new();
        let mut real = loop {
            match fs::canonicalize(front) {
                Ok(real) => break real,
                Err(error) if is_missing(&error) => {
                    // A link to nowhere: whoever writes to it makes a file that was not judged.
                    if fs::symlink_metadata(front).is_ok() {
                        return None;
                    }
                    tail.push(front.components().next_back()?);
                    front = front.parent()?;
                }
                Err(_) => return None,
            }
        };
        for step in tail.into_iter().rev() {
            descend(&mut real, step);
        }
        real.into_os_string().into_string().ok()
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn descend(path: &mut PathBuf, step: Component<'_>) {
    match step {
        Component::ParentDir => {
            path.pop();
        }
        Component::Normal(name) => path.push(name),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
    }
}
