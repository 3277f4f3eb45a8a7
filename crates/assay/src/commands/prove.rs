//! `prove`, `check-proof` and `export`: what others are given instead of a whole pack.

use std::path::Path;

use anyhow::Result;
use mcpproxy_notary::keys::{SIGNER, Signer};
use mcpproxy_notary::{export as statement, file, prove as proof};

use super::verify;
use crate::args::{Judged, Trusted};
use crate::exit::{Exit, bad_input};
use crate::output::{self, Form};

/// Prints the proof that a receipt is part of what was signed.
pub(super) fn prove(pack: &Path, receipt_id: &str) -> Result<Exit> {
    verify::intact(pack)?;
    let made = proof::prove(pack, receipt_id).map_err(|fault| bad_input(fault.to_string()))?;
    output::data(&made.pretty())?;
    Ok(Exit::Fine)
}

/// Checks a proof and prints the receipt that it shows.
pub(super) fn check(path: &Path, trusted: &Trusted, keys: &Path, form: Form) -> Result<Exit> {
    let text = file::read(path)
        .map_err(|fault| bad_input(format!("cannot read proof `{}`: {fault}", path.display())))?;
    let shown = proof::check(&text, &verify::trust(trusted, keys)?);
    let shown = shown.map_err(|fault| bad_input(fault.to_string()))?;
    output::data(&match form {
        Form::Json => shown.json().pretty(),
        Form::Text => {
            let verdict = shown
                .problem
                .unwrap_or("the receipt is part of what was signed");
            let signer = shown.signer.name();
            output::lines(&[
                format!("{verdict}; signer {signer}"),
                format!("line {}: {}", shown.index, shown.receipt),
            ])
        }
    })?;
    Ok(verify::exit(shown.class))
}

/// Prints a pack's judgement as an in-toto statement, signed by one's own key.
pub(super) fn export(judged: &Judged, keys: &Path) -> Result<Exit> {
    let report = verify::judge(judged, keys)?;
    let said = statement::statement(&judged.pack, &report);
    let said = said.map_err(|fault| bad_input(fault.to_string()))?;
    let signer = Signer::open(keys, SIGNER)?;
    output::data(&statement::envelope(&said, &signer)?.pretty())?;
    Ok(verify::exit(report.class))
}
