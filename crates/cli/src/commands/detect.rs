//! `detect`: a case a line in, a judgement a line out, in order and as soon as it is known.
//!
//! What a case is and how it is judged is in the `detect` crate. Whatever was read at once is
//! judged at once, by as many threads as there are cores, and answered before more is read: a
//! program that waits for each answer gets it.

mod judge;
mod lines;

use std::io::{self, BufWriter, Read as _, Write as _};

use anyhow::Result;
use mcpproxy_detect::Inspector;

use self::lines::Lines;
use crate::args::Global;
use crate::daemon::{configuration, flags};
use crate::exit::{Exit, bad_input};

/// Bytes that are read at once.
const CHUNK: usize = 256 * 1024;

/// Judges the cases on standard input; ends with code 3 where one could not be judged.
pub(crate) fn run(global: &Global) -> Result<Exit> {
    let loaded = configuration(&flags(global, None))?;
    let inspector = Inspector::new(&loaded.config.security.detection())?;
    let mut tally = Tally::default();
    match answer(&inspector, &mut tally) {
        // A reader that has gone away has seen enough.
        Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Fine),
        other => other?,
    }
    if tally.faulty == 0 {
        return Ok(Exit::Fine);
    }
    let Tally { lines, faulty } = tally;
    let hint = "the answer to each of them has `error` instead of `verdict`";
    Err(bad_input(
        format!("{faulty} of {lines} lines could not be judged"),
        Some(hint),
    ))
}

#[derive(Default)]
struct Tally {
    lines: usize,
    faulty: usize,
}

fn answer(inspector: &Inspector, tally: &mut Tally) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = BufWriter::with_capacity(CHUNK, io::stdout().lock());
    let mut chunk = vec![0; CHUNK];
    let mut lines = Lines::default();
    loop {
        let read = match input.read(&mut chunk) {
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let batch = match chunk.get(..read) {
            Some(bytes) if read > 0 => lines.take(bytes),
            _ => lines.rest(),
        };
        for answer in judge::all(inspector, &batch)? {
            tally.lines += 1;
            tally.faulty += usize::from(answer.faulty);
            output.write_all(answer.text.as_bytes())?;
            output.write_all(b"\n")?;
        }
        output.flush()?;
        if read == 0 {
            return Ok(());
        }
    }
}
