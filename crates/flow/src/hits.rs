//! The comparison: what of a sending is known, and from which origin. What it weighs is for
//! `evidence`.

use std::collections::{HashMap, HashSet};

use mcpproxy_core::{DataOrigin, Label, Likeness, Masked, Nature, SessionKey, Side};

use crate::blob::Blob;
use crate::fold::folded;
use crate::roll::{SPARE, roll};
use crate::secret::{Bits, GRAM as SECRET, short};
use crate::sending::Sending;
use crate::state::{Errand, State, place_salt, said_salt};
use crate::stream::{Family, Stream};
use crate::tail::Tail;
use crate::typed::Kind;
use crate::view::{Decoded, budget, one};
use crate::whose::salt;
use crate::winnow::{GRAM, RUN, WINDOW};

/// Origins of which matches are handed on.
const ORIGINS: usize = 32;

/// Everything of a sending that is known.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) texts: Vec<TextHit>,
    pub(crate) digests: Vec<DigestHit>,
    pub(crate) secrets: Vec<SecretHit>,
    pub(crate) tokens: Vec<TokenHits>,
    /// Whether decoding what several calls sent met a bound.
    pub(crate) cut: bool,
    /// Whether fingerprints had to go that could have been found.
    pub(crate) evicted: bool,
    pub(crate) opaque: Vec<(u32, u32)>,
    /// Which of the runs that nobody can read are known as they stand.
    pub(crate) known: Vec<bool>,
}

impl Hits {
    /// Adds what another scope of the same conversation knows.
    pub(crate) fn join(&mut self, other: Self) {
        self.texts.extend(other.texts);
        self.digests.extend(other.digests);
        self.secrets.extend(other.secrets);
        self.tokens.extend(other.tokens);
        self.known
            .resize(self.known.len().max(other.known.len()), false);
        for (known, other) in self.known.iter_mut().zip(other.known) {
            *known |= other;
        }
        self.cut |= other.cut;
        self.evicted |= other.evicted;
    }

    /// Tells whether personal data is among what is known.
    pub(crate) fn has_personal(&self) -> bool {
        let mut found = self.secrets.iter().filter(|hit| hit.enough);
        found.any(|hit| hit.label.nature == Nature::Personal)
    }
}

/// Text of one origin.
#[derive(Clone, Debug)]
pub(crate) struct TextHit {
    pub(crate) origin: DataOrigin,
    /// Symbols that are shared.
    pub(crate) covered: u32,
    pub(crate) leaf: u32,
    pub(crate) how: Likeness,
    pub(crate) via: Vec<&'static str>,
    pub(crate) sample: Masked,
}

/// A whole field or content.
#[derive(Clone, Debug)]
pub(crate) struct DigestHit {
    pub(crate) origin: DataOrigin,
    pub(crate) how: Likeness,
    pub(crate) leaf: u32,
    pub(crate) length: u32,
}

/// A sensitive value, or a part of it.
#[derive(Clone, Debug)]
pub(crate) struct SecretHit {
    pub(crate) number: u16,
    pub(crate) own: Bits,
    pub(crate) origin: DataOrigin,
    pub(crate) label: Label,
    pub(crate) covered: u32,
    pub(crate) enough: bool,
    pub(crate) leaf: u32,
    pub(crate) how: Likeness,
    pub(crate) via: Vec<&'static str>,
    pub(crate) sample: Masked,
}

/// The tokens of one origin.
#[derive(Clone, Debug)]
pub(crate) struct TokenHits {
    pub(crate) origin: DataOrigin,
    pub(crate) leaf: u32,
    pub(crate) points: u32,
    /// The points that are those of names.
    pub(crate) names: u32,
    pub(crate) count: u32,
    pub(crate) length: u32,
}

