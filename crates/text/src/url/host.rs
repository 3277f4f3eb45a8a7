//! Hosts in every spelling: names in one canonical form, addresses as addresses.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use psl::Psl as _;
use unicode_normalization::UnicodeNormalization;

use super::punycode;

/// A host in its canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name: lower case, ASCII, without a dot at the end.
    Name(String),
    /// An address.
    Ip(IpAddr),
}

/// From where a host can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// From everywhere.
    Public,
    /// From one network.
    Private,
    /// From this machine.
    Loopback,
    /// From this link.
    LinkLocal,
    /// From a machine in a cloud, to which it gives credentials.
    Metadata,
    /// From nowhere: reserved, multicast, for documents.
    Reserved,
}

/// Addresses at which clouds hand credentials to their machines.
const METADATA: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_6: Ipv6Addr = Ipv6Addr::new(0xFD00, 0xEC2, 0, 0, 0, 0, 0, 0x254);
const METADATA_NAMES: [&str; 5] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
];
/// Domains of names that only one network knows (RFC 6761, 6762, 8375 and custom).
const PRIVATE: [&str; 10] = [
    "local",
    "internal",
    "lan",
    "home.arpa",
    "intranet",
    "corp",
    "home",
    "private",
    "localdomain",
    "test",
];
/// Domains under which a name resolves to the address that it spells.
const WILDCARDS: [&str; 4] = [".nip.io", ".sslip.io", ".xip.io", ".traefik.me"];

impl Host {
    /// Reads a host; nothing if it is empty or has characters that no host has.
    pub fn read(text: &str) -> Option<Self> {
        if let Some(inner) = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let inner = inner.split('%').next().unwrap_or(inner);
            return inner
                .parse::<Ipv6Addr>()
                .ok()
                .map(|address| Self::Ip(address.into()));
        }
        let name = canonical(text)?;
        if ends_in_number(&name) {
            // What ends like an address and is none, no fetcher follows.
            return address(&name, number).map(|address| Self::Ip(address.into()));
        }
        Some(Self::Name(name))
    }

    /// Reads an address as those do who know numbers of base ten only: `010.0.0.1` is `10.0.0.1` to
    /// them, and `8.0.0.1` to others. Nothing if there is no such address.
    pub fn read_decimal(text: &str) -> Option<Self> {
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let number = |part: &str| part.parse().ok().filter(|_| plain(part));
        let address = address(&canonical(text)?, number)?;
        Some(Self::Ip(address.into()))
    }

    /// Tells from where the host can be reached.
    pub fn reach(&self) -> Reach {
        match self {
            Self::Ip(address) => reach(*address),
            Self::Name(name) => name_reach(name),
        }
    }

    /// Returns the domain that was registered; nothing for addresses and private names.
    pub fn registrable(&self) -> Option<&str> {
        match self {
            Self::Ip(_) => None,
            Self::Name(name) => {
                let domain = psl::List.domain(name.as_bytes())?;
                std::str::from_utf8(domain.as_bytes()).ok()
            }
        }
    }

    /// Returns the labels in front of the registered domain.
    pub fn below(&self) -> Option<&str> {
        match (self, self.registrable()) {
            (Self::Name(name), Some(domain)) => name.strip_suffix(domain)?.strip_suffix('.'),
            _ => None,
        }
    }

    /// Tells whether the host is `domain` or stands below it.
    pub fn is_within(&self, domain: &str) -> bool {
        match self {
            Self::Ip(_) => false,
            Self::Name(name) => within(name, domain),
        }
    }

    /// Returns the host as a person reads it, with its letters spelled out.
    pub fn unicode(&self) -> Cow<'_, str> {
        match self {
            Self::Ip(address) => Cow::Owned(address.to_string()),
            Self::Name(name) if name.contains("xn--") => {
                let labels: Vec<_> = name.split('.').map(spelled).collect();
                Cow::Owned(labels.join("."))
            }
            Self::Name(name) => Cow::Borrowed(name),
        }
    }
}

fn spelled(label: &str) -> Cow<'_, str> {
    let decoded = label.strip_prefix("xn--").and_then(punycode::decode);
    decoded.map_or(Cow::Borrowed(label), Cow::Owned)
}

