//! Runs the suite as processes: the everything-server, the gateway, and the suite itself.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Era;
use super::compare::Results;
use crate::gateway::{Gateway, Routing, Upstream};
use crate::probe::accepts;
use crate::process::{Guarded, free_address, run_bounded, wait_for};
use crate::tools::Tools;

/// The whole suite takes seconds; a run that takes this long hangs.
const SUITE_LIMIT: Duration = Duration::from_mins(5);
const START_LIMIT: Duration = Duration::from_secs(30);
/// All scenarios of the client side run at once, and Python starts slowly on a busy machine.
const SCENARIO_LIMIT: Duration = Duration::from_mins(1);

/// What every run of the suite needs.
#[derive(Debug)]
pub(super) struct Suite<'a> {
    pub(super) tools: &'a Tools,
    pub(super) folder: &'a Path,
}

impl Suite<'_> {
    /// Lets the suite judge the everything-server, behind the gateway if one is given.
    ///
    /// Each run has processes of its own, so that no run sees what another left behind.
    pub(super) fn judge_upstream(&self, era: Era, gateway: Option<&Path>) -> Result<Results> {
        let side = if gateway.is_some() {
            "through"
        } else {
            "direct"
        };
        let folder = self.subfolder(&format!("server-{}-{side}", era.version()))?;
        let (_everything, address) = self.start_everything(&folder)?;
        let url = format!("http://{address}/mcp");
        let Some(program) = gateway else {
            return self.run(&folder, era, &["server", "--url", &url]);
        };
        let upstream = ("everything", Upstream::Http { url });
        let gateway = Gateway::start(program, &folder, Routing::Single, &[upstream])?;
        self.run(&folder, era, &["server", "--url", &gateway.url()])
    }

    /// Lets the suite judge the client that `command` starts.
    pub(super) fn judge_downstream(&self, era: Era, side: &str, command: &str) -> Result<Results> {
        let folder = self.subfolder(&format!("client-{}-{side}", era.version()))?;
        // The suite splits the command at blanks and hands the parts to a shell.
        if command
            .chars()
            .any(|c| !c.is_alphanumeric() && !"/._- ".contains(c))
        {
            bail!("the suite cannot start `{command}`: a path in it needs quoting");
        }
        self.run(&folder, era, &["client", "--command", command])
    }

    fn start_everything(&self, folder: &Path) -> Result<(Guarded, SocketAddr)> {
        let address = free_address()?;
        let mut command = Command::new(&self.tools.python);
        command.args([
            "-m",
            "mcp_everything_server",
            "--port",
            &address.port().to_string(),
        ]);
        let log = folder.join("everything.log");
        let mut process = Guarded::start("the everything-server", &mut command, &log)?;
        let started = wait_for(START_LIMIT, || {
            process.check_alive()?;
            Ok(accepts(address))
        })?;
        if !started {
            bail!("the everything-server did not listen in time");
        }
        Ok((process, address))
    }

    /// Runs the suite; its exit code says only whether all passed, which the results say better.
    fn run(&self, folder: &Path, era: Era, arguments: &[&str]) -> Result<Results> {
        let results = folder.join("results");
        let log =
            File::create(folder.join("suite.log")).context("cannot create the suite's log")?;
        let mut command = Command::new(&self.tools.node);
        command.arg(self.tools.conformance_suite()).args(arguments);
        command.args(["--suite", "all", "--spec-version", era.version()]);
        command
            .arg("--timeout")
            .arg(SCENARIO_LIMIT.as_millis().to_string());
        command
            .arg("--output-dir")
            .arg(&results)
            .current_dir(folder);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        run_bounded("the conformance suite", &mut command, SUITE_LIMIT)?;
        Results::read(&results)
    }

    fn subfolder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }
}
