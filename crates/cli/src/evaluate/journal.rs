//! Word of uses of a tool about which nobody could be asked: one line each in a file of the data
//! folder, which the gateway takes over when it is back. It tells of agent, event, conversation and
//! tool, and of nothing else that stood in the payload.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use mcpproxy_core::{GAPS, GAPS_FULL, Gap};
use rustix::fs::OFlags;

/// The longest name that is written, in characters.
const NAME: usize = 80;

/// Leaves word in the data folder, which is made if only it is missing.
pub(super) fn append(folder: &Path, gap: Gap) -> io::Result<()> {
    let short = |text: String| text.chars().take(NAME).collect();
    let gap = Gap {
        agent: short(gap.agent),
        event: short(gap.event),
        session: short(gap.session),
        tool: short(gap.tool),
        ..gap
    };
    let mut line = serde_json::to_string(&gap)?;
    line.push('\n');
    // A link or a pipe in this place was put there by somebody else, and must not hold us.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => return Err(fault),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(folder.join(GAPS))?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if about.len() >= GAPS_FULL {
        return Ok(());
    }
    // CRASH: a line is written at once, so that a stop here leaves it whole or not at all; one that a
    // full disk cut off is ended, so that it does not take this one with it.
    let mut end = [b'\n'];
    let read = file.read_at(&mut end, about.len().saturating_sub(1))?;
    if read == 1 && end != *b"\n" {
        line.insert(0, '\n');
    }
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use mcpproxy_core::{Action, GapCause, Phase};

    use super::*;

    #[test]
    fn word_is_left_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let gap = Gap {
            at: 1,
            agent: "claude-code".to_owned(),
            event: "PreToolUse".to_owned(),
            phase: Phase::Pre,
            session: "s".to_owned(),
            tool: "x".repeat(500),
            cause: GapCause::Unreachable,
            decision: Action::Allow,
            asked: None,
        };
        for _ in 0..3000 {
            append(folder.path(), gap.clone()).unwrap();
        }
        let file = folder.path().join(GAPS);
        let about = std::fs::metadata(&file).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
        assert!((GAPS_FULL..GAPS_FULL + 400).contains(&about.len()));
        let text = std::fs::read_to_string(&file).unwrap();
        let first: Gap = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            (first.tool.len(), first.cause),
            (NAME, GapCause::Unreachable)
        );
        // What was torn stays a line of its own.
        std::fs::write(&file, "{\"at\":").unwrap();
        append(folder.path(), gap.clone()).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        let fresh = folder.path().join("fresh");
        append(&fresh, gap.clone()).unwrap();
        let about = std::fs::metadata(&fresh).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o700);
        assert!(append(&folder.path().join("gone/away"), gap.clone()).is_err());
        // Opening a pipe waits for its other end, which never comes.
        std::fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        assert!(append(folder.path(), gap).is_err());
    }
}
