//! Characters and markup that a person does not see but a model reads.
//!
//! Structure only: what the hidden text says is for `hostile` to judge, from [`views`]. Honest uses
//! (emoji, scripts that need joiners, text that runs right to left) do not count.

mod escape;
mod markup;
mod mixed;
mod script;
mod smuggle;
mod space;
mod walk;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use mcpproxy_core::{Masked, Severity};

use crate::audience::Audience;
use crate::detection::{Category, Detection, Level, Scan};
use crate::makeup::Makeup;
use crate::shown::{escaped, shown};
pub(crate) use escape::Effect;
use markup::Trick;
pub(crate) use markup::comments;
pub(crate) use mixed::disguise;
pub(crate) use walk::{Kind, Unseen, walk};

/// The most detections of one kind in one text; beyond it the last one grows.
const MOST: usize = 64;

/// Tags of what hides in a descriptor or a result.
const TAGS: &[&str] = &["MCP03", "MCP06", "ASI01", "AML.T0110"];

/// The scanner for hidden text.
#[derive(Clone, Copy, Debug)]
pub struct Hidden {
    audience: Audience,
}

impl Hidden {
    /// Makes a scanner for texts of `audience`.
    pub fn new(audience: Audience) -> Self {
        Self { audience }
    }
}

impl Scan for Hidden {
    fn may_see(&self, makeup: Makeup) -> bool {
        makeup.has(Makeup::ODD | Makeup::MARKUP) || makeup.length() > space::STRIDE
    }

    fn scan(&self, text: &str, out: &mut Vec<Detection>) {
        let mut tally = Tally::new(out);
        for Unseen { span, kind } in walk(text) {
            let level = self.level(text, &span, &kind);
            let (rule, reason) = describe(&kind);
            tally.add(rule, reason, level, span.clone(), || {
                sample(text, &span, &kind)
            });
        }
        for span in mixed::words(text) {
            let reason = "a word mixes letters of several scripts so that it reads as another";
            let word = text.get(span.clone()).unwrap_or_default();
            tally.add(
                "homoglyph",
                reason,
                self.authored(Level::Warn),
                span,
                || shown(word),
            );
        }
        for place in markup::places(text) {
            let (rule, reason) = describe_trick(place.kind);
            let content = text.get(place.span.clone()).unwrap_or_default();
            let level = self.trick_level(place.kind, content);
            tally.add(rule, reason, level, place.span, || shown(content));
        }
        for span in space::gaps(text) {
            let reason = "blanks push the text behind them out of view";
            let length = span.len();
            let sample = || Masked::from_safe(format!("{length} blanks, then text"));
            tally.add(
                "off_screen",
                reason,
                self.authored(Level::Warn),
                span,
                sample,
            );
        }
    }
}

impl Hidden {
    /// The level in a text that an upstream's author wrote; elsewhere it is only noted.
    fn authored(self, level: Level) -> Level {
        if self.audience.is_authored() {
            level
        } else {
            Level::Note
        }
    }

    fn level(self, text: &str, span: &Range<usize>, kind: &Kind) -> Level {
        match kind {
            Kind::Tags(spelled) | Kind::Selectors(spelled) if spelled.len() >= 3 => Level::Block,
            Kind::Tags(_) | Kind::Selectors(_) => Level::Warn,
            _ if is_damning(text, span, kind) => self.authored(Level::Block).max(Level::Warn),
            Kind::Escape(_) => self.authored(Level::Block),
            Kind::Control('\u{c}') | Kind::Mark | Kind::Direction(true) => Level::Note,
            Kind::Control(_)
            | Kind::SoftHyphen
            | Kind::Filler
            | Kind::Private
            | Kind::ZeroWidth
            | Kind::Override
            | Kind::Direction(false) => self.authored(Level::Warn),
        }
    }

    fn trick_level(self, trick: Trick, content: &str) -> Level {
        match trick {
            Trick::Comment if !speaks(content) => Level::Note,
            Trick::Beacon => Level::Warn,
            Trick::Comment
            | Trick::Invisible
            | Trick::ActiveUrl
            | Trick::FalseLink
            | Trick::LongTitle => self.authored(Level::Warn),
        }
    }
}

/// Whether there is no honest use, in data either: it hides, rewrites or splits what is read.
fn is_damning(text: &str, span: &Range<usize>, kind: &Kind) -> bool {
    match kind {
        Kind::Override | Kind::Escape(Effect::Conceal) | Kind::Control('\u{8}') => true,
        Kind::Escape(Effect::Command) => span.len() > 6,
        Kind::ZeroWidth => splits_a_word(text, span) || span.len() >= 24,
        _ => false,
    }
}

/// Whether a comment speaks to somebody, rather than being a note of the author or a switch.
fn speaks(content: &str) -> bool {
    const TO_SOMEBODY: &[&str] = &[
        "you",
        "your",
        "must",
        "always",
        "never",
        "ignore",
        "send",
        "read",
        "include",
        "not",
        "assistant",
        "ai",
        "model",
        "system",
        "secret",
        "tool",
        "tools",
        "call",
        "user",
        "please",
        "before",
        "execute",
        "instruction",
        "instructions",
        "password",
        "override",
    ];
    let words = content.split(|letter: char| !letter.is_alphanumeric());
    words
        .map(str::to_ascii_lowercase)
        .any(|word| TO_SOMEBODY.contains(&word.as_str()))
}

/// A text that hidden characters carry, to be scanned like any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Where its carrier stands in the given text.
    pub span: Range<usize>,
    /// How it was hidden, for [`Detection::via`].
    pub via: Cow<'static, str>,
    /// The text itself. Hostile: never printed as it is.
    pub text: String,
}

