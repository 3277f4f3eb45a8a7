//! What is put into a play before it is played: secrets that nobody has used before, texts in
//! disguise, and the names that upstreams have in this gateway.
//!
//! `{{token}}` is made up from the name of the case, so that it is the same in every run and another
//! one in every case. `{{=some words|tags}}` are those words in a disguise; disguises can follow each
//! other. `{{@mail}}` is the upstream that the case calls `mail`.

use sha2::{Digest as _, Sha256};

use serde_json::Value;

use super::Play;
use crate::disguise::disguised;
use crate::error::Error;

const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const DIGITS: &[u8] = b"0123456789";
const WORDS: &[&str] = &[
    "anchor", "barge", "cistern", "dovetail", "ember", "furrow", "gantry", "hollow", "ingot",
    "jetty", "kelp", "lantern", "mortar", "nettle", "orchard", "pulley", "quarry", "rafter",
    "sluice", "thistle", "urn", "vessel", "willow", "yarrow", "zinc", "bramble", "cobble", "delta",
    "estuary", "fathom", "granite", "heather",
];

/// Returns a play with everything put in; upstreams are called as `name` says.
pub(crate) fn filled(
    play: &Play,
    case: &str,
    name: &dyn Fn(&str) -> String,
) -> Result<Play, Error> {
    let senseless = |why: String| Error::Senseless {
        case: case.to_owned(),
        why,
    };
    let mut value = serde_json::to_value(play).map_err(|fault| senseless(fault.to_string()))?;
    walk(&mut value, &mut |text| fill(text, case, name)).map_err(senseless)?;
    let mut play: Play =
        serde_json::from_value(value).map_err(|fault| senseless(fault.to_string()))?;
    for role in &mut play.upstreams {
        role.name = name(&role.name);
    }
    for step in &mut play.steps {
        for place in [&mut step.call, &mut step.prompt, &mut step.read] {
            rename(place, name);
        }
        for place in [&mut step.refresh, &mut step.restart, &mut step.swap] {
            *place = place.take().map(|one| name(&one));
        }
    }
    Ok(play)
}

/// Renames the upstream in front of the first colon or bar.
fn rename(place: &mut Option<String>, name: &dyn Fn(&str) -> String) {
    if let Some((at, rest)) = place.as_deref().and_then(|one| one.split_once([':', '|'])) {
        let mark = if place.as_deref().is_some_and(|one| one.contains('|')) {
            '|'
        } else {
            ':'
        };
        *place = Some(format!("{}{mark}{rest}", name(at)));
    }
}

/// Changes every string and every key of a value.
fn walk(
    value: &mut Value,
    change: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<(), String> {
    match value {
        Value::String(text) => *text = change(text)?,
        Value::Array(items) => {
            for item in items {
                walk(item, change)?;
            }
        }
        Value::Object(members) => {
            for (key, mut member) in std::mem::take(members) {
                walk(&mut member, change)?;
                members.insert(change(&key)?, member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn fill(text: &str, case: &str, name: &dyn Fn(&str) -> String) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, behind) = after
            .split_once("}}")
            .ok_or_else(|| format!("`{{{{` without an end in `{text}`"))?;
        out.push_str(before);
        out.push_str(&made(inside, case, name)?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn made(inside: &str, case: &str, name: &dyn Fn(&str) -> String) -> Result<String, String> {
    let mut parts = inside.split('|');
    let what = parts.next().unwrap_or_default();
    let plain = if let Some(words) = what.strip_prefix('=') {
        words.to_owned()
    } else if let Some(upstream) = what.strip_prefix('@') {
        name(upstream)
    } else {
        secret(what, case).ok_or_else(|| format!("nothing is made up as `{what}`"))?
    };
    parts.try_fold(plain, |text, disguise| {
        disguised(&text, disguise).ok_or_else(|| format!("there is no disguise `{disguise}`"))
    })
}

/// Makes something up that has the shape of the real thing and is nobody's.
fn secret(what: &str, case: &str) -> Option<String> {
    if let Some(length) = what.strip_prefix("pad") {
        return Some("x".repeat(length.parse().ok()?));
    }
    let mut dice = Dice::new(&format!("{case}/{what}"));
    // A number behind the name makes another one of the kind.
    Some(
        match what.trim_end_matches(|letter: char| letter.is_ascii_digit()) {
            "token" => format!("glpat-{}", dice.text(LETTERS, 20)),
            "aws" => format!("AKIA{}", dice.text(CAPITALS, 16)),
            "password" => format!("{}!{}", dice.text(LETTERS, 9), dice.text(DIGITS, 3)),
            "code" => format!("{}-{}", dice.text(CAPITALS, 3), dice.text(DIGITS, 6)),
            "card" => card(&mut dice),
            "ssn" => format!(
                "{}-{}-{}",
                123 + dice.below(500),
                11 + dice.below(80),
                1001 + dice.below(8000)
            ),
            "prose" => {
                let words: Vec<&str> = (0..28).filter_map(|_| dice.word()).collect();
                words.join(" ")
            }
            _ => return None,
        },
    )
}

/// A number whose last digit is right.
fn card(dice: &mut Dice) -> String {
    let mut digits: Vec<usize> = vec![4];
    digits.extend((0..14).map(|_| dice.below(10)));
    let sum: usize = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let twice = digit * 2;
            match (at % 2, twice) {
                (0, 10..) => twice - 9,
                (0, _) => twice,
                (_, _) => *digit,
            }
        })
        .sum();
    digits.push((10 - sum % 10) % 10);
    digits.iter().map(ToString::to_string).collect()
}

/// Numbers that follow from a name.
struct Dice {
    seed: String,
    turn: u32,
    bytes: Vec<u8>,
}

impl Dice {
    fn new(seed: &str) -> Self {
        Self {
            seed: seed.to_owned(),
            turn: 0,
            bytes: Vec::new(),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        if self.bytes.len() < 4 {
            let digest = Sha256::digest(format!("{}/{}", self.seed, self.turn));
            self.turn += 1;
            self.bytes.extend_from_slice(&digest);
        }
        let four = self
            .bytes
            .drain(..4)
            .fold(0, |sum, byte| sum * 256 + usize::from(byte));
        four % bound.max(1)
    }

    fn text(&mut self, letters: &[u8], length: usize) -> String {
        let picked = (0..length).filter_map(|_| letters.get(self.below(letters.len())));
        picked.map(|byte| char::from(*byte)).collect()
    }

    fn word(&mut self) -> Option<&'static str> {
        WORDS.get(self.below(WORDS.len())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let name = |one: &str| format!("{one}-7");
        assert_eq!(fill(text, "case", &name).as_deref(), Ok(expect));
    }

    #[test]
    fn names_words_and_disguises_are_put_in() {
        check("plain", "plain");
        check("to {{@mail}} now", "to mail-7 now");
        check("{{=go|rot13|hex}}!", "7462!");
        let unknown = fill("{{nothing}}", "case", &str::to_owned);
        assert!(unknown.unwrap_err().contains("`nothing`"));
        assert!(fill("{{=go|so}}", "case", &str::to_owned).is_err());
        assert!(fill("{{=go", "case", &str::to_owned).is_err());
    }

    #[test]
    fn secrets_are_the_same_in_every_run_and_others_in_every_case() {
        for kind in ["token", "aws", "password", "code", "card", "ssn", "prose"] {
            let first = secret(kind, "one");
            assert!(first.is_some(), "{kind}");
            assert_eq!(first, secret(kind, "one"));
            assert_ne!(first, secret(kind, "two"));
            assert_ne!(first, secret(&format!("{kind}2"), "one"));
        }
    }
}
