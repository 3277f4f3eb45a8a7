//! The host of an address, and whether it is inside. Small on purpose: no name is resolved, and
//! nothing is said about paths.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use mcpproxy_text::fold;

/// Where a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// The internet, or a name that may lead there.
    Public,
}

/// Takes the host out of an address, or takes a bare host, folded to one spelling: lower case,
/// without user, port, brackets or final dot. Nothing if there is none.
pub fn host(address: &str) -> Option<String> {
    let trimmed = address.trim();
    let authority = match trimmed.split_once("//") {
        Some((scheme, rest)) if is_scheme(scheme) => rest.trim_start_matches(['/', '\\']),
        _ => trimmed,
    };
    let end = authority
        .find(['/', '?', '#', '\\'])
        .unwrap_or(authority.len());
    let authority = authority.get(..end)?;
    let authority = authority.rsplit('@').next()?;
    let bare = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None if authority.matches(':').count() > 1 => authority,
        None => authority.split(':').next()?,
    };
    let decoded = percent_decoded(bare);
    let folded = fold(&decoded).replace(['\u{3002}', '\u{FF0E}', '\u{FF61}'], ".");
    let host = folded.trim_end_matches('.');
    let sane = !host.is_empty() && host.len() <= 253 && !host.contains(char::is_whitespace);
    sane.then(|| host.to_owned())
}

/// Says where a host is, as [`host`] returned it.
pub fn place(host: &str) -> Place {
    if let Some(address) = ip(host) {
        return match address {
            IpAddr::V4(four) => place_of_four(four),
            IpAddr::V6(six) => place_of_six(six),
        };
    }
    let last = host.rsplit('.').next().unwrap_or(host);
    match last {
        "localhost" => Place::Loopback,
        "local" | "internal" | "lan" | "home" | "corp" | "intranet" | "private" | "localdomain"
        | "test" => Place::Private,
        "arpa" if host.ends_with("home.arpa") => Place::Private,
        // A name without a dot is found by the local resolver: a container or a machine nearby.
        _ if !host.contains('.') => Place::Private,
        _ => Place::Public,
    }
}

/// Tells whether a host is one at which a machine of a cloud asks for its own credentials.
pub fn is_metadata(host: &str) -> bool {
    const NUMBERS: [[u8; 4]; 4] = [
        [169, 254, 169, 254],
        [169, 254, 170, 2],
        [169, 254, 170, 23],
        [100, 100, 100, 200],
    ];
    const NAMES: [&str; 4] = [
        "metadata",
        "metadata.google.internal",
        "metadata.azure.internal",
        "instance-data.ec2.internal",
    ];
    match ip(host) {
        Some(IpAddr::V4(four)) => NUMBERS.contains(&four.octets()),
        Some(IpAddr::V6(six)) => {
            let mapped = six.to_ipv4_mapped();
            mapped.is_some_and(|four| NUMBERS.contains(&four.octets()))
                || six.segments() == [0xFD00, 0xEC2, 0, 0, 0, 0, 0, 0x254]
        }
        None => NAMES.contains(&host),
    }
}

/// Returns the label under which a host is registered: `slack` of `mcp.slack.com`.
pub fn registered_label(host: &str) -> Option<&str> {
    if ip(host).is_some() {
        return None;
    }
    let mut labels = host.rsplit('.');
    let top = labels.next()?;
    let second = labels.next()?;
    let shared = ["co", "com", "org", "net", "gov", "ac", "edu", "ne", "or"];
    if top.len() == 2 && shared.contains(&second) {
        return labels.next();
    }
    Some(second)
}

/// Reads an address in the spellings that resolvers take: dotted, or numbers of any base.
pub fn ip(host: &str) -> Option<IpAddr> {
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    let parts: Vec<u32> = host.split('.').take(5).map(number).collect::<Option<_>>()?;
    let (last, heads) = parts.split_last()?;
    if heads.len() > 3 || heads.iter().any(|part| *part > 255) {
        return None;
    }
    let free = 32 - 8 * u32::try_from(heads.len()).ok()?;
    if free < 32 && *last >> free != 0 {
        return None;
    }
    let shifted = |(at, part): (u32, &u32)| part << (24 - 8 * at);
    let head: u32 = (0_u32..).zip(heads).map(shifted).sum();
    Some(IpAddr::V4(Ipv4Addr::from(head | last)))
}

