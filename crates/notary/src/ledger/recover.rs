//! Sessions whose proxies died: what they left is closed, packed and said to be incomplete.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, Mutex};

use mcpproxy_core::Wall;

use super::writer::{Start, Writer};
use super::{Options, Packing, Profile, Status};
use crate::chain::Chain;
use crate::error::NotaryError;
use crate::file::{open_plain, plain};
use crate::kept::Kept;
use crate::keys::{PublicKey, Signer};
use crate::layout::{Claim, Layout, Tally, create_file, sync_folder};
use crate::note::{Checkpoint, FORGED};
use crate::pack::{self, Built};
use crate::read::Read;
use crate::receipt::{Call, Common};
use crate::session::{self, Counts, End};
use crate::tree::Tree;

/// The longest line that is taken for a receipt.
const LONGEST: u64 = 16 << 20;

/// A session that was closed for its proxy.
#[derive(Debug)]
pub struct Recovered {
    /// Its receipts.
    pub receipts: PathBuf,
    /// Its packs, or why one could not be made.
    pub packs: Vec<Result<Built, NotaryError>>,
    /// What must be looked at by a person, if anything.
    pub warnings: Vec<String>,
}

/// Closes the sessions in the audit folder `root` whose proxies died, and makes their packs.
pub fn recover(root: &Path, options: &Options) -> Result<Vec<Recovered>, NotaryError> {
    let layout = Layout::create(root)?;
    let orphans = layout.orphans()?;
    Ok(orphans
        .into_iter()
        .map(|(name, claim)| close(&layout, &name, claim, options))
        .collect())
}

fn close(
    layout: &Layout,
    name: &str,
    claim: Result<Claim, NotaryError>,
    options: &Options,
) -> Recovered {
    let receipts = layout.session(name);
    let rebuilt = claim.and_then(|claim| {
        let how = (End::Recovered, claim.tally().lost);
        rebuild(layout, name, claim, options, how)
    });
    let (packs, warnings) = match rebuilt {
        Ok(Rebuilt { packs, warnings }) => (packs.into_iter().map(Ok).collect(), warnings),
        Err(fault) => (vec![Err(fault)], Vec::new()),
    };
    Recovered {
        receipts,
        packs,
        warnings,
    }
}

/// A session that was closed from what its file says.
#[derive(Default)]
pub(super) struct Rebuilt {
    pub(super) packs: Vec<Built>,
    warnings: Vec<String>,
}

/// What the file of a session says.
#[derive(Default)]
struct Past {
    session: Option<Common>,
    profile: Option<Profile>,
    /// The keys whose checkpoints can be judged: the one that it began with, and that of today.
    keys: Vec<(String, PublicKey)>,
    chain: Chain,
    length: u64,
    dropped: u64,
    /// Whether a checkpoint that was signed says otherwise than the lines before it.
    contradicted: bool,
    open: BTreeMap<String, Call>,
    counts: Counts,
    /// Where the run of lines begins that no pack has.
    start: Start,
    /// The runs that were closed for a pack.
    closed: Vec<Closed>,
    /// Whether the session was complete, once its end is written.
    ended: Option<bool>,
}

/// A run of lines that a checkpoint closed.
struct Closed {
    start: Start,
    end: u64,
    note: String,
    complete: Option<bool>,
}

