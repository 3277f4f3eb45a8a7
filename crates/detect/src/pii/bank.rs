//! Bank accounts by IBAN and banks by BIC.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::checksum::mod97;
use super::view::View;

/// The length of an IBAN in each country of the registry.
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HN", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

/// The longest IBAN there can be.
const LONGEST: usize = 34;

/// The IBAN that begins at `start`, in one piece or in groups.
pub(super) fn iban(view: View<'_>, start: usize) -> Option<Range<usize>> {
    let country = [
        view.at(start).to_ascii_uppercase(),
        view.at(start + 1).to_ascii_uppercase(),
    ];
    let digits = view.at(start + 2).is_ascii_digit() && view.at(start + 3).is_ascii_digit();
    if !digits {
        return None;
    }
    let length = LENGTHS.iter().find(|(code, _)| **code == country)?.1;
    let mut compact = [0_u8; LONGEST];
    let mut count = 0;
    let mut at = start;
    while count < length {
        let byte = view.at(at);
        if byte.is_ascii_alphanumeric() {
            *compact.get_mut(count)? = byte;
            count += 1;
        } else if !matches!(byte, b' ' | b'-') || !view.at(at + 1).is_ascii_alphanumeric() {
            return None;
        }
        at += 1;
    }
    let (head, tail) = compact.get(..length)?.split_at_checked(4)?;
    let rest = mod97(tail.iter().chain(head).copied());
    (rest == 1 && view.closes(at)).then_some(start..at)
}

/// Whether a text is a BIC: bank, country, place and perhaps a branch.
pub(super) fn is_bic(code: &[u8]) -> bool {
    let shape = matches!(code.len(), 8 | 11)
        && code.iter().take(6).all(u8::is_ascii_uppercase)
        && code
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let country = code.get(4..6).unwrap_or_default();
    let known = LENGTHS.iter().any(|(code, _)| code.as_slice() == country);
    let further: [&[u8]; 12] = [
        b"US", b"CA", b"AU", b"JP", b"CN", b"IN", b"SG", b"HK", b"MX", b"ZA", b"KR", b"NZ",
    ];
    shape && (known || further.contains(&country))
}

/// The shortest text of a label, a gap and a BIC.
pub(super) const SHORTEST_NAMED: usize = 12;

/// What stands before a BIC; built once, since most texts are short.
static LABELS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| [Finder::new("BIC"), Finder::new("SWIFT")]);

/// The BIC that follows its label, for each label in the text.
pub(super) fn bics(view: View<'_>, mut found: impl FnMut(Range<usize>)) {
    for finder in LABELS.iter() {
        let label = finder.needle();
        for at in finder.find_iter(view.bytes()) {
            let gap = view.run(at + label.len(), 24, |byte| {
                !byte.is_ascii_uppercase() && byte != b'\n'
            });
            let mut start = at + label.len() + gap;
            if view.slice(start..start + 3) == b"BIC" {
                start += 3 + view.run(start + 3, 8, |byte| !byte.is_ascii_alphanumeric());
            }
            let length = view.run(start, 16, |byte| byte.is_ascii_alphanumeric());
            if gap > 0 && is_bic(view.slice(start..start + length)) {
                found(start..start + length);
            }
        }
    }
}
