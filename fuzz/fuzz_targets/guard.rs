//! The guard's policy file and what it judges: any text is a policy or a problem, any JSON a ruling.

#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use mcpproxy_notary::guard::{Files, Policy, Resolver, World};

#[derive(Debug)]
struct Nowhere;

impl Resolver for Nowhere {
    fn resolve(&self, _: &str) -> Vec<IpAddr> {
        Vec::new()
    }
}

impl Files for Nowhere {
    fn folder(&self) -> Option<String> {
        Some("/srv".to_owned())
    }

    fn home(&self) -> Option<String> {
        None
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

const POLICY: &str = "version: 1\ndefault: allow\nconstraints:\n  t:\n    deny_private_hosts: true\n    \
                      allowed_paths: ['/srv/**', '!**/.env']\n";

fuzz_target!(|text: &str| {
    let world = World { resolver: &Nowhere, files: &Nowhere };
    if let Ok(policy) = Policy::parse(text) {
        policy.judge("t", "{}", world);
    }
    if let Ok(policy) = Policy::parse(POLICY)
        && mcpproxy_text::check(text.as_bytes(), mcpproxy_text::Limits::default()).is_ok()
    {
        policy.judge("t", text, world);
    }
});
