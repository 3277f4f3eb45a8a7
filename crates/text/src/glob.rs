//! Patterns of the shell: `*`, `?` and `[..]`, matched in bounded time.

/// Says whether a text holds pattern characters.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Says whether the whole of `text` matches `pattern`.
///
/// One star is remembered at a time, so the time is at most the product of the two lengths; the
/// callers keep both short.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(&letter) = text.get(place) {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, place));
            at += 1;
        } else if let Some(length) = one(pattern.get(at..).unwrap_or_default(), letter) {
            at += length;
            place += 1;
        } else if let Some((star_at, star_place)) = star {
            at = star_at + 1;
            place = star_place + 1;
            star = Some((star_at, place));
        } else {
            return false;
        }
    }
    pattern
        .get(at..)
        .unwrap_or_default()
        .iter()
        .all(|&letter| letter == '*')
}

/// Matches one letter; gives the length of the pattern that did.
fn one(pattern: &[char], letter: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', set @ ..] => {
            let end = set
                .iter()
                .take(64)
                .skip(1)
                .position(|&close| close == ']')?
                + 1;
            let inner = set.get(..end)?;
            let (negated, inner) = match inner {
                ['!' | '^', inner @ ..] => (true, inner),
                inner => (false, inner),
            };
            (in_set(inner, letter) != negated).then_some(end + 2)
        }
        [first, ..] if *first == letter => Some(1),
        _ => None,
    }
}

fn in_set(set: &[char], letter: char) -> bool {
    let mut rest = set;
    loop {
        match rest {
            [from, '-', to, more @ ..] => {
                if (*from..=*to).contains(&letter) {
                    return true;
                }
                rest = more;
            }
            [one, more @ ..] => {
                if *one == letter {
                    return true;
                }
                rest = more;
            }
            [] => return false,
        }
    }
}
