//! The run: gateways are started, cases are played on them, and everything is counted.
//!
//! Cases of one scenario that need no configuration of their own share a gateway. They have upstreams
//! with names of their own and agents with tokens of their own, so that nothing that one case reads
//! or does counts for another. Attacks and twins are never on the same gateway.

mod stage;

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::json;

use crate::error::Error;
use crate::outcome::Evidence;
use crate::play::Came;
use crate::report::{Report, report};
use crate::scenario::{Case, Control, Era, Library, Mode, Scenario};

/// Gateways that run at once.
const GATEWAYS: usize = 3;
/// Cases that are played at once on one gateway.
const CASES: usize = 16;

/// Cases of a scenario that are played again for their time, and refusals of each.
const TIMED: usize = 12;
const REFUSALS: usize = 6;

/// What is to be played.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The program that is the gateway.
    pub program: PathBuf,
    /// How agent and gateway work together.
    pub modes: Vec<Mode>,
    /// The eras in which agent and upstreams speak.
    pub eras: Vec<Era>,
    /// Whether these are all scenarios.
    pub extent: Extent,
}

/// How much of the library is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every scenario: it can be told whether anything is ready for production.
    Whole,
    /// Some of it.
    Part,
}

/// What came of a control run.
#[derive(Clone, Debug, Serialize)]
pub struct Controlled {
    /// The scenario and the case.
    pub case: String,
    /// The era in which it was played.
    pub era: Era,
    /// How the defence was switched off.
    pub control: Control,
    /// The harm, in words; nothing where it was not done although nobody prevented it.
    pub harm: Option<String>,
    /// The steps that are to do harm and did none, counted from one.
    pub idle: Vec<usize>,
}

impl Controlled {
    /// Tells whether everything that is to do harm did some.
    pub fn is_harmful(&self) -> bool {
        self.harm.is_some() && self.idle.is_empty()
    }
}

/// Whether attacks or twins are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Attack,
    Twin,
}

/// One gateway and what is played on it.
struct Job<'a> {
    scenario: &'a Scenario,
    cases: Vec<&'a Case>,
    side: Side,
    mode: Mode,
    era: Era,
    control: Option<Control>,
    /// The key that the owner of the gateway chose.
    key: Option<String>,
    /// Whether records are written before answers leave, so that they are there when they are looked
    /// for.
    written: bool,
}

/// One case that was played.
pub(crate) struct Played<'a> {
    pub(crate) case: &'a Case,
    pub(crate) side: Side,
    pub(crate) mode: Mode,
    pub(crate) era: Era,
    pub(crate) came: Came,
    pub(crate) evidence: Evidence,
}

/// Plays everything and counts. `progress` hears of every gateway that is done.
pub async fn run(
    library: &Library,
    orders: &Orders,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Report, Error> {
    library.judged()?;
    let mut jobs = Vec::new();
    for scenario in &library.scenarios {
        for (mode, era) in orders.ways() {
            for side in [Side::Attack, Side::Twin] {
                jobs.extend(gateways(scenario, side, mode, era));
            }
        }
    }
    let played = play_all(jobs, orders, progress).await?;
    let times = timed(library, orders, &played).await?;
    Ok(report(library, orders, &played, &times))
}

/// Plays some attacks of each scenario that were refused again, one at a time, and returns how long
/// each refusal took as the agent sees it, in milliseconds. The first refusal of a case is left out: it
/// may have to wait for a conversation with the upstream. The configuration is the default also in when
/// records are written: nobody looks for them here.
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
    let way = orders.ways().next();
    let (mode, era) = way.unwrap_or((Mode::Proxy, Era::Legacy));
    let mut times = Vec::new();
    for scenario in &library.scenarios {
        let cases = scenario.cases.iter().filter(|case| plays(case, mode, era));
        // They share a gateway.
        let cases = cases.filter(|case| case.config == scenario.config && refused(case));
        let mut again: Vec<Case> = cases.take(TIMED).cloned().collect();
        for case in &mut again {
            let harmful = case.attack.steps.iter_mut().filter(|step| step.harm);
            harmful.for_each(|step| step.times = REFUSALS);
        }
        if again.is_empty() {
            continue;
        }
        let job = Job {
            scenario,
            cases: again.iter().collect(),
            side: Side::Attack,
            mode,
            era,
            control: None,
            key: None,
            written: false,
        };
        for one in job.play(orders, 1).await? {
            times.extend(one.came.times.iter().skip(1));
        }
    }
    Ok(times)
}

