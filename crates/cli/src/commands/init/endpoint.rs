//! Where agents are pointed: the address of the gateway, and the command that bridges to it.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Result;
use mcpproxy_agents::{Endpoint, Launch};
use mcpproxy_config::{Loaded, Origin};
use mcpproxy_gateway::settings::Settings;

use crate::exit::failed;

/// The program as it is called where it is installed.
const PROGRAM: &str = "mcpproxy";

/// Returns where agents find the gateway of this configuration.
pub(super) fn endpoint(loaded: &Loaded) -> Result<Endpoint> {
    let program = crate::program::own()?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut args = vec!["stdio".to_owned()];
    args.extend(same_options(loaded));
    let bridge = Launch {
        command: command(&program, &search)?,
        args,
    };
    Ok(match address(&loaded.config.gateway) {
        Some(url) => Endpoint::Http { url, bridge },
        None => Endpoint::Stdio(bridge),
    })
}

/// Returns the options with which another call of the program means the same gateway.
pub(super) fn same_options(loaded: &Loaded) -> Vec<String> {
    let whole = |path: &Path| {
        let whole: PathBuf = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        whole.to_string_lossy().into_owned()
    };
    let mut options = Vec::new();
    // Agents start the bridge with another environment and in another folder.
    if matches!(
        loaded.origins.of("data_dir"),
        Origin::Flag(_) | Origin::Environment(_)
    ) {
        options.extend([
            "--data-dir".to_owned(),
            whole(&loaded.config.gateway.data_dir),
        ]);
    }
    let target = &loaded.target;
    let usual = target.parent() == Some(loaded.config.gateway.data_dir.as_path())
        && target.file_stem() == Some(OsStr::new(PROGRAM));
    if !usual {
        options.extend(["--config".to_owned(), whole(&loaded.target)]);
    }
    options
}

/// Returns the program's short name where that leads to this very file, else its full path.
fn command(program: &Path, search: &OsStr) -> Result<String> {
    let real = program
        .canonicalize()
        .unwrap_or_else(|_| program.to_owned());
    let first = std::env::split_paths(search)
        .map(|place| place.join(PROGRAM))
        .find(|p| p.is_file());
    if first.and_then(|first| first.canonicalize().ok()).as_ref() == Some(&real) {
        return Ok(PROGRAM.to_owned());
    }
    let text = program.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        let message = format!(
            "the path of this program, `{}`, is not UTF-8",
            program.display()
        );
        failed(message, Some("put it into a folder of PATH"))
    })
}

/// Returns the address for agents; none where they would have to show a credential, which their
/// files should not hold, or where the port is only known once the gateway runs.
fn address(settings: &Settings) -> Option<String> {
    if settings.require_auth.unwrap_or(settings.asks_who()) {
        return None;
    }
    let scheme = settings.scheme();
    if let Ok(address) = settings.listen.parse::<SocketAddr>() {
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        let usable = ip.is_loopback() && address.port() != 0;
        return usable.then(|| format!("{scheme}://{}/mcp", SocketAddr::new(ip, address.port())));
    }
    let (host, port) = settings.listen.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let usable = host.eq_ignore_ascii_case("localhost") && port != 0;
    usable.then(|| format!("{scheme}://localhost:{port}/mcp"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn agents_get_an_address_that_works_without_a_credential() {
        let check = |listen: &str, require_auth: Option<bool>, expect: Option<&str>| {
            let settings = Settings {
                listen: listen.to_owned(),
                require_auth,
                ..Settings::default()
            };
            assert_eq!(
                address(&settings).as_deref(),
                expect,
                "{listen} {require_auth:?}"
            );
        };
        check("127.0.0.1:8080", None, Some("http://127.0.0.1:8080/mcp"));
        check(
            "127.0.0.1:8080",
            Some(false),
            Some("http://127.0.0.1:8080/mcp"),
        );
        check("127.0.0.1:8080", Some(true), None);
        check("127.0.0.1:0", None, None);
        check("0.0.0.0:9000", None, Some("http://127.0.0.1:9000/mcp"));
        check("[::]:9000", None, Some("http://[::1]:9000/mcp"));
        check("[::1]:9000", None, Some("http://[::1]:9000/mcp"));
        check("192.0.2.7:9000", None, None);
        check("localhost:9000", None, Some("http://localhost:9000/mcp"));
        check("gateway.example:9000", None, None);
    }

    #[test]
    fn the_short_name_is_used_only_where_it_leads_here() {
        let folder = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
        for place in [&here, &there] {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join(PROGRAM), "").unwrap();
        }
        let program = here.join(PROGRAM);
        let check = |search: &[&PathBuf], expect: &str| {
            let search: OsString = std::env::join_paths(search).unwrap();
            assert_eq!(command(&program, &search).unwrap(), expect, "{search:?}");
        };
        let whole = program.to_str().unwrap();
        check(&[&here, &there], PROGRAM);
        check(&[&there, &here], whole);
        check(&[], whole);
        std::fs::remove_file(there.join(PROGRAM)).unwrap();
        std::os::unix::fs::symlink(&program, there.join(PROGRAM)).unwrap();
        check(&[&there], PROGRAM);
    }
}
