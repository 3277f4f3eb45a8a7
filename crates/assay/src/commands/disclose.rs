//! `disclose` and `check-disclosure`: one member of a value, and nothing of the others.

use std::path::Path;

use anyhow::Result;
use mcpproxy_notary::disclose::{self, Salts};
use mcpproxy_notary::file;
use mcpproxy_notary::keys::{SIGNER, Signer};
use mcpproxy_notary::verify::Class;
use serde_json::json;

use super::verify;
use crate::args::{Disclose, Judged};
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

/// Checks what was revealed against the commitments of a pack, which is judged first, or of a file
/// of receipts, which cannot be.
pub(super) fn check(disclosure: &Path, judged: &Judged, keys: &Path, form: Form) -> Result<Exit> {
    let text = read(disclosure)?;
    let pack = judged.pack.as_path();
    let (lines, class) = if pack.is_dir() {
        let report = verify::judge(judged, keys)?;
        let details = json!({ "verdict": report.class.name() });
        form.note("pack", &format!("the pack: {}", report.summary()), details);
        (read(&pack.join("receipt_pack.jsonl"))?, report.class)
    } else {
        let said = "the receipts were not verified: they are no pack";
        form.note("unverified", said, json!({ "verdict": null }));
        (read(pack)?, Class::Pass)
    };
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
        verify::exit(class)
    } else {
        Exit::Broken
    })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    file::read(path)
        .map_err(|fault| bad_input(format!("cannot read `{}`: {fault}", path.display())))
}
