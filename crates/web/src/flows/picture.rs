//! The picture of a session: sources, destinations, and what moved between them. Colour and strokes
//! both say how risky it is, and a cross where it was stopped. It is drawn twice, and the style sheet
//! shows the one that fits the screen.

mod layout;

use maud::{Markup, html};
use serde_json::Value;

use self::layout::{HEIGHT, Layout};
use super::edges::{Edge, UNKNOWN};
use crate::look::Look as _;
use crate::pieces;
use crate::shown::plain;

/// Sources and destinations that are drawn; what is beyond is counted.
const MOST: usize = 12;
/// Characters of a name that fit into a box.
const NAME: usize = 30;

impl Edge {
    fn end(&self) -> End {
        match self.status.as_str() {
            "blocked" | "rejected" => End::Stopped,
            "pending" => End::Waits,
            UNKNOWN => End::Unknown,
            _ => End::Arrived,
        }
    }

    /// Names the risk for the style sheet, which knows only these.
    fn class(&self) -> &'static str {
        match self.risk.as_str() {
            "critical" => "critical",
            "high" => "high",
            "medium" => "medium",
            _ => "none",
        }
    }
}

/// What became of a movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Arrived,
    Stopped,
    Waits,
    Unknown,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::Stopped => "stopped",
            Self::Waits => "waits",
            Self::Unknown => "not known what became of it",
        }
    }

    /// The sign where it did not come further, as far as is known.
    fn sign(self) -> &'static str {
        match self {
            Self::Arrived | Self::Stopped => "",
            Self::Waits => "?",
            Self::Unknown => "…",
        }
    }
}

/// What is drawn.
#[derive(Debug)]
pub(super) struct Picture<'a> {
    sources: Vec<String>,
    destinations: Vec<String>,
    /// One of each kind: what moved a thousand times is one line.
    lines: Vec<&'a Edge>,
    movements: usize,
    /// Whether something is known to have moved.
    moved: bool,
    left_out: usize,
}

impl<'a> Picture<'a> {
    /// Finds out who is in the picture: those between whom data moved, then who else was called.
    /// So many movements were counted, of which not all need be at hand.
    pub(super) fn of(records: &[Value], edges: &'a [Edge], counted: u64) -> Self {
        let mut sources: Vec<String> = Vec::new();
        let mut destinations: Vec<String> = Vec::new();
        for edge in edges {
            add(&mut sources, edge.from.clone());
            add(&mut destinations, edge.to.clone());
        }
        let calls = records.iter().filter(|one| one.text("status") == "success");
        for call in calls.filter(|one| !one.text("tool_name").is_empty()) {
            let server = call.text("server_name");
            if !destinations.iter().any(|known| known == server) {
                add(&mut sources, format!("{server}:{}", call.text("tool_name")));
            }
        }
        let left_out = sources.len().saturating_sub(MOST) + destinations.len().saturating_sub(MOST);
        sources.truncate(MOST);
        destinations.truncate(MOST);
        Self {
            sources,
            destinations,
            lines: lines(edges),
            movements: edges.len(),
            moved: counted > 0,
            left_out,
        }
    }

    /// Draws it.
    pub(super) fn draw(&self) -> Markup {
        if self.sources.is_empty() {
            return pieces::empty("This session has read nothing yet.");
        }
        html! {
            div.picture {
                div.beside { (self.laid_out(Layout::Beside)) }
                div.stacked { (self.laid_out(Layout::Stacked)) }
                ul.legend aria-hidden="true" {
                    @for level in ["none", "medium", "high", "critical"] { li { (pieces::risk(level)) } }
                    li.quiet { "✕ stopped" }
                    li.quiet { "? waits for an answer" }
                    @if self.lines.iter().any(|edge| edge.end() == End::Unknown) {
                        li.quiet { "… not known what became of it" }
                    }
                }
                @if self.destinations.is_empty() && !self.moved {
                    p.quiet { "Nothing that was read here was seen to go anywhere." }
                }
                @if self.left_out > 0 { p.quiet { (self.left_out) " more are not drawn." } }
            }
        }
    }

    fn laid_out(&self, layout: Layout) -> Markup {
        let (sources, destinations) = (self.sources.len(), self.destinations.len());
        let said = format!(
            "{sources} sources, {destinations} destinations, {} movements of data; the table below \
             lists them",
            self.movements
        );
        let (width, height) = (layout.width(), layout.height(sources, destinations));
        let [to_x, to_y] = layout.destination(sources, 0);
        let picture = html! {
            svg viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(said) {
                text.head x="0" y="12" { "Read from" }
                @if destinations > 0 { text.head x=(to_x) y=(to_y - 10) { "Went to" } }
                @for (at, edge) in self.lines.iter().enumerate() { (self.edge(layout, at, edge)) }
                @for (at, name) in self.sources.iter().enumerate() {
                    (node(name, layout, Layout::source(at), self.is_moved(name)))
                }
                @for (at, name) in self.destinations.iter().enumerate() {
                    (node(name, layout, layout.destination(sources, at), true))
                }
            }
        };
        pieces::scroll("Picture of what moved", &picture)
    }

