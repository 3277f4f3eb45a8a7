//! Access policies as the configuration names them, read whole or not at all.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcpproxy_config::{Loaded, SecuritySettings};
use mcpproxy_core::{AccessRules, open_regular};
use mcpproxy_hooks::guards::access::{ID, Settings};
use mcpproxy_hooks_cedar::CedarRules;

/// The largest file of policies.
const LONGEST: u64 = 1024 * 1024;

/// Reads the access policies of a configuration, or says what is wrong with them and where.
pub(crate) fn rules(loaded: &Loaded) -> Result<Option<Arc<dyn AccessRules>>, String> {
    told(&loaded.config.security)
}

/// Access policies, and what is odd about them.
pub(crate) struct Checked {
    pub(crate) rules: Arc<dyn AccessRules>,
    /// A line for each server that they name and that is not configured: one may be added later, and a
    /// name with a slip in it protects nothing.
    pub(crate) strange: Vec<String>,
}

/// Reads the access policies of a configuration and compares them with the rest of it.
pub(crate) fn checked(loaded: &Loaded) -> Result<Option<Checked>, String> {
    let Some(rules) = read_rules(&loaded.config.security)? else {
        return Ok(None);
    };
    let upstreams = &loaded.config.upstreams;
    let strange = rules
        .servers()
        .filter(|(server, _)| !upstreams.contains_key(*server));
    let line = |(server, policy): (&str, &str)| {
        let known = upstreams.keys().map(String::as_str);
        let near = mcpproxy_text::nearest(server, known);
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!(
            "access policy `{policy}` names the server `{server}`, which is not configured{near}"
        )
    };
    let strange = strange.map(line).collect();
    Ok(Some(Checked {
        rules: Arc::new(rules),
        strange,
    }))
}

/// Reads the access policies of a `security` section, or says what is wrong with them and where.
pub(crate) fn told(security: &SecuritySettings) -> Result<Option<Arc<dyn AccessRules>>, String> {
    let rules = read_rules(security)?;
    Ok(rules.map(|rules| Arc::new(rules) as _))
}

fn read_rules(security: &SecuritySettings) -> Result<Option<CedarRules>, String> {
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
    Ok(Some(rules))
}

/// Returns the file that the policies of a configuration stand in.
pub(crate) fn file(loaded: &Loaded) -> Option<PathBuf> {
    loaded.config.security.guards().access?.policy_file
}

fn read(file: &Path) -> Result<String, String> {
    let shown = file.display();
    let mut text = String::new();
    let read = open_regular(file).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        Ok(length) if u64::try_from(length).is_ok_and(|length| length <= LONGEST) => Ok(text),
        Ok(_) => Err(format!(
            "cannot read access policies: `{shown}` is larger than 1 MiB"
        )),
        Err(fault) => Err(format!("cannot read access policies: `{shown}`: {fault}")),
    }
}
