//! Word that hooks left while nobody could be asked: taken over from the file in the data folder, so
//! that an unseen gap shows up in the log.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mcpproxy_core::{GAPS, GAPS_FULL, Gap, GapCause, Wall};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::gateway::Gateway;

/// The file while it is taken over.
const TAKEN: &str = "hook-gaps.taken";
/// What is read of it; hooks write less.
const MOST: u64 = 1024 * 1024;

/// What was found so far.
#[derive(Debug, Default)]
pub struct Gaps(Mutex<(u64, Option<Gap>)>);

impl Gaps {
    fn note(&self, gap: Gap) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.0 += 1;
        found.1 = Some(gap);
    }

    /// Returns what is shown of it.
    pub(crate) fn shown(&self) -> Value {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = found.1.as_ref().map(|gap| {
            json!({
                "at": Wall(gap.at).rfc3339(),
                "agent": gap.agent,
                "event": gap.event,
                "tool": gap.tool,
                "cause": gap.cause,
                "decision": gap.decision,
            })
        });
        json!({ "count": found.0, "last": last })
    }
}

impl Gateway {
    /// Takes over what hooks left since the last time.
    pub async fn take_gaps(&self) {
        let folder = self.active().settings.data_dir.clone();
        let taken = tokio::task::spawn_blocking(move || take(&folder)).await;
        let gaps = match taken {
            Ok(Ok(gaps)) => gaps,
            Ok(Err(fault)) => {
                tracing::warn!("cannot take over the gaps that hooks left: {fault}");
                return;
            }
            Err(_) => return,
        };
        for gap in gaps {
            // Names in the file are whoever's wrote it: the record has them, checked and cut.
            tracing::warn!("a hook could not ask: {}", gap.cause.sentence());
            self.engine.missed(self.call_id(), &gap).await;
            self.gaps.note(gap);
        }
    }
}

/// Reads the file and removes it. One that is full does not tell of all, which is a gap as well.
fn take(folder: &Path) -> io::Result<Vec<Gap>> {
    let (file, taken) = (folder.join(GAPS), folder.join(TAKEN));
    // CRASH: what was taken before and not read is read first; it is put on record twice at worst.
    if !taken.exists() {
        match fs::rename(&file, &taken) {
            Ok(()) => {}
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(fault) => return Err(fault),
        }
    }
    let mut bytes = Vec::new();
    let read = opened(&taken).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    fs::remove_file(&taken)?;
    read?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let read = lines.filter_map(|line| serde_json::from_slice(line).ok());
    let mut gaps: Vec<Gap> = read.collect();
    let full = u64::try_from(bytes.len()).unwrap_or(u64::MAX) >= GAPS_FULL;
    if let (Some(last), true) = (gaps.last().cloned(), full) {
        let cause = GapCause::Full;
        gaps.push(Gap { cause, ..last });
    }
    Ok(gaps)
}

/// Opens the file. A link or a pipe in its place was put there by somebody else, and must not hold
/// us.
fn opened(path: &Path) -> io::Result<fs::File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let line = r#"{"at":1,"agent":"codex","event":"PreToolUse","tool":"Bash","cause":"slow","decision":"allow"}"#;
        assert_eq!(take(folder.path()).unwrap(), []);
        fs::write(
            folder.path().join(GAPS),
            format!("{line}\nnonsense\n{line}\n"),
        )
        .unwrap();
        let found = take(folder.path()).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].agent, "codex");
        assert_eq!(take(folder.path()).unwrap(), []);
        let file = folder.path().join(GAPS);
        fs::write(
            &file,
            [line.as_bytes(), b"\n\xFF\n", line.as_bytes()].concat(),
        )
        .unwrap();
        assert_eq!(take(folder.path()).unwrap().len(), 2);
        let most = usize::try_from(GAPS_FULL).unwrap() / (line.len() + 1) + 1;
        fs::write(&file, format!("{line}\n").repeat(most)).unwrap();
        let found = take(folder.path()).unwrap();
        let last = found.last().map(|gap| (gap.cause, gap.agent.as_str()));
        assert_eq!(
            (found.len(), last),
            (most + 1, Some((GapCause::Full, "codex")))
        );
        // Opening a pipe waits for its other end, which never comes.
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        assert!(take(folder.path()).is_err());
        assert_eq!(take(folder.path()).unwrap(), []);
    }
}