/// Compares a sending with all that is remembered.
pub(crate) fn compare(
    state: &State,
    errand: Errand<'_>,
    sessions: &[SessionKey],
    sending: &Sending<'_>,
) -> Hits {
    let mut hits = Hits::default();
    let salts: Vec<u64> = sessions.iter().copied().map(salt).collect();
    let outside = errand.sink.is_outside();
    let tails = if outside {
        tails(state, errand, sending)
    } else {
        Decoded::default()
    };
    hits.cut = tails.cut;
    let streams = || sending.streams.iter().chain(&tails.streams);
    let pointers = pointers(state, &salts, sending);
    texts(state, &salts, &pointers, streams(), &mut hits);
    secrets(state, errand, &salts, sending, streams(), &mut hits);
    digests(state, &salts, sending, &mut hits);
    tokens(state, errand, &salts, sending, &mut hits);
    let known = |blob: &Blob| blob.is_known(state, errand, &salts);
    hits.known = sending.opaque.iter().map(known).collect();
    let of = |key: &SessionKey| state.sessions.get(key);
    hits.evicted = sessions.iter().filter_map(of).any(|one| one.evicted) || state.vault.is_full();
    hits
}

/// Puts what was sent before in front of what comes now.
fn tails(state: &State, errand: Errand<'_>, sending: &Sending<'_>) -> Decoded {
    let mut decoded = Decoded::default();
    for field in &sending.fields {
        let Tail { text, last } = state.tails.before(errand.to, field.path);
        if text.is_empty() {
            continue;
        }
        // A piece that is shorter than a run could not be judged when it came: it counts again.
        let (older, piece) = text
            .split_at_checked(text.len() - last)
            .unwrap_or((&text, ""));
        let judged = if folded(piece).len() < RUN {
            older
        } else {
            &text
        };
        let old = read_on(judged, field.leaf);
        let mut new = read_on(&[&*text, &field.head].concat(), field.leaf);
        for stream in &mut new.streams {
            stream.choose();
            let known = old.streams.iter();
            let known = known.filter(|known| stream.symbols.starts_with(&known.symbols));
            let gone = known.map(|known| known.symbols.len()).max().unwrap_or(0);
            stream.gone = u32::try_from(gone).unwrap_or(u32::MAX);
        }
        decoded.streams.append(&mut new.streams);
        decoded.cut |= new.cut;
    }
    decoded
}

/// Reads a text that was put together, as it is and with its encodings undone.
fn read_on(text: &str, leaf: u32) -> Decoded {
    let mut decoded = Decoded::default();
    let stream = Stream::of(Family::Tail, text, leaf, Vec::new());
    decoded.streams.push(stream);
    let mut budget = budget(0);
    one(text, leaf, Family::Tail, &mut budget, &mut decoded);
    decoded
}

/// What one origin shares with one stream.
#[derive(Clone, Copy, Debug)]
struct Cover {
    covered: u32,
    start: u32,
    end: u32,
}

/// The best that any family of streams shows for an origin.
struct Best<'a> {
    families: HashMap<Family, u32>,
    covered: u32,
    widest: u32,
    stream: &'a Stream,
    start: u32,
    end: u32,
}

/// Returns the windows of links and names that were read as such.
fn pointers(state: &State, salts: &[u64], sending: &Sending<'_>) -> HashSet<u64> {
    let alive = |seq| state.origins.is_alive(seq);
    let mut tags = HashSet::new();
    for (hash, symbols) in &sending.pointers {
        let narrow = |salt: &u64| state.typed.get(hash ^ salt, alive).is_some();
        if state.typed.get(*hash, alive).is_some() || salts.iter().any(narrow) {
            roll::<GRAM>(symbols, |hash| {
                tags.insert(hash >> SPARE);
            });
        }
    }
    tags
}

