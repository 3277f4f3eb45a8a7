//! Tests of replacing and removing: the index is always what it would be if built anew.

use proptest::prelude::*;

use super::*;

/// A tool that is described by its name.
fn tool(name: &str) -> Document<'_> {
    Document {
        name,
        description: Some(name),
        ..Document::default()
    }
}

/// Everything that a search tells, floating point digits included.
fn found(index: &Index, query: &str) -> String {
    format!("{:?}", index.search(query, 100))
}

#[test]
fn tools_of_one_upstream_are_replaced_together() {
    let mut index = Index::default();
    assert_eq!(index.replace("a", [tool("one"), tool("two")]).tools, 2);
    assert_eq!(index.replace("b", [tool("two")]).tools, 1);
    assert_eq!((index.len(), index.search("two", 9).total), (3, 2));

    assert_eq!(index.replace("a", [tool("three")]).tools, 1);
    assert_eq!((index.len(), index.search("two", 9).total), (2, 1));
    assert_eq!(index.search("one", 9).total, 0);

    assert_eq!(
        (index.remove("b"), index.remove("b"), index.remove("none")),
        (1, 0, 0)
    );
    assert_eq!((index.len(), index.search("two", 9).total), (1, 0));
    assert_eq!(index.replace("a", []), Replaced::default());
    assert!(index.is_empty());
}

#[test]
fn of_two_tools_with_one_name_the_first_is_kept() {
    let mut index = Index::default();
    let second = Document {
        description: Some("other"),
        ..tool("one")
    };
    let replaced = index.replace("a", [tool("one"), second]);
    assert_eq!(
        replaced,
        Replaced {
            tools: 1,
            cut: 0,
            duplicates: 1
        }
    );
    assert_eq!(index.search("other", 9).total, 0);
}

#[test]
fn words_past_the_bound_of_a_field_are_left_out() {
    let most = Field::Description.max_words();
    let words = |count: usize| {
        (0..count)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (count, cut) in [(most, 0), (most + 1, 1)] {
        let mut index = Index::default();
        let text = words(count);
        let tool = Document {
            name: "long",
            description: Some(&text),
            ..Document::default()
        };
        assert_eq!(index.replace("a", [tool]).cut, cut, "{count} words");
        assert_eq!(
            index.search(&(most - 1).to_string(), 9).hits[0].name,
            "long"
        );
    }
}

/// A word of letters for each number, since digits would be split off.
fn word(number: usize) -> String {
    let letters = number.to_string();
    letters
        .bytes()
        .map(|digit| char::from(digit - b'0' + b'a'))
        .collect()
}

#[test]
fn upstreams_that_send_noise_do_not_fill_the_index() {
    let each = Field::Description.max_words();
    let tools_each = MAX_UPSTREAM_WORDS / each + 1;
    let upstreams = MAX_WORDS / MAX_UPSTREAM_WORDS + 1;
    let texts: Vec<(String, String)> = (0..tools_each * upstreams)
        .map(|tool| {
            let words = (0..each).map(|n| word(1_000_000 + tool * each + n));
            (
                format!("noise_{}", word(tool)),
                words.collect::<Vec<_>>().join(" "),
            )
        })
        .collect();
    let mut index = Index::default();
    for (upstream, texts) in texts.chunks(tools_each).enumerate() {
        let tools = texts.iter().map(|(name, description)| Document {
            name,
            description: Some(description),
            ..Document::default()
        });
        let replaced = index.replace(&word(upstream), tools);
        assert!(
            replaced.cut > 0 && replaced.tools == tools_each,
            "{replaced:?}"
        );
        let words = index.vocabulary.len();
        // Each tool brings a word of its name, and all together bring `noise` and their upstreams.
        let names = index.len() + upstream + 2;
        assert!(
            words <= MAX_UPSTREAM_WORDS * (upstream + 1) + names,
            "{words} words"
        );
        assert!(words <= MAX_WORDS + names, "{words} words");
    }
    let last = format!("noise_{}", word(texts.len() - 1));
    assert_eq!(index.search(&last, 1).hits[0].name, last);
}

#[test]
fn nothing_is_left_of_an_upstream_that_keeps_changing() {
    let mut index = Index::default();
    for round in 0..50 {
        let name = format!("tool_{round}");
        index.replace("a", [tool(&name)]);
    }
    index.remove("a");
    assert_eq!((index.vocabulary.len(), index.documents.len()), (0, 1));
}

/// Names in which forms of one word come together, so that the order of a sum would show.
const NAMES: &str = "(get|list|lists)(_(note|notes|noted|noting)){0,4}";

proptest! {
    #[test]
    fn history_leaves_no_trace(
        steps in prop::collection::vec((0_u8..4, prop::collection::vec(NAMES, 0..5)), 1..12),
        query in "(get|listing|lsit|nte)( notes?| nting)?",
    ) {
        let upstream = |number: u8| format!("u{number}");
        let mut changed = Index::default();
        let mut last = BTreeMap::new();
        for (number, names) in &steps {
            changed.replace(&upstream(*number), names.iter().map(|name| tool(name)));
            last.insert(*number, names);
        }
        let mut anew = Index::default();
        for (number, names) in last {
            anew.replace(&upstream(number), names.iter().map(|name| tool(name)));
        }
        prop_assert_eq!(changed.len(), anew.len());
        prop_assert_eq!(found(&changed, &query), found(&anew, &query));
    }
}
