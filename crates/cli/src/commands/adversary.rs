//! `adversary`: a hostile MCP server, and attacks that are played through a gateway of their own.
//!
//! The gateway is this same program in a folder that goes away; no configuration and no running
//! gateway of the user's is touched.

mod html;
mod sarif;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use mcpproxy_adversary::hostile::http::Playhouse;
use mcpproxy_adversary::hostile::{Actor, stdio};
use mcpproxy_adversary::{
    Controlled, Era, Error, Extent, Finished, Library, Mode, Orders, Outcome, Play, Report, Role,
    TriggerKind, TwinOutcome, Verdict,
};
use serde_json::{Value, json};

use crate::args::{
    Adversary, AdversaryEra, AdversaryMode, AdversaryRun, AdversaryServe, AdversaryTransport,
    Format, Global,
};
use crate::commands::serve;
use crate::exit::{Exit, bad_input, failed};
use crate::output;

/// What is said where nothing can be played.
const UNPLAYED: &str = "nothing of this can be played in this mode and era; `--mode both --era both` plays all there is";
/// What is said where no defence can be switched off.
const UNCONTROLLED: &str = "nothing of this has a defence that could be switched off in this mode and \
    era: what is only to be recognized does no harm, and some protections have no switch";

/// Runs one of the commands.
pub(crate) fn run(global: &Global, command: &Adversary) -> Result<Exit> {
    if global.config.is_some() || global.data_dir.is_some() {
        let message =
            "`adversary` reads no configuration: `--config` and `--data-dir` mean nothing to it";
        let hint = "gateways of its own have their defaults and what a scenario says under `config`; \
                    `run FILE.yaml` takes one of yours";
        return Err(bad_input(message, Some(hint)));
    }
    match command {
        Adversary::Serve(args) => serve::runtime()?.block_on(be_hostile(args)),
        Adversary::Run(args) => serve::runtime()?.block_on(play(global, args)),
        Adversary::List => list(global.format()),
    }
}

/// Finds what was asked for, with a hint where it is not there.
fn library(wanted: Option<&str>) -> Result<Library> {
    let library = Library::embedded()?;
    let Some(wanted) = wanted else {
        return Ok(library);
    };
    library.only(wanted).map_err(|fault| match fault {
        Error::UnknownScenario(_) | Error::UnknownCase { .. } => {
            let hint = "`mcpproxy adversary list` shows all of them";
            bad_input(fault.to_string(), Some(hint))
        }
        other => bad_input(other.to_string(), None),
    })
}

async fn be_hostile(args: &AdversaryServe) -> Result<Exit> {
    let library = library(Some(&args.scenario))?;
    let (_, case) = library.cases().next().context("there is nothing to play")?;
    let play: &Play = match (&case.twin, args.twin) {
        (Some(twin), true) => twin,
        (None, true) => return Err(bad_input("the case has no twin", None)),
        (_, false) => &case.attack,
    };
    let play = play.filled(&case.id)?;
    if play.upstreams.is_empty() {
        let message = format!("case `{}` has no upstream that could be played", case.id);
        let hint = "what happens in it happens without one; `mcpproxy adversary run` plays it";
        return Err(bad_input(message, Some(hint)));
    }
    if args.transport == AdversaryTransport::Http {
        let house = Playhouse::open().await?;
        for role in play.upstreams {
            let address = house.put_on(Actor::new(role.speaking(eras(args.era))));
            output::line(&address)?;
        }
        serve::until_told()?.await;
        return Ok(Exit::Fine);
    }
    if let Some(record) = &args.record {
        writable(record)?;
    }
    let role = played(&play, args)?;
    let actor = Actor::new(role.clone().speaking(eras(args.era)));
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    stdio::serve(actor, input, output, args.record.as_deref()).await?;
    Ok(Exit::Fine)
}

