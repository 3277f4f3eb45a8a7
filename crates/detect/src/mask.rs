//! What may be shown of a value: enough to recognize one's own, never enough to use it.
//!
//! Nothing here decides what is sensitive. Each type leaves at most what its arm below says.

use mcpproxy_core::Masked;

use crate::{Category, Detection};

/// Shows what may be shown of a `value` of type `kind`.
pub fn sample(kind: &str, value: &str) -> Masked {
    Masked::from_safe(match kind {
        "email" => email(value),
        "ssn" | "us_itin" => format!("***-**-{}", last_digits(value, 4)),
        "credit_card" => format!("****-****-****-{}", last_digits(value, 4)),
        "phone" => format!("***{}", last_digits(value, 2)),
        "iban" => iban(value),
        "bank_account" => long_tail(value, 10, 4),
        "ip_address" => network(value),
        "mac_address" => "**:**:**:**:**:**".to_owned(),
        "date_of_birth" => "****-**-**".to_owned(),
        "crypto_address" => wallet(value),
        "postal_address" | "bic" => "***".to_owned(),
        _ => long_tail(value, 8, 2),
    })
}

/// The text with every value in it that a detection names replaced by its sample.
///
/// Detections of paths and of hostile or unreadable text name no value and change nothing.
pub fn mask_in(text: &str, detections: &[Detection]) -> String {
    let mut values: Vec<&Detection> = detections
        .iter()
        .filter(|detection| is_value(detection.category))
        .collect();
    values.sort_by_key(|detection| (detection.span.start, usize::MAX - detection.span.end));
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for detection in values {
        let end = ceil(text, detection.span.end);
        if end <= at {
            continue;
        }
        let start = floor(text, detection.span.start);
        if start >= at {
            masked.push_str(text.get(at..start).unwrap_or_default());
            masked.push_str(detection.sample.as_str());
        } else {
            // Two values overlap: of the second nothing at all is left.
            masked.push_str("***");
        }
        at = end;
    }
    masked.push_str(text.get(at..).unwrap_or_default());
    masked
}

/// Whether detections of this family stand on a value.
/// Tells whether detections of a category name a value.
pub fn is_value(category: Category) -> bool {
    match category {
        Category::CloudCredentials
        | Category::PrivateKey
        | Category::ApiToken
        | Category::AuthToken
        | Category::DatabaseCredential
        | Category::CreditCard
        | Category::Pii
        | Category::HighEntropy
        | Category::Custom => true,
        Category::SensitiveFile
        | Category::HiddenText
        | Category::HostileText
        | Category::Opaque => false,
    }
}

/// The first letter of who, and the last label of where.
fn email(value: &str) -> String {
    let (local, domain) = value.rsplit_once('@').unwrap_or((value, ""));
    let first = local.chars().next().filter(|_| local.chars().count() > 2);
    let last = domain.rsplit_once('.').map_or("", |(_, last)| last);
    format!(
        "{}***@***.{last}",
        first.map(String::from).unwrap_or_default()
    )
}

/// The country and the last four.
fn iban(value: &str) -> String {
    let country: String = value.chars().take(2).collect();
    format!("{country}**…{}", last(value, 4))
}

/// The first number of an IPv4 address; nothing of an IPv6 address.
fn network(value: &str) -> String {
    match value.split_once('.') {
        Some((first, _)) => format!("{first}.*.*.*"),
        None => "****::****".to_owned(),
    }
}

/// The first and the last four.
fn wallet(value: &str) -> String {
    let first: String = value.chars().take(4).collect();
    format!("{first}…{}", last(value, 4))
}

/// The last `shown` letters or digits of a value that has at least `least` of them.
fn long_tail(value: &str, least: usize, shown: usize) -> String {
    let length = value
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .count();
    if length < least {
        return "***".to_owned();
    }
    format!("***{}", last(value, shown))
}

/// The last `count` digits.
fn last_digits(value: &str, count: usize) -> String {
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    last(&digits, count)
}

/// The last `count` letters or digits.
fn last(value: &str, count: usize) -> String {
    let letters: Vec<char> = value
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    let from = letters.len().saturating_sub(count);
    letters.get(from..).unwrap_or_default().iter().collect()
}

/// The next place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|place| text.is_char_boundary(*place))
        .unwrap_or(0)
}

/// The next place at or after `at` where a character begins.
fn ceil(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len())
        .find(|place| text.is_char_boundary(*place))
        .unwrap_or(text.len())
}
