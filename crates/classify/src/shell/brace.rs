//! Brace expansion: `{a,b}` and `{1..3}`, bounded.
//!
//! Brackets are paired in one pass before anything is built, so unclosed ones cost nothing.

use super::syntax::{Piece, Word};

/// How many words one word may become.
const MAX_WORDS: usize = 64;
/// How deep braces may nest; deeper ones are text.
const MAX_NEST: usize = 8;
/// How many atoms may be copied for one word.
const MAX_ATOMS: usize = 1 << 16;

/// A letter or a piece that cannot be looked into.
#[derive(Clone, Debug)]
enum Atom {
    Letter(char),
    Piece(Piece),
}

/// An opening brace with where its parts end, by position.
struct Brace {
    commas: Vec<usize>,
    close: usize,
}

/// Expands the braces of a word; the flag says that a bound was met.
pub(super) fn expand(word: &Word) -> Option<(Vec<Word>, bool)> {
    let has_some = |piece: &Piece| {
        matches!(piece, Piece::Literal { text, quoted: false }
            if text.contains('{') || text.contains('}'))
    };
    if !word.pieces.iter().any(has_some) {
        return None;
    }
    let atoms = atoms(word);
    let braces = pair(&atoms);
    let mut expansion = Expansion {
        atoms: &atoms,
        braces: &braces,
        copied: 0,
        full: false,
    };
    let lists = expansion.range(0, atoms.len(), 0);
    let full = expansion.full;
    Some((lists.into_iter().map(collect).collect(), full))
}

fn atoms(word: &Word) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for piece in &word.pieces {
        match piece {
            Piece::Literal {
                text,
                quoted: false,
            } => atoms.extend(text.chars().map(Atom::Letter)),
            piece => atoms.push(Atom::Piece(piece.clone())),
        }
    }
    atoms
}

fn pair(atoms: &[Atom]) -> Vec<Option<Brace>> {
    let mut braces: Vec<Option<Brace>> = Vec::new();
    braces.resize_with(atoms.len(), || None);
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, atom) in atoms.iter().enumerate() {
        match atom {
            Atom::Letter('{') => open.push((at, Vec::new())),
            Atom::Letter(',') => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            Atom::Letter('}') => {
                if let Some((start, commas)) = open.pop()
                    && let Some(slot) = braces.get_mut(start)
                {
                    *slot = Some(Brace { commas, close: at });
                }
            }
            Atom::Letter(_) | Atom::Piece(_) => {}
        }
    }
    braces
}

struct Expansion<'a> {
    atoms: &'a [Atom],
    braces: &'a [Option<Brace>],
    copied: usize,
    full: bool,
}

impl Expansion<'_> {
    fn range(&mut self, start: usize, end: usize, nest: usize) -> Vec<Vec<Atom>> {
        let mut lists: Vec<Vec<Atom>> = vec![Vec::new()];
        let mut at = start;
        while at < end {
            if self.copied > MAX_ATOMS && lists.len() > 1 {
                // The rest is text, and of one word only.
                self.full = true;
                lists.truncate(1);
            }
            if let Some((choices, next)) = self.choices(at, end, nest) {
                lists = self.product(lists, &choices);
                at = next;
            } else {
                if let Some(atom) = self.atoms.get(at) {
                    self.copied += lists.len();
                    for list in &mut lists {
                        list.push(atom.clone());
                    }
                }
                at += 1;
            }
        }
        lists
    }

    /// Gives what the brace at `at` may become, and where it ends.
    fn choices(&mut self, at: usize, end: usize, nest: usize) -> Option<(Vec<Vec<Atom>>, usize)> {
        let braces = self.braces;
        let brace = braces.get(at)?.as_ref().filter(|brace| brace.close < end)?;
        if nest >= MAX_NEST || self.copied > MAX_ATOMS {
            self.full = true;
            return None;
        }
        if brace.commas.is_empty() {
            let letters: String = self
                .atoms
                .get(at + 1..brace.close)?
                .iter()
                .map(letter)
                .collect();
            return Some((self.sequence(&letters)?, brace.close + 1));
        }
        let mut choices = Vec::new();
        let mut start = at + 1;
        for &stop in brace.commas.iter().chain([&brace.close]) {
            if choices.len() >= MAX_WORDS {
                self.full = true;
                break;
            }
            choices.extend(self.range(start, stop, nest + 1));
            start = stop + 1;
        }
        Some((choices, brace.close + 1))
    }

    fn sequence(&mut self, letters: &str) -> Option<Vec<Vec<Atom>>> {
        if letters.len() > 40 {
            return None;
        }
        let mut parts = letters.split("..");
        let (from, to) = (parts.next()?, parts.next()?);
        let texts: Vec<String> =
            if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
                let (low, high) = (from.min(to), from.max(to));
                self.full |= high.saturating_sub(low) >= 64;
                let mut texts: Vec<String> = (low..=high)
                    .take(MAX_WORDS)
                    .map(|n| n.to_string())
                    .collect();
                if from > to {
                    texts.reverse();
                }
                texts
            } else {
                let (from, to) = (single(from)?, single(to)?);
                (from.min(to)..=from.max(to))
                    .take(MAX_WORDS)
                    .map(String::from)
                    .collect()
            };
        Some(
            texts
                .iter()
                .map(|text| text.chars().map(Atom::Letter).collect())
                .collect(),
        )
    }

    fn product(&mut self, lists: Vec<Vec<Atom>>, choices: &[Vec<Atom>]) -> Vec<Vec<Atom>> {
        let mut out = Vec::new();
        for list in lists {
            for choice in choices {
                if out.len() >= MAX_WORDS || self.copied > MAX_ATOMS {
                    self.full = true;
                    return out;
                }
                self.copied += list.len() + choice.len();
                let mut list = list.clone();
                list.extend_from_slice(choice);
                out.push(list);
            }
        }
        out
    }
}

fn single(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}

fn letter(atom: &Atom) -> char {
    match atom {
        Atom::Letter(letter) => *letter,
        Atom::Piece(_) => '\0',
    }
}

fn collect(atoms: Vec<Atom>) -> Word {
    let mut pieces: Vec<Piece> = Vec::new();
    for atom in atoms {
        match (atom, pieces.last_mut()) {
            (
                Atom::Letter(letter),
                Some(Piece::Literal {
                    text,
                    quoted: false,
                }),
            ) => text.push(letter),
            (Atom::Letter(letter), _) => {
                pieces.push(Piece::Literal {
                    text: letter.to_string(),
                    quoted: false,
                });
            }
            (Atom::Piece(piece), _) => pieces.push(piece),
        }
    }
    Word { pieces }
}
