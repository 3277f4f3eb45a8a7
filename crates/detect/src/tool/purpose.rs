//! What a tool is about, by what names it: its name, title, parameters and first sentence.
//!
//! A tool that is about credentials may speak of credentials. Descriptions beyond the first
//! sentence do not count: whatever is smuggled into them would excuse itself.

use serde_json::Value;

use crate::detector::Detector;
use crate::hostile::About;
use crate::tool::{fields, params};

/// The longest first sentence that says what a tool is for.
const LONGEST: usize = 160;

/// The longest name of a parameter that is a name and not a sentence.
const NAME: usize = 24;

/// Returns what a descriptor is about.
pub(crate) fn of(tool: &Value, detector: &Detector) -> About {
    let text = |field: &str| tool.get(field).and_then(Value::as_str).unwrap_or_default();
    let names = params::names(tool);
    let names = names.iter().filter(|name| name.len() <= NAME);
    let names: Vec<String> = names.map(|name| apart(name)).collect();
    let title = format!("{} {}", apart(text("name")), text("title"));
    let first = text("description").split_inclusive(['.', '\n']).next();
    let first = first
        .filter(|first| first.len() <= LONGEST)
        .unwrap_or_default();
    detector.about(&title, &names.join(" "), first)
}

/// Returns what a descriptor has spoken of so far, in whatever place.
pub(crate) fn so_far(tool: &Value, detector: &Detector) -> About {
    let texts: Vec<String> = fields::of(tool)
        .into_iter()
        .map(|field| field.text)
        .collect();
    let names: Vec<String> = params::names(tool).iter().map(|name| apart(name)).collect();
    let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
    let all = format!("{} {} {}", apart(name), names.join(" "), texts.join(" "));
    detector.about(&all, "", "").later()
}

/// The words of a name in any of the usual spellings.
fn apart(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.push(letter);
    }
    words
}
