//! The run: gateways are started, cases are played on them, and everything is counted.
//!
//! Cases of one scenario that need no configuration of their own share a gateway. They have upstreams
//! with names of their own and agents with tokens of their own, so that nothing that one case reads
//! or does counts for another. Attacks and twins are never on the same gateway.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::error::Error;
use crate::gateway::Gateway;
use crate::hostile::Actor;
use crate::hostile::http::Playhouse;
use crate::metrics::{Category, Metrics, Recognized};
use crate::outcome::{self, Evidence, Finished, Outcome};
use crate::play::{Came, Playing, Upstream, Way};
use crate::scenario::{
    Case, Control, Library, Measures, Mode, Play, Role, Scenario, Transport, Verdict, filled,
};

/// Gateways that run at once.
const GATEWAYS: usize = 3;
/// Cases that are played at once on one gateway.
const CASES: usize = 16;

/// Cases that are played again for their time, and refusals of each.
const TIMED: usize = 12;
const REFUSALS: usize = 6;

/// What is to be played.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The program that is the gateway.
    pub program: PathBuf,
    /// How agent and gateway work together.
    pub modes: Vec<Mode>,
}

/// What came of everything.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The figures.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// The figures by category.
    pub categories: Vec<Category>,
    /// Every case in every mode.
    pub scenarios: Vec<Finished>,
    /// Every published incident.
    pub incidents: Vec<Replayed>,
    /// What was recognized otherwise than expected, in words.
    pub unrecognized: Vec<String>,
}

impl Report {
    /// Tells whether the figures are good enough, every floor is reached and every incident came out
    /// as told.
    pub fn is_ready(&self) -> bool {
        self.metrics.production_ready
            && self.categories.iter().all(|one| one.reached)
            && self.incidents.iter().all(|one| one.as_told)
    }

    /// Returns the figures with their names, for people.
    pub fn figures(&self) -> Vec<(&'static str, String)> {
        let Metrics {
            attack_detection_rate,
            attack_stop_rate,
            false_positive_rate,
            false_negative_rate,
            contradiction_precision,
            contradiction_recall,
            classification_accuracy,
            pii_detection_f1,
            rug_pull_detection_rate,
            avg_detection_time_ms,
            production_ready,
        } = &self.metrics;
        let rates = [
            ("attack_detection_rate", attack_detection_rate),
            ("attack_stop_rate", attack_stop_rate),
            ("false_positive_rate", false_positive_rate),
            ("false_negative_rate", false_negative_rate),
            ("contradiction_precision", contradiction_precision),
            ("contradiction_recall", contradiction_recall),
            ("classification_accuracy", classification_accuracy),
            ("pii_detection_f1", pii_detection_f1),
            ("rug_pull_detection_rate", rug_pull_detection_rate),
            ("avg_detection_time_ms", avg_detection_time_ms),
        ];
        let mut figures: Vec<_> = rates
            .map(|(name, rate)| (name, format!("{rate:.4}")))
            .into();
        figures.push(("production_ready", production_ready.to_string()));
        figures
    }
}

/// A published incident and what came of its replay.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Its number in the table.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// What the table says.
    pub verdict: Verdict,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether the two go together.
    pub as_told: bool,
}

/// What came of a control run.
#[derive(Clone, Debug, Serialize)]
pub struct Controlled {
    /// The scenario and the case.
    pub case: String,
    /// How the defence was switched off.
    pub control: Control,
    /// The harm, in words; nothing where it was not done although nobody prevented it.
    pub harm: Option<String>,
}

/// Whether attacks or twins are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Attack,
    Twin,
}

/// One gateway and what is played on it.
struct Job<'a> {
    scenario: &'a Scenario,
    cases: Vec<&'a Case>,
    side: Side,
    mode: Mode,
    control: Option<Control>,
}

/// One case that was played.
struct Played<'a> {
    case: &'a Case,
    side: Side,
    mode: Mode,
    came: Came,
    evidence: Evidence,
}

