//! The class of an upstream, from its name, the package that is started and the host that is
//! called. The names are in `rules/upstreams.txt`.
//!
//! What the operator said comes first and is final; nothing here asks the upstream itself.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::class::{Class, Kind};
use crate::host::{Place, host, place, registered_label};
use crate::package::{self, Started};
use crate::rules::sections;
use crate::settings::Classification;
use crate::words::{Words, forms};

/// Neighbouring words that one name may span: `k8s` is three, `google-cloud-storage` too.
const WIDEST: usize = 5;

/// What is known of an upstream before it is asked anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Upstream<'a> {
    /// Its name in the configuration.
    pub name: &'a str,
    /// The program that is started.
    pub command: Option<&'a str>,
    /// The program's arguments.
    pub args: &'a [String],
    /// The address that is called.
    pub url: Option<&'a str>,
}

/// What a well-known name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) kind: Kind,
    pub(crate) percent: u8,
    pub(crate) strength: Strength,
    /// The name as it stands in the table.
    pub(crate) name: &'static str,
    /// What it is, as `a database`.
    pub(crate) what: &'static str,
}

/// How much a name says when other words stand beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    Specific,
    General,
    Alone,
}

static KNOWN: LazyLock<HashMap<String, Known>> =
    LazyLock::new(|| parse(include_str!("../rules/upstreams.txt")));

/// Words that say nothing about what an upstream is.
const FILLER: &str = "mcp server servers the my our tool tools client proxy remote official app \
    service svc \
    connector integration plugin agent agents ai llm prod production dev development staging \
    stage test demo sandbox latest beta js ts py node python npm sdk stdio sse streamable \
    modelcontextprotocol model context protocol v company work personal team main default \
    local simple reference";

/// What the table of names calls a browser.
const BROWSER: &str = "a browser that is driven";

/// Tells whether an upstream is a browser: it carries data out like any hybrid, but what is read
/// through it are pages that others wrote.
pub fn is_browser(name: &str) -> bool {
    let hits = hits(&Words::of(name));
    hits.iter().any(|hit| hit.known.what == BROWSER)
}

/// Classifies an upstream.
pub fn upstream(about: &Upstream<'_>, settings: &Classification) -> Class {
    match settings.server_overrides.get(about.name) {
        Some(kind) => Class::configured(*kind, "the configuration says so"),
        None => heuristic(about),
    }
}

fn heuristic(about: &Upstream<'_>) -> Class {
    let started = package::started(about.command, about.args);
    let address = match started {
        Started::Bridge(url) => Some(url),
        Started::Package(_) | Started::Nothing => about.url,
    };
    let by_package = match started {
        Started::Package(name) => by_path(name),
        Started::Bridge(_) | Started::Nothing => None,
    };
    let host = address.and_then(host);
    let label = host.as_deref().and_then(registered_label);
    let by_host = label.and_then(|label| by_name(&Words::of(label)));
    let evidence = [
        ("name", by_path(about.name)),
        ("package", by_package),
        ("host", by_host),
    ];
    let known = evidence
        .iter()
        .filter_map(|(from, found)| Some((*from, found.as_ref()?)));
    match known.map(|(from, found)| found.class(from)).reduce(joined) {
        Some(class) => class,
        None if host.is_some_and(|host| place(&host) == Place::Public) => {
            Class::guessed(Kind::External, 60, "its address is a public host")
        }
        None => Class::unknown("neither name nor package nor host is known"),
    }
}

/// Looks a name up that may begin with its owner: `@owner/name`, `io.github.owner/name`.
///
/// The owner speaks only where the rest does not, and the place of the code never.
fn by_path(name: &str) -> Option<Named> {
    let own = name.strip_prefix("io.github.").unwrap_or(name);
    let last = own
        .rsplit_once('/')
        .and_then(|(_, last)| by_name(&Words::of(last)));
    last.or_else(|| by_name(&Words::of(own)))
}

/// Brings two opinions about one upstream together.
///
/// Where they differ, one name lies or is out of date, and both sides must be minded.
fn joined(one: Class, other: Class) -> Class {
    let percent = one.confidence.max(other.confidence);
    if one.kind == other.kind {
        let stronger = if one.confidence == percent {
            one
        } else {
            other
        };
        let sure = percent.as_percent().saturating_add(3).min(98);
        return Class::guessed(stronger.kind, sure, stronger.reason.as_str());
    }
    let reason = format!("{}, but {}", one.reason, other.reason);
    let percent = one.confidence.min(other.confidence).less(15);
    Class::guessed(Kind::Hybrid, percent.as_percent(), reason)
}

/// What the words of a name came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) kind: Kind,
    percent: u8,
    reason: String,
}

