//! The constraint `deny_private_hosts`: no argument may lead to an address that only this machine
//! or its network can reach, in whatever spelling.
//!
//! Names are resolved once, when the call is judged. An upstream resolves again when it fetches,
//! and may be redirected: the guard narrows that way, it cannot close it.

use std::net::Ipv6Addr;
use std::ops::ControlFlow;

use mcpproxy_text::leaves::{LeafKind, visit};
use mcpproxy_text::url::{Host, Reach, urls};

use super::{Resolver, fields};

/// Names of one call that are resolved; a call with more is refused.
const NAMES: usize = 16;
/// Schemes whose text after the colon is a host even without slashes.
pub(super) const WEB: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// Says why the arguments lead inside, if they do.
pub(super) fn check(arguments: &str, resolver: &dyn Resolver) -> Result<(), String> {
    let mut names = Vec::new();
    let mut fault = None;
    visit(arguments, |leaf| {
        let name = leaf.path.name().unwrap_or_default();
        let known = leaf.kind != LeafKind::Key && fields::is_host(&name);
        let read = match leaf.kind {
            LeafKind::Number if !known => Ok(()),
            _ => look(&leaf.text, known, &mut names),
        };
        match read {
            Ok(()) => ControlFlow::Continue(()),
            Err(what) => {
                fault = Some(format!("{} {what}", fields::told(&leaf.path)));
                ControlFlow::Break(())
            }
        }
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    names.sort_unstable();
    names.dedup();
    if names.len() > NAMES {
        return Err(format!("the arguments name more than {NAMES} hosts"));
    }
    names.iter().try_for_each(|name| resolve(name, resolver))
}

/// Judges one value and collects the names in it that must be resolved.
fn look(text: &str, known: bool, names: &mut Vec<String>) -> Result<(), String> {
    // Fetchers drop these three wherever they stand in a URL.
    let whole: String = text.trim().replace(['\t', '\n', '\r'], "");
    if whole.to_ascii_lowercase().contains("file:/") {
        return Err("is a URL of a file".to_owned());
    }
    for found in urls(&whole).into_iter().chain(urls(text)) {
        let host = worst(found.host_text).unwrap_or(found.host);
        judge(&host)?;
        names.extend(name_of(host));
    }
    let mut after = whole.split_whitespace().filter_map(scheme);
    after
        .clone()
        .filter_map(behind)
        .try_for_each(|host| judge(&host))?;
    if after.any(is_ambiguous) || (known && is_ambiguous(&whole)) {
        return Err("is a URL whose host can be read in two ways".to_owned());
    }
    let blank = whole.contains(char::is_whitespace);
    match scheme(&whole) {
        Some(rest) if !blank => {
            let host = authority(rest).ok_or("is a URL whose host cannot be read")?;
            judge(&host)?;
            names.extend(name_of(host));
        }
        Some(_) | None if blank => words(text)?,
        _ if known && !whole.is_empty() => {
            let host = authority(&whole).ok_or("is no host that can be read")?;
            judge(&host)?;
            names.extend(name_of(host));
        }
        _ => bare(&whole)?,
    }
    Ok(())
}

/// Judges a value of an argument of which nothing is known: only what is plainly a host counts.
fn bare(text: &str) -> Result<(), String> {
    let plain = text.contains(['.', ':']) || text.starts_with("0x") || text.starts_with("0X");
    match authority(text) {
        Some(host @ Host::Ip(_)) if plain => judge(&host),
        Some(host @ Host::Name(_)) if plain || host.is_within("localhost") => judge(&host),
        _ => Ok(()),
    }
}

/// Looks for addresses among the words of a sentence.
fn words(text: &str) -> Result<(), String> {
    let quads = text.split_whitespace().filter(|word| {
        word.matches('.').count() >= 3 || word.matches(':').count() >= 2 || word.contains("0x")
    });
    for word in quads {
        let word = word.trim_matches(['"', '\'', '(', ')', ',', ';']);
        if let Some(host @ Host::Ip(_)) = authority(word) {
            judge(&host)?;
        }
    }
    Ok(())
}

/// Returns what follows the scheme of a URL, however many slashes there are.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let sound = scheme.starts_with(|char: char| char.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let web = WEB.iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let slashes = rest.starts_with("//") || rest.starts_with("\\\\");
    (sound && (web || slashes)).then_some(rest)
}

/// Tells whether a backslash stands before an `@`: some readers end the host at the first, and some
/// begin it after the second.
fn is_ambiguous(rest: &str) -> bool {
    let front = rest.trim_start_matches(['/', '\\']);
    let front = front.split(['/', '?', '#']).next().unwrap_or(front);
    let after = front.split_once('\\').map(|(_, after)| after);
    after.is_some_and(|after| after.contains('@'))
}

/// Returns the host behind an `@` that stands after `?` or `#`, where some readers look for it if no
/// slash comes first.
fn behind(rest: &str) -> Option<Host> {
    let front = rest.trim_start_matches(['/', '\\']);
    let front = front.split('/').next().unwrap_or(front);
    let (_, after) = front.split_once(['?', '#'])?;
    let (_, host) = after.rsplit_once('@')?;
    authority(host)
}

/// Reads the host at the front of what follows a scheme, or of a text without one.
fn authority(text: &str) -> Option<Host> {
    let text = text.trim_start_matches(['/', '\\']);
    let bare = text.split('%').next().unwrap_or(text);
    if let Ok(address) = bare.parse::<Ipv6Addr>() {
        return Some(Host::Ip(address.into()));
    }
    let authority = text.split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    worst(host)
}

/// Reads a host; an address whose numbers are read in two ways is the one that leads inside.
fn worst(text: &str) -> Option<Host> {
    let decimal = Host::read_decimal(text).filter(|host| host.reach() != Reach::Public);
    decimal.or_else(|| Host::read(text))
}

fn name_of(host: Host) -> Option<String> {
    match host {
        Host::Name(name) => Some(name),
        Host::Ip(_) => None,
    }
}

fn judge(host: &Host) -> Result<(), String> {
    match host.reach() {
        Reach::Public => Ok(()),
        Reach::Private => Err("leads to a private network".to_owned()),
        Reach::Loopback => Err("leads to this machine".to_owned()),
        Reach::LinkLocal => Err("leads to the local link".to_owned()),
        Reach::Metadata => Err("leads to the credentials of a cloud machine".to_owned()),
        Reach::Reserved => Err("leads to a reserved address".to_owned()),
    }
}

/// Resolves a name; one without an address is refused, since the upstream may know another.
fn resolve(name: &str, resolver: &dyn Resolver) -> Result<(), String> {
    let addresses = resolver.resolve(name);
    if addresses.is_empty() {
        return Err("a host in the arguments could not be resolved".to_owned());
    }
    addresses.into_iter().try_for_each(|address| {
        judge(&Host::Ip(address)).map_err(|what| format!("a host in the arguments {what}"))
    })
}
