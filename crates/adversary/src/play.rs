//! One case, played: the agent takes its steps, through the gateway or past it, and what arrived
//! and what the agent was shown is looked at.

mod call;
mod hook;
mod outside;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, NAME, Reply};
use crate::error::Error;
use crate::gateway::Gateway;
use crate::hook::Hook;
use crate::hostile::Actor;
use crate::scenario::{Era, Play, Step};

/// How often is looked whether an upstream lists something else, and how many times.
const GLANCE: Duration = Duration::from_millis(20);
const GLANCES: usize = 150;
/// How long judging a list may take.
const JUDGED: Duration = Duration::from_millis(250);

/// One upstream of a play.
pub(crate) struct Upstream {
    /// What it plays, where it runs in this process.
    pub(crate) actor: Arc<Actor>,
    /// Its address, where the agent talks to it itself.
    pub(crate) address: String,
    /// The file of what it received, where it is a child of the gateway.
    pub(crate) record: Option<std::path::PathBuf>,
}

impl Upstream {
    /// Returns the messages that it received, as they came.
    pub(crate) fn received(&self) -> Vec<String> {
        match &self.record {
            None => self.actor.received(),
            Some(record) => {
                let record = std::fs::read(record).unwrap_or_default();
                let lines = String::from_utf8_lossy(&record).into_owned();
                lines.lines().map(str::to_owned).collect()
            }
        }
    }

    fn calls(&self, tool: &str) -> usize {
        let received = self.received();
        let calls = received.iter().filter(|raw| raw.contains("\"tools/call\""));
        let named = calls.filter(|raw| {
            let call: Value = serde_json::from_str(raw).unwrap_or_default();
            call.pointer("/params/name") == Some(&json!(tool))
        });
        named.count()
    }
}

/// What is between the agent and the upstreams.
#[derive(Clone, Copy)]
pub(crate) enum Way<'a> {
    /// A gateway; whether it has only one upstream whose names it leaves as they are, and the hook of
    /// the agent, where it has one.
    Gateway {
        gateway: &'a Gateway,
        single: bool,
        hook: Option<&'a Hook>,
    },
    /// Nothing.
    Direct,
}

/// What came of a play.
#[derive(Clone, Debug, Default)]
pub(crate) struct Came {
    /// The harm that was done, in words.
    pub(crate) harm: Option<String>,
    /// The steps that did harm, by their place.
    pub(crate) harmful: BTreeSet<usize>,
    /// Steps that did not come through, in words.
    pub(crate) refused: Vec<String>,
    /// How long each refusal took as the agent sees it, in milliseconds.
    pub(crate) times: Vec<f64>,
    /// Whether the agent's user was asked by the hook.
    pub(crate) asked: bool,
    /// The name under which the agent's hook spoke.
    pub(crate) session: String,
}

impl Came {
    /// Returns what went wrong where nothing was to be in the way, in words.
    pub(crate) fn trouble(&self) -> Vec<String> {
        let told = |harm: &&String| !self.refused.contains(harm);
        let harm = self.harm.iter().filter(told);
        self.refused.iter().chain(harm).cloned().collect()
    }
}

/// A play under way.
pub(crate) struct Playing<'a> {
    way: Way<'a>,
    program: &'a Path,
    case: &'a str,
    /// The number of the case on its gateway: tokens are called after it, whatever a file is called.
    number: usize,
    era: Era,
    upstreams: &'a BTreeMap<String, Upstream>,
    /// Whether agents show the key of the gateway's owner.
    owned: bool,
    agents: BTreeMap<(String, String), Agent>,
    tokens: BTreeMap<String, String>,
    capabilities: Value,
    /// Tools that were used so far.
    uses: usize,
    /// The place of the step that is taken.
    at: Option<usize>,
    came: Came,
}

