//! Gives imported upstreams names that mcpproxy accepts and that no two share.
//!
//! A name is 1 to 64 of `A-Z a-z 0-9 _ . -`, without `__`, which separates it from tool names.

use crate::imported::Transport;

const MAX: usize = 64;

/// Returns the nearest valid name.
pub(crate) fn sanitize(name: &str) -> String {
    let mut out = String::new();
    for found in name.trim().chars() {
        let valid = found.is_ascii_alphanumeric() || matches!(found, '_' | '.' | '-');
        let next = if valid { found } else { '-' };
        // A run of what was replaced becomes one dash, and `__` one underscore.
        let repeats = out.ends_with(next) && (next == '_' || !valid);
        if !repeats && out.len() < MAX {
            out.push(next);
        }
    }
    if out.trim_matches('-').is_empty() {
        "upstream".to_owned()
    } else {
        out
    }
}

/// Returns the name with a suffix, shortened to fit.
pub(crate) fn with_suffix(name: &str, suffix: &str) -> String {
    let room = MAX.saturating_sub(suffix.len() + 1);
    let base: String = name.chars().take(room).collect();
    format!("{base}-{suffix}")
}

/// What became of a name.
pub(crate) enum Claim {
    /// Nobody had it.
    Free(String),
    /// An upstream with the same content has it: the two are one.
    Same(usize),
    /// A different upstream has it; this one is called otherwise.
    Renamed(String),
}

/// Claims a name next to those taken already.
pub(crate) fn claim<'a>(
    name: &str,
    transport: &Transport,
    suffix: &str,
    taken: &(impl Iterator<Item = (&'a str, &'a Transport)> + Clone),
) -> Claim {
    let holder = |name: &str| taken.clone().position(|(holder, _)| holder == name);
    let same = |at: usize| {
        taken
            .clone()
            .nth(at)
            .is_some_and(|(_, held)| held.same(transport))
    };
    let mut wanted = name.to_owned();
    let mut count = 1_usize;
    while let Some(at) = holder(&wanted) {
        if same(at) {
            return Claim::Same(at);
        }
        let numbered = format!("{suffix}-{count}");
        wanted = with_suffix(name, if count == 1 { suffix } else { &numbered });
        count += 1;
    }
    if wanted == name {
        Claim::Free(wanted)
    } else {
        Claim::Renamed(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_valid() {
        let check = |name: &str, expect: &str| assert_eq!(sanitize(name), expect, "{name}");
        check("github", "github");
        check("GitHub.v2_x-1", "GitHub.v2_x-1");
        check("my server", "my-server");
        check("plugin:db:main", "plugin-db-main");
        check("a__b___c", "a_b_c");
        check("io.github.user/tool", "io.github.user-tool");
        check("日本語", "upstream");
        check("  ", "upstream");
        check("", "upstream");
        check("--", "upstream");
        check("a--b", "a--b");
        check(&"x".repeat(70), &"x".repeat(64));
    }

    #[test]
    fn a_name_is_held_by_one_content() {
        let http = |url: &str| Transport::Http {
            url: url.to_owned(),
            headers: [].into(),
        };
        let taken = [("a", http("https://1")), ("a-cursor", http("https://2"))];
        let check = |url: &str, expect: &str| {
            let taken = taken.iter().map(|(name, held)| (*name, held));
            let got = match claim("a", &http(url), "cursor", &taken) {
                Claim::Free(name) => format!("free {name}"),
                Claim::Same(at) => format!("same {at}"),
                Claim::Renamed(name) => format!("renamed {name}"),
            };
            assert_eq!(got, expect);
        };
        check("https://1", "same 0");
        check("https://2", "same 1");
        check("https://3", "renamed a-cursor-2");
        assert_eq!(with_suffix(&"x".repeat(64), "cursor").len(), 64);
    }
}
