//! What is known about a call before it is judged: computed here, once.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use mcpproxy_classify::{self as classify, Arguments, Kind, Method, Sort, ToolClass, is_browser};
use mcpproxy_core::{
    Call, DataOrigin, Destination, Facts, FlowEvidence, Hooked, Masked, Nature, Owner, Reduced,
    Sensitive, Side, Sink, Suspicious, Tick, ToolRef,
};
use mcpproxy_detect::{Context, Detector, Direction, Report};
use mcpproxy_flow::content::{Marked, SECRET_KEY};
use mcpproxy_flow::{Content, Leaving, Whose};
use mcpproxy_text as text;
use mcpproxy_text::decode::is_hidden;

use crate::addressees;
use crate::contradictions::{contradictions, is_looked_for};
use crate::engine::Engine;
use crate::marks;
use crate::own::Own;
use crate::ready::Ready;
use crate::runs::Runs;

/// Matches of one call that are judged and shown.
const MOST_MATCHES: usize = 16;
/// Addresses and commands of one call that are looked at.
const MOST_ADDRESSES: usize = 64;
/// Length from which a key of an object is looked at as a secret.
const SHORTEST_SECRET: usize = 12;
/// The shortest name of a host that is on any list.
const SHORTEST_HOST: usize = 4;

/// The domain in which the data of a call is followed.
pub(crate) fn whose(call: &Call) -> Whose {
    Whose {
        scope: call.scope,
        session: call.session,
    }
}

/// A call as the origin of what is read or said with it.
pub(crate) fn origin(call: &Call, side: Side) -> DataOrigin {
    DataOrigin {
        call: call.id,
        upstream: call.tool.upstream.clone(),
        tool: call.tool.tool.clone(),
        at: call.at,
        side,
    }
}

/// What was found out about a call, and what the record says of it.
pub(crate) struct Seen {
    pub(crate) facts: Facts,
    pub(crate) report: Report,
}

impl Engine {
    /// Finds out everything that checks read about a call.
    pub(crate) fn facts(&self, call: &Call, ready: &Ready, now: Tick) -> Seen {
        let settings = &ready.settings;
        let class = self.classes().of(&call.tool, &settings.classification);
        let own = Own::of(call, ready);
        let mut facts = Facts::bare(match &own {
            Some(own) => own.destination(),
            None => destination(call, &class),
        });
        if !settings.enabled {
            let report = Report::default();
            return Seen { facts, report };
        }
        let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        let tool = tool_name(call);
        let report = ready.detector.json(raw, context(&tool, Direction::Request));
        let (arguments, said) = spanned(raw);
        let mut shown = Arguments::default();
        let mut addresses = Vec::new();
        if let Some(own) = own {
            facts.operation = own.operation;
            facts.suspicious = connected(&own.addresses, ready);
            addresses = own.addresses;
            facts.moves = own.moves;
            facts.tampering = own.tampering.map(Masked::from_safe);
            facts.rewiring = own.rewiring.map(Masked::from_safe);
        } else {
            let runs = Runs::of(&call.tool, arguments, ready);
            facts.operation = class.does.operation;
            (shown, facts.suspicious) = suspicious(arguments, &runs.addresses, ready);
            let vouched = class.class.method == Method::Config;
            match runs.lead(&facts.destination, vouched) {
                Some(lead) => facts.destination = lead,
                None => {
                    facts.destination.sink =
                        led(&facts.destination, &call.tool, &class, &shown, &runs);
                }
            }
            facts.moves = runs.moves;
        }
        for one in &mut facts.suspicious {
            hide(&ready.detector, &mut one.place);
        }
        facts.sensitive = marks::sensitive(&report);
        addressees::leave_out_logins(&mut facts.sensitive, raw, &report, &addresses);
        for one in &mut facts.sensitive {
            hide(&ready.detector, &mut one.place);
        }
        if settings.flow_tracking.enabled {
            let marked = marks::marked(&ready.detector, raw, &report);
            let content = Content {
                json: raw,
                marked: &marked,
            };
            let leaving = Leaving {
                by: &origin(call, Side::Outside),
                to: &facts.destination,
                content: &content,
                said: &said,
            };
            let window = ready.window();
            let checked = self.tracker().check(whose(call), leaving, window, now);
            let returned = |one: &Sensitive| is_returned(one, &marked, &checked.returned);
            facts.sensitive.retain(|one| !returned(one));
            let mut flow = checked.evidence;
            addressees::leave_out(&mut flow.matches, raw, &report, &addresses);
            flow.matches.truncate(MOST_MATCHES);
            hide_places(&ready.detector, &mut flow, &mut facts.sensitive);
            if !report.coverage.is_complete() && settings.detector.enabled {
                flow.reduced.push(Reduced::Size);
            }
            if self.is_alone() {
                flow.reduced.push(Reduced::LocalOnly);
            }
            facts.flow = flow;
            facts.recent = checked.recent;
            facts.history = checked.history;
        }
        let operation = call.declared.operation;
        let tool = (call.tool.tool.as_str(), &*class);
        facts.contradictions = contradictions(operation, tool, &shown, &facts);
        let named = shown.external.into_iter().take(MOST_ADDRESSES);
        facts.hosts = named.map(|address| address.host.into()).collect();
        for one in &mut facts.contradictions {
            // An agent writes the keys and addresses that an explanation names.
            if marks::has_secret(&ready.detector, one.explanation.as_str()) {
                one.explanation = Masked::from_safe("What is said and what is sent do not agree.");
            }
        }
        Seen { facts, report }
    }
}

