//! Tables for each type.