/// Finds the one upstream that is played over stdio, and says on standard error what a reader of the
/// scenario would not expect of it.
fn played<'a>(play: &'a Play, args: &AdversaryServe) -> Result<&'a Role> {
    let names = upstreams(play);
    let role = match (&args.upstream, play.attacker()) {
        (Some(wanted), _) => play.upstreams.iter().find(|role| role.name == *wanted),
        (None, Some(attacker)) => Some(attacker),
        (None, None) => {
            output::note("no upstream of this case attacks: what the agent sends is the attack");
            play.upstreams.first()
        }
    };
    let role = role.ok_or_else(|| {
        let hint = format!("there is {}", names.join(", "));
        bad_input("the case has no such upstream", Some(&hint))
    })?;
    if names.len() > 1 && args.upstream.is_none() {
        let (name, all) = (&role.name, names.join(", "));
        output::note(&format!("plays `{name}` of {all}; `--upstream` chooses"));
    }
    let reconnects = |kind: TriggerKind| kind == TriggerKind::Reconnect;
    let turns = role.trigger.as_ref().is_some_and(|it| reconnects(it.kind));
    if turns && args.record.is_none() {
        output::note(
            "this upstream turns when it is connected to anew, and over stdio that is a new process: \
             with `--record FILE` connections are counted in that file",
        );
    }
    Ok(role)
}

/// Returns the names of the upstreams of a play, the one that attacks first.
fn upstreams(play: &Play) -> Vec<&str> {
    let attacker = play.attacker().map(|role| &*role.name);
    let names = play.upstreams.iter().map(|role| &*role.name);
    let others = names.filter(|name| Some(*name) != attacker);
    attacker.into_iter().chain(others).collect()
}

/// Returns the eras that were asked for.
fn eras(wanted: AdversaryEra) -> &'static [Era] {
    match wanted {
        AdversaryEra::Legacy => &[Era::Legacy],
        AdversaryEra::Modern => &[Era::Modern],
        AdversaryEra::Both => &[Era::Legacy, Era::Modern],
    }
}

