//! One gateway with everything that is played on it.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{Job, Orders, Played, Side};
use crate::error::Error;
use crate::gateway::Gateway;
use crate::hook::Hook;
use crate::hostile::Actor;
use crate::hostile::http::Playhouse;
use crate::outcome::Evidence;
use crate::play::{Came, Playing, Upstream, Way};
use crate::scenario::{Case, Control, Mode, Play, Role, Transport, filled};

impl<'a> Job<'a> {
    /// Plays all cases, so many at once.
    pub(super) async fn play(
        self,
        orders: &Orders,
        at_once: usize,
    ) -> Result<Vec<Played<'a>>, Error> {
        let mut houses = vec![Playhouse::open().await?];
        let folder = tempfile::tempdir()?;
        let mut parts = Vec::new();
        let mut servers = Map::new();
        for (at, case) in self.cases.iter().enumerate() {
            // Upstreams at one address belong together. Where they are to be strangers to each
            // other, each has an address of its own.
            while case.alone && houses.len() < case.attack.upstreams.len() {
                houses.push(Playhouse::open().await?);
            }
            let part = self.part(case, at, orders, &houses, &folder, &mut servers)?;
            parts.push(part);
        }
        let config = self.config(servers);
        let gateway = match self.control {
            Some(Control::Direct) => None,
            _ => Some(Gateway::start(&orders.program, &config).await?),
        };
        let single = config.get("routing_mode") == Some(&json!("single"));
        let hook = match &gateway {
            Some(gateway) if self.mode == Mode::Hooks => {
                Some(Hook::install(&orders.program, gateway).await?)
            }
            _ => None,
        };
        let way = match &gateway {
            Some(gateway) => Way::Gateway {
                gateway,
                single,
                hook: hook.as_ref(),
            },
            None => Way::Direct,
        };
        let mut playing = stream::iter(&parts)
            .map(|part| part.play(way, orders, &self))
            .buffer_unordered(at_once);
        let mut played = Vec::new();
        while let Some(one) = playing.next().await {
            played.push(one?);
        }
        Ok(played)
    }

    fn part(
        &self,
        case: &'a Case,
        at: usize,
        orders: &Orders,
        houses: &[Playhouse],
        folder: &TempDir,
        servers: &mut Map<String, Value>,
    ) -> Result<Part<'a>, Error> {
        let name = format!("{}/{}", self.scenario.name, case.id);
        let alone = case.alone;
        let called = move |one: &str| {
            if alone {
                one.to_owned()
            } else {
                format!("{one}-{at}")
            }
        };
        let play = match (self.side, &case.twin) {
            (Side::Twin, Some(twin)) => twin,
            (Side::Attack | Side::Twin, _) => &case.attack,
        };
        let mut play = filled(play, &name, &called)?;
        let spoken = std::mem::take(&mut play.upstreams).into_iter();
        play.upstreams = spoken.map(|role| role.speaking(&[self.era])).collect();
        if self.control == Some(Control::Owner) {
            let requests = play.steps.iter_mut().filter_map(|step| step.http.as_mut());
            requests.for_each(|http| http.owner = true);
        }
        let mut upstreams = BTreeMap::new();
        for (role, house) in play.upstreams.iter().zip(houses.iter().cycle()) {
            let (settings, upstream) = settled(role, orders, house, folder)?;
            servers.insert(role.name.clone(), settings);
            upstreams.insert(role.name.clone(), upstream);
        }
        Ok(Part {
            case,
            name,
            number: at,
            play,
            upstreams,
        })
    }

    /// The defaults, the upstreams, and what the case brings. When records are written changes no
    /// decision.
    fn config(&self, servers: Map<String, Value>) -> Value {
        let mut config = if self.written {
            json!({ "activity": { "durability": "strict" } })
        } else {
            json!({})
        };
        let own = self.cases.first().map(|case| case.config.clone());
        let own = own.unwrap_or_default();
        if let Some(all) = config.as_object_mut() {
            all.extend(own.into_iter().filter(|(key, _)| {
                self.control != Some(Control::Default) || key == "routing_mode"
            }));
            all.insert("mcpServers".to_owned(), Value::Object(servers));
            if self.control == Some(Control::Off) {
                all.insert("security".to_owned(), json!({ "enabled": false }));
            }
            if self.control == Some(Control::Named) {
                all.insert("allowed_hosts".to_owned(), json!(self.given("host")));
                all.insert("allowed_origins".to_owned(), json!(self.given("origin")));
            }
            // A literal `${` is written with one more.
            if let Some(key) = &self.key {
                all.insert("api_key".to_owned(), json!(key.replace("${", "$${")));
            }
        }
        config
    }

    /// Returns what the HTTP requests of the attacks give in a header.
    fn given(&self, header: &str) -> Vec<Value> {
        let steps = self.cases.iter().flat_map(|case| &case.attack.steps);
        let requests = steps.filter_map(|step| step.http.as_ref());
        let given = requests.filter_map(|http| http.headers.get(header));
        given.map(|value| json!(value)).collect()
    }
}

