//! Patterns of paths: `*`, `?` and `[..]` stay inside one step, `**` takes any number of steps.

/// Tells whether all the steps of a path match those of a pattern.
///
/// One star is remembered at a time, so that time is at most the product of the two lengths, and
/// both are bounded where they are read.
pub(super) fn matches(pattern: &[&str], path: &[&str]) -> bool {
    run(
        pattern,
        path,
        |step| *step == "**",
        |step, name| matches_step(step, name),
    )
}

fn matches_step(pattern: &str, name: &str) -> bool {
    let pattern = pieces(pattern);
    let name: Vec<char> = name.chars().collect();
    run(
        &pattern,
        &name,
        |piece| matches!(piece, Piece::Star),
        |piece, char| piece.takes(*char),
    )
}

/// Matches greedily and goes back to the last star when it is stuck.
fn run<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    takes: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(item) = text.get(place) {
        match pattern.get(at) {
            Some(piece) if is_star(piece) => {
                star = Some((at, place));
                at += 1;
            }
            Some(piece) if takes(piece, item) => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((star_at, star_place)) = star else {
                    return false;
                };
                at = star_at + 1;
                place = star_place + 1;
                star = Some((star_at, place));
            }
        }
    }
    let rest = pattern.get(at..).unwrap_or_default();
    rest.iter().all(is_star)
}

/// One piece of a step of a pattern.
enum Piece {
    Star,
    Any,
    One(char),
    Set(Vec<(char, char)>, Sense),
}

/// Whether a set takes what is in it or what is not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    Within,
    Outside,
}

impl Piece {
    fn takes(&self, char: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::One(one) => *one == char,
            Self::Set(ranges, sense) => {
                let within = ranges
                    .iter()
                    .any(|(from, to)| (*from..=*to).contains(&char));
                within == (*sense == Sense::Within)
            }
        }
    }
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        let behind = rest.get(char.len_utf8()..).unwrap_or_default();
        rest = behind;
        let piece = match char {
            '*' => Piece::Star,
            '?' => Piece::Any,
            '[' => match set(behind) {
                Some((piece, after)) => {
                    rest = after;
                    piece
                }
                None => Piece::One('['),
            },
            other => Piece::One(other),
        };
        pieces.push(piece);
    }
    pieces
}

/// Tells whether every set of a step has its end, and no range of it is the wrong way round.
pub(super) fn is_whole(pattern: &str) -> bool {
    let ordered = |ranges: &[(char, char)]| ranges.iter().all(|(from, to)| from <= to);
    pieces(pattern).iter().all(|piece| match piece {
        Piece::One(char) => *char != '[',
        Piece::Set(ranges, _) => ordered(ranges),
        Piece::Star | Piece::Any => true,
    })
}

/// Reads a set behind its opening bracket; a `]` in first place is a member.
fn set(text: &str) -> Option<(Piece, &str)> {
    let (sense, text) = match text.strip_prefix(['!', '^']) {
        Some(text) => (Sense::Outside, text),
        None => (Sense::Within, text),
    };
    let end = text
        .char_indices()
        .skip(1)
        .find(|(_, char)| *char == ']')?
        .0;
    let (inner, after) = text.split_at_checked(end)?;
    let mut ranges = Vec::new();
    let chars: Vec<char> = inner.chars().collect();
    let mut rest = chars.as_slice();
    loop {
        rest = match rest {
            [from, '-', to, more @ ..] => {
                ranges.push((*from, *to));
                more
            }
            [one, more @ ..] => {
                ranges.push((*one, *one));
                more
            }
            [] => return Some((Piece::Set(ranges, sense), after.get(1..)?)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_in_their_step_and_double_stars_do_not() {
        let check = |pattern: &str, path: &str, expect: bool| {
            let pattern_steps: Vec<&str> = pattern.split('/').collect();
            let path_steps: Vec<&str> = path.split('/').collect();
            assert_eq!(
                matches(&pattern_steps, &path_steps),
                expect,
                "{pattern} {path}"
            );
        };
        check("a/*", "a/b", true);
        check("a/*", "a/b/c", false);
        check("a/**", "a/b/c", true);
        check("a/**", "a", true);
        check("**/x", "x", true);
        check("**/x", "a/b/x", true);
        check("**/x", "a/xx", false);
        check("a/**/b/*.rs", "a/1/b/2/b/m.rs", true);
        check("a/**/b/*.rs", "a/1/b/2/c/m.rs", false);
        check("*.env*", "a.env.local", true);
        check("?", "é", true);
        check("[a-c]x", "bx", true);
        check("[!a-c]x", "bx", false);
        check("[]]x", "]x", true);
        check("[x", "[x", true);
        check("a*a*a*a*b", &"a".repeat(200), false);
    }
}
