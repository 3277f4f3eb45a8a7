//! Who takes part in the bench, and how each one is started.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::gateway::{Gateway, Routing, Upstream};
use crate::probe::Probe;
use crate::process::{Guarded, free_address, resident_kb};

const START_LIMIT: Duration = Duration::from_secs(20);
/// A cold start takes milliseconds, so it is watched more closely than other waits.
const START_POLL: Duration = Duration::from_micros(200);
/// Where to look for the peer of that name on crates.io, if it is not in the path.
const PEER_VARIABLE: &str = "MCPPROXY_BENCH_MCP_PROXY";

/// How a gateway reaches the echo upstream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Link {
    Http,
    Stdio,
}

/// One that takes part, in the order of the tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Contestant {
    Direct,
    Bare,
    Parsing,
    Mcpproxy(Link),
    Peer(Link),
}

/// The programs that the bench starts.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) xtask: PathBuf,
    mcpproxy: PathBuf,
    peer: Option<PathBuf>,
}

/// What was seen when a contestant started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Of the very first start, in a folder that has nothing in it yet.
    pub(super) very_first: Duration,
    pub(super) first_answer: Duration,
    pub(super) idle_kb: u32,
}

#[derive(Debug)]
enum Process {
    Plain(Guarded),
    Gateway(Gateway),
}

/// A contestant that answers.
#[derive(Debug)]
pub(super) struct Running {
    process: Process,
    address: SocketAddr,
    tool: &'static str,
    path: &'static str,
    start: Start,
}

impl Contestant {
    /// Returns the name in the tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Bare => "bare proxy",
            Self::Parsing => "bare proxy, parsing",
            Self::Mcpproxy(Link::Http) => "mcpproxy, http",
            Self::Mcpproxy(Link::Stdio) => "mcpproxy, stdio",
            Self::Peer(Link::Http) => "mcp-proxy (peer), http",
            Self::Peer(Link::Stdio) => "mcp-proxy (peer), stdio",
        }
    }

    /// Says whether its faults are ours.
    pub(super) fn is_ours(self) -> bool {
        !matches!(self, Self::Peer(_))
    }

    /// Starts the contestant before the echo at `echo` and waits for its first answer: twice, since
    /// keys and a database are made once in the life of a gateway.
    pub(super) fn start(
        self,
        programs: &Programs,
        folder: &Path,
        echo: SocketAddr,
    ) -> Result<Running> {
        let folder = folder.join(self.name().replace([' ', ',', '(', ')'], "-"));
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let very_first = self.start_in(programs, &folder, echo)?.start.first_answer;
        let mut running = self.start_in(programs, &folder, echo)?;
        running.start.very_first = very_first;
        Ok(running)
    }

    fn start_in(self, programs: &Programs, folder: &Path, echo: SocketAddr) -> Result<Running> {
        let begun = Instant::now();
        let (process, address) = self.spawn(programs, folder, echo)?;
        let (path, tool) = match self {
            Self::Peer(_) => ("/", "up_echo"),
            _ => ("/mcp", "echo"),
        };
        let mut start = Start {
            very_first: Duration::ZERO,
            first_answer: Duration::ZERO,
            idle_kb: 0,
        };
        let mut running = Running {
            process,
            address,
            tool,
            path,
            start,
        };
        start.first_answer = running.wait_for_answer(begun)?;
        start.idle_kb = resident_kb(running.id())?;
        running.start = start;
        Ok(running)
    }

    fn spawn(
        self,
        programs: &Programs,
        folder: &Path,
        echo: SocketAddr,
    ) -> Result<(Process, SocketAddr)> {
        match self {
            Self::Direct => programs.spawn_own(folder, &["echo-http"], None),
            Self::Bare => programs.spawn_own(folder, &["bare-proxy"], Some(echo)),
            Self::Parsing => programs.spawn_own(folder, &["bare-proxy", "--parse"], Some(echo)),
            Self::Mcpproxy(link) => {
                let upstream = ("echo", programs.upstream(link, echo));
                let program = &programs.mcpproxy;
                let gateway = Gateway::spawn(program, folder, Routing::Single, &[upstream])?;
                let address = gateway.address();
                Ok((Process::Gateway(gateway), address))
            }
            Self::Peer(link) => programs.spawn_peer(folder, &programs.upstream(link, echo)),
        }
    }
}

impl Programs {
    /// Finds the programs that are measured in `ours`, this one in `folder`, and the peer if it is
    /// installed.
    pub(super) fn find(ours: &Path, folder: &Path) -> Result<Self> {
        let mcpproxy = ours.join("mcpproxy");
        if !mcpproxy.is_file() {
            bail!("there is no program `mcpproxy` in {}", ours.display());
        }
        let peer =
            env::var_os(PEER_VARIABLE).map_or_else(|| in_path("mcp-proxy"), |p| Some(p.into()));
        let peer = peer.filter(|program| is_the_peer(program));
        Ok(Self {
            xtask: folder.join("xtask"),
            mcpproxy,
            peer,
        })
    }

