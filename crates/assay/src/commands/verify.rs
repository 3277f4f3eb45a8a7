//! `verify-pack`: is a pack intact, and by whom.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use mcpproxy_core::{Clock as _, SystemClock, Wall};
use mcpproxy_notary::file;
use mcpproxy_notary::keys::{PublicKey, SIGNER, Trust};
use mcpproxy_notary::timestamp::Roots;
use mcpproxy_notary::verify::{self, Checks, Class, Expected, Report};

use crate::args::{Judged, Trusted, VerifyPack};
use crate::exit::{Exit, Failed, bad_input};
use crate::output::{self, Form};

/// Judges a pack and prints the judgement.
pub(crate) fn run(args: &VerifyPack, keys: &Path, form: Form) -> Result<Exit> {
    let expect = expected(args)?;
    let checks = Checks {
        trust: trust(&args.trusted, keys)?,
        max_age: args.max_age.map(|days| Duration::from_hours(24) * days),
        expect,
        time_roots: roots(&args.time_root)?,
        ..Checks::at(SystemClock::start().wall())
    };
    let report =
        verify::verify(&args.pack, &checks).map_err(|fault| bad_input(fault.to_string()))?;
    output::data(&match form {
        Form::Json => report.json().pretty(),
        Form::Text => shown(&report),
    })?;
    Ok(exit(report.class))
}

/// Reads the keys that are trusted: those that are given, else one's own.
pub(super) fn trust(trusted: &Trusted, keys: &Path) -> Result<Trust> {
    let load = |path: &Path| PublicKey::load(path).map_err(|fault| bad_input(fault.to_string()));
    if trusted.trust_key.is_empty() {
        let own = keys.join(format!("{SIGNER}.pub"));
        let own = own.exists().then(|| load(&own)).transpose()?;
        return Ok(Trust::new(own));
    }
    let given: Result<Vec<PublicKey>> = trusted.trust_key.iter().map(|path| load(path)).collect();
    Ok(Trust::new(given?))
}

/// Judges a pack by its signature and content alone.
pub(super) fn judge(judged: &Judged, keys: &Path) -> Result<Report> {
    let checks = Checks {
        trust: trust(&judged.trusted, keys)?,
        ..Checks::at(SystemClock::start().wall())
    };
    verify::verify(&judged.pack, &checks).map_err(|fault| bad_input(fault.to_string()))
}

/// Refuses a pack that was tampered with, whoever signed it. A file of receipts has no signature.
pub(super) fn intact(pack: &Path) -> Result<()> {
    if !pack.is_dir() {
        return Ok(());
    }
    let report = verify::verify(pack, &Checks::at(SystemClock::start().wall()));
    let report = report.map_err(|fault| bad_input(fault.to_string()))?;
    if report.class != Class::Tampered {
        return Ok(());
    }
    let problem = report.problems.first();
    let problem = problem.map_or("", |problem| problem.message.as_str());
    let shown = pack.display();
    Err(Failed {
        exit: Exit::Broken,
        message: format!("pack `{shown}` does not hold: {problem}"),
    }
    .into())
}

/// Returns the code that a judgement ends with.
pub(super) fn exit(class: Class) -> Exit {
    match class {
        Class::Pass => Exit::Fine,
        Class::Doubt => Exit::Failing,
        Class::Tampered => Exit::Broken,
    }
}

fn roots(paths: &[PathBuf]) -> Result<Roots> {
    let mut roots = Roots::default();
    for path in paths {
        roots.extend(Roots::load(path).map_err(|fault| bad_input(fault.to_string()))?);
    }
    Ok(roots)
}

fn expected(args: &VerifyPack) -> Result<Option<Expected>> {
    if let (Some(root), Some(size)) = (&args.expect_root, args.expect_size) {
        let expected = Expected::new(size, root);
        return expected
            .map(Some)
            .ok_or_else(|| bad_input(format!("`{root}` is no SHA-256")));
    }
    let Some(path) = &args.checkpoint else {
        return Ok(None);
    };
    let shown = path.display();
    let wrong = |why: &str| bad_input(format!("cannot read checkpoint `{shown}`: {why}"));
    let note = file::read(path).map_err(|fault| wrong(&fault.to_string()))?;
    let note = String::from_utf8(note).map_err(|_| wrong("it is no text"))?;
    let expected = Expected::from_note(&note).map_err(wrong)?;
    // What a pack says that does not hold is no reason to leave it unjudged.
    if intact(&args.pack).is_ok() && !Expected::is_of(&note, &args.pack).unwrap_or(true) {
        return Err(bad_input(format!(
            "checkpoint `{shown}` is of another session than the pack"
        )));
    }
    Ok(Some(expected))
}

fn shown(report: &Report) -> String {
    let mut lines = vec![report.summary().to_owned()];
    let mut add = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("  {name}: {value}")));
    };
    add("pack", report.pack_id.clone());
    add("signer", report.signer_id.clone());
    add("key", report.signer_key.clone());
    add("receipts", Some(report.receipts.to_string()));
    let complete = report
        .session_complete
        .map(|complete| if complete { "yes" } else { "no" });
    add("vouched for at", report.stamped_at.map(Wall::rfc3339));
    let reason = report.end_reason.as_deref();
    let reason = reason
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    add(
        "session complete",
        complete.map(|complete| format!("{complete}{reason}")),
    );
    for problem in &report.problems {
        lines.push(format!("  {}: {}", problem.code.name(), problem.message));
    }
    for warning in &report.warnings {
        lines.push(format!("  warning: {warning}"));
    }
    output::lines(&lines)
}
