//! Risk over time as a picture: one bar a span, stacked by risk. Drawn here as SVG, with the same
//! numbers in a table for whoever does not see it.

use maud::{Markup, html};
use serde_json::Value;

use crate::look::Look as _;
use crate::pieces;
use crate::shown::{plain, whole};

/// The picture's size in its own units; the page scales it.
const WIDTH: u64 = 960;
const HEIGHT: u64 = 150;
/// Room below the bars for times.
const FOOT: u64 = 18;
/// Times that are written below the bars, at most.
const LABELS: usize = 6;
/// From the bottom of a bar to its top.
const LEVELS: [&str; 4] = ["none", "medium", "high", "critical"];

/// Draws the spans of a summary.
pub(crate) fn risk(buckets: &[Value], period: &str) -> Markup {
    let most = buckets
        .iter()
        .map(|one| one.count("calls"))
        .max()
        .unwrap_or(0);
    if most == 0 {
        return pieces::empty("No calls in this time.");
    }
    let count = u64::try_from(buckets.len()).unwrap_or(1).max(1);
    let step = WIDTH / count;
    let every = buckets.len().div_ceil(LABELS).max(1);
    let picture = html! {
        svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT + FOOT) } role="img"
            aria-label="Calls over time by risk; the table below has the numbers" {
            line.axis x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
            @for (at, one) in (0..).zip(buckets) { (bar(one, at * step, step, most)) }
            @for (at, one) in (0..).zip(buckets).step_by(every) {
                text x=(at * step + 2) y=(HEIGHT + 13) { (whole(clock(one.text("start"), period))) }
            }
        }
    };
    html! {
        div.chart {
            (pieces::scroll("Picture of calls over time", &picture))
            ul.legend aria-hidden="true" {
                @for level in LEVELS { li { (pieces::risk(level)) } }
            }
        }
        details { summary { "The numbers" } (numbers(buckets)) }
    }
}

fn bar(bucket: &Value, x: u64, step: u64, most: u64) -> Markup {
    let risks = bucket.part("risk");
    let total = bucket.count("calls");
    let counted: u64 = LEVELS.iter().map(|level| risks.count(level)).sum();
    let mut below = 0;
    let mut pieces = Vec::new();
    for level in LEVELS {
        // What has no risk written down counts as none.
        let missing = if level == "none" {
            total.saturating_sub(counted)
        } else {
            0
        };
        let part = risks.count(level) + missing;
        if part > 0 {
            // Whatever was counted is seen, however little it is.
            let height = (part * (HEIGHT - 12) / most).max(2);
            pieces.push((level, HEIGHT.saturating_sub(below + height), height));
            below += height;
        }
    }
    let width = step.saturating_sub(3).clamp(2, 40);
    html! { g {
        title { (plain(bucket.text("start"))) ": " (total) " calls, " (bucket.count("blocked")) " stopped" }
        @for (level, y, height) in pieces {
            rect class={ "bar " (level) } x=(x) y=(y) width=(width) height=(height) rx="1" {}
        }
    } }
}

/// The part of a time that tells spans of a period apart.
fn clock<'a>(time: &'a str, period: &str) -> &'a str {
    let part = match period {
        "1h" | "24h" => time.get(11..16),
        _ => time.get(5..10),
    };
    part.unwrap_or(time)
}

fn numbers(buckets: &[Value]) -> Markup {
    let heads = [
        "From (UTC)",
        "Calls",
        "Stopped",
        "Medium",
        "High",
        "Critical",
    ];
    let rows = html! { @for one in buckets.iter().filter(|one| one.count("calls") > 0) { tr {
        td { (whole(one.text("start"))) }
        td.number { (one.count("calls")) }
        td.number { (one.count("blocked")) }
        @for level in ["medium", "high", "critical"] {
            td.number { (one.part("risk").count(level)) }
        }
    } } };
    pieces::table("Calls over time", &heads, &rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bars_stack_up_to_the_highest_and_nothing_divides_by_nothing() {
        let check = |buckets: Value, expect: &[&str]| {
            let drawn = risk(buckets.as_array().unwrap(), "24h").into_string();
            for part in expect {
                assert!(drawn.contains(part), "{part} in {drawn}");
            }
        };
        check(json!([]), &["No calls"]);
        check(json!([{ "start": "", "calls": 0 }]), &["No calls"]);
        check(
            json!([{
                "start": "2026-01-02T03:00:00Z", "calls": 4, "blocked": 1,
                "risk": { "none": 2, "critical": 2 },
            }]),
            &[
                "03:00</text>",
                r#"<rect class="bar none" x="0" y="81" width="40" height="69""#,
                r#"<rect class="bar critical" x="0" y="12" width="40" height="69""#,
                "4 calls, 1 stopped",
            ],
        );
        // Risks that were not written down are not lost.
        check(json!([{ "start": "x", "calls": 3 }]), &[r#"height="138""#]);
        check(json!([{ "start": "<b>", "calls": 1 }]), &["&lt;b&gt;"]);
    }
}
