//! What is heard here and elsewhere, and what is told of it.

use mcpproxy_core::{Owner, Phase};

use super::*;

const START: u64 = 1_767_323_045_000;

fn after(seconds: u64) -> Moment {
    Moment {
        tick: Tick(Duration::from_secs(seconds)),
        wall: Wall(START).after(Duration::from_secs(seconds)),
    }
}

fn note(hearing: &Hearing, id: u128, agent: &str, now: Moment) {
    let key = SessionKey {
        basis: SessionBasis::Hook,
        id: Id128(id),
    };
    let hook = Hooked {
        agent: agent.into(),
        phase: Phase::Pre,
        event: "PreToolUse".into(),
        session: "s".into(),
        tool_use: None,
        owner: Owner::Agent,
        failed: false,
        leads: Vec::new(),
        folder: None,
    };
    hearing.note(key, &hook, (now.tick, now.wall));
}

/// The agents that are heard, with how many conversations and events.
fn heard(hearing: &Hearing, now: Moment) -> Vec<(String, usize, u64)> {
    let agents = hearing.sight(now.tick).agents;
    let agents = agents.into_iter();
    agents
        .map(|one| (one.agent, one.sessions, one.events))
        .collect()
}

/// Regression for #8: whether hooks cover an agent was known only where they ask.
#[test]
fn what_another_gateway_heard_counts_and_ends_as_if_it_were_heard_here() {
    let (here, there) = (Hearing::default(), Hearing::default());
    note(&here, 1, "goose", after(0));
    note(&here, 1, "goose", after(1));
    note(&here, 2, "codex", after(2));
    // The conversation asked both.
    note(&there, 1, "goose", after(3));
    assert_eq!(there.sight(after(3).tick).coverage, Coverage::Full);
    there.fold("here", &here.news(after(3).tick), after(3));
    let expect = [("codex".to_owned(), 1, 1), ("goose".to_owned(), 1, 3)];
    assert_eq!(heard(&there, after(3)), expect);
    // What is told twice, or late, counts once.
    let old = here.news(after(3).tick);
    note(&here, 1, "goose", after(4));
    there.fold("here", &here.news(after(4).tick), after(4));
    there.fold("here", &old, after(4));
    assert_eq!(heard(&there, after(4))[1], ("goose".to_owned(), 1, 4));
    let over = after(5 + ACTIVE.as_secs());
    assert_eq!(there.sight(over.tick).coverage, Coverage::ProxyOnly);
    // Nor does it begin anew with who hears of it later.
    let late = Hearing::default();
    late.fold("here", &old, over);
    assert_eq!(late.sight(over.tick).coverage, Coverage::ProxyOnly);
}

#[test]
fn others_are_told_at_once_then_seldom_and_again_when_they_may_have_missed_it() {
    let hearing = Hearing::default();
    let told = |now: Moment| {
        let news = hearing.news(now.tick);
        hearing.told(&news, now.tick);
        news.len()
    };
    assert_eq!(told(after(0)), 0);
    note(&hearing, 1, "goose", after(0));
    assert_eq!(hearing.news(after(0).tick).len(), 1, "it was not told yet");
    assert_eq!(told(after(0)), 1);
    note(&hearing, 1, "goose", after(1));
    note(&hearing, 2, "goose", after(1));
    assert_eq!(told(after(1)), 1, "only the new one");
    assert_eq!(told(after(9)), 0);
    assert_eq!(told(after(10)), 1);
    assert_eq!(told(after(100)), 0, "nothing happened");
    hearing.doubt();
    assert_eq!(told(after(101)), 2);
    hearing.doubt();
    assert_eq!(told(after(ACTIVE.as_secs() + 2)), 0, "it is over");
}

#[test]
fn who_comes_later_hears_of_all_through_anybody() {
    let [one, two, late] = [0, 1, 2].map(|_| Hearing::default());
    note(&one, 1, "goose", after(0));
    note(&two, 2, "codex", after(0));
    two.fold("one", &one.news(after(0).tick), after(0));
    for (from, news) in two.all("two", after(1).tick) {
        late.fold(&from, &news, after(1));
    }
    assert_eq!(heard(&late, after(1)), heard(&two, after(1)));
    assert_eq!(heard(&late, after(1)).len(), 2);
}

#[test]
fn what_is_taken_over_is_bounded_and_what_is_odd_is_left() {
    let hearing = Hearing::default();
    let news = |id: u128, agent: &str| HeardNews {
        hook: Id128(id).to_string(),
        agent: agent.to_owned(),
        events: 1,
        last: START,
    };
    let long = "x".repeat(LONGEST_NAME + 1);
    let odd = HeardNews {
        hook: "no id".to_owned(),
        ..news(1, "goose")
    };
    hearing.fold("there", &[odd, news(2, &long)], after(0));
    hearing.fold(&long, &[news(3, "goose")], after(0));
    assert_eq!(heard(&hearing, after(0)), []);
    for id in 0..2 * MOST as u128 {
        hearing.fold("there", &[news(id, "goose")], after(0));
    }
    assert_eq!(heard(&hearing, after(0))[0].1, MOST);
    assert_eq!(hearing.all("here", after(0).tick)["there"].len(), TOLD);
}
