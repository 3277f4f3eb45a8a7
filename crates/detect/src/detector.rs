//! The scanners put together: plain text, then what is encoded in it, with places that hold for
//! the text that was given, and an account of what was not read.
//!
//! Deliberately absent: what follows from a detection, which policy decides.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{ControlFlow, Range};

use mcpproxy_core::{Masked, Severity};
use mcpproxy_text::decode::{self, Budget, Coding, Limit, View};
use mcpproxy_text::{LeafKind, Limits, check, visit};

use crate::allow::{Allow, Case};
use crate::audience::Audience;
use crate::custom::Custom;
use crate::detection::{Category, Detection, Level, Scan};
use crate::error::DetectError;
use crate::files::Files;
use crate::hidden::Hidden;
use crate::hostile::{About, Hostile};
use crate::merge::merge;
use crate::pii::Pii;
use crate::report::{Found, Reason, Report};
use crate::secrets::Secrets;
use crate::settings::Settings;

/// Detections after which a message is bad enough to stop reading.
const MOST: usize = 10_000;
/// Smallest unreadable blob that is worth a note, in bytes.
const BLOB: usize = 48;

/// Shortest text that can have something encoded in it.
const SHORTEST_CODED: usize = 8;

/// Looks through texts and messages with every scanner that is switched on.
pub struct Detector {
    scanners: Vec<Box<dyn Scan>>,
    hostile: Option<Hostile>,
    allow: Allow,
    settings: Settings,
    budget: Budget,
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
        let scanners: Vec<Box<dyn Scan>> = vec![
            Box::new(secrets),
            Box::new(Pii::new()),
            Box::new(Files::new()?),
        ];
        let hostile = Some(Hostile::new(Audience::Result)?);
        let detector = Self::with(scanners, settings)?;
        Ok(Self {
            hostile,
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
            hostile: None,
            allow: Allow::new(settings)?,
            settings: settings.clone(),
            budget: Budget::default(),
        })
    }

    /// Scans a text of no particular kind.
    pub fn text(&self, text: &str) -> Report {
        self.text_in(text, Context::default())
    }

    /// Scans a text that is part of something.
    pub fn text_in(&self, text: &str, context: Context<'_>) -> Report {
        let mut pass = self.pass(context);
        if pass.is_on(text.len()) {
            // A text ends where its bound is, so there is nothing to break off.
            pass.leaf(text, 0..text.len(), &"", None).is_break();
        }
        pass.report
    }

    /// Scans every key, string and number of a JSON message; what is no strict JSON is scanned as
    /// text, since some reader may understand it.
    pub fn json(&self, raw: &str, context: Context<'_>) -> Report {
        if check(raw.as_bytes(), Limits::default()).is_err() {
            return self.text_in(raw, context);
        }
        let mut pass = self.pass(context);
        if pass.is_on(raw.len()) {
            visit(raw, |leaf| {
                let name = match leaf.kind {
                    LeafKind::Text | LeafKind::Number => leaf.path.name(),
                    LeafKind::Key => None,
                };
                pass.leaf(&leaf.text, leaf.span, &leaf.path, name.as_deref())
            });
        }
        pass.report
    }

    /// Adds the orders to a model in a text that one reads.
    fn orders(&self, text: &str, context: Context<'_>, out: &mut Vec<Detection>) {
        let (Some(hostile), Some(audience)) = (&self.hostile, context.audience) else {
            return;
        };
        hostile.for_audience(audience).scan(text, out);
        if matches!(audience, Audience::Descriptor | Audience::Instructions) {
            hostile.scan_shape(text, context.about, out);
        }
    }

    /// What a tool is about, from its names and from the sentence that says what it is for.
    pub(crate) fn about(&self, names: &str, params: &str, first: &str) -> About {
        let hostile = self.hostile.as_ref();
        hostile.map_or_else(About::default, |hostile| {
            hostile.about(names, params, first)
        })
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
            self.settings.looks_for(detection.category) && !self.allow.covers(&case)
        });
    }

    fn pass<'a>(&'a self, context: Context<'a>) -> Pass<'a> {
        let kilobytes = usize::try_from(self.settings.max_payload_size_kb).unwrap_or(usize::MAX);
        Pass {
            detector: self,
            context,
            room: kilobytes.saturating_mul(1024),
            budget: self.budget,
            scratch: Vec::new(),
            inner: Vec::new(),
            report: Report::default(),
        }
    }
}

