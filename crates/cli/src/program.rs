//! Where this program is, for those who are to start it later: the one in front, if it is there.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use mcpproxy_front::FRONT;

/// Returns the program as users know it.
pub(crate) fn own() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    let front = own.with_file_name(FRONT);
    Ok(if front.is_file() { front } else { own })
}
