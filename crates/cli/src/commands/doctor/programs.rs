//! Whether upstreams could be started, looked at while no gateway does it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use mcpproxy_config::Loaded;
use mcpproxy_upstream::settings::{Transport, UpstreamSettings};

use super::check::Check;

const AREA: &str = "Upstreams";

/// Looks at the upstreams of the configuration.
pub(super) fn checks(loaded: &Loaded) -> Vec<Check> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let all = loaded.config.upstreams.iter();
    all.map(|(name, settings)| {
        let file = loaded
            .file_of(name)
            .unwrap_or_else(|| loaded.target.clone());
        check(name, settings, &search, &file)
    })
    .collect()
}

fn check(name: &str, settings: &UpstreamSettings, search: &OsStr, file: &Path) -> Check {
    if !settings.enabled {
        return Check::ok(AREA, format!("`{name}` is switched off"));
    }
    if settings.effective_transport() != Transport::Stdio {
        return Check::ok(
            AREA,
            format!("`{name}` is remote, and tried once a gateway runs"),
        );
    }
    let file = file.display();
    if let Some(folder) = settings
        .working_dir
        .as_ref()
        .filter(|folder| !folder.is_dir())
    {
        let message = format!(
            "`{name}` cannot start: there is no folder `{}`",
            folder.display()
        );
        return Check::fail(
            AREA,
            message,
            &format!("make it, or change `working_dir` in {file}"),
        );
    }
    let program = settings.command.as_deref().unwrap_or_default();
    let found = locate(Path::new(program), search, settings.working_dir.as_deref());
    let Some(found) = found else {
        let message = format!("`{name}` cannot start: no program `{program}` was found");
        let hint = format!("install it, or give its full path in {file}");
        return Check::fail(AREA, message, &hint);
    };
    Check::ok(AREA, format!("`{name}` would start `{}`", found.display()))
}

/// Finds a program as the gateway would.
fn locate(program: &Path, search: &OsStr, folder: Option<&Path>) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.components().count() > 1 {
        let whole = folder.map_or_else(|| program.to_owned(), |folder| folder.join(program));
        return Some(whole).filter(runs);
    }
    std::env::split_paths(search)
        .map(|place| place.join(program))
        .find(runs)
}

#[cfg(test)]
mod tests {
    use super::super::check::Status;
    use super::*;

    #[test]
    fn what_cannot_start_is_told() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("bin")).unwrap();
        let program = home.path().join("bin/tool");
        std::fs::write(&program, "").unwrap();
        let set = |mode| {
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let search = home.path().join("bin").into_os_string();
        let stdio = |command: &str| UpstreamSettings {
            command: Some(command.to_owned()),
            ..UpstreamSettings::default()
        };
        let at = |settings: UpstreamSettings, folder: &Path| UpstreamSettings {
            working_dir: Some(folder.to_owned()),
            ..settings
        };
        let check = |settings: &UpstreamSettings, status: Status, part: &str| {
            let check = super::check("a", settings, &search, Path::new("mcpproxy.yaml"));
            assert_eq!(check.status, status, "{check:?}");
            assert!(check.lines().join(" ").contains(part), "{check:?}");
        };
        set(0o755);
        check(&stdio("tool"), Status::Ok, "would start");
        check(&stdio(program.to_str().unwrap()), Status::Ok, "would start");
        check(
            &stdio("other"),
            Status::Fail,
            "install it, or give its full path in mcpproxy.yaml",
        );
        check(&stdio("bin/tool"), Status::Fail, "no program `bin/tool`");
        check(
            &at(stdio("bin/tool"), home.path()),
            Status::Ok,
            "would start",
        );
        check(
            &at(stdio("tool"), Path::new("/nowhere")),
            Status::Fail,
            "no folder `/nowhere`",
        );
        let off = UpstreamSettings {
            enabled: false,
            ..stdio("other")
        };
        check(&off, Status::Ok, "switched off");
        let url = Some("https://mcp.example/mcp".to_owned());
        let remote = UpstreamSettings {
            url,
            ..UpstreamSettings::default()
        };
        check(&remote, Status::Ok, "remote");
        set(0o644);
        check(&stdio("tool"), Status::Fail, "no program `tool`");
    }
}
