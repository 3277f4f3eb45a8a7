//! The report as one page that needs nothing else: figures, a bar for each category, every case.

use mcpproxy_adversary::{Category, Finished, Outcome, Replayed, Report, TwinOutcome};

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1c2430}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d9dee6;vertical-align:top}\
svg{display:block;width:100%;min-width:4rem;max-width:300px;height:14px}.wide{overflow-x:auto}td{overflow-wrap:anywhere}\
.passed{background:#1f7a4d;color:#fff}.failed{background:#b3261e;color:#fff}.mark{padding:.15rem .6rem;border-radius:.3rem}\
.stopped{color:#1f7a4d}.detected{color:#8a5a00}.missed,.alarm{color:#b3261e;font-weight:600}\
@media(prefers-color-scheme:dark){body{background:#12161c;color:#e4e8ee}th,td{border-color:#303845}.stopped{color:#5fc393}.detected{color:#e0ac52}.missed,.alarm{color:#ff8a80}}";

/// Makes the page.
pub(super) fn page(report: &Report) -> String {
    let (class, word) = if report.passed() {
        ("passed", "passed")
    } else {
        ("failed", "failed")
    };
    let lacking = match &*report.lacking() {
        [] => String::new(),
        lacking => format!(
            "<p>Not measured, so that nothing is called production ready: {}.",
            lacking.join(", ")
        ),
    };
    let figures = report.figures();
    let figures = joined(&figures, |(name, value)| {
        format!("<tr><td>{}<td>{}", escaped(name), escaped(value))
    });
    let bars = joined(&report.categories, bar);
    let cases = joined(&report.scenarios, row);
    let incidents = joined(&report.incidents, incident);
    let unrecognized = joined(&report.unrecognized, |one| format!("<li>{}", escaped(one)));
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>mcpproxy adversary</title><style>{STYLE}</style>\
         <h1>What the attacks came to <span class=\"mark {class}\">{word}</span></h1>\
         <h2>Figures</h2><div class=wide><table>{figures}</table></div>{lacking}\
         <h2>Categories</h2><div class=wide><table><tr><th>category<th>stopped, detected, missed<th>attacks<th>twins<th>false alarms<th>floor{bars}</table></div>\
         <h2>Published incidents</h2><div class=wide><table><tr><th>no.<th>incident<th>replay<th>mode<th>told<th>came out{incidents}</table></div>\
         <h2>Not recognized</h2><ul>{unrecognized}</ul>\
         <h2>Cases</h2><div class=wide><table><tr><th>case<th>what happens<th>mode<th>attack<th>twin<th>rules that spoke{cases}</table></div></html>\n"
    )
}

/// A replay of an incident in one mode and era.
fn incident(one: &Replayed) -> String {
    let verdict = super::told(one.verdict);
    let (class, outcome) = shown(one.outcome);
    let mode = format!("{:?}, {:?}", one.mode, one.era).to_lowercase();
    format!(
        "<tr><td>{}<td>{}<td>{}<td>{mode}<td>{verdict}<td class={class}>{outcome}",
        one.number,
        escaped(&one.name),
        escaped(&one.case)
    )
}

/// An outcome, with the class that colours it.
fn shown(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Stopped => ("stopped", "stopped"),
        Outcome::Detected => ("detected", "detected"),
        Outcome::Missed => ("missed", "missed"),
    }
}

/// Shows all of them, one behind the other.
fn joined<T>(all: &[T], show: impl FnMut(&T) -> String) -> String {
    let shown: Vec<String> = all.iter().map(show).collect();
    shown.concat()
}

/// A category with a picture of its parts.
fn bar(one: &Category) -> String {
    let parts = [
        (one.stopped, "#1f7a4d"),
        (one.detected, "#d18f1d"),
        (one.missed, "#b3261e"),
    ];
    let mut from = 0;
    let picture = joined(&parts, |(count, colour)| {
        let width = count * 300 / one.attacks.max(1);
        let x = from;
        from += width;
        format!("<rect x={x} y=0 width={width} height=14 fill=\"{colour}\"/>")
    });
    let said = format!(
        "{} stopped ({} silently), {} detected, {} missed",
        one.stopped, one.stopped_silently, one.detected, one.missed
    );
    let floor = if one.reached {
        "reached"
    } else {
        "not reached"
    };
    format!(
        "<tr><td><b>{}</b><br>{}<td><svg viewBox=\"0 0 300 14\" preserveAspectRatio=none role=img aria-label=\"{said}\">{picture}</svg><br>{said}<td>{}<td>{}<td>{}<td>{floor}",
        escaped(&one.name),
        escaped(&one.title),
        one.attacks,
        one.twins,
        one.false_alarms
    )
}

fn row(one: &Finished) -> String {
    let (class, mut word) = shown(one.outcome);
    if one.stopped_silently() {
        word = "stopped, silently";
    }
    let twin = match one.twin {
        Some(TwinOutcome::Passed) => "passed",
        Some(TwinOutcome::FalseAlarm) => "<span class=alarm>false alarm</span>",
        None => "",
    };
    let mode = format!("{:?}, {:?}", one.mode, one.era).to_lowercase();
    format!(
        "<tr><td>{}/{}<td>{}<td>{mode}<td class={class}>{word}<td>{twin}<td>{}",
        escaped(&one.scenario),
        escaped(&one.case),
        escaped(&one.title),
        escaped(&one.evidence.rules.join(", "))
    )
}

fn escaped(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        other => other.to_string(),
    });
    letters.collect()
}
