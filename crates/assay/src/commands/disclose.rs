//! `disclose` and `check-disclosure`: one member of a value, and nothing of the others.

use std::fs;
use std::path::Path;

use anyhow::Result;
use mcpproxy_notary::disclose::{self, Disclosed, Salts};
use mcpproxy_notary::file;
use mcpproxy_notary::keys::{SIGNER, Signer};
use mcpproxy_notary::verify::Class;
use serde_json::json;

use super::verify;
use crate::args::{Disclose, Judged};
use crate::exit::{Exit, bad_input};
use crate::output::{self, Form};

/// Reveals a member of a value that the caller has and the receipts committed to. What nothing
/// commits to would convince nobody, and the value would be given away for it.
pub(super) fn reveal(args: &Disclose, keys: &Path) -> Result<Exit> {
    let signer = Signer::open(keys, SIGNER)?;
    let salts = Salts::new(&signer, &args.session_id);
    let value = read(&args.value)?;
    let shown = salts.reveal(&args.invocation_id, args.side, &value, &args.field);
    let shown = shown.ok_or_else(|| bad_input(format!("the value has no `{}`", args.field)))?;
    let shown = shown.pretty();
    match committed(shown.as_bytes(), &args.receipts)? {
        Some(found) if found.holds => output::data(&shown)?,
        Some(_) => {
            return Err(bad_input(format!(
                "the receipts of `{}` commit to something else than this `{}`: the value, the \
                 session or the key is another one",
                args.invocation_id, args.field
            )));
        }
        None => {
            return Err(bad_input(format!(
                "no receipt in `{}` commits to fields of the {} of `{}`; give the audit folder or \
                 the pack with `--receipts`",
                args.receipts.display(),
                args.side.name(),
                args.invocation_id
            )));
        }
    }
    Ok(Exit::Fine)
}

/// Looks for the commitment in a pack, a file of receipts or all of those of an audit folder.
fn committed(shown: &[u8], path: &Path) -> Result<Option<Disclosed>> {
    let find = |path: &Path| {
        let found = disclose::find(shown, path);
        found.map_err(|fault| bad_input(fault.to_string()))
    };
    let Ok(sessions) = fs::read_dir(path.join("receipts")) else {
        return find(path);
    };
    let mut best = None;
    for session in sessions.flatten().map(|entry| entry.path()) {
        if session.extension().is_some_and(|end| end == "jsonl") {
            best = find(&session)?.or(best);
        }
        if best.as_ref().is_some_and(|best| best.holds) {
            break;
        }
    }
    Ok(best)
}

/// Checks what was revealed against the commitments of a pack, which is judged first, or of a file
/// of receipts, which cannot be.
pub(super) fn check(disclosure: &Path, judged: &Judged, keys: &Path, form: Form) -> Result<Exit> {
    let text = read(disclosure)?;
    let pack = judged.pack.as_path();
    let class = if pack.is_dir() {
        let report = verify::judge(judged, keys)?;
        let details = json!({ "verdict": report.class.name() });
        form.note("pack", &format!("the pack: {}", report.summary()), details);
        report.class
    } else {
        let said = "the receipts were not verified: they are no pack";
        form.note("unverified", said, json!({ "verdict": null }));
        Class::Pass
    };
    let found = disclose::find(&text, pack).map_err(|fault| bad_input(fault.to_string()))?;
    let found = found.filter(|shown| shown.holds);
    let said = match (&found, form) {
        (Some(shown), Form::Text) => output::lines(&[format!(
            "`{}` of {} was {}",
            shown.field, shown.invocation_id, shown.value
        )]),
        (None, Form::Text) => "no receipt commits to this".to_owned(),
        (_, Form::Json) => {
            let field = found.as_ref().map(|shown| shown.field.as_str());
            let value = found.as_ref().map(|shown| shown.value.as_str());
            json!({ "holds": found.is_some(), "field": field, "value": value }).to_string()
        }
    };
    output::data(&said)?;
    Ok(if found.is_some() {
        verify::exit(class)
    } else {
        Exit::Broken
    })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    file::read(path)
        .map_err(|fault| bad_input(format!("cannot read `{}`: {fault}", path.display())))
}
