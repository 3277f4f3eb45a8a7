//! What hooks say about what upstreams offer: tools, prompts, resources, templates, instructions.
//! Nothing is shown or called that they were not asked about in exactly this form.
//!
//! A hook that denies a list withholds all of it, but only that upstream's; one that gives back a
//! list with entries missing or changed withholds these. What nobody decided is asked about again
//! with the next reading of the list.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::{
    Action, Call, Finding, Masked, McpRequest, McpResponse, McpSessionInfo, MessageKind, OfferKind,
    RequestMetadata, ResponseKind, Severity, Threat, Tier, UpstreamId,
};
use mcpproxy_hooks::{Around, Phase, Ran, Registry, Subject};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::masked;
use crate::engine::Engine;
use crate::quarantine::{Held, Offered};
use crate::ready::Ready;

/// The rule by which a call to something is denied that hooks withhold.
pub const HOOKED: &str = "hook_listing";
/// How long a list waits for hooks that are being asked about one.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long hooks have for a list.
const HOOKS_PATIENCE: Duration = Duration::from_secs(30);

/// What hooks said about what one upstream offers, by kind and name.
type Looks = HashMap<(OfferKind, Box<str>), Look>;

/// What hooks said about what upstreams offer.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    offers: RwLock<HashMap<UpstreamId, Looks>>,
    /// Lists that hooks are being asked about.
    under_way: Arc<watch::Sender<usize>>,
    /// Until when calls wait for hooks that have just been put in force.
    fresh_until: RwLock<Option<Instant>>,
}

/// What hooks said about one thing.
#[derive(Clone, Debug)]
struct Look {
    raw: Bytes,
    /// Why it is withheld, if it is.
    why: Option<String>,
    /// Whether they decided; otherwise they are asked again.
    decided: bool,
}

impl Looked {
    fn of(&self, upstream: &UpstreamId, kind: OfferKind, name: &str) -> Option<Look> {
        let offers = self.offers.read().unwrap_or_else(PoisonError::into_inner);
        offers.get(upstream)?.get(&(kind, name.into())).cloned()
    }

    fn keep(&self, upstream: &UpstreamId, looks: Vec<((OfferKind, Box<str>), Look)>) {
        let mut offers = self.offers.write().unwrap_or_else(PoisonError::into_inner);
        offers.entry(upstream.clone()).or_default().extend(looks);
    }

    /// Forgets everything: other hooks are in force, and have yet to be asked.
    pub(crate) fn clear(&self) {
        let mut fresh = self
            .fresh_until
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *fresh = Some(Instant::now() + PATIENCE);
        drop(fresh);
        let mut offers = self.offers.write().unwrap_or_else(PoisonError::into_inner);
        offers.clear();
    }

    /// Forgets an upstream that is gone.
    pub(crate) fn forget(&self, upstream: &UpstreamId) {
        let mut offers = self.offers.write().unwrap_or_else(PoisonError::into_inner);
        offers.remove(upstream);
    }
}