/// Makes an upstream available, and says how the gateway reaches it.
fn settled(
    role: &Role,
    orders: &Orders,
    house: &Playhouse,
    folder: &TempDir,
) -> Result<(Value, Upstream), Error> {
    let actor = Actor::new(role.clone());
    let address = house.put_on(Arc::clone(&actor));
    let mut settings = role.settings.clone();
    let mut record = None;
    match role.transport {
        Transport::Http => {
            settings.insert("url".to_owned(), json!(address));
        }
        Transport::Stdio => {
            let file = folder.path().join(format!("{}.json", role.name));
            let received = folder.path().join(format!("{}.received", role.name));
            let mut plain = role.clone();
            plain.settings = Map::new();
            let steps = json!([{ "look": true }]);
            let play = json!({ "upstreams": [plain], "steps": steps });
            let scenario =
                json!({ "name": role.name, "cases": [{ "id": "only", "attack": play }] });
            std::fs::write(&file, scenario.to_string())?;
            let args = json!([
                "adversary",
                "serve",
                "--scenario",
                file,
                "--record",
                received
            ]);
            let (command, args) = match &role.package {
                Some(package) => packaged(package, orders, &args, folder)?,
                None => (json!(orders.program), args),
            };
            settings.insert("command".to_owned(), command);
            settings.insert("args".to_owned(), args);
            record = Some(received);
        }
    }
    let upstream = Upstream {
        actor,
        address,
        record,
    };
    Ok((Value::Object(settings), upstream))
}

/// Makes it look as if a package manager started the upstream.
fn packaged(
    package: &str,
    orders: &Orders,
    args: &Value,
    folder: &TempDir,
) -> Result<(Value, Value), Error> {
    let npx = folder.path().join("npx");
    let program = orders.program.display();
    let script = format!("#!/bin/sh\nshift 2\nexec '{program}' \"$@\"\n");
    std::fs::write(&npx, script)?;
    std::fs::set_permissions(&npx, Permissions::from_mode(0o700))?;
    let mut all = vec![json!("-y"), json!(package)];
    all.extend(args.as_array().cloned().unwrap_or_default());
    Ok((json!(npx), Value::Array(all)))
}

/// Writes a text so that it can stand in a query.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let bytes = text.bytes().map(|byte| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    bytes.collect()
}

/// One case on its gateway.
struct Part<'a> {
    case: &'a Case,
    name: String,
    number: usize,
    play: Play,
    upstreams: BTreeMap<String, Upstream>,
}

impl<'a> Part<'a> {
    async fn play(
        &self,
        way: Way<'_>,
        orders: &Orders,
        job: &Job<'a>,
    ) -> Result<Played<'a>, Error> {
        let (program, era) = (&orders.program, job.era);
        let named = (self.name.as_str(), self.number);
        let playing = Playing::new(way, program, named, era, &self.upstreams)
            .owned(job.control == Some(Control::Owner));
        let came = playing.play(&self.play).await?;
        let mut evidence = Evidence::default();
        if let Way::Gateway { gateway, .. } = way {
            for record in self.records(gateway, &came).await? {
                evidence.add(&record);
            }
        }
        Ok(Played {
            case: self.case,
            side: job.side,
            mode: job.mode,
            era,
            came,
            evidence,
        })
    }

    /// Returns what is on record about the upstreams of the case and the agent's own tools.
    async fn records(&self, gateway: &Gateway, came: &Came) -> Result<Vec<Value>, Error> {
        let mut asked: Vec<String> = self
            .upstreams
            .keys()
            .map(|name| format!("server={name}"))
            .collect();
        if self.play.steps.iter().any(|step| step.own.is_some()) {
            asked.push(format!("session_id={}", encoded(&came.session)));
        }
        let mut records = Vec::new();
        for filter in asked {
            let path = format!("/activity?limit=100&{filter}");
            let mut page = gateway.get(&path).await?;
            if let Some(Value::Array(some)) = page.get_mut("activities").map(Value::take) {
                records.extend(some);
            }
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_kind_can_be_asked_for() {
        for (name, expect) in [
            ("rug-pull/a_1.b", "rug-pull%2Fa_1.b"),
            ("my \u{fc}bung&a", "my%20%C3%BCbung%26a"),
        ] {
            assert_eq!(encoded(name), expect);
        }
    }
}
