//! A hostile upstream on standard input and output, or any other pair of streams.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use mcpproxy_mcp::line::{LineReader, write_line};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::{Actor, Talk};
use crate::error::Error;

/// The longest line that is taken.
const LONGEST: usize = 64 * 1024 * 1024;

/// Plays until the input ends. What comes in is also appended to a file, if one is given.
pub async fn serve<R, W>(
    actor: Arc<Actor>,
    input: R,
    mut output: W,
    record: Option<&Path>,
) -> Result<(), Error>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut lines = LineReader::new(input, LONGEST);
    let talk = Arc::new(Talk::default());
    let (outlet, mut words) = mpsc::channel::<Bytes>(64);
    let mut news = actor.listen();
    loop {
        let word = tokio::select! {
            line = lines.next() => {
                let Ok(Some(line)) = line else { return Ok(()) };
                if let Some(record) = record {
                    keep(record, &line)?;
                }
                let (actor, talk, outlet) = (Arc::clone(&actor), Arc::clone(&talk), outlet.clone());
                tokio::spawn(async move { actor.take(&talk, &line, outlet).await });
                continue;
            }
            Some(word) = words.recv() => word,
            Ok(word) = news.recv() => {
                if !talk.is_opened() {
                    continue;
                }
                word
            }
        };
        if write_line(&mut output, &word).await.is_err() || output.flush().await.is_err() {
            // Nobody reads any more.
            return Ok(());
        }
    }
}

fn keep(record: &Path, line: &[u8]) -> Result<(), Error> {
    let unusable = |source| Error::File {
        path: record.to_owned(),
        source,
    };
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(record);
    let mut file = file.map_err(unusable)?;
    file.write_all(&[line, b"\n"].concat()).map_err(unusable)
}
