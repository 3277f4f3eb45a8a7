//! From hits to evidence: what each amounts to, heaviest first.

use mcpproxy_core::{
    DataOrigin, FlowEvidence, Id128, Likeness, Masked, Match, Nature, Opaque, Reduced, Side, Taint,
    Weight,
};

use crate::content::{Part, places};
use crate::hits::{DigestHit, Hits, SecretHit, TextHit, TokenHits};

/// Matches of one sending that are handed on; whoever shows them may show fewer.
const MATCHES: usize = 256;
/// Shared symbols of private text, as windows cover them, from which a person is asked.
///
/// The windows of a shared run begin and end up to twelve symbols inside it.
pub(crate) const NOTABLE: u32 = 48;
/// Symbols among them that belong to words which not everybody writes.
pub(crate) const RARE: u32 = 8;
/// Points of rare tokens from which a person is asked.
const POINTS: u32 = 8;
/// Tokens from which a person is asked.
const TOKENS: u32 = 3;
/// Points that names add at most: an address is full of them.
const NAMES: u32 = 4;
/// Shared symbols of private text that weigh as much as one point, beside a code or a sum.
const POINT: u32 = 10;
const CODE: u32 = 4;

/// What was found, weighed.
#[derive(Debug)]
pub(crate) struct Weighed {
    pub(crate) evidence: FlowEvidence,
    /// For each match the specification's hash of what moved, if it has one.
    pub(crate) hashes: Vec<Option<Id128>>,
}

