//! The port behind which access rules stand: who wants to use what, and whether that is permitted.
//!
//! Deliberately absent: the language in which rules are written, and what follows from a refusal.

use std::fmt;

use crate::baseline::OfferKind;
use crate::call::Operation;
use crate::who::Principal;

/// Somebody who wants to use something that an upstream offers.
#[derive(Clone, Copy, Debug)]
pub struct AccessRequest<'a> {
    /// The verified caller.
    pub who: &'a Principal,
    /// What is to be used.
    pub kind: OfferKind,
    /// The upstream that offers it.
    pub upstream: &'a str,
    /// Its name or address at the upstream.
    pub name: &'a str,
    /// What it does, where that is known.
    pub operation: Option<Operation>,
    /// The arguments, an object as JSON text.
    pub arguments: &'a str,
}

/// What access rules say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessDecision {
    /// It may be used.
    Permitted,
    /// It may not.
    Forbidden {
        /// The rules that forbid it, by name and in order; none where merely none permits it.
        rules: Vec<String>,
        /// Rules that could not be asked, and why. One that forbids and cannot be asked forbids.
        problems: Vec<String>,
    },
}

/// Rules about who may use what.
pub trait AccessRules: Send + Sync + fmt::Debug {
    /// Decides about one use.
    fn decide(&self, request: &AccessRequest<'_>) -> AccessDecision;

    /// Tells whether there are arguments with which the use would be permitted; those of the
    /// request are not looked at.
    fn may_permit(&self, request: &AccessRequest<'_>) -> bool;
}
