//! `upstream login` and `upstream logout`: a person lets the gateway in to an upstream, and back
//! out.
//!
//! The tokens go to the vault of the data folder, from where a running gateway takes them.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use http::Method;
use mcpproxy_control::prepare_data_dir;
use mcpproxy_upstream::{Error, OAuth, login_of};

use crate::args::Global;
use crate::commands::client::{encoded, request, socket};
use crate::daemon::{configuration, flags, fleet};
use crate::exit::{bad_input, failed};
use crate::output;

/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// Whether a browser may be opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Browser {
    /// Where there is one, and somebody sits at it.
    Opened,
    /// Not by us.
    Left,
}

/// Logs in to an upstream.
pub(super) fn login(global: &Global, name: &str, browser: Browser) -> Result<()> {
    run(async {
        let oauth = oauth(global, name)?;
        let login = oauth.begin().await.map_err(|fault| refused(&fault))?;
        output::note(&format!(
            "open this address to let mcpproxy in to `{name}`; `{}` will ask you",
            login.issuer()
        ));
        output::line(login.url())?;
        if browser == Browser::Opened && std::io::stderr().is_terminal() {
            open(login.url());
        }
        login
            .finish(PATIENCE)
            .await
            .map_err(|fault| refused(&fault))
    })?;
    output::note(&format!("logged in to `{name}`"));
    tell(global, name)
}

/// Forgets a login.
pub(super) fn logout(global: &Global, name: &str) -> Result<()> {
    let was_in = run(async {
        let oauth = oauth(global, name)?;
        oauth.logout().await.map_err(|fault| refused(&fault))
    })?;
    if was_in {
        output::note(&format!("logged out of `{name}`"));
        return tell(global, name);
    }
    output::note(&format!("nobody was logged in to `{name}`"));
    Ok(())
}

fn run<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(work)
}

fn oauth(global: &Global, name: &str) -> Result<Arc<OAuth>> {
    let loaded = configuration(&flags(global, None))?;
    let Some(settings) = loaded.config.upstreams.get(name) else {
        let hint = "`mcpproxy upstream list` names them";
        return Err(bad_input(
            format!("no upstream is named `{name}`"),
            Some(hint),
        ));
    };
    let folder = &loaded.config.gateway.data_dir;
    prepare_data_dir(folder)
        .map_err(|fault| failed(fault.to_string(), fault.remedy().as_deref()))?;
    login_of(name, settings, &fleet(&loaded)?).ok_or_else(|| {
        let hint = "only one with a `url` and without a header `Authorization` is";
        bad_input(format!("`{name}` is not logged in to"), Some(hint))
    })
}

fn refused(fault: &Error) -> anyhow::Error {
    failed(fault.to_string(), None)
}

/// Has a running gateway begin anew with the upstream.
fn tell(global: &Global, name: &str) -> Result<()> {
    if std::os::unix::net::UnixStream::connect(socket(global)).is_err() {
        return Ok(());
    }
    let path = format!("/servers/{}/restart", encoded(name));
    request(global, Method::POST, &path, None)?;
    output::note("the running gateway begins anew with it");
    Ok(())
}

/// Opens a browser where there is one. The address was printed, so that nothing is lost if not.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null());
    let opened = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(fault) = opened {
        tracing::debug!("no browser was opened: {fault}");
    }
}
