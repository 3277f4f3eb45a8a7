//! Destinations that a call names and that are known to collect what is sent to them. The list is
//! in `rules/endpoints.txt`; the operator adds to it.
//!
//! Finding the hosts and addresses in arguments or commands is done elsewhere.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::LazyLock;

use mcpproxy_core::Masked;
use serde::Serialize;

use crate::host::{host, ip, percent_decoded};
use crate::rules::sections;

/// Why a destination is suspicious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// The operator listed it.
    Listed,
    /// It shows its holder every request or lookup.
    Collector,
    /// It leads to somebody's machine.
    Tunnel,
    /// What is put there can be read by all.
    Paste,
    /// It takes files from anybody.
    Drop,
    /// It posts into somebody's chat.
    Bot,
}

/// A suspicious destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suspicion {
    /// Why it is suspicious.
    pub sort: Sort,
    /// The entry it was found under: never what was sent.
    pub entry: String,
    /// The reason, safe to show.
    pub reason: Masked,
}

/// The operator's list, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    listed: HashMap<String, Vec<Entry>>,
}

/// One entry: a host, or one path of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The path, in lower case and without slashes at its ends; empty for all of the host.
    path: String,
    sort: Sort,
    what: &'static str,
}

static KNOWN: LazyLock<HashMap<String, Vec<Entry>>> =
    LazyLock::new(|| parse(include_str!("../rules/endpoints.txt")));

impl Endpoints {
    /// Takes the operator's list: hosts as `example.com`, `*.example.com` or whole addresses.
    pub fn new<'a>(listed: impl IntoIterator<Item = &'a str>) -> Self {
        let mut table = HashMap::new();
        for address in listed {
            let bare = address
                .trim()
                .trim_start_matches("*.")
                .trim_start_matches('.');
            insert(&mut table, bare, Sort::Listed, "the configuration lists it");
        }
        Self { listed: table }
    }

    /// Judges an address or a host; nothing if there is nothing against it.
    pub fn judge(&self, address: &str) -> Option<Suspicion> {
        let host = spelled(host(address)?);
        let path = path(address);
        find(&self.listed, &host, &path).or_else(|| find(&KNOWN, &host, &path))
    }
}

/// Looks a host and each domain above it up.
fn find(table: &HashMap<String, Vec<Entry>>, host: &str, path: &str) -> Option<Suspicion> {
    let mut domain = host;
    loop {
        let entries = table.get(domain).map_or(&[][..], Vec::as_slice);
        if let Some(entry) = entries.iter().find(|entry| path.starts_with(&entry.path)) {
            let name = match &*entry.path {
                "" => domain.to_owned(),
                path => [domain, "/", path].concat(),
            };
            let reason = Masked::from_safe(format!("`{name}`: {}", entry.what));
            return Some(Suspicion {
                sort: entry.sort,
                entry: name,
                reason,
            });
        }
        domain = domain.split_once('.')?.1;
    }
}

/// Gives a number for a machine its usual spelling.
fn spelled(host: String) -> String {
    match ip(&host) {
        Some(IpAddr::V6(six)) => six.to_ipv4_mapped().map_or(host, |four| four.to_string()),
        Some(four @ IpAddr::V4(_)) => four.to_string(),
        None => host,
    }
}

/// Returns the path of an address, as entries have it.
fn path(address: &str) -> String {
    let after = address.split_once("://").map_or(address, |(_, rest)| rest);
    let Some((_, path)) = after.split_once(['/', '\\']) else {
        return String::new();
    };
    // No entry is longer; what follows is data.
    let start: String = path.chars().take(120).collect();
    let plain = percent_decoded(&start).replace('\\', "/").to_lowercase();
    let segments = plain
        .split('/')
        .filter(|segment| !["", "."].contains(segment));
    segments.collect::<Vec<_>>().join("/")
}

fn insert(table: &mut HashMap<String, Vec<Entry>>, address: &str, sort: Sort, what: &'static str) {
    if let Some(host) = host(address).map(spelled) {
        let path = path(address);
        table
            .entry(host)
            .or_default()
            .push(Entry { path, sort, what });
    }
}

fn parse(table: &'static str) -> HashMap<String, Vec<Entry>> {
    let mut known = HashMap::new();
    for section in sections(table) {
        if let Some(sort) = parse_header(section.header) {
            for address in section.names() {
                insert(&mut known, address, sort, section.remark);
            }
        }
    }
    known
}