/// Plays everything and counts. `progress` hears of every gateway that is done.
pub async fn run(
    library: &Library,
    orders: &Orders,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Report, Error> {
    let mut jobs = Vec::new();
    for scenario in &library.scenarios {
        for mode in &orders.modes {
            for side in [Side::Attack, Side::Twin] {
                jobs.extend(gateways(scenario, side, *mode));
            }
        }
    }
    let played = play_all(jobs, orders, progress).await?;
    let times = timed(library, orders, &played).await?;
    Ok(report(library, orders, &played, &times))
}

/// Plays some of the attacks that were refused again, one at a time, and returns how long each
/// refusal took as the agent sees it, in milliseconds. The first refusal of a case is left out: it
/// may have to wait for a conversation with the upstream.
async fn timed(
    library: &Library,
    orders: &Orders,
    played: &[Played<'_>],
) -> Result<Vec<f64>, Error> {
    let refused = |case: &Case| {
        let mut steps = case.attack.steps.iter();
        if !steps.any(|step| step.harm && step.call.is_some() && step.when.is_empty()) {
            return false;
        }
        let mut own = played.iter().filter(|one| std::ptr::eq(one.case, case));
        own.any(|one| one.side == Side::Attack && !one.came.times.is_empty())
    };
    let mut times = Vec::new();
    let Some((scenario, _)) = library.cases().find(|(_, case)| refused(case)) else {
        return Ok(times);
    };
    let mode = orders.modes.first().copied().unwrap_or(Mode::Proxy);
    let mut again: Vec<Case> = scenario
        .cases
        .iter()
        .filter(|case| refused(case))
        .cloned()
        .collect();
    again.retain(|case| plays(case, mode));
    again.truncate(TIMED);
    for case in &mut again {
        let harmful = case.attack.steps.iter_mut().filter(|step| step.harm);
        harmful.for_each(|step| step.times = REFUSALS);
    }
    let job = Job {
        scenario,
        cases: again.iter().collect(),
        side: Side::Attack,
        mode,
        control: None,
    };
    for one in job.play(orders, 1).await? {
        times.extend(one.came.times.iter().skip(1));
    }
    Ok(times)
}

/// Plays every attack with its defence switched off.
pub async fn control(
    library: &Library,
    orders: &Orders,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Controlled>, Error> {
    let mut jobs = Vec::new();
    for scenario in &library.scenarios {
        let counts = |one: &&Case| control_of(scenario, one) != Control::None;
        for mode in &orders.modes {
            let first = |one: &&Case| first_mode(one, &orders.modes) == Some(*mode);
            let cases = scenario.cases.iter().filter(counts).filter(first);
            let mut by_way: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
            for case in cases {
                let mut way = format!("{:?}", control_of(scenario, case));
                if case.alone {
                    way.push_str(&case.id);
                }
                way.push_str(&json!(case.config).to_string());
                by_way.entry(way).or_default().push(case);
            }
            jobs.extend(by_way.into_values().map(|cases| Job {
                scenario,
                side: Side::Attack,
                mode: *mode,
                control: cases.first().map(|case| control_of(scenario, case)),
                cases,
            }));
        }
    }
    let played = play_all(jobs, orders, progress).await?;
    let told = library.cases().flat_map(|(scenario, case)| {
        let own = played
            .iter()
            .filter(move |one| std::ptr::eq(one.case, case));
        own.map(move |one| Controlled {
            case: format!("{}/{}", scenario.name, case.id),
            control: control_of(scenario, case),
            harm: one.came.harm.clone(),
        })
    });
    Ok(told.collect())
}

fn control_of(scenario: &Scenario, case: &Case) -> Control {
    case.control.unwrap_or(scenario.control)
}

/// Tells whether a case can be played in a mode.
fn plays(case: &Case, mode: Mode) -> bool {
    case.modes.is_empty() || case.modes.contains(&mode)
}

/// Returns the first of the modes in which a case can be played: once is enough for a control.
fn first_mode(case: &Case, modes: &[Mode]) -> Option<Mode> {
    modes.iter().copied().find(|mode| plays(case, *mode))
}

/// Puts cases together that can share a gateway.
fn gateways(scenario: &Scenario, side: Side, mode: Mode) -> Vec<Job<'_>> {
    let cases = scenario.cases.iter().filter(|case| plays(case, mode));
    let cases = cases.filter(|case| side == Side::Attack || case.twin.is_some());
    let mut by_config: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        let mut key = json!(case.config).to_string();
        if case.alone {
            key.push_str(&case.id);
        }
        by_config.entry(key).or_default().push(case);
    }
    let jobs = by_config.into_values().map(|cases| Job {
        scenario,
        cases,
        side,
        mode,
        control: None,
    });
    jobs.collect()
}

async fn play_all<'a>(
    jobs: Vec<Job<'a>>,
    orders: &Orders,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Played<'a>>, Error> {
    let mut playing = stream::iter(jobs)
        .map(|job| async move {
            let told = format!(
                "{}: {} {:?} ({:?})",
                job.scenario.name,
                job.cases.len(),
                job.side,
                job.mode
            );
            let played = job.play(orders, CASES).await;
            progress(&told.to_lowercase());
            played
        })
        .buffer_unordered(GATEWAYS);
    let mut all = Vec::new();
    while let Some(played) = playing.next().await {
        all.extend(played?);
    }
    Ok(all)
}

