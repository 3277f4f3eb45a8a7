//! Where an export goes, and how far it has come.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::days::Days;
use crate::age::{AgeFault, Encrypted};
use crate::exit::{Exit, Failed, bad_input};
use crate::output;

/// How far an export came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Place {
    /// Nothing is written.
    Start,
    /// Everything before a place in the log is, in so many bytes.
    At {
        /// The place, as the gateway has it.
        cursor: String,
        /// The bytes.
        bytes: u64,
        /// The records.
        records: u64,
    },
}

/// The note beside a file that is not whole.
#[derive(Serialize, Deserialize)]
struct Note {
    asked: String,
    place: Place,
    days: Days,
}

/// Where an export goes.
pub(super) struct Target {
    out: Out,
    pub(super) place: Place,
    pub(super) records: u64,
    pub(super) days: Days,
    bytes: u64,
}

enum Out {
    Standard,
    /// A device or a pipe.
    Stream(File),
    Encrypted(Box<Encrypted<Box<dyn Write>>>, Option<PathBuf>),
    File {
        file: File,
        path: PathBuf,
        asked: String,
    },
}

impl Target {
    pub(super) fn standard(opening: &str) -> Result<Self> {
        Self::begun(Out::Standard, opening)
    }

    /// Begins a file. It stands under another name until it is whole; what is no file is written to as
    /// it is.
    pub(super) fn file(path: &Path, asked: &str, opening: &str) -> Result<Self> {
        let out = match Named::of(path)? {
            Named::Stream(stream) => Out::Stream(stream),
            Named::File(path) => {
                // CRASH: an old note never speaks of a file that was begun after it.
                forget(&path)?;
                Out::File {
                    file: created(&partial(&path))?,
                    path,
                    asked: asked.to_owned(),
                }
            }
        };
        let mut target = Self::begun(out, opening)?;
        // What has no note need not be ours to go on with: it may be encrypted.
        target.note()?;
        Ok(target)
    }

    /// Begins a file, or standard output, that only the holder of a key can read.
    pub(super) fn encrypted(path: Option<&Path>, recipient: &str, opening: &str) -> Result<Self> {
        let unusable = |why: AgeFault| bad_input(why.to_string(), None);
        // Nothing is made or overwritten for a recipient that is none.
        Encrypted::new(io::sink(), recipient).map_err(unusable)?;
        let (inner, path): (Box<dyn Write>, _) = match path.map(Named::of).transpose()? {
            Some(Named::File(path)) => {
                forget(&path)?;
                (Box::new(created(&partial(&path))?), Some(path))
            }
            Some(Named::Stream(stream)) => (Box::new(stream), None),
            None => (Box::new(io::stdout()), None),
        };
        let encrypted = Encrypted::new(inner, recipient).map_err(unusable)?;
        let out = Out::Encrypted(Box::new(encrypted), path);
        Self::begun(out, opening)
    }

    /// Goes on with a file that was broken off; one that came to no records is begun anew. What has no note
    /// is encrypted, or nobody knows what it is: gone on with, its name would promise more than it has.
    pub(super) fn resumed(path: &Path, asked: &str, opening: &str) -> Result<Self> {
        let Named::File(path) = Named::of(path)? else {
            let message = format!("`{}` is no file that could be gone on with", path.display());
            return Err(bad_input(message, Some("leave `--resume` out")));
        };
        let note = note(&path);
        let Ok(text) = std::fs::read_to_string(&note) else {
            if partial(&path).exists() {
                let message = format!(
                    "what was broken off of `{}` is encrypted, or of another kind, and cannot be gone on with",
                    path.display()
                );
                return Err(bad_input(
                    message,
                    Some("leave `--resume` out to begin anew"),
                ));
            }
            let hint = "leave `--resume` out to begin anew";
            let message = format!("`{}` was not broken off", path.display());
            return Err(bad_input(message, Some(hint)));
        };
        let kept: Note = serde_json::from_str(&text)
            .with_context(|| format!("cannot understand `{}`", note.display()))?;
        if kept.asked != asked {
            let hint = "give the same filters and form as before";
            let message = "the export that was broken off is another";
            return Err(bad_input(message, Some(hint)));
        }
        let (bytes, records) = match &kept.place {
            Place::Start => return Self::file(&path, asked, opening),
            Place::At { bytes, records, .. } => (*bytes, *records),
        };
        let partial = partial(&path);
        let mut file = opened(OpenOptions::new().write(true), &partial)?;
        // What was written after the note is written again.
        file.set_len(bytes)?;
        file.seek(SeekFrom::Start(bytes))?;
        Ok(Self {
            out: Out::File {
                file,
                path,
                asked: asked.to_owned(),
            },
            place: kept.place,
            records,
            days: kept.days,
            bytes,
        })
    }