fn texts<'a>(
    state: &State,
    salts: &[u64],
    pointers: &HashSet<u64>,
    streams: impl Iterator<Item = &'a Stream>,
    hits: &mut Hits,
) {
    let alive = |seq| state.origins.is_alive(seq);
    let mut best: HashMap<u32, Best<'a>> = HashMap::new();
    for stream in streams {
        let mut covers: HashMap<u32, Cover> = HashMap::new();
        for gram in &stream.grams {
            let inside = salts
                .iter()
                .find_map(|salt| state.text.get(gram.tag ^ salt, alive));
            let public = salts
                .iter()
                .find_map(|salt| state.outside.get(gram.tag ^ salt, alive));
            if let Some(seen) = public.or(inside).filter(|_| !pointers.contains(&gram.tag)) {
                extend(&mut covers, seen.seq, gram.at);
            }
        }
        let mut covers: Vec<(u32, Cover)> = covers.into_iter().collect();
        covers.retain(|(_, cover)| cover.end > stream.gone);
        covers.sort_unstable_by_key(|(seq, cover)| (cover.start, *seq));
        for (seq, cover) in covers {
            raise(&mut best, seq, cover, stream);
        }
    }
    let mut best: Vec<(u32, Best<'a>)> = best.into_iter().collect();
    // What is public never takes the place of what is private.
    let side = |seq: u32| state.origins.get(seq).map(|origin| origin.data.side);
    best.sort_unstable_by_key(|(seq, best)| {
        let public = side(*seq) == Some(Side::Outside);
        (public, u32::MAX - best.covered, *seq)
    });
    for (seq, best) in best.into_iter().take(ORIGINS) {
        if let Some(origin) = state.origins.get(seq) {
            hits.texts.push(TextHit {
                origin: origin.data.clone(),
                covered: best.covered,
                leaf: best.stream.leaf(best.start),
                how: likeness(best.stream, best.start..best.end),
                via: best.stream.via.clone(),
                sample: sample(best.stream, best.start),
            });
        }
    }
}

/// Adds a window to what an origin shares with a stream.
fn extend(covers: &mut HashMap<u32, Cover>, seq: u32, at: u32) {
    let width = u32::try_from(GRAM).unwrap_or(0);
    let gap = u32::try_from(WINDOW).unwrap_or(0);
    let cover = covers.entry(seq).or_insert(Cover {
        covered: 0,
        start: at,
        end: at,
    });
    // Windows of one shared run are kept at most so far apart; what lies between is shared, too.
    let from = if at <= cover.end.saturating_add(gap) {
        cover.end
    } else {
        at
    };
    let end = (at + width).max(cover.end);
    cover.covered += end - from;
    cover.end = end;
}

fn raise<'a>(best: &mut HashMap<u32, Best<'a>>, seq: u32, cover: Cover, stream: &'a Stream) {
    let one = best.entry(seq).or_insert_with(|| Best {
        families: HashMap::new(),
        covered: 0,
        widest: 0,
        stream,
        start: cover.start,
        end: cover.end,
    });
    let family = one.families.entry(stream.family).or_insert(0);
    *family += cover.covered;
    one.covered = one.covered.max(*family);
    if cover.covered > one.widest {
        one.widest = cover.covered;
        one.stream = stream;
        (one.start, one.end) = (cover.start, cover.end);
    }
}

fn likeness(stream: &Stream, span: std::ops::Range<u32>) -> Likeness {
    match stream.family {
        Family::Decoded => Likeness::Encoded,
        Family::Tail => Likeness::Pieces,
        Family::Whole | Family::Values | Family::Keys | Family::Named => {
            if stream.crosses(&span) {
                Likeness::Pieces
            } else {
                Likeness::Fragment
            }
        }
    }
}

/// Shows four symbols of shared text.
fn sample(stream: &Stream, start: u32) -> Masked {
    let from = usize::try_from(start).unwrap_or(0);
    let symbols = stream.symbols.iter().skip(from).take(4);
    let shown: String = symbols
        .map(|&symbol| {
            if symbol.is_ascii() {
                char::from(symbol)
            } else {
                '·'
            }
        })
        .collect();
    Masked::from_safe(format!("{shown}…"))
}

/// Where windows of one value were seen. One window alone is an accident in any long message: two
/// that follow each other, in either direction, are counted.
struct Trail<'a> {
    own: Bits,
    /// The stream with the longest run, the first and the last window of it there.
    stream: &'a Stream,
    start: u32,
    end: u32,
    best: usize,
    /// The stream that was looked at last, and up to which window the value was followed there.
    last: &'a Stream,
    until: usize,
}

impl<'a> Trail<'a> {
    fn new(stream: &'a Stream) -> Self {
        Self {
            own: Bits::default(),
            stream,
            start: 0,
            end: 0,
            best: 0,
            last: stream,
            until: 0,
        }
    }

