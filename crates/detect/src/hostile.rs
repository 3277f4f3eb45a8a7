//! Orders to the model in a text that it reads.
//!
//! Not phrases: an attack has to address the model, take something, send it somewhere, keep it from
//! the user, or push another tool aside. Each act is a pattern over ideas; acts that stand near each
//! other add up (see `verdict`). A person has to be able to write about attacks, so negations,
//! quotations and descriptions of defences do not count.

mod cue;
mod fold;
mod grammar;
mod hash;
mod ideas;
mod index;
mod letters;
mod lexicon;
mod mark;
mod respell;
mod rule;
mod sentence;
mod shape;
mod token;
mod tongue;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use mcpproxy_core::{Masked, Severity};

use crate::audience::Audience;
use crate::detection::{Category, Detection, Level, Scan};
use crate::error::DetectError;
use crate::shown::shown;
use crate::verdict::level_of;
use cue::{Cues, Lookout, Spots};
use fold::Folded;
use grammar::Grammar;
use lexicon::Lexicon;
use mark::Marks;
use respell::Respelled;
use shape::{Families, Family, Place, Shape};
use token::Reader;
use tongue::Tongues;

/// Which of a rule's weights counts.
const AUTHORED: usize = 0;
const DATA: usize = 1;

/// The most detections in one text; whoever needs more has seen enough.
const MOST: usize = 128;

/// The ways of doing an act, over ideas and literally.
const ACTS: &str = include_str!("../rules/hostile.acts");
const MARKS: &str = include_str!("../rules/hostile.marks");
const SIGNS: &str = include_str!("../rules/hostile.signs");

