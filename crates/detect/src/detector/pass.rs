//! One message on its way through the scanners: leaf by leaf, and what is encoded in each, within
//! the bounds of the settings.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{ControlFlow, Range};

use mcpproxy_core::Severity;
use mcpproxy_text::decode::{self, Budget, View, Views};
use mcpproxy_text::{LeafKind, Visit, visit};

use super::hiding;
use super::memo::{Memo, Memos};
use super::unread::{bound, names, opaque};
use super::{Context, Detector, Direction};
use crate::audience::Audience;
use crate::detection::{Category, Detection, Scan};
use crate::hidden::Hidden;
use crate::hostile::About;
use crate::makeup::Makeup;
use crate::merge::merge;
use crate::report::{Found, Reason, Report};

/// Detections of one sort that are told. Each sort is bounded by itself, so that many mail addresses do
/// not hide a secret. What is read is bounded by its size, so that reading goes on.
pub(super) const MOST: usize = 10_000;
/// Sorts of detections.
const SORTS: usize = 6;
/// Smallest unreadable blob that is worth a note, in bytes.
const BLOB: usize = 48;

/// Shortest text that can have something encoded in it.
const SHORTEST_CODED: usize = 8;

/// One message on its way through the scanners.
pub(super) struct Pass<'a> {
    detector: &'a Detector,
    context: Context<'a>,
    /// Bytes that may still be scanned.
    room: usize,
    budget: Budget,
    /// What was seen in the leaf so far, and in the view that is scanned.
    scratch: Vec<Detection>,
    inner: Vec<Detection>,
    /// Detections that were told, of each sort.
    told: [usize; SORTS],
    pub(super) report: Report,
}

impl<'a> Pass<'a> {
    pub(super) fn new(detector: &'a Detector, context: Context<'a>) -> Self {
        let kilobytes = detector.settings.max_payload_size_kb;
        let kilobytes = usize::try_from(kilobytes).unwrap_or(usize::MAX);
        Self {
            detector,
            context,
            room: kilobytes.saturating_mul(1024),
            budget: detector.budget,
            scratch: Vec::new(),
            inner: Vec::new(),
            told: [0; SORTS],
            report: Report::default(),
        }
    }

    /// Tells whether this direction is scanned, and notes it if not.
    pub(super) fn is_on(&mut self, bytes: usize) -> bool {
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

    /// Scans every leaf of a message that is strict JSON.
    pub(super) fn message(&mut self, raw: &str) {
        // What is clean for one reader is not for another; answers are read by one sort of them.
        let memos = match self.context.audience {
            None => Some(&self.detector.memos),
            Some(audience) if audience.is_authored() => None,
            Some(_) => Some(&self.detector.answer_memos),
        };
        let memo = memos.map(Memos::take);
        let mut memo = memo.unwrap_or_else(|| Box::new(Memo::new()));
        visit(raw, |leaf| {
            self.visited(leaf, &mut memo);
            ControlFlow::Continue(())
        });
        if let Some(memos) = memos {
            memos.keep(memo);
        }
    }

    /// Scans one leaf, unless the same text was clean before.
    fn visited(&mut self, leaf: Visit<'_, '_>, memo: &mut Memo) {
        let name = match leaf.kind {
            LeafKind::Text | LeafKind::Number => leaf.path.name().unwrap_or_default(),
            LeafKind::Key => Cow::Borrowed(""),
        };
        let (name, text) = (&*name, &*leaf.text);
        let heeds = || {
            let mut scanners = self.detector.scanners.iter();
            scanners.any(|scanner| scanner.heeds(name))
        };
        let Some(known) = Memo::of(name, text) else {
            let name = memo.heeds(name, heeds).then_some(name);
            self.leaf(text, leaf.span, &leaf.path, name);
            return;
        };
        if text.len() <= self.room && memo.is_clean(known) {
            self.room -= text.len();
            self.report.coverage.scanned += text.len();
            return;
        }
        let name = memo.heeds(name, heeds).then_some(name);
        let (unscanned, budget) = (self.report.coverage.unscanned, self.budget);
        let seen = self.report.detections.len();
        let full = self.told.contains(&MOST);
        self.leaf(text, leaf.span, &leaf.path, name);
        // An allow list looks at places too, so what it let pass here says nothing of elsewhere. What
        // is not told for want of room is seen all the same.
        let nothing = seen == self.report.detections.len() && !full;
        let clean = nothing && self.detector.allow.is_empty();
        if clean && unscanned == self.report.coverage.unscanned && budget == self.budget {
            memo.keep_clean(known);
        }
    }

    /// Scans one leaf and what is encoded in it; `name` is that of its field, if it is heeded.
    pub(super) fn leaf(
        &mut self,
        text: &str,
        leaf: Range<usize>,
        path: &dyn fmt::Display,
        name: Option<&str>,
    ) {
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
            return;
        }
        self.plain(text, path, name);
        // A short word has nothing encoded in it.
        if text.len() >= SHORTEST_CODED {
            self.views(text, path);
        }
        if self.scratch.is_empty() {
            return;
        }
        merge(&mut self.scratch);
        self.keep(&leaf, path);
    }