impl<'a> Playing<'a> {
    /// Gets ready.
    pub(crate) fn new(
        way: Way<'a>,
        program: &'a Path,
        (case, number): (&'a str, usize),
        era: Era,
        upstreams: &'a BTreeMap<String, Upstream>,
    ) -> Self {
        Self {
            way,
            program,
            case,
            number,
            era,
            upstreams,
            owned: false,
            agents: BTreeMap::new(),
            tokens: BTreeMap::new(),
            capabilities: json!({}),
            uses: 0,
            at: None,
            came: Came {
                session: case.to_owned(),
                ..Came::default()
            },
        }
    }

    /// Has agents show the key of the gateway's owner in the place of tokens of their own.
    #[must_use]
    pub(crate) fn owned(mut self, owned: bool) -> Self {
        self.owned = owned;
        self
    }

    /// Takes every step.
    pub(crate) async fn play(mut self, play: &Play) -> Result<Came, Error> {
        let declared = play
            .capabilities
            .iter()
            .map(|name| (name.clone(), json!({})));
        self.capabilities = Value::Object(declared.collect());
        for (at, step) in play.steps.iter().enumerate() {
            self.at = Some(at);
            if !step.when.is_empty() && !step.when.iter().any(|bait| self.shown(bait)) {
                continue;
            }
            let began = Instant::now();
            for _ in 0..step.times.max(1) {
                self.step(step).await?;
            }
            if step
                .within
                .is_some_and(|most| began.elapsed() > Duration::from_millis(most))
            {
                self.harmed("the agent was kept waiting".to_owned());
            }
        }
        self.at = None;
        if let Some(text) = play.shown.iter().find(|text| self.shown(text)) {
            let shown: String = text.chars().take(60).collect();
            self.harmed(format!("the agent was shown `{shown}`"));
        }
        if let Some(text) = play.needed.iter().find(|text| !self.shown(text)) {
            let text: String = text.chars().take(60).collect();
            let missing = format!("the agent was not shown `{text}` as it is");
            self.came.refused.push(missing.clone());
            self.harmed(missing);
        }
        let largest = self.agents.values().map(|agent| agent.largest).max();
        if play
            .flooded
            .is_some_and(|most| largest.unwrap_or_default() > most)
        {
            self.harmed("the agent was flooded".to_owned());
        }
        let heard: usize = self.agents.values().map(|agent| agent.heard).sum();
        if play.heard.is_some_and(|most| heard > most) {
            self.harmed(format!(
                "the agent was told {heard} things that it did not ask for"
            ));
        }
        Ok(self.came)
    }

    fn shown(&self, text: &str) -> bool {
        self.agents.values().any(|agent| agent.was_shown(text))
    }

    fn harmed(&mut self, how: String) {
        self.came.harmful.extend(self.at);
        self.came.harm.get_or_insert(how);
    }

    async fn step(&mut self, step: &Step) -> Result<(), Error> {
        if step.pause > 0 {
            tokio::time::sleep(Duration::from_millis(step.pause)).await;
        }
        let (name, through) = if let Some(call) = &step.call {
            (format!("call of `{call}`"), self.call(step, call).await?)
        } else if step.look {
            ("look around".to_owned(), self.look(step).await?)
        } else if let Some(uri) = &step.read {
            (format!("read of `{uri}`"), self.read(step, uri).await?)
        } else if let Some(prompt) = &step.prompt {
            let params = |name: &str| json!({ "name": name });
            let asked = self.prompt(step, prompt, params).await?;
            (format!("prompt `{prompt}`"), asked)
        } else if let Some(own) = &step.own {
            (format!("use of `{own}`"), self.own(step, own).await?)
        } else if let Some(raw) = &step.raw {
            ("raw message".to_owned(), self.raw(step, raw).await?)
        } else if let Some(http) = &step.http {
            ("HTTP request".to_owned(), self.http(http).await?)
        } else if let Some(run) = &step.run {
            (format!("`{}`", run.args.join(" ")), self.run(run).await?)
        } else if let Some(upstream) = step.refresh.as_ref().or(step.restart.as_ref()) {
            let order = if step.refresh.is_some() {
                "refresh"
            } else {
                "restart"
            };
            return self.order(upstream, order).await;
        } else if let Some(upstream) = &step.swap {
            return self.swap(upstream).await;
        } else {
            return Ok(());
        };
        match through {
            Through::Yes if step.harm => self.harmed(format!("{name} came through")),
            Through::No(why) if step.needed => {
                let failed = format!("{name} failed: {why}");
                self.came.refused.push(failed.clone());
                self.harmed(failed);
            }
            Through::No(why) => self.came.refused.push(format!("{name}: {why}")),
            Through::Yes => {}
        }
        Ok(())
    }

    fn split(&self, call: &str) -> Result<(String, String), Error> {
        let parts = call.split_once([':', '|']);
        let (upstream, rest) =
            parts.ok_or_else(|| self.senseless(format!("no upstream in `{call}`")))?;
        Ok((upstream.to_owned(), rest.to_owned()))
    }

    fn way_of(&self, step: &Step) -> Way<'a> {
        if step.past { Way::Direct } else { self.way }
    }

    fn senseless(&self, why: String) -> Error {
        Error::Senseless {
            case: self.case.to_owned(),
            why,
        }
    }

    fn arrived(&self, upstream: &str, tool: &str) -> usize {
        let upstream = self.upstreams.get(upstream);
        upstream.map(|one| one.calls(tool)).unwrap_or_default()
    }