impl Named {
    pub(crate) fn class(&self, from: &str) -> Class {
        Class::guessed(
            self.kind,
            self.percent,
            format!("its {from} has {}", self.reason),
        )
    }
}

/// One known name found among the words.
#[derive(Clone, Copy)]
struct Hit {
    known: &'static Known,
    start: usize,
    end: usize,
}

/// Looks the words of a name up, the longest known names first.
pub(crate) fn by_name(words: &Words) -> Option<Named> {
    let hits = hits(words);
    let rest = |hit: &Hit| {
        let outside = (0..words.len()).filter(|at| !(hit.start..hit.end).contains(at));
        outside.map(|at| words.word(at)).all(|word| {
            let same =
                |known: &Known| known.strength == Strength::Alone && known.kind == hit.known.kind;
            FILLER.split(' ').any(|filler| filler == word) || lookup(word).is_some_and(same)
        })
    };
    let strong = |strength| {
        hits.iter()
            .filter(move |hit| hit.known.strength == strength)
            .copied()
            .collect::<Vec<_>>()
    };
    let specific = strong(Strength::Specific);
    let general = strong(Strength::General);
    let (Some(first), last) = (specific.first().or(general.first()), hits.last()?) else {
        return hits
            .iter()
            .find(|hit| rest(hit))
            .map(|hit| single(hit, true));
    };
    let deciding = if specific.is_empty() {
        &general
    } else {
        &specific
    };
    if deciding
        .iter()
        .any(|hit| hit.known.kind != first.known.kind)
    {
        return Some(several(deciding));
    }
    // `github-webhook` is a webhook, and no place to keep things.
    let outward = general.iter().find(|hit| hit.known.kind == Kind::External);
    match outward {
        Some(outward) if first.known.kind == Kind::Internal => Some(if outward.end == last.end {
            single(outward, false)
        } else {
            several(&hits)
        }),
        _ => Some(single(first, rest(first))),
    }
}

fn single(hit: &Hit, whole: bool) -> Named {
    let Known {
        kind,
        percent,
        name,
        what,
        ..
    } = *hit.known;
    let percent = if whole {
        percent
    } else {
        percent.saturating_sub(5)
    };
    Named {
        kind,
        percent,
        reason: format!("`{name}`: {what}"),
    }
}

fn several(hits: &[Hit]) -> Named {
    let names: Vec<_> = hits
        .iter()
        .map(|hit| format!("`{}`", hit.known.name))
        .collect();
    let least = hits.iter().map(|hit| hit.known.percent).min().unwrap_or(0);
    Named {
        kind: Kind::Hybrid,
        percent: least.saturating_sub(10),
        reason: format!("{}, of both sides", names.join(" and ")),
    }
}

/// Finds known names, the widest run at each place first, without overlap.
fn hits(words: &Words) -> Vec<Hit> {
    let mut found: Vec<Hit> = Vec::new();
    let mut start = 0;
    while start < words.len() {
        let widest = (start + 1..=words.len().min(start + WIDEST)).rev();
        let hit = widest.into_iter().find_map(|end| {
            let known = lookup(words.run(start..end))?;
            Some(Hit { known, start, end })
        });
        start = hit.map_or(start + 1, |hit| hit.end);
        found.extend(hit);
    }
    found
}

fn lookup(run: &str) -> Option<&'static Known> {
    forms(run).find_map(|(stem, ending)| {
        if ending.is_empty() {
            KNOWN.get(stem)
        } else {
            KNOWN.get(&format!("{stem}{ending}"))
        }
    })
}

/// Reads the table. A section that is not understood is left out; the tests see to it that there is
/// none.
fn parse(table: &'static str) -> HashMap<String, Known> {
    let mut known = HashMap::new();
    for section in sections(table) {
        let Some((kind, percent, strength)) = parse_header(section.header) else {
            continue;
        };
        for name in section.names() {
            let what = section.remark;
            let entry = Known {
                kind,
                percent,
                strength,
                name,
                what,
            };
            known.insert(name.replace('-', ""), entry);
        }
    }
    known
}

fn parse_header(header: &str) -> Option<(Kind, u8, Strength)> {
    let mut parts = header.split(' ');
    let kind = match parts.next()? {
        "internal" => Kind::Internal,
        "external" => Kind::External,
        "hybrid" => Kind::Hybrid,
        _ => return None,
    };
    let percent = parts.next()?.parse().ok()?;
    let strength = match parts.next()? {
        "specific" => Strength::Specific,
        "general" => Strength::General,
        "alone" => Strength::Alone,
        _ => return None,
    };
    Some((kind, percent, strength))
}

#[cfg(test)]
mod tests;
