//! Access policies as the configuration names them, read whole or not at all.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcpproxy_config::{Loaded, SecuritySettings};
use mcpproxy_core::AccessRules;
use mcpproxy_hooks::guards::access::{ID, Settings};
use mcpproxy_hooks_cedar::CedarRules;

/// The largest file of policies.
const LONGEST: u64 = 1024 * 1024;

/// Reads the access policies of a configuration, or says what is wrong with them and where.
pub(crate) fn rules(loaded: &Loaded) -> Result<Option<Arc<dyn AccessRules>>, String> {
    told(&loaded.config.security)
}

/// Reads the access policies of a `security` section, or says what is wrong with them and where.
pub(crate) fn told(security: &SecuritySettings) -> Result<Option<Arc<dyn AccessRules>>, String> {
    let Some(Settings {
        policies,
        policy_file,
    }) = security.guards().access
    else {
        return Ok(None);
    };
    let (text, from) = match (policies, policy_file) {
        (_, Some(file)) => (read(&file)?, file.display().to_string()),
        (text, None) => (text.unwrap_or_default(), format!("policies of {ID}")),
    };
    let rules = CedarRules::parse(&text, &from);
    let rules = rules.map_err(|fault| format!("cannot read access policies: {fault}"))?;
    if rules.is_empty() {
        return Err(format!(
            "cannot read access policies: `{from}` has none, so that nothing would be permitted"
        ));
    }
    Ok(Some(Arc::new(rules)))
}

/// Returns the file that the policies of a configuration stand in.
pub(crate) fn file(loaded: &Loaded) -> Option<PathBuf> {
    loaded.config.security.guards().access?.policy_file
}

fn read(file: &Path) -> Result<String, String> {
    let shown = file.display();
    let mut text = String::new();
    let read =
        std::fs::File::open(file).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        Ok(length) if u64::try_from(length).is_ok_and(|length| length <= LONGEST) => Ok(text),
        Ok(_) => Err(format!(
            "cannot read access policies: `{shown}` is larger than 1 MiB"
        )),
        Err(fault) => Err(format!("cannot read access policies: `{shown}`: {fault}")),
    }
}