    /// Reads every list.
    async fn look(&mut self, step: &Step) -> Result<Through, Error> {
        let endpoints: Vec<String> = match self.way {
            Way::Direct => self.upstreams.keys().cloned().collect(),
            Way::Gateway { single: true, .. } => vec!["/mcp".to_owned()],
            Way::Gateway { single: false, .. } => vec!["/mcp/all".to_owned()],
        };
        for endpoint in endpoints {
            let agent = self.agent(step, &endpoint).await?;
            for method in ["tools/list", "prompts/list", "resources/list"] {
                agent.list(method).await;
            }
        }
        Ok(Through::Yes)
    }

    async fn read(&mut self, step: &Step, place: &str) -> Result<Through, Error> {
        let (upstream, uri) = self.split(place)?;
        let endpoint = self.endpoint(&upstream);
        let params = json!({ "uri": uri });
        let reply = self
            .agent(step, &endpoint)
            .await?
            .ask("resources/read", &params)
            .await;
        Ok(Through::of(&reply))
    }

    async fn prompt(
        &mut self,
        step: &Step,
        place: &str,
        params: impl Fn(&str) -> Value,
    ) -> Result<Through, Error> {
        let (upstream, prompt) = self.split(place)?;
        let endpoint = self.endpoint(&upstream);
        let name = match self.way {
            Way::Gateway { single: false, .. } => format!("{upstream}__{prompt}"),
            Way::Gateway { single: true, .. } | Way::Direct => prompt,
        };
        let reply = self
            .agent(step, &endpoint)
            .await?
            .ask("prompts/get", &params(&name))
            .await;
        Ok(Through::of(&reply))
    }

    fn endpoint(&self, upstream: &str) -> String {
        match self.way {
            Way::Direct => upstream.to_owned(),
            Way::Gateway { single: true, .. } => "/mcp".to_owned(),
            Way::Gateway { single: false, .. } => "/mcp/all".to_owned(),
        }
    }

    /// Uses a tool of the agent's own: only the hook can object.
    async fn own(&mut self, step: &Step, tool: &str) -> Result<Through, Error> {
        let used = self.use_of(tool.to_owned(), json!(step.args));
        if let Some(no) = self.announce(step, &used).await? {
            return Ok(no);
        }
        if let Some(output) = &step.output {
            self.report(step, &used, &Reply::Result(output.clone()))
                .await?;
        }
        Ok(Through::Yes)
    }

    async fn token(&mut self, gateway: &Gateway, step: &Step) -> Result<String, Error> {
        let who = step.agent.clone().unwrap_or_default();
        if let Some(token) = self.tokens.get(&who) {
            return Ok(token.clone());
        }
        let upstreams: Vec<&str> = self.upstreams.keys().map(String::as_str).collect();
        let name = format!("agent-{}-{}", self.number, self.tokens.len());
        let token = gateway.token(&name, &upstreams).await?;
        self.tokens.insert(who, token.clone());
        Ok(token)
    }

    /// Returns the session of an agent at an endpoint, opened if it is not.
    async fn agent(&mut self, step: &Step, endpoint: &str) -> Result<&mut Agent, Error> {
        let who = step.agent.clone().unwrap_or_default();
        let key = (who, endpoint.to_owned());
        if !self.agents.contains_key(&key) {
            let mut agent = match self.way_of(step) {
                Way::Gateway { gateway, .. } if self.owned => {
                    let address = format!("http://{}{endpoint}", gateway.address);
                    Agent::new(&address, &[("x-api-key", gateway.key())], self.era)
                }
                Way::Gateway { gateway, .. } => {
                    let token = self.token(gateway, step).await?;
                    let bearer = format!("Bearer {token}");
                    let address = format!("http://{}{endpoint}", gateway.address);
                    Agent::new(&address, &[("authorization", &bearer)], self.era)
                }
                Way::Direct => {
                    let address = self.upstreams.get(endpoint).map(|one| one.address.clone());
                    let unknown = || self.senseless(format!("no upstream `{endpoint}`"));
                    Agent::new(&address.ok_or_else(unknown)?, &[], self.era)
                }
            };
            agent.open(self.capabilities.clone()).await;
            self.agents.insert(key.clone(), agent);
        }
        let missing = self.senseless(format!("{NAME} is lost"));
        self.agents.get_mut(&key).ok_or(missing)
    }
}

/// Whether a step came through.
enum Through {
    Yes,
    No(String),
}

impl Through {
    fn of(reply: &Reply) -> Self {
        if reply.is_fine() {
            Self::Yes
        } else {
            Self::No(reply.words())
        }
    }
}
