//! The bytes of an event: a version, what it is, its session, and the rest as each kind has it.

use std::sync::Arc;

use mcpproxy_core::{
    CallId, DataOrigin, FlowScope, FlowType, Label, Likeness, Masked, Nature, RiskLevel,
    SessionBasis, SessionKey, Severity, Side, Taint, ToolName, UpstreamId, Wall, Weight,
};

use super::bytes::{Packer, Unpacker};
use super::{Event, Fate, Sent, What};
use crate::digests::MOST as DIGESTS;
use crate::origins::Voice;
use crate::reading::{GRAMS, Reading, TOKENS};
use crate::roll::TAG_BITS;
use crate::secret::{Bits, ENTRIES, LONGEST, SecretPrint, Spelled};
use crate::sending::TAILS;
use crate::session::Edge;
use crate::typed::{Kind, Token};

/// The form that is written; another one is not read.
pub(super) const VERSION: u8 = 7;
/// Bytes of a tag.
const TAG: usize = 5;
const _: () = assert!(TAG_BITS == 40);

const FATES: [Fate; 3] = [Fate::Undone, Fate::Left, Fate::Stopped];
const SPELLED: [Spelled; 3] = [Spelled::No, Spelled::Within, Spelled::Beside];
const SIDES: [Side; 2] = [Side::Inside, Side::Outside];
const NATURES: [Nature; 3] = [Nature::Typed, Nature::Personal, Nature::Secret];
const LIKENESSES: [Likeness; 7] = [
    Likeness::Exact,
    Likeness::Field,
    Likeness::Normalized,
    Likeness::Fragment,
    Likeness::Encoded,
    Likeness::Pieces,
    Likeness::Tokens,
];
const WEIGHTS: [Weight; 3] = [Weight::Trace, Weight::Notable, Weight::Sensitive];
const FLOWS: [FlowType; 5] = [
    FlowType::None,
    FlowType::InternalToInternal,
    FlowType::ExternalToExternal,
    FlowType::ExternalToInternal,
    FlowType::InternalToExternal,
];
const RISKS: [RiskLevel; 4] = [
    RiskLevel::None,
    RiskLevel::Medium,
    RiskLevel::High,
    RiskLevel::Critical,
];

impl Event {
    /// Packs it into bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Packer::default();
        to.byte(VERSION);
        to.byte(number(&self.what));
        session(&mut to, self.session);
        match &self.what {
            What::Read(from, read) => {
                origin(&mut to, from);
                reading(&mut to, read);
            }
            What::Said(from, whose, read) => {
                origin(&mut to, from);
                voice(&mut to, whose);
                reading(&mut to, read);
            }
            What::Secrets(from, secrets) => {
                origin(&mut to, from);
                to.count(secrets.len());
                for one in secrets {
                    secret(&mut to, one);
                }
            }
            What::Sent(one) => sent(&mut to, one),
            What::Settled(call, fate) => {
                to.fixed(&call.to_bytes());
                to.pick(&FATES, fate);
            }
            What::Marked(legs) => {
                for leg in [legs.private, legs.untrusted, legs.outside] {
                    to.byte(u8::from(leg));
                }
            }
            What::Unread | What::Denied | What::Ordered => {}
            What::Justified(at, came) => {
                to.name(at);
                to.byte(u8::from(*came));
            }
            What::Flow(call, flow, risk) => {
                to.fixed(&call.to_bytes());
                to.pick(&FLOWS, flow);
                to.pick(&RISKS, risk);
            }
            What::Moved(one) => edge(&mut to, one),
            What::Linked(with, home) => {
                session(&mut to, *with);
                to.count(usize::from(home.is_some()));
                if let Some(FlowScope(home)) = home {
                    to.id(*home);
                }
            }
        }
        to.0
    }

    /// Reads what [`Event::encode`] wrote; nothing where that was not it.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Unpacker(bytes);
        if from.byte()? != VERSION {
            return None;
        }
        let kind = from.byte()?;
        let session = read_session(&mut from)?;
        let what = read_what(kind, &mut from)?;
        from.0.is_empty().then_some(Self { session, what })
    }
}

fn number(what: &What) -> u8 {
    match what {
        What::Read(..) => 0,
        What::Secrets(..) => 1,
        What::Said(..) => 2,
        What::Sent(_) => 3,
        What::Settled(..) => 4,
        What::Marked(_) => 5,
        What::Unread => 6,
        What::Denied => 7,
        What::Justified(..) => 8,
        What::Flow(..) => 9,
        What::Moved(_) => 10,
        What::Linked(..) => 11,
        What::Ordered => 12,
    }
}