async fn play(global: &Global, args: &AdversaryRun) -> Result<Exit> {
    let library = library(args.name.as_deref())?;
    library
        .judged()
        .map_err(|fault| bad_input(fault.to_string(), None))?;
    let orders = Orders {
        program: std::env::current_exe().context("cannot tell where this program is")?,
        modes: match args.mode {
            AdversaryMode::Proxy => vec![Mode::Proxy],
            AdversaryMode::Hooks => vec![Mode::Hooks],
            AdversaryMode::Both => vec![Mode::Proxy, Mode::Hooks],
        },
        eras: eras(args.era).to_vec(),
        extent: if args.all {
            Extent::Whole
        } else {
            Extent::Part
        },
    };
    if args.control {
        if !orders.control_any(&library) {
            output::note(UNCONTROLLED);
        }
        let played = mcpproxy_adversary::control(&library, &orders, &output::note);
        return controlled(global.format(), &unless_told(played).await?);
    }
    if !orders.play_any(&library) {
        output::note(UNPLAYED);
    }
    // A run takes minutes: whether its report can be written is found out before.
    let page = args.html.as_deref().map(created).transpose()?;
    let report = unless_told(mcpproxy_adversary::run(&library, &orders, &output::note)).await?;
    if let Some((mut page, path)) = page {
        let written = page.write_all(html::page(&report).as_bytes());
        written.with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let format = if args.sarif {
        Format::Sarif
    } else {
        global.format()
    };
    print(format, &report)?;
    // Of one scenario it can be told that it came out well, not that everything is ready.
    let ready = report.metrics.production_ready.unwrap_or(true);
    Ok(if report.passed() && ready {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

/// Plays until the end, or until SIGINT or SIGTERM: then what was started ends with what is left of
/// the play, gateways and folders too.
async fn unless_told<T>(playing: impl Future<Output = Result<T, Error>>) -> Result<T> {
    let told = serve::until_told()?;
    tokio::select! {
        played = playing => Ok(played?),
        () = told => Err(failed("the run was interrupted", None)),
    }
}

/// Finds out whether a file can be appended to, before anybody is spoken to.
fn writable(path: &Path) -> Result<()> {
    let opened = File::options().create(true).append(true).open(path);
    opened.map(drop).map_err(|fault| {
        let message = format!("cannot write `{}`: {fault}", path.display());
        bad_input(message, None)
    })
}

/// Opens a file to write to.
fn created(path: &Path) -> Result<(File, &Path)> {
    match File::create(path) {
        Ok(file) => Ok((file, path)),
        Err(fault) => {
            let message = format!("cannot write `{}`: {fault}", path.display());
            Err(bad_input(message, None))
        }
    }
}

fn print(format: Format, report: &Report) -> Result<()> {
    match format {
        Format::Table => table(report),
        Format::Sarif => output::line(&serde_json::to_string_pretty(&sarif::log(report))?),
        Format::Json | Format::Yaml | Format::Jsonl => output::value(format, &json!(report)),
    }
}

fn table(report: &Report) -> Result<()> {
    let columns = [
        "category",
        "attacks",
        "stopped",
        "silently",
        "detected",
        "missed",
        "twins",
        "false_alarms",
        "floor",
    ];
    let rows: Vec<Value> = report
        .categories
        .iter()
        .map(|one| {
            json!({
                "category": one.name, "attacks": one.attacks, "stopped": one.stopped,
                "silently": one.stopped_silently, "detected": one.detected, "missed": one.missed, "twins": one.twins,
                "false_alarms": one.false_alarms,
                "floor": if one.reached { "reached" } else { "NOT REACHED" },
            })
        })
        .collect();
    output::rows(Format::Table, &columns, &rows)?;
    output::line("")?;
    for (name, value) in report.figures() {
        output::line(&format!("{name:<26} {value}"))?;
    }
    let lacking = report.lacking();
    if !lacking.is_empty() {
        let lacking = lacking.join(", ");
        output::line(&format!(
            "not measured, so that nothing is called production ready: {lacking}"
        ))?;
    }
    for one in &report.scenarios {
        for trouble in trouble(one) {
            output::line(&trouble)?;
        }
    }
    for one in report.incidents.iter().filter(|one| !one.as_told) {
        let (number, name, outcome) = (one.number, &one.name, one.outcome);
        output::line(&format!(
            "INCIDENT {number} {name}: came out as {outcome:?}"
        ))?;
    }
    for line in &report.unrecognized {
        output::line(&format!("NOT RECOGNIZED {line}"))?;
    }
    Ok(())
}

/// Says what the gateway can do about an incident.
fn told(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Stopped => "stopped",
        Verdict::Limited => "limited",
        Verdict::Open => "not stopped yet",
        Verdict::NotOurs => "not ours to stop",
    }
}

/// Says what went wrong with a case, and what with its twin.
fn trouble(one: &Finished) -> Vec<String> {
    let place = format!(
        "{}/{} ({:?}, {:?})",
        one.scenario, one.case, one.mode, one.era
    )
    .to_lowercase();
    let harm = one.harm.as_deref().unwrap_or_default();
    let attack = match one.outcome {
        Outcome::Missed => Some(format!("MISSED {place}: {harm}")),
        Outcome::Detected => Some(format!("only detected {place}: {harm}")),
        Outcome::Stopped => None,
    };
    let twin = (one.twin == Some(TwinOutcome::FalseAlarm)).then(|| {
        let rules = one.twin_evidence.as_ref().map(|one| one.rules.join(", "));
        let why = [one.twin_trouble.join("; "), rules.unwrap_or_default()].join(" | ");
        let why: String = why.chars().take(300).collect();
        format!("FALSE ALARM {place}: {why}")
    });
    attack.into_iter().chain(twin).collect()
}

fn controlled(format: Format, played: &[Controlled]) -> Result<Exit> {
    let idle: Vec<&Controlled> = played.iter().filter(|one| !one.is_harmful()).collect();
    if format == Format::Table {
        output::line(&format!(
            "{} of {} attacks do all their harm when nothing is in their way",
            played.len() - idle.len(),
            played.len()
        ))?;
        for one in &idle {
            let place = format!("{} ({:?}, {:?})", one.case, one.era, one.control);
            let steps: Vec<String> = one.idle.iter().map(ToString::to_string).collect();
            let which = match (&one.harm, &steps[..]) {
                (_, []) => String::new(),
                (None, _) => ": no step".to_owned(),
                (Some(_), steps) => format!(": not step {}", steps.join(", ")),
            };
            output::line(&format!("HARMLESS {place}{which}"))?;
        }
    } else {
        output::value(format, &json!(played))?;
    }
    Ok(if idle.is_empty() && !played.is_empty() {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

fn list(format: Format) -> Result<Exit> {
    let library = library(None)?;
    let rows: Vec<Value> = library
        .cases()
        .map(|(scenario, case)| {
            json!({
                "name": format!("{}/{}", scenario.name, case.id), "title": case.title,
                "upstreams": upstreams(&case.attack).join(", "),
            })
        })
        .collect();
    output::rows(format, &["name", "title", "upstreams"], &rows)?;
    Ok(Exit::Fine)
}