/// Plays every attack with its defence switched off.
pub async fn control(
    library: &Library,
    orders: &Orders,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Controlled>, Error> {
    library.judged()?;
    let mut jobs = Vec::new();
    for scenario in &library.scenarios {
        let counts = |one: &&Case| control_of(scenario, one) != Control::None;
        for (mode, era) in orders.ways() {
            let first = |one: &&Case| first_mode(one, era, &orders.modes) == Some(mode);
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
            for cases in by_way.into_values() {
                let control = cases.first().map(|case| control_of(scenario, case));
                jobs.extend(keys(&cases, control).into_iter().map(|key| Job {
                    scenario,
                    side: Side::Attack,
                    mode,
                    era,
                    control,
                    key,
                    written: true,
                    cases: cases.clone(),
                }));
            }
        }
    }
    let played = play_all(jobs, orders, progress).await?;
    let mut told = Vec::new();
    for (scenario, case) in library.cases() {
        for era in &orders.eras {
            let own = |one: &&Played<'_>| std::ptr::eq(one.case, case) && one.era == *era;
            let own: Vec<&Played<'_>> = played.iter().filter(own).collect();
            if !own.is_empty() {
                told.push(controlled(scenario, case, *era, &own));
            }
        }
    }
    Ok(told)
}

/// Returns the keys with which a gateway is started, one after the other: every key that a case shows
/// is to be the right one once. Otherwise there is one gateway, and it makes its own.
fn keys(cases: &[&Case], control: Option<Control>) -> Vec<Option<String>> {
    if control != Some(Control::Known) {
        return vec![None];
    }
    let steps = cases.iter().flat_map(|case| &case.attack.steps);
    let shown = steps.filter_map(|step| {
        let headers = &step.http.as_ref()?.headers;
        let bearer = headers.get("authorization");
        let bearer = bearer.and_then(|shown| shown.strip_prefix("Bearer "));
        headers.get("x-api-key").map(String::as_str).or(bearer)
    });
    shown.map(|key| Some(key.to_owned())).collect()
}

/// Puts together what a case did on all gateways on which its defence was switched off.
fn controlled(scenario: &Scenario, case: &Case, era: Era, played: &[&Played<'_>]) -> Controlled {
    let did = |at: usize| played.iter().any(|one| one.came.harmful.contains(&at));
    let steps = case.attack.steps.iter().enumerate();
    let idle = steps.filter(|(at, step)| step.is_harmful() && !did(*at));
    Controlled {
        case: format!("{}/{}", scenario.name, case.id),
        era,
        control: control_of(scenario, case),
        harm: played.iter().find_map(|one| one.came.harm.clone()),
        // People count from one.
        idle: idle.map(|(at, _)| at + 1).collect(),
    }
}

fn control_of(scenario: &Scenario, case: &Case) -> Control {
    case.control.unwrap_or(scenario.control)
}

impl Orders {
    /// Tells whether any case can be played in these modes and eras.
    pub fn play_any(&self, library: &Library) -> bool {
        let plays = |case: &Case| self.ways().any(|(mode, era)| plays(case, mode, era));
        library.cases().any(|(_, case)| plays(case))
    }

    /// Tells whether any of those has a defence that can be switched off.
    pub fn control_any(&self, library: &Library) -> bool {
        let plays = |case: &Case| self.ways().any(|(mode, era)| plays(case, mode, era));
        let switched =
            |scenario: &Scenario, case: &Case| control_of(scenario, case) != Control::None;
        let mut cases = library.cases();
        cases.any(|(scenario, case)| plays(case) && switched(scenario, case))
    }

    /// Goes over every mode in every era.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (Mode, Era)> {
        let modes = self.modes.iter();
        modes.flat_map(|mode| self.eras.iter().map(|era| (*mode, *era)))
    }
}

/// Tells whether a case can be played in a mode and an era.
fn plays(case: &Case, mode: Mode, era: Era) -> bool {
    let in_mode = case.modes.is_empty() || case.modes.contains(&mode);
    let in_era = case.eras.is_empty() || case.eras.contains(&era);
    in_mode && in_era
}

/// Returns the first of the modes in which a case can be played: once is enough for a control.
fn first_mode(case: &Case, era: Era, modes: &[Mode]) -> Option<Mode> {
    modes.iter().copied().find(|mode| plays(case, *mode, era))
}

/// Puts cases together that can share a gateway.
fn gateways(scenario: &Scenario, side: Side, mode: Mode, era: Era) -> Vec<Job<'_>> {
    let cases = scenario.cases.iter();
    let cases = cases.filter(|case| plays(case, mode, era));
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
        era,
        control: None,
        key: None,
        written: true,
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
                "{}: {} {:?} ({:?}, {:?})",
                job.scenario.name,
                job.cases.len(),
                job.side,
                job.mode,
                job.era
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