/// What the list of rules says of an act: its name, why it counts, tags, and the ways of doing it.
pub(crate) type Act = (String, &'static str, &'static [&'static str], Vec<String>);

/// The embedded rules, read when they are first needed: many commands never need them, and reading
/// them takes longer than all else at the start of a gateway, which has them read beside it.
static RULES: LazyLock<Result<Rules, DetectError>> = LazyLock::new(Rules::load);

/// The scanner for hostile text.
#[derive(Clone, Copy, Debug)]
pub struct Hostile {
    rules: &'static Rules,
    audience: Audience,
}

#[derive(Debug)]
struct Rules {
    lexicon: Lexicon,
    grammar: Grammar,
    paths: AhoCorasick,
    marks: Marks,
    shape: Shape,
    /// The words of all cues and the heads of all marks: where in data to look closer.
    cues: Cues,
    /// The same for other languages than English.
    tongues: Tongues,
    /// Where cues of English and of other languages in Latin letters may begin.
    lookout: Lookout,
}

/// One act in one sentence.
struct Hit<'a> {
    id: &'a str,
    weight: u8,
    span: Range<usize>,
}

impl Hostile {
    /// Returns the scanner with the embedded rules.
    pub fn new(audience: Audience) -> Result<Self, DetectError> {
        let rules = RULES.as_ref().map_err(Clone::clone)?;
        Ok(Self { rules, audience })
    }

    /// Lists the acts, each with the ways of doing it as they stand in the rule files.
    pub(crate) fn acts() -> Vec<Act> {
        let mut acts: Vec<Act> = Vec::new();
        let lists = [ACTS, tongue::PATTERNS, MARKS, SIGNS];
        let lines = lists.into_iter().flat_map(str::lines);
        for line in lines.map(str::trim).filter(|line| !line.starts_with('#')) {
            let act = match line.split_once(" : ") {
                Some((head, _)) => head.split(['.', ' ']).next(),
                None => line.split_whitespace().nth(2),
            };
            let Some(act) = act else {
                continue;
            };
            if let Some((.., ways)) = acts.iter_mut().find(|(name, ..)| name == act) {
                ways.push(line.to_owned());
                continue;
            }
            let (reason, tags) = describe(act);
            acts.push((act.to_owned(), reason, tags, vec![line.to_owned()]));
        }
        acts
    }

    /// Counts the patterns that are loaded, or says why they cannot be.
    pub fn patterns() -> Result<usize, DetectError> {
        RULES.as_ref().map_err(Clone::clone)?;
        Ok(Self::acts().iter().map(|(.., ways)| ways.len()).sum())
    }

    /// Adds what is seen in a text of an audience, with the same rules.
    pub(crate) fn scan_for(&self, audience: Audience, text: &str, out: &mut Vec<Detection>) {
        let folded = fold::fold(text);
        let hits = self.hits(audience, &folded.text);
        report(&hits, |span| folded.origin(span, text), text, &[], out);
        let known = |word: &str| self.rules.lexicon.knows(word);
        for view in respell::views(&folded.text, known) {
            // Nobody spells so but to hide, so that data is judged as what was written for a model.
            let new = self.respelled(audience, &view, &folded);
            let origin = |span| folded.origin(view.folded.origin(span, &folded.text), text);
            report(&new, origin, text, &["respelled"], out);
        }
    }

    /// What is said in words that are spelled oddly, and nowhere else.
    fn respelled(&self, audience: Audience, view: &Respelled, folded: &Folded<'_>) -> Vec<Hit<'_>> {
        let plain = self.weighed(audience, AUTHORED, &folded.text);
        let mut hits = self.weighed(audience, AUTHORED, &view.folded.text);
        hits.retain(|hit| {
            let span = view.folded.origin(hit.span.clone(), &folded.text);
            let said = |known: &Hit<'_>| {
                known.id == hit.id && known.span.start < span.end && span.start < known.span.end
            };
            view.holds(&hit.span) && !plain.iter().any(said)
        });
        hits
    }

    /// The acts in a folded text.
    fn hits(&self, audience: Audience, folded: &str) -> Vec<Hit<'_>> {
        let side = if audience.is_authored() {
            AUTHORED
        } else {
            DATA
        };
        self.weighed(audience, side, folded)
    }

    /// The acts in a folded text by the weights of a side. What was authored is read whole, data
    /// only where there is a cue.
    fn weighed(&self, audience: Audience, side: usize, folded: &str) -> Vec<Hit<'_>> {
        let Rules {
            paths,
            tongues,
            lookout,
            ..
        } = self.rules;
        if audience.is_authored() {
            let mut hits = self.rules.read_all(folded, side);
            tongues.read_all(folded, side, paths, &mut hits);
            hits
        } else {
            let spots = lookout.spots(folded);
            let mut hits = self.rules.read_cued(folded, &spots, side);
            tongues.read_cued(folded, &spots, side, paths, &mut hits);
            hits
        }
    }

    /// What a tool is about, from its names and from the sentence that says what it is for.
    pub(crate) fn about(&self, names: &str, params: &str, first: &str) -> About {
        About {
            families: self.rules.shape.about(names, params, first),
            place: Place::Whole,
            later: false,
        }
    }

    /// Halves what acts weigh that are a tool's own business: a vault reads credentials, and a first
    /// sentence says what the tool does. Whether somebody is told to do it is for the signs to say.
    pub(crate) fn excuse(&self, text: &str, about: About, acts: &mut [Detection]) {
        let opening = (about.place == Place::Opening).then(|| sentence::around(text, 0, 0));
        let says = opening.filter(|span| {
            let words = text.get(span.clone()).unwrap_or_default();
            self.rules.shape.says_what(words)
        });
        for act in acts {
            if &*act.kind == "marker" && is_mentioned(text, act) {
                act.confidence /= 4;
                act.level = level_of(u32::from(act.confidence));
            }
            let (family, spoken) = match &*act.kind {
                "credential" => (Some(Family::Credential), false),
                "smuggle" | "extract" => (Some(Family::Talk), false),
                "override" => (Some(Family::Rules), false),
                "bypass" => (Some(Family::Guard), true),
                "secrecy" => (None, true),
                // A place to fill in a template, where prompts are the tool's business.
                "marker" if is_slot(text, act) => (Some(Family::Talk), false),
                _ => (None, false),
            };
            let own = family.is_some_and(|family| about.families.has(family));
            let said = says.as_ref().is_some_and(|span| act.span.end <= span.end);
            if own || (spoken && said) {
                act.confidence /= 2;
                act.level = level_of(u32::from(act.confidence));
            }
        }
    }

    /// Adds what the sentences of a descriptor are made of that its tool is not about.
    pub(crate) fn scan_shape(&self, text: &str, about: About, out: &mut Vec<Detection>) {
        let folded = fold::fold(text);
        let mut hits = Vec::new();
        let files: Vec<Range<usize>> = out
            .iter()
            .filter(|one| one.category == Category::SensitiveFile)
            .map(|one| one.span.clone())
            .collect();
        let names_file = |sentence: &Range<usize>| {
            let sentence = folded.origin(sentence.clone(), text);
            let within = |file: &Range<usize>| sentence.contains(&file.start);
            files.iter().any(within)
        };
        let About {
            families,
            place,
            later,
        } = about;
        let shape = &self.rules.shape;
        let about = (families, place, later);
        shape.find(&folded.text, about, names_file, &mut hits);
        report(&hits, |span| folded.origin(span, text), text, &[], out);
    }
}

