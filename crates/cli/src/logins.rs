//! Logins to upstreams are kept in the vault of the data folder.

use std::path::Path;
use std::sync::Arc;

use mcpproxy_control::Vault;
use mcpproxy_core::{Secret, SystemClock};
use mcpproxy_upstream::Logins;
use mcpproxy_upstream::oauth::Keep;

/// Names of logins in the vault begin with this; other secrets may come to lie beside them.
const PREFIX: &str = "oauth/";

#[derive(Debug)]
struct InVault(Vault);

impl Keep for InVault {
    fn load(&self, name: &str) -> Result<Option<Secret>, String> {
        let found = self.0.get(&format!("{PREFIX}{name}"));
        found.map_err(|fault| fault.to_string())
    }

    fn save(&self, name: &str, secret: Option<&Secret>) -> Result<(), String> {
        let kept = self.0.put(&format!("{PREFIX}{name}"), secret);
        kept.map_err(|fault| fault.to_string())
    }
}

/// Returns where logins are kept for a data folder.
pub(crate) fn logins(data_dir: &Path) -> Logins {
    let keep = InVault(Vault::new(data_dir));
    Logins::new(Arc::new(keep), Arc::new(SystemClock::start()))
}
