//! Numbers, memory and gaps of the channel.

use mcpproxy_testkit::FixedClock;

use super::*;

fn event(number: u64) -> Event {
    Event::ServersChanged(ServerNews {
        server_name: number.to_string(),
        change: "up",
    })
}

fn numbers(listening: &Listening) -> Vec<u64> {
    listening.before.iter().map(|one| one.number).collect()
}

#[test]
fn who_comes_back_hears_what_was_missed_or_that_it_is_not_known() {
    let events = Events::new(Arc::<FixedClock>::default());
    let first = events.listen(None, 7);
    assert!(!first.gap && first.before.is_empty());
    for number in 1..=3 {
        events.tell(event(number));
    }
    let check = |last: (u64, u64), expect: &[u64], gap: bool| {
        let back = events.listen(Some(last), 8);
        assert_eq!(
            (numbers(&back).as_slice(), back.gap),
            (expect, gap),
            "{last:?}"
        );
    };
    check((7, 0), &[1, 2, 3], false);
    check((7, 2), &[3], false);
    check((7, 3), &[], false);
    // Numbers of another run, and numbers that were never told.
    check((6, 2), &[], true);
    check((7, 9), &[], true);
    let kept = u64::try_from(BEHIND).unwrap();
    for number in 4..=kept + 10 {
        events.tell(event(number));
    }
    let back = events.listen(Some((7, 5)), 8);
    assert_eq!((back.before.len(), back.gap), (BEHIND, true));
    let back = events.listen(Some((7, 10)), 8);
    assert_eq!((back.before.len(), back.gap), (BEHIND, false));
}

#[test]
fn calls_are_told_while_somebody_watches_and_a_while_after() {
    let at = |seconds| Tick(Duration::from_secs(seconds));
    let events = Events::new(Arc::<FixedClock>::default());
    assert!(!events.watched());
    let heard = events.overhear();
    assert!(!events.watched());
    let watching = events.listen(None, 1);
    assert!(events.watched());
    events.rest(1, at(0));
    drop(watching);
    events.rest(1, at(10));
    events.rest(1, at(100));
    assert!(events.watched());
    events.rest(1, at(131));
    assert!(!events.watched());
    drop(heard);
    // Calls went by untold meanwhile, so that the numbers of before mean nothing.
    assert!(events.listen(Some((1, 0)), 2).gap);
}

#[test]
fn every_event_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = Event::NAMES.into_iter().collect();
    assert_eq!(names.len(), Event::NAMES.len());
}

#[test]
fn an_event_is_told_again_with_the_time_at_which_it_happened() {
    let clock = Arc::new(FixedClock::default());
    let events = Events::new(Arc::clone(&clock) as _);
    let _watching = events.listen(None, 7);
    let begun = clock.wall();
    events.tell(event(1));
    clock.advance(Duration::from_secs(90));
    events.tell(event(2));
    let back = events.listen(Some((7, 0)), 8);
    let times: Vec<_> = back.before.iter().map(|one| one.at).collect();
    assert_eq!(times, [begun, begun.after(Duration::from_secs(90))]);
}