/// Parameters that take sentences, so that an example of one is a sentence.
const TEXTS: &[&str] = &[
    "message", "text", "body", "title", "comment", "query", "question", "prompt", "task", "content",
];

/// Whether an example at this path is one of a text.
fn takes_text(path: &str) -> bool {
    let name = path.rsplit('.').nth(1).unwrap_or_default();
    TEXTS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a mark is written like a place in a template.
fn is_slot(text: &str, mark: &Detection) -> bool {
    let written = text.get(mark.span.clone()).unwrap_or_default();
    written.starts_with("{{")
}

/// Whether a mark is only named among others: `tags such as <b>, <system> or <user>`.
fn is_mentioned(text: &str, mark: &Detection) -> bool {
    let (before, rest) = (text.get(..mark.span.start), text.get(mark.span.end..));
    let (before, rest) = (before.unwrap_or_default(), rest.unwrap_or_default());
    let sentence = before.rsplit(['.', '\n']).next().unwrap_or_default();
    let shown = ["such as", "like", "e.g", "for example"];
    let shown = shown.iter().any(|words| sentence.contains(words));
    let rest = rest.trim_start_matches(['`', '"', '\'']);
    let listed = rest.starts_with([',', ')', '.', ';']) || rest.starts_with(" or ");
    shown && (listed || rest.starts_with(" and ") || rest.trim().is_empty())
}

/// What a tool is about, by its name and parameters: of that it may speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    families: Families,
    place: Place,
    /// Whether what is read was added later, so that it does not open with what the tool is for.
    later: bool,
}

impl About {
    /// The same tool, for texts that were added to its descriptor.
    pub(crate) fn later(self) -> Self {
        Self {
            later: true,
            ..self
        }
    }

    /// The same tool, for the text at a path of its descriptor.
    pub(crate) fn at(self, path: &str, text: &str) -> Self {
        let last = path.rsplit('.').next().unwrap_or_default();
        let value = matches!(last, "default" | "const" | "pattern");
        let example = last.starts_with("examples[");
        let listed = last.starts_with("enum[") || example;
        let place = if example && takes_text(path) {
            Place::Parameter
        } else if value || listed {
            Place::Value
        } else if path.ends_with(text) {
            Place::Name
        } else if path.starts_with("inputSchema.") {
            Place::Parameter
        } else if path == "description" && !self.later {
            Place::Opening
        } else {
            Place::Whole
        };
        Self { place, ..self }
    }
}

impl Scan for Hostile {
    fn scan(&self, text: &str, out: &mut Vec<Detection>) {
        self.scan_for(self.audience, text, out);
    }
}