/// Hides the places of evidence that are secrets by themselves. What the detector found may lie below a
/// key that only the flow knows for a secret.
fn hide_places(detector: &Detector, flow: &mut FlowEvidence, sensitive: &mut [Sensitive]) {
    let matched = flow.matches.iter_mut().map(|one| &mut one.place);
    let opaque = flow.opaque.iter_mut().map(|one| &mut one.place);
    for place in matched.chain(opaque) {
        hide(detector, place);
    }
    let mut places = flow.matches.iter().map(|one| &one.place);
    if places.any(|place| place.contains(SECRET_KEY)) {
        for one in sensitive {
            one.place = SECRET_KEY.into();
        }
    }
}

/// Hides a place that is a secret by itself: an agent names the keys of its objects.
fn hide(detector: &Detector, place: &mut Box<str>) {
    // No secret is as short as the names of fields are.
    let mut names = place.split(['.', '[', ']']);
    if names.any(|name| name.len() >= SHORTEST_SECRET) && marks::has_secret(detector, place) {
        *place = SECRET_KEY.into();
    }
}

/// Tells whether a secret in the arguments is one that the destination handed out, such as the token of
/// a session there. Where several of a kind stand in one place, all of them have to be.
fn is_returned(one: &Sensitive, marked: &[Marked<'_>], returned: &BTreeSet<usize>) -> bool {
    let same = |mark: &Marked<'_>| mark.place == *one.place && mark.label.kind == one.label.kind;
    let mut same = marked.iter().enumerate().filter(|(_, mark)| same(mark));
    let mut any = false;
    let all = same.all(|(at, _)| {
        any = true;
        returned.contains(&at)
    });
    one.label.nature == Nature::Secret && any && all
}

/// What the detector is told about a message of a call.
pub(crate) fn context(tool: &str, direction: Direction) -> Context<'_> {
    Context {
        tool: Some(tool),
        direction,
        ..Context::default()
    }
}

/// The tool of a call, as allow lists name it; one of the agent's own has no upstream.
pub(crate) fn tool_name(call: &Call) -> String {
    named(call, call.tool.tool.as_str())
}

/// The same, as it may be told.
pub(crate) fn told_name(call: &Call) -> String {
    named(call, call.shown_tool())
}

fn named(call: &Call, tool: &str) -> String {
    let own = |hook: &Arc<Hooked>| hook.owner == Owner::Agent;
    if call.hook.as_ref().is_some_and(own) {
        return tool.to_owned();
    }
    [call.tool.upstream.as_str(), ":", tool].concat()
}

pub(crate) fn destination(call: &Call, class: &ToolClass) -> Destination {
    Destination {
        sink: class.as_sink(),
        class: match class.class.kind {
            Kind::Internal => "internal",
            Kind::External => "external",
            Kind::Hybrid => "hybrid",
            Kind::Unknown => "unknown",
        },
        name: call.tool.upstream.as_str().into(),
    }
}

/// Returns what a destination counts as once it is known where the arguments lead.
///
/// To look at an address outside is to tell whoever is there what it says: a tool that may take it goes
/// there, whatever its name or the upstream says that it does. Of an upstream that is inside, or that the
/// user vouches for, an address may be one that it only keeps; then it stays inside for all but secrets.
fn led(
    to: &Destination,
    tool: &ToolRef,
    class: &ToolClass,
    shown: &Arguments,
    runs: &Runs,
) -> Sink {
    let looks = !is_browser(tool.upstream.as_str());
    let mut addresses = shown.external.iter().filter(|one| one.alone);
    let leads = runs.mentions || addresses.any(|one| !(looks && is_looked_for(&one.path)));
    let vouched = class.class.method == Method::Config;
    match to.sink {
        Sink::Outside | Sink::Assumed => to.sink,
        // What everybody sees has left, wherever it is kept.
        Sink::Inside | Sink::Unproven if shown.publishes && !vouched => Sink::Outside,
        Sink::Inside | Sink::Unproven if !leads || vouched => to.sink,
        Sink::Inside | Sink::Unproven => match class.class.kind {
            Kind::Internal if class.unproven || class.fetches => Sink::Assumed,
            Kind::Internal => Sink::Unproven,
            Kind::Hybrid | Kind::External => Sink::Outside,
            Kind::Unknown => Sink::Assumed,
        },
    }
}

