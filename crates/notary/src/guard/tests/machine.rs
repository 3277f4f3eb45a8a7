//! The real file system behind the ports, and the copy of a policy.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use Verdict::{Allowed, Denied};

use super::*;
use crate::guard::{SystemFiles, SystemResolver};

#[test]
fn links_are_followed_to_their_end() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let work = root.join("work");
    fs::create_dir_all(work.join("in")).unwrap();
    fs::write(root.join("secret"), "x").unwrap();
    symlink(root.join("secret"), work.join("direct")).unwrap();
    symlink(&root, work.join("up")).unwrap();
    symlink(root.join("missing"), work.join("dangling")).unwrap();
    symlink(work.join("loop"), work.join("loop")).unwrap();
    symlink(&work, root.join("alias")).unwrap();
    let shown = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let policy = |folder: &str| {
        let text = format!(
            "version: 1\ndefault: allow\nconstraints: {{ t: {{ allowed_paths: ['{folder}/**'] }} }}"
        );
        Policy::parse(&text).unwrap()
    };
    let world = World {
        resolver: &Fake,
        files: &SystemFiles,
    };
    let check = |policy: &Policy, path: String, expect: Verdict| {
        let arguments = serde_json::json!({ "path": path }).to_string();
        assert_eq!(
            policy.judge("t", &arguments, world).verdict,
            expect,
            "{path}"
        );
    };
    let direct = policy(&shown(&work));
    let base = shown(&work);
    check(&direct, format!("{base}/in/new.txt"), Allowed);
    check(&direct, format!("{base}/new/../in/x"), Allowed);
    check(&direct, format!("{base}/direct"), Denied);
    check(&direct, format!("{base}/up/secret"), Denied);
    check(&direct, format!("{base}/up/work/in/x"), Allowed);
    check(&direct, format!("{base}/dangling"), Denied);
    check(&direct, format!("{base}/loop"), Denied);
    check(&direct, format!("{base}/new/../../secret"), Denied);
    // A pattern may itself lead through a link.
    let alias = shown(&root.join("alias"));
    check(&policy(&alias), format!("{alias}/in/x"), Allowed);
    check(&policy(&alias), format!("{alias}/direct"), Denied);
}

#[test]
fn the_resolver_knows_this_machine_and_gives_up_on_the_rest() {
    let resolver = SystemResolver::within(Duration::from_secs(5));
    let found = resolver.resolve("localhost");
    assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty());
    assert!(resolver.resolve("no such name").is_empty());
}

#[test]
fn a_copy_is_kept_under_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("policy");
    let policy = Policy::parse(SAMPLE).unwrap();
    let first = policy.snapshot(&place).unwrap();
    let name = format!("policy_sha256_{}.yaml", policy.hash());
    assert_eq!(first, place.join(name));
    assert_eq!(fs::read_to_string(&first).unwrap(), SAMPLE);
    // A second one finds it, and mends one that a stop cut short.
    assert_eq!(policy.snapshot(&place).unwrap(), first);
    fs::write(&first, "\nversion").unwrap();
    policy.snapshot(&place).unwrap();
    assert_eq!(fs::read_to_string(&first).unwrap(), SAMPLE);
    fs::write(&first, "other").unwrap();
    policy.snapshot(&place).unwrap_err();
}

#[test]
fn a_link_in_the_place_of_a_snapshot_is_not_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let policy = Policy::parse("version: \"1\"\ndefault: deny\n").unwrap();
    let target = folder.path().join("target");
    std::fs::write(&target, "").unwrap();
    let place = folder.path().join("policy");
    let copy = policy.snapshot(&place).unwrap();
    std::fs::remove_file(&copy).unwrap();
    std::os::unix::fs::symlink(&target, &copy).unwrap();
    policy.snapshot(&place).unwrap_err();
    assert_eq!(std::fs::read(&target).unwrap(), b"");
    std::fs::remove_file(&copy).unwrap();
    crate::sample::pipe(&copy);
    policy.snapshot(&place).unwrap_err();
}