/// One message on its way through the scanners.
struct Pass<'a> {
    detector: &'a Detector,
    context: Context<'a>,
    /// Bytes that may still be scanned.
    room: usize,
    budget: Budget,
    /// What was seen in the leaf so far, and in the view that is scanned.
    scratch: Vec<Detection>,
    inner: Vec<Detection>,
    report: Report,
}

impl Pass<'_> {
    /// Tells whether this direction is scanned, and notes it if not.
    fn is_on(&mut self, bytes: usize) -> bool {
        let settings = &self.detector.settings;
        let on = settings.enabled
            && match self.context.direction {
                Direction::Request => settings.scan_requests,
                Direction::Response => settings.scan_responses,
                Direction::Still => true,
            };
        if !on {
            self.report.coverage.unscanned = bytes;
            self.report.coverage.miss(String::new, Reason::Off);
        }
        on
    }

    /// Scans one leaf and what is encoded in it.
    fn leaf(
        &mut self,
        text: &str,
        leaf: Range<usize>,
        path: &dyn fmt::Display,
        name: Option<&str>,
    ) -> ControlFlow<()> {
        let end = text.floor_char_boundary(text.len().min(self.room));
        let (text, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        self.room -= text.len().min(self.room);
        let coverage = &mut self.report.coverage;
        coverage.scanned += text.len();
        coverage.unscanned += rest.len();
        if !rest.is_empty() {
            coverage.miss(|| path.to_string(), Reason::PayloadSize);
        }
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        self.plain(text, path, name);
        // A short word has nothing encoded in it.
        if text.len() >= SHORTEST_CODED {
            self.views(text, path);
        }
        if self.scratch.is_empty() {
            return ControlFlow::Continue(());
        }
        merge(&mut self.scratch);
        self.keep(&leaf, path)
    }

    fn plain(&mut self, text: &str, path: &dyn fmt::Display, name: Option<&str>) {
        for scanner in &self.detector.scanners {
            scanner.scan(text, &mut self.scratch);
            if let Some(name) = name {
                scanner.scan_keyed(name, text, &mut self.scratch);
            }
        }
        if let Some(audience) = self.context.audience {
            Hidden::new(audience).scan(text, &mut self.scratch);
        }
        self.detector.orders(text, self.context, &mut self.scratch);
        self.detector
            .sift(&mut self.scratch, text, path, self.context.tool);
        merge(&mut self.scratch);
    }

    fn views(&mut self, text: &str, path: &dyn fmt::Display) {
        let plain = self.scratch.len();
        let found = decode::views(text, &mut self.budget);
        self.report.coverage.views += found.views.len();
        for view in found.views {
            self.view(&view, plain, path);
        }
        for stop in found.stops {
            let (reason, detection) = bound(stop.limit, stop.span, &stop.via);
            self.report.coverage.miss(|| path.to_string(), reason);
            self.inner.push(detection);
        }
        let blobs = found.opaque.into_iter();
        let blobs = blobs.filter(|blob| blob.bytes >= BLOB && blob.media.is_none());
        let blobs = blobs.map(|blob| opaque(blob.bytes, blob.span, &blob.via));
        self.inner.extend(blobs);
        self.detector
            .sift(&mut self.inner, text, path, self.context.tool);
        self.scratch.append(&mut self.inner);
    }

    /// Scans a view; what is seen in it stands where the view stands, unless it is one of the first
    /// `plain` detections, which were seen there without decoding.
    fn view(&mut self, view: &View, plain: usize, path: &dyn fmt::Display) {
        for scanner in &self.detector.scanners {
            scanner.scan(&view.text, &mut self.inner);
        }
        self.detector
            .orders(&view.text, self.context, &mut self.inner);
        if self.inner.is_empty() {
            return;
        }
        self.detector
            .sift(&mut self.inner, &view.text, path, self.context.tool);
        merge(&mut self.inner);
        let known = self.scratch.get(..plain).unwrap_or_default();
        let known = within(known, &view.span).iter();
        let known: BTreeSet<_> = known.map(|d| (&d.kind, d.sample.as_str())).collect();
        self.inner
            .retain(|detection| !known.contains(&(&detection.kind, detection.sample.as_str())));
        for detection in &mut self.inner {
            detection.span = view.span.clone();
            detection.via = names(&view.via);
        }
        self.scratch.append(&mut self.inner);
    }

    /// Moves the detections of a leaf into the report, up to the bound.
    fn keep(&mut self, leaf: &Range<usize>, path: &dyn fmt::Display) -> ControlFlow<()> {
        let detections = &mut self.report.detections;
        let room = MOST.saturating_sub(detections.len());
        let full = self.scratch.len() > room;
        detections.extend(self.scratch.drain(..).take(room).map(|detection| Found {
            path: path.to_string(),
            leaf: leaf.clone(),
            detection,
        }));
        if !full {
            return ControlFlow::Continue(());
        }
        self.report
            .coverage
            .miss(|| path.to_string(), Reason::Detections);
        ControlFlow::Break(())
    }
}

