//! Addresses of machines: IPv4, IPv6 and MAC.
//!
//! What is private, reserved or everybody's (loopback, documentation, public resolvers) is a note
//! or nothing; versions that look like addresses are nothing.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::view::View;
use crate::Level;

/// The most groups before the one that has a digit.
const MOST_GROUPS: usize = 7;

/// One address.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
    pub(super) level: Level,
    pub(super) span: Range<usize>,
}

/// The IPv4 address that begins at `start`.
pub(super) fn ipv4(view: View<'_>, start: usize) -> Option<Address> {
    let mut octets = [0_u8; 4];
    let mut at = start;
    for (index, octet) in octets.iter_mut().enumerate() {
        let length = view.run(at, 4, |byte| byte.is_ascii_digit());
        *octet = octet_of(view.slice(at..at + length))?;
        at += length;
        if index < 3 {
            if view.at(at) != b'.' {
                return None;
            }
            at += 1;
        }
    }
    if !ends_address(view, at) || is_version(view, start) {
        return None;
    }
    let level = level_of_v4(Ipv4Addr::from(octets), view.at(at))?;
    Some(Address {
        kind: "ip_address",
        name: "IPv4 address",
        level,
        span: start..at,
    })
}

/// The value of one octet, written without needless zeros.
fn octet_of(digits: &[u8]) -> Option<u8> {
    match digits {
        [] | [b'0', _, ..] => None,
        _ => std::str::from_utf8(digits).ok()?.parse().ok(),
    }
}

/// Whether an address may end here; a port or a mask may follow.
fn ends_address(view: View<'_>, at: usize) -> bool {
    match view.at(at) {
        b'.' => !view.at(at + 1).is_ascii_alphanumeric(),
        b'-' | b'_' | b'+' => false,
        byte => !byte.is_ascii_alphanumeric(),
    }
}

/// Whether the four numbers are named as a version, a product or a section.
fn is_version(view: View<'_>, start: usize) -> bool {
    let tail = view.tail(start, 24).to_ascii_lowercase();
    let named: [&[u8]; 7] = [
        b"version", b"ver.", b"release", b"section", b"oid", b"build", b"rev",
    ];
    let product = view.before(start, 1) == b'/' && view.before(start, 2).is_ascii_alphabetic();
    product
        || named
            .iter()
            .any(|word| memchr::memmem::find(&tail, word).is_some())
}

/// What an address amounts to; nothing if it can be nobody's.
fn level_of_v4(address: Ipv4Addr, next: u8) -> Option<Level> {
    let octets = address.octets();
    let nobody = address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_broadcast()
        || octets[0] == 0
        || octets[0] >= 240;
    if nobody {
        return None;
    }
    let common = [
        [8, 8, 8, 8],
        [8, 8, 4, 4],
        [1, 1, 1, 1],
        [1, 0, 0, 1],
        [9, 9, 9, 9],
    ];
    // Arcs of object identifiers: X.500 attributes and extensions, and ISO organizations.
    let object = matches!(octets, [2, 5 | 16 | 23, ..] | [1, 2 | 3, ..]);
    let small = octets.iter().all(|octet| *octet < 20);
    let network = octets[3] == 0 || octets[2] == 0 && octets[1] == 0 || next == b'/';
    let mask = octets[0] == 255;
    let reserved = address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || octets[0] == 100 && (64..128).contains(&octets[1])
        || octets[0] == 198 && (18..20).contains(&octets[1]);
    if reserved || object || small || network || mask || common.contains(&octets) {
        return Some(Level::Note);
    }
    Some(Level::Warn)
}

/// The IPv6 or MAC address whose first digit stands in the word at `word`, behind groups that are
/// letters alone (`fe:ed:0b:...`); it does not begin before `floor`.
pub(super) fn led_by_letters(view: View<'_>, word: usize, floor: usize) -> Option<Address> {
    let separator = view.before(word, 1);
    let letter = |byte: u8| byte.is_ascii_hexdigit() && byte.is_ascii_alphabetic();
    if !matches!(separator, b':' | b'-' | b'.') || !letter(view.before(word, 2)) {
        return None;
    }
    let mut start = word;
    for _ in 0..MOST_GROUPS {
        let letters = view.run_back(start.saturating_sub(1), 5, letter);
        if view.before(start, 1) != separator || !(1..=4).contains(&letters) {
            break;
        }
        start -= letters + 1;
    }
    (start >= floor)
        .then(|| hexadecimal(view, start, || false))
        .flatten()
}