    fn begun(out: Out, opening: &str) -> Result<Self> {
        let mut target = Self {
            out,
            place: Place::Start,
            records: 0,
            days: Days::default(),
            bytes: 0,
        };
        target.put(opening.as_bytes())?;
        Ok(target)
    }

    /// Turns lines into elements of a list.
    pub(super) fn listed(&self, lines: &str) -> String {
        let mut text = String::new();
        for (at, line) in lines.lines().enumerate() {
            let first = at == 0 && self.records == 0;
            text.extend([if first { "" } else { ",\n" }, line]);
        }
        text
    }

    /// Writes a part of so many records, then notes how far that is.
    pub(super) fn write(&mut self, part: &str, records: u64, next: Option<String>) -> Result<()> {
        self.put(part.as_bytes())?;
        self.records += records;
        let Some(cursor) = next else {
            return Ok(());
        };
        self.place = Place::At {
            cursor,
            bytes: self.bytes,
            records: self.records,
        };
        self.note()
    }

    /// Says of a fault how many records are written already, beside the `heading`, and how to go on.
    pub(super) fn broken_off(&self, fault: anyhow::Error, heading: u64) -> anyhow::Error {
        let Place::At { records, .. } = &self.place else {
            return fault;
        };
        let hint = match &self.out {
            Out::File { path, .. } => format!(
                "they stand in `{}`; once the gateway answers, the same command with `--resume` goes on after them",
                partial(path).display()
            ),
            Out::Encrypted(..) => "begin anew: what is encrypted cannot be gone on with".to_owned(),
            Out::Standard | Out::Stream(_) => {
                "begin anew; what is written to a file (`--output FILE`) can be gone on with"
                    .to_owned()
            }
        };
        let failed = fault.downcast_ref::<Failed>();
        let records = records.saturating_sub(heading);
        Failed {
            exit: failed.map_or(Exit::Error, |failed| failed.exit),
            message: format!("the export was broken off after {records} records: {fault:#}"),
            hint: Some(hint),
        }
        .into()
    }

    /// Notes how far it came, where it can be gone on with.
    fn note(&mut self) -> Result<()> {
        let Out::File { file, path, asked } = &mut self.out else {
            return Ok(());
        };
        // CRASH: the note never speaks of more than the file has.
        file.sync_data()?;
        let text = serde_json::to_vec(&Note {
            asked: asked.clone(),
            place: self.place.clone(),
            days: self.days.clone(),
        })?;
        let new = beside(path, ".resume.new");
        created(&new)?.write_all(&text)?;
        std::fs::rename(&new, note(path))?;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += u64::try_from(bytes.len()).unwrap_or(0);
        match &mut self.out {
            Out::Standard => output::raw(bytes),
            Out::Stream(stream) => Ok(stream.write_all(bytes)?),
            Out::Encrypted(encrypted, _) => Ok(encrypted.write_all(bytes)?),
            Out::File { file, .. } => Ok(file.write_all(bytes)?),
        }
    }

    /// Gives the file its name; returns it, where there is one.
    pub(super) fn finish(self) -> Result<Option<PathBuf>> {
        match self.out {
            Out::Standard | Out::Stream(_) => Ok(None),
            Out::Encrypted(encrypted, path) => {
                drop(encrypted.finish()?);
                if let Some(path) = &path {
                    std::fs::rename(partial(path), path)?;
                }
                Ok(path)
            }
            Out::File { file, path, .. } => {
                file.sync_all()?;
                std::fs::rename(partial(&path), &path)?;
                drop(std::fs::remove_file(note(&path)));
                Ok(Some(path))
            }
        }
    }
}