/// Brings a name to lower-case ASCII: percent signs undone, look-alikes folded, letters coded.
fn canonical(text: &str) -> Option<String> {
    let decoded = percent(text)?;
    let mut folded = if decoded.is_ascii() {
        decoded.to_ascii_lowercase()
    } else {
        let folded = decoded.nfkc().flat_map(char::to_lowercase);
        let folded =
            folded.filter(|char| !matches!(char, '\u{AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}'));
        let folded = folded.map(|char| if char == '。' { '.' } else { char });
        let folded: String = folded.collect();
        let labels: Option<Vec<_>> = folded.split('.').map(coded).collect();
        labels?.join(".")
    };
    while folded.ends_with('.') {
        folded.pop();
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let empty = folded.is_empty() || folded.len() > 253;
    (!empty && folded.bytes().all(allowed)).then_some(folded)
}

fn coded(label: &str) -> Option<String> {
    if label.is_ascii() {
        return Some(label.to_owned());
    }
    punycode::encode(label).map(|code| format!("xn--{code}"))
}

fn percent(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let bytes = crate::decode::percent_decoded(text.as_bytes());
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Tells whether a host must be an address (WHATWG URL, "ends in a number").
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    last.starts_with(|char: char| char.is_ascii_digit()) && number(last).is_some()
}

/// Reads one to four numbers as an address; the last one fills what is left.
fn address(name: &str, number: impl Fn(&str) -> Option<u64>) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = name.split('.').map(number).collect::<Option<_>>()?;
    let (last, head) = parts.split_last()?;
    let shift = 8 * u32::try_from(4_usize.checked_sub(head.len())?).ok()?;
    let fits = shift > 0 && *last < 1 << shift && head.iter().all(|part| *part < 256);
    let head = head.iter().zip([24, 16, 8]);
    let head = head.fold(0, |sum, (part, shift)| sum | part << shift);
    let address = u32::try_from(head | last).ok().filter(|_| fits)?;
    Some(address.into())
}

/// Reads a number in base 16 (`0x`), 8 (`0`) or 10.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some("") => return Some(0),
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// Returns the IPv4 address inside an IPv6 one: mapped, compatible, translated, 6to4, Teredo.
pub(super) fn embedded(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = address else {
        return None;
    };
    let segments = address.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0..=1] => None,
        [0, 0, 0, 0, 0, 0 | 0xFFFF, high, low]
        | [0, 0, 0, 0, 0xFFFF, 0, high, low]
        | [0x64, 0xFF9B, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(join(!high, !low)),
        _ => None,
    }
}

fn reach(address: IpAddr) -> Reach {
    if address == METADATA_6 {
        return Reach::Metadata;
    }
    let address = match (embedded(address), address) {
        (Some(inner), _) | (None, IpAddr::V4(inner)) => inner,
        (None, IpAddr::V6(address)) => return reach_6(address),
    };
    let [first, second, third, _] = address.octets();
    match (first, second, third) {
        _ if METADATA.contains(&address) => Reach::Metadata,
        // On most systems the address of all zeros is this machine.
        (0 | 127, ..) => Reach::Loopback,
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => Reach::Private,
        (169, 254, _) => Reach::LinkLocal,
        (192, 0, 0 | 2) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) | (224.., ..) => {
            Reach::Reserved
        }
        _ => Reach::Public,
    }
}

fn reach_6(address: Ipv6Addr) -> Reach {
    let [first, second, ..] = address.segments();
    match (first, second) {
        _ if address.is_loopback() || address.is_unspecified() => Reach::Loopback,
        // The second of them are the site-local ones, which some networks still have.
        (0xFC00..=0xFDFF | 0xFEC0..=0xFEFF, _) => Reach::Private,
        (0xFE80..=0xFEBF, _) => Reach::LinkLocal,
        (0x2001, 0xDB8) | (0x3FFF, 0..=0xFFF) => Reach::Reserved,
        (0x2000..=0x3FFF, _) => Reach::Public,
        _ => Reach::Reserved,
    }
}

fn within(name: &str, domain: &str) -> bool {
    let front = name.strip_suffix(domain);
    front.is_some_and(|front| front.is_empty() || front.ends_with('.'))
}

fn name_reach(name: &str) -> Reach {
    if METADATA_NAMES.contains(&name) {
        return Reach::Metadata;
    }
    if within(name, "localhost") || matches!(name, "localtest.me" | "lvh.me") {
        return Reach::Loopback;
    }
    if let Some(address) = wildcard(name) {
        return reach(address.into());
    }
    let single = !name.contains('.');
    if single || PRIVATE.iter().any(|domain| within(name, domain)) {
        return Reach::Private;
    }
    Reach::Public
}

/// Returns the address that a name spells under a domain that answers with it.
pub(super) fn wildcard(name: &str) -> Option<Ipv4Addr> {
    let front = WILDCARDS
        .iter()
        .find_map(|domain| name.strip_suffix(domain))?;
    let parts: Vec<_> = front.rsplit(['.', '-']).take(4).collect();
    let spelled: Vec<_> = parts.into_iter().rev().collect();
    spelled.join(".").parse().ok()
}
