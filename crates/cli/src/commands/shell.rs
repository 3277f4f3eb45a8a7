//! `completions` and `man`: what a packager installs beside the program.

use anyhow::Result;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::Exit;
use crate::output;

/// Prints a completion script.
pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "mcpproxy", &mut script);
    output::raw(&script)?;
    Ok(Exit::Fine)
}

/// Prints the manual page.
pub(crate) fn man() -> Result<Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut page)?;
    output::raw(&page)?;
    Ok(Exit::Fine)
}
