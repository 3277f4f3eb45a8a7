//! How well the ranking finds what is asked for: a set of tools and queries of our own, measured
//! beside plain BM25. Weights were chosen without looking at the queries that are `held_back`.
#![expect(
    clippy::print_stdout,
    reason = "the figures are what this test is read for"
)]
#![expect(
    clippy::expect_used,
    reason = "a test that cannot read its data has to fail"
)]

mod relevance {
    pub(crate) mod baseline;
    pub(crate) mod measure;
}

use std::collections::{BTreeMap, BTreeSet};

use mcpproxy_search::{Document, Index};
use serde::Deserialize;

use relevance::baseline::Baseline;
use relevance::measure::Measure;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    upstream: String,
    name: String,
    title: Option<String>,
    description: String,
    parameters: BTreeMap<String, String>,
}

impl Tool {
    fn id(&self) -> String {
        format!("{}:{}", self.upstream, self.name)
    }

    fn document(&self) -> Document<'_> {
        let parameters = self.parameters.iter();
        Document {
            name: &self.name,
            title: self.title.as_deref(),
            description: Some(&self.description),
            parameters: parameters
                .map(|(name, text)| (name.as_str(), Some(text.as_str())))
                .collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    kind: String,
    query: String,
    /// Tools that answer the query, each as good as the others.
    expected: Vec<String>,
    #[serde(default)]
    held_back: bool,
}

fn tools() -> Vec<Tool> {
    serde_json::from_str(include_str!("relevance/tools.json")).expect("tools are readable")
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("relevance/queries.json")).expect("queries are readable")
}

fn index(tools: &[Tool]) -> Index {
    let mut index = Index::default();
    let upstreams: BTreeSet<&str> = tools.iter().map(|tool| tool.upstream.as_str()).collect();
    for upstream in upstreams {
        let own = tools.iter().filter(|tool| tool.upstream == upstream);
        index.replace(upstream, own.map(Tool::document));
    }
    index
}

/// Which queries are measured.
type Keep<'a> = &'a dyn Fn(&Case) -> bool;

/// How many answers are looked at; an answer further down counts as not found.
const DEPTH: usize = 20;

fn ours(index: &Index, query: &str) -> Vec<String> {
    let hits = index.search(query, DEPTH).hits;
    hits.iter()
        .map(|hit| format!("{}:{}", hit.upstream, hit.name))
        .collect()
}

#[test]
fn the_set_is_large_enough_and_consistent() {
    let (tools, cases) = (tools(), cases());
    let ids: BTreeSet<String> = tools.iter().map(Tool::id).collect();
    let asked: BTreeSet<&String> = cases.iter().flat_map(|case| &case.expected).collect();
    let queries: BTreeSet<&str> = cases.iter().map(|case| case.query.as_str()).collect();
    assert!(
        ids.len() >= 60 && ids.len() == tools.len(),
        "{} tools",
        ids.len()
    );
    assert!(
        cases.len() >= 100 && queries.len() == cases.len(),
        "{} queries",
        cases.len()
    );
    assert!(cases.iter().filter(|case| case.held_back).count() * 3 >= cases.len() - 3);
    assert!(asked.iter().all(|id| ids.contains(*id)));
    assert_eq!(asked.len(), ids.len(), "every tool is asked for");
}

#[test]
fn ranking_meets_its_aims_and_beats_plain_bm25() {
    let (tools, cases) = (tools(), cases());
    let index = index(&tools);
    let baseline = Baseline::of(&tools);
    let measure = |keep: Keep<'_>| {
        let cases: Vec<&Case> = cases.iter().filter(|case| keep(case)).collect();
        let ours = Measure::of(&cases, |query| ours(&index, query));
        (ours, Measure::of(&cases, |query| baseline.search(query)))
    };

    println!("{} tools; Recall@1, Recall@5, MRR", tools.len());
    let kinds: BTreeSet<&str> = cases.iter().map(|case| case.kind.as_str()).collect();
    for kind in kinds {
        let (ours, plain) = measure(&|case| case.kind == kind);
        println!("{kind:<12} {ours}   plain BM25 {plain}");
    }
    let parts: [(&str, Keep<'_>); 3] = [
        ("tuned on", &|case| !case.held_back),
        ("held back", &|case| case.held_back),
        ("all", &|_| true),
    ];
    for (part, keep) in parts {
        let (ours, plain) = measure(keep);
        println!("{part:<12} {ours}   plain BM25 {plain}");
        assert!(ours.recall_at_5() >= 0.90, "{part}: {ours}");
        assert!(ours.mean_reciprocal_rank() >= 0.75, "{part}: {ours}");
        assert!(ours.is_better_than(&plain), "{part}: {ours} beside {plain}");
    }
}
