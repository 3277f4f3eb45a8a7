//! The file behind the log: whole lines only, moved aside when it has grown. When to write, and
//! what a failure means to whom, is the writer's matter.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use mcpproxy_core::Record;
use serde_json::json;

/// How much is read at once in search of the end of the last whole line.
const PIECE: u64 = 64 * 1024;

/// A file of lines that is appended to.
#[derive(Debug)]
pub(super) struct Lines {
    file: File,
    path: PathBuf,
    /// INVARIANT: the file's length after the last write that succeeded.
    whole: u64,
    max_bytes: u64,
}

impl Lines {
    /// Opens the file, made with mode 0600 if new. A last line that a crash tore is cut off.
    pub(super) fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let mut file = append_to(path)?;
        let whole = mend(&mut file)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            whole,
            max_bytes,
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds records.
    pub(super) fn append<'a>(
        &mut self,
        records: impl Iterator<Item = &'a Record>,
        sync: bool,
    ) -> io::Result<()> {
        self.write(Vec::new(), records, sync)
    }

    /// Adds records after a failure, and before them a line that says what is missing. The file is
    /// opened anew: the one that failed may have been moved, or its disk may have been replaced.
    pub(super) fn resume<'a>(
        &mut self,
        why: &str,
        lost: usize,
        records: impl Iterator<Item = &'a Record>,
    ) -> io::Result<()> {
        let mut file = append_to(&self.path)?;
        if is_same(&file, &self.file) && file.metadata()?.len() > self.whole {
            // What a failed write left: whoever waited for it was told that it is lost.
            file.set_len(self.whole)?;
        }
        self.whole = mend(&mut file)?;
        self.file = file;
        let gap = json!({ "type": "gap", "lost_records": lost, "error_message": why });
        self.write(format!("{gap}\n").into_bytes(), records, true)
    }

    fn write<'a>(
        &mut self,
        mut lines: Vec<u8>,
        records: impl Iterator<Item = &'a Record>,
        sync: bool,
    ) -> io::Result<()> {
        for record in records {
            serde_json::to_writer(&mut lines, record)?;
            lines.push(b'\n');
        }
        // CRASH: a stop within this write leaves a torn last line; the next start cuts it off, and
        // strict callers were not told that it is durable.
        self.file.write_all(&lines)?;
        if sync {
            self.file.sync_data()?;
        }
        self.whole += u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if self.whole > self.max_bytes {
            self.rotate()?;
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        // CRASH: a stop after the rename leaves no current file; the next start makes one.
        std::fs::rename(&self.path, old)?;
        self.file = append_to(&self.path)?;
        self.whole = 0;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Cuts off what follows the last whole line, and returns the length.
fn mend(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let (mut whole, mut from) = (0, length);
    while from > 0 && whole == 0 {
        let size = from.min(PIECE);
        from -= size;
        file.seek(SeekFrom::Start(from))?;
        let mut piece = Vec::new();
        io::Read::by_ref(file).take(size).read_to_end(&mut piece)?;
        if let Some(at) = piece.iter().rposition(|&byte| byte == b'\n') {
            whole = from + u64::try_from(at).unwrap_or(u64::MAX) + 1;
        }
    }
    if whole < length {
        file.set_len(whole)?;
    }
    Ok(whole)
}

#[cfg(unix)]
fn is_same(one: &File, other: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |file: &File| file.metadata().map(|meta| (meta.dev(), meta.ino()));
    matches!((place(one), place(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(not(unix))]
fn is_same(_: &File, _: &File) -> bool {
    false
}