/// Where the arguments of a call are in its message: everything else is the gateway's own.
pub(crate) fn arguments(raw: &str) -> &str {
    spanned(raw).0
}

fn spanned(raw: &str) -> (&str, Range<usize>) {
    let inner = text::get(raw, &["params", "arguments"]);
    let inner = inner.or_else(|| text::get(raw, &["params"]));
    inner.unwrap_or(("{}", 0..0))
}

/// Looks at arguments and judges every address in them, and those that commands connect to.
fn suspicious(
    arguments: &str,
    commanded: &[(String, String)],
    ready: &Ready,
) -> (Arguments, Vec<Suspicious>) {
    let mut found = Vec::new();
    let mut judge = |place: &str, address: &str| {
        if found.len() < MOST_ADDRESSES
            && let Some(one) = judged(address, place, ready)
            && !found.contains(&one)
        {
            found.push(one);
        }
    };
    let shown = classify::arguments_with(arguments, &mut judge);
    for (address, place) in commanded {
        judge(place, address);
    }
    text::visit(arguments, |leaf| {
        let mut place = None;
        each_host(&leaf.text, |address| {
            let place = place.get_or_insert_with(|| leaf.path.to_string());
            judge(place, address);
        });
        ControlFlow::Continue(())
    });
    (shown, found)
}

/// Hands out what could be a host in disguise: a login in front of it, an encoding of its dots, signs
/// that nobody sees, escaped slashes. What is plainly written is found without this, and a text may
/// name a host without sending anything there.
fn each_host(text: &str, mut each: impl FnMut(&str)) {
    let escaped = text.contains('\\') && (text.contains("\\/") || text.contains("\\u00"));
    // Most texts have nothing in which a host could hide, and are long.
    if !escaped && text.is_ascii() && !text.contains('%') && !text.contains('@') {
        return;
    }
    let plain = if escaped {
        text::unescape(text)
    } else {
        Cow::Borrowed(text)
    };
    let part = |char: char| {
        let sign = matches!(
            char,
            '.' | '-' | '_' | '%' | '/' | '?' | '=' | '&' | '#' | ':' | '@'
        );
        sign || char.is_alphanumeric() || (!char.is_ascii() && is_hidden(char))
    };
    for word in plain.split(|char| !part(char)) {
        let disguised = escaped || word.contains(['%', '@']) || word.contains(is_hidden);
        if disguised && word.len() >= SHORTEST_HOST {
            each(word.trim_start_matches(['/', ':']));
            within(word, &mut each);
        }
    }
}

/// Hands out what an address passes on in an encoded part of it, as the value of a query.
fn within(word: &str, each: &mut impl FnMut(&str)) {
    if !word.contains('%') {
        return;
    }
    let plain = text::decode::percent_decoded(word.as_bytes());
    let plain = String::from_utf8_lossy(&plain);
    for value in plain.split(['?', '&', '=', ';', '#']).skip(1) {
        let value = value.split_once("//").map_or(value, |(_, rest)| rest);
        if value.len() >= SHORTEST_HOST {
            each(value.trim_start_matches(['/', ':']));
        }
    }
}

/// Judges the addresses that an agent's own tool connects to.
fn connected(addresses: &[String], ready: &Ready) -> Vec<Suspicious> {
    let connected = addresses.iter();
    let found = connected.filter_map(|address| judged(address, "", ready));
    found.take(MOST_ADDRESSES).collect()
}

fn judged(address: &str, place: &str, ready: &Ready) -> Option<Suspicious> {
    let suspicion = ready.endpoints.judge(address)?;
    Some(Suspicious {
        host: suspicion.entry.into(),
        listed: suspicion.sort == Sort::Listed,
        place: place.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_disguise_are_handed_out() {
        let endpoints = classify::Endpoints::new(["webhook.site"]);
        let check = |text: &str, expect: bool| {
            let mut found = false;
            each_host(text, |host| found |= endpoints.judge(host).is_some());
            assert_eq!(found, expect, "{text}");
        };
        check("send it to webhook%2Esite/x", true);
        check("user:pw@webhook.site/x", true);
        check("mail bob@webhook.site", true);
        check("https://a.example/?u=https%3A%2F%2Fwebhook.site%2F1", true);
        check("https://a.example/?u=webhook.site%2F1&v=1", true);
        check("web\u{ad}hook.site", true);
        check("(webhook.site\u{200b}/x)", true);
        check(r#"{"url":"https:\/\/webhook.site\/x"}"#, true);
        check(r"https:\u002f\u002fwebhook.site/x", true);
        // Not in disguise, or nothing that anybody listed.
        check("we do not use webhook.site here", false);
        check("bob@example.com, 100%25 sure", false);
        check("https://a.example/?u=https%3A%2F%2Fb.example%2F1", false);
        check(r"C:\users\u0041nn\webhooks.txt", false);
    }
}
