//! The class of one tool: what the operator said, then what its upstream is, refined by what the
//! tool itself shows.
//!
//! An upstream describes its own tools, so a tool can be found to do more than its upstream's class
//! says and never less: hints and descriptions count only where nothing better is known.

mod outward;

use mcpproxy_core::{Masked, Operation, Sink};
use serde::Serialize;

use self::outward::{Outward, outward};
use crate::class::{Class, Confidence, Kind, Method, World};
use crate::operation::{Does, operation};
use crate::settings::Classification;
use crate::signal::{Says, Signal, SignalSource};
use crate::tool::Tool;
use crate::upstreams::by_name;
use crate::words::Words;

/// What is known about a tool. It changes only with the descriptor and the settings, so it can be
/// kept beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolClass {
    /// Which side of the fence it is on.
    #[serde(flatten)]
    pub class: Class,
    /// What it does.
    pub does: Does,
    /// What is known about the world it reaches.
    pub world: World,
    /// Whether it is there to get what stands at an address.
    pub fetches: bool,
    /// Whether nothing but what the tool says of itself speaks for where it is.
    #[serde(skip)]
    pub unproven: bool,
    /// What each source says.
    pub signals: Vec<Signal>,
}

impl ToolClass {
    /// Returns the class of data that is read through it; `default` is that of an unknown source.
    pub fn as_source(&self, default: Kind) -> Kind {
        self.class.as_source(default)
    }

    /// Returns what it counts as when data is sent to it.
    ///
    /// An upstream chooses the names of its tools and what it says of them, so that of one that
    /// nothing else is known of they are no proof that data stays.
    pub fn as_sink(&self) -> Sink {
        match self.class.as_sink(self.does.operation, self.world) {
            Sink::Inside if self.unproven => Sink::Unproven,
            sink => sink,
        }
    }
}

/// Classifies a tool of the upstream `upstream`, whose class is `class`.
pub fn tool(
    tool: &Tool<'_>,
    upstream: &str,
    class: &Class,
    settings: &Classification,
) -> ToolClass {
    let mut signals = Vec::new();
    let does = operation(tool, &mut signals);
    let seen = outward(tool);
    seen.report(&mut signals);
    let says = match tool.annotations.world() {
        World::Open => Some(Says::OpenWorld),
        World::Closed => Some(Says::ClosedWorld),
        World::Unsaid => None,
    };
    let source = SignalSource::ServerAnnotation;
    signals.extend(says.map(|says| Signal { source, says }));
    let world = match tool.annotations.world() {
        World::Closed | World::Unsaid if seen.reaches() => World::Open,
        said => said,
    };
    let configured = overridden(tool, upstream, settings);
    let unproven = configured.is_none() && class.kind == Kind::Unknown;
    let class = match configured {
        Some(kind) => Class::configured(kind, "the configuration says so of this tool"),
        None if class.method == Method::Config => class.clone(),
        None => refined(tool, class, &does, seen),
    };
    ToolClass {
        class,
        does,
        world,
        fetches: seen.takes.address || fetches(tool),
        unproven,
        signals,
    }
}

/// Tells by its name whether a tool gets what stands at an address.
fn fetches(tool: &Tool<'_>) -> bool {
    const GETS: &[&str] = &[
        "fetch", "browse", "browser", "navigate", "crawl", "scrape", "download", "http", "https",
        "url", "web", "webpage", "website",
    ];
    Words::of(&tool.name)
        .iter()
        .any(|word| GETS.contains(&word))
}

fn overridden(tool: &Tool<'_>, upstream: &str, settings: &Classification) -> Option<Kind> {
    if settings.tool_overrides.is_empty() {
        return None;
    }
    let key = [upstream, ":", &tool.name].concat();
    settings.tool_overrides.get(&key).copied()
}

/// Refines the class of an upstream by what the tool shows.
fn refined(tool: &Tool<'_>, class: &Class, does: &Does, seen: Outward) -> Class {
    match class.kind {
        Kind::Internal if seen.sends => {
            let reason = format!("{}; but this tool sends to somebody", class.reason);
            Class::guessed(Kind::Hybrid, 75, reason)
        }
        Kind::Hybrid if seen.sends => {
            let reason = format!("{}; and this tool sends to somebody", class.reason);
            Class::guessed(Kind::External, 85, reason)
        }
        Kind::Internal | Kind::External | Kind::Hybrid => class.clone(),
        Kind::Unknown => of_itself(tool, does, seen),
    }
}

/// Classifies a tool of an upstream that nothing is known about.
fn of_itself(tool: &Tool<'_>, does: &Does, seen: Outward) -> Class {
    let named = by_name(&Words::of(&tool.name));
    if seen.sends {
        let inside = named
            .as_ref()
            .is_some_and(|named| named.kind == Kind::Internal);
        let kind = if inside { Kind::Hybrid } else { Kind::External };
        return Class::guessed(kind, 75, "it sends to somebody");
    }
    if let Some(named) = named {
        let class = named.class("name");
        let confidence = class.confidence.less(20);
        return Class {
            confidence,
            ..class
        };
    }
    if seen.takes.address {
        // What only gets an address brings in what all can read; what else it does is open.
        let gets = does.operation == Some(Operation::Read);
        let kind = if gets { Kind::External } else { Kind::Hybrid };
        return Class::guessed(kind, 65, "one of its parameters is an address");
    }
    if seen.takes.inside {
        return Class::guessed(
            Kind::Internal,
            60,
            "one of its parameters is a place inside",
        );
    }
    let said = |kind, reason: &str| Class {
        kind,
        confidence: Confidence::percent(50),
        method: Method::Annotation,
        reason: Masked::from_safe(reason),
    };
    match tool.annotations.world() {
        // It may still hold what is private: the hint is the default of the protocol.
        World::Open => said(Kind::Hybrid, "it is said to reach an open world"),
        World::Closed => said(Kind::Internal, "it is said to stay in a closed world"),
        World::Unsaid if seen.described => {
            Class::guessed(Kind::Hybrid, 50, "its description says that it sends")
        }
        World::Unsaid => Class::unknown("neither its upstream nor the tool shows what it is"),
    }
}

#[cfg(test)]
mod tests;
