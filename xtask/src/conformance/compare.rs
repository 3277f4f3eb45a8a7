//! Reads the suite's results and compares two runs check by check. No process is started here.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The length of `-2026-11-15T08-56-02-068Z`, which ends the name of a result folder.
const STAMP_LENGTH: usize = 25;

/// How often a check came out well and how often not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

/// The checks of one run, by scenario and id.
#[derive(Default, Debug)]
pub(super) struct Results {
    checks: BTreeMap<(String, String), Tally>,
}

/// Whether the number of passes of one check must be the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counting {
    /// The suite sends the requests, so each run has the same checks as often.
    Exact,
    /// A check is made at each request that arrives, and a gateway may need more or fewer.
    AtLeastOne,
}

/// A check that came out worse through the gateway.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Lost {
    scenario: String,
    id: String,
    direct: Tally,
    through: Tally,
}

/// The difference between two runs.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) lost: Vec<Lost>,
}

#[derive(Deserialize)]
struct Check {
    id: String,
    status: String,
}

impl Results {
    /// Reads every `checks.json` below `folder`.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut results = Self::default();
        results.read_folder(folder, folder)?;
        if results.tally() == Tally::default() {
            bail!("the suite left no result in {}", folder.display());
        }
        Ok(results)
    }

    fn read_folder(&mut self, root: &Path, folder: &Path) -> Result<()> {
        for entry in
            fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                self.read_folder(root, &path)?;
            } else if path.ends_with("checks.json") {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                let name = folder.strip_prefix(root)?.to_string_lossy().into_owned();
                self.add(scenario(&name), &text)
                    .with_context(|| format!("cannot understand {}", path.display()))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, scenario: &str, checks: &str) -> Result<()> {
        for check in serde_json::from_str::<Vec<Check>>(checks)? {
            let tally = self
                .checks
                .entry((scenario.to_owned(), check.id))
                .or_default();
            match check.status.as_str() {
                "SUCCESS" => tally.passed += 1,
                "FAILURE" | "WARNING" => tally.failed += 1,
                // `INFO` is a log line, `SKIPPED` a check that does not apply.
                "INFO" | "SKIPPED" => {}
                other => bail!("unknown status `{other}`"),
            }
        }
        Ok(())
    }

    /// Parts the scenarios that begin with `prefix` from the others.
    pub(super) fn split(self, prefix: &str) -> (Self, Self) {
        let (with, without) = self
            .checks
            .into_iter()
            .partition(|((scenario, _), _)| scenario.starts_with(prefix));
        (Self { checks: with }, Self { checks: without })
    }

    /// Sums over all checks.
    pub(super) fn tally(&self) -> Tally {
        self.checks
            .values()
            .fold(Tally::default(), |sum, tally| Tally {
                passed: sum.passed + tally.passed,
                failed: sum.failed + tally.failed,
            })
    }

    /// Counts the scenarios.
    pub(super) fn scenarios(&self) -> usize {
        let mut names: Vec<&str> = self
            .checks
            .keys()
            .map(|(scenario, _)| scenario.as_str())
            .collect();
        names.dedup();
        names.len()
    }
}

impl Comparison {
    /// Lists the checks that are worse in `through` than in `direct`.
    pub(super) fn of(direct: &Results, through: &Results, counting: Counting) -> Self {
        let mut keys: Vec<_> = direct.checks.keys().chain(through.checks.keys()).collect();
        keys.sort();
        keys.dedup();
        let mut lost = Vec::new();
        for key in keys {
            let before = direct.checks.get(key).copied().unwrap_or_default();
            let after = through.checks.get(key).copied().unwrap_or_default();
            let fewer = match counting {
                Counting::Exact => after.passed < before.passed,
                Counting::AtLeastOne => after.passed == 0 && before.passed > 0,
            };
            if fewer || after.failed > before.failed {
                let (scenario, id) = key.clone();
                lost.push(Lost {
                    scenario,
                    id,
                    direct: before,
                    through: after,
                });
            }
        }
        Self { lost }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            scenario,
            id,
            direct,
            through,
        } = self;
        write!(
            f,
            "{scenario} / {id}: direct {}+{}-, through {}+{}-",
            direct.passed, direct.failed, through.passed, through.failed
        )
    }
}