impl<'a> Job<'a> {
    async fn play(self, orders: &Orders, at_once: usize) -> Result<Vec<Played<'a>>, Error> {
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
        let way = match &gateway {
            Some(gateway) => Way::Gateway {
                gateway,
                single,
                mode: self.mode,
            },
            None => Way::Direct,
        };
        let mut playing = stream::iter(&parts)
            .map(|part| part.play(way, orders, self.side, self.mode))
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
        let play = filled(play, &name, &called)?;
        let mut upstreams = BTreeMap::new();
        for (role, house) in play.upstreams.iter().zip(houses.iter().cycle()) {
            let (settings, upstream) = settled(role, orders, house, folder)?;
            servers.insert(role.name.clone(), settings);
            upstreams.insert(role.name.clone(), upstream);
        }
        Ok(Part {
            case,
            name,
            play,
            upstreams,
        })
    }

    /// The defaults, the upstreams, and what the case brings. Records are written before answers
    /// leave, so that they are there when they are looked for; this changes no decision.
    fn config(&self, servers: Map<String, Value>) -> Value {
        let mut config = json!({ "activity": { "durability": "strict" } });
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
        }
        config
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

/// One case on its gateway.
struct Part<'a> {
    case: &'a Case,
    name: String,
    play: Play,
    upstreams: BTreeMap<String, Upstream>,
}

