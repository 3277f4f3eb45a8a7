//! `assay mcp-proxy`: one session between a client on standard input and output and one upstream.
//!
//! Here the flags become a session: earlier ones are recovered, the ledger is opened, the upstream
//! started, and at the end the pack is made and the exit code chosen.

mod attend;
mod calls;
pub(crate) mod child;
mod http;
mod lines;
mod outlet;
mod pump;
mod recorder;
mod setup;
mod stdio;

use std::process::ExitCode;
use std::sync::Arc;

use mcpproxy_notary::ledger::{End, Packing};
use mcpproxy_notary::pack::Built;
use mcpproxy_notary::receipt::Mark;
use rustix::process::Signal;
use serde_json::json;

pub(crate) use self::http::{Address, is_own};
use self::outlet::Outlet;
use self::recorder::Recorder;
use crate::args::McpProxy;
use crate::exit::{self, Exit};
use crate::output::Form;

/// How a session ended, for the exit code and for the receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finish {
    /// The client or the upstream ended it in good order.
    Closed,
    /// The client left, and the upstream did not end by itself.
    Left,
    /// The upstream failed.
    UpstreamFailed,
    /// A record could not be written, and going on was not allowed.
    Unrecorded,
    /// The upstream was never reached.
    Unreachable,
    /// SIGINT.
    Interrupted,
    /// SIGTERM or SIGHUP.
    Terminated,
}

impl Finish {
    /// Returns the end that a signal brings.
    fn by(signal: Signal) -> Self {
        if signal == Signal::INT {
            Self::Interrupted
        } else {
            Self::Terminated
        }
    }
}

/// Runs a session from its start to its exit code.
pub(crate) fn run(args: McpProxy, keys: &std::path::Path, form: Form) -> ExitCode {
    match session(args, keys, form) {
        Ok(exit) => exit.into(),
        Err(fault) => {
            form.error(&format!("{fault:#}"));
            exit::code_of(&fault).into()
        }
    }
}

fn session(args: McpProxy, keys: &std::path::Path, form: Form) -> anyhow::Result<Exit> {
    let setup = setup::prepare(args, keys, form)?;
    let packing = setup.packing;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (recorder, finish) = match setup.address.clone() {
        None => runtime.block_on(stdio::hold(setup))?,
        Some(address) => runtime.block_on(http::hold(setup, address))?,
    };
    Ok(conclude(&recorder, finish, packing, form))
}

/// Closes what is open, makes the pack and chooses the exit code.
fn conclude(recorder: &Recorder, finish: Finish, packing: Packing, form: Form) -> Exit {
    let unheard = recorder.unheard();
    let whole = recorder.waiting() == 0 && !unheard;
    let (mark, end) = match finish {
        Finish::Closed | Finish::Left if whole => (Mark::UpstreamExited, End::Closed),
        Finish::Interrupted | Finish::Terminated if whole => (Mark::ProxyStopped, End::Interrupted),
        Finish::Left | Finish::Interrupted | Finish::Terminated => (Mark::ProxyStopped, End::Cut),
        // What an upstream does whose client is gone is not held against it.
        Finish::Closed | Finish::UpstreamFailed if unheard => (Mark::ProxyStopped, End::Cut),
        Finish::Closed | Finish::UpstreamFailed | Finish::Unreachable => {
            (Mark::UpstreamExited, End::UpstreamFailed)
        }
        Finish::Unrecorded => (Mark::ProxyStopped, End::Failed),
    };
    recorder.close(mark);
    let packed = recorder.ledger().finish(end, packing);
    let sound = match packed {
        Ok(built) => {
            tell(
                recorder,
                built.as_ref().map(|built| built.path.as_path()),
                end,
                form,
            );
            let whole = built.as_ref().is_none_or(|built| holds(built, form));
            // A session that ended well and whose disk did not is incomplete all the same.
            let said = built.and_then(|built| built.report.session_complete);
            let kept = recorder.ledger().counts().lost == 0;
            whole && kept && (said != Some(false) || !end.is_complete())
        }
        Err(fault) => {
            let lost = lost(recorder.ledger().counts().lost);
            form.error(&format!("{fault}{lost}"));
            false
        }
    };
    match (sound, finish) {
        (false, _) | (_, Finish::Unrecorded) => Exit::Broken,
        (true, Finish::Unreachable) => Exit::BadInput,
        (true, Finish::Interrupted) => Exit::Interrupted,
        (true, Finish::Terminated) => Exit::Terminated,
        (true, _) if !end.is_complete() => Exit::Broken,
        (true, _) if recorder.violated() => Exit::Failing,
        (true, _) => Exit::Fine,
    }
}

/// Tells whether a pack that was just made holds, and says so if it does not.
fn holds(built: &Built, form: Form) -> bool {
    let fault = built.fault();
    if let Some(fault) = &fault {
        form.error(fault);
    }
    fault.is_none()
}

/// Says how many receipts are lost, if any are.
fn lost(count: u64) -> String {
    match count {
        0 => String::new(),
        count => format!("; {count} receipts are lost"),
    }
}

/// Says where the pack is and what it holds.
fn tell(recorder: &Recorder, pack: Option<&std::path::Path>, end: End, form: Form) {
    let counts = recorder.ledger().counts();
    let calls = format!(
        "{} forwarded, {} denied, {} failed, {} not answered",
        counts.forwarded, counts.denied, counts.errors, counts.timeouts
    );
    let details = json!({
        "pack": pack.map(|path| path.display().to_string()),
        "receipts": recorder.ledger().path().display().to_string(),
        "session_id": recorder.ledger().session_id(),
        "session_complete": end.is_complete() && counts.lost == 0,
        "reason": end.name(),
        "forwarded": counts.forwarded,
        "denied": counts.denied,
        "errors": counts.errors,
        "timeouts": counts.timeouts,
        "lost": counts.lost,
    });
    let calls = format!("{calls}{}", lost(counts.lost));
    let complete = if end.is_complete() {
        ""
    } else {
        "; the session is incomplete"
    };
    let text = match pack {
        Some(pack) => format!("pack {} ({calls}{complete})", pack.display()),
        None => format!(
            "receipts {} ({calls}{complete})",
            recorder.ledger().path().display()
        ),
    };
    form.note("session_end", &text, details);
}

/// The shared ends of a session.
#[derive(Clone, Debug)]
struct Shared {
    recorder: Arc<Recorder>,
    outlet: Arc<Outlet>,
}
