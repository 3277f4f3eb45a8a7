//! What holds for any text.

use proptest::prelude::*;

use super::*;

fn shares_run(one: &[u8], other: &[u8]) -> bool {
    one.windows(crate::RUN)
        .any(|run| other.windows(crate::RUN).any(|window| run == window))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_run_of_thirty_two_is_always_found(
        run in "[a-zA-Z0-9äöü]{32,48}", before in "[a-z ]{0,80}", behind in "[a-z ]{0,80}",
        left in "[a-z ]{0,60}", right in "[a-z ]{0,60}", cut in 1_usize..31,
    ) {
        let read = json!({"a": format!("{before}{run}{behind}")}).to_string();
        let at = run.char_indices().nth(cut).unwrap().0;
        let (one, two) = run.split_at(at);
        for sent in [
            message(&format!("{left}{run}{right}")),
            json!({"a": format!("{left}{one}"), "b": format!("{two}{right}")}).to_string(),
            json!([{"type": "text", "text": format!("{left}{one}")},
                {"type": "text", "text": format!("{two}{right}")}]).to_string(),
            json!({one: {two: 1}}).to_string(),
        ] {
            let evidence = Desk::new().read(&read).send(&sent);
            prop_assert!(evidence.heaviest().is_some(), "{}", sent);
        }
        // Over two calls, if a window lies in both with room to choose: what left with the first
        // is no news with the second.
        let at = run.char_indices().nth(cut.clamp(13, 19)).unwrap().0;
        let (one, two) = run.split_at(at);
        let desk = Desk::new();
        desk.read(&read).send(&message(&format!("{left}{one}")));
        let evidence = desk.send(&message(&format!("{two}{right}")));
        prop_assert!(evidence.heaviest().is_some(), "in two calls");
    }

    #[test]
    fn whatever_the_plain_matcher_finds_is_found(
        read in "[ab ]{40,120}", sent in "[ab ]{40,120}",
    ) {
        let evidence = Desk::new().read(&read).send(&sent);
        if shares_run(&crate::folded(&read), &crate::folded(&sent)) {
            prop_assert!(evidence.heaviest().is_some());
        }
    }

    #[test]
    fn any_text_is_survived(read in any::<String>(), sent in any::<String>()) {
        let evidence = Desk::new().read_secret(&read, &sent, Nature::Secret).send(&sent);
        prop_assert!(evidence.matches.len() <= 256);
    }
}
