//! A small session for tests: calls of one tool, in a pack that verifies.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_core::{Durability, Wall};
use mcpproxy_testkit::FixedClock;
use tempfile::TempDir;

use crate::hash::digest;
use crate::keys::{Signer, Trust};
use crate::ledger::{End, Ledger, Options, Packing, Profile, Transport};
use crate::receipt::{Answer, Call, Evidence, Outcome, RequestId, Ruling, invocation_id};
use crate::verify::{Checks, Report, verify};

/// A small pack of one call, and the key that signed it.
pub(crate) struct Made {
    folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) signer: Arc<Signer>,
}

pub(crate) fn make(signer: Signer, calls: usize) -> Made {
    session(signer, calls, false)
}

/// Makes a session of two calls in two packs.
pub(crate) fn rolled(signer: Signer) -> Made {
    session(signer, 2, true)
}

fn session(signer: Signer, calls: usize, rolls: bool) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let signer = Arc::new(signer);
    let options = Options {
        server_id: "s".to_owned(),
        transport: Transport::Stdio,
        profile: Profile::Guard,
        durability: Durability::Relaxed,
        policy_hash: Some("ab".repeat(32)),
        version: "0.1.0".to_owned(),
        checkpoint_every: 100,
        clock: Arc::new(FixedClock::default()),
        signer: Arc::clone(&signer),
    };
    let ledger = Ledger::open(folder.path(), options).unwrap();
    for number in 0..calls {
        if rolls && number > 0 {
            ledger.pack().unwrap();
        }
        let call = Call {
            invocation_id: invocation_id().unwrap(),
            tool_name: "naïve\u{2028}".to_owned(),
            request_id: RequestId::Text("a".to_owned()),
            observed_at: Wall(1_000),
            arguments: Evidence::hashed(digest(b"{}", None)),
            ruling: Ruling::NoPolicy,
            marks: vec![],
            via: None,
        };
        let ticket = ledger.intent(call).unwrap();
        let answer = Answer {
            result: Evidence::hashed(digest(b"{}", None)),
            replaced_by: None,
            observed_at: Wall(1_001),
            duration: Duration::from_millis(1),
        };
        ledger
            .outcome(ticket, Outcome::Forwarded(answer), &[])
            .unwrap();
    }
    let path = ledger
        .finish(End::Closed, Packing::Pack)
        .unwrap()
        .unwrap()
        .path;
    Made {
        folder,
        path,
        signer,
    }
}

pub(crate) fn made() -> Made {
    make(Signer::generate("test").unwrap(), 1)
}

impl Made {
    /// Returns the audit folder.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn checks(&self) -> Checks {
        let now = Wall(1_767_323_045_000);
        Checks {
            trust: Trust::new([self.signer.public()]),
            ..Checks::at(now)
        }
    }

    pub(crate) fn judge(&self) -> Report {
        verify(&self.path, &self.checks()).unwrap()
    }

    pub(crate) fn edit(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.path.join(name);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }
}

/// Makes a pipe that nobody writes to: whoever opens it as a file waits for ever.
pub(crate) fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}
