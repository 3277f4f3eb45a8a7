//! What all conversations with one running sample share.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mcpproxy_mcp::Frame;
use mcpproxy_mcp::era::{Era, META_VERSION};
use mcpproxy_text as text;
use serde_json::{Value, json};

use super::listeners::Listeners;
use super::script::Script;
use super::tool::Card;
use super::{EraSupport, Options, Sample, echo, github, slack};
use crate::lock;

/// The most tools that `change` adds.
const MOST_ADDED: usize = 1_000;

/// One running sample.
pub(crate) struct Service {
    pub(crate) sample: Sample,
    pub(crate) options: Options,
    pub(crate) listeners: Listeners,
    pub(crate) script: Script,
    recording: Option<Mutex<File>>,
    added: AtomicUsize,
    numbers: AtomicU64,
}

impl Service {
    /// Starts a sample; opens the file that it records to.
    pub(crate) fn start(sample: Sample, options: Options) -> io::Result<Self> {
        let open = |path| File::options().append(true).create(true).open(path);
        let recording = options.record.as_ref().map(open).transpose()?;
        let script = options.script.as_deref().map(Script::read).transpose()?;
        Ok(Self {
            sample,
            options,
            listeners: Listeners::default(),
            script: script.unwrap_or_default(),
            recording: recording.map(Mutex::new),
            added: AtomicUsize::new(0),
            numbers: AtomicU64::new(1),
        })
    }

    /// Appends a message to the recording, if there is one.
    pub(crate) fn record(&self, message: &[u8]) -> io::Result<()> {
        let Some(recording) = &self.recording else {
            return Ok(());
        };
        // One write a line, so that a reader of the file never sees half of one.
        let line = [message, b"\n"].concat();
        lock(recording).write_all(&line)
    }

    /// Draws a number that was not drawn before.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a tool and returns its name, unless there are too many.
    pub(crate) fn add_tool(&self) -> Option<String> {
        let grow = |added: usize| (added < MOST_ADDED).then_some(added + 1);
        let before = self
            .added
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow);
        before.ok().map(|before| format!("extra_{}", before + 1))
    }

    /// Returns how many tools were added.
    pub(crate) fn added(&self) -> usize {
        self.added.load(Ordering::Relaxed)
    }

    /// Returns all tools: the sample's own, those that were added, and those that were ordered.
    pub(crate) fn tools(&self) -> impl Iterator<Item = Card> {
        let (own, many) = match self.sample {
            Sample::Github => (github::tools(), 0),
            Sample::Slack => (slack::tools(), 0),
            Sample::Echo => (echo::tools(), self.options.many),
            Sample::Script => (self.script.tools(), 0),
        };
        let added = (1..=self.added()).map(|number| Card::Plain("extra", number));
        let ordered = (1..=many).map(|number| Card::Plain("many", number));
        own.into_iter().map(Card::Own).chain(added).chain(ordered)
    }

    /// Returns the capabilities that the sample declares.
    pub(crate) fn capabilities(&self) -> Value {
        match self.sample {
            Sample::Github | Sample::Slack => json!({ "tools": {} }),
            Sample::Script => self.script.capabilities(),
            Sample::Echo => json!({
                "completions": {},
                "logging": {},
                "prompts": {},
                "resources": { "subscribe": true },
                "tools": { "listChanged": true },
            }),
        }
    }

    /// Returns the object with which the sample names itself.
    pub(crate) fn info(&self) -> Value {
        json!({ "name": self.sample.name(), "version": env!("CARGO_PKG_VERSION") })
    }

    /// Tells the era of a request: what the sample speaks decides first, then what it says.
    pub(crate) fn era(&self, frame: &Frame) -> Era {
        let says_version = || text::get(frame.params(), &["_meta", META_VERSION]).is_some();
        match (self.options.era, &**frame.method()) {
            (EraSupport::LegacyOnly, _) | (EraSupport::Both, "initialize") => Era::Legacy,
            (EraSupport::ModernOnly, _) | (EraSupport::Both, "server/discover") => Era::Modern,
            (EraSupport::Both, _) if says_version() => Era::Modern,
            (EraSupport::Both, _) => Era::Legacy,
        }
    }
}
