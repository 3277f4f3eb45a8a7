//! `disclose` and `check-disclosure`: one member of a value, and nothing of the others.

use std::fs;
use std::path::Path;

use anyhow::Result;
use mcpproxy_notary::disclose::{self, Salts};
use mcpproxy_notary::keys::{SIGNER, Signer};
use serde_json::json;

use crate::args::Disclose;
use crate::exit::{Exit, bad_input};
use crate::output::{self, Form};

/// Reveals a member of a value that the caller has and the receipts committed to.
pub(super) fn reveal(args: &Disclose, keys: &Path) -> Result<Exit> {
    let signer = Signer::open(keys, SIGNER)?;
    let salts = Salts::new(&signer, &args.session_id);
    let value = read(&args.value)?;
    let shown = salts.reveal(&args.invocation_id, args.side, &value, &args.field);
    let shown = shown.ok_or_else(|| bad_input(format!("the value has no `{}`", args.field)))?;
    output::data(&shown.pretty())?;
    Ok(Exit::Fine)
}

/// Checks what was revealed against the commitments of a pack.
pub(super) fn check(disclosure: &Path, pack: &Path, form: Form) -> Result<Exit> {
    let text = read(disclosure)?;
    let lines = if pack.is_dir() {
        pack.join("receipt_pack.jsonl")
    } else {
        pack.to_owned()
    };
    let lines = read(&lines)?;
    let found = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| memchr::memmem::find(line, b"\"mcp.commitments\"").is_some())
        .filter_map(|line| disclose::check(&text, line).ok())
        .find(|shown| shown.holds);
    let said = match (&found, form) {
        (Some(shown), Form::Text) => {
            format!(
                "`{}` of {} was {}",
                shown.field, shown.invocation_id, shown.value
            )
        }
        (None, Form::Text) => "no receipt commits to this".to_owned(),
        (_, Form::Json) => {
            let field = found.as_ref().map(|shown| shown.field.as_str());
            let value = found.as_ref().map(|shown| shown.value.as_str());
            json!({ "holds": found.is_some(), "field": field, "value": value }).to_string()
        }
    };
    output::data(&said)?;
    Ok(if found.is_some() {
        Exit::Fine
    } else {
        Exit::Broken
    })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|fault| bad_input(format!("cannot read `{}`: {fault}", path.display())))
}
