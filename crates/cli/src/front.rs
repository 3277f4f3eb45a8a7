//! The program in front: it answers agents' hooks by itself and hands everything else to the
//! program beside it.
//!
//! An agent starts it at every use of a tool. The rest of the product is large, and what starting it
//! costs (pages to map, addresses to fix) is several times what asking the gateway takes.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use mcpproxy_front::{FRONT, REST, evaluate};

fn main() -> ExitCode {
    if let Some(code) = evaluate::early(std::env::args_os()) {
        return code;
    }
    let rest = match std::env::current_exe() {
        Ok(own) => own.with_file_name(REST),
        Err(_) => REST.into(),
    };
    let mut command = Command::new(&rest);
    command.arg0(FRONT).args(std::env::args_os().skip(1));
    // It takes the place of this process, so that signals and exit codes are its own.
    let fault = command.exec();
    let said = writeln!(
        std::io::stderr(),
        "error: cannot run `{}`: {fault}\nhint: it is installed beside this program",
        rest.display()
    );
    drop(said);
    ExitCode::from(2)
}
