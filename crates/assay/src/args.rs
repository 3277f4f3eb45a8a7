//! The command line, as clap reads it. What the arguments lead to is in `commands`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser, Subcommand};
use mcpproxy_core::PackInterval;
use mcpproxy_notary::disclose::Side;
use mcpproxy_notary::keys;

/// Longest wait that can be asked for.
const YEAR: Duration = Duration::from_hours(365 * 24);

/// The variable that may hold the key for hashes; it is for the proxy and for nobody that it starts.
pub(crate) const PEPPER: &str = "ASSAY_HASH_PEPPER";

/// Receipts and proof packs for tool calls over the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "assay", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) keys: KeysDir,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where the signing keys are.
#[derive(Debug, clap::Args)]
pub(crate) struct KeysDir {
    /// Folder of the signing keys; `~/.assay/keys` if it is not given.
    #[arg(long, global = true, value_name = "DIR", env = "ASSAY_KEYS_DIR")]
    keys_dir: Option<PathBuf>,
}

impl KeysDir {
    /// Returns the folder, which is the user's usual one if none was named.
    pub(crate) fn folder(self) -> PathBuf {
        self.keys_dir.unwrap_or_else(keys::usual_folder)
    }
}

/// The flags of `mcp-proxy`, for a program that has them as a command of its own.
#[derive(Debug, clap::Args)]
pub struct Wrap {
    #[command(flatten)]
    pub(crate) keys: KeysDir,
    #[command(flatten)]
    pub(crate) proxy: McpProxy,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Stand between a client and an upstream, and write a receipt for every tool call.
    McpProxy(Box<McpProxy>),
    /// Judge a proof pack: 0 pass, 1 intact but not trusted or failing, 2 tampered, 3 bad input.
    VerifyPack(VerifyPack),
    /// Tell what a pack says: what was called, denied and failed, and how long it took.
    Explain(Judged),
    /// Tell how two sessions differ; ends with 1 if they do.
    Diff {
        /// Pack or file of receipts.
        before: PathBuf,
        /// Another one.
        after: PathBuf,
    },
    /// Count the calls of all sessions in an audit folder.
    Analyze {
        /// All sessions that the folder holds, which is the only choice there is.
        #[arg(long, required = true)]
        history: bool,
        /// The audit folder.
        #[arg(long, value_name = "DIR", default_value = "./.assay/mcp/")]
        audit_dir: PathBuf,
    },
    /// Prove that one receipt is part of what was signed.
    Prove {
        /// The folder of the pack.
        pack: PathBuf,
        /// The receipt's id.
        receipt_id: String,
    },
    /// Check such a proof, without the pack.
    CheckProof {
        /// The proof.
        proof: PathBuf,
        #[command(flatten)]
        trusted: Trusted,
    },
    /// Have an outside authority vouch for the time of a pack (RFC 3161).
    Timestamp {
        /// The folder of the pack.
        pack: PathBuf,
        #[command(flatten)]
        by: Authority,
    },
    /// Print a pack as a signed in-toto statement (DSSE).
    Export(Judged),
    /// Reveal one member of the arguments or result of a call that `--commit-fields` recorded.
    Disclose(Disclose),
    /// Check what was revealed against the pack, or against a file of receipts.
    CheckDisclosure {
        /// What was revealed.
        disclosure: PathBuf,
        #[command(flatten)]
        judged: Judged,
    },
    /// Find agents' configurations whose upstreams are not behind the proxy.
    Scan {
        /// Folder of the project; the current one if it is not given.
        #[arg(value_name = "DIR")]
        project: Option<PathBuf>,
    },
    /// Show the signing key, print it, or replace it.
    Keys {
        #[command(subcommand)]
        action: Option<Keys>,
    },
    /// End a process group once standard input closes; the proxy runs this beside its upstream.
    #[command(hide = true)]
    Watch {
        /// The number of the group.
        group: i32,
    },
}

/// Whose packs are believed.
#[derive(Debug, clap::Args)]
pub(crate) struct Trusted {
    /// Key whose packs are believed (raw, base64 or PEM); may be given again. Without it, one's own.
    #[arg(long, value_name = "FILE")]
    pub(crate) trust_key: Vec<PathBuf>,
}

/// How an authority is asked.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Authority {
    /// Address of the authority, which is asked at once.
    #[arg(long, value_name = "URL")]
    pub(crate) tsa: Option<String>,
    /// File to write the request to, for somebody else to send.
    #[arg(long, value_name = "FILE")]
    pub(crate) request: Option<PathBuf>,
    /// File with the authority's answer to it.
    #[arg(long, value_name = "FILE")]
    pub(crate) response: Option<PathBuf>,
}

