//! The program: arguments in, one command run, an exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay::main(std::env::args_os())
}