/// Closes a session from what its file says, in the way of `end`.
pub(super) fn rebuild(
    layout: &Layout,
    name: &str,
    claim: Claim,
    options: &Options,
    (end, lost): (End, u64),
) -> Result<Rebuilt, NotaryError> {
    let path = layout.session(name);
    let mut past = match plain(&path) {
        Ok(file) => Past::read(file, options, &|index, session| {
            pack::is_of(&layout.pack(name, index), session)
        })
        .map_err(NotaryError::file("read", &path))?,
        Err(fault) if fault.kind() == ErrorKind::NotFound => Past::default(),
        Err(fault) => return Err(NotaryError::file("read", &path)(fault)),
    };
    let signed = Kept::of(&options.signer, name).read();
    if let (Some(signed), Some(_)) = (&signed, &past.session) {
        past.hold_against(signed, &path)
            .map_err(NotaryError::file("read", &path))?;
    }
    let (Some(common), Some(profile)) = (past.session.clone(), past.profile) else {
        return unbegun(&path, claim, past.dropped, signed.is_some());
    };
    let mut rebuilt = Rebuilt::default();
    let damage = match keep_damage(&path, past.length, past.dropped)? {
        Some(kept) => Some(kept),
        // CRASH: a start that was killed after it had cut the file left this behind.
        None => past.kept_before(&path)?,
    };
    rebuilt.warn(&path, damage.as_deref(), past.contradicted);
    past.cut(&path, &claim)?;
    let file = open_plain(&path, File::options().append(true).read(true));
    let file = file.map_err(NotaryError::file("open", &path))?;
    let options = Options {
        profile,
        ..options.clone()
    };
    let status = Arc::new(Mutex::new(Status::default()));
    let mut writer = Writer::new(
        layout.clone(),
        name.to_owned(),
        claim,
        Box::new(file),
        common,
        options,
        status,
    )
    .resume(past.length, past.chain, past.start, past.dropped);
    if past.contradicted {
        writer.doubt();
    }
    let lost = past.counts.lost + lost;
    writer.take_up(
        past.open,
        Counts {
            lost,
            ..past.counts
        },
    );
    let built = &mut rebuilt.packs;
    for closed in past.closed {
        built.push(writer.build(closed.start, closed.end, closed.note, closed.complete)?);
    }
    match past.ended {
        Some(complete) => built.extend(writer.conclude(complete)?),
        None => built.extend(writer.finish(end, Packing::Pack)?),
    }
    Ok(rebuilt)
}

impl Rebuilt {
    fn warn(&mut self, path: &Path, kept: Option<&Path>, contradicted: bool) {
        let why = match (contradicted, kept) {
            (true, _) => {
                "a signed checkpoint contradicts the receipts before it, which were changed"
            }
            (false, Some(_)) => "some lines do not continue the chain",
            (false, None) => return,
        };
        let rest = kept.map(|kept| format!("; from there on it is kept in `{}`", kept.display()));
        let (path, rest) = (path.display(), rest.unwrap_or_default());
        self.warnings.push(format!("`{path}`: {why}{rest}"));
    }
}

/// Sets aside what does not belong to the chain, unless it is no more than a line cut short; says
/// where.
fn keep_damage(path: &Path, length: u64, dropped: u64) -> Result<Option<PathBuf>, NotaryError> {
    if dropped == 0 {
        return Ok(None);
    }
    let failed = NotaryError::file("read", path);
    let mut file = plain(path).map_err(&failed)?;
    file.seek(SeekFrom::Start(length)).map_err(&failed)?;
    let mut front = Vec::new();
    let read = file.by_ref().take(LONGEST).read_to_end(&mut front);
    read.map_err(&failed)?;
    if dropped < LONGEST && !front.contains(&b'\n') {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(length)).map_err(&failed)?;
    let (aside, mut kept) = aside(path)?;
    // CRASH: until all of it is on disk, the file is not cut, and the next start keeps it again.
    io::copy(&mut file, &mut kept)
        .and_then(|_| kept.sync_all())
        .map_err(NotaryError::file("write", &aside))?;
    path.parent().map_or(Ok(()), sync_folder)?;
    Ok(Some(aside))
}

/// Returns what an earlier start set aside last, and its length.
fn set_aside(path: &Path) -> Option<(PathBuf, u64)> {
    let later = (2_u32..).map(|count| format!("damaged-{count}"));
    std::iter::once("damaged".to_owned())
        .chain(later)
        .map_while(|end| {
            let aside = path.with_extension(end);
            let about = aside.symlink_metadata().ok()?;
            about.is_file().then_some((aside, about.len()))
        })
        .last()
}

/// Makes a file for what is damaged, beside those of earlier times.
fn aside(path: &Path) -> Result<(PathBuf, File), NotaryError> {
    let mut aside = path.with_extension("damaged");
    let mut count = 1_u32;
    loop {
        match create_file(&aside) {
            Ok(file) => return Ok((aside, file)),
            Err(fault) if fault.kind() == ErrorKind::AlreadyExists => {
                count += 1;
                aside = path.with_extension(format!("damaged-{count}"));
            }
            Err(fault) => return Err(NotaryError::file("create", &aside)(fault)),
        }
    }
}

