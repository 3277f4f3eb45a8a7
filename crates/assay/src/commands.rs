//! One file per command; here is only who does what.

mod disclose;
mod keys;
mod prove;
mod read;
mod scan;
mod timestamp;
mod verify;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::exit;
use crate::output::Form;
use crate::proxy;

/// Runs the command that the arguments name.
pub(crate) fn run(args: Args) -> ExitCode {
    let form = Form::of(args.json);
    let folder = args.keys.folder();
    let done = match args.command {
        Command::McpProxy(mcp_proxy) => return proxy::run(*mcp_proxy, &folder, form),
        Command::Watch { group } => return proxy::child::watch(group),
        Command::VerifyPack(verify) => verify::run(&verify, &folder, form),
        Command::Explain(judged) => read::explain(&judged, &folder, form),
        Command::Diff { before, after } => read::diff(&before, &after, form),
        Command::Analyze { audit_dir, .. } => read::analyze(&audit_dir, form),
        Command::Prove { pack, receipt_id } => prove::prove(&pack, &receipt_id),
        Command::CheckProof { proof, trusted } => prove::check(&proof, &trusted, &folder, form),
        Command::Timestamp { pack, by } => timestamp::run(&pack, &by, form),
        Command::Export(judged) => prove::export(&judged, &folder),
        Command::Disclose(disclose) => disclose::reveal(&disclose, &folder),
        Command::CheckDisclosure { disclosure, judged } => {
            disclose::check(&disclosure, &judged, &folder, form)
        }
        Command::Scan { project } => scan::run(project, form),
        Command::Keys { action } => keys::run(action, &folder, form),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(fault) => {
            form.error(&format!("{fault:#}"));
            exit::code_of(&fault).into()
        }
    }
}