/// The IPv6 or MAC address that the word of hexadecimal digits at `start` begins; `named` is whether
/// a word near by says that it is a MAC address.
pub(super) fn hexadecimal(
    view: View<'_>,
    start: usize,
    named: impl FnOnce() -> bool,
) -> Option<Address> {
    // Three separators at least; a time of day has two.
    let first = view.run(start, 5, |byte| byte.is_ascii_hexdigit());
    let second = start + first + 1;
    let third = second + view.run(second, 5, |byte| byte.is_ascii_hexdigit()) + 1;
    let fourth = third + view.run(third, 5, |byte| byte.is_ascii_hexdigit());
    let dotted = view.at(start + first) == b'.';
    if !dotted && !matches!(view.at(fourth), b':' | b'-') {
        return None;
    }
    mac(view, start, named).or_else(|| ipv6(view, start))
}

/// Six pairs with colons or dashes, or three fours with dots.
fn mac(view: View<'_>, start: usize, named: impl FnOnce() -> bool) -> Option<Address> {
    let length = view.run(start, 5, |byte| byte.is_ascii_hexdigit());
    let separator = view.at(start + length);
    let groups = match (length, separator) {
        (2, b':' | b'-') => 6,
        (4, b'.') => 3,
        _ => return None,
    };
    let mut at = start;
    let mut digits = Vec::with_capacity(12);
    for index in 0..groups {
        let group = view.slice(at..at + length);
        if group.len() < length || !group.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        digits.extend_from_slice(group);
        at += length;
        if index + 1 < groups {
            if view.at(at) != separator {
                return None;
            }
            at += 1;
        }
    }
    let more = view.at(at) == separator && view.at(at + 1).is_ascii_hexdigit();
    let blank = super::checksum::uniform(&digits);
    // Three fours of nothing but decimals are a price or a version, unless they are named.
    let plain = separator == b'.' && digits.iter().all(u8::is_ascii_digit) && !named();
    if more || blank || plain || view.at(at).is_ascii_alphanumeric() || !opens(view, start) {
        return None;
    }
    Some(Address {
        kind: "mac_address",
        name: "MAC address",
        level: Level::Warn,
        span: start..at,
    })
}

/// The MAC address that a word of twelve hexadecimal digits is, if it is named as one. Decimals
/// alone are a time more often.
pub(super) fn bare(view: View<'_>, word: &Range<usize>) -> Option<Address> {
    let digits = view.slice(word.clone());
    let mixed = digits.iter().all(u8::is_ascii_hexdigit) && !digits.iter().all(u8::is_ascii_digit);
    (digits.len() == 12 && mixed && opens(view, word.start)).then(|| Address {
        kind: "mac_address",
        name: "MAC address",
        level: Level::Warn,
        span: word.clone(),
    })
}

fn ipv6(view: View<'_>, start: usize) -> Option<Address> {
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
    let length = view.run(start, 46, is_part);
    let text = view.str(start..start + length).trim_end_matches(':');
    let end = start + text.len();
    if text.bytes().filter(|byte| *byte == b':').count() < 3
        || !opens(view, start)
        || view.at(end).is_ascii_alphanumeric()
        || matches!(view.at(end), b'_' | b':')
    {
        return None;
    }
    let address: Ipv6Addr = text.parse().ok()?;
    let first = address.segments()[0];
    let second = address.segments()[1];
    let short = text.split(':').all(|group| group.len() < 3);
    if address.is_loopback() || address.is_unspecified() || address.is_multicast() || short {
        return None;
    }
    let local = first & 0xFE00 == 0xFC00 || first & 0xFFC0 == 0xFE80;
    let documentation = first == 0x2001 && second == 0x0DB8 || first == 0x3FFF;
    let protocol = first == 0x2001 && second < 0x0200 || view.at(end) == b'/';
    let global = first & 0xE000 == 0x2000 || !text.contains("::");
    Some(Address {
        kind: "ip_address",
        name: "IPv6 address",
        level: if local || documentation || protocol || !global {
            Level::Note
        } else {
            Level::Warn
        },
        span: start..end,
    })
}

/// Whether an address may begin here.
fn opens(view: View<'_>, start: usize) -> bool {
    let before = view.before(start, 1);
    !before.is_ascii_alphanumeric() && !matches!(before, b':' | b'_' | b'-' | b'.')
}
