//! The form of the database. Everything is in a schema of its own, so that it can share a database.

use super::connection::Connection;
use crate::Error;
use crate::database::Fault;

/// The steps from an empty schema to the present form. A step is never changed once it was
/// released: a new one is added.
const STEPS: [&str; 6] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
];
/// Held while steps are taken, so that gateways that start together do not take them twice.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7310868735422919779)";

/// Takes the steps that are missing.
pub(super) fn migrate(connection: &mut Connection, name: &str) -> Result<(), Error> {
    let told = |fault: Fault| Error::Connect {
        name: name.to_owned(),
        why: fault.to_string(),
    };
    let known = STEPS.len();
    let found = form(connection).map_err(told)?;
    let found = match found {
        Some(found) if found >= known => found,
        Some(_) | None => connection.change(take).map_err(told)?,
    };
    if found > known {
        return Err(Error::NewerDatabase {
            name: name.to_owned(),
            found,
            known,
        });
    }
    Ok(())
}

fn take(connection: &mut Connection) -> Result<usize, Fault> {
    connection.batch(LOCK)?;
    connection.batch(
        "CREATE SCHEMA IF NOT EXISTS mcpproxy; SET LOCAL search_path = mcpproxy; \
         CREATE TABLE IF NOT EXISTS form (form BIGINT NOT NULL)",
    )?;
    let found = form(connection)?.unwrap_or(0);
    for step in STEPS.iter().skip(found) {
        connection.batch(step)?;
    }
    let form = STEPS.len().max(found);
    connection.batch(&format!(
        "DELETE FROM form; INSERT INTO form VALUES ({form})"
    ))?;
    Ok(form)
}

/// Returns the form that the database has; nothing where it has none.
fn form(connection: &mut Connection) -> Result<Option<usize>, Fault> {
    let there = "SELECT to_regclass('mcpproxy.form') IS NOT NULL";
    let there = connection.first(there, &[])?;
    if !there.is_some_and(|row| row.try_get(0).unwrap_or(false)) {
        return Ok(None);
    }
    let row = connection.first("SELECT form FROM mcpproxy.form", &[])?;
    Ok(match row {
        Some(row) => usize::try_from(row.try_get::<_, i64>(0)?).ok(),
        None => None,
    })
}
