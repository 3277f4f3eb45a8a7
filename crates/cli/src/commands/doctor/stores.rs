//! Whether the databases of the configuration answer, looked at while no gateway uses them. Nothing is
//! changed there.

use mcpproxy_config::Loaded;
use mcpproxy_store::{Error, reach_database};
use tokio::runtime::Builder;

use super::check::Check;
use crate::daemon::live;

const AREA: &str = "Databases";

/// Connects to what the configuration names.
pub(super) fn checks(loaded: &Loaded) -> Vec<Check> {
    let gateway = &loaded.config.gateway;
    let store = gateway.store.as_ref().map(|url| {
        let hint = "a gateway does not start without it; see to it that it answers at `store`";
        check("the activity log", reach_database(url.expose()), hint)
    });
    let live = gateway.live.as_ref().map(|settings| {
        let hint =
            "a gateway does not start without it; see to it that Redis answers at `live.url`";
        check("live state", asked(live::reach(settings)), hint)
    });
    store.into_iter().chain(live).collect()
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
