//! A real PostgreSQL of its own for a test, on loopback, in a folder that goes with it.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Where Debian and its kin keep the programs.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Accounts that may run it where the test is run by root, for whom it refuses to start.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// The files of one that takes encrypted connections.
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

/// A database cluster that is stopped, and gone, when dropped.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    account: Option<(u32, u32)>,
    folder: TempDir,
    port: u16,
    encrypted: bool,
}

impl Postgres {
    /// Makes a cluster and starts it; the fault says what is missing.
    pub fn start() -> io::Result<Self> {
        let postgres = Self::make(false)?;
        postgres.go_on()?;
        Ok(postgres)
    }

    /// Makes one that takes encrypted connections alone, and shows a certificate with its key, both
    /// PEM.
    pub fn start_encrypted(certificate: &str, key: &str) -> io::Result<Self> {
        use std::os::unix::fs::{OpenOptionsExt as _, chown};
        let postgres = Self::make(true)?;
        for (name, text) in [(CERTIFICATE, certificate), (KEY, key)] {
            let file = postgres.folder.path().join(name);
            let mut options = fs::OpenOptions::new();
            let mut written = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&file)?;
            io::Write::write_all(&mut written, text.as_bytes())?;
            if let Some((user, group)) = postgres.account {
                chown(&file, Some(user), Some(group))?;
            }
        }
        let rules = postgres.data().join("pg_hba.conf");
        let written = fs::read_to_string(&rules)?;
        fs::write(&rules, written.replace("\nhost ", "\nhostssl "))?;
        postgres.go_on()?;
        Ok(postgres)
    }

    fn make(encrypted: bool) -> io::Result<Self> {
        let programs = programs()?;
        let account = account()?;
        let folder = tempfile::tempdir()?;
        if let Some((user, group)) = account {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group))?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let postgres = Self {
            programs,
            account,
            folder,
            port,
            encrypted,
        };
        let mut make = postgres.command("initdb");
        make.args(["--no-sync", "--auth=trust", "--username=tester"]);
        make.args(["--encoding=UTF8", "--locale=C", "--pgdata"]);
        run(make.arg(postgres.data()))?;
        Ok(postgres)
    }

    /// Returns the address of the database that is there from the start.
    pub fn url(&self) -> String {
        format!("postgres://tester@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops it as a crash would.
    pub fn stop(&self) -> io::Result<()> {
        let mut stop = self.control();
        run(stop.args(["--mode=immediate", "stop"]))
    }

    /// Starts it again, at the same address.
    pub fn go_on(&self) -> io::Result<()> {
        let folder = self.folder.path().display();
        let mut options = format!(
            "-p {} -h 127.0.0.1 -k {folder} -c shared_buffers=32MB -c max_connections=40",
            self.port
        );
        if self.encrypted {
            let [certificate, key] = [CERTIFICATE, KEY].map(|name| format!("{folder}/{name}"));
            let files = format!("-c ssl_cert_file={certificate} -c ssl_key_file={key}");
            options = format!("{options} -c ssl=on {files}");
        }
        let mut start = self.control();
        start.arg("--log").arg(self.folder.path().join("log"));
        run(start.arg("--options").arg(options).arg("start"))
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn control(&self) -> Command {
        let mut command = self.command("pg_ctl");
        command.arg("--wait").arg("--pgdata").arg(self.data());
        command
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.folder.path());
        command.env("LC_ALL", "C").env("PGTZ", "UTC");
        if let Some((user, group)) = self.account {
            command.gid(group).uid(user);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A test may have stopped it.
        drop(self.stop());
    }
}

/// Finds the programs.
fn programs() -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    let has = |folder: &PathBuf| {
        ["initdb", "pg_ctl"]
            .iter()
            .all(|one| folder.join(one).exists())
    };
    folders.into_iter().find(has).ok_or_else(|| {
        io::Error::other(format!(
            "`initdb` and `pg_ctl` are neither on the PATH nor in {DEBIAN}/*/bin; \
             install the package `postgresql`"
        ))
    })
}

/// Finds who may run it; nothing where the test is not run by root.
fn account() -> io::Result<Option<(u32, u32)>> {
    use std::os::unix::fs::MetadataExt as _;
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd")?;
    let find = |name: &&str| {
        let line = accounts
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(|number| number.parse().ok());
        numbers.next()?.zip(numbers.next()?)
    };
    let found = ACCOUNTS.iter().find_map(find);
    let missing = || io::Error::other("root cannot run it, and there is no account `postgres`");
    found.ok_or_else(missing).map(Some)
}

fn run(command: &mut Command) -> io::Result<()> {
    let program = Path::new(command.get_program()).to_owned();
    // What it starts goes on, and must not hold on to what we read from.
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = status.status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "`{}` ended with {status}",
        program.display()
    )))
}
