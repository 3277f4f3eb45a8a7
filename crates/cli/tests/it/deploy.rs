//! The files under `deploy`: what cannot be run here is at least read.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::Home;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

fn yaml(name: &str, text: &str) -> Value {
    mcpproxy_config::read_document(Path::new(name), text).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Checks a configuration as the program does; relative to nothing on this machine.
async fn is_configuration(config: &Value) {
    let home = Home::new(config);
    let mut check = home.command(&["config", "check"]);
    let checked = check.env("POSTGRES_PASSWORD", "made-up").output().await;
    let checked = checked.unwrap();
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success(), "{config}: {said}");
}

#[tokio::test]
async fn the_unit_is_one_that_systemd_takes() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("mcpproxy.service");
    let program = env!("CARGO_BIN_EXE_mcpproxy");
    let written =
        text("systemd/mcpproxy.service").replace("/usr/bin/mcpproxy ", &format!("{program} "));
    assert!(written.contains(program));
    std::fs::write(&unit, written).unwrap();
    let mut verify = tokio::process::Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]).arg(&unit);
    let said = verify.output().await;
    let said = said.expect("`systemd-analyze` is missing: install the package `systemd`");
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    let about_us: Vec<_> = told
        .lines()
        .filter(|line| line.contains("mcpproxy"))
        .collect();
    assert!(said.status.success() && about_us.is_empty(), "{told}");
}

#[tokio::test]
async fn the_rules_are_ones_that_prometheus_takes() {
    let mut check = tokio::process::Command::new("promtool");
    check.args(["check", "rules"]);
    check.arg(folder().join("prometheus/alerts.yaml"));
    let said = check.output().await;
    let said = said.expect("`promtool` is missing: install the package `prometheus`");
    let told = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.status.success() && told.contains("rules found"),
        "{said:?}"
    );
}

#[test]
fn the_image_holds_both_programs_and_nobody_in_particular_runs_them() {
    let written = text("container/Containerfile");
    let last = written.rsplit("\nFROM ").next().unwrap();
    assert!(last.starts_with("scratch\n"), "{last}");
    let user = last
        .lines()
        .find_map(|line| line.strip_prefix("USER "))
        .unwrap();
    assert!(user.split(':').all(|id| id.parse::<u32>().unwrap() >= 1000));
    for program in ["mcpproxy", "mcpproxy-rest"] {
        assert!(written.contains(&format!("target/release/{program} ")));
        assert!(written.contains(&format!("--bin {program} ")));
    }
    let copied = "deploy/container/mcpproxy.yaml";
    assert!(written.contains(copied) && folder().join("container/mcpproxy.yaml").exists());
}

#[tokio::test]
async fn the_configurations_are_ones() {
    for name in ["container/mcpproxy.yaml", "compose/mcpproxy.yaml"] {
        is_configuration(&yaml(name, &text(name))).await;
    }
    let values = yaml("values.yaml", &text("helm/mcpproxy/values.yaml"));
    is_configuration(&values["config"]).await;
}

#[test]
fn compose_names_files_that_are_there_and_opens_nothing_to_others() {
    let written = yaml("compose.yaml", &text("compose/compose.yaml"));
    let gateway = &written["services"]["mcpproxy"];
    assert_eq!(gateway["ports"], serde_json::json!(["127.0.0.1:8080:8080"]));
    let file = gateway["build"]["dockerfile"].as_str().unwrap();
    assert!(folder().join("..").join(file).exists());
    let mounted = gateway["volumes"][0].as_str().unwrap();
    let mounted = mounted.split(':').next().unwrap();
    assert!(folder().join("compose").join(mounted).exists());
}

/// Fills a template of the chart. It knows as much of the language as the chart uses: values, lists
/// of values as YAML, and conditions on one value.
fn filled(template: &str, values: &Value) -> String {
    let value = |name: &str| match name.trim() {
        ".Release.Name" => Value::from("test"),
        name => values[name.strip_prefix(".Values.").unwrap()].clone(),
    };
    let (mut lines, mut skipped) = (Vec::new(), false);
    for line in template.lines() {
        let (before, inner) = line.split_once("{{").unwrap_or((line, ""));
        let inner = inner.split("}}").next().unwrap_or_default();
        let inner = inner.trim_start_matches('-').trim();
        let after = line.split_once("}}").map_or("", |(_, after)| after);
        assert!(!after.contains("{{"), "{line}");
        let conditional = inner.strip_prefix("if ");
        if let Some(name) = conditional {
            skipped = value(name).as_str() == Some("");
        }
        let shown = !skipped && conditional.is_none() && inner != "end";
        skipped &= inner != "end";
        if !shown {
            continue;
        }
        lines.push(match inner.strip_prefix("toYaml ") {
            Some(name) => {
                let (name, indent) = name.split_once(" | indent ").unwrap();
                let indent = " ".repeat(indent.parse().unwrap());
                format!("{before}{indent}{}", value(name))
            }
            None if inner.is_empty() => line.to_owned(),
            None => format!("{before}{}{after}", value(inner).as_str().unwrap()),
        });
    }
    lines.join("\n")
}

#[test]
fn the_chart_fills_to_what_kubernetes_reads() {
    let mut values = yaml("values.yaml", &text("helm/mcpproxy/values.yaml"));
    for secret in ["", "passwords"] {
        values["environmentSecret"] = secret.into();
        let made = |name: &str| {
            let template = text(&format!("helm/mcpproxy/templates/{name}.yaml"));
            yaml(name, &filled(&template, &values))
        };
        let gateway = made("gateway");
        let pod = &gateway["spec"]["template"];
        assert_eq!(
            gateway["spec"]["selector"]["matchLabels"],
            pod["metadata"]["labels"]
        );
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["image"], values["image"]);
        assert_eq!(container["resources"], values["resources"]);
        assert_eq!(container["envFrom"].is_array(), !secret.is_empty());
        // A volume with an fsGroup can be written by its group, and is no folder to keep keys in.
        let security = &pod["spec"]["securityContext"];
        assert_eq!(security["fsGroupChangePolicy"], "OnRootMismatch");
        let arguments = container["args"].as_array().unwrap();
        let named = |name: &str| {
            let at = arguments.iter().position(|one| one == name).unwrap();
            arguments[at + 1].as_str().unwrap()
        };
        let (data, mounts) = (named("--data-dir"), &container["volumeMounts"]);
        assert_eq!(values["config"]["data_dir"], data);
        let volume = mounts[0]["mountPath"].as_str().unwrap();
        assert!(data.starts_with(&format!("{volume}/")), "{data}");
        let file = named("--config");
        let mounted = mounts[1]["mountPath"].as_str().unwrap();
        assert_eq!(file, format!("{mounted}/mcpproxy.yaml"));
        let configuration = made("configuration");
        let volume = &pod["spec"]["volumes"][0]["configMap"]["name"];
        assert_eq!(configuration["metadata"]["name"], *volume);
        let inner = configuration["data"]["mcpproxy.yaml"].as_str().unwrap();
        assert_eq!(yaml("inner", inner), values["config"]);
        let selector = &made("service")["spec"]["selector"];
        assert_eq!(*selector, pod["metadata"]["labels"]);
    }
}
