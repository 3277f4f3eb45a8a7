//! The Merkle tree of RFC 6962 over exact lines: its root, and proofs that a line is in it.
//!
//! A pack holds a run of a session's lines, not always from the first one on. What came before is
//! carried as the peaks of the complete subtrees, which is all that roots and proofs need.

use sha2::{Digest as _, Sha256};

/// A node of the tree.
pub type Hash = [u8; 32];

/// Hashes the exact bytes of a line, without its line feed.
pub fn leaf(line: &[u8]) -> Hash {
    Sha256::new()
        .chain_update([0])
        .chain_update(line)
        .finalize()
        .into()
}

/// Hashes two subtrees into the one above them.
pub fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new()
        .chain_update([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

/// The most leaves that a tree is believed to have.
const MOST: u64 = 1 << 53;

/// A tree that grows at its right end and keeps no leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    /// The roots of the complete subtrees, largest first.
    peaks: Vec<Hash>,
}

impl Tree {
    /// Takes up a tree that has `size` leaves; nothing if the number of peaks does not fit, or if
    /// there are more leaves than numbers of JSON can count.
    pub fn resume(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        let expect = usize::try_from(size.count_ones()).ok()?;
        (peaks.len() == expect && size <= MOST).then_some(Self { size, peaks })
    }

    /// Returns how many leaves there are.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the roots of the complete subtrees, largest first.
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Adds a leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        for _ in 0..self.size.trailing_ones() {
            // INVARIANT: a tree of `size` leaves has one peak for each bit that is set.
            if let Some(left) = self.peaks.pop() {
                hash = node(&left, &hash);
            }
        }
        self.peaks.push(hash);
        self.size = self.size.saturating_add(1);
    }

    /// Returns the root.
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        let Some(last) = peaks.next() else {
            return Sha256::digest([]).into();
        };
        peaks.fold(*last, |right, left| node(left, &right))
    }
}

/// Where one pack of a session ends and the next begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seam {
    /// The tree that the checkpoint signs which closed the one.
    pub signed: Tree,
    /// The leaf of the line that repeats that checkpoint, the last one of its pack.
    pub leaf: Hash,
}

impl Seam {
    /// Tells whether `before` is the tree that the next pack takes up.
    pub fn joins(&self, before: &Tree) -> bool {
        let mut joined = self.signed.clone();
        joined.push(self.leaf);
        joined == *before
    }
}

/// A run of leaves and what came before it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The tree before the first of the leaves.
    pub before: Tree,
    /// The leaves.
    pub leaves: Vec<Hash>,
}

impl Run {
    /// Returns the root of the tree of the first `size` leaves, if this run reaches so far.
    pub fn root_at(&self, size: u64) -> Option<Hash> {
        let more = usize::try_from(size.checked_sub(self.before.size)?).ok()?;
        let mut tree = self.before.clone();
        self.leaves
            .get(..more)?
            .iter()
            .for_each(|leaf| tree.push(*leaf));
        Some(tree.root())
    }

    /// Proves that leaf `index` is in the tree of the first `size` leaves: the hashes beside the
    /// way from the leaf to the root, lowest first.
    pub fn prove(&self, index: u64, size: u64) -> Option<Vec<Hash>> {
        let count = u64::try_from(self.leaves.len()).ok()?;
        let end = self.before.size.checked_add(count)?;
        if index < self.before.size || index >= size || size > end {
            return None;
        }
        let (mut low, mut high, mut path) = (0, size, Vec::new());
        while high - low > 1 {
            let middle = low + split(high - low);
            let beside = if index < middle {
                let beside = self.subtree(middle, high)?;
                high = middle;
                beside
            } else {
                let beside = self.subtree(low, middle)?;
                low = middle;
                beside
            };
            path.push(beside);
        }
        path.reverse();
        Some(path)
    }

    /// Returns the root over the leaves from `low` up to `high`.
    fn subtree(&self, low: u64, high: u64) -> Option<Hash> {
        if high <= self.before.size {
            return self.peak(low, high);
        }
        if high - low == 1 {
            return self
                .leaves
                .get(usize::try_from(low - self.before.size).ok()?)
                .copied();
        }
        let middle = low + split(high - low);
        Some(node(
            &self.subtree(low, middle)?,
            &self.subtree(middle, high)?,
        ))
    }

    /// Finds the peak that covers exactly the leaves from `low` up to `high`.
    fn peak(&self, low: u64, high: u64) -> Option<Hash> {
        let mut from = 0;
        for (index, bit) in (0..64)
            .rev()
            .filter(|bit| self.before.size >> bit & 1 == 1)
            .enumerate()
        {
            let to = from + (1 << bit);
            if (from, to) == (low, high) {
                return self.before.peaks.get(index).copied();
            }
            from = to;
        }
        None
    }
}

/// Checks a proof: RFC 9162, section 2.1.3.2.
pub fn check(leaf: Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, leaf);
    for beside in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node(beside, &hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node(&hash, beside);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// Returns the largest power of two below `count`, which is at least 2.
fn split(count: u64) -> u64 {
    1 << (count - 1).ilog2()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::hex;

    fn leaves(count: u64) -> Vec<Hash> {
        (0..count).map(|index| leaf(&index.to_be_bytes())).collect()
    }

    /// The definition of RFC 6962, section 2.1, word by word.
    fn plain(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [one] => *one,
            many => {
                let middle = usize::try_from(split(many.len() as u64)).unwrap();
                node(&plain(&many[..middle]), &plain(&many[middle..]))
            }
        }
    }

    fn run(start: u64, end: u64) -> Run {
        let all = leaves(end);
        let mut before = Tree::default();
        let start = usize::try_from(start).unwrap();
        all[..start].iter().for_each(|leaf| before.push(*leaf));
        Run {
            before,
            leaves: all[start..].to_vec(),
        }
    }

    #[test]
    fn known_roots() {
        // The empty tree is the hash of nothing, and a leaf is not hashed as a node is.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex(&Tree::default().root()), empty);
        let leaf_of_nothing = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
        assert_eq!(hex(&leaf(b"")), leaf_of_nothing);
    }

    #[test]
    fn every_small_tree_has_the_root_of_the_definition() {
        for size in 0..70 {
            let run = run(0, size);
            assert_eq!(run.root_at(size), Some(plain(&run.leaves)), "{size}");
        }
    }

    proptest! {
        #[test]
        fn proofs_hold_and_nothing_else_does(
            size in 1_u64..200, start in 0_u64..200, index in 0_u64..200, wrong in 0_u64..200,
        ) {
            let (start, index) = (start % size, index % size);
            let run = run(start, size);
            let root = run.root_at(size).unwrap();
            prop_assert_eq!(root, plain(&leaves(size)));
            let Some(path) = run.prove(index, size) else {
                prop_assert!(index < start);
                return Ok(());
            };
            let this = leaf(&index.to_be_bytes());
            prop_assert!(check(this, index, size, &path, &root));
            prop_assert!(wrong == index || !check(this, wrong, size, &path, &root));
            prop_assert!(!check(leaf(b"other"), index, size, &path, &root));
            prop_assert!(!check(this, index, size, &path, &leaf(b"root")));
            for place in 0..path.len() {
                let mut path = path.clone();
                path[place][0] ^= 1;
                prop_assert!(!check(this, index, size, &path, &root));
            }
            if let Some((_, shorter)) = path.split_last() {
                prop_assert!(!check(this, index, size, shorter, &root));
            }
        }
    }
}
