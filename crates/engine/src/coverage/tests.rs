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
        leads: Some(Vec::new()),
        folder: None,
    };
    hearing.note(key, &hook, (now.tick, now.wall));
}

/// The agents that are heard, with how many conversations and events.
fn heard(hearing: &Hearing, now: Moment) -> Vec<(String, usize, u64)> {
    let agents = hearing.sight(now).agents;
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
    assert_eq!(there.sight(after(3)).coverage, Coverage::Full);
    there.fold("here", &here.news(after(3).tick), after(3).wall);
    let expect = [("codex".to_owned(), 1, 1), ("goose".to_owned(), 1, 3)];
    assert_eq!(heard(&there, after(3)), expect);
    // What is told twice, or late, counts once.
    let old = here.news(after(3).tick);
    note(&here, 1, "goose", after(4));
    there.fold("here", &here.news(after(4).tick), after(4).wall);
    there.fold("here", &old, after(4).wall);
    assert_eq!(heard(&there, after(4))[1], ("goose".to_owned(), 1, 4));
    let over = after(5 + ACTIVE.as_secs());
    assert_eq!(there.sight(over).coverage, Coverage::ProxyOnly);
    // Nor does it begin anew with who hears of it later.
    let late = Hearing::default();
    late.fold("here", &old, over.wall);
    assert_eq!(late.sight(over).coverage, Coverage::ProxyOnly);
}

/// Regression for #8: a gateway that had just started counted what is kept, however old it was.
#[test]
fn what_is_old_does_not_begin_anew_with_a_gateway_that_begins() {
    let there = Hearing::default();
    let mut started = after(0);
    started.tick = Tick(Duration::from_secs(3));
    let news = |ago: Duration| HeardNews {
        hook: Id128(1).to_string(),
        agent: "goose".to_owned(),
        events: 1,
        last: START - u64::try_from(ago.as_millis()).unwrap(),
    };
    there.fold(
        "here",
        &[news(ACTIVE + Duration::from_secs(1))],
        started.wall,
    );
    assert_eq!(there.sight(started).coverage, Coverage::ProxyOnly);
    assert!(there.all("there", started).is_empty());
    // What counts still counts no longer than where it was heard.
    there.fold(
        "here",
        &[news(ACTIVE.saturating_sub(Duration::from_secs(1)))],
        started.wall,
    );
    assert_eq!(there.sight(started).coverage, Coverage::Full);
    started.wall = started.wall.after(Duration::from_secs(2));
    assert_eq!(there.sight(started).coverage, Coverage::ProxyOnly);
    // A clock that is ahead makes it last no longer, however often it is told.
    let ahead = HeardNews {
        last: START + 3_600_000,
        ..news(Duration::ZERO)
    };
    there.fold("ahead", std::slice::from_ref(&ahead), after(0).wall);
    there.fold("ahead", &[ahead], after(60).wall);
    let over = after(1 + ACTIVE.as_secs());
    assert_eq!(there.sight(over).coverage, Coverage::ProxyOnly);
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
    two.fold("one", &one.news(after(0).tick), after(0).wall);
    for (from, news) in two.all("two", after(1)) {
        late.fold(&from, &news, after(1).wall);
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
    hearing.fold("there", &[odd, news(2, &long)], after(0).wall);
    hearing.fold(&long, &[news(3, "goose")], after(0).wall);
    assert_eq!(heard(&hearing, after(0)), []);
    for id in 0..2 * MOST as u128 {
        hearing.fold("there", &[news(id, "goose")], after(0).wall);
    }
    assert_eq!(heard(&hearing, after(0))[0].1, MOST);
    assert_eq!(hearing.all("here", after(0))["there"].len(), TOLD);
}
