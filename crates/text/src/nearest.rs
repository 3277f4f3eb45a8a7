//! The known name nearest to a misspelled one.

/// Returns the known name that was probably meant.
///
/// Spellings that differ only in case, `-` and `_` count as equal; beyond that a third of the
/// letters may be wrong.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(name);
    let allowed = (folded.len() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(&folded, &fold(candidate), allowed), candidate))
        .filter_map(|(distance, candidate)| distance.map(|distance| (distance, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Longest name that is compared; nothing we know is near to anything longer.
const LONGEST: usize = 64;

fn fold(name: &str) -> Vec<char> {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).take(LONGEST).collect()
}

/// Counts insertions, deletions, substitutions and swaps of neighbours; `None` above `allowed`.
fn distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let at =
                |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let change = at(&row, j) + usize::from(from != to);
            let mut best = change.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(to) && b.get(j - 1) == Some(from);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|distance| *distance <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 6] = [
        "command",
        "args",
        "env",
        "working_dir",
        "routing_mode",
        "mcpServers",
    ];

    fn check(name: &str, expect: Option<&str>) {
        assert_eq!(nearest(name, KNOWN), expect, "{name}");
    }

    #[test]
    fn nearest_names() {
        check("comand", Some("command"));
        check("cmomand", Some("command"));
        check("workingDir", Some("working_dir"));
        check("mcp_servers", Some("mcpServers"));
        check("mcp-server", Some("mcpServers"));
        check("arg", Some("args"));
        check("evn", Some("env"));
        check("routing", None);
        check("password", None);
        check("", None);
        check(&"x".repeat(10_000), None);
    }
}
