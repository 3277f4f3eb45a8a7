//! What was sent lately: the same within a minute is sent once, and once more when the minute is over
//! if more of it came.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::Tick;
use mcpproxy_engine::events::Numbered;

/// Time within which the same alert is sent once.
const SAME: Duration = Duration::from_mins(1);
/// Alerts that are told apart; beyond, the oldest may be sent again.
const MOST: usize = 1024;

/// An alert that is to be sent.
#[derive(Clone, Debug)]
pub(super) struct Due {
    /// What happened.
    pub(super) event: Arc<Numbered>,
    /// How bad it is.
    pub(super) severity: &'static str,
    /// How often the same came since it was last sent, this one left out.
    pub(super) same_before: u64,
}

/// What was sent lately, and what came since.
#[derive(Debug, Default)]
pub(super) struct Recent(BTreeMap<String, Sent>);

#[derive(Debug)]
struct Sent {
    at: Tick,
    /// The latest that was not sent; it counts those before it.
    held: Option<Due>,
}

impl Recent {
    /// Takes an alert; returns it where it is to be sent at once. Otherwise it is kept for when the
    /// minute is over.
    pub(super) fn take(&mut self, same: String, due: Due, now: Tick) -> Option<Due> {
        if let Some(sent) = self.0.get_mut(&same) {
            let before = sent.held.as_ref().map_or(0, |held| held.same_before + 1);
            let due = Due {
                same_before: before,
                ..due
            };
            if sent.at.until(now) < SAME {
                sent.held = Some(due);
                return None;
            }
            *sent = Sent {
                at: now,
                held: None,
            };
            return Some(due);
        }
        self.make_room(now);
        let held = None;
        self.0.insert(same, Sent { at: now, held });
        Some(due)
    }

    /// Returns what was kept and whose minute is over.
    pub(super) fn over(&mut self, now: Tick) -> Vec<Due> {
        let mut due = Vec::new();
        for sent in self.0.values_mut() {
            if sent.at.until(now) >= SAME
                && let Some(held) = sent.held.take()
            {
                sent.at = now;
                due.push(held);
            }
        }
        due.sort_by_key(|due| due.event.number);
        due
    }

    /// Returns what was kept, whether its minute is over or not.
    pub(super) fn rest(&mut self) -> Vec<Due> {
        let held = self.0.values_mut().filter_map(|sent| sent.held.take());
        let mut due: Vec<_> = held.collect();
        due.sort_by_key(|due| due.event.number);
        due
    }

    /// Tells whether anything is kept.
    pub(super) fn holds(&self) -> bool {
        self.0.values().any(|sent| sent.held.is_some())
    }

    fn make_room(&mut self, now: Tick) {
        if self.0.len() < MOST {
            return;
        }
        self.0
            .retain(|_, sent| sent.held.is_some() || sent.at.until(now) < SAME);
        while self.0.len() >= MOST {
            // Of those that hold nothing first: what they told is told.
            let oldest = self.0.iter().min_by_key(|(_, sent)| {
                let holds = sent.held.is_some();
                (holds, sent.at)
            });
            let Some(oldest) = oldest.map(|(same, _)| same.clone()) else {
                return;
            };
            self.0.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::Wall;
    use mcpproxy_engine::Event;
    use mcpproxy_engine::events::ServerNews;

    use super::*;

    fn due(number: u64) -> Due {
        let event = Event::ServersChanged(ServerNews {
            server_name: String::new(),
            change: "up",
        });
        Due {
            event: Arc::new(Numbered {
                run: 1,
                number,
                at: Wall(number),
                event,
            }),
            severity: "high",
            same_before: 0,
        }
    }

    fn at(seconds: u64) -> Tick {
        Tick(Duration::from_secs(seconds))
    }

    #[test]
    fn the_same_is_sent_once_within_a_minute() {
        let mut recent = Recent::default();
        let mut check = |same: &str, seconds: u64, expect: Option<u64>| {
            let found = recent.take(same.to_owned(), due(seconds), at(seconds));
            let found = found.map(|one| one.same_before);
            assert_eq!(found, expect, "{same} {seconds}");
        };
        check("a", 0, Some(0));
        check("a", 1, None);
        check("b", 2, Some(0));
        check("a", 59, None);
        check("a", 60, Some(2));
        check("a", 200, Some(0));
    }

    #[test]
    fn what_came_within_the_minute_is_told_when_it_is_over() {
        let mut recent = Recent::default();
        let over = |recent: &mut Recent, seconds: u64| {
            let due = recent.over(at(seconds)).into_iter();
            due.map(|one| (one.event.number, one.same_before))
                .collect::<Vec<_>>()
        };
        for (same, seconds) in [("a", 0), ("b", 1), ("a", 2), ("a", 3), ("a", 4)] {
            recent.take(same.to_owned(), due(seconds), at(seconds));
        }
        assert!(recent.holds());
        assert_eq!(over(&mut recent, 59), []);
        // The latest, with how many there were before it.
        assert_eq!(over(&mut recent, 60), [(4, 2)]);
        assert!(!recent.holds());
        assert_eq!(over(&mut recent, 200), []);
        // It was sent at the end of the minute: the next one is one of another.
        assert!(recent.take("a".to_owned(), due(70), at(70)).is_none());
        assert_eq!(over(&mut recent, 120), [(70, 0)]);
    }

    #[test]
    fn a_crowd_takes_bounded_memory_and_leaves_what_is_held() {
        let mut recent = Recent::default();
        recent.take("a".to_owned(), due(0), at(0));
        recent.take("a".to_owned(), due(1), at(0));
        for number in 0..3000 {
            recent.take(number.to_string(), due(number), at(1));
        }
        assert!(recent.0.len() <= MOST);
        assert_eq!(recent.over(at(60)).len(), 1);
    }
}