fn voice(to: &mut Packer, voice: &Voice) {
    match voice {
        Voice::Read => to.byte(0),
        Voice::User => to.byte(1),
        Voice::Agent(None) => to.byte(2),
        Voice::Agent(Some(place)) => {
            to.byte(3);
            to.name(place);
        }
    }
}

fn read_voice(from: &mut Unpacker<'_>) -> Option<Voice> {
    Some(match from.byte()? {
        0 => Voice::Read,
        1 => Voice::User,
        2 => Voice::Agent(None),
        3 => Voice::Agent(Some(from.name()?.into())),
        _ => return None,
    })
}

fn read_what(kind: u8, from: &mut Unpacker<'_>) -> Option<What> {
    Some(match kind {
        0 => What::Read(read_origin(from)?, read_reading(from)?),
        1 => What::Secrets(
            read_origin(from)?,
            from.list(ENTRIES, MIN_SECRET, read_secret)?,
        ),
        2 => What::Said(read_origin(from)?, read_voice(from)?, read_reading(from)?),
        3 => What::Sent(read_sent(from)?),
        4 => What::Settled(read_call(from)?, from.pick(&FATES)?),
        5 => What::Marked(Taint {
            private: from.flag()?,
            untrusted: from.flag()?,
            outside: from.flag()?,
        }),
        6 => What::Unread,
        7 => What::Denied,
        8 => What::Justified(from.name()?.into(), from.flag()?),
        9 => What::Flow(read_call(from)?, from.pick(&FLOWS)?, from.pick(&RISKS)?),
        10 => What::Moved(read_edge(from)?),
        11 => What::Linked(
            read_session(from)?,
            from.list(1, 16, |from| from.id().map(FlowScope))?.pop(),
        ),
        12 => What::Ordered,
        _ => return None,
    })
}

fn session(to: &mut Packer, key: SessionKey) {
    to.pick(&SessionBasis::ALL, &key.basis);
    to.id(key.id);
}

fn read_session(from: &mut Unpacker<'_>) -> Option<SessionKey> {
    Some(SessionKey {
        basis: from.pick(&SessionBasis::ALL)?,
        id: from.id()?,
    })
}

fn read_call(from: &mut Unpacker<'_>) -> Option<CallId> {
    from.fixed().map(CallId::from_bytes)
}

fn origin(to: &mut Packer, origin: &DataOrigin) {
    to.fixed(&origin.call.to_bytes());
    to.name(origin.upstream.as_str());
    to.name(origin.tool.as_str());
    to.number(origin.at.0);
    to.pick(&SIDES, &origin.side);
}

fn read_origin(from: &mut Unpacker<'_>) -> Option<DataOrigin> {
    Some(DataOrigin {
        call: read_call(from)?,
        upstream: UpstreamId::new(from.name()?),
        tool: ToolName::new(from.name()?),
        at: Wall(from.number()?),
        side: from.pick(&SIDES)?,
    })
}

fn reading(to: &mut Packer, reading: &Reading) {
    let Reading {
        grams,
        digests,
        secrets: _,
        tokens,
    } = reading;
    to.count(grams.len());
    for gram in grams {
        let [_, _, _, tag @ ..] = gram.to_be_bytes();
        to.fixed(&tag);
    }
    let digests = digests.get(..DIGESTS).unwrap_or(digests);
    to.count(digests.len());
    for digest in digests {
        to.id(*digest);
    }
    to.count(tokens.len());
    for token in tokens {
        to.fixed(&token.hash.to_be_bytes());
        to.byte(token.kind.note());
        to.number(u64::from(token.length));
    }
}

fn read_reading(from: &mut Unpacker<'_>) -> Option<Reading> {
    let gram = |from: &mut Unpacker<'_>| {
        let tag = from.take(TAG)?;
        Some(tag.iter().fold(0, |tag, &byte| tag << 8 | u64::from(byte)))
    };
    let token = |from: &mut Unpacker<'_>| {
        Some(Token {
            hash: u64::from_be_bytes(from.fixed()?),
            kind: Kind::of_note(from.byte()?),
            length: u32::try_from(from.number()?).ok()?,
            first: false,
        })
    };
    Some(Reading {
        grams: from.list(GRAMS, TAG, gram)?,
        digests: from.list(DIGESTS, 16, Unpacker::id)?,
        secrets: Vec::new(),
        tokens: from.list(TOKENS, 10, token)?,
    })
}