    /// Returns the program under test.
    pub(super) fn mcpproxy(&self) -> &Path {
        &self.mcpproxy
    }

    /// Returns the echo upstream, behind a link.
    pub(super) fn upstream(&self, link: Link, echo: SocketAddr) -> Upstream {
        match link {
            Link::Http => Upstream::Http {
                url: format!("http://{echo}/mcp"),
            },
            Link::Stdio => Upstream::Stdio {
                program: self.xtask.clone(),
                arguments: vec!["echo-stdio".to_owned()],
            },
        }
    }

    fn spawn_own(
        &self,
        folder: &Path,
        words: &[&str],
        upstream: Option<SocketAddr>,
    ) -> Result<(Process, SocketAddr)> {
        let address = free_address()?;
        let mut command = Command::new(&self.xtask);
        command.args(words).arg(address.to_string());
        command.args(upstream.map(|upstream| upstream.to_string()));
        let process = Guarded::start(&words.join(" "), &mut command, &folder.join("log"))?;
        Ok((Process::Plain(process), address))
    }

    fn spawn_peer(&self, folder: &Path, upstream: &Upstream) -> Result<(Process, SocketAddr)> {
        let program = self.peer.as_ref().context("the peer is not installed")?;
        let address = free_address()?;
        let mut text = format!(
            "[proxy]\nname = \"bench\"\nseparator = \"_\"\n[proxy.listen]\nhost = \"{}\"\n\
             port = {}\n[observability]\nlog_level = \"error\"\n[[backends]]\nname = \"up\"\n",
            address.ip(),
            address.port()
        );
        match upstream {
            Upstream::Http { url } => writeln!(text, "transport = \"http\"\nurl = {}", json!(url))?,
            Upstream::Stdio { program, arguments } => {
                // A JSON string is a TOML string, too.
                let (program, arguments) = (json!(program), json!(arguments));
                writeln!(
                    text,
                    "transport = \"stdio\"\ncommand = {program}\nargs = {arguments}"
                )?;
            }
        }
        let file = folder.join("proxy.toml");
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&file);
        let process = Guarded::start("mcp-proxy", &mut command, &folder.join("log"))?;
        Ok((Process::Plain(process), address))
    }
}

impl Running {
    /// Returns the id of the process that is measured.
    pub(super) fn id(&self) -> u32 {
        match &self.process {
            Process::Plain(process) => process.id(),
            Process::Gateway(gateway) => gateway.id(),
        }
    }

    /// Returns where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the path of its MCP endpoint.
    pub(super) fn path(&self) -> &'static str {
        self.path
    }

    /// Returns the name under which it offers the echo tool.
    pub(super) fn tool(&self) -> &'static str {
        self.tool
    }

    /// Returns what was seen when it started.
    pub(super) fn start(&self) -> Start {
        self.start
    }

    fn wait_for_answer(&mut self, begun: Instant) -> Result<Duration> {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{}","arguments":{{"text":"first"}}}}}}"#,
            self.tool
        );
        while begun.elapsed() < START_LIMIT {
            let probe = Probe::open(self.address, self.path);
            if probe.is_some_and(|probe| probe.request(&call, "\"first\"").is_some()) {
                return Ok(begun.elapsed());
            }
            match &mut self.process {
                Process::Plain(process) => process.check_alive()?,
                Process::Gateway(gateway) => gateway.process().check_alive()?,
            }
            thread::sleep(START_POLL);
        }
        bail!("no answer within {} s of the start", START_LIMIT.as_secs())
    }
}

/// Starts the echo upstream that the others share.
pub(super) fn start_echo(programs: &Programs, folder: &Path) -> Result<Running> {
    Contestant::Direct.start(programs, &folder.join("shared"), free_address()?)
}

/// Returns who takes part, and says who does not.
pub(super) fn field(programs: &Programs) -> Vec<Contestant> {
    let mut field = vec![
        Contestant::Direct,
        Contestant::Bare,
        Contestant::Parsing,
        Contestant::Mcpproxy(Link::Http),
        Contestant::Mcpproxy(Link::Stdio),
    ];
    if programs.peer.is_some() {
        field.extend([Contestant::Peer(Link::Http), Contestant::Peer(Link::Stdio)]);
    } else {
        println!(
            "peer left out: mcp-proxy of crates.io is not installed (`cargo install mcp-proxy`, \
             or {PEER_VARIABLE}=program)"
        );
    }
    field
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Programs of other makers share the name; only this one has the option.
fn is_the_peer(program: &Path) -> bool {
    let output = Command::new(program).arg("--help").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("--from-mcp-json"))
}
