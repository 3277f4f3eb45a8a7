//! The way to the client, shared by the upstream's stream and by answers of the proxy's own, which
//! may only stand between two lines of it.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes to the client.
pub(super) struct Outlet(Mutex<State>);

struct State {
    output: Box<dyn Write + Send>,
    /// Whether the last byte of the upstream's stream was inside a line.
    inside: bool,
    /// Lines of the proxy's own that wait for the end of the upstream's.
    waiting: Vec<u8>,
}

impl fmt::Debug for Outlet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Outlet")
    }
}

impl Outlet {
    /// Writes to `output`.
    pub(super) fn new(output: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(State {
            output,
            inside: false,
            waiting: Vec::new(),
        }))
    }

    /// Passes on bytes of the upstream's stream.
    pub(super) fn pass(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        let mut rest = bytes;
        if !state.waiting.is_empty()
            && let Some(end) = memchr::memrchr(b'\n', bytes)
        {
            let (lines, after) = bytes.split_at_checked(end + 1).unwrap_or((bytes, &[]));
            let waiting = std::mem::take(&mut state.waiting);
            state.output.write_all(lines)?;
            state.output.write_all(&waiting)?;
            state.inside = false;
            rest = after;
        }
        state.output.write_all(rest)?;
        if let Some(last) = rest.last() {
            state.inside = *last != b'\n';
        }
        state.output.flush()
    }

    /// Passes on a piece of the upstream's stream, of which it is known whether a message ends
    /// with it.
    pub(super) fn pass_piece(&self, bytes: &[u8], ends: bool) -> io::Result<()> {
        let mut state = self.lock();
        state.output.write_all(bytes)?;
        state.inside = !ends;
        if ends && !state.waiting.is_empty() {
            let waiting = std::mem::take(&mut state.waiting);
            state.output.write_all(&waiting)?;
        }
        state.output.flush()
    }

    /// Says a message of the proxy's own, which comes with its end or its head.
    pub(super) fn say(&self, message: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        if state.inside {
            state.waiting.extend_from_slice(message);
            return Ok(());
        }
        state.output.write_all(message)?;
        state.output.flush()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn own_lines_stand_between_lines() {
        let kept = Kept::default();
        let outlet = Outlet::new(Box::new(kept.clone()));
        outlet.say(b"own\n").unwrap();
        outlet.pass(b"on").unwrap();
        outlet.say(b"waits\n").unwrap();
        outlet.pass(b"e\ntwo\nthr").unwrap();
        outlet.pass(b"").unwrap();
        outlet.say(b"again\n").unwrap();
        outlet.pass(b"ee\n").unwrap();
        outlet.say(b"last\n").unwrap();
        let all = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(all, "own\none\ntwo\nwaits\nthree\nagain\nlast\n");
    }
}