/// Ends a session that has no first line. If it died before that was whole, nobody was told of
/// anything, but its file may also have been taken away; if the line is there and damaged, nothing
/// after it can be believed, and all is kept.
fn unbegun(path: &Path, claim: Claim, dropped: u64, signed: bool) -> Result<Rebuilt, NotaryError> {
    let kept = keep_damage(path, 0, dropped)?;
    claim.release()?;
    let shown = path.display().to_string();
    match kept {
        None => {
            let why = if signed {
                "they were removed, since a checkpoint of them was signed"
            } else {
                "the session was killed as it began, or they were removed since"
            };
            Ok(Rebuilt {
                packs: Vec::new(),
                warnings: vec![format!("`{shown}` has no receipts: {why}")],
            })
        }
        Some(kept) => Err(NotaryError::Input {
            name: shown,
            why: format!(
                "its first line is damaged; all of it is kept in `{}`",
                kept.display()
            ),
        }),
    }
}

/// Tells whether a pack of that number exists and is of that session.
type Packed<'a> = dyn Fn(u64, &str) -> bool + 'a;

impl Past {
    /// Reads the lines as far as they are a chain; `packed` tells which packs exist.
    fn read(file: File, options: &Options, packed: &Packed<'_>) -> std::io::Result<Self> {
        let mut past = Self::default();
        let whole = file.metadata()?.len();
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
            let Some(text) = line.strip_suffix(b"\n") else {
                break;
            };
            let before = past.chain.tree().clone();
            if past.follow(text, options).is_none() {
                let signed = past.signed(line, &mut reader)?;
                past.contradicted = past.contradicts(&signed, &mut reader)?;
                break;
            }
            past.length += u64::try_from(read).unwrap_or(0);
            past.close(text, before, &options.signer, packed);
        }
        past.dropped = whole.saturating_sub(past.length);
        Ok(past)
    }

    /// Returns the checkpoints of this session that hold, of a line and of all behind it.
    fn signed(
        &self,
        mut line: Vec<u8>,
        reader: &mut BufReader<File>,
    ) -> std::io::Result<Vec<Checkpoint>> {
        let session = self.session.as_ref();
        let origin = session.map(|session| session::origin(&session.session_id));
        let mut found = Vec::new();
        loop {
            let note = Read::new(line.trim_ascii_end()).and_then(|line| line.text("checkpoint"));
            let opened = note.iter().flat_map(|note| {
                let keys = self.keys.iter();
                keys.filter_map(|(name, key)| Checkpoint::open(note, name, key).ok())
            });
            found.extend(opened.filter(|one| Some(&one.origin) == origin.as_ref()));
            line.clear();
            if reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
                return Ok(found);
            }
        }
    }

    /// Takes up what an earlier start set aside last, and holds the lines against the checkpoints in
    /// it; says where it is.
    fn kept_before(&mut self, path: &Path) -> Result<Option<PathBuf>, NotaryError> {
        let Some((kept, length)) = set_aside(path) else {
            return Ok(None);
        };
        self.dropped = self.dropped.max(length);
        let signed = plain(&kept).and_then(|file| self.signed(vec![], &mut BufReader::new(file)));
        let signed = signed.map_err(NotaryError::file("read", &kept))?;
        let judge = |file| self.contradicts(&signed, &mut BufReader::new(file));
        let contradicted = plain(path).and_then(judge);
        self.contradicted |= contradicted.map_err(NotaryError::file("read", path))?;
        Ok(Some(kept))
    }

    /// Cuts the file back to its chain.
    fn cut(&mut self, path: &Path, claim: &Claim) -> Result<(), NotaryError> {
        let tally = claim.tally();
        // What a start tore off itself is written again: the most that was ever cut off is missing.
        let dropped = self.dropped.max(tally.dropped);
        if dropped > tally.dropped {
            // CRASH: noted before the file is cut, for afterwards nothing of it is left to be told.
            claim
                .note(Tally { dropped, ..tally })
                .and_then(|()| claim.sync())
                .map_err(NotaryError::file("write", claim.path()))?;
        }
        self.dropped = dropped;
        let file = open_plain(path, File::options().write(true));
        file.and_then(|file| file.set_len(self.length))
            .map_err(NotaryError::file("cut", path))
    }

    /// Holds the lines against a checkpoint that was kept where none of them are.
    fn hold_against(&mut self, kept: &Checkpoint, path: &Path) -> std::io::Result<()> {
        let session = self.session.as_ref();
        let origin = session.map(|session| session::origin(&session.session_id));
        let other = Some(&kept.origin) != origin.as_ref();
        let mut reader = BufReader::new(plain(path)?);
        self.contradicted |= other || self.contradicts(slice::from_ref(kept), &mut reader)?;
        Ok(())
    }

    /// Tells whether what was signed is not what is left: lines are missing, or were changed.
    fn contradicts(
        &self,
        signed: &[Checkpoint],
        reader: &mut BufReader<File>,
    ) -> std::io::Result<bool> {
        if signed.iter().any(|one| one.size > self.chain.size()) {
            return Ok(true);
        }
        let mut chain = Chain::default();
        reader.seek(SeekFrom::Start(0))?;
        let mut line = Vec::new();
        while chain.size() < self.chain.size() {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            chain.follow(line.strip_suffix(b"\n").unwrap_or(&line));
            let tree = chain.tree();
            let other = |one: &Checkpoint| one.size == tree.size() && one.root != tree.root();
            if signed.iter().any(other) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes up one line; nothing if it does not continue the chain.
    fn follow(&mut self, bytes: &[u8], options: &Options) -> Option<()> {
        let line = Read::new(bytes)?;
        let linked = line.text("prev_hash").as_deref() == self.chain.link().as_deref();
        if !linked || line.number("seq") != Some(self.chain.size()) {
            return None;
        }
        let at = Wall::from_rfc3339(&line.text("timestamp")?)?;
        match line.text("type")?.as_ref() {
            "mcp.session_start" => {
                self.session = Some(line.common(&options.version)?);
                self.profile = Some(line.profile()?);
                let key = PublicKey::parse(line.text("signer_pubkey")?.as_bytes())?;
                self.keys.push((line.text("signer_id")?.into_owned(), key));
                let own = &options.signer;
                self.keys.push((own.name().to_owned(), own.public()));
            }
            "mcp.tool_intent" => {
                let call = line.call()?;
                self.open.insert(call.invocation_id.clone(), call);
            }
            "mcp_tool_call" => {
                self.open.remove(line.text("invocation_id")?.as_ref());
                self.counts.add_name(&line.text("outcome")?);
            }
            "mcp.checkpoint" => {
                let note = session::note_of(&line, self.chain.tree())?;
                let forged = |(name, key): &(String, PublicKey)| {
                    Checkpoint::open(&note, name, key) == Err(FORGED)
                };
                if self.keys.iter().any(forged) {
                    return None;
                }
            }
            "mcp.session_end" => self.ended = line.flag("session_complete"),
            _ => {}
        }
        self.chain.follow(bytes);
        self.start.note_time(at);
        Some(())
    }

    /// Ends a run of lines if this line closed it for a pack.
    fn close(&mut self, bytes: &[u8], before: Tree, signer: &Signer, packed: &Packed<'_>) {
        let closing = Read::new(bytes).filter(|line| line.text("closes_pack").is_some());
        let Some(note) = closing.and_then(|line| line.text("checkpoint")) else {
            return;
        };
        let session = self.session.as_ref();
        let exists = session.is_some_and(|session| packed(self.start.index, &session.session_id));
        if !exists && Checkpoint::open(&note, signer.name(), &signer.public()).is_err() {
            // The key was replaced since. The run goes on, and a checkpoint of the new key ends it.
            return;
        }
        let next = Start::after(&self.chain, before, self.length, self.start.index + 1);
        let start = std::mem::replace(&mut self.start, next);
        if !exists {
            let (end, note, complete) = (self.length, note.into_owned(), self.ended);
            self.closed.push(Closed {
                start,
                end,
                note,
                complete,
            });
        }
    }
}
