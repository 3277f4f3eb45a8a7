//! The scanners put together: plain text, then what is encoded in it, with places that hold for
//! the text that was given, and an account of what was not read.
//!
//! Deliberately absent: what follows from a detection, which policy decides.

mod hiding;
mod memo;
mod pass;
#[cfg(test)]
mod tests;
mod unread;

use std::fmt;

use mcpproxy_text::decode::Budget;
use mcpproxy_text::{Limits, check};

use crate::allow::{Allow, Case};
use crate::audience::Audience;
use crate::custom::Custom;
use crate::detection::{Detection, Scan};
use crate::error::DetectError;
use crate::files::{Files, Folders, Held};
use crate::hostile::{About, Hostile};
use crate::makeup::Makeup;
use crate::pii::Pii;
use crate::report::Report;
use crate::secrets::Secrets;
use crate::settings::Settings;
use memo::Memos;
use pass::Pass;
pub(crate) use unread::rules;

/// Looks through texts and messages with every scanner that is switched on.
pub struct Detector {
    scanners: Vec<Box<dyn Scan>>,
    /// Whether texts that a model reads are looked through for orders.
    reads_orders: bool,
    folders: Folders,
    allow: Allow,
    settings: Settings,
    budget: Budget,
    memos: Memos,
    /// Those of texts that are looked through for orders, as answers are.
    answer_memos: Memos,
}

/// What a text is part of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The tool it is for or from, as `upstream:tool`.
    pub tool: Option<&'a str>,
    /// Which way it goes.
    pub direction: Direction,
    /// Where a model reads it, if one does: only then is it looked through for orders.
    pub audience: Option<Audience>,
    /// What the tool is about that a descriptor describes.
    pub about: About,
}

/// Which way a text goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// To an upstream.
    Request,
    /// From an upstream.
    Response,
    /// Neither: it is always scanned.
    #[default]
    Still,
}

/// Shows how many scanners there are; what they look for may be confidential.
impl fmt::Debug for Detector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Detector")
            .field("scanners", &self.scanners.len())
            .finish_non_exhaustive()
    }
}

impl Detector {
    /// Makes a detector with all scanners there are.
    pub fn new(settings: &Settings) -> Result<Self, DetectError> {
        let secrets = Secrets::new(settings.entropy_threshold)?;
        let files = Files::new()?;
        let folders = Folders::new(files.rules());
        let scanners: Vec<Box<dyn Scan>> =
            vec![Box::new(secrets), Box::new(Pii::new()), Box::new(files)];
        let detector = Self::with(scanners, settings)?;
        Ok(Self {
            reads_orders: true,
            folders,
            ..detector
        })
    }

    /// Puts scanners together with what the settings add and take away.
    pub fn with(
        mut scanners: Vec<Box<dyn Scan>>,
        settings: &Settings,
    ) -> Result<Self, DetectError> {
        if let Some(custom) = Custom::new(settings)? {
            scanners.push(Box::new(custom));
        }
        Ok(Self {
            scanners,
            reads_orders: false,
            folders: Folders::default(),
            allow: Allow::new(settings)?,
            settings: settings.clone(),
            budget: Budget::default(),
            memos: Memos::default(),
            answer_memos: Memos::default(),
        })
    }

    /// Says what files with credentials a path takes in that is a folder or a pattern.
    pub fn held(&self, path: &str) -> Option<Held<'_>> {
        self.folders.held(path)
    }

    /// Scans a text of no particular kind.
    pub fn text(&self, text: &str) -> Report {
        self.text_in(text, Context::default())
    }

    /// Scans a text that is part of something.
    pub fn text_in(&self, text: &str, context: Context<'_>) -> Report {
        let mut pass = Pass::new(self, context);
        if pass.is_on(text.len()) {
            // A text ends where its bound is, so there is nothing to break off.
            pass.leaf(text, 0..text.len(), &"", None);
        }
        pass.report
    }

    /// Scans every key, string and number of a JSON message; what is no strict JSON is scanned as
    /// text, since some reader may understand it.
    pub fn json(&self, raw: &str, context: Context<'_>) -> Report {
        if check(raw.as_bytes(), Limits::default()).is_err() {
            return self.text_in(raw, context);
        }
        let mut pass = Pass::new(self, context);
        if pass.is_on(raw.len()) {
            pass.message(raw);
        }
        pass.report
    }

    /// Adds the orders to a model in a text that one reads.
    fn orders(&self, text: &str, makeup: Makeup, context: Context<'_>, out: &mut Vec<Detection>) {
        let Some(audience) = context.audience else {
            return;
        };
        // What leads to an order in data is a word; in a descriptor, numbers count too.
        if !audience.is_authored() && !makeup.has(Makeup::LETTER) {
            return;
        }
        let Some(hostile) = self.hostile() else {
            return;
        };
        let from = out.len();
        hostile.scan_for(audience, text, out);
        if audience == Audience::Descriptor {
            let orders = out.get_mut(from..).unwrap_or_default();
            hostile.excuse(text, context.about, orders);
        }
        if matches!(audience, Audience::Descriptor | Audience::Instructions) {
            hostile.scan_shape(text, context.about, out);
        }
    }

    /// What a tool is about, from its names and from the sentence that says what it is for.
    pub(crate) fn about(&self, names: &str, params: &str, first: &str) -> About {
        let hostile = self.hostile();
        hostile.map_or_else(About::default, |hostile| {
            hostile.about(names, params, first)
        })
    }

    /// The scanner for orders, if it is part of this detector; its rules are read at the first
    /// call, and the tests see to it that they can be read.
    fn hostile(&self) -> Option<Hostile> {
        let hostile = self.reads_orders.then(|| Hostile::new(Audience::Result));
        hostile?.ok()
    }

    /// Drops what is switched off or allowed.
    fn sift(
        &self,
        detections: &mut Vec<Detection>,
        text: &str,
        path: &dyn fmt::Display,
        tool: Option<&str>,
    ) {
        if detections.is_empty() {
            return;
        }
        let path = if self.allow.is_empty() {
            String::new()
        } else {
            path.to_string()
        };
        detections.retain(|detection| {
            let value = text.get(detection.span.clone()).unwrap_or_default();
            let case = Case {
                detection,
                value,
                path: &path,
                tool,
            };
            let wanted = self.settings.looks_for(detection.category, &detection.kind);
            wanted && !self.allow.covers(&case)
        });
    }
}