    fn plain(&mut self, text: &str, path: &dyn fmt::Display, name: Option<&str>) {
        let makeup = Makeup::of(text);
        for scanner in &self.detector.scanners {
            if scanner.may_see(makeup) {
                scanner.scan(text, &mut self.scratch);
            }
            if let Some(name) = name {
                scanner.scan_keyed(name, text, &mut self.scratch);
            }
        }
        if let Some(hidden) = self.context.audience.map(Hidden::new)
            && hidden.may_see(makeup)
        {
            hidden.scan(text, &mut self.scratch);
        }
        self.detector
            .orders(text, makeup, self.context, &mut self.scratch);
        self.out_of_sight(text);
        if self.scratch.is_empty() {
            return;
        }
        self.detector
            .sift(&mut self.scratch, text, path, self.context.tool);
        merge(&mut self.scratch);
    }

    /// Adds the orders of those parts of an answer that hide.
    fn out_of_sight(&mut self, text: &str) {
        let Some(audience) = self.context.audience else {
            return;
        };
        let data = !audience.is_authored();
        let hidden = data.then(|| hiding::unseen(&self.scratch, text));
        for span in hidden.into_iter().flatten() {
            let from = self.scratch.len();
            self.part(text, span, Audience::Instructions, "comment");
            hiding::confirm(self.scratch.get_mut(from..).unwrap_or_default());
        }
        if (data || audience == Audience::Prompt)
            && let Some(span) = hiding::forged_turn(text)
        {
            self.part(text, span, Audience::Instructions, "forged_turn");
        }
    }

    /// Adds the orders of a part of the leaf, read as for an audience.
    fn part(&mut self, text: &str, span: Range<usize>, audience: Audience, via: &'static str) {
        let part = text.get(span.clone()).unwrap_or_default();
        let context = Context {
            audience: Some(audience),
            about: About::default(),
            ..self.context
        };
        let from = self.scratch.len();
        self.detector
            .orders(part, Makeup::of(part), context, &mut self.scratch);
        for act in self.scratch.iter_mut().skip(from) {
            act.span = span.start + act.span.start..span.start + act.span.end;
            act.via.insert(0, Cow::Borrowed(via));
        }
    }

    fn views(&mut self, text: &str, path: &dyn fmt::Display) {
        let plain = self.scratch.len();
        let found = decode::views(text, &mut self.budget);
        if found == Views::default() {
            return;
        }
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
        let makeup = Makeup::of(&view.text);
        for scanner in &self.detector.scanners {
            if scanner.may_see(makeup) {
                scanner.scan(&view.text, &mut self.inner);
            }
        }
        let given = self.context.audience;
        let audience = given.map(|given| hiding::audience_of(view, given));
        let context = Context {
            audience,
            ..self.context
        };
        self.detector
            .orders(&view.text, makeup, context, &mut self.inner);
        if self.inner.is_empty() {
            return;
        }
        if audience != given {
            hiding::temper(&mut self.inner);
        }
        self.detector
            .sift(&mut self.inner, &view.text, path, self.context.tool);
        merge(&mut self.inner);
        let known = self.scratch.get(..plain).unwrap_or_default();
        let known = within(known, &view.span).iter();
        let known: BTreeMap<_, _> = known
            .map(|d| ((&d.kind, d.sample.as_str()), d.confidence))
            .collect();
        self.inner.retain(|detection| {
            let known = known.get(&(&detection.kind, detection.sample.as_str()));
            known.is_none_or(|known| *known < detection.confidence)
        });
        for detection in &mut self.inner {
            detection.span = view.span.clone();
            detection.via = names(&view.via);
        }
        self.scratch.append(&mut self.inner);
    }

    /// Moves the detections of a leaf into the report, up to the bound.
    fn keep(&mut self, leaf: &Range<usize>, path: &dyn fmt::Display) {
        let mut untold = false;
        for detection in self.scratch.drain(..) {
            let told = self.told.get_mut(sort(&detection));
            let room = told.filter(|told| **told < MOST);
            if let Some(told) = room {
                *told += 1;
                self.report.detections.push(Found {
                    path: path.to_string(),
                    leaf: leaf.clone(),
                    detection,
                });
            } else {
                untold = true;
                let what = (detection.kind, detection.category);
                self.report.coverage.untold.insert(what);
            }
        }
        if untold {
            let coverage = &mut self.report.coverage;
            coverage.miss(|| path.to_string(), Reason::Detections);
        }
    }
}

/// The sort of a detection, of which so many are told: those of one sort weigh alike.
fn sort(detection: &Detection) -> usize {
    match detection.category {
        Category::CloudCredentials
        | Category::PrivateKey
        | Category::ApiToken
        | Category::AuthToken
        | Category::DatabaseCredential => 0,
        Category::CreditCard => 1,
        Category::Pii if detection.severity >= Severity::High => 1,
        Category::HiddenText | Category::HostileText => 2,
        Category::HighEntropy | Category::SensitiveFile => 3,
        Category::Pii | Category::Opaque => 4,
        Category::Custom => 5,
    }
}

/// Returns the detections, which are sorted by place, that start within a span.
fn within<'a>(sorted: &'a [Detection], span: &Range<usize>) -> &'a [Detection] {
    let from = sorted.partition_point(|detection| detection.span.start < span.start);
    let to = sorted.partition_point(|detection| detection.span.start < span.end);
    sorted.get(from..to).unwrap_or_default()
}