/// A pack that is judged before anything is said about it.
#[derive(Debug, clap::Args)]
pub(crate) struct Judged {
    /// The folder of the pack.
    pub(crate) pack: PathBuf,
    #[command(flatten)]
    pub(crate) trusted: Trusted,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Disclose {
    /// The session's id, as its receipts have it.
    pub(crate) session_id: String,
    /// The call's `invocation_id`.
    pub(crate) invocation_id: String,
    /// Which side of the call: `arguments` or `result`.
    #[arg(value_parser = side)]
    pub(crate) side: Side,
    /// The member to reveal.
    pub(crate) field: String,
    /// File with the whole value, which receipts do not keep.
    pub(crate) value: PathBuf,
    /// Audit folder, pack or file of receipts that must hold the commitment.
    #[arg(long, value_name = "PATH", default_value = "./.assay/mcp/")]
    pub(crate) receipts: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyPack {
    /// The folder of the pack.
    pub(crate) pack: PathBuf,
    #[command(flatten)]
    pub(crate) trusted: Trusted,
    /// Root hash of a tree that was seen before and must be part of this one.
    #[arg(
        long,
        value_name = "HASH",
        requires = "expect_size",
        conflicts_with = "checkpoint"
    )]
    pub(crate) expect_root: Option<String>,
    /// Size of that tree.
    #[arg(long, value_name = "LINES", requires = "expect_root")]
    pub(crate) expect_size: Option<u64>,
    /// A checkpoint that was kept; says both.
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Root certificate of an authority for timestamps; the pack must have one of it. May be given
    /// again.
    #[arg(long, value_name = "FILE")]
    pub(crate) time_root: Vec<PathBuf>,
    /// Oldest pack that is accepted, in days.
    #[arg(long, value_name = "DAYS")]
    pub(crate) max_age: Option<u32>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Keys {
    /// Show the key's name, fingerprint and place.
    Show,
    /// Print the public key in PEM, as `openssl` reads it.
    Export,
    /// Replace the key; the old one signs that the new one follows it.
    Rotate,
}

/// The profile of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Observes; forwards every byte as it came.
    Audit,
    /// Refuses what the policy denies, before the upstream sees it.
    Guard,
}

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag of the command line is one, and they are taken apart at once"
)]
pub(crate) struct McpProxy {
    /// Address of the upstream (Streamable HTTP, or the older HTTP+SSE); instead of a command.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) upstream_url: Option<String>,
    /// Header for every request to the upstream, as `Name: value`; may be given again.
    #[arg(
        long = "header",
        value_name = "HEADER",
        requires = "upstream_url",
        conflicts_with = "command"
    )]
    pub(crate) headers: Vec<String>,
    /// Where receipts and packs are written.
    #[arg(long, value_name = "DIR", default_value = "./.assay/mcp/")]
    pub(crate) audit_dir: PathBuf,
    /// What is done with calls: `audit` observes, `guard` enforces the policy.
    #[arg(long, value_name = "PROFILE", default_value = "audit", value_parser = profile)]
    pub(crate) profile: Profile,
    /// The policy, `assay.mcp-policy.yaml`; `guard` needs one, to `audit` it is advice.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Build a proof pack when the session ends.
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        default_value_t = true,
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true,
        overrides_with = "no_auto_pack"
    )]
    pub(crate) auto_pack: bool,
    /// Build no proof pack.
    #[arg(long, overrides_with = "auto_pack")]
    pub(crate) no_auto_pack: bool,
    /// When packs are made: `session`, every `Nm` minutes or every `Nr` receipts.
    #[arg(long, value_name = "INTERVAL", default_value = "session")]
    pub(crate) pack_interval: PackInterval,
    /// Keep arguments in clear.
    #[arg(long)]
    pub(crate) store_args: bool,
    /// Keep results in clear.
    #[arg(long)]
    pub(crate) store_results: bool,
    /// Keep only these members of arguments in clear, and the hash of the rest.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "store_args"
    )]
    pub(crate) store_fields: Vec<String>,
    /// Record a commitment to each member of arguments and results, so that one can be revealed.
    #[arg(long)]
    pub(crate) commit_fields: bool,
    /// Key for the hashes of arguments and results, or `@FILE` that holds it.
    #[arg(
        long,
        value_name = "KEY",
        env = PEPPER,
        hide_env_values = true
    )]
    pub(crate) hash_pepper: Option<String>,
    /// Wait for the disk before anything is released, and refuse calls that cannot be recorded.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Name of the upstream in receipts; made from its command or address if it is not given.
    #[arg(long, value_name = "NAME")]
    pub(crate) server_id: Option<String>,
    /// Seconds after which a call without an answer is recorded as timed out.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub(crate) call_timeout: Duration,
    /// Seconds to wait for answers and for the upstream when the session ends.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) shutdown_timeout: Duration,
    /// The upstream's command and its arguments.
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "upstream_url"
    )]
    pub(crate) command: Vec<OsString>,
}

fn side(text: &str) -> Result<Side, String> {
    let all = [Side::Arguments, Side::Result];
    let found = all.into_iter().find(|side| side.name() == text);
    found.ok_or_else(|| "known are `arguments` and `result`".to_owned())
}

fn profile(text: &str) -> Result<Profile, String> {
    match text {
        "audit" => Ok(Profile::Audit),
        "guard" => Ok(Profile::Guard),
        "escrow" => Err("`escrow` is reserved and not implemented".to_owned()),
        _ => Err("known are `audit` and `guard`".to_owned()),
    }
}

/// Reads a wait. What is added to a clock must have an end.
fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number of seconds, up to a year".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    let span = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    Some(span).filter(|span| *span <= YEAR).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }
}
