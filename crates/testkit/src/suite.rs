//! What every implementation of a port must do, as checks that a test runs over each.

pub mod activity;
pub mod baselines;
pub mod live;
pub mod schema;
