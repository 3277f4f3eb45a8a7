//! The comparison: what of a sending is known, and from which origin. What it weighs is for
//! `evidence`.

mod reads;
mod recall;
mod secrets;
mod tails;
mod wholes;

use std::collections::BTreeMap;
use std::ops::Range;

use mcpproxy_core::{DataOrigin, Id128, Label, Likeness, Masked, Nature, SessionKey, Side};

pub(crate) use self::reads::Reads;
use self::recall::Recall;
pub(crate) use self::secrets::is_supplied;
use self::secrets::secrets;
use self::tails::Before;
pub(crate) use self::tails::{Onward, tails};
use crate::blob::Blob;
use crate::evidence::{NOTABLE, RARE};
use crate::hash::{KeyedSet, QuickMap};
use crate::origins::Voice;
use crate::plain::{Room, rare};
use crate::roll::{SPARE, roll};
use crate::secret::{Bits, GRAM as SECRET};
use crate::sending::Sending;
use crate::state::{Errand, State};
use crate::stream::{Family, Stream};
use crate::typed::Kind;
use crate::whose::salt;
use crate::winnow::{GRAM, WINDOW};

/// Origins of which matches are handed on.
const ORIGINS: usize = 32;
/// Shared symbols from which on text is not asked what words it is made of.
const LONG: u32 = 400;

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
    /// Which of the runs that nobody can read are known as they stand, or for the values they are.
    pub(crate) known: Vec<bool>,
}

impl Hits {
    /// Adds what another scope of the same conversation knows.
    pub(crate) fn join(&mut self, other: Self) {
        join(&mut self.texts, other.texts);
        join(&mut self.digests, other.digests);
        join(&mut self.secrets, other.secrets);
        join(&mut self.tokens, other.tokens);
        self.known
            .resize(self.known.len().max(other.known.len()), false);
        for (known, other) in self.known.iter_mut().zip(other.known) {
            *known |= other;
        }
        self.cut |= other.cut;
        self.evicted |= other.evicted;
    }

    /// Returns where something stands that is known, if only in part, and how long a key there has to
    /// be to give it away: what is known may only begin in a key that others have, too.
    pub(crate) fn leaves(&self) -> BTreeMap<u32, usize> {
        let texts = self.texts.iter().map(|hit| hit.leaf);
        let digests = self.digests.iter().map(|hit| hit.leaf);
        let tokens = self.tokens.iter().map(|hit| hit.leaf);
        let text = texts.chain(digests).chain(tokens);
        let secrets = self.secrets.iter().map(|hit| (hit.leaf, SECRET));
        text.map(|leaf| (leaf, GRAM)).chain(secrets).collect()
    }

    /// Tells whether personal data is among what is known.
    pub(crate) fn has_personal(&self) -> bool {
        let mut found = self.secrets.iter().filter(|hit| hit.enough);
        found.any(|hit| hit.label.nature == Nature::Personal)
    }
}

/// Adds one list to another; nearly always that is the first, which takes no copy.
fn join<T>(list: &mut Vec<T>, other: Vec<T>) {
    if list.is_empty() {
        *list = other;
    } else {
        list.extend(other);
    }
}

/// Text of one origin.
#[derive(Clone, Debug)]
pub(crate) struct TextHit {
    pub(crate) origin: DataOrigin,
    /// Symbols that are shared, and whether enough of them are in words that not everybody writes.
    pub(crate) covered: u32,
    pub(crate) is_rare: bool,
    pub(crate) leaf: u32,
    pub(crate) how: Likeness,
    pub(crate) via: Vec<&'static str>,
    pub(crate) sample: Masked,
}

