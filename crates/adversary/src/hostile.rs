//! A hostile upstream: a real MCP server, of either era or both, that plays one role of a scenario.
//!
//! It knows no transport: a message comes in, and what it says goes to an outlet. `http` and `stdio`
//! carry both. Every message that comes in is written down as it came, since what arrived is what is
//! judged afterwards.

mod fault;
pub mod http;
mod login;
mod modern;
mod stage;
pub mod stdio;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_mcp::compose;
use mcpproxy_mcp::era::{LEGACY_LATEST, METHOD_NOT_FOUND};
use serde_json::{Map, Value, json};
use tokio::sync::{Barrier, broadcast, mpsc, oneshot};

use self::stage::{Stage, listed};
use crate::scenario::{Era, FaultKind, Role};

/// Where one message is answered to.
pub(crate) type Outlet = mpsc::Sender<Bytes>;

/// How long the answer to a question is waited for.
const QUESTION: Duration = Duration::from_secs(5);

/// How long one of two calls waits for the other.
const PAIR: Duration = Duration::from_secs(2);

/// One upstream that plays a role.
#[derive(Debug)]
pub struct Actor {
    role: Role,
    stage: Mutex<Stage>,
    received: Mutex<Vec<String>>,
    questions: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    /// What is owed to whoever asked with an id, for a role that knows requests by their ids alone.
    owed: Mutex<HashMap<String, Vec<String>>>,
    pair: Barrier,
    /// What is said to everybody who listens.
    news: broadcast::Sender<Bytes>,
}

/// What is known of one conversation.
#[derive(Debug, Default)]
pub struct Talk {
    client: Mutex<String>,
    opened: AtomicBool,
}

impl Talk {
    /// Tells whether it was opened with a handshake: then what is new is told without being asked for.
    pub(crate) fn is_opened(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
    }
}

/// Who asks something, and how.
struct Asked<'a> {
    id: &'a str,
    params: &'a Value,
    client: String,
    era: Era,
}

