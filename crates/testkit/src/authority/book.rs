//! What an authorization server has handed out.

use std::collections::HashMap;

use mcpproxy_core::Wall;

/// What was done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Clients that registered.
    pub registered: usize,
    /// Codes that became tokens.
    pub logins: usize,
    /// Renewals that were asked for, granted or not.
    pub renewals: usize,
    /// Tokens for a client itself.
    pub clients: usize,
    /// Tokens that were given back.
    pub revoked: usize,
    /// Documents that were fetched.
    pub metadata: usize,
}

/// A login that waits to be fetched.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) challenge: String,
    pub(super) redirect: String,
    pub(super) client: String,
    pub(super) resource: String,
    pub(super) scope: String,
}

/// What a token opens, and until when.
#[derive(Clone, Debug)]
struct Access {
    resource: String,
    expires: Wall,
}

/// A token that fetches the next.
#[derive(Clone, Debug)]
pub(super) struct Refresh {
    pub(super) client: String,
    pub(super) resource: String,
    pub(super) scope: String,
    is_used: bool,
}

/// Why a renewal is refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused;

/// Everything that was handed out.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) counts: Counts,
    pub(super) codes: HashMap<String, Code>,
    access: HashMap<String, Access>,
    refresh: HashMap<String, Refresh>,
    last: usize,
}

impl Book {
    /// Returns a word that was not given before.
    pub(super) fn word(&mut self, kind: &str) -> String {
        self.last += 1;
        format!("{kind}-{}", self.last)
    }

    pub(super) fn hand_out(&mut self, resource: &str, expires: Wall) -> String {
        let token = self.word("access");
        let resource = resource.to_owned();
        let access = Access { resource, expires };
        self.access.insert(token.clone(), access);
        token
    }

    pub(super) fn hand_out_refresh(&mut self, client: &str, resource: &str, scope: &str) -> String {
        let token = self.word("refresh");
        let refresh = Refresh {
            client: client.to_owned(),
            resource: resource.to_owned(),
            scope: scope.to_owned(),
            is_used: false,
        };
        self.refresh.insert(token.clone(), refresh);
        token
    }

    /// Uses a token that fetches the next; where tokens rotate, it is the last time.
    pub(super) fn renew(&mut self, token: &str, rotate: bool) -> Result<Refresh, Refused> {
        let found = self.refresh.get_mut(token).ok_or(Refused)?;
        if found.is_used {
            // Somebody has a copy: nothing that came of it is good any more.
            self.revoke();
            return Err(Refused);
        }
        found.is_used = rotate;
        Ok(found.clone())
    }

    pub(super) fn accepts(&self, token: &str, resource: &str, now: Wall) -> bool {
        let access = self.access.get(token);
        access.is_some_and(|access| access.resource == resource && now < access.expires)
    }

    pub(super) fn end_access(&mut self) {
        self.access.clear();
    }

    pub(super) fn revoke(&mut self) {
        self.access.clear();
        self.refresh.clear();
    }
}
