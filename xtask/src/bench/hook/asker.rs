//! A program that sends its input to a Unix socket and prints the answer: what no hook can do
//! without. Built alone and static, by `cargo xtask bench hook`.

use std::io::{Read, Write, copy, stdin, stdout};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

fn main() -> std::io::Result<()> {
    let mut payload = Vec::new();
    stdin().read_to_end(&mut payload)?;
    let socket = std::env::args_os().nth(1).unwrap_or_default();
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(&payload)?;
    stream.shutdown(Shutdown::Write)?;
    copy(&mut stream, &mut stdout()).map(drop)
}