fn number(part: &str) -> Option<u32> {
    if let Some(digits) = part.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).ok();
    }
    match part.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u32::from_str_radix(digits, 8).ok(),
        _ if part.bytes().all(|byte| byte.is_ascii_digit()) => part.parse().ok(),
        _ => None,
    }
}

fn place_of_four(four: Ipv4Addr) -> Place {
    let [first, second, ..] = four.octets();
    let shared = first == 100 && (64..128).contains(&second);
    if four.is_loopback() || four.is_unspecified() {
        Place::Loopback
    } else if four.is_private() || four.is_link_local() || shared {
        Place::Private
    } else {
        Place::Public
    }
}

fn place_of_six(six: Ipv6Addr) -> Place {
    if let Some(four) = six.to_ipv4_mapped() {
        return place_of_four(four);
    }
    if six.is_loopback() || six.is_unspecified() {
        Place::Loopback
    } else if six.is_unique_local() || six.is_unicast_link_local() {
        Place::Private
    } else {
        Place::Public
    }
}

fn is_scheme(text: &str) -> bool {
    let scheme = text.strip_suffix(':').unwrap_or(text);
    scheme
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Undoes percent escapes; what is none is left as it is.
pub(crate) fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let pair = (byte == b'%').then(|| Some((hex(ahead.next()?)?, hex(ahead.next()?)?)));
        match pair.flatten() {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                rest = ahead;
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_have_one_host_however_they_are_spelled() {
        let check = |address: &str, expect: Option<&str>| {
            assert_eq!(host(address).as_deref(), expect, "{address}");
        };
        check(
            "https://Mcp.Example.COM:8443/a?b#c",
            Some("mcp.example.com"),
        );
        check("example.com", Some("example.com"));
        check("example.com.:443", Some("example.com"));
        check("//example.com/x", Some("example.com"));
        check("https://good.example@evil.example/", Some("evil.example"));
        check("https://evil.example\\@good.example/", Some("evil.example"));
        check("https:///evil.example/", Some("evil.example"));
        check("http://[::1]:80/", Some("::1"));
        check("http://%65vil.example", Some("evil.example"));
        check("https://ｅvil。example", Some("evil.example"));
        check("wss://x.example?y=//z", Some("x.example"));
        check("", None);
        check("two words", None);
        check("https://", None);
    }

    #[test]
    fn hosts_are_inside_or_outside() {
        use Place::{Loopback, Private, Public};
        let check = |name: &str, expect: Place| assert_eq!(place(name), expect, "{name}");
        check("localhost", Loopback);
        check("app.localhost", Loopback);
        check("127.8.8.8", Loopback);
        check("2130706433", Loopback);
        check("0x7f.1", Loopback);
        check("0177.0.0.1", Loopback);
        check("::1", Loopback);
        check("::ffff:127.0.0.1", Loopback);
        check("0.0.0.0", Loopback);
        check("10.1.2.3", Private);
        check("172.20.0.1", Private);
        check("192.168.1.1", Private);
        check("169.254.169.254", Private);
        check("100.100.1.1", Private);
        check("fd00::1", Private);
        check("fe80::1", Private);
        check("redis", Private);
        check("db.internal", Private);
        check("printer.local", Private);
        check("8.8.8.8", Public);
        check("100.200.1.1", Public);
        check("172.32.0.1", Public);
        check("2606:4700::1", Public);
        check("example.com", Public);
        check("127.0.0.1.example.com", Public);
        check("10.0.0.1.nip.io", Public);
    }

    #[test]
    fn where_a_cloud_hands_out_credentials_is_known() {
        let check = |host: &str, expect: bool| assert_eq!(is_metadata(host), expect, "{host}");
        check("169.254.169.254", true);
        check("2852039166", true);
        check("::ffff:169.254.169.254", true);
        check("fd00:ec2::254", true);
        check("metadata.google.internal", true);
        check("169.254.169.253", false);
        check("metadata.example.com", false);
        check("example.com", false);
    }

    #[test]
    fn the_registered_label_names_the_owner() {
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(registered_label(name), expect, "{name}");
        };
        check("mcp.slack.com", Some("slack"));
        check("slack.evil.example", Some("evil"));
        check("shop.example.co.uk", Some("example"));
        check("localhost", None);
        check("10.0.0.1", None);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(address in "\\PC{0,80}") {
            if let Some(host) = host(&address) {
                let _place = place(&host);
                let _label = registered_label(&host);
            }
        }
    }
}
