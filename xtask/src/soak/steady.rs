//! `cargo xtask soak steady`: the gateway under an even load with ever new sessions, and then under
//! twice as many calls at once as it takes.
//!
//! Sessions are left behind as by agents that crash, and lapse after a minute. Memory and descriptors are
//! read whenever nobody is connected. What they do in the second half
//! must be what they did in the first, give or take what the bounds below say.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tempfile::TempDir;

use crate::Outcome;
use crate::bench::load::{FAULT_LIMIT, Measured};
use crate::bench::measure::{Cell, generator};
use crate::gateway::{Gateway, Routing, Upstream};
use crate::process::resident_kb;
use crate::workspace::{self, Profile};

/// One stretch of load, with sessions of its own.
const STRETCH: Duration = Duration::from_secs(10);
const EVEN: Cell = Cell {
    payload: 1024,
    connections: 16,
    calls: u32::MAX,
    time: STRETCH,
    faults: FAULT_LIMIT,
};
/// `limits.calls_in_flight` where nothing is configured.
const CAPACITY: u32 = 1024;
/// Twice as many calls at once, and nobody gives up: whoever is turned away comes again.
const OVER: Cell = Cell {
    payload: 256,
    connections: 2 * CAPACITY,
    faults: u32::MAX,
    ..EVEN
};
/// By how much memory may grow from the one half to the other: allocators and caches breathe.
const MEMORY_GROWTH: f64 = 1.10;
/// By how many descriptors: connections that wait for another call, and the log's own.
const DESCRIPTORS_GROWTH: f64 = 8.0;
/// How much of its throughput the gateway must have again after it was overloaded.
const RECOVERED: f64 = 0.7;

/// What was seen after one stretch.
struct Seen {
    calls: f64,
    resident_kb: f64,
    descriptors: f64,
}

/// Runs, prints, and fails on what grows, on wrong answers, and on a gateway that does not recover.
pub(super) fn run(minutes: u32) -> Result<Outcome> {
    println!("building mcpproxy and xtask for release ...");
    let programs = workspace::build(
        &workspace::root()?,
        &["mcpproxy", "xtask"],
        Profile::Release,
    )?;
    let xtask = programs.join("xtask");
    let folder = TempDir::new().context("cannot create a temporary folder")?;
    let echo = Upstream::Stdio {
        program: xtask.clone(),
        arguments: vec!["echo-stdio".to_owned()],
    };
    let program = programs.join("mcpproxy");
    // With half an hour no session would lapse while anybody looks.
    let lapse = json!({
        "limits": { "session_idle": "1m" },
        "security": { "flow_tracking": { "session_timeout_minutes": 1 } },
    });
    let (folder, upstreams) = (folder.path(), [("up", echo)]);
    let gateway = Gateway::start_with(&lapse, &program, folder, Routing::Single, &upstreams)?;
    let stretches = (u64::from(minutes) * 60 / STRETCH.as_secs()).max(4);
    let mut seen = Vec::new();
    for number in 1..=stretches {
        let load = load(&xtask, &gateway, EVEN)?;
        if load.wrong > 0 || load.faults > 0 {
            let said = load.said.as_deref().unwrap_or("turned away");
            bail!(
                "{} wrong and {} failed calls under an even load: {said}",
                load.wrong,
                load.faults
            );
        }
        seen.push(look(&gateway, &load)?);
        if let Some(last) = seen.last().filter(|_| number % 6 == 0) {
            let (mb, open) = (last.resident_kb / 1024.0, last.descriptors);
            println!("{number} of {stretches}: {mb:.1} MB, {open:.0} descriptors");
        }
    }
    let grew = judge(&seen);
    let before = seen.last().map_or(0.0, |last| last.calls);
    let shed = overload(&xtask, &gateway, before)?;
    Ok(if grew || !shed {
        Outcome::Failed
    } else {
        Outcome::Clean
    })
}

fn load(xtask: &Path, gateway: &Gateway, cell: Cell) -> Result<Measured> {
    let output = generator(xtask, gateway.address(), cell).output();
    let output = output.context("cannot run the load generator")?;
    serde_json::from_slice(&output.stdout).context("the load generator failed")
}

