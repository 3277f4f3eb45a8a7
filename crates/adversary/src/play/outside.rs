//! Steps that are no call: raw messages, HTTP, commands, and what the owner orders.

use std::collections::BTreeMap;

use http::{Method, Uri};
use mcpproxy_mcp::body::read_bounded;
use mcpproxy_mcp::dial::Dialer;
use serde_json::{Value, json};

use super::{GLANCE, GLANCES, JUDGED, Playing, Through, Way};
use crate::agent::{Agent, PATIENCE, Reply, header_map};
use crate::error::Error;
use crate::gateway::{Gateway, command};
use crate::scenario::{Http, Run, Step};

impl Playing<'_> {
    /// Sends a message as it is.
    pub(super) async fn raw(&mut self, step: &Step, raw: &str) -> Result<Through, Error> {
        let first = self.upstreams.keys().next().cloned().unwrap_or_default();
        let endpoint = step.at.clone().unwrap_or_else(|| self.endpoint(&first));
        let mut headers = step.http.clone().unwrap_or_default().headers;
        if let Some(lender) = &step.borrows {
            let lender = self.agents.get(&(lender.clone(), endpoint.clone()));
            let session = lender.and_then(Agent::session).unwrap_or_default();
            headers.insert("mcp-session-id".to_owned(), session.to_owned());
        }
        let raw = self.named(raw);
        let reply = if let Some(other) = &step.beside {
            let other = (other.agent.clone(), self.named(&other.raw));
            let own = (raw, &headers);
            self.send_both(step, &endpoint, own, other).await?
        } else {
            let agent = self.agent(step, &endpoint).await?;
            agent.send(raw, &headers).await
        };
        if let Some(text) = &step.unseen
            && self.agent(step, &endpoint).await?.was_shown(text)
        {
            self.harmed("the agent was shown what was meant for another".to_owned());
        }
        Ok(Through::of(&reply))
    }

    /// Sends a message, and at the same time one of another agent; returns how the first was answered.
    async fn send_both(
        &mut self,
        step: &Step,
        endpoint: &str,
        (raw, headers): (String, &BTreeMap<String, String>),
        (who, beside): (String, String),
    ) -> Result<Reply, Error> {
        let other = Step {
            agent: Some(who.clone()),
            ..Step::default()
        };
        self.agent(step, endpoint).await?;
        self.agent(&other, endpoint).await?;
        let key = (who, endpoint.to_owned());
        let same = self.senseless("one agent cannot say two things at once".to_owned());
        let mut second = self.agents.remove(&key).ok_or(same)?;
        let nothing = BTreeMap::new();
        let reply = {
            let first = self.agent(step, endpoint).await?;
            let sent = second.send(beside, &nothing);
            tokio::join!(first.send(raw, headers), sent).0
        };
        self.agents.insert(key, second);
        Ok(reply)
    }

    /// Returns a message as the other side knows its tools: upstreams themselves know them without the
    /// name that the gateway puts in front.
    fn named(&self, raw: &str) -> String {
        let mut raw = raw.to_owned();
        if matches!(self.way, Way::Direct) {
            for name in self.upstreams.keys() {
                raw = raw.replace(&format!("{name}__"), "");
            }
        }
        raw
    }

    /// Sends an HTTP request as it is.
    pub(super) async fn http(&mut self, http: &Http) -> Result<Through, Error> {
        let uri = match self.way {
            Way::Gateway { gateway, .. } => format!("http://{}{}", gateway.address, http.path),
            Way::Direct => self
                .upstreams
                .values()
                .next()
                .map(|one| one.address.clone())
                .unwrap_or_default(),
        };
        let uri: Uri = uri
            .parse()
            .map_err(|_| self.senseless("not a path".to_owned()))?;
        let method = if http.method.is_empty() {
            "POST"
        } else {
            &http.method
        };
        let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
        let mut headers = header_map(http.headers.iter().map(|(name, value)| (&**name, &**value)));
        if let (true, Way::Gateway { gateway, .. }) = (http.owner, self.way) {
            headers.extend(header_map([("x-api-key", gateway.key())].into_iter()));
        }
        let dialer = Dialer::default();
        let sent = dialer.send(method, &uri, headers, http.body.clone().into());
        let answer = match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(fault)) => return Ok(Through::No(fault.to_string())),
            Err(_) => return Ok(Through::No("no answer came in time".to_owned())),
        };
        let status = answer.status();
        if status.is_success() {
            return Ok(Through::Yes);
        }
        let said = read_bounded(answer.into_body(), 1 << 16, PATIENCE)
            .await
            .unwrap_or_default();
        Ok(Through::No(format!(
            "{status}: {}",
            String::from_utf8_lossy(&said)
        )))
    }

    /// Runs a command of the product; it came through if it ended well.
    pub(super) async fn run(&mut self, run: &Run) -> Result<Through, Error> {
        let folder = tempfile::tempdir()?;
        for (name, text) in &run.files {
            let (path, text) = (folder.path().join(name), self.addressed(text));
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, text)?;
        }
        let mut command = command(self.program, folder.path());
        let args = run.args.iter().map(|one| self.addressed(one));
        let ended = command.args(args).status();
        // A gateway that serves does not end by itself.
        let Ok(status) = tokio::time::timeout(PATIENCE, ended).await else {
            return Ok(Through::Yes);
        };
        Ok(match status?.code() {
            Some(code) if code == run.refused => Through::No(format!("ended with {code}")),
            Some(_) | None => Through::Yes,
        })
    }

    /// Puts addresses of upstreams in the place of their names.
    fn addressed(&self, text: &str) -> String {
        let named = self.upstreams.iter();
        named.fold(text.to_owned(), |text, (name, upstream)| {
            text.replace(&format!("<{name}>"), &upstream.address)
        })
    }

    /// Has the owner order something about an upstream, and waits until it lists something else.
    pub(super) async fn order(&mut self, upstream: &str, order: &str) -> Result<(), Error> {
        let Way::Gateway { gateway, .. } = self.way else {
            // Without a gateway the agent itself reads the lists anew, in a new session.
            self.agents.retain(|(_, endpoint), _| endpoint != upstream);
            return Ok(());
        };
        let order = format!("/servers/{upstream}/{order}");
        relisted(gateway, upstream, &order).await
    }

    /// Has the configuration start another program under the name of an upstream: a shell that starts
    /// the same, so that what arrives is found where it was.
    pub(super) async fn swap(&mut self, upstream: &str) -> Result<(), Error> {
        let Way::Gateway { gateway, .. } = self.way else {
            return Ok(());
        };
        let file = gateway.config();
        let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)
            .map_err(|fault| self.senseless(fault.to_string()))?;
        let entry = config.pointer_mut(&format!("/mcpServers/{upstream}"));
        let entry = entry.and_then(Value::as_object_mut);
        let unknown = || self.senseless(format!("no upstream `{upstream}`"));
        let entry = entry.ok_or_else(unknown)?;
        let program = entry.insert("command".to_owned(), json!("/bin/sh"));
        let told = entry.remove("args");
        let told = told.as_ref().and_then(Value::as_array);
        let mut args = vec![
            json!("-c"),
            json!("exec \"$@\""),
            json!("sh"),
            json!(program),
        ];
        args.extend(told.into_iter().flatten().cloned());
        entry.insert("args".to_owned(), Value::Array(args));
        std::fs::write(&file, config.to_string())?;
        relisted(gateway, upstream, "/config/reload").await
    }
}

/// Orders something as the owner, and waits until an upstream lists something else.
async fn relisted(gateway: &Gateway, upstream: &str, order: &str) -> Result<(), Error> {
    let path = format!("/servers/{upstream}/tools");
    let before = gateway.get(&path).await.ok();
    gateway.post(order, &json!({})).await?;
    for _ in 0..GLANCES {
        tokio::time::sleep(GLANCE).await;
        let after = gateway.get(&path).await.ok();
        let tools = |page: &Option<Value>| page.as_ref().and_then(|one| one.get("tools").cloned());
        if tools(&after) != tools(&before) {
            break;
        }
    }
    // A list is judged just after it was taken over.
    tokio::time::sleep(JUDGED).await;
    Ok(())
}