/// The least bytes of a secret, and of what a call takes along.
const MIN_SECRET: usize = 16;
const MIN_PIECE: usize = 9;

fn secret(to: &mut Packer, secret: &SecretPrint) {
    let label = &secret.label;
    to.name(&label.kind);
    to.name(label.word);
    to.pick(&Severity::ALL, &label.severity);
    to.byte(u8::from(label.validated));
    to.pick(&NATURES, &label.nature);
    to.fixed(&secret.whole.to_be_bytes());
    to.count(secret.length);
    to.name(secret.sample.as_str());
    to.byte(u8::from(secret.digits));
    to.byte(u8::from(secret.figures));
    to.pick(&SPELLED, &secret.spelled);
    to.count(secret.windows.len());
    let windows = secret.windows.iter();
    windows.for_each(|window| to.fixed(&window.to_be_bytes()));
}

fn read_secret(from: &mut Unpacker<'_>) -> Option<SecretPrint> {
    Some(SecretPrint {
        label: Label {
            kind: from.name()?.into(),
            word: Label::word_of(from.name()?),
            severity: from.pick(&Severity::ALL)?,
            validated: from.flag()?,
            nature: from.pick(&NATURES)?,
        },
        whole: u64::from_be_bytes(from.fixed()?),
        length: usize::try_from(from.number()?).ok()?,
        sample: Masked::from_safe(from.name()?),
        digits: from.flag()?,
        figures: from.flag()?,
        spelled: from.pick(&SPELLED)?,
        windows: from.list(LONGEST, 4, |from| from.fixed().map(u32::from_be_bytes))?,
    })
}

fn sent(to: &mut Packer, sent: &Sent) {
    to.fixed(&sent.call.to_bytes());
    to.name(&sent.to);
    let secrets = sent.secrets.get(..ENTRIES).unwrap_or(&sent.secrets);
    to.count(secrets.len());
    for (whole, bits) in secrets {
        to.fixed(&whole.to_be_bytes());
        to.count(bits.0.len());
        bits.0.iter().for_each(|word| to.fixed(&word.to_be_bytes()));
    }
    to.count(sent.pieces.len());
    for (path, piece) in &sent.pieces {
        to.fixed(&path.to_be_bytes());
        to.name(piece);
    }
    to.count(usize::from(sent.counted.is_some()));
    if let Some((bytes, personal)) = sent.counted {
        to.number(bytes);
        to.byte(u8::from(personal));
    }
}

fn read_sent(from: &mut Unpacker<'_>) -> Option<Sent> {
    let words = |from: &mut Unpacker<'_>| {
        from.list(LONGEST / 64, 8, |from| from.fixed().map(u64::from_be_bytes))
    };
    Some(Sent {
        call: read_call(from)?,
        to: from.name()?.into(),
        secrets: from.list(ENTRIES, MIN_PIECE, |from| {
            Some((u64::from_be_bytes(from.fixed()?), Bits(words(from)?)))
        })?,
        pieces: from.list(TAILS, MIN_PIECE, |from| {
            Some((u64::from_be_bytes(from.fixed()?), from.name()?.to_owned()))
        })?,
        counted: from
            .list(1, 2, |from| Some((from.number()?, from.flag()?)))?
            .pop(),
    })
}

fn edge(to: &mut Packer, edge: &Edge) {
    to.fixed(&edge.call.to_bytes());
    origin(to, &edge.origin);
    to.name(&edge.to);
    to.name(edge.tool.as_str());
    to.pick(&LIKENESSES, &edge.how);
    to.pick(&WEIGHTS, &edge.weight);
    to.number(u64::from(edge.shared));
    to.pick(&FLOWS, &edge.flow);
    to.pick(&RISKS, &edge.risk);
    to.count(usize::from(edge.hash.is_some()));
    if let Some(hash) = edge.hash {
        to.id(hash);
    }
}

fn read_edge(from: &mut Unpacker<'_>) -> Option<Edge> {
    Some(Edge {
        call: read_call(from)?,
        origin: read_origin(from)?,
        to: Arc::from(from.name()?),
        tool: ToolName::new(from.name()?),
        how: from.pick(&LIKENESSES)?,
        weight: from.pick(&WEIGHTS)?,
        shared: u32::try_from(from.number()?).ok()?,
        flow: from.pick(&FLOWS)?,
        risk: from.pick(&RISKS)?,
        hash: from.list(1, 16, Unpacker::id)?.pop(),
    })
}
