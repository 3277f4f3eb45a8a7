//! From flags to a session that is ready to run.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result};
use mcpproxy_core::{Clock, Durability, PackInterval, SystemClock};
use mcpproxy_notary::content::Keep;
use mcpproxy_notary::file;
use mcpproxy_notary::guard::Policy;
use mcpproxy_notary::hash::Pepper;
use mcpproxy_notary::keys::{SIGNER, Signer};
use mcpproxy_notary::ledger::{self, Ledger, Options, Packing, Recovered, Transport};
use serde_json::json;

use super::http::Address;
use super::recorder::{Recorder, Settings};
use crate::args::{McpProxy, Profile};
use crate::exit::bad_input;
use crate::output::Form;

/// A session that is ready to run.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) recorder: Recorder,
    pub(super) command: Vec<OsString>,
    /// Where the upstream is, if it is not a command.
    pub(super) address: Option<Address>,
    /// The thread that packs what earlier sessions left.
    pub(super) recovery: Option<JoinHandle<()>>,
    pub(super) packing: Packing,
    pub(super) interval: PackInterval,
    pub(super) shutdown: Duration,
    pub(super) form: Form,
}

/// Checks the flags, recovers what earlier sessions left, and opens the ledger.
pub(super) fn prepare(args: McpProxy, keys: &Path, form: Form) -> Result<Setup> {
    let policy = policy(&args)?;
    let address = args
        .upstream_url
        .as_deref()
        .map(|url| Address::read(url, &args.headers));
    let address = address.transpose()?;
    let pepper = args.hash_pepper.as_deref().map(pepper).transpose()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let signer = Arc::new(Signer::open(keys, SIGNER)?);
    let root = args.audit_dir.as_path();
    if let Some(policy) = &policy {
        let folder = root.join("policy");
        let fault = || format!("cannot keep a copy of the policy in `{}`", folder.display());
        policy.snapshot(&folder).with_context(fault)?;
    }
    let options = Options {
        server_id: args.server_id.clone().unwrap_or_else(|| server_id(&args)),
        transport: address
            .as_ref()
            .map_or(Transport::Stdio, Address::transport),
        profile: match args.profile {
            Profile::Audit => ledger::Profile::Audit,
            Profile::Guard => ledger::Profile::Guard,
        },
        durability: if args.strict {
            Durability::Strict
        } else {
            Durability::Relaxed
        },
        policy_hash: policy.as_ref().map(|policy| policy.hash().to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        checkpoint_every: ledger::CHECKPOINT_EVERY,
        clock: Arc::clone(&clock),
        signer,
    };
    let ledger = Ledger::open(root, options.clone())?;
    let recovery = recover(root, &options, form);
    let settings = Settings {
        profile: args.profile,
        strict: args.strict,
        policy,
        keep_arguments: keep(&args),
        keep_results: args.store_results,
        pepper,
        commit_fields: args.commit_fields,
        call_timeout: args.call_timeout,
        scratch: root.to_owned(),
        form,
    };
    Ok(Setup {
        recorder: Recorder::new(ledger, clock, settings),
        command: args.command,
        address,
        recovery,
        packing: if args.auto_pack && !args.no_auto_pack {
            Packing::Pack
        } else {
            Packing::Skip
        },
        interval: args.pack_interval,
        shutdown: args.shutdown_timeout,
        form,
    })
}

fn policy(args: &McpProxy) -> Result<Option<Policy>> {
    let Some(path) = &args.policy else {
        return match args.profile {
            Profile::Audit => Ok(None),
            Profile::Guard => Err(bad_input("profile `guard` needs `--policy FILE`")),
        };
    };
    let shown = path.display();
    let wrong = |why: String| bad_input(format!("cannot read policy `{shown}`: {why}"));
    let text = file::read(path).map_err(|fault| wrong(fault.to_string()))?;
    let text = String::from_utf8(text).map_err(|_| wrong("it is no text".to_owned()))?;
    let policy = Policy::parse(&text)
        .map_err(|problem| bad_input(format!("cannot use policy `{shown}`: {problem}")))?;
    Ok(Some(policy))
}

/// Reads a key for hashes: as it is given, or from a file.
fn pepper(given: &str) -> Result<Pepper> {
    let key = match given.strip_prefix('@') {
        None => given.as_bytes().to_vec(),
        Some(path) => file::read(path.as_ref())
            .map_err(|fault| bad_input(format!("cannot read pepper `{path}`: {fault}")))?,
    };
    let key = key.trim_ascii().to_vec();
    if key.is_empty() {
        return Err(bad_input("the pepper is empty"));
    }
    Ok(Pepper::new(key))
}

fn keep(args: &McpProxy) -> Keep {
    if args.store_args {
        Keep::All
    } else if args.store_fields.is_empty() {
        Keep::Nothing
    } else {
        Keep::Fields(args.store_fields.clone())
    }
}

/// Names an upstream by its program and the first argument that is a file or a package.
fn server_id(args: &McpProxy) -> String {
    if let Some(url) = &args.upstream_url {
        let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        return host.rsplit('@').next().unwrap_or(host).to_owned();
    }
    let name = |word: &OsString| {
        let path = Path::new(word);
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        stem.to_string_lossy().into_owned()
    };
    let runner = |name: &str| {
        let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
        [
            "python", "node", "npx", "uvx", "uv", "bun", "deno", "sh", "bash", "docker",
        ]
        .contains(&bare)
    };
    // A script after `-c` names nothing.
    let sound = |char: char| char.is_alphanumeric() || "._@/\\-".contains(char);
    let plain = |word: &&OsString| {
        let word = word.to_string_lossy();
        !word.starts_with('-') && word.chars().all(sound)
    };
    let words: Vec<String> = args.command.iter().filter(plain).map(name).collect();
    let chosen = words
        .iter()
        .find(|word| !runner(word))
        .or_else(|| words.first());
    chosen.cloned().unwrap_or_else(|| "upstream".to_owned())
}

/// Packs what sessions that died left behind, beside the session that starts: the client must not
/// wait for it. A failure is told and stops nothing.
fn recover(root: &Path, options: &Options, form: Form) -> Option<JoinHandle<()>> {
    let (root, options) = (root.to_owned(), options.clone());
    let work = move || match ledger::recover(&root, &options) {
        Ok(found) => found.iter().for_each(|one| recovered(one, form)),
        Err(fault) => form.error(&format!("cannot recover earlier sessions: {fault}")),
    };
    thread::Builder::new()
        .name("recover".to_owned())
        .spawn(work)
        .ok()
}

fn recovered(found: &Recovered, form: Form) {
    let receipts = found.receipts.display();
    for warning in &found.warnings {
        form.note(
            "damaged",
            &format!("warning: {warning}"),
            json!({ "reason": warning }),
        );
    }
    for pack in &found.packs {
        match pack {
            Ok(built) => {
                let pack = built.path.display().to_string();
                let text = format!("recovered an interrupted session: pack {pack}");
                form.note("recovered", &text, json!({ "pack": pack }));
                super::holds(built, form);
            }
            Err(fault) => form.error(&format!("cannot recover `{receipts}`: {fault}")),
        }
    }
}