impl<'a> Part<'a> {
    async fn play(
        &self,
        way: Way<'_>,
        orders: &Orders,
        side: Side,
        mode: Mode,
    ) -> Result<Played<'a>, Error> {
        let playing = Playing::new(way, &orders.program, &self.name, &self.upstreams);
        let came = playing.play(&self.play).await?;
        let mut evidence = Evidence::default();
        if let Way::Gateway { gateway, .. } = way {
            for record in self.records(gateway, &came).await? {
                evidence.add(&record);
            }
        }
        Ok(Played {
            case: self.case,
            side,
            mode,
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
            asked.push(format!("session_id={}", came.session.replace('/', "%2F")));
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

fn report(library: &Library, orders: &Orders, played: &[Played<'_>], times: &[f64]) -> Report {
    let mut finished: Vec<(Measures, Finished)> = Vec::new();
    let mut incidents = Vec::new();
    let mut unrecognized = Vec::new();
    let (mut operations, mut personal) = (Recognized::default(), Recognized::default());
    for (scenario, case) in library.cases() {
        for mode in &orders.modes {
            let find = |side: Side| {
                let own = |one: &&Played<'_>| {
                    std::ptr::eq(one.case, case) && one.side == side && one.mode == *mode
                };
                played.iter().find(own)
            };
            let Some(attack) = find(Side::Attack) else {
                continue;
            };
            match scenario.measures {
                Measures::Incident => incidents.extend(replayed(case, attack)),
                Measures::Classification => {
                    count_operation(case, attack, &mut operations, &mut unrecognized);
                }
                Measures::Pii => count_types(case, attack, &mut personal, &mut unrecognized),
                Measures::Attack | Measures::RugPull | Measures::Contradiction => {
                    let one = one(scenario, case, attack, find(Side::Twin));
                    finished.push((scenario.measures, one));
                }
            }
        }
    }
    let borrowed: Vec<_> = finished
        .iter()
        .map(|(measures, one)| (*measures, one))
        .collect();
    let metrics = Metrics::of(&borrowed, operations, personal, times);
    let categories = library.scenarios.iter().filter_map(|scenario| {
        let own: Vec<&Finished> = finished
            .iter()
            .map(|(_, one)| one)
            .filter(|one| one.scenario == scenario.name)
            .collect();
        (!own.is_empty()).then(|| Category::of(scenario, &own))
    });
    let categories = categories.collect();
    Report {
        metrics,
        categories,
        scenarios: finished.into_iter().map(|(_, one)| one).collect(),
        incidents,
        unrecognized,
    }
}

fn one(
    scenario: &Scenario,
    case: &Case,
    attack: &Played<'_>,
    twin: Option<&Played<'_>>,
) -> Finished {
    Finished {
        scenario: scenario.name.clone(),
        case: case.id.clone(),
        title: case.title.clone(),
        mode: attack.mode,
        outcome: outcome::attack(&attack.came, &attack.evidence),
        harm: attack.came.harm.clone(),
        evidence: attack.evidence.clone(),
        twin: twin.map(|twin| outcome::twin(&twin.came, &twin.evidence)),
        twin_trouble: twin
            .map(|twin| twin.came.refused.clone())
            .unwrap_or_default(),
        twin_evidence: twin.map(|twin| twin.evidence.clone()),
    }
}

fn replayed(case: &Case, attack: &Played<'_>) -> Option<Replayed> {
    let incident = case.incident.clone()?;
    let outcome = outcome::attack(&attack.came, &attack.evidence);
    let as_told = match incident.verdict {
        Verdict::Stopped => outcome == Outcome::Stopped,
        Verdict::Limited => outcome != Outcome::Missed,
        Verdict::Open | Verdict::NotOurs => outcome == Outcome::Missed,
    };
    Some(Replayed {
        number: incident.number,
        name: incident.name,
        verdict: incident.verdict,
        outcome,
        as_told,
    })
}

fn count_operation(
    case: &Case,
    played: &Played<'_>,
    operations: &mut Recognized,
    unrecognized: &mut Vec<String>,
) {
    let Some(expected) = &case.attack.expect.operation else {
        return;
    };
    // The scenario's policy warns of what writes and asks about what destroys.
    let found = match played.evidence.strictest {
        0 => "read",
        1 => "write",
        _ => "destructive",
    };
    if found == expected {
        operations.right += 1;
    } else {
        operations.wrong += 1;
        unrecognized.push(format!("{}: expected {expected}, found {found}", case.id));
    }
}

fn count_types(
    case: &Case,
    played: &Played<'_>,
    personal: &mut Recognized,
    unrecognized: &mut Vec<String>,
) {
    let (expected, found) = (&case.attack.expect.types, &played.evidence.types);
    for kind in expected {
        if found.contains(kind) {
            personal.right += 1;
        } else {
            personal.overlooked += 1;
            unrecognized.push(format!("{}: `{kind}` is overlooked", case.id));
        }
    }
    for kind in found.iter().filter(|kind| !expected.contains(kind)) {
        personal.wrong += 1;
        unrecognized.push(format!("{}: `{kind}` is not there", case.id));
    }
}