    fn is_moved(&self, name: &str) -> bool {
        self.lines.iter().any(|edge| edge.from == name)
    }

    fn edge(&self, layout: Layout, at: usize, edge: &Edge) -> Markup {
        let from = self.sources.iter().position(|one| *one == edge.from);
        let to = self.destinations.iter().position(|one| *one == edge.to);
        let (Some(from), Some(to)) = (from, to) else {
            return html! {};
        };
        let shift = self.shift(at, edge);
        let ([_, start], [_, end]) = (
            Layout::source(from),
            layout.destination(self.sources.len(), to),
        );
        let way = layout.way(start + shift, end + shift);
        let [x, y] = way.middle;
        html! {
            g class={ "edge " (edge.class()) } {
                title { (plain(&edge.from)) " to " (plain(&edge.to)) ", " (edge.class()) ", "
                    (edge.end().word()) }
                @match edge.end() {
                    End::Arrived => {
                        path d=(way.whole) {}
                        path.head d=(way.head) {}
                    },
                    End::Stopped => {
                        path d=(way.half) {}
                        circle cx=(x) cy=(y) r="9" {}
                        path.cross d={ "M" (x - 4) " " (y - 4) "l8 8m0 -8l-8 8" } {}
                    },
                    End::Waits | End::Unknown => {
                        path d=(way.half) {}
                        circle cx=(x) cy=(y) r="9" {}
                        text.mark x=(x) y=(y + 4) text-anchor="middle" { (edge.end().sign()) }
                    },
                }
            }
        }
    }

    /// How far below the top of its boxes a movement is drawn: several between the same two stand
    /// beside each other for as long as there is room.
    fn shift(&self, at: usize, edge: &Edge) -> usize {
        let same = |one: &&&Edge| (&one.from, &one.to) == (&edge.from, &edge.to);
        let before = self.lines.iter().take(at).filter(same).count();
        let count = self.lines.iter().filter(same).count();
        HEIGHT * (before + 1) / (count + 1)
    }
}

/// Returns one movement of each kind that can be told apart in a picture.
fn lines(edges: &[Edge]) -> Vec<&Edge> {
    let kind = |edge: &Edge| (edge.class(), edge.end());
    let mut lines: Vec<&Edge> = Vec::new();
    for edge in edges {
        let same =
            |one: &&Edge| (&one.from, &one.to) == (&edge.from, &edge.to) && kind(one) == kind(edge);
        if !lines.iter().any(same) {
            lines.push(edge);
        }
    }
    lines
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn node(name: &str, layout: Layout, [x, y]: [usize; 2], moved: bool) -> Markup {
    let name = plain(name);
    let short: String = name.chars().take(NAME).collect();
    let cut = short.len() < name.len();
    html! {
        g.node.moved[moved] {
            title { (name) }
            rect x=(x) y=(y) width=(layout.box_width()) height=(HEIGHT) rx="6" {}
            text x=(x + 12) y=(y + 22) { (short) @if cut { "…" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edge(from: &str, to: &str, status: &str) -> Edge {
        Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            call: "1".to_owned(),
            risk: "critical".to_owned(),
            status: status.to_owned(),
            how: "exact".to_owned(),
            shared: 1,
        }
    }

    #[test]
    fn everybody_is_drawn_once_and_what_was_stopped_is_crossed_out() {
        let call = |server: &str, tool: &str| json!({ "server_name": server, "tool_name": tool, "status": "success" });
        let records = [
            call("vault", "read"),
            call("vault", "read"),
            call("out", "post"),
        ];
        let edges = [
            edge("vault:read", "out", "blocked"),
            edge("vault:read", "out", "success"),
        ];
        let picture = Picture::of(&records, &edges, 2);
        for layout in [Layout::Beside, Layout::Stacked] {
            let drawn = picture.laid_out(layout).into_string();
            assert_eq!(drawn.matches("<rect").count(), 2, "{drawn}");
            assert_eq!(drawn.matches("class=\"cross\"").count(), 1, "{drawn}");
            assert_eq!(drawn.matches("class=\"head\" d=").count(), 1, "{drawn}");
            let said = "1 sources, 1 destinations, 2 movements";
            assert!(drawn.contains(said), "{drawn}");
        }
    }

    #[test]
    fn names_are_text_and_many_are_counted() {
        let edges: Vec<Edge> = (0..20)
            .map(|at| edge(&format!("<b>{at}"), "out", "success"))
            .collect();
        let drawn = Picture::of(&[], &edges, 20).draw().into_string();
        assert!(!drawn.contains("<b>"), "{drawn}");
        assert!(drawn.contains("8 more are not drawn"), "{drawn}");
        let nothing = Picture::of(&[], &[], 0).draw().into_string();
        assert!(nothing.contains("read nothing yet"), "{nothing}");
    }
}