/// Returns the detections, which are sorted by place, that start within a span.
fn within<'a>(sorted: &'a [Detection], span: &Range<usize>) -> &'a [Detection] {
    let from = sorted.partition_point(|detection| detection.span.start < span.start);
    let to = sorted.partition_point(|detection| detection.span.start < span.end);
    sorted.get(from..to).unwrap_or_default()
}

fn names(via: &[Coding]) -> Vec<Cow<'static, str>> {
    via.iter()
        .map(|coding| Cow::Borrowed(coding.name()))
        .collect()
}

/// What is reported of data that was not read, one of each, for the list of rules.
pub(crate) fn rules() -> Vec<Detection> {
    let limits = [Limit::Bytes, Limit::Depth, Limit::Views, Limit::Bomb];
    let bounds = limits.map(|limit| bound(limit, 0..0, &[]).1);
    bounds.into_iter().chain([opaque(0, 0..0, &[])]).collect()
}

/// Makes a detection of a bound that decoding met.
fn bound(limit: Limit, span: Range<usize>, via: &[Coding]) -> (Reason, Detection) {
    let (reason, rule, severity, level, text) = match limit {
        Limit::Bytes => (
            Reason::DecodedBytes,
            "decoded_size",
            Severity::Medium,
            Level::Warn,
            "encoded data is larger than what may be decoded",
        ),
        Limit::Depth => (
            Reason::DecodedDepth,
            "nested_encoding",
            Severity::Medium,
            Level::Warn,
            "data is encoded more often than honest data is",
        ),
        Limit::Views => (
            Reason::DecodedViews,
            "many_encodings",
            Severity::Low,
            Level::Note,
            "there are more encoded parts than may be decoded",
        ),
        Limit::Bomb => (
            Reason::Bomb,
            "decompression_bomb",
            Severity::High,
            Level::Block,
            "compressed data grows out of all proportion",
        ),
    };
    let mut detection = unread(rule, span, via, text);
    (detection.severity, detection.level) = (severity, level);
    (reason, detection)
}

fn opaque(bytes: usize, span: Range<usize>, via: &[Coding]) -> Detection {
    let mut detection = unread("opaque_blob", span, via, "data in no coding that is known");
    detection.sample = Masked::from_safe(format!("*** ({bytes} bytes)"));
    detection
}

fn unread(
    rule: &'static str,
    span: Range<usize>,
    via: &[Coding],
    reason: &'static str,
) -> Detection {
    Detection {
        rule: Cow::Borrowed(rule),
        kind: Cow::Borrowed(rule),
        category: Category::Opaque,
        severity: Severity::Info,
        confidence: 90,
        level: Level::Note,
        sample: Masked::from_safe(format!("*** ({} bytes)", span.len())),
        span,
        via: names(via),
        reason: Masked::from_safe(reason),
        tags: &[],
    }
}

#[cfg(test)]
mod tests;
