//! `explain`, `diff` and `analyze`: what receipts say, in words.

use std::path::Path;

use anyhow::Result;
use mcpproxy_notary::analyze::History;
use mcpproxy_notary::view::Session;
use mcpproxy_notary::{Layout, NotaryError, diff as difference, explain as explanation};

use super::verify;
use crate::args::Judged;
use crate::exit::{Exit, bad_input};
use crate::output::{self, Form};

/// Tells what a pack says, and first whether it can be believed.
pub(super) fn explain(judged: &Judged, keys: &Path, form: Form) -> Result<Exit> {
    let report = verify::judge(judged, keys)?;
    let session = load(&judged.pack)?;
    output::data(&match form {
        Form::Json => explanation::json(&session, Some(&report)).pretty(),
        Form::Text => explanation::text(&session, Some(&report)),
    })?;
    Ok(verify::exit(report.class))
}

/// Tells how two sessions differ.
pub(super) fn diff(before: &Path, after: &Path, form: Form) -> Result<Exit> {
    verify::intact(before)?;
    verify::intact(after)?;
    let differences = difference::diff(&load(before)?, &load(after)?);
    output::data(&match form {
        Form::Json => difference::json(&differences).pretty(),
        Form::Text => difference::text(&differences),
    })?;
    Ok(if differences.is_empty() {
        Exit::Fine
    } else {
        Exit::Failing
    })
}

/// Counts the calls of all sessions in a folder.
pub(super) fn analyze(audit_dir: &Path, form: Form) -> Result<Exit> {
    if !audit_dir.is_dir() {
        return Err(bad_input(format!("no folder `{}`", audit_dir.display())));
    }
    let history = History::load(&Layout::existing(audit_dir)).map_err(|fault| wrong(&fault))?;
    output::data(&match form {
        Form::Json => history.json().pretty(),
        Form::Text => history.text(),
    })?;
    Ok(Exit::Fine)
}

fn load(path: &Path) -> Result<Session> {
    Session::load(path).map_err(|fault| wrong(&fault))
}

fn wrong(fault: &NotaryError) -> anyhow::Error {
    bad_input(fault.to_string())
}