/// Locks what cannot be left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Actor {
    /// Makes one that has not said anything yet.
    pub fn new(role: Role) -> Arc<Self> {
        Arc::new(Self {
            stage: Mutex::new(Stage::default()),
            role,
            received: Mutex::default(),
            questions: Mutex::default(),
            owed: Mutex::default(),
            pair: Barrier::new(2),
            news: broadcast::channel(1024).0,
        })
    }

    /// Takes up the count of conversations from what an earlier process of the same role received.
    pub(crate) fn resume<'a>(&self, received: impl Iterator<Item = &'a str>) {
        let opens = received.filter(|raw| {
            let message: Value = serde_json::from_str(raw).unwrap_or_default();
            let method = message.get("method").and_then(Value::as_str);
            matches!(method, Some("initialize" | "server/discover"))
        });
        lock(&self.stage).resume(opens.count());
    }

    /// Tells whether it speaks an era.
    pub(crate) fn speaks(&self, era: Era) -> bool {
        self.role.speaks(era)
    }

    /// Returns where it sends people to log in, if it wants to be logged in to.
    pub(crate) fn login(&self) -> Option<&str> {
        self.role.login.as_deref()
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.role.name
    }

    /// Returns the messages that came in, as they came.
    pub fn received(&self) -> Vec<String> {
        lock(&self.received).clone()
    }

    /// Takes one message. Whoever sent it reads the outlet until it is closed.
    pub(crate) async fn take(&self, talk: &Talk, raw: &[u8], outlet: Outlet) {
        let text = String::from_utf8_lossy(raw).into_owned();
        let message: Value = serde_json::from_str(&text).unwrap_or_default();
        lock(&self.received).push(text);
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            return self.answered(&message);
        };
        let Some(id) = message.get("id").map(Value::to_string) else {
            return;
        };
        let nothing = json!({});
        let params = message.get("params").unwrap_or(&nothing);
        let era = modern::era(params);
        if !self.role.speaks(era) {
            return say(&outlet, unspoken(&id, era)).await;
        }
        let asked = Asked {
            id: &id,
            params,
            client: client(talk, method, params, era),
            era,
        };
        // A call is answered by what the role is when it comes. What it turns into comes after it.
        let tools = self.tools(&asked);
        let turned = lock(&self.stage).counted(&self.role, method);
        let announced = self.role.trigger.as_ref().is_some_and(|one| one.announced);
        if let (Some(after), true) = (turned, announced) {
            // Messages are counted one turn after the other, and the clock is set for all of them.
            let turns = if after.is_zero() {
                1
            } else {
                self.role.versions.len()
            };
            for turn in 1..turns.max(2) {
                self.announce(after * u32::try_from(turn).unwrap_or(u32::MAX));
            }
        }
        match method {
            "tools/call" => return self.call(&asked, &tools, &outlet).await,
            "subscriptions/listen" if era == Era::Modern => {
                return modern::listen(&id, self.listen(), &outlet).await;
            }
            _ => {}
        }
        let answer = match self.answer(method, &asked) {
            Some(result) => compose::result(&id, &dressed(result, method, era).to_string()),
            None => compose::error(Some(&id), METHOD_NOT_FOUND, "no such method", None),
        };
        say(&outlet, answer).await;
    }

    /// Says that the list of tools changed, at once or after a time.
    fn announce(&self, after: Duration) {
        let word = compose::notification("notifications/tools/list_changed", "{}");
        // Nobody may be listening.
        if after.is_zero() {
            drop(self.news.send(word));
            return;
        }
        let news = self.news.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            drop(news.send(word));
        });
    }

    /// Brings the answer to a question of our own.
    fn answered(&self, message: &Value) {
        let id = message.get("id").map(Value::to_string).unwrap_or_default();
        if let Some(waiting) = lock(&self.questions).remove(&id) {
            drop(waiting.send(message.clone()));
        }
    }

    fn answer(&self, method: &str, asked: &Asked<'_>) -> Option<Value> {
        let params = asked.params;
        let named = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
        Some(match (method, asked.era) {
            ("initialize", Era::Legacy) => self.hello(asked),
            ("server/discover", Era::Modern) => modern::discovered(self.hello(asked)),
            ("ping", Era::Legacy) => json!({}),
            ("tools/list", _) => {
                let tools = listed(&self.tools(asked));
                fault::page(self.role.fault.as_ref(), tools, params)
            }
            ("prompts/list", _) => json!({ "prompts": listed(&self.role.prompts) }),
            ("resources/list", _) => json!({ "resources": listed(&self.role.resources) }),
            ("resources/templates/list", _) => json!({ "resourceTemplates": [] }),
            ("prompts/get", _) => {
                let text = hidden(&self.role.prompts, "name", named("name"), "text")?;
                let said = json!({ "type": "text", "text": text });
                json!({ "messages": [{ "role": "user", "content": said }] })
            }
            ("resources/read", _) => {
                let uri = named("uri");
                let text = hidden(&self.role.resources, "uri", uri, "text")?;
                json!({ "contents": [{ "uri": uri, "mimeType": "text/plain", "text": text }] })
            }
            ("tasks/get", _) => begun(self.task(named("taskId"))?),
            // To whoever asks: it is the mistake of servers that do not keep whose a task is.
            ("tasks/result", _) => stage::result(self.task(named("taskId"))?, 0),
            _ => return None,
        })
    }

    /// Returns the tool that answers with the task of an id.
    fn task(&self, id: &str) -> Option<&Map<String, Value>> {
        let mut tools = self.role.tools.iter();
        tools.find(|tool| tool.get("task").and_then(Value::as_str) == Some(id))
    }

    fn hello(&self, asked: &Asked<'_>) -> Value {
        let mut hello = json!({
            "protocolVersion": LEGACY_LATEST,
            "capabilities": { "tools": { "listChanged": true }, "logging": {} },
            "serverInfo": { "name": self.role.name, "version": "1" },
        });
        let offers = [
            ("prompts", !self.role.prompts.is_empty()),
            ("resources", !self.role.resources.is_empty()),
        ];
        for (name, _) in offers.iter().filter(|(_, any)| *any) {
            if let Some(all) = hello.get_mut("capabilities").and_then(Value::as_object_mut) {
                all.insert((*name).to_owned(), json!({}));
            }
        }
        let said = self
            .version(asked)
            .and_then(|one| one.get("instructions").cloned());
        let said = said.or_else(|| self.role.instructions.clone().map(Value::from));
        if let (Some(said), Some(hello)) = (said, hello.as_object_mut()) {
            hello.insert("instructions".to_owned(), said);
        }
        hello
    }

    /// Returns what it has turned into, if it has.
    fn version(&self, asked: &Asked<'_>) -> Option<&Map<String, Value>> {
        lock(&self.stage).version(&self.role, &asked.client, asked.era)
    }

    fn tools(&self, asked: &Asked<'_>) -> Vec<Map<String, Value>> {
        stage::tools(&self.role, self.version(asked))
    }

    async fn call(&self, asked: &Asked<'_>, tools: &[Map<String, Value>], outlet: &Outlet) {
        let Asked { id, params, .. } = *asked;
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let known = |tool: &&Map<String, Value>| tool.get("name") == Some(&json!(name));
        let Some(tool) = tools.iter().find(known) else {
            let unknown = compose::error(Some(id), -32602, "no such tool", None);
            return say(outlet, unknown).await;
        };
        match (tool.get("asks"), asked.era) {
            (Some(asks), Era::Legacy) => self.ask(asks, outlet).await,
            (Some(asks), Era::Modern) => {
                if let Some(question) = modern::question(asks, params) {
                    return say(outlet, compose::result(id, &question.to_string())).await;
                }
            }
            (None, _) => {}
        }
        if tool.contains_key("task") {
            let answer = json!({ "task": begun(tool) });
            return say(outlet, compose::result(id, &answer.to_string())).await;
        }
        let nth = lock(&self.stage).nth(name);
        let result = dressed(stage::result(tool, nth), "tools/call", asked.era);
        match &self.role.fault {
            Some(fault) if fault.how == FaultKind::Crossed => self.cross(asked, outlet).await,
            Some(fault) => fault::answer(fault, id, &result, outlet, &self.news).await,
            None => say(outlet, compose::result(id, &result.to_string())).await,
        }
    }

    /// Waits for another call, and answers as somebody who knows requests by their ids alone: of two
    /// that have the same, each is given what is the other's.
    async fn cross(&self, asked: &Asked<'_>, outlet: &Outlet) {
        let of = asked
            .params
            .pointer("/arguments/of")
            .and_then(Value::as_str);
        let own = format!("this is of {}", of.unwrap_or_default());
        self.owe(asked.id, own.clone());
        // Alone it is answered all the same.
        drop(tokio::time::timeout(PAIR, self.pair.wait()).await);
        let owed = lock(&self.owed).get(asked.id).cloned().unwrap_or_default();
        let said = owed.into_iter().find(|one| *one != own).unwrap_or(own);
        let said = json!({ "content": [{ "type": "text", "text": said }] });
        let said = dressed(said, "tools/call", asked.era);
        say(outlet, compose::result(asked.id, &said.to_string())).await;
    }

    /// Keeps what is owed to whoever asked with an id.
    fn owe(&self, id: &str, what: String) {
        let mut owed = lock(&self.owed);
        owed.entry(id.to_owned()).or_default().push(what);
    }

    /// Asks the agent something in the middle of a call, and waits for what it says.
    async fn ask(&self, asks: &Value, outlet: &Outlet) {
        let number = lock(&self.stage).question();
        let id = compose::quoted(&format!("question-{number}"));
        let (sender, answer) = oneshot::channel();
        lock(&self.questions).insert(id.clone(), sender);
        let method = asks
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let params = asks.get("params").cloned().unwrap_or_default();
        say(outlet, compose::request(&id, method, &params.to_string())).await;
        // What came back, if anything, is among what was received.
        drop(tokio::time::timeout(QUESTION, answer).await);
        lock(&self.questions).remove(&id);
    }

    /// Listens to what is said to everybody.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Bytes> {
        self.news.subscribe()
    }
}