    /// Follows a value from where a window led to it, forwards and backwards in the text, and in
    /// either direction in the value.
    fn follow(&mut self, stream: &'a Stream, text: &[u32], value: &[u32], lead: Lead) {
        if !std::ptr::eq(self.last, stream) {
            (self.last, self.until) = (stream, 0);
        }
        if lead.at < self.until {
            return;
        }
        let (before, after) = text.split_at_checked(lead.at).unwrap_or_default();
        let unseen = before.get(self.until..).unwrap_or_default();
        let (left, right) = value.split_at_checked(lead.position).unwrap_or_default();
        let this = value.get(..=lead.position).unwrap_or_default();
        let next = right.get(1..).unwrap_or_default();
        // As it stands, and mirrored.
        let plain = (
            alike(unseen.iter().rev(), left.iter().rev()),
            alike(after.iter(), right.iter()),
        );
        let turned = (
            alike(unseen.iter().rev(), next.iter()),
            alike(after.iter(), this.iter().rev()),
        );
        let is_plain = plain.0 + plain.1 >= turned.0 + turned.1;
        let (back, on) = if is_plain { plain } else { turned };
        let (start, run) = (lead.at - back, back + on);
        self.until = start + run;
        if run >= 2 || value.len() == 1 {
            let first = if is_plain {
                lead.position - back
            } else {
                lead.position + 1 - on
            };
            (first..first + run).for_each(|position| self.own.set(position));
        }
        if run > self.best {
            self.best = run;
            self.stream = stream;
            self.start = u32::try_from(start).unwrap_or(u32::MAX);
            self.end = u32::try_from(start + run - 1).unwrap_or(u32::MAX);
        }
    }
}

/// A window of a text that led to a value: where it is in either.
#[derive(Clone, Copy, Debug)]
struct Lead {
    at: usize,
    position: usize,
}

/// Returns how far two rows of windows are alike.
fn alike<'w>(one: impl Iterator<Item = &'w u32>, other: impl Iterator<Item = &'w u32>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

fn secrets<'a>(
    state: &State,
    errand: Errand<'_>,
    salts: &[u64],
    sending: &Sending<'_>,
    streams: impl Iterator<Item = &'a Stream>,
    hits: &mut Hits,
) {
    if state.vault.is_empty() {
        return;
    }
    let mut seen: HashMap<u16, Trail<'a>> = HashMap::new();
    let mut text = Vec::new();
    for stream in streams {
        text.clear();
        roll::<SECRET>(&stream.symbols, |hash| text.push(short(hash)));
        for (at, &window) in text.iter().enumerate() {
            state.vault.find(window, |number, position| {
                let Some(entry) = state.vault.entry(number) else {
                    return;
                };
                let trail = seen.entry(number).or_insert_with(|| Trail::new(stream));
                trail.follow(stream, &text, &entry.windows, Lead { at, position });
            });
        }
    }
    let mut found: Vec<_> = seen.into_iter().collect();
    found.sort_unstable_by_key(|(number, _)| *number);
    for (number, trail) in found {
        let Trail {
            own,
            stream,
            start,
            end,
            ..
        } = trail;
        let Some(entry) = state.vault.entry(number) else {
            continue;
        };
        let width = u32::try_from(SECRET).unwrap_or(0);
        if end + width <= stream.gone {
            continue;
        }
        if entry.label.nature == Nature::Typed && is_supplied(state, errand, salts, entry.whole) {
            continue;
        }
        let (alone, enough_alone) = entry.weigh(&own);
        let mut all = state.vault.gone(number);
        all.join(&own);
        let (together, enough) = entry.weigh(&all);
        let how = match () {
            () if !enough_alone && enough => Likeness::Pieces,
            () if alone >= entry.length && stream.family == Family::Whole => Likeness::Exact,
            () => likeness(stream, start..end + 1),
        };
        hits.secrets.push(SecretHit {
            number,
            own,
            origin: entry.origin.clone(),
            label: entry.label.clone(),
            covered: u32::try_from(together).unwrap_or(u32::MAX),
            enough,
            leaf: stream.leaf(start),
            how,
            via: stream.via.clone(),
            sample: entry.sample.clone(),
        });
    }
    short_secrets(state, errand, salts, sending, hits);
}

