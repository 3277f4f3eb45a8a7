//! What the gateway aims at, beside what was seen. Nothing fails on a target that is not met:
//! the machine is not ours alone.

use std::fmt;

use serde::Serialize;

use super::contestant::{Contestant, Link};
use super::report::{Row, StartRow};

const SMALL: usize = 256;

/// Which side of the aim is good.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
enum Side {
    AtLeast,
    AtMost,
}

/// One aim and what was seen.
#[derive(Serialize, Clone, Debug)]
pub(super) struct Target {
    what: String,
    side: Side,
    aim: f64,
    seen: f64,
    met: bool,
}

impl Target {
    fn new(what: impl Into<String>, side: Side, aim: f64, seen: f64) -> Self {
        let met = match side {
            Side::AtLeast => seen >= aim,
            Side::AtMost => seen <= aim,
        };
        Self {
            what: what.into(),
            side,
            aim,
            seen,
            met,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.side {
            Side::AtLeast => ">=",
            Side::AtMost => "<=",
        };
        let aim = format!("{sign} {}", self.aim);
        let met = if self.met { "met" } else { "not met" };
        write!(f, "{:<62}{aim:>10}{:>10.2}  {met}", self.what, self.seen)
    }
}

/// Finds the row of one contestant in one cell.
pub(super) fn find(
    rows: &[Row],
    contestant: Contestant,
    payload: usize,
    connections: u32,
) -> Option<&Row> {
    rows.iter().find(|row| {
        row.contestant == contestant && row.payload == payload && row.connections == connections
    })
}

/// Judges the figures; what was not measured has no line.
pub(super) fn judge(rows: &[Row], starts: &[StartRow]) -> Vec<Target> {
    let mut targets = throughput(rows);
    targets.extend(peers(rows));
    let ours = Contestant::Mcpproxy(Link::Http);
    let small = |contestant, connections| find(rows, contestant, SMALL, connections);
    if let (Some(own), Some(direct)) = (small(ours, 1), small(Contestant::Direct, 1)) {
        let added = (own.p50_us - direct.p50_us) / 1e3;
        targets.push(Target::new(
            "added p50 at 1 connection, 256 B, ms",
            Side::AtMost,
            0.15,
            added,
        ));
    }
    if let Some(row) = small(ours, 16) {
        let what = "CPU per call at 16 connections, 256 B, us";
        targets.push(Target::new(what, Side::AtMost, 50.0, row.cpu_us));
    }
    if let Some(row) = small(ours, 64) {
        let what = "memory under load at 64 connections, 256 B, MB";
        targets.push(Target::new(what, Side::AtMost, 40.0, row.resident_mb));
    }
    if let Some(start) = starts.iter().find(|start| start.contestant == ours) {
        let what = "cold start to first answer, ms";
        targets.push(Target::new(what, Side::AtMost, 15.0, start.first_answer_ms));
    }
    targets
}

/// The share of the parsing proxy's throughput, where connections compete.
fn throughput(rows: &[Row]) -> Vec<Target> {
    let ours = rows
        .iter()
        .filter(|row| row.contestant == Contestant::Mcpproxy(Link::Http));
    ours.filter(|row| row.connections > 1)
        .filter_map(|row| {
            let base = find(rows, Contestant::Parsing, row.payload, row.connections)?;
            let what = format!(
                "share of the parsing proxy at {} connections, {} B",
                row.connections, row.payload
            );
            Some(Target::new(
                what,
                Side::AtLeast,
                0.6,
                row.per_second / base.per_second,
            ))
        })
        .collect()
}

/// The lead over the best peer with a stdio upstream.
fn peers(rows: &[Row]) -> Vec<Target> {
    let ours = rows
        .iter()
        .filter(|row| row.contestant == Contestant::Mcpproxy(Link::Stdio));
    ours.filter(|row| row.payload == SMALL && row.connections > 1)
        .filter_map(|row| {
            let peer = find(
                rows,
                Contestant::Peer(Link::Stdio),
                row.payload,
                row.connections,
            )?;
            let what = format!(
                "share of the stdio peer at {} connections, 256 B",
                row.connections
            );
            Some(Target::new(
                what,
                Side::AtLeast,
                1.0,
                row.per_second / peer.per_second,
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(side: Side, aim: f64, seen: f64, expect: &str) {
        let line = Target::new("x", side, aim, seen).to_string();
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>().join(" "),
            expect
        );
    }

    #[test]
    fn a_target_says_whether_it_is_met() {
        check(Side::AtLeast, 0.6, 0.6, "x >= 0.6 0.60 met");
        check(Side::AtLeast, 0.6, 0.59, "x >= 0.6 0.59 not met");
        check(Side::AtMost, 15.0, 14.2, "x <= 15 14.20 met");
        check(Side::AtMost, 15.0, 15.1, "x <= 15 15.10 not met");
    }
}