/// Returns who asks: in a conversation it was said once, without one it is said each time.
fn client(talk: &Talk, method: &str, params: &Value, era: Era) -> String {
    if era == Era::Modern {
        return modern::client(params).to_owned();
    }
    let mut client = lock(&talk.client);
    if method == "initialize" {
        talk.opened.store(true, Ordering::Relaxed);
        let name = params.pointer("/clientInfo/name").and_then(Value::as_str);
        name.unwrap_or_default().clone_into(&mut client);
    }
    client.clone()
}

/// Refuses a request of an era that is not spoken.
fn unspoken(id: &str, era: Era) -> Bytes {
    match era {
        Era::Legacy => modern::refusal(id),
        Era::Modern => compose::error(Some(id), METHOD_NOT_FOUND, "no such method", None),
    }
}

/// Returns the task of a tool: it is done as soon as it is begun.
fn begun(tool: &Map<String, Value>) -> Value {
    let at = "2026-01-01T00:00:00Z";
    json!({
        "taskId": tool.get("task"), "status": "completed", "createdAt": at, "lastUpdatedAt": at,
        "ttl": 60_000,
    })
}

/// Returns a result as it looks in an era.
fn dressed(result: Value, method: &str, era: Era) -> Value {
    match era {
        Era::Legacy => result,
        Era::Modern => modern::complete(result, method),
    }
}

