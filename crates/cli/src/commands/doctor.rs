//! `doctor`.

use anyhow::Result;

use crate::args::Global;
use crate::exit::Exit;

pub(crate) fn run(_: &Global) -> Result<Exit> {
    Ok(Exit::Fine)
}
