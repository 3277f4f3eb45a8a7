//! `config`: checking and showing the configuration.

use anyhow::Result;
use mcpproxy_config::Loaded;
use serde_json::{Value, json};

use crate::args::{Config, Format, Global};
use crate::daemon::{access, configuration, flags, live};
use crate::exit::{Exit, Failed, bad_input};
use crate::output;

/// Checks, shows or describes the configuration.
pub(crate) fn run(global: &Global, command: &Config) -> Result<Exit> {
    match command {
        Config::Schema => {
            output::line(&serde_json::to_string_pretty(&mcpproxy_config::schema())?)?;
        }
        Config::Check => {
            let loaded = configuration(&flags(global, None)).map_err(|mut fault| {
                // Who reads this is running the check already.
                if let Some(failed) = fault.downcast_mut::<Failed>() {
                    failed.hint = Some("see `mcpproxy config schema`".to_owned());
                }
                fault
            })?;
            let checked = access::checked(&loaded).map_err(|why| bad_input(why, None))?;
            addresses(&loaded).map_err(|why| bad_input(why, None))?;
            for line in checked.into_iter().flat_map(|checked| checked.strange) {
                output::note(&format!("notice: {line}"));
            }
            for notice in &loaded.notices {
                output::note(&format!("notice: {notice}"));
            }
            for file in &loaded.files {
                output::note(&format!("read {}", file.display()));
            }
            output::note("the configuration is fine");
        }
        Config::Show { origin } => {
            let loaded = configuration(&flags(global, None))?;
            let rows: Vec<Value> = mcpproxy_config::show(&loaded, *origin)
                .into_iter()
                .map(|row| {
                    let from = row.origin.map(|origin| origin.to_string());
                    json!({ "key": row.path, "value": row.value, "origin": from })
                })
                .collect();
            let columns: &[&str] = if *origin {
                &["key", "value", "origin"]
            } else {
                &["key", "value"]
            };
            match global.format() {
                Format::Table => output::rows(Format::Table, columns, &rows)?,
                other => output::rows(other, columns, &rows)?,
            }
        }
    }
    Ok(Exit::Fine)
}

/// Reads the addresses of databases by the code that connects to them; says what is wrong with the first
/// that cannot be read.
fn addresses(loaded: &Loaded) -> Result<(), String> {
    let told = |key: &str, fault: mcpproxy_store::Error| format!("`{key}`: {fault}");
    let gateway = &loaded.config.gateway;
    if let Some(url) = &gateway.store {
        mcpproxy_store::check_database(url.expose()).map_err(|fault| told("store", fault))?;
    }
    if let Some(settings) = &gateway.live {
        live::check(settings).map_err(|fault| told("live", fault))?;
    }
    Ok(())
}
