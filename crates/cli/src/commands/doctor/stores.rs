//! Whether the databases of the configuration answer, and whether the log can be read where it is a file,
//! looked at while no gateway uses them. Nothing is changed there.

use std::path::Path;

use mcpproxy_config::Loaded;
use mcpproxy_store::{Error, examine_log, reach_database};
use tokio::runtime::Builder;

use super::check::Check;
use crate::daemon::live;

const AREA: &str = "Databases";

/// Connects to what the configuration names.
pub(super) fn checks(loaded: &Loaded) -> Vec<Check> {
    let gateway = &loaded.config.gateway;
    let store = match &gateway.store {
        Some(url) => {
            let hint = "a gateway does not start without it; see to it that it answers at `store`";
            Some(check(
                "the activity log",
                reach_database(url.expose()),
                hint,
            ))
        }
        None => file(&gateway.data_dir.join(mcpproxy_store::FILE)),
    };
    let live = gateway.live.as_ref().map(|settings| {
        let hint =
            "a gateway does not start without it; see to it that Redis answers at `live.url`";
        check("live state", asked(live::reach(settings)), hint)
    });
    store.into_iter().chain(live).collect()
}

/// Looks at the log in a file, if there is one.
fn file(path: &Path) -> Option<Check> {
    if !path.exists() {
        return None;
    }
    Some(match examine_log(path) {
        Ok(()) => Check::ok(AREA, format!("`{}` can be read", path.display())),
        Err(fault) => {
            let hint = "a gateway does not start with it; put a copy in its place, or move it away and \
                        a new one is begun";
            Check::fail(AREA, fault.to_string(), hint)
        }
    })
}

fn check(what: &str, reached: Result<(), Error>, hint: &str) -> Check {
    match reached {
        Ok(()) => Check::ok(AREA, format!("that of {what} answers")),
        Err(fault) => Check::fail(AREA, format!("{what}: {fault}"), hint),
    }
}

fn asked(reached: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(Error::Thread)?.block_on(reached)
}
