//! Word that hooks left while nobody could be asked: taken over from the file in the data folder, so
//! that an unseen gap shows up in the log.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcpproxy_core::{Action, CallId, GAPS, GAPS_FULL, Gap, GapCause, Phase, Principal, Wall};
use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::Serialize;

use crate::gateway::Gateway;

/// The file while it is taken over.
const TAKEN: &str = "hook-gaps.taken";
/// What is read of it; hooks write less.
const MOST: u64 = 1024 * 1024;

/// Questions that are remembered by the name under which they were asked; the oldest go first.
const MOST_ASKED: usize = 1024;
/// The longest such name.
const NAME: usize = 64;

/// What was found so far.
#[derive(Debug, Default)]
pub struct Gaps(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    count: u64,
    last: Option<Gap>,
    /// What was asked lately, with the record of each.
    asked: VecDeque<(Box<str>, CallId)>,
}

/// Uses of tools about which hooks could not ask.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HookGaps")]
pub(crate) struct ShownGaps {
    /// How many there were since the gateway was started.
    count: u64,
    /// The last of them.
    last: Option<ShownGap>,
}

/// One use of a tool about which a hook could not ask.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HookGap")]
struct ShownGap {
    /// When, RFC 3339.
    at: String,
    /// The agent, as `claude-code`.
    agent: String,
    /// The event, as the agent calls it.
    event: String,
    /// The tool, as the agent calls it; empty where that is not known.
    tool: String,
    /// Why it could not ask.
    cause: GapCause,
    /// What the agent was told instead.
    decision: Action,
}

impl Gaps {
    fn note(&self, gap: Gap) {
        let mut found = self.found();
        found.count += 1;
        found.last = Some(gap);
    }

    /// Remembers the record of a question: who asked it may turn out not to have heard the answer.
    pub(crate) fn asked(&self, name: &str, id: CallId) {
        if name.len() > NAME {
            return;
        }
        let mut found = self.found();
        if found.asked.len() >= MOST_ASKED {
            found.asked.pop_front();
        }
        found.asked.push_back((name.into(), id));
    }

    /// Returns the record of the question that a hook did not wait for.
    fn record_of(&self, gap: &Gap) -> Option<CallId> {
        let name = gap.asked.as_deref()?;
        let found = self.found();
        let (_, id) = found.asked.iter().find(|(asked, _)| **asked == *name)?;
        Some(*id)
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is shown of it.
    pub(crate) fn shown(&self) -> ShownGaps {
        let found = self.found();
        let last = found.last.as_ref().map(|gap| ShownGap {
            at: Wall(gap.at).rfc3339(),
            agent: gap.agent.clone(),
            event: gap.event.clone(),
            tool: gap.tool.clone(),
            cause: gap.cause,
            decision: gap.decision,
        });
        ShownGaps {
            count: found.count,
            last,
        }
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
            let about = self.gaps.record_of(&gap);
            let named = (!gap.session.is_empty()).then_some(&gap.session);
            let session = named.map(|name| Self::hook_key(&Principal::local(), name));
            let id = self.call_id();
            self.engine.missed(id, &gap, session, about).await;
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
    let lines = lines.filter(|line| !line.is_empty());
    let mut gaps: Vec<Gap> = Vec::new();
    for line in lines {
        let before = gaps.last().map_or(0, |gap| gap.at);
        gaps.push(serde_json::from_slice(line).unwrap_or_else(|_| torn(before)));
    }
    let full = u64::try_from(bytes.len()).unwrap_or(u64::MAX) >= GAPS_FULL;
    if let (Some(last), true) = (gaps.last().cloned(), full) {
        let cause = GapCause::Full;
        gaps.push(Gap { cause, ..last });
    }
    Ok(gaps)
}

/// What stands for a line that cannot be read: it tells of a use all the same.
fn torn(at: u64) -> Gap {
    Gap {
        at,
        agent: "unknown".to_owned(),
        event: "unknown".to_owned(),
        phase: Phase::Pre,
        session: String::new(),
        tool: String::new(),
        cause: GapCause::Torn,
        decision: Action::Allow,
        asked: None,
    }
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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_gap_is_tied_to_the_record_of_what_was_asked() {
        let gaps = Gaps::default();
        let left = |asked: Option<&str>| {
            let line = json!({
                "at": 1, "agent": "codex", "event": "PreToolUse", "tool": "Bash",
                "cause": "slow", "decision": "allow", "asked": asked,
            });
            gaps.record_of(&serde_json::from_value(line).unwrap())
        };
        gaps.asked("7-1", CallId::new(1, 1));
        gaps.asked("7-2", CallId::new(1, 2));
        assert_eq!(left(Some("7-2")), Some(CallId::new(1, 2)));
        assert_eq!(left(Some("7-3")), None);
        assert_eq!(left(None), None);
        // No more than so many, and none with a long name.
        for number in 0..MOST_ASKED {
            gaps.asked(&format!("8-{number}"), CallId::new(2, 1));
        }
        assert_eq!(left(Some("7-2")), None);
        gaps.asked(&"x".repeat(NAME + 1), CallId::new(3, 1));
        assert_eq!(gaps.found().asked.len(), MOST_ASKED);
    }

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
        let causes = |found: &[Gap]| found.iter().map(|gap| gap.cause).collect::<Vec<_>>();
        let expect = [GapCause::Slow, GapCause::Torn, GapCause::Slow];
        assert_eq!(causes(&found), expect);
        assert_eq!(found[0].agent, "codex");
        assert_eq!(take(folder.path()).unwrap(), []);
        let file = folder.path().join(GAPS);
        fs::write(
            &file,
            [line.as_bytes(), b"\n\xFF\n", line.as_bytes()].concat(),
        )
        .unwrap();
        assert_eq!(causes(&take(folder.path()).unwrap()), expect);
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
