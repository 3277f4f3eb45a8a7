//! Strict reading of hostile text: JSON as it stands on the wire, its members and leaves, the
//! folds under which two spellings count as one, what is encoded, and the forms of URLs and paths.
//!
//! Nothing is repaired here. What one parser might read differently from another is a fault with
//! a place, so that whoever forwards the bytes can refuse them.

pub mod bits;
pub mod confusable;
pub mod decode;
pub mod fold;
pub mod glob;
pub mod json;
pub mod leaves;
pub mod members;
mod nearest;
pub mod path;
pub mod splice;
pub mod url;

pub use fold::{fold, fold_twins};
pub use json::{Fault, FaultKind, Limits, check, unescape};
pub use leaves::{Leaf, LeafKind, Segment, Trail, Visit, leaves, visit};
pub use members::{Member, elements, get, member, members, string};
pub use nearest::nearest;
pub use splice::Splice;
