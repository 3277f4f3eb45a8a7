//! What signs are worth together: reads `hostile.signs` and adds up.

use crate::error::DetectError;
use crate::hostile::shape::sign::{SIGNS, Sign, Signs};

/// The file the weights are read from.
const FILE: &str = "hostile.signs";

/// From so many points a sentence counts by itself.
const WHOLE: i32 = 50;

/// From so many points a sentence counts that was added to a tool that is known: it has less to go
/// on and more to explain.
const ADDED: i32 = 35;

/// What a sentence with fewer points lacks: beside others it counts for little, so that a long
/// honest text does not add up to an attack.
const LACK: i32 = 30;

/// The acts that a sign can be a sign of, with the id under which a sentence is reported.
const ACTS: &[(&str, &str)] = &[
    ("address", "address.signs"),
    ("bypass", "bypass.signs"),
    ("command", "command.signs"),
    ("credential", "credential.signs"),
    ("crosstool", "crosstool.signs"),
    ("destroy", "destroy.signs"),
    ("exfiltrate", "exfiltrate.signs"),
    ("override", "override.signs"),
    ("phish", "phish.signs"),
    ("preference", "preference.signs"),
    ("pressure", "pressure.signs"),
    ("secrecy", "secrecy.signs"),
    ("shadow", "shadow.signs"),
    ("smuggle", "smuggle.signs"),
    ("tamper", "tamper.signs"),
];

/// The weights of all signs.
#[derive(Debug)]
pub(crate) struct Weights(Vec<Weight>);

#[derive(Debug)]
struct Weight {
    sign: Sign,
    points: i32,
    id: &'static str,
}

impl Weights {
    /// Reads lines of `sign points act`.
    pub(crate) fn parse(source: &str) -> Result<Self, DetectError> {
        let lines = source.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let weights = lines.map(|line| parse_line(line).ok_or_else(|| fault(line)));
        weights.collect::<Result<_, _>>().map(Self)
    }

    /// The act that a sentence with these signs is, and its weight; nothing if it is not worth it.
    pub(crate) fn weigh(&self, signs: Signs, later: bool) -> Option<(&'static str, u8)> {
        let there = || self.0.iter().filter(|weight| signs.has(weight.sign));
        let sum: i32 = there().map(|weight| weight.points).sum();
        let heaviest = there().max_by_key(|weight| weight.points)?;
        let counted = match sum {
            WHOLE.. => sum.min(100),
            ADDED.. if later => WHOLE,
            _ => sum - LACK,
        };
        let counted = u8::try_from(counted).ok().filter(|counted| *counted > 0)?;
        Some((heaviest.id, counted))
    }
}

fn parse_line(line: &str) -> Option<Weight> {
    let mut parts = line.split_whitespace();
    let name = parts.next()?;
    let (_, sign) = SIGNS.iter().find(|(known, _)| *known == name)?;
    let points = parts.next()?.parse().ok()?;
    let act = parts.next()?;
    let (_, id) = ACTS.iter().find(|(known, _)| *known == act)?;
    Some(Weight {
        sign: *sign,
        points,
        id,
    })
}

fn fault(line: &str) -> DetectError {
    DetectError::Rule {
        file: FILE.to_owned(),
        rule: line.chars().take(40).collect(),
        reason: "no known sign, points and act".to_owned(),
    }
}
