//! `keys`: the key that signs packs.

use std::path::Path;

use anyhow::Result;
use mcpproxy_notary::keys::{SIGNER, Signer};
use serde_json::json;

use crate::args::Keys;
use crate::exit::Exit;
use crate::output::{self, Form};

/// Shows, prints or replaces the key; it is made if there is none.
pub(crate) fn run(action: Option<Keys>, folder: &Path, form: Form) -> Result<Exit> {
    let signer = match action {
        None | Some(Keys::Show | Keys::Export) => Signer::open(folder, SIGNER)?,
        Some(Keys::Rotate) => Signer::rotate(folder, SIGNER)?,
    };
    let key = signer.public();
    let succeeds = signer.successions().last();
    let succeeds = succeeds.map(|succession| succession.old.fingerprint());
    output::data(&match (form, action) {
        (Form::Json, _) => json!({
            "name": signer.name(),
            "folder": folder.display().to_string(),
            "fingerprint": key.fingerprint(),
            "public_key": key.base64(),
            "pem": key.pem(),
            "succeeds": succeeds,
        })
        .to_string(),
        (Form::Text, Some(Keys::Export)) => key.pem(),
        (Form::Text, _) => {
            let after = succeeds
                .map(|old| format!("\nsucceeds    {old}"))
                .unwrap_or_default();
            format!(
                "name        {}\nfingerprint {}\nfolder      {}{after}",
                signer.name(),
                key.fingerprint(),
                folder.display()
            )
        }
    })?;
    Ok(Exit::Fine)
}