/// Says something; whoever has gone away does not hear it.
pub(crate) async fn say(outlet: &Outlet, message: Bytes) {
    drop(outlet.send(message).await);
}

/// Says something, and tells whether anybody is still there.
pub(crate) async fn heard(outlet: &Outlet, message: Bytes) -> bool {
    outlet.send(message).await.is_ok()
}

/// Finds the entry whose `key` is `value`, and its member that is not listed.
fn hidden<'a>(
    entries: &'a [Map<String, Value>],
    key: &str,
    value: &str,
    member: &str,
) -> Option<&'a Value> {
    let found = entries
        .iter()
        .find(|one| one.get(key) == Some(&json!(value)));
    found?.get(member)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// The call with which a role turns is still answered by what it was.
    #[tokio::test]
    async fn a_call_is_answered_before_it_is_counted() {
        let tool = |name: &str| json!({ "tools": [{ "name": name, "result": name }] });
        let role = json!({
            "name": "a", "eras": ["legacy"], "tools": [],
            "versions": { "v1": tool("first"), "v2": tool("second") },
            "trigger": { "type": "call_count", "threshold": 1 },
        });
        let actor = Actor::new(serde_json::from_value(role).unwrap());
        let (outlet, mut answers) = mpsc::channel(8);
        for (name, known) in [("first", true), ("first", false), ("second", true)] {
            let params = json!({ "name": name, "arguments": {} }).to_string();
            let call = compose::request("1", "tools/call", &params);
            actor.take(&Talk::default(), &call, outlet.clone()).await;
            let answer: Value = serde_json::from_slice(&answers.recv().await.unwrap()).unwrap();
            assert_eq!(answer.get("result").is_some(), known, "{name}: {answer}");
        }
    }

    /// Two who ask under one id at once are each given what is the other's, and under ids of their own
    /// what is theirs.
    #[tokio::test]
    async fn answers_are_crossed_where_ids_are_the_same() {
        let role = json!({
            "name": "a", "eras": ["legacy"], "tools": [{ "name": "t" }],
            "fault": { "how": "crossed" },
        });
        let actor = Actor::new(serde_json::from_value(role).unwrap());
        let ask = async |id: &str, of: &str| {
            let params = json!({ "name": "t", "arguments": { "of": of } }).to_string();
            let call = compose::request(id, "tools/call", &params);
            let (outlet, mut answers) = mpsc::channel(8);
            actor.take(&Talk::default(), &call, outlet).await;
            String::from_utf8(answers.recv().await.unwrap().to_vec()).unwrap()
        };
        let (first, second) = tokio::join!(ask("7", "east"), ask("7", "west"));
        assert!(first.contains("of west") && second.contains("of east"));
        let (first, second) = tokio::join!(ask("8", "east"), ask("9", "west"));
        assert!(first.contains("of east") && second.contains("of west"));
    }

    /// A role that turns by the clock says so by itself: nobody has to come and ask.
    #[tokio::test]
    async fn a_turn_by_the_clock_is_announced_when_its_time_has_come() {
        let role = json!({
            "name": "a", "eras": ["legacy"], "tools": [{ "name": "t", "description": "0" }],
            "trigger": { "type": "elapsed_ms", "threshold": 80, "announced": true },
        });
        let actor = Actor::new(serde_json::from_value(role).unwrap());
        let mut news = actor.listen();
        let (outlet, _answers) = mpsc::channel(8);
        let began = Instant::now();
        for _ in 0..3 {
            let list = compose::request("1", "tools/list", "{}");
            let talk = Talk::default();
            actor.take(&talk, &list, outlet.clone()).await;
        }
        assert!(news.try_recv().is_err());
        let word = tokio::time::timeout(Duration::from_secs(10), news.recv());
        let word = word.await.unwrap().unwrap();
        assert!(began.elapsed() >= Duration::from_millis(80));
        assert!(word.windows(12).any(|part| part == b"list_changed"));
        // Once, and not with each message.
        tokio::time::sleep(Duration::from_millis(120)).await;
        assert!(news.try_recv().is_err());
    }
}
