//! What stands between two brackets: members of a map or items of a list, taken out and put in by
//! byte spans.
//!
//! What a slot means is not known here, nor whether the result does.

use std::ops::Range;

use super::skip_trivia;
use crate::patch::Patches;
use crate::style::{Style, line_end, line_indent, line_start, next_line};
use crate::tree::{Node, Value};

/// The slots of one map or list.
pub(crate) struct Slots<'a> {
    text: &'a str,
    pub(crate) style: &'a Style,
    /// From the opening bracket to behind the closing one.
    whole: Range<usize>,
    spans: Vec<Range<usize>>,
}

impl<'a> Slots<'a> {
    /// Finds the slots of a map or list; anything else has none.
    pub(crate) fn of(text: &'a str, style: &'a Style, node: &Node) -> Self {
        let spans = match &node.value {
            Value::Map(members) => members
                .iter()
                .map(|member| member.key_span.start..member.value.span.end)
                .collect(),
            Value::List(items) => items.iter().map(|item| item.span.clone()).collect(),
            _ => Vec::new(),
        };
        Self {
            text,
            style,
            whole: node.span.clone(),
            spans,
        }
    }

    /// Replaces a slot. `entry` writes over several lines where it is given an indentation.
    pub(crate) fn replace(
        &self,
        slot: usize,
        entry: &dyn Fn(Option<&str>) -> String,
        patches: &mut Patches,
    ) {
        if let Some(span) = self.spans.get(slot) {
            patches.replace(span.clone(), self.written(entry));
        }
    }

    /// Puts an entry behind all others.
    pub(crate) fn append(&self, entry: &dyn Fn(Option<&str>) -> String, patches: &mut Patches) {
        let Some(last) = self.spans.last() else {
            return self.fill(entry, patches);
        };
        let entry = self.written(entry);
        let gap = if self.inline() {
            " ".to_owned()
        } else {
            format!("{}{}", self.style.newline, self.indent())
        };
        if let Some(comma) = self.comma(self.spans.len() - 1) {
            patches.replace(comma + 1..comma + 1, format!("{gap}{entry},"));
        } else {
            patches.replace(last.end..last.end, format!(",{gap}{entry}"));
        }
    }

    /// Takes out the slots whose flag is set.
    pub(crate) fn delete(&self, gone: &[bool], patches: &mut Patches) {
        let kept = (0..self.spans.len()).rfind(|slot| !is(gone, *slot));
        if kept.is_none() && !self.has_comments() {
            return patches.delete(self.inner());
        }
        for (slot, span) in self.spans.iter().enumerate() {
            if is(gone, slot) {
                self.delete_slot(span, self.comma(slot), patches);
            }
        }
        let last = self.spans.len().saturating_sub(1);
        let dangling = kept.filter(|kept| *kept != last && self.comma(last).is_none());
        if let Some(comma) = dangling.and_then(|kept| self.comma(kept)) {
            patches.delete(comma..comma + 1);
        }
    }

    /// Deletes a slot with its comma, and the whole line where nothing else is on it.
    fn delete_slot(&self, slot: &Range<usize>, comma: Option<usize>, patches: &mut Patches) {
        let start = slot.start;
        let mut end = slot.end;
        match comma {
            Some(comma) if self.is_blank(end..comma) => end = comma + 1,
            Some(comma) => patches.delete(comma..comma + 1),
            None => {}
        }
        let line = line_start(self.text, start)..line_end(self.text, end);
        let inner = self.inner();
        let inside = |at: usize| at.clamp(inner.start, inner.end);
        let line = inside(line.start)..inside(line.end);
        match (
            self.is_blank(line.start..start),
            self.is_blank(end..line.end),
        ) {
            (true, true) => patches.delete(line.start..inside(next_line(self.text, end))),
            (false, true) => patches.delete(self.blank_before(start)..line.end),
            _ => patches.delete(start..self.blank_after(end)),
        }
    }

    fn fill(&self, entry: &dyn Fn(Option<&str>) -> String, patches: &mut Patches) {
        let inner = self.inner();
        let newline = self.style.newline;
        let indent = self.indent();
        let entry = format!("{newline}{indent}{}", entry(Some(&indent)));
        if self.has_comments() {
            return patches.replace(inner.start..inner.start, entry);
        }
        let base = line_indent(self.text, self.whole.start);
        patches.replace(inner, format!("{entry}{newline}{base}"));
    }

    fn written(&self, entry: &dyn Fn(Option<&str>) -> String) -> String {
        if self.inline() {
            entry(None)
        } else {
            entry(Some(&self.indent()))
        }
    }

    /// Says whether the slots share one line.
    fn inline(&self) -> bool {
        !self.slice(self.whole.clone()).contains('\n') && !self.spans.is_empty()
    }

    fn indent(&self) -> String {
        let first = self.spans.first().map(|slot| slot.start);
        let own_line = first.filter(|at| self.is_blank(line_start(self.text, *at)..*at));
        let base = || line_indent(self.text, self.whole.start);
        own_line.map_or_else(
            || format!("{}{}", base(), self.style.unit),
            |at| line_indent(self.text, at).to_owned(),
        )
    }

    /// Returns where the comma behind a slot stands.
    fn comma(&self, slot: usize) -> Option<usize> {
        let end = self.spans.get(slot)?.end;
        let next = skip_trivia(self.text, end);
        (self.text.as_bytes().get(next) == Some(&b',')).then_some(next)
    }

    /// Says whether a comment stands between the slots.
    fn has_comments(&self) -> bool {
        let mut at = self.whole.start + 1;
        for slot in &self.spans {
            if self.slice(at..slot.start).contains('/') {
                return true;
            }
            at = slot.end;
        }
        self.slice(at..self.whole.end).contains('/')
    }

    fn inner(&self) -> Range<usize> {
        let start = self.whole.start + 1;
        start..self.whole.end.saturating_sub(1).max(start)
    }

    fn slice(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or_default()
    }

    fn is_blank(&self, span: Range<usize>) -> bool {
        self.slice(span)
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
    }

    fn blank_before(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.trim_end_matches([' ', '\t']).len()
    }

    fn blank_after(&self, at: usize) -> usize {
        let after = self.text.get(at..).unwrap_or_default();
        at + after.len() - after.trim_start_matches([' ', '\t']).len()
    }
}

fn is(flags: &[bool], at: usize) -> bool {
    flags.get(at).copied().unwrap_or(false)
}