/// Adds hits as detections in the text as it was given; `origin` leads back to it.
fn report(
    hits: &[Hit<'_>],
    origin: impl Fn(Range<usize>) -> Range<usize>,
    text: &str,
    via: &[&'static str],
    out: &mut Vec<Detection>,
) {
    for hit in hits.iter().filter(|hit| hit.weight > 0).take(MOST) {
        let span = origin(hit.span.clone());
        let sample = shown(text.get(span.clone()).unwrap_or_default());
        let via = via.iter().map(|&way| Cow::Borrowed(way)).collect();
        out.push(Detection {
            via,
            ..detection(hit, span, sample)
        });
    }
}

impl Rules {
    fn load() -> Result<Self, DetectError> {
        let words = include_str!("../rules/hostile.words");
        let shape = Shape::parse(include_str!("../rules/hostile.shape"), SIGNS)?;
        Self::parse(words, ACTS, MARKS, shape)
    }

    fn parse(words: &str, patterns: &str, voices: &str, shape: Shape) -> Result<Self, DetectError> {
        let mut lexicon = Lexicon::new();
        lexicon.read("hostile.words", words)?;
        let grammar = Grammar::parse("hostile.acts", patterns, &lexicon)?;
        let paths = build(lexicon.words(grammar.shapes.path).map(str::to_owned))?;
        let marks = Marks::parse(voices)?;
        let words: Vec<String> = lexicon.words(grammar.cues()).map(str::to_owned).collect();
        let ignore = lexicon.words(lexicon.idea("ignore").unwrap_or_default());
        let spelled = ignore
            .filter(|word| (6..=9).contains(&word.len()))
            .flat_map(with_digits);
        let heads = marks.heads().map(str::to_owned);
        let cues = Cues::new(heads.chain(words).chain(spelled))?;
        let path_words = lexicon.words(grammar.shapes.path).map(str::to_owned);
        let tongues = Tongues::load(path_words)?;
        Ok(Self {
            lookout: Lookout::new(&[&cues, &tongues.cues]),
            lexicon,
            grammar,
            paths,
            marks,
            shape,
            cues,
            tongues,
        })
    }

    /// The acts of a text that is short and read whole: every sentence counts.
    fn read_all(&self, text: &str, side: usize) -> Vec<Hit<'_>> {
        let mut hits = Vec::new();
        let mut reader = Reader::new(&self.lexicon, self.grammar.shapes, &self.paths);
        self.marks.find(text, 0..text.len(), side, &mut hits);
        let mut at = 0;
        while at < text.len() && hits.len() < MOST {
            let sentence = sentence::around(text, at, at);
            at = sentence.end.max(at + 1);
            let words = text.get(sentence.clone()).unwrap_or_default();
            reader.read(words);
            let known = hits.len();
            self.grammar
                .judge(&reader.tokens, &sentence, side, &mut hits);
            let new = hits.get_mut(known..).unwrap_or_default();
            self.soften(words, new);
        }
        hits
    }

    /// Halves what silence weighs that keeps nothing from the user.
    fn soften(&self, words: &str, hits: &mut [Hit<'_>]) {
        let silent = |hit: &&mut Hit<'_>| hit.id.starts_with("secrecy.");
        if hits.iter_mut().any(|hit| silent(&hit)) && self.shape.is_fair(words) {
            for hit in hits.iter_mut().filter(silent) {
                hit.weight /= 2;
            }
        }
    }

    /// The acts of those sentences that have a cue.
    fn read_cued(&self, text: &str, spots: &Spots, side: usize) -> Vec<Hit<'_>> {
        let mut hits = Vec::new();
        let mut reader = Reader::new(&self.lexicon, self.grammar.shapes, &self.paths);
        let mut search = self.cues.search(text, Some(spots));
        let mut read = 0;
        while let Some(found) = search.next(read) {
            let sentence = sentence::around(text, found.start, read);
            read = sentence.end.max(found.end);
            self.marks.find(text, sentence.start..read, side, &mut hits);
            reader.read(text.get(sentence.clone()).unwrap_or_default());
            self.grammar
                .judge(&reader.tokens, &sentence, side, &mut hits);
            if hits.len() > MOST {
                break;
            }
        }
        hits
    }
}

/// A word with digits for some of its letters, in every combination.
fn with_digits(word: &str) -> Vec<String> {
    let mut spellings = vec![word.to_owned()];
    for (letter, digit) in [('o', "0"), ('i', "1"), ('e', "3"), ('a', "4")] {
        let more: Vec<String> = spellings
            .iter()
            .filter(|spelling| spelling.is_ascii() && spelling.contains(letter))
            .map(|spelling| spelling.replace(letter, digit))
            .collect();
        spellings.extend(more);
    }
    spellings
}

fn build(literals: impl Iterator<Item = String>) -> Result<AhoCorasick, DetectError> {
    let builder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(literals);
    builder.map_err(|fault| DetectError::Pattern {
        rule: "hostile words".to_owned(),
        reason: fault.to_string(),
    })
}

fn detection(hit: &Hit<'_>, span: Range<usize>, sample: Masked) -> Detection {
    let level = level_of(u32::from(hit.weight));
    let severity = match level {
        Level::Block => Severity::Critical,
        Level::Warn => Severity::High,
        Level::Note => Severity::Medium,
    };
    let act = hit.id.split('.').next().unwrap_or_default();
    let (reason, tags) = describe(act);
    Detection {
        rule: Cow::Owned(hit.id.to_owned()),
        kind: Cow::Owned(act.to_owned()),
        category: Category::HostileText,
        severity,
        confidence: hit.weight.min(100),
        level,
        span,
        via: Vec::new(),
        reason: Masked::from_safe(reason),
        sample,
        tags,
    }
}

/// Why an act counts, and its ids in public taxonomies.
fn describe(act: &str) -> (&'static str, &'static [&'static str]) {
    match act {
        "override" => (
            "tells the model to drop its instructions",
            &["MCP06", "ASI01", "AML.T0080"],
        ),
        "secrecy" => (
            "wants something kept from the user",
            &["MCP03", "ASI09", "AML.T0110"],
        ),
        "crosstool" => (
            "orders the use of other tools",
            &["MCP03", "ASI02", "AML.T0053"],
        ),
        "smuggle" => (
            "wants data passed that the tool has no use for",
            &["MCP10", "ASI02", "AML.T0086"],
        ),
        "credential" => ("wants credentials read", &["MCP01", "ASI03", "AML.T0098"]),
        "exfiltrate" => (
            "wants data sent to an outside address",
            &["MCP10", "ASI02", "AML.T0086"],
        ),
        "extract" => (
            "wants the model's own instructions shown",
            &["MCP10", "ASI01", "AML.T0080"],
        ),
        "roleplay" => (
            "gives the model another role",
            &["MCP06", "ASI01", "AML.T0080"],
        ),
        "pressure" => ("presses with authority or threats", &["MCP06", "ASI09"]),
        "preference" => ("pushes other tools aside", &["MCP03", "ASI02", "AML.T0110"]),
        "shadow" => (
            "changes how another tool is used",
            &["MCP03", "ASI02", "AML.T0110"],
        ),
        "destroy" => ("orders destruction", &["MCP03", "ASI02", "AML.T0101"]),
        "command" => ("orders a command to be run", &["MCP05", "ASI05"]),
        "bypass" => ("wants checks or confirmations skipped", &["MCP02", "ASI03"]),
        "phish" => (
            "wants the user asked for credentials",
            &["MCP01", "ASI09", "AML.T0098"],
        ),
        "tamper" => (
            "wants the agent's configuration or memory changed",
            &["MCP06", "ASI06", "AML.T0081"],
        ),
        "address" => ("addresses the model", &["MCP06", "ASI01"]),
        "marker" => ("puts on another voice", &["MCP06", "ASI01", "AML.T0080"]),
        _ => ("orders the model about", &["MCP03", "ASI01"]),
    }
}
