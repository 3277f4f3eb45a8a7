//! `doctor`: what works, what does not, and what to do about it, with or without a gateway.
//!
//! Nothing here changes anything: a folder that is missing stays missing.

mod check;
mod coverage;
mod folder;
mod gateway;
mod hooks;
mod programs;
mod stores;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use mcpproxy_agents::hook::status_all;
use mcpproxy_config::{Loaded, Problems, Sources, load, load_text};
use serde_json::json;

use self::check::{Check, Status};
use crate::args::{Format, Global};
use crate::daemon::{SOCKET, flags};
use crate::exit::Exit;
use crate::output;
use crate::places::repository;

const CONFIGURATION: &str = "Configuration";

/// Examines everything and ends with code 1 where something failed.
pub(crate) fn run(global: &Global) -> Result<Exit> {
    let environment = |name: &str| std::env::var(name).ok();
    let sources = Sources::new(flags(global, None), &environment);
    let loaded = load(&sources);
    let mut checks = configuration(&loaded);
    let folder = data_dir(&loaded, &sources);
    let mut status = None;
    if let Some(data_dir) = &folder {
        checks.extend(folder::checks(data_dir));
        let answered = gateway::examine(&data_dir.join(SOCKET));
        let running = answered.running;
        status = answered.status;
        checks.extend(answered.checks);
        if let (Ok(loaded), false) = (&loaded, running) {
            checks.extend(stores::checks(loaded));
            checks.extend(programs::checks(loaded));
        }
    }
    let installed = repository().map(|places| status_all(&places));
    let hooks = loaded.as_ref().ok();
    let hooks = hooks.map(|loaded| &loaded.config.security.agent_hooks);
    checks.extend(coverage::checks(&coverage::Known {
        installed: &installed.unwrap_or_default(),
        status: status.as_ref(),
        fail_open: hooks.map(|hooks| hooks.fail_open),
        is_answered: hooks.is_none_or(|hooks| hooks.enabled),
        program: &crate::program::own()?,
        folder: folder.as_deref(),
    }));
    show(global.format(), &checks)?;
    let failed = checks.iter().any(|check| check.status == Status::Fail);
    Ok(if failed { Exit::Findings } else { Exit::Fine })
}

/// Returns the data folder; where the files cannot be loaded, the one without them, so that a
/// gateway that runs on can still be asked.
fn data_dir(loaded: &Result<Loaded, Problems>, sources: &Sources<'_>) -> Option<PathBuf> {
    let folder = |loaded: &Loaded| loaded.config.gateway.data_dir.clone();
    let bare = || load_text(sources, Path::new("mcpproxy.yaml"), "").ok();
    let found = loaded.as_ref().ok().map(folder);
    found.or_else(|| bare().as_ref().map(folder))
}

fn configuration(loaded: &Result<Loaded, Problems>) -> Vec<Check> {
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(problems) => {
            let check = |problem: &mcpproxy_config::Problem| {
                let bare = mcpproxy_config::Problem {
                    hint: None,
                    ..problem.clone()
                };
                let hint = problem
                    .hint
                    .as_deref()
                    .unwrap_or("see `mcpproxy config schema`");
                Check::fail(CONFIGURATION, bare.to_string(), hint)
            };
            return problems.iter().map(check).collect();
        }
    };
    let mut checks: Vec<_> = loaded.files.iter().map(|file| config_file(file)).collect();
    if loaded.files.is_empty() {
        let target = loaded.target.display();
        let message = format!("there is no file, so the defaults apply; `{target}` would be read");
        checks.push(Check::ok(CONFIGURATION, message));
    }
    let given = loaded
        .origins
        .iter()
        .filter(|(path, _)| loaded.origins.is_secret(path))
        .count();
    if given > 0 {
        let message = format!("environment variables that values refer to are set ({given} used)");
        checks.push(Check::ok(CONFIGURATION, message));
    }
    checks.extend(loaded.notices.iter().map(|notice| {
        let hint = "do not rely on it yet; `mcpproxy config check` lists all of these";
        Check::warn(CONFIGURATION, notice.to_string(), hint)
    }));
    if loaded.config.upstreams.is_empty() {
        let hint =
            "import those of your agents with `mcpproxy init`, or use `mcpproxy upstream add`";
        checks.push(Check::warn(
            CONFIGURATION,
            "no upstream is configured".to_owned(),
            hint,
        ));
    }
    checks
}

/// Whoever can write the configuration can have programs run as the user.
fn config_file(file: &Path) -> Check {
    let name = file.display();
    let mode = std::fs::metadata(file).map_or(0, |found| found.permissions().mode() & 0o7777);
    if mode & 0o022 == 0 {
        return Check::ok(CONFIGURATION, format!("`{name}` was read and is fine"));
    }
    let message = format!("`{name}` can be written by other users (mode {mode:04o})");
    Check::warn(CONFIGURATION, message, &format!("run `chmod go-w {name}`"))
}

fn show(format: Format, checks: &[Check]) -> Result<()> {
    let rows: Vec<_> = checks.iter().map(Check::json).collect();
    match format {
        Format::Table => {}
        Format::Jsonl => return output::rows(format, &[], &rows),
        Format::Json | Format::Yaml | Format::Sarif => {
            return output::value(format, &json!({ "checks": rows }));
        }
    }
    let mut area = "";
    for check in checks {
        if area != check.area {
            let gap = if area.is_empty() { "" } else { "\n" };
            output::line(&format!("{gap}{}", check.area))?;
            area = check.area;
        }
        check
            .lines()
            .iter()
            .try_for_each(|line| output::line(line))?;
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let (failed, warned) = (count(Status::Fail), count(Status::Warn));
    output::line(&format!(
        "\n{failed} failed, {warned} to look at, of {} checks",
        checks.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(text: &str, file: &Path) -> Result<Loaded, Problems> {
        let environment = |name: &str| ["SET", "HOME"].contains(&name).then(|| "/set".to_owned());
        let sources = Sources::new(mcpproxy_config::Flags::default(), &environment);
        load_text(&sources, file, text)
    }

    #[test]
    fn the_configuration_is_judged() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("mcpproxy.yaml");
        std::fs::write(&file, "").unwrap();
        let check = |text: &str, mode: u32, expect: &[(Status, &str)]| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let checks = configuration(&loaded(text, &file));
            let got: Vec<_> = checks.iter().map(|check| check.status).collect();
            let statuses: Vec<_> = expect.iter().map(|(status, _)| *status).collect();
            assert_eq!(got, statuses, "{text}");
            for (check, (status, part)) in checks.iter().zip(expect) {
                assert!(check.message.contains(part), "{} / {part}", check.message);
                assert_eq!(check.hint.is_some(), *status != Status::Ok);
            }
        };
        let good = "mcpServers: {a: {command: sh}}";
        check(good, 0o600, &[(Status::Ok, "is fine")]);
        check(good, 0o620, &[(Status::Warn, "(mode 0620)")]);
        check(
            "",
            0o600,
            &[(Status::Ok, "is fine"), (Status::Warn, "no upstream")],
        );
        let from = "mcpServers: {a: {command: sh, env: {T: '${SET}'}}}";
        check(
            from,
            0o600,
            &[(Status::Ok, "is fine"), (Status::Ok, "(1 used)")],
        );
        let unset = "mcpServers: {a: {command: sh, env: {T: '${UNSET}'}}}";
        check(
            unset,
            0o600,
            &[(Status::Fail, "variable `UNSET` is not set")],
        );
    }
}
