//! What HTML and Markdown keep from a reader: comments, elements without a picture, images that
//! carry data away, links that say one place and lead to another.

use std::ops::Range;

use memchr::{memchr, memchr2, memchr2_iter, memmem};

/// One hidden place in markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where it stands.
    pub(crate) span: Range<usize>,
    /// What it is.
    pub(crate) kind: Trick,
}

/// How markup hides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trick {
    /// A comment of HTML or Markdown.
    Comment,
    /// An element that its style makes invisible.
    Invisible,
    /// An image whose address has a slot for data.
    Beacon,
    /// An address that is itself a document or a program.
    ActiveUrl,
    /// A link that shows the address of another place.
    FalseLink,
    /// A link's title that is long enough to hold orders.
    LongTitle,
}

/// The most bytes of a tag or a link that are looked at.
const REACH: usize = 600;

/// The longest text of a link.
const LABEL: usize = 200;

/// Finds the hidden places of `text`, in order of their end.
pub(crate) fn places(text: &str) -> Vec<Place> {
    let mut found = Vec::new();
    let mut reader = Reader {
        text,
        resume: 0,
        comments_end: true,
        unclosed: 0,
    };
    for at in memchr2_iter(b'<', b']', text.as_bytes()) {
        if at >= reader.resume
            && let Some(place) = reader.read(at)
        {
            found.push(place);
        }
    }
    found
}

/// What is known of the text so far, so that no byte is searched twice for the same end.
struct Reader<'a> {
    text: &'a str,
    /// Nothing before this place is of interest.
    resume: usize,
    /// Whether a comment that begins here can still have an end.
    comments_end: bool,
    /// No link that begins before this place has an end.
    unclosed: usize,
}

impl Reader<'_> {
    fn read(&mut self, at: usize) -> Option<Place> {
        let rest = self.text.get(at..)?;
        if let Some(body) = rest.strip_prefix("<!--") {
            let end = self
                .comments_end
                .then(|| memmem::find(body.as_bytes(), b"-->"))
                .flatten();
            self.comments_end = end.is_some();
            self.resume = at + end? + 7;
            let kind = Trick::Comment;
            return Some(Place {
                span: at..self.resume,
                kind,
            });
        }
        if rest.starts_with('<') {
            let (length, kind) = element(rest)?;
            return Some(Place {
                span: at..at + length,
                kind,
            });
        }
        if !matches!(rest.as_bytes().get(1), Some(b'(' | b':')) {
            return None;
        }
        let start = link_start(self.text, at)?;
        if rest.starts_with("]:") && begins_line(self.text, start) {
            let label = self.text.get(start..at)?;
            let (length, kind) = definition(label, rest)?;
            self.resume = at + length;
            return Some(Place {
                span: start..at + length,
                kind,
            });
        }
        let (length, kind) = self.link(start, at)?;
        Some(Place {
            span: start..at + length,
            kind,
        })
    }

    /// Judges a Markdown link whose text stands from `start` to `at`.
    fn link(&mut self, start: usize, at: usize) -> Option<(usize, Trick)> {
        let inner = self.text.get(at..)?.strip_prefix("](")?;
        if at < self.unclosed {
            return None;
        }
        let reach = inner.get(..floor(inner, REACH)).unwrap_or_default();
        let Some(end) = memchr2(b')', b'\n', reach.as_bytes()) else {
            self.unclosed = at + reach.len();
            return None;
        };
        let kind = link_trick(self.text.get(start..at)?, reach.get(..end)?.trim())?;
        Some((end + 3, kind))
    }
}

/// Finds every comment that has an end: what `sanitize` removes.
pub(crate) fn comments(text: &str) -> Vec<Range<usize>> {
    places(text)
        .into_iter()
        .filter(|place| place.kind == Trick::Comment)
        .map(|place| place.span)
        .collect()
}

/// Judges the tag at the head of `rest`.
fn element(rest: &str) -> Option<(usize, Trick)> {
    let head = rest.as_bytes().get(1)?;
    if !head.is_ascii_alphabetic() {
        return None;
    }
    let tag = tag(rest)?;
    // Everything of interest is an attribute.
    memchr(b'=', tag.as_bytes())?;
    let flat = flat(tag);
    if is_invisible(&flat) {
        return Some((tag.len(), Trick::Invisible));
    }
    let address = flat.split_once("src=").map_or("", |(_, address)| address);
    if flat.starts_with("<img") && has_slot(address) {
        return Some((tag.len(), Trick::Beacon));
    }
    if [
        "=\"javascript:",
        "=javascript:",
        "=\"data:text/html",
        "srcdoc=",
    ]
    .iter()
    .any(|start| flat.contains(start))
    {
        return Some((tag.len(), Trick::ActiveUrl));
    }
    None
}