/// A whole field or content.
#[derive(Clone, Debug)]
pub(crate) struct DigestHit {
    pub(crate) origin: DataOrigin,
    /// Whether enough of it is private, though it is too short to be told by its windows.
    pub(crate) is_rare: bool,
    pub(crate) how: Likeness,
    pub(crate) leaf: u32,
    pub(crate) length: u32,
    pub(crate) hash: Id128,
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
    /// The first of the leaves that it stands in, and the last.
    pub(crate) leaf: u32,
    pub(crate) last: u32,
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

/// Compares a sending, and what it makes with what was sent before, with all that is remembered.
pub(crate) fn compare(
    state: &State,
    errand: Errand<'_>,
    sessions: &[SessionKey],
    sending: &Sending<'_>,
    tails: &[Onward<'_>],
) -> Hits {
    let mut hits = Hits::default();
    let salts: Vec<u64> = sessions.iter().copied().map(salt).collect();
    hits.cut = tails.iter().any(|one| one.read.is_cut());
    let streams = || {
        let own = sending.streams.iter().map(|stream| (stream, None));
        let onward = tails.iter().flat_map(|one| {
            let streams = one.read.streams().iter();
            streams.map(|stream| (stream, Some(&one.before)))
        });
        own.chain(onward)
    };
    let pointers = pointers(state, &salts, sending);
    texts(state, &salts, &pointers, streams(), &mut hits);
    secrets(state, errand, &salts, sending, streams(), &mut hits);
    digests(state, &salts, sending, &mut hits);
    tokens(state, errand, &salts, sending, &mut hits);
    let known = |blob: &Blob| {
        blob.is_recognized(state, &hits.secrets) || blob.is_known(state, errand, &salts)
    };
    let known = sending.opaque.iter().map(known).collect();
    hits.known = known;
    let of = |key: &SessionKey| state.sessions.get(key);
    hits.evicted = sessions.iter().filter_map(of).any(|one| one.evicted) || state.vault.is_full();
    hits
}

/// What one origin shares with one stream.
#[derive(Clone, Debug)]
struct Cover {
    covered: u32,
    start: u32,
    end: u32,
    /// The stretches that are shared.
    runs: Vec<Range<u32>>,
}

impl Cover {
    fn of(at: u32) -> Self {
        let mut cover = Self {
            covered: 0,
            start: at,
            end: at,
            runs: Vec::new(),
        };
        cover.add(at);
        cover
    }

    /// Adds a window.
    fn add(&mut self, at: u32) {
        let width = u32::try_from(GRAM).unwrap_or(0);
        let gap = u32::try_from(WINDOW).unwrap_or(0);
        // Windows of one shared run are kept at most so far apart; what lies between is shared, too.
        let from = if at <= self.end.saturating_add(gap) {
            self.end
        } else {
            at
        };
        let end = (at + width).max(self.end);
        match self.runs.last_mut().filter(|last| last.end == from) {
            Some(last) => last.end = end,
            None => self.runs.push(from..end),
        }
        self.covered += end - from;
        self.end = end;
    }

    /// Returns how much of it is not made of words that everybody writes.
    fn rare(&self, stream: &Stream, room: &mut Room) -> u32 {
        let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        let stretches = self.runs.iter().map(|run| place(run.start)..place(run.end));
        // Text that is as long as that is worth a question, whatever it is made of.
        if self.covered > LONG {
            return self.covered;
        }
        stretches.map(|run| rare(&stream.symbols, run, room)).sum()
    }
}

/// A stream, and what was sent before if it begins with that.
type Read<'a> = (&'a Stream, Option<&'a Before<'a>>);

/// What streams share.
type Covers<'a> = Vec<(&'a Stream, Cover)>;

/// The best that any family of streams shows for an origin.
struct Best<'a> {
    /// What is shared by family, and in which streams; there are few families.
    families: Vec<(Family, u32, Covers<'a>)>,
    covered: u32,
    widest: u32,
    stream: &'a Stream,
    start: u32,
    end: u32,
}

impl Best<'_> {
    /// Tells whether enough of it is not made of words that everybody writes, if it is long enough for
    /// that to matter: short pieces are shared by accident all the time. It is looked at until it is.
    fn is_rare(&self, room: &mut Room) -> bool {
        if self.covered < NOTABLE {
            return self.covered >= RARE;
        }
        // The last ones are the shortest.
        let mut families = self.families.iter().rev();
        families.any(|(_, _, covers)| {
            let mut sum = 0;
            covers.iter().any(|(stream, cover)| {
                sum += cover.rare(stream, room);
                sum >= RARE
            })
        })
    }
}

