//! The standard streams of this process: for the gateway to take over, and in a form that a runtime
//! can wait for.
//!
//! Tokio's own hand every read and every write to another thread, which takes longer than a call
//! does in the gateway; they serve here where nothing better fits, as for terminals and files.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use mcpproxy_gateway::standard::{self, Flow, Input, Output};

/// Returns standard input and output as the gateway can use them, if it can use both.
///
/// Elsewhere than on Linux, what is sent to another process cannot be kept from the programs that
/// it starts at that moment.
pub(super) fn own() -> Option<(OwnedFd, OwnedFd)> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let input = standard::fresh(io::stdin().as_fd(), Flow::In).ok()?;
    let output = standard::fresh(io::stdout().as_fd(), Flow::Out).ok()?;
    Some((input, output))
}

/// Returns standard input.
pub(super) fn input() -> Input {
    standard::fresh(io::stdin().as_fd(), Flow::In)
        .and_then(standard::input)
        .unwrap_or_else(|_| Box::new(tokio::io::stdin()))
}

/// Returns standard output.
pub(super) fn output() -> Output {
    standard::fresh(io::stdout().as_fd(), Flow::Out)
        .and_then(standard::output)
        .unwrap_or_else(|_| Box::new(tokio::io::stdout()))
}
