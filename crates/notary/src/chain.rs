//! The chain of a session: every line names the digest of the line before it and is a leaf of the
//! session's tree.

use crate::hash::{hex, sha256};
use crate::line::Line;
use crate::tree::{self, Hash, Seam, Tree};

/// Where a session's chain has got to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// The digest of the last line, once there is one.
    last: Option<[u8; 32]>,
    /// The leaf of that line.
    leaf: Option<Hash>,
    tree: Tree,
}

impl Chain {
    /// Returns how many lines there are.
    pub(crate) fn size(&self) -> u64 {
        self.tree.size()
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns where the last line closed a pack whose checkpoint signs the tree `signed`.
    pub(crate) fn seam(&self, signed: Tree) -> Option<Seam> {
        self.leaf.map(|leaf| Seam { signed, leaf })
    }

    /// Returns the link that the next line must carry.
    pub(crate) fn link(&self) -> Option<String> {
        self.last.map(|last| link_of(&last))
    }

    /// Numbers and links a line, prints it with its line feed and counts it.
    pub(crate) fn append(&mut self, mut line: Line) -> Vec<u8> {
        line.number("seq", self.size());
        line.optional("prev_hash", self.link().as_deref());
        let mut bytes = line.print();
        self.follow(&bytes);
        bytes.push(b'\n');
        bytes
    }

    /// Counts a line that exists, without its line feed.
    pub(crate) fn follow(&mut self, line: &[u8]) {
        self.last = Some(sha256(line));
        let leaf = tree::leaf(line);
        self.leaf = Some(leaf);
        self.tree.push(leaf);
    }
}

/// Prints the digest of a line as the next line names it.
pub(crate) fn link_of(digest: &[u8; 32]) -> String {
    format!("sha256:{}", hex(digest))
}