/// The tag at the head of `rest`, its brackets included.
fn tag(rest: &str) -> Option<&str> {
    let bytes = rest.as_bytes();
    let reach = bytes.get(1..REACH.min(bytes.len()))?;
    let end = memchr2(b'>', b'<', reach)?;
    (reach.get(end) == Some(&b'>'))
        .then(|| rest.get(..end + 2))
        .flatten()
}

/// A tag in lower case without blanks, so that one spelling stands for all.
fn flat(tag: &str) -> String {
    let plain = tag.chars().filter(|letter| !letter.is_whitespace());
    plain
        .map(|letter| {
            if letter == '\'' {
                '"'
            } else {
                letter.to_ascii_lowercase()
            }
        })
        .collect()
}

/// Whether a style leaves nothing to see.
fn is_invisible(flat: &str) -> bool {
    const NOTHING: &[&str] = &[
        "display:none",
        "visibility:hidden",
        "font-size:0",
        "opacity:0",
        "color:transparent",
        "text-indent:-",
        "left:-9",
        "height:0;overflow:hidden",
        "width:0;overflow:hidden",
    ];
    let Some((_, style)) = flat.split_once("style=\"") else {
        return false;
    };
    let style = style.split('"').next().unwrap_or_default();
    NOTHING.iter().any(|rule| names(style, rule)) || one_colour(style)
}

/// Whether `style` has `rule`, and no fraction follows that would make it visible again.
fn names(style: &str, rule: &str) -> bool {
    style.match_indices(rule).any(|(at, _)| {
        let rest = style.get(at + rule.len()..).unwrap_or_default();
        let visible = rest.starts_with('.') && !rest.starts_with(".0;") && rest != ".0";
        let longer = rule.ends_with('0') && rest.starts_with(|next: char| next.is_ascii_digit());
        !(visible || longer)
    })
}

/// Whether letters and ground have one colour; white letters count, since pages are white.
fn one_colour(style: &str) -> bool {
    let mut front = None;
    let mut behind = None;
    for rule in style.split(';') {
        match rule.split_once(':') {
            Some(("color", colour)) => front = Some(colour),
            Some(("background" | "background-color", colour)) => behind = Some(colour),
            _ => {}
        }
    }
    let white = |colour| matches!(colour, "white" | "#fff" | "#ffffff" | "rgb(255,255,255)");
    match (front, behind) {
        (Some(front), Some(behind)) => front == behind || (white(front) && white(behind)),
        (Some(front), None) => white(front),
        _ => false,
    }
}

/// Judges a link by its text, brackets and all, and its target.
fn link_trick(label: &str, target: &str) -> Option<Trick> {
    let lower = target.to_ascii_lowercase();
    let text = label.trim_start_matches(['!', '[']);
    if label.starts_with('!') && has_slot(&lower) {
        Some(Trick::Beacon)
    } else if is_active(&lower) {
        Some(Trick::ActiveUrl)
    } else if host(text).is_some_and(|shown| host(&lower).is_some_and(|real| !kin(shown, real))) {
        Some(Trick::FalseLink)
    } else {
        title(target)
            .is_some_and(is_long)
            .then_some(Trick::LongTitle)
    }
}

/// Judges `[label]: ...` at the beginning of a line: a comment in disguise, or a title that holds
/// a text. `rest` begins at the closing bracket.
fn definition(label: &str, rest: &str) -> Option<(usize, Trick)> {
    if label.starts_with("[^") {
        // A footnote is shown.
        return None;
    }
    let line = rest.lines().next()?;
    let body = line.get(2..)?.trim_start();
    let nowhere = body.starts_with('#') || body.starts_with("<>");
    let named = label == "[//" || label == "[comment";
    if nowhere && (named || body.contains(['(', '"', '\''])) {
        return Some((line.len(), Trick::Comment));
    }
    title(body)
        .is_some_and(is_long)
        .then_some((line.len(), Trick::LongTitle))
}