/// A list that hooks are being asked about; it is not any more once this is dropped.
#[derive(Debug)]
pub struct UnderWay(Arc<watch::Sender<usize>>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Engine {
    /// Tells whether hooks are asked about what upstreams offer.
    pub fn looks_at_listings(&self) -> bool {
        self.lookers().is_some()
    }

    fn lookers(&self) -> Option<Arc<Registry>> {
        let pipeline = self.hooks()?;
        let concerns = self.ready().settings.enabled && pipeline.concerns(Phase::Listing);
        concerns.then_some(pipeline)
    }

    /// Says that hooks are about to be asked about a list; lists wait for that.
    pub fn begin_look(&self) -> UnderWay {
        let count = &self.looked().under_way;
        count.send_modify(|count| *count += 1);
        UnderWay(Arc::clone(count))
    }

    /// Asks hooks about what an upstream offers, but for what they have decided about already.
    /// Returns whether there is something new to show or to hide.
    pub async fn look_at(&self, upstream: &UpstreamId, offers: Vec<Offered>) -> bool {
        let Some(pipeline) = self.lookers() else {
            return false;
        };
        let mut kinds: BTreeMap<&'static str, Vec<Offered>> = BTreeMap::new();
        for offer in offers {
            let known = self.looked().of(upstream, offer.kind, &offer.name);
            if known.is_none_or(|look| !look.decided || look.raw != offer.raw) {
                kinds.entry(offer.kind.name()).or_default().push(offer);
            }
        }
        let news = !kinds.is_empty();
        for offers in kinds.into_values() {
            let looks = self.looks(&pipeline, upstream, offers).await;
            self.looked().keep(upstream, looks);
        }
        news
    }

    async fn looks(
        &self,
        pipeline: &Registry,
        upstream: &UpstreamId,
        offers: Vec<Offered>,
    ) -> Vec<((OfferKind, Box<str>), Look)> {
        let ready = self.ready();
        let (method, list) = offers.first().map_or(("", ""), |offer| named(offer.kind));
        let body = composed(list, &offers);
        let request = McpRequest {
            method: method.into(),
            name: "".into(),
            params: Bytes::from_static(b"{}"),
            id: None,
        };
        let response = McpResponse {
            kind: ResponseKind::Listing,
            body: body.into(),
        };
        let around = self.around_listing(upstream, method);
        let mask = masked::mask(&ready);
        let subject = Subject::Response(request, response);
        let ran = pipeline.ask(subject.clone(), &around, &mask).await;
        pipeline.tell(subject, &around, &mask);
        looks(&ready, list, offers, &ran)
    }

    /// Returns what surrounds a list, which belongs to no call.
    fn around_listing(&self, upstream: &UpstreamId, method: &str) -> Around {
        let now = self.now().1;
        let correlation_id = format!("{upstream}-{}-{}", method.replace('/', "-"), now.0);
        Around {
            correlation_id: correlation_id.into(),
            session: Arc::new(McpSessionInfo {
                session_id: String::new(),
                server_id: upstream.to_string(),
                server_name: upstream.to_string(),
                protocol_version: String::new(),
                established_at: now,
            }),
            identity: None,
            request: Arc::new(RequestMetadata {
                method: method.to_owned(),
                path: String::new(),
                headers: Vec::new(),
                remote_addr: None,
                timestamp: now,
            }),
            earlier: Vec::new(),
            left: HOOKS_PATIENCE,
        }
    }

    /// Tells whether hooks let something be shown, in exactly this form.
    pub(crate) fn is_let_through(
        &self,
        upstream: &UpstreamId,
        kind: OfferKind,
        name: &str,
        raw: &[u8],
    ) -> bool {
        if !self.looks_at_listings() {
            return true;
        }
        let look = self.looked().of(upstream, kind, name);
        look.is_some_and(|look| look.why.is_none() && look.raw == raw)
    }

    /// Says why hooks withhold something, if they do.
    pub(crate) fn held_by_hooks(
        &self,
        upstream: &UpstreamId,
        kind: OfferKind,
        name: &str,
    ) -> Option<Held> {
        if !self.looks_at_listings() {
            return None;
        }
        let why = match self.looked().of(upstream, kind, name) {
            Some(look) => look.why?,
            None => "hooks were not asked about it yet".to_owned(),
        };
        Some(Held::by_hook(why))
    }

    /// Waits until hooks that have just been put in force have decided about what a call is for: a
    /// reload is no reason to deny what was called all along.
    pub(crate) async fn until_offered(&self, call: &Call) {
        let looked = self.looked();
        let fresh = looked.fresh_until.read();
        let until = *fresh.unwrap_or_else(PoisonError::into_inner);
        let (Some(until), Some(kind), true) = (until, listed_as(call), self.looks_at_listings())
        else {
            return;
        };
        let (upstream, name) = (&call.tool.upstream, call.tool.tool.as_str());
        let mut under_way = looked.under_way.subscribe();
        let known = under_way.wait_for(|_| looked.of(upstream, kind, name).is_some());
        // Who is still not decided about is not called.
        drop(timeout_at(until, known).await);
    }

    /// Returns a finding if a call is for something that hooks withhold.
    pub(crate) fn hooks_withhold(&self, call: &Call) -> Option<Finding> {
        let kind = listed_as(call)?;
        let (upstream, name) = (&call.tool.upstream, call.tool.tool.as_str());
        let held = self.held_by_hooks(upstream, kind, name)?;
        Some(Finding {
            severity: Severity::High,
            threat: Threat::ToolPoisoning,
            reason: Masked::from_safe(held.sentence(upstream, kind, name)),
            ..Finding::new(HOOKED, Tier::Hook, Action::Deny)
        })
    }

    /// Waits, but not for long, until hooks have decided about the lists they are being asked about.
    pub async fn until_looked(&self) {
        if self.looks_at_listings() {
            let mut under_way = self.looked().under_way.subscribe();
            let idle = under_way.wait_for(|count| *count == 0);
            // Who is still not decided about is not shown.
            drop(tokio::time::timeout(PATIENCE, idle).await);
        }
    }
}

/// What a call is for, where that stands in a list. An agent's own tools are in none.
fn listed_as(call: &Call) -> Option<OfferKind> {
    let MessageKind::Request(method) = &call.kind else {
        return None;
    };
    let kind = match &**method {
        "tools/call" => OfferKind::Tool,
        "prompts/get" => OfferKind::Prompt,
        _ => return None,
    };
    call.hook.is_none().then_some(kind)
}

/// The method that lists things of a kind, and the member of its result.
fn named(kind: OfferKind) -> (&'static str, &'static str) {
    match kind {
        OfferKind::Tool => ("tools/list", "tools"),
        OfferKind::Prompt => ("prompts/list", "prompts"),
        OfferKind::Resource => ("resources/list", "resources"),
        OfferKind::Template => ("resources/templates/list", "resourceTemplates"),
        OfferKind::Instructions | OfferKind::Server => ("initialize", "instructions"),
    }
}

/// The offers as the upstream would list them.
fn composed(list: &str, offers: &[Offered]) -> String {
    let raws: Vec<_> = offers.iter().map(|offer| text_of(&offer.raw)).collect();
    match list {
        "instructions" => format!(r#"{{"instructions":{}}}"#, raws.concat()),
        list => format!(r#"{{"{list}":[{}]}}"#, raws.join(",")),
    }
}

fn text_of(raw: &Bytes) -> &str {
    std::str::from_utf8(raw).unwrap_or("null")
}

/// What hooks said about each of the offers.
fn looks(
    ready: &Ready,
    list: &str,
    offers: Vec<Offered>,
    ran: &Ran,
) -> Vec<((OfferKind, Box<str>), Look)> {
    let objection = ran.noted.iter().find(|one| one.wants >= Action::Ask);
    let whole = objection.map(|one| masked::words(ready, &one.reason).to_string());
    let decided = objection.is_none_or(|one| one.objects);
    let changed = ran
        .noted
        .iter()
        .rev()
        .find(|one| one.wants == Action::Allow);
    let changed = changed.map(|one| masked::words(ready, &one.reason).to_string());
    let left: Option<Value> = ran.changed.as_ref().map(|body| {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        body.get(list).cloned().unwrap_or_default()
    });
    let looks = offers.into_iter().map(|offer| {
        let kept = left.as_ref().is_none_or(|left| has(left, &offer.raw));
        let gone = (!kept).then(|| changed.clone().unwrap_or_default());
        let look = Look {
            why: whole.clone().or(gone),
            raw: offer.raw,
            decided,
        };
        ((offer.kind, offer.name), look)
    });
    looks.collect()
}

/// Tells whether something is still in a list as it was.
fn has(left: &Value, raw: &Bytes) -> bool {
    let Ok(offered) = serde_json::from_slice::<Value>(raw) else {
        return false;
    };
    match left {
        Value::Array(entries) => entries.contains(&offered),
        one => *one == offered,
    }
}