/// Weighs what was found in the message `json`, which has these parts; `hash` knows the hashes of its fields.
pub(crate) fn weigh(
    (json, parts): (&str, &[Part<'_>]),
    mut hits: Hits,
    taint: Taint,
    cut: bool,
    hash: impl Fn(u32) -> Option<Id128>,
) -> Weighed {
    let found = hits.leaves();
    let mut matches: Vec<(Match, u32)> = Vec::new();
    let told = hits.secrets.iter().filter(|hit| hit.enough);
    let told: Vec<_> = told.map(|hit| hit.leaf..=hit.last).collect();
    matches.extend(hits.secrets.into_iter().filter_map(secret));
    for mut hit in hits.texts {
        // The sample of a secret is all that may be seen of it: another would add to it.
        if told.iter().any(|leaves| leaves.contains(&hit.leaf)) {
            hit.sample = nothing();
        }
        let digest = hits
            .digests
            .iter()
            .find(|one| one.origin.call == hit.origin.call);
        let is_rare = is_rare(&hits.digests, &hit.origin);
        matches.push(text(hit, digest, is_rare));
    }
    for hit in &hits.digests {
        let known =
            |(one, _): &(Match, u32)| one.origin.call == hit.origin.call && one.label.is_none();
        if !matches.iter().any(known) {
            matches.push(digest(hit, is_rare(&hits.digests, &hit.origin)));
        }
    }
    let notable = is_notable(&hits.tokens, &matches);
    for (index, hit) in hits.tokens.into_iter().enumerate() {
        let (one, leaf) = tokens(hit, notable && index == 0);
        // Tokens of text that is shared anyway say nothing more.
        let known = |(other, _): &(Match, u32)| {
            other.origin.call == one.origin.call && other.weight >= one.weight
        };
        if !matches.iter().any(known) {
            matches.push((one, leaf));
        }
    }
    matches.sort_by_key(|(one, _)| {
        let outside = one.origin.side == Side::Outside;
        (
            std::cmp::Reverse(one.weight),
            outside,
            one.how,
            std::cmp::Reverse(one.shared),
        )
    });
    matches.truncate(MATCHES);
    let hashes = matches.iter().map(|(one, leaf)| {
        let known = |hit: &&DigestHit| hit.leaf == *leaf && hit.origin.call == one.origin.call;
        let known = hits.digests.iter().find(known).map(|hit| hit.hash);
        known.or_else(|| hash(*leaf))
    });
    let hashes = hashes.collect();
    let mut reduced = Vec::new();
    if cut || hits.cut {
        reduced.push(Reduced::Decoding);
    }
    if hits.evicted {
        reduced.push(Reduced::Evicted);
    }
    hits.opaque.truncate(MATCHES);
    // Nobody asks where in a message something public is.
    let inside = |(one, _): &&(Match, u32)| one.origin.side == Side::Inside;
    let shown = matches.iter().filter(inside);
    let leaves = shown
        .map(|(_, leaf)| *leaf)
        .chain(hits.opaque.iter().map(|&(leaf, _)| leaf))
        .collect();
    let places = places(json, parts, &leaves, &found);
    let place = |leaf: u32| places.get(&leaf).cloned().unwrap_or_default();
    let matches = matches.into_iter().map(|(one, leaf)| Match {
        place: place(leaf),
        ..one
    });
    let opaque = hits.opaque.iter().map(|&(leaf, bytes)| Opaque {
        place: place(leaf),
        bytes,
    });
    let evidence = FlowEvidence {
        matches: matches.collect(),
        opaque: opaque.collect(),
        taint,
        reduced,
    };
    Weighed { evidence, hashes }
}

/// Weighs a sensitive value; a small part of one is no evidence of anything.
fn secret(hit: SecretHit) -> Option<(Match, u32)> {
    let found = Match {
        how: hit.how,
        via: hit.via,
        origin: hit.origin,
        place: Box::default(),
        shared: hit.covered,
        weight: match hit.label.nature {
            Nature::Secret | Nature::Personal => Weight::Sensitive,
            Nature::Typed => Weight::Notable,
        },
        label: Some(hit.label),
        sample: hit.sample,
    };
    hit.enough.then_some((found, hit.leaf))
}

/// Tells whether a whole field that is worth a question is from this origin.
fn is_rare(digests: &[DigestHit], origin: &DataOrigin) -> bool {
    let mut own = digests.iter().filter(|one| one.origin.call == origin.call);
    own.any(|one| one.is_rare)
}

/// Weighs shared text, and the whole field that it lies in, if there is one and that is known.
fn text(hit: TextHit, digest: Option<&DigestHit>, is_whole: bool) -> (Match, u32) {
    let covered = hit.covered;
    let shared = digest.map_or(covered, |digest| digest.length.max(covered));
    let weight = if is_whole {
        Weight::Notable
    } else {
        weight(&hit.origin, shared, hit.is_rare)
    };
    let found = Match {
        how: digest.map_or(hit.how, |digest| digest.how),
        via: if digest.is_some() {
            Vec::new()
        } else {
            hit.via
        },
        weight,
        origin: hit.origin,
        place: Box::default(),
        shared,
        label: None,
        sample: hit.sample,
    };
    (found, digest.map_or(hit.leaf, |digest| digest.leaf))
}

/// Weighs a field or content that is known as a whole.
fn digest(hit: &DigestHit, is_whole: bool) -> (Match, u32) {
    let found = Match {
        how: hit.how,
        via: Vec::new(),
        origin: hit.origin.clone(),
        place: Box::default(),
        shared: hit.length,
        // Longer text that could weigh more has windows.
        weight: if is_whole {
            Weight::Notable
        } else {
            Weight::Trace
        },
        label: None,
        sample: nothing(),
    };
    (found, hit.leaf)
}

/// Stands where a sample would.
fn nothing() -> Masked {
    Masked::from_safe("…")
}

/// Tells whether the tokens of a message are facts enough: those of all origins together, since
/// several documents speak of the same matter, and with them the text that is shared.
fn is_notable(hits: &[TokenHits], matches: &[(Match, u32)]) -> bool {
    let text = matches.iter().map(|(one, _)| one);
    let text = text.filter(|one| one.origin.side == Side::Inside && one.label.is_none());
    let longest = text.map(|one| one.shared).max().unwrap_or(0);
    let sum = |of: fn(&TokenHits) -> u32| hits.iter().map(of).sum::<u32>();
    let (names, count) = (sum(|hit| hit.names), sum(|hit| hit.count));
    let rare = sum(|hit| hit.points) - names;
    let text = if rare >= CODE { longest / POINT } else { 0 };
    rare > 0 && count >= TOKENS && rare + names.min(NAMES) + text >= POINTS
}

fn tokens(hit: TokenHits, notable: bool) -> (Match, u32) {
    let found = Match {
        how: Likeness::Tokens,
        via: Vec::new(),
        origin: hit.origin,
        place: Box::default(),
        shared: hit.length,
        weight: if notable {
            Weight::Notable
        } else {
            Weight::Trace
        },
        label: None,
        sample: Masked::from_safe(format!("{} values", hit.count)),
    };
    (found, hit.leaf)
}

/// Weighs shared text by its length; what is public weighs nothing, and what everybody writes weighs
/// little.
fn weight(origin: &DataOrigin, shared: u32, is_rare: bool) -> Weight {
    match origin.side {
        Side::Inside if shared >= NOTABLE && is_rare => Weight::Notable,
        Side::Inside | Side::Outside => Weight::Trace,
    }
}
