//! Conversations in which something private leaves: every transformation, in all carriers and
//! positions.

use serde_json::{Value, json};

use super::carrier::{Carrier, Position, send, send_to};
use super::data::{self, Need, Private, arguments};
use super::disguise::{DISGUISES, Disguise, Shape, UNSEEN};
use super::session::{Call, Label, Meta, Session};
use super::words::{Scene, Set, Source};

/// Makes so many conversations for each transformation.
pub(super) fn sessions(seed: u64, set: Set, each: usize) -> Vec<Session> {
    let one = |disguise: &Disguise, number| session(seed, set, disguise, number);
    let unseen = if set == Set::HeldOut { UNSEEN } else { &[] };
    let all = DISGUISES.iter().chain(unseen);
    all.flat_map(|disguise| (0..each).map(move |number| one(disguise, number)))
        .collect()
}

fn session(seed: u64, set: Set, disguise: &Disguise, number: usize) -> Session {
    let id = format!("leak/{}/{}/{number}", set.name(), disguise.name);
    let mut scene = Scene::new(set.words(), &format!("{seed}/{id}"));
    let kinds = disguise.kinds;
    let kind = kinds.get(number % kinds.len().max(1)).copied();
    let kind = kind.unwrap_or(data::Kind::Secret);
    let private = data::draw(&mut scene, set, kind, disguise.need);
    let mut calls = filler(&mut scene, set);
    calls.push(private.read.clone());
    calls.extend(filler(&mut scene, set));
    let shape = (disguise.make)(&mut scene.random, &private);
    let bytes = shape.bytes();
    let (carrier, position, leaking) = leaking(&mut scene, shape);
    let leaks = (calls.len()..calls.len() + leaking.len()).collect();
    calls.extend(leaking);
    Session {
        id,
        label: Label::Leak,
        meta: Meta {
            set: set.name().to_owned(),
            named: disguise.named,
            unseen: UNSEEN.iter().any(|unseen| unseen.name == disguise.name),
            group: disguise.name.to_owned(),
            data: private.kind.name().to_owned(),
            carrier: carrier.to_owned(),
            position: position.to_owned(),
            bytes,
            leaks,
        },
        calls,
    }
}

/// Calls that have nothing to do with it: a page that is read, a document, a message of one's own.
fn filler(scene: &mut Scene, set: Set) -> Vec<Call> {
    let mut calls = Vec::new();
    for _ in 0..scene.random.below(3) {
        calls.push(match scene.random.below(3) {
            0 => page(scene),
            1 => other(scene, set).read,
            _ => {
                let own = scene.words.own;
                let text = scene.one(own);
                send(scene, |_| json!(text))
            }
        });
    }
    calls
}

/// A public page that is fetched.
pub(super) fn page(scene: &mut Scene) -> Call {
    let (address, text) = scene.random.pick(scene.words.pages);
    let (server, tool, template) = scene.random.pick(scene.words.fetches);
    Call::new(server, tool, arguments(scene, template, address), text)
}

/// Some other private data.
pub(super) fn other(scene: &mut Scene, set: Set) -> Private {
    let kinds = data::Kind::ALL;
    let kind = kinds.get(scene.random.below(kinds.len())).copied();
    data::draw(scene, set, kind.unwrap_or(data::Kind::Prose), Need::Any)
}

/// The calls with which it leaves, and what they carry it in.
fn leaking(scene: &mut Scene, shape: Shape) -> (&'static str, &'static str, Vec<Call>) {
    let sink = scene.random.pick(scene.words.sinks);
    match shape {
        Shape::Text(text) => {
            let (carrier, position) = choose(scene, &text);
            let call = carrier.carry(scene, position, &text);
            (carrier.name(), position.name(), vec![call])
        }
        Shape::Fields(pieces) => {
            let mut call = send_to(scene, sink, |_| json!("see below"));
            extend(&mut call.args, ["part_a", "part_b", "part_c"], &pieces);
            ("fields", "", vec![call])
        }
        Shape::Keys(pieces) => {
            let within = |inner: Value, key: &String| json!({ key.as_str(): inner });
            let value = pieces.iter().rev().fold(json!(true), within);
            ("keys", "", vec![send_to(scene, sink, |_| value)])
        }
        Shape::Calls(pieces) => {
            let first = send_to(scene, sink, |_| json!(""));
            let calls = pieces
                .into_iter()
                .map(|piece| with_text(&first, sink, &piece));
            ("calls", "", calls.collect())
        }
        Shape::Places(pieces) => {
            let mut sinks = scene.words.sinks.to_vec();
            scene.random.shuffle(&mut sinks);
            let places = pieces.into_iter().zip(sinks);
            let calls = places.map(|(piece, sink)| send_to(scene, sink, |_| json!(piece)));
            ("calls", "", calls.collect())
        }
        Shape::Number(number) => {
            let mut call = send_to(scene, sink, |_| json!("done"));
            if let Some(fields) = call.args.as_object_mut() {
                let value = match scene.random.below(2) {
                    0 => json!(number),
                    _ => json!([3, number, 17]),
                };
                fields.insert("value".to_owned(), value);
            }
            ("number", "", vec![call])
        }
    }
}

/// The same call with another text: its destination stays the same.
fn with_text(call: &Call, (_, _, template): Source, text: &str) -> Call {
    let mut call = call.clone();
    let place = template.iter().find(|(_, value)| *value == "{}");
    if let (Some(fields), Some((name, _))) = (call.args.as_object_mut(), place) {
        fields.insert((*name).to_owned(), json!(text));
    }
    call
}

fn extend(args: &mut Value, names: [&str; 3], pieces: &[String]) {
    if let Some(fields) = args.as_object_mut() {
        let pieces = names.iter().zip(pieces);
        fields.extend(pieces.map(|(name, piece)| ((*name).to_owned(), json!(piece))));
    }
}

fn choose(scene: &mut Scene, text: &str) -> (Carrier, Position) {
    let mut carriers = Carrier::ALL;
    let mut positions = Position::ALL;
    scene.random.shuffle(&mut carriers);
    scene.random.shuffle(&mut positions);
    let carrier = carriers.into_iter().find(|carrier| carrier.fits(text));
    let [position, ..] = positions;
    (carrier.unwrap_or(Carrier::Text), position)
}
