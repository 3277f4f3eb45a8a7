//! What a command logs in with at the service that it is for.

use mcpproxy_classify::shell::{Flow, Origin};

/// Programs that hand out the login of a service, and the hosts of that service where nobody but the
/// service itself listens.
const SERVICES: [(&str, &[&str]); 4] = [
    ("gh auth token", &["github.com", "ghcr.io"]),
    ("glab auth", &["gitlab.com"]),
    ("gcloud auth", &["googleapis.com", "gcr.io"]),
    (
        "az account",
        &["management.azure.com", "graph.microsoft.com"],
    ),
];

/// Tells whether what a program hands out goes to its own service, where services look for a login:
/// that is what such programs are for.
pub(super) fn is_own(program: &str, origin: &Origin, flow: &Flow) -> bool {
    let Some(to) = flow.to.as_deref().filter(|_| !flow.plain.contains(origin)) else {
        return false;
    };
    let within = |host: &&str| {
        let before = to.strip_suffix(*host);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let mut known = SERVICES.iter();
    known.any(|(name, hosts)| *name == program && hosts.iter().any(within))
}

/// Tells whether a file is called a jar of cookies, which goes to those whom it is from.
pub(super) fn is_jar(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.to_ascii_lowercase().contains("cookie")
}
