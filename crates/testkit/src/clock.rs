//! A clock that stands still until it is advanced by hand.

use std::sync::Mutex;
use std::time::Duration;

use mcpproxy_core::{Clock, Tick, Wall};

use crate::lock;

/// A clock that only a test moves.
#[derive(Debug)]
pub struct FixedClock(Mutex<Hands>);

#[derive(Clone, Copy, Debug)]
struct Hands {
    tick: Tick,
    wall: Wall,
}

impl Default for FixedClock {
    /// Stands at a day that is easy to recognize: 2026-01-02T03:04:05Z.
    fn default() -> Self {
        Self::at(Wall(1_767_323_045_000))
    }
}

impl FixedClock {
    /// Makes a clock whose wall time is `wall` and whose tick is zero.
    pub fn at(wall: Wall) -> Self {
        let tick = Tick(Duration::ZERO);
        Self(Mutex::new(Hands { tick, wall }))
    }

    /// Moves both clocks on.
    pub fn advance(&self, span: Duration) {
        let mut hands = lock(&self.0);
        hands.tick = hands.tick.after(span);
        let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        hands.wall = Wall(hands.wall.0.saturating_add(millis));
    }

    /// Sets the wall clock alone, as an operator does who corrects it; it may go back.
    pub fn set_wall(&self, wall: Wall) {
        lock(&self.0).wall = wall;
    }
}

impl Clock for FixedClock {
    fn tick(&self) -> Tick {
        lock(&self.0).tick
    }

    fn wall(&self) -> Wall {
        lock(&self.0).wall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_only_by_hand() {
        let clock = FixedClock::default();
        let check = |tick: u64, wall: &str| {
            assert_eq!(clock.tick(), Tick(Duration::from_millis(tick)));
            assert_eq!(clock.wall().rfc3339(), wall);
        };
        check(0, "2026-01-02T03:04:05.000Z");
        clock.advance(Duration::from_millis(1500));
        check(1500, "2026-01-02T03:04:06.500Z");
        clock.set_wall(Wall(0));
        check(1500, "1970-01-01T00:00:00.000Z");
    }
}