/// What somebody named to write to.
enum Named {
    /// A file, there or not; a link is followed, so that it stays one.
    File(PathBuf),
    /// A device or a pipe, which must not be replaced by a file.
    Stream(File),
}

impl Named {
    fn of(path: &Path) -> Result<Self> {
        let there = match std::fs::metadata(path) {
            Ok(there) => there,
            Err(_) if path.is_symlink() => {
                let message = format!("`{}` is a link that leads nowhere", path.display());
                return Err(bad_input(message, Some("name the file itself")));
            }
            // Whatever else is wrong is seen when it is written.
            Err(_) => return Ok(Self::File(path.to_owned())),
        };
        let cannot = || format!("cannot write `{}`", path.display());
        if there.is_file() {
            return Ok(Self::File(path.canonicalize().with_context(cannot)?));
        }
        let stream = OpenOptions::new().write(true).open(path);
        Ok(Self::Stream(stream.with_context(cannot)?))
    }
}

/// Makes a file that only its owner reads.
fn created(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    opened(&mut options, path)
}

/// Opens what stands beside the file that was named. Others may have put a link there.
fn opened(options: &mut OpenOptions, path: &Path) -> Result<File> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = options.custom_flags(flags).open(path);
    file.with_context(|| format!("cannot write `{}`", path.display()))
}