/// Turns the name of a result folder into the name of the scenario.
fn scenario(folder: &str) -> &str {
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    let cut = name.len().saturating_sub(STAMP_LENGTH);
    match name.split_at_checked(cut) {
        Some((head, stamp)) if stamp.starts_with("-2") && stamp.ends_with('Z') => head,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each check is `scenario/id` with one `+`, `-` or `.` for each time that it was made.
    fn results(checks: &[(&str, &str)]) -> Results {
        let mut results = Results::default();
        for (name, marks) in checks {
            let (scenario, id) = name.rsplit_once('/').unwrap();
            for mark in marks.chars() {
                let status = match mark {
                    '+' => "SUCCESS",
                    '-' => "FAILURE",
                    _ => "INFO",
                };
                let text = format!(r#"[{{"id":"{id}","status":"{status}","details":{{}}}}]"#);
                results.add(scenario, &text).unwrap();
            }
        }
        results
    }

    fn check(
        direct: &[(&str, &str)],
        through: &[(&str, &str)],
        counting: Counting,
        expect: &[&str],
    ) {
        let comparison = Comparison::of(&results(direct), &results(through), counting);
        let lost: Vec<String> = comparison.lost.iter().map(ToString::to_string).collect();
        assert_eq!(lost, expect);
    }

    #[test]
    fn only_what_got_worse_is_listed() {
        use Counting::{AtLeastOne, Exact};
        check(&[("a/x", "+"), ("a/y", ".")], &[("a/x", "+")], Exact, &[]);
        check(
            &[("a/x", "+")],
            &[("a/x", "-")],
            Exact,
            &["a / x: direct 1+0-, through 0+1-"],
        );
        check(
            &[("a/x", "+")],
            &[],
            Exact,
            &["a / x: direct 1+0-, through 0+0-"],
        );
        check(
            &[("a/x", "++")],
            &[("a/x", "+")],
            Exact,
            &["a / x: direct 2+0-, through 1+0-"],
        );
        check(&[("a/x", "++")], &[("a/x", "+")], AtLeastOne, &[]);
        check(&[("a/x", "+")], &[("a/x", "+++")], AtLeastOne, &[]);
        check(
            &[("a/x", "+")],
            &[("a/x", "+-")],
            AtLeastOne,
            &["a / x: direct 1+0-, through 1+1-"],
        );
        check(&[("a/x", "-")], &[("a/x", "-")], Exact, &[]);
        check(
            &[],
            &[("a/new", "-")],
            Exact,
            &["a / new: direct 0+0-, through 0+1-"],
        );
    }

    #[test]
    fn scenarios_can_be_parted_and_counted() {
        let all = results(&[
            ("auth/a/x", "++"),
            ("auth/a/y", "+"),
            ("auth/b/x", "-"),
            ("c/x", "+"),
        ]);
        let (auth, rest) = all.split("auth/");
        assert_eq!(
            (auth.scenarios(), auth.tally()),
            (
                2,
                Tally {
                    passed: 3,
                    failed: 1
                }
            )
        );
        assert_eq!(
            (rest.scenarios(), rest.tally()),
            (
                1,
                Tally {
                    passed: 1,
                    failed: 0
                }
            )
        );
    }

    #[test]
    fn folders_are_named_after_scenarios() {
        let stamp = "-2026-11-15T08-56-02-068Z";
        assert_eq!(scenario(&format!("server-tools-list{stamp}")), "tools-list");
        assert_eq!(
            scenario(&format!("server-server-initialize{stamp}")),
            "server-initialize"
        );
        assert_eq!(
            scenario(&format!("auth/metadata-var1{stamp}")),
            "auth/metadata-var1"
        );
        assert_eq!(scenario("initialize"), "initialize");
    }

    #[test]
    fn an_unknown_status_is_an_error() {
        let mut results = Results::default();
        assert!(results.add("a", r#"[{"id":"x","status":"NEW"}]"#).is_err());
    }
}