fn look(gateway: &Gateway, load: &Measured) -> Result<Seen> {
    let open = fs::read_dir(format!("/proc/{}/fd", gateway.id()));
    let open = open.context("cannot count descriptors")?.count();
    Ok(Seen {
        calls: f64::from(load.calls) / load.seconds,
        resident_kb: f64::from(resident_kb(gateway.id())?),
        descriptors: f64::from(u32::try_from(open).unwrap_or(u32::MAX)),
    })
}

/// Says whether something grew from the second quarter, when everything is warm, to the last.
fn judge(seen: &[Seen]) -> bool {
    let quarter = seen.len() / 4;
    let mean = |part: &[Seen], of: fn(&Seen) -> f64| {
        let count = f64::from(u32::try_from(part.len().max(1)).unwrap_or(u32::MAX));
        part.iter().map(of).sum::<f64>() / count
    };
    let early = seen.get(quarter..2 * quarter).unwrap_or_default();
    let late = seen.get(3 * quarter..).unwrap_or_default();
    let memory = [early, late].map(|part| mean(part, |one| one.resident_kb) / 1024.0);
    let open = [early, late].map(|part| mean(part, |one| one.descriptors));
    let [early_mb, late_mb] = memory;
    let [early_open, late_open] = open;
    println!(
        "memory {early_mb:.1} -> {late_mb:.1} MB, descriptors {early_open:.1} -> {late_open:.1}"
    );
    late_mb > early_mb * MEMORY_GROWTH || late_open > early_open + DESCRIPTORS_GROWTH
}

/// Asks for twice as many calls at once as the gateway takes, for a whole stretch; says whether it turned
/// the others away with the code that says so, gave nobody a wrong answer, and was itself again afterwards.
fn overload(xtask: &Path, gateway: &Gateway, before: f64) -> Result<bool> {
    let over = load(xtask, gateway, OVER)?;
    println!(
        "at {} connections for {:.1} s: {} answered, {} turned away, {} failed otherwise, {} wrong",
        OVER.connections,
        over.seconds,
        over.calls,
        over.turned_away,
        over.faults - over.turned_away,
        over.wrong
    );
    if let Some(said) = &over.said {
        println!("one that failed otherwise: {said}");
    }
    let calm = load(xtask, gateway, EVEN)?;
    let after = f64::from(calm.calls) / calm.seconds / before;
    println!(
        "afterwards: {after:.2} of the throughput, {} failed calls",
        calm.faults
    );
    let is_calm = calm.wrong == 0 && calm.faults == 0;
    Ok(sheds(&over) && is_calm && after >= RECOVERED)
}

/// Says whether an overloaded gateway went on working the whole time, and told everybody else why not.
fn sheds(over: &Measured) -> bool {
    let lasted = over.seconds >= STRETCH.as_secs_f64();
    let told = over.turned_away > 0 && over.faults == over.turned_away;
    lasted && told && over.calls > 0 && over.wrong == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls, faults, turned away, wrong, seconds.
    fn check(seen: (u32, u32, u32, u32, f64), expect: bool) {
        let (calls, faults, turned_away, wrong, seconds) = seen;
        let over = Measured {
            calls,
            wrong,
            faults,
            turned_away,
            seconds,
            ..Measured::default()
        };
        assert_eq!(sheds(&over), expect, "{over:?}");
    }

    #[test]
    fn only_a_gateway_that_says_why_and_goes_on_sheds_its_load() {
        check((90_000, 400, 400, 0, 10.1), true);
        // Ended early, another error, nobody turned away, nobody answered, a wrong answer.
        check((90_000, 400, 400, 0, 0.4), false);
        check((90_000, 401, 400, 0, 10.1), false);
        check((90_000, 0, 0, 0, 10.1), false);
        check((0, 400, 400, 0, 10.1), false);
        check((90_000, 400, 400, 1, 10.1), false);
    }
}
