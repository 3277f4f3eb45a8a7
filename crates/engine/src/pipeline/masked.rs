//! What a hook that may not see secrets is shown instead, and what is kept of its own words.

use bytes::Bytes;
use mcpproxy_core::Masked;
use mcpproxy_detect::mask::mask_in;
use mcpproxy_detect::{Context, Detection, Found};
use mcpproxy_text::{self as text, Splice};

use crate::engine::Engine;
use crate::ready::Ready;
use crate::record::without_stumps;

/// Returns what replaces secrets and personal data in JSON text by what may be shown of them. It
/// gives nothing where some of the text was not read, or holds more values than are told: nobody knows
/// what stands there.
pub(crate) fn mask(ready: &Ready) -> impl Fn(&Bytes) -> Option<Bytes> + Send + Sync + '_ {
    move |raw| {
        let json = std::str::from_utf8(raw).ok()?;
        let report = ready.masker()?.json(json, Context::default());
        if !report.coverage.is_complete() {
            return None;
        }
        if report.detections.is_empty() {
            return Some(raw.clone());
        }
        Some(replaced(json, &report.detections).into())
    }
}

/// Makes words of a hook safe to show.
pub(super) fn words(ready: &Ready, words: &str) -> Masked {
    let report = ready.masker().map(|masker| masker.text(words));
    let Some(report) = report.filter(|report| report.coverage.is_complete()) else {
        return Masked::from_safe("[withheld: it cannot be told whether it holds a secret]");
    };
    let found = report.detections.into_iter();
    let found: Vec<Detection> = found.map(|found| found.detection).collect();
    Masked::from_safe(mask_in(words, &found))
}

impl Engine {
    /// Makes words of somebody else safe to show, as those that an upstream writes to its log.
    pub fn masked(&self, said: &str) -> Masked {
        words(&self.ready(), said)
    }

    /// Makes a reason for a quarantine safe to show: it names what upstreams offer, and cuts long names.
    pub fn masked_reason(&self, reason: &str) -> Masked {
        words(&self.ready(), &without_stumps(reason))
    }
}

/// Replaces the values that were found, leaf by leaf, so that what comes out is JSON again.
fn replaced(json: &str, found: &[Found]) -> Vec<u8> {
    let mut splice = Splice::default();
    for leaf in found.chunk_by(|one, next| one.leaf == next.leaf) {
        let Some(first) = leaf.first() else { continue };
        let span = first.leaf.clone();
        let raw = json.get(span.clone()).unwrap_or_default();
        let plain = text::string(raw).unwrap_or(raw.into());
        let detections: Vec<Detection> = leaf.iter().map(|one| one.detection.clone()).collect();
        let masked = mask_in(&plain, &detections);
        if masked != plain {
            splice.replace(span, serde_json::Value::from(masked).to_string());
        }
    }
    splice.apply(json.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ready::EngineSettings;

    #[test]
    fn secrets_are_masked_and_the_rest_stays_byte_for_byte() {
        let check = |enabled: bool, json: &str, expect: &str| {
            let mut settings = EngineSettings::default();
            settings.detector.enabled = enabled;
            let ready = Ready::new(settings).unwrap();
            let masked = mask(&ready)(&Bytes::from(json.to_owned())).unwrap();
            assert_eq!(std::str::from_utf8(&masked).unwrap(), expect);
        };
        let plain = r#"{ "a" : 1.0, "b":"\u0041\n" }"#;
        check(true, plain, plain);
        let secret = r#"{"note":"the key\n is AKIAQ3EGRTLZ7VHWN2KM, keep it","n":[1.50]}"#;
        let shown = r#"{"note":"the key\n is AKIA***KM, keep it","n":[1.50]}"#;
        check(true, secret, shown);
        // Who wants no alarm does not want to tell everybody either.
        check(false, secret, shown);
    }

    #[test]
    fn what_was_not_read_is_not_shown() {
        let mut settings = EngineSettings::default();
        settings.detector.max_payload_size_kb = 1;
        let ready = Ready::new(settings).unwrap();
        let long = format!(r#"{{"a":"{}"}}"#, "long text ".repeat(500));
        assert_eq!(mask(&ready)(&Bytes::from(long)), None);
    }

    #[test]
    fn a_secret_behind_many_values_is_not_shown() {
        let ready = Ready::new(EngineSettings::default()).unwrap();
        let people = |count: usize| {
            let people = (0..count).map(|n| format!("person{n}@corvane-freight.com "));
            people.collect::<String>()
        };
        let keys = "AKIAQ3EGRTLZ7VHWN2KM ".repeat(10_001);
        // Harmless words in a coding, more of them than are decoded.
        let coded = "aGVsbG8gYXQgdGhlIHRpZGUgdG9kYXk= ".repeat(2_000);
        for text in [people(10_001), keys, coded] {
            let json = format!(r#"{{"a":"{text}","b":"AKIAQ3EGRTLZ7VHWN2KM"}}"#);
            assert_eq!(mask(&ready)(&Bytes::from(json)), None, "{}", text.len());
            let said = words(&ready, &format!("{text} AKIAQ3EGRTLZ7VHWN2KM"));
            assert!(said.as_str().starts_with("[withheld"), "{}", text.len());
        }
        // Its harmless twin.
        let json = format!(r#"{{"a":"{}","b":"the tide"}}"#, people(2_000));
        let shown = mask(&ready)(&Bytes::from(json)).unwrap();
        let shown = std::str::from_utf8(&shown).unwrap();
        assert!(shown.ends_with(r#","b":"the tide"}"#) && !shown.contains("person7@"));
    }
}
