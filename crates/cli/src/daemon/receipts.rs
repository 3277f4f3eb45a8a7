//! Receipts of the gateway's calls: the notary's desk behind the engine's port.
//!
//! One ledger for a run of the gateway. How receipts look is for the notary to know; here is what
//! the configuration says about them, and the waiting for the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use mcpproxy_config::{Loaded, show};
use mcpproxy_core::{
    CallId, Clock, Deed, Durability, Ended, Later, ReceiptSink, Receipted, Secret, SinkFault, Wall,
};
use mcpproxy_gateway::settings::{Durability as Wanted, ReceiptSettings};
use mcpproxy_notary::content::Keep;
use mcpproxy_notary::desk::{Desk, Rules};
use mcpproxy_notary::find::find;
use mcpproxy_notary::guard::snapshot;
use mcpproxy_notary::hash::Pepper;
use mcpproxy_notary::keys::{SIGNER, Signer, usual_folder};
use mcpproxy_notary::ledger::{CHECKPOINT_EVERY, Done, Options, Profile, Transport, recover};
use mcpproxy_policy::settings::Mode;
use mcpproxy_upstream::settings::{Transport as Wire, UpstreamSettings};
use tokio::sync::oneshot;

use crate::output;

/// Names the gateway where receipts name an upstream.
const SERVER: &str = "mcpproxy";

/// The desk of a running gateway.
#[derive(Debug)]
pub(crate) struct Receipts {
    desk: Desk,
    root: PathBuf,
}

impl Receipts {
    /// Opens the ledger, if receipts are wanted, and packs what an earlier run left behind.
    pub(crate) fn open(loaded: &Loaded, clock: &Arc<dyn Clock>) -> Result<Option<Arc<Self>>> {
        let settings = &loaded.config.gateway.receipts;
        if !settings.enabled {
            return Ok(None);
        }
        let usual = || loaded.config.gateway.data_dir.join("receipts");
        let root = settings.audit_dir.clone().unwrap_or_else(usual);
        let options = options(settings, loaded, clock)?;
        let desk = Desk::open(&root, options.clone(), rules(settings), Box::new(packed));
        let desk = desk.context("cannot begin to write receipts")?;
        recover_beside(&root, options);
        let receipts = Self { desk, root };
        receipts.apply(loaded)?;
        Ok(Some(Arc::new(receipts)))
    }

    /// Takes up a configuration: how upstreams are reached, and a copy of the policy in force.
    pub(crate) fn apply(&self, loaded: &Loaded) -> Result<()> {
        let upstreams = loaded.config.upstreams.iter();
        let transports = upstreams.map(|(name, one)| (name.clone(), transport(one)));
        self.desk.reach(transports.collect::<BTreeMap<_, _>>());
        let rows = show(loaded, false).into_iter();
        let rows = rows.filter(|row| row.path.starts_with("security."));
        let lines: Vec<String> = rows
            .map(|row| format!("{}: {}", row.path, row.value))
            .collect();
        let text = lines.join("\n") + "\n";
        let folder = self.root.join("policy");
        let fault = || format!("cannot keep a copy of the policy in `{}`", folder.display());
        let (hash, _) = snapshot(&folder, &text).with_context(fault)?;
        self.desk.enforce(&hash);
        Ok(())
    }

    /// Ends the ledger and makes its last pack.
    pub(crate) async fn finish(self: &Arc<Self>) {
        let own = Arc::clone(self);
        let finished = tokio::task::spawn_blocking(move || own.desk.finish()).await;
        match finished {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(built))) => packed(Ok(built)),
            Ok(Err(fault)) => packed(Err(fault)),
            Err(fault) => tracing::error!("receipts were not packed: {fault}"),
        }
    }

    /// Hands something in; in strict mode waits until it is on disk.
    fn hand_in(
        &self,
        hand_in: impl FnOnce(Option<Done>) -> bool,
    ) -> Later<'_, Result<(), SinkFault>> {
        let broken = |why: &str| Err(SinkFault::Unreceipted(why.to_owned()));
        if self.desk.durability() == Durability::Relaxed {
            // What is lost is counted, and the session says that it is incomplete.
            let _counted: bool = hand_in(None);
            return Box::pin(std::future::ready(Ok(())));
        }
        let (send, told) = oneshot::channel();
        let done: Done = Box::new(move |said| drop(send.send(said)));
        if !hand_in(Some(done)) {
            return Box::pin(std::future::ready(broken("too many wait")));
        }
        Box::pin(async move {
            match told.await {
                Ok(said) => said.map_err(SinkFault::Unreceipted),
                Err(_) => broken("the writer has stopped"),
            }
        })
    }
}