/// Returns the texts that tag characters and variation selectors spell.
pub fn views(text: &str) -> Vec<View> {
    let spelled = walk(text)
        .into_iter()
        .filter_map(|unseen| match unseen.kind {
            Kind::Tags(spelled) => Some((unseen.span, "tags", spelled)),
            Kind::Selectors(spelled) => Some((unseen.span, "selectors", spelled)),
            _ => None,
        });
    let views = spelled
        .filter(|(_, _, text)| text.len() >= 3)
        .map(|(span, via, text)| View {
            span,
            via: Cow::Borrowed(via),
            text,
        });
    views.collect()
}

/// Whether the run stands between two ASCII letters, where no script needs it.
fn splits_a_word(text: &str, span: &Range<usize>) -> bool {
    let letter = |at: Option<usize>| {
        at.and_then(|at| text.as_bytes().get(at))
            .is_some_and(u8::is_ascii_alphabetic)
    };
    letter(span.start.checked_sub(1)) && letter(Some(span.end))
}

fn describe(kind: &Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Escape(Effect::Style) => ("ansi_style", "a terminal escape changes how text looks"),
        Kind::Escape(Effect::Conceal) => ("ansi_conceal", "a terminal escape hides text"),
        Kind::Escape(Effect::Move) => ("ansi_move", "a terminal escape paints over text"),
        Kind::Escape(Effect::Command) => {
            ("ansi_command", "a terminal escape commands the terminal")
        }
        Kind::Escape(Effect::Lone) => (
            "ansi_lone",
            "an introducer of terminal escapes stands alone",
        ),
        Kind::Control(_) => ("control", "a control character that prints nothing"),
        Kind::ZeroWidth => (
            "zero_width",
            "characters without width where no script needs them",
        ),
        Kind::Override => (
            "bidi_override",
            "text is shown in another order than it is read",
        ),
        Kind::Direction(_) => ("bidi_mark", "a mark that steers the direction of text"),
        Kind::Tags(_) => (
            "tag_smuggling",
            "tag characters spell a text that nobody sees",
        ),
        Kind::Selectors(_) => (
            "selector_smuggling",
            "variation selectors carry bytes that nobody sees",
        ),
        Kind::SoftHyphen => ("soft_hyphen", "a character that shows only at a line's end"),
        Kind::Filler => ("filler", "a letter that is blank"),
        Kind::Private => ("private_use", "a character without an agreed meaning"),
        Kind::Mark => ("byte_order_mark", "a byte order mark begins the text"),
    }
}

fn describe_trick(trick: Trick) -> (&'static str, &'static str) {
    match trick {
        Trick::Comment => ("hidden_comment", "a comment that is not shown"),
        Trick::Invisible => ("hidden_element", "a style makes an element invisible"),
        Trick::Beacon => ("image_beacon", "an image's address has a slot for data"),
        Trick::ActiveUrl => (
            "active_url",
            "an address that is itself a document or a program",
        ),
        Trick::FalseLink => (
            "false_link",
            "a link shows another address than it leads to",
        ),
        Trick::LongTitle => (
            "link_title",
            "a link's title holds a text that is not shown",
        ),
    }
}

/// What was hidden, printable: the spelled text, the escape, or the code points.
fn sample(text: &str, span: &Range<usize>, kind: &Kind) -> Masked {
    let raw = text.get(span.clone()).unwrap_or_default();
    match kind {
        Kind::Tags(spelled) | Kind::Selectors(spelled) => {
            Masked::from_safe(format!("spells `{}`", escaped(spelled)))
        }
        Kind::Escape(_) => shown(raw),
        _ => {
            let first = raw.chars().next().map_or(0, u32::from);
            Masked::from_safe(format!("U+{first:04X} x{}", raw.chars().count()))
        }
    }
}

fn detection(
    rule: &'static str,
    reason: &'static str,
    level: Level,
    span: Range<usize>,
    sample: Masked,
) -> Detection {
    let (severity, confidence) = match level {
        Level::Note => (Severity::Low, 50),
        Level::Warn => (Severity::High, 90),
        Level::Block => (Severity::Critical, 99),
    };
    Detection {
        rule: Cow::Borrowed(rule),
        kind: Cow::Borrowed(rule),
        category: Category::HiddenText,
        severity,
        confidence,
        level,
        span,
        via: Vec::new(),
        reason: Masked::from_safe(reason),
        sample,
        tags: TAGS,
    }
}

/// Adds detections, at most so many of each rule: then the last one grows.
struct Tally<'a> {
    out: &'a mut Vec<Detection>,
    /// How many there are of a rule, and where the last one stands.
    counts: BTreeMap<&'static str, (usize, usize)>,
}

impl<'a> Tally<'a> {
    fn new(out: &'a mut Vec<Detection>) -> Self {
        let counts = BTreeMap::new();
        Self { out, counts }
    }

    fn add(
        &mut self,
        rule: &'static str,
        reason: &'static str,
        level: Level,
        span: Range<usize>,
        sample: impl FnOnce() -> Masked,
    ) {
        let (count, last) = self.counts.entry(rule).or_insert((0, 0));
        *count += 1;
        if *count <= MOST {
            *last = self.out.len();
            self.out
                .push(detection(rule, reason, level, span, sample()));
        } else if let Some(last) = self.out.get_mut(*last) {
            last.span.end = last.span.end.max(span.end);
            last.level = last.level.max(level);
        }
    }
}

/// The rule that reports a kind of unseen character.
pub(crate) fn name(kind: &Kind) -> &'static str {
    describe(kind).0
}