fn parse_header(header: &str) -> Option<Sort> {
    Some(match header {
        "collector" => Sort::Collector,
        "tunnel" => Sort::Tunnel,
        "paste" => Sort::Paste,
        "drop" => Sort::Drop,
        "bot" => Sort::Bot,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(address: &str, expect: Option<(Sort, &str)>) {
        let endpoints = Endpoints::new([
            "evil.example",
            "*.wild.example",
            "https://part.example/in",
            "169.254.169.254",
        ]);
        let found = endpoints.judge(address);
        let shown = found.as_ref().map(|it| (it.sort, &*it.entry));
        assert_eq!(shown, expect, "{address}");
    }

    #[test]
    fn suspicious_endpoints_are_known_with_their_subdomains() {
        check(
            "https://webhook.site/0a1b",
            Some((Sort::Collector, "webhook.site")),
        );
        check("webhook.site", Some((Sort::Collector, "webhook.site")));
        check("WebHook.Site.", Some((Sort::Collector, "webhook.site")));
        check(
            "https://user@webhook.site:443",
            Some((Sort::Collector, "webhook.site")),
        );
        check(
            "http://data.x1.oast.fun",
            Some((Sort::Collector, "oast.fun")),
        );
        check(
            "https://eo1.m.pipedream.net",
            Some((Sort::Collector, "pipedream.net")),
        );
        check(
            "https://a-b.ngrok-free.app/x",
            Some((Sort::Tunnel, "ngrok-free.app")),
        );
        check("https://transfer.sh/x", Some((Sort::Drop, "transfer.sh")));
        check(
            "https://pastebin.com/api",
            Some((Sort::Paste, "pastebin.com")),
        );
        check(
            "https://x.burpcollaborator.net",
            Some((Sort::Collector, "burpcollaborator.net")),
        );
    }

    #[test]
    fn a_listed_number_is_known_in_every_spelling() {
        let listed = Some((Sort::Listed, "169.254.169.254"));
        check("http://169.254.169.254/latest", listed);
        check("http://0xA9FEA9FE/", listed);
        check("http://2852039166:80", listed);
        check("http://0251.0376.0251.0376", listed);
        check("http://[::ffff:169.254.169.254]/", listed);
        check("http://169.254.169.253/", None);
    }

    #[test]
    fn some_hosts_are_suspicious_under_one_path_only() {
        let discord = Some((Sort::Bot, "discord.com/api/webhooks"));
        check("https://discord.com/api/webhooks/1/x", discord);
        check("https://discord.com//API/./webhooks/1", discord);
        check("https://discord.com/%61pi/webhooks/1", discord);
        check(
            "https://discord.com/api/v10/webhooks/1",
            Some((Sort::Bot, "discord.com/api/v10/webhooks")),
        );
        check("https://discord.com/channels/1", None);
        let telegram = Some((Sort::Bot, "api.telegram.org/bot"));
        check("https://api.telegram.org/bot1:x/sendMessage", telegram);
        check("https://api.telegram.org/", None);
    }

    #[test]
    fn the_operator_adds_to_the_list() {
        check(
            "https://evil.example/x",
            Some((Sort::Listed, "evil.example")),
        );
        check("a.evil.example", Some((Sort::Listed, "evil.example")));
        check("notevil.example", None);
        check("x.wild.example", Some((Sort::Listed, "wild.example")));
        check(
            "https://part.example/in/x",
            Some((Sort::Listed, "part.example/in")),
        );
        check("https://part.example/out", None);
    }

    #[test]
    fn others_are_left_alone() {
        for address in [
            "https://github.com/x",
            "notwebhook.site",
            "webhook.site.example.com",
            "localhost",
            "site",
            "",
            "10.0.0.1",
            "https://example.com/?to=webhook.site",
        ] {
            check(address, None);
        }
    }

    #[test]
    fn the_list_is_whole() {
        let table = || sections(include_str!("../rules/endpoints.txt"));
        for section in table() {
            assert!(parse_header(section.header).is_some(), "{section:?}");
        }
        for address in table().flat_map(crate::rules::Section::names) {
            assert!(Endpoints::default().judge(address).is_some(), "{address}");
        }
        for of_the_specification in [
            "webhook.site",
            "requestbin.com",
            "pipedream.net",
            "hookbin.com",
            "beeceptor.com",
        ] {
            assert!(KNOWN.contains_key(of_the_specification));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(address in "\\PC{0,120}") {
            let _found = Endpoints::default().judge(&address);
        }

        #[test]
        fn every_subdomain_is_included(label in "[a-z0-9]{1,20}(\\.[a-z]{1,9}){0,3}") {
            let address = format!("https://{label}.webhook.site/x");
            prop_assert!(Endpoints::default().judge(&address).is_some());
        }
    }
}
