//! From a text to all its views: find, decode, unpack, and again in what came out.

use std::ops::Range;

use super::inflate::{End, inflate, unzip};
use super::plausible::{self, PEEK};
use super::{Budget, Coding, Limit, Opaque, Run, Stop, View, Views, decode, find};

/// Decodes what looks encoded in `text`, and what looks encoded in that, within `budget`.
pub fn views(text: &str, budget: &mut Budget) -> Views {
    let mut walk = Walk {
        budget,
        out: Views::default(),
    };
    walk.text(text, None, &[]);
    let mut next = 0;
    // The list of views is the list of what is still to be looked into.
    while let Some(view) = walk.out.views.get_mut(next) {
        let text = std::mem::take(&mut view.text);
        let (span, via) = (view.span.clone(), view.via.clone());
        walk.text(&text, Some(&span), &via);
        if let Some(view) = walk.out.views.get_mut(next) {
            view.text = text;
        }
        next += 1;
    }
    walk.out
}

struct Walk<'a> {
    budget: &'a mut Budget,
    out: Views,
}

impl Walk<'_> {
    /// Looks into a text that stands in `outer`, or is the text that was given.
    fn text(&mut self, text: &str, outer: Option<&Range<usize>>, via: &[Coding]) {
        let found = find(text);
        for opaque in found.opaque {
            if opaque.media.is_some()
                && let [coding] = *opaque.via
            {
                // An image has room for words: comments, names of programs, keys.
                let span = opaque.span.clone();
                let bytes = decode(text, &Run { span, coding }).unwrap_or_default();
                let span = outer.unwrap_or(&opaque.span);
                self.strings(&bytes, span, &[via, &[coding]].concat());
            }
            let span = outer.cloned().unwrap_or(opaque.span);
            let via = [via, &opaque.via].concat();
            self.out.opaque.push(Opaque {
                span,
                via,
                ..opaque
            });
        }
        let back = |run: &Run| {
            let mirrors = matches!(run.coding, Coding::Rot13 | Coding::Reversed);
            mirrors && via.last() == Some(&run.coding)
        };
        // What was turned round is not turned back, to the text that was looked into before.
        for run in found.runs.into_iter().filter(|run| !back(run)) {
            let span = outer.cloned().unwrap_or_else(|| run.span.clone());
            self.run(text, &run, span, via);
        }
    }

    fn run(&mut self, text: &str, run: &Run, span: Range<usize>, via: &[Coding]) {
        if via.len() >= self.budget.depth {
            return self.stop(span, via, Limit::Depth);
        }
        if run.span.len() > self.budget.bytes {
            return self.stop(span, via, Limit::Bytes);
        }
        if let Some(bytes) = decode(text, run) {
            let via = [via, &[run.coding]].concat();
            self.bytes(bytes, span, via);
        }
    }

    /// Takes what came out of a run or a container: more containers, text, or nothing known.
    fn bytes(&mut self, bytes: Vec<u8>, span: Range<usize>, mut via: Vec<Coding>) {
        if bytes.len() > self.budget.bytes {
            return self.stop(span, &via, Limit::Bytes);
        }
        self.budget.bytes -= bytes.len();
        // Two letters of plain text can look like the header of a stream.
        let container = plausible::container(&bytes).filter(|_| !plausible::is_clean(&bytes));
        match container {
            Some(Coding::Zip) => return self.archive(&bytes, span, via),
            Some(coding) => match self.packed(coding, bytes, &span, &via) {
                Ok(()) => return,
                Err(bytes) => return self.plain(bytes, span, via),
            },
            None => {}
        }
        if let Some(text) = plausible::utf16(&bytes) {
            via.push(Coding::Utf16);
            return self.view(text, span, via);
        }
        self.plain(bytes, span, via);
    }

    fn plain(&mut self, bytes: Vec<u8>, span: Range<usize>, via: Vec<Coding>) {
        let bytes = if plausible::is_clean(&bytes) {
            bytes
        } else {
            match self.packed(Coding::Deflate, bytes, &span, &via) {
                Ok(()) => return,
                Err(bytes) => bytes,
            }
        };
        match plausible::text(bytes) {
            Ok(text) => self.view(text, span, via),
            Err(bytes) => {
                self.strings(&bytes, &span, &via);
                self.out.opaque.push(Opaque {
                    span,
                    via,
                    bytes: bytes.len(),
                    media: plausible::media(&bytes),
                });
            }
        }
    }

    /// Looks for what can be read in bytes that are no text.
    fn strings(&mut self, bytes: &[u8], span: &Range<usize>, via: &[Coding]) {
        if let Some(text) = plausible::strings(bytes, self.budget.bytes) {
            self.budget.bytes -= text.len();
            self.view(text, span.clone(), via.to_vec());
        }
    }

    /// Inflates a stream; gives the bytes back if they are none.
    fn packed(
        &mut self,
        coding: Coding,
        bytes: Vec<u8>,
        span: &Range<usize>,
        via: &[Coding],
    ) -> Result<(), Vec<u8>> {
        if via.len() >= self.budget.depth {
            // Whether bare bytes are a stream is known only by trying.
            if coding == Coding::Deflate {
                return Err(bytes);
            }
            self.stop(span.clone(), via, Limit::Depth);
            return Ok(());
        }
        let inflated = inflate(coding, &bytes, self.budget.bytes);
        let found = match coding {
            Coding::Deflate => {
                inflated.end != End::Broken
                    && inflated.bytes.len() >= PEEK
                    && inflated.used + 8 >= bytes.len()
            }
            _ => !inflated.bytes.is_empty(),
        };
        if !found {
            return Err(bytes);
        }
        let via = [via, &[coding]].concat();
        self.limited(inflated.end, span, &via);
        self.bytes(inflated.bytes, span.clone(), via);
        Ok(())
    }

    fn archive(&mut self, bytes: &[u8], span: Range<usize>, mut via: Vec<Coding>) {
        if via.len() >= self.budget.depth {
            return self.stop(span, &via, Limit::Depth);
        }
        via.push(Coding::Zip);
        for entry in unzip(bytes, self.budget.bytes) {
            self.limited(entry.end, &span, &via);
            if !entry.bytes.is_empty() {
                self.bytes(entry.bytes, span.clone(), via.clone());
            }
        }
    }

    fn limited(&mut self, end: End, span: &Range<usize>, via: &[Coding]) {
        match end {
            End::Whole | End::Broken => {}
            End::Full => self.stop(span.clone(), via, Limit::Bytes),
            End::Bomb => self.stop(span.clone(), via, Limit::Bomb),
        }
    }

    fn view(&mut self, text: String, span: Range<usize>, via: Vec<Coding>) {
        if self.budget.views == 0 {
            return self.stop(span, &via, Limit::Views);
        }
        self.budget.views -= 1;
        self.out.views.push(View { text, span, via });
    }

    /// Notes a bound once for each run that met it.
    fn stop(&mut self, span: Range<usize>, via: &[Coding], limit: Limit) {
        let known = self.out.stops.last();
        if known.is_some_and(|known| known.limit == limit && known.span == span) {
            return;
        }
        self.out.stops.push(Stop {
            span,
            via: via.to_vec(),
            limit,
        });
    }
}