/// Tells whether a token came from the very place that it goes to, or from the user.
pub(crate) fn is_supplied(state: &State, errand: Errand<'_>, salts: &[u64], token: u64) -> bool {
    let alive = |seq| state.origins.is_alive(seq);
    let has = |tag| state.supplied.get(tag, alive).is_some();
    has(token ^ place_salt(errand.to)) || salts.iter().any(|salt| has(token ^ said_salt(*salt)))
}

/// Finds values that are too short to have windows, as whole words.
fn short_secrets(
    state: &State,
    errand: Errand<'_>,
    salts: &[u64],
    sending: &Sending<'_>,
    hits: &mut Hits,
) {
    if !state.vault.has_short() {
        return;
    }
    sending.short_words(|word, leaf| {
        let Some(number) = state.vault.find_whole(word) else {
            return;
        };
        let known = hits
            .secrets
            .iter()
            .any(|hit| hit.number == number && hit.enough);
        let Some(entry) = state.vault.entry(number).filter(|_| !known) else {
            return;
        };
        if entry.label.nature == Nature::Typed && is_supplied(state, errand, salts, entry.whole) {
            return;
        }
        hits.secrets.push(SecretHit {
            number,
            own: Bits::default(),
            origin: entry.origin.clone(),
            label: entry.label.clone(),
            covered: u32::try_from(entry.length).unwrap_or(u32::MAX),
            enough: true,
            leaf,
            how: Likeness::Exact,
            via: Vec::new(),
            sample: entry.sample.clone(),
        });
    });
}

fn digests(state: &State, salts: &[u64], sending: &Sending<'_>, hits: &mut Hits) {
    for digest in &sending.digests {
        let seq = salts
            .iter()
            .find_map(|&salt| state.digests.get(digest.hash, salt));
        if let Some(origin) = seq.and_then(|seq| state.origins.get(seq))
            && hits.digests.len() < ORIGINS
        {
            hits.digests.push(DigestHit {
                origin: origin.data.clone(),
                how: digest.how,
                leaf: digest.leaf,
                length: digest.length,
            });
        }
    }
}

fn tokens(
    state: &State,
    errand: Errand<'_>,
    salts: &[u64],
    sending: &Sending<'_>,
    hits: &mut Hits,
) {
    let alive = |seq| state.origins.is_alive(seq);
    let mut seen: HashMap<u32, TokenHits> = HashMap::new();
    let mut known = HashSet::new();
    for (token, leaf) in &sending.tokens {
        let narrow = || {
            salts
                .iter()
                .find_map(|salt| state.typed.get(token.hash ^ salt, alive))
        };
        let Some(found) = state.typed.get(token.hash, alive).or_else(narrow) else {
            continue;
        };
        let kind = Kind::of_note(found.note);
        let loose = matches!(kind, Kind::Link | Kind::Name);
        let supplied = is_supplied(state, errand, salts, token.hash)
            || loose
                && salts
                    .iter()
                    .any(|salt| state.supplied.get(token.hash ^ salt, alive).is_some());
        let Some(origin) = state.origins.get(found.seq) else {
            continue;
        };
        if supplied || origin.data.side != Side::Inside || !known.insert(token.hash) {
            continue;
        }
        let one = seen.entry(found.seq).or_insert_with(|| TokenHits {
            origin: origin.data.clone(),
            leaf: *leaf,
            points: 0,
            names: 0,
            count: 0,
            length: 0,
        });
        one.points += kind.points(*token);
        one.names += u32::from(kind == Kind::Name);
        one.count += 1;
        one.length += token.length;
    }
    let mut found: Vec<(u32, TokenHits)> = seen.into_iter().collect();
    found.sort_unstable_by_key(|(seq, one)| (u32::MAX - one.points, *seq));
    hits.tokens
        .extend(found.into_iter().take(ORIGINS).map(|(_, one)| one));
}