/// Where the link whose text ends at `at` begins; it is looked for on the same line only.
fn link_start(text: &str, at: usize) -> Option<usize> {
    let from = floor(text, at.saturating_sub(LABEL));
    let head = text.get(from..at)?;
    let open = head
        .rfind(['[', '\n'])
        .filter(|&open| head.as_bytes().get(open) == Some(&b'['))?;
    let image = head.get(..open)?.ends_with('!');
    Some(from + open - usize::from(image))
}

fn begins_line(text: &str, at: usize) -> bool {
    let head = text.get(..at).unwrap_or_default();
    let before = head.trim_end_matches(' ');
    head.len() - before.len() <= 3 && (before.is_empty() || before.ends_with('\n'))
}

/// Whether an address on the network has a slot that somebody is to fill with data.
fn has_slot(address: &str) -> bool {
    let address = address.trim_start_matches('"');
    let remote = ["http://", "https://", "//"]
        .iter()
        .any(|scheme| address.starts_with(scheme));
    let Some((_, query)) = address.split_once('?') else {
        return false;
    };
    let filled = [
        "={", "=[", "=<", "=$", "=%s", "=%7b", "=data", "=secret", "=your_", "=...",
    ];
    remote && filled.iter().any(|slot| query.contains(slot))
}

/// Whether an address runs or renders something by itself.
fn is_active(address: &str) -> bool {
    [
        "javascript:",
        "vbscript:",
        "data:text/html",
        "data:text/javascript",
        "data:image/svg+xml;base64",
        "data:application/",
    ]
    .iter()
    .any(|scheme| address.starts_with(scheme))
}

fn title(target: &str) -> Option<&str> {
    let (_, title) = target.split_once([' ', '\t'])?;
    Some(title.trim().trim_matches(['"', '\'', '(', ')']))
}

fn is_long(title: &str) -> bool {
    title.len() > 60 && title.split_whitespace().count() >= 10
}

/// The host that a text shows, if the whole text is an address.
fn host(shown: &str) -> Option<&str> {
    let shown = shown.trim();
    let rest = shown
        .strip_prefix("https://")
        .or_else(|| shown.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#', ' ', ':']).next()?;
    host.contains('.').then_some(host)
}

/// Whether two hosts belong together: one is the other or a part of it.
fn kin(one: &str, other: &str) -> bool {
    let base = |host: &str| {
        let mut labels: Vec<String> = host
            .rsplit('.')
            .take(2)
            .map(str::to_ascii_lowercase)
            .collect();
        labels.reverse();
        labels.join(".")
    };
    base(one) == base(other)
}

/// The nearest boundary of characters at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_that_hides_is_found_and_the_rest_is_left() {
        let check = |text: &str, expect: Option<Trick>| {
            let found = places(text);
            assert_eq!(
                found.first().map(|place| place.kind),
                expect,
                "{text} {found:?}"
            );
        };
        check("a <!-- read the keys first --> b", Some(Trick::Comment));
        check("a <!-- open", None);
        check("[//]: # (send it to me)", Some(Trick::Comment));
        check("[comment]: <> (hidden words)", Some(Trick::Comment));
        check(
            "<span style='display: none'>x</span>",
            Some(Trick::Invisible),
        );
        check("<p style=\"font-size:0\">x</p>", Some(Trick::Invisible));
        check("<p style=\"font-size:0.8em\">x</p>", None);
        check("<p style=\"opacity: 0.5\">x</p>", None);
        check(
            "<p style=\"color:#fff;background:#fff\">x</p>",
            Some(Trick::Invisible),
        );
        check("<p style=\"color:#fff;background:#000\">x</p>", None);
        check(
            "![x](https://a.example/p.png?d={data})",
            Some(Trick::Beacon),
        );
        check("![x](https://a.example/p.svg?branch=main)", None);
        check(
            "<img src=\"https://a.example/p?q=[conversation]\">",
            Some(Trick::Beacon),
        );
        check("[x](javascript:alert)", Some(Trick::ActiveUrl));
        check(
            "[https://good.example.org](https://evil.test/x)",
            Some(Trick::FalseLink),
        );
        check("[https://example.org](https://docs.example.org/x)", None);
        check("[docs](https://example.org/a \"The docs\")", None);
        check("if a < b and c > d then x[1] = y", None);
        check(
            "[^1]: A footnote may well be longer than sixty letters and is shown to whoever reads it",
            None,
        );
        check("[ref]: https://example.org \"Example\"", None);
        check("Vec<String>, <path>, <your name>", None);
    }
}
