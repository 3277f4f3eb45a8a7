//! The stdio transport's framing: one message a line, bounded.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::Error;

/// Reads lines of at most `limit` bytes.
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    buffer: BytesMut,
    /// How much of the buffer was searched for a line end already.
    searched: usize,
    limit: usize,
}

/// How much is asked for in one read.
const CHUNK: usize = 16 * 1024;

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Wraps an input.
    pub fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            buffer: BytesMut::new(),
            searched: 0,
            limit,
        }
    }

    /// Returns the next line without its end, or nothing at the end of the input.
    ///
    /// Blank lines are passed over. A line past the bound is an error and ends the stream: what
    /// follows it could not be told from its rest.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let unseen = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', unseen) {
                let line = self.buffer.split_to(self.searched + at + 1).freeze();
                self.searched = 0;
                let line = trim(&line);
                if line.is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.limit {
                return Err(Error::TooLarge { limit: self.limit });
            }
            self.buffer.reserve(CHUNK);
            let read = self.input.read_buf(&mut self.buffer).await;
            if read.map_err(|fault| Error::Transport(fault.to_string()))? == 0 {
                return Ok(self.rest());
            }
        }
    }

    /// Gives back the input, for what is left of it to be drained.
    pub fn into_inner(self) -> R {
        self.input
    }

    /// Takes a last line that has no end.
    fn rest(&mut self) -> Option<Bytes> {
        self.searched = 0;
        let line = trim(&self.buffer.split().freeze());
        (!line.is_empty()).then_some(line)
    }
}

fn trim(line: &Bytes) -> Bytes {
    let text = line.trim_ascii();
    let start = line.len() - line.trim_ascii_start().len();
    line.slice(start..start + text.len())
}

/// Adds one message to `lines` as a line. Strict JSON has raw line ends only between tokens, where
/// a space does as well.
pub fn push_line(lines: &mut Vec<u8>, message: &[u8]) {
    push_flat(lines, message);
    lines.push(b'\n');
}

/// Adds a message, or part of one, without its raw line ends.
pub fn push_flat(out: &mut Vec<u8>, message: &[u8]) {
    if memchr::memchr2(b'\n', b'\r', message).is_none() {
        out.extend_from_slice(message);
        return;
    }
    out.extend(message.iter().map(|&byte| match byte {
        b'\n' | b'\r' => b' ',
        other => other,
    }));
}

/// Writes one message as a line.
pub async fn write_line<W: AsyncWrite + Unpin>(
    output: &mut W,
    message: &[u8],
) -> Result<(), Error> {
    let fault = |fault: std::io::Error| Error::Transport(fault.to_string());
    let mut line = Vec::with_capacity(message.len() + 1);
    push_line(&mut line, message);
    output.write_all(&line).await.map_err(fault)?;
    output.flush().await.map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<Result<String, String>> {
        let mut reader = LineReader::new(input, limit);
        let mut found = Vec::new();
        loop {
            match reader.next().await {
                Ok(Some(line)) => found.push(Ok(String::from_utf8_lossy(&line).into_owned())),
                Ok(None) => return found,
                Err(fault) => {
                    found.push(Err(fault.to_string()));
                    return found;
                }
            }
        }
    }

    #[tokio::test]
    async fn lines_are_split_and_bounded() {
        let ok = |line: &str| Ok(line.to_owned());
        assert_eq!(
            lines(b"{}\r\n\n [1] \nlast", 99).await,
            [ok("{}"), ok("[1]"), ok("last")]
        );
        let long = [b"{}\n".as_slice(), &vec![b'x'; 40_000]].concat();
        let expect = Err("message is larger than 1000 bytes".to_owned());
        assert_eq!(lines(&long, 1000).await, [ok("{}"), expect]);
    }

    #[tokio::test]
    async fn line_ends_between_tokens_become_spaces() {
        let mut out = Vec::new();
        write_line(&mut out, b"{\n\"a\":1\r\n}").await.unwrap();
        assert_eq!(out, b"{ \"a\":1  }\n");
    }
}
