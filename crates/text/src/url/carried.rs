//! Data that a URL carries: long or random-looking values in its query, path, name and user info.
//!
//! Only lengths and entropies are reported; whether that is too much is for the caller to say.

use super::Url;

/// Shortest value that is looked at.
const SHORTEST: usize = 20;
/// Length from which a value counts whatever it looks like.
const LONG: usize = 100;
/// Length of all labels together from which they count.
const LABELS: usize = 60;

/// Part of a URL that can carry data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Labels in front of the registered domain.
    Labels,
    /// A segment of the path.
    Path,
    /// A value of the query.
    Query,
    /// What stands behind `#`.
    Fragment,
    /// What stands before `@`.
    UserInfo,
}

/// A value that may be data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried<'a> {
    /// Where in the URL it stands.
    pub part: Part,
    /// The value, still encoded.
    pub value: &'a str,
    /// Its length in bytes.
    pub length: usize,
    /// Bits of entropy in a byte of it.
    pub entropy: f64,
}

/// Returns the values of a URL that are long, or that look random.
pub fn carried<'a>(url: &'a Url<'_>) -> Vec<Carried<'a>> {
    let mut found = Vec::new();
    let mut add = |part, value: &'a str, least: usize| {
        let entropy = if value.len() >= SHORTEST.min(least) {
            entropy(value)
        } else {
            0.0
        };
        if value.len() >= least || is_random(value, entropy) {
            found.push(Carried {
                part,
                value,
                length: value.len(),
                entropy,
            });
        }
    };
    if let Some(labels) = url.host.below() {
        if labels.len() >= LABELS {
            add(Part::Labels, labels, LABELS);
        } else {
            labels
                .split('.')
                .for_each(|label| add(Part::Labels, label, LABELS));
        }
    }
    url.path
        .split(['/', '\\'])
        .for_each(|segment| add(Part::Path, segment, LONG));
    for pair in url
        .query
        .into_iter()
        .flat_map(|query| query.split(['&', ';']))
    {
        add(
            Part::Query,
            pair.split_once('=').map_or(pair, |(_, value)| value),
            LONG,
        );
    }
    add(Part::Fragment, url.fragment.unwrap_or_default(), LONG);
    add(Part::UserInfo, url.userinfo.unwrap_or_default(), LONG);
    found
}

/// Tells whether a value looks random: letters and digits right beside each other, few twice.
fn is_random(value: &str, entropy: f64) -> bool {
    let changes = value.as_bytes().windows(2).filter(|pair| {
        matches!(pair, [a, b] if a.is_ascii_digit() && b.is_ascii_alphabetic()
            || a.is_ascii_alphabetic() && b.is_ascii_digit())
    });
    // Hexadecimal has at most four bits.
    let least = if value.len() >= 32 { 3.4 } else { 3.7 };
    value.len() >= SHORTEST && entropy >= least && changes.count() >= 4
}

/// Returns the Shannon entropy of the bytes of a value, in bits.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let bits = counts.iter().filter(|count| **count > 0).map(|&count| {
        let share = f64::from(count) / total;
        -share * share.log2()
    });
    bits.sum()
}