/// Returns the windows of links and names that were read as such.
fn pointers(state: &State, salts: &[u64], sending: &Sending<'_>) -> KeyedSet<u64> {
    let alive = |seq| state.origins.is_alive(seq);
    let mut tags = KeyedSet::default();
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
    pointers: &KeyedSet<u64>,
    streams: impl Iterator<Item = Read<'a>>,
    hits: &mut Hits,
) {
    let mut recall = Recall::new(state, salts);
    let mut best: QuickMap<u32, Best<'a>> = QuickMap::default();
    for (stream, before) in streams {
        let mut covers = Shared::default();
        let mut private = false;
        recall.find(&stream.grams, |gram, (seq, public)| {
            if !pointers.contains(&gram.tag) {
                private |= !public;
                covers.add(seq, gram.at);
            }
        });
        // What is public was seen in each call by itself.
        if before.is_some() && !private {
            continue;
        }
        let mut covers = covers.list;
        let gone = before.map_or(0, |before| before.gone(stream));
        covers.retain(|(_, cover)| cover.end > gone);
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
    let mut room = Room::default();
    for (seq, best) in best.into_iter().take(ORIGINS) {
        if let Some(origin) = state.origins.get(seq) {
            hits.texts.push(TextHit {
                origin: origin.data.clone(),
                covered: best.covered,
                // What is public weighs nothing, whatever its words are.
                is_rare: origin.data.side == Side::Inside && best.is_rare(&mut room),
                leaf: best.stream.leaf(best.start),
                how: likeness(best.stream, best.start..best.end),
                via: best.stream.via.clone(),
                sample: sample(best.stream, best.start),
            });
        }
    }
}

/// What the origins share with one stream.
#[derive(Default)]
struct Shared {
    list: Vec<(u32, Cover)>,
    places: QuickMap<u32, usize>,
    /// The place of the last one: neighbours mostly are of the same origin.
    last: usize,
}

impl Shared {
    /// Adds a window that an origin shares.
    fn add(&mut self, seq: u32, at: u32) {
        if self
            .list
            .get(self.last)
            .is_none_or(|(last, _)| *last != seq)
        {
            self.last = *self.places.entry(seq).or_insert(self.list.len());
        }
        match self.list.get_mut(self.last) {
            Some((_, cover)) => cover.add(at),
            None => self.list.push((seq, Cover::of(at))),
        }
    }
}

fn raise<'a>(best: &mut QuickMap<u32, Best<'a>>, seq: u32, cover: Cover, stream: &'a Stream) {
    let one = best.entry(seq).or_insert_with(|| Best {
        families: Vec::new(),
        covered: 0,
        widest: 0,
        stream,
        start: cover.start,
        end: cover.end,
    });
    if cover.covered > one.widest {
        one.widest = cover.covered;
        one.stream = stream;
        (one.start, one.end) = (cover.start, cover.end);
    }
    let mut families = one.families.iter_mut();
    let known = families.find(|(family, ..)| *family == stream.family);
    if let Some((_, covered, covers)) = known {
        *covered += cover.covered;
        one.covered = one.covered.max(*covered);
        covers.push((stream, cover));
    } else {
        let covered = cover.covered;
        one.covered = one.covered.max(covered);
        let covers = vec![(stream, cover)];
        one.families.push((stream.family, covered, covers));
    }
}

fn likeness(stream: &Stream, span: Range<u32>) -> Likeness {
    match stream.family {
        Family::Decoded => Likeness::Encoded,
        Family::Tail | Family::Aligned => Likeness::Pieces,
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

fn digests(state: &State, salts: &[u64], sending: &Sending<'_>, hits: &mut Hits) {
    let mut room = Room::default();
    for digest in &sending.digests {
        let seq = salts
            .iter()
            .find_map(|&salt| state.digests.get(digest.hash, salt));
        if let Some(origin) = seq.and_then(|seq| state.origins.get(seq))
            && hits.digests.len() < ORIGINS
        {
            let private = origin.voice == Voice::Read && origin.data.side == Side::Inside;
            let texts = sending.texts_of(digest);
            hits.digests.push(DigestHit {
                origin: origin.data.clone(),
                is_rare: private && wholes::is_rare(state, salts, texts, &mut room),
                how: digest.how,
                leaf: digest.leaf,
                length: digest.length,
                hash: digest.hash,
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
    let mut seen: QuickMap<u32, TokenHits> = QuickMap::default();
    let mut known = KeyedSet::default();
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