impl ReceiptSink for Receipts {
    fn intent(&self, deed: Deed) -> Later<'_, Result<(), SinkFault>> {
        self.hand_in(|done| self.desk.intent(deed, done))
    }

    fn denied(&self, deed: Deed) -> Later<'_, Result<(), SinkFault>> {
        self.hand_in(|done| self.desk.denied(deed, done))
    }

    fn outcome(&self, deed: Deed, ended: Ended) -> Later<'_, Result<(), SinkFault>> {
        self.hand_in(|done| self.desk.outcome(deed, ended, done))
    }

    fn problem(&self) -> Option<String> {
        self.desk.problem()
    }

    fn find(&self, call: CallId, at: Wall) -> Later<'_, Result<Vec<Receipted>, String>> {
        let root = self.root.clone();
        Box::pin(async move {
            let found =
                tokio::task::spawn_blocking(move || find(&root, &call.to_string(), at)).await;
            let found = found.map_err(|fault| fault.to_string())?;
            found.map_err(|fault| fault.to_string())
        })
    }
}

fn options(settings: &ReceiptSettings, loaded: &Loaded, clock: &Arc<dyn Clock>) -> Result<Options> {
    let named = || std::env::var_os("ASSAY_KEYS_DIR").map(PathBuf::from);
    let keys = settings.keys_dir.clone().or_else(named);
    let keys = keys.unwrap_or_else(usual_folder);
    Ok(Options {
        server_id: SERVER.to_owned(),
        transport: Transport::Gateway,
        profile: match loaded.config.security.mode {
            Mode::Enforce => Profile::Guard,
            Mode::Shadow => Profile::Audit,
        },
        durability: match settings.durability {
            Wanted::Relaxed => Durability::Relaxed,
            Wanted::Strict => Durability::Strict,
        },
        policy_hash: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        checkpoint_every: CHECKPOINT_EVERY,
        clock: Arc::clone(clock),
        signer: Arc::new(Signer::open(&keys, SIGNER)?),
    })
}

fn rules(settings: &ReceiptSettings) -> Rules {
    let pepper = settings.hash_pepper.as_ref().map(Secret::expose);
    let arguments = match settings.store_fields.as_slice() {
        _ if settings.store_args => Keep::All,
        [] => Keep::Nothing,
        names => Keep::Fields(names.to_vec()),
    };
    Rules {
        arguments,
        results: if settings.store_results {
            Keep::All
        } else {
            Keep::Nothing
        },
        pepper: pepper.map(|pepper| Pepper::new(pepper.trim())),
        interval: settings.pack_interval,
    }
}

fn transport(upstream: &UpstreamSettings) -> Transport {
    match (&upstream.command, upstream.transport) {
        (Some(_), _) | (None, Wire::Stdio) => Transport::Stdio,
        (None, Wire::Sse) => Transport::Sse,
        (None, Wire::Auto | Wire::Http) => Transport::Http,
    }
}

fn packed(built: Result<mcpproxy_notary::pack::Built, mcpproxy_notary::NotaryError>) {
    match built {
        Ok(built) => match built.fault() {
            None => tracing::info!("proof pack {}", built.path.display()),
            Some(fault) => tracing::error!("{fault}"),
        },
        Err(fault) => tracing::error!("receipts were not packed: {fault}"),
    }
}

/// Packs what runs that died left behind, beside the one that starts; a failure stops nothing.
fn recover_beside(root: &Path, options: Options) {
    let root = root.to_owned();
    let work = move || match recover(&root, &options) {
        Ok(found) => {
            for warning in found.iter().flat_map(|one| &one.warnings) {
                output::note(&format!(
                    "warning: receipts of an interrupted run: {warning}"
                ));
            }
            for pack in found.into_iter().flat_map(|one| one.packs) {
                output::note(&match pack {
                    Ok(built) => match built.fault() {
                        None => {
                            let pack = built.path.display();
                            format!("notice: receipts of an interrupted run are in {pack}")
                        }
                        Some(fault) => format!("warning: an interrupted run: {fault}"),
                    },
                    Err(fault) => format!("warning: receipts of an interrupted run: {fault}"),
                });
            }
        }
        Err(fault) => output::note(&format!("warning: receipts cannot be recovered: {fault}")),
    };
    let thread = std::thread::Builder::new().name("recover".to_owned());
    if let Err(fault) = thread.spawn(work) {
        output::note(&format!("warning: receipts cannot be recovered: {fault}"));
    }
}