/// Takes the note of an earlier export away.
fn forget(path: &Path) -> Result<()> {
    let note = note(path);
    match std::fs::remove_file(&note) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => {
            Err(fault).with_context(|| format!("cannot remove `{}`", note.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn partial(path: &Path) -> PathBuf {
    beside(path, ".partial")
}

fn note(path: &Path) -> PathBuf {
    beside(path, ".resume")
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_written_to_and_stays_what_it_is() {
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let finished = |path: &Path| {
            let mut target = Target::file(path, "", "").unwrap();
            target.write("{}\n", 1, None).unwrap();
            target.finish().unwrap()
        };
        assert_eq!(finished(Path::new("/dev/null")), None);
        let kind = std::fs::metadata("/dev/null").unwrap().file_type();
        assert!(kind.is_char_device());
        assert!(Target::resumed(Path::new("/dev/null"), "", "").is_err());

        std::fs::write(at("real"), "old").unwrap();
        symlink(at("real"), at("link")).unwrap();
        assert!(finished(&at("link")).is_some());
        assert!(at("link").is_symlink());
        assert_eq!(std::fs::read_to_string(at("real")).unwrap(), "{}\n");

        symlink(at("absent"), at("astray")).unwrap();
        assert!(Target::file(&at("astray"), "", "").is_err());
        // A link that somebody else put where the parts go.
        std::fs::write(at("precious"), "kept").unwrap();
        symlink(at("precious"), at("out.partial")).unwrap();
        assert!(Target::file(&at("out"), "", "").is_err());
        assert_eq!(std::fs::read_to_string(at("precious")).unwrap(), "kept");
        assert!(Target::file(folder.path(), "", "").is_err());
    }

    #[test]
    fn a_file_that_was_broken_off_goes_on_after_what_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.ndjson");
        let mut first = Target::file(&path, "&a", "").unwrap();
        first
            .write("{\"one\":1}\n", 1, Some("7".to_owned()))
            .unwrap();
        // A part that came in and was not noted.
        first.put(b"{\"two\"").unwrap();
        drop(first);
        assert!(!path.exists());
        assert!(Target::resumed(&path, "&b", "").is_err());
        let mut second = Target::resumed(&path, "&a", "").unwrap();
        let Place::At {
            cursor, records, ..
        } = &second.place
        else {
            panic!("nothing is noted");
        };
        assert_eq!((cursor.as_str(), *records), ("7", 1));
        second.write("{\"two\":2}\n", 1, None).unwrap();
        assert_eq!(second.finish().unwrap().as_deref(), Some(&*path));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"one\":1}\n{\"two\":2}\n");
        assert!(Target::resumed(&path, "&a", "").is_err());
    }

    /// Regression for #8: who was told that the connection was closed was not told what to do about it.
    #[test]
    fn a_fault_in_the_middle_says_what_is_written_and_how_to_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let closed = || anyhow::anyhow!("connection closed");
        let check = |target: &Target, message: &str, hint: &str| {
            let fault = target.broken_off(closed(), 1);
            let failed = fault.downcast_ref::<Failed>().unwrap();
            assert_eq!((failed.exit, &*failed.message), (Exit::Error, message));
            let said = failed.hint.as_deref().unwrap();
            assert!(said.contains(hint), "{said}");
        };
        let message = "the export was broken off after 2 records: connection closed";
        let mut file = Target::file(&path, "", "").unwrap();
        let nothing = file.broken_off(closed(), 1);
        assert_eq!(nothing.to_string(), "connection closed");
        file.write("a\n1\n2\n", 3, Some("7".to_owned())).unwrap();
        check(&file, message, "out.csv.partial`");
        check(&file, message, "`--resume` goes on");
        let mut stream = Target::file(Path::new("/dev/null"), "", "").unwrap();
        stream.write("a\n1\n2\n", 3, Some("7".to_owned())).unwrap();
        check(&stream, message, "begin anew");
    }

    #[test]
    fn a_file_that_was_broken_off_in_its_first_part_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        let mut first = Target::file(&path, "&a", "[").unwrap();
        first.put(b"{\"one\"").unwrap();
        drop(first);
        let mut second = Target::resumed(&path, "&a", "[").unwrap();
        assert_eq!(second.place, Place::Start);
        second.write("{\"one\":1}]\n", 1, None).unwrap();
        second.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[{\"one\":1}]\n");
    }

    /// Regression for #8: the note was written to `out.ndjson.new` first, whatever that was or led to.
    #[test]
    fn only_files_of_the_export_are_touched() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("out.ndjson.new"), "kept").unwrap();
        let mut target = Target::file(&at("out.ndjson"), "", "").unwrap();
        target.write("{}\n", 1, Some("7".to_owned())).unwrap();
        let kept = std::fs::read_to_string(at("out.ndjson.new")).ok();
        assert_eq!(kept.as_deref(), Some("kept"));
        let mode = std::fs::metadata(at("out.ndjson.resume")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        std::fs::write(at("precious"), "kept").unwrap();
        symlink(at("precious"), at("out.ndjson.resume.new")).unwrap();
        assert!(target.write("{}\n", 1, Some("8".to_owned())).is_err());
        assert_eq!(std::fs::read_to_string(at("precious")).unwrap(), "kept");
    }

    /// Regression for #8: what began encrypted went on in clear, under the same name.
    #[test]
    fn what_began_encrypted_is_not_gone_on_with_in_clear() {
        const RECIPIENT: &str = "age1yl2lrcw0u4mqtlmqq30lpevkahc9xjkpukzc3844fqz2g3nefxsqs07m94";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.age");
        let partial = folder.path().join("out.age.partial");
        assert!(Target::encrypted(Some(&path), "age1nobody", "").is_err());
        assert!(!partial.exists(), "a file was made for nobody");
        // A note of an export in clear that was broken off before.
        let mut clear = Target::file(&path, "", "").unwrap();
        clear.write("{}\n", 1, Some("7".to_owned())).unwrap();
        drop(clear);
        let mut first = Target::encrypted(Some(&path), RECIPIENT, "").unwrap();
        first.put(b"{}").unwrap();
        drop(first);
        let sealed = std::fs::read(&partial).unwrap();
        let refused = Target::resumed(&path, "", "").map(drop).unwrap_err();
        assert!(refused.to_string().contains("cannot be gone on with"));
        assert_eq!(std::fs::read(&partial).unwrap(), sealed);
        assert!(!path.exists());
    }
}
