//! The databases that tests start for themselves, each its own: Redis and PostgreSQL of the system;
//! and what checks the rules of alerts.

use std::fs;
use std::path::{Path, PathBuf};

use super::{apt, on_path};

/// Where Debian and its kin keep the programs of PostgreSQL.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Sees to it that they are there; without them the tests that need one fail and say so.
pub(super) fn ready() {
    needs("redis-server", has_redis);
    needs("postgresql", has_postgres);
    needs("prometheus", has_promtool);
}

fn needs(package: &str, is_there: fn() -> bool) {
    if !is_there() {
        apt(package);
    }
    if !is_there() {
        println!("install the package `{package}`: tests need it");
    }
}

fn has_promtool() -> bool {
    on_path(&["promtool"]).is_some()
}

fn has_redis() -> bool {
    on_path(&["redis-server"]).is_some()
}

fn has_postgres() -> bool {
    let versions = fs::read_dir(Path::new(DEBIAN)).into_iter().flatten();
    let mut programs = versions.flatten().map(|one| one.path().join("bin/initdb"));
    on_path(&["initdb"]).is_some() || programs.any(|program: PathBuf| program.is_file())
}
