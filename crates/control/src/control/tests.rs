//! Who may do what, who is recognised, and what each operation reports.

use std::sync::Mutex;
use std::time::Duration;

use mcpproxy_core::{
    ActivityPage, ActivityQuery, ActivityReader, ActivitySink, CallId, CountQuery, Counted,
    Durability, Later, Operation, ReadFault, Record, SinkFault, Tick, Wall,
};
use mcpproxy_engine::EngineSettings;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use super::*;
use crate::configurer::ChangeFault;
use crate::error::Kind;

#[derive(Debug)]
struct Fixed(Mutex<u64>);

impl Clock for Fixed {
    fn tick(&self) -> Tick {
        Tick(Duration::from_millis(*self.0.lock().unwrap()))
    }

    fn wall(&self) -> Wall {
        Wall(*self.0.lock().unwrap())
    }
}

#[derive(Debug)]
struct Forgetful;

impl ActivityReader for Forgetful {
    fn page(&self, _: &ActivityQuery) -> Result<ActivityPage, ReadFault> {
        Ok(ActivityPage::default())
    }

    fn count(&self, asked: &CountQuery) -> Result<Counted, ReadFault> {
        Ok(Counted::new(asked))
    }

    fn get(&self, id: CallId) -> Result<Option<String>, ReadFault> {
        Ok((id.millis() == 1).then(String::new))
    }

    fn tail(&self, _: u64, _: usize) -> Result<ActivityPage, ReadFault> {
        Ok(ActivityPage::default())
    }
}

impl ActivitySink for Forgetful {
    fn append(&self, _: Record, _: Durability) -> Later<'_, Result<(), SinkFault>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Remembers what it was asked to do; knows the upstream `known` only.
#[derive(Debug, Default)]
struct Asked(Mutex<Vec<String>>);

impl Asked {
    fn note(&self, what: String, name: &str) -> Result<(), ChangeFault> {
        if name != "known" {
            return Err(ChangeFault::Unknown {
                name: name.to_owned(),
            });
        }
        self.0.lock().unwrap().push(what);
        Ok(())
    }
}

impl Configurer for Asked {
    fn add_upstream(&self, name: &str, settings: Value) -> Result<(), ChangeFault> {
        if name == "known" {
            return Err(ChangeFault::Exists {
                name: name.to_owned(),
            });
        }
        self.note(format!("add {name} {settings}"), "known")
    }

    fn change_upstream(&self, name: &str, settings: Value) -> Result<(), ChangeFault> {
        self.note(format!("change {name} {settings}"), name)
    }

    fn remove_upstream(&self, name: &str) -> Result<(), ChangeFault> {
        self.note(format!("remove {name}"), name)
    }

    fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), ChangeFault> {
        self.note(format!("enable {name} {enabled}"), name)
    }

    fn reload(&self) -> Result<ReloadReport, ChangeFault> {
        self.note("reload".to_owned(), "known")?;
        Ok(ReloadReport {
            added: vec!["new".to_owned()],
            ..ReloadReport::default()
        })
    }

    fn show(&self) -> Result<Shown, ChangeFault> {
        self.note("show".to_owned(), "known")?;
        Ok(Shown::default())
    }

    fn check(&self, change: &ConfigChange) -> Result<Vec<String>, ChangeFault> {
        self.note(format!("check {change:?}"), "known")?;
        Ok(Vec::new())
    }

    fn apply(&self, change: &ConfigChange) -> Result<Applied, ChangeFault> {
        self.note(format!("apply {change:?}"), "known")?;
        Ok(Applied::default())
    }

    fn preview(&self, _: &ConfigChange) -> Result<EngineSettings, ChangeFault> {
        Ok(EngineSettings::default())
    }
}

struct Bench {
    folder: TempDir,
    clock: Arc<Fixed>,
    asked: Arc<Asked>,
    engine: Arc<Engine>,
    control: Control,
}

const KEY: &str = "0123456789abcdef";

fn bench() -> Bench {
    let folder = tempdir().unwrap();
    let clock = Arc::new(Fixed(Mutex::new(1_000_000)));
    let asked = Arc::new(Asked::default());
    let settings = EngineSettings::default();
    let engine = Engine::new(settings, Arc::new(Forgetful), clock.clone());
    let engine = Arc::new(engine.unwrap());
    let control = Control::new(
        ApiKey::from_secret(Secret::new(KEY)).unwrap(),
        Tokens::open(folder.path()).unwrap(),
        Orders::open(folder.path(), engine.stops(), clock.wall()),
        engine.clone(),
        asked.clone(),
        clock.clone(),
    )
    .with_activity(Arc::new(Forgetful));
    Bench {
        folder,
        clock,
        asked,
        engine,
        control,
    }
}

fn agent(name: &str) -> Principal {
    Principal::agent(name)
}

type Run = fn(&Control, &Principal) -> Result<Option<Change>, Refused>;

/// Every operation that only the owner may carry out, in an order in which each succeeds.
fn operations() -> Vec<(Act, &'static str, Run)> {
    vec![
        (Act::StopCalls, "all", |c, who| {
            c.stop_calls(who, &StopScope::All).map(Some)
        }),
        (Act::ResumeCalls, "all", |c, who| {
            c.resume_calls(who, &StopScope::All).map(Some)
        }),
        (Act::CreateToken, "ci", |c, who| {
            c.create_token(who, "ci", TokenScope::default())
                .map(|new| Some(new.change))
        }),
        (Act::ListTokens, "", |c, who| {
            c.list_tokens(who).map(|_| None)
        }),
        (Act::RevokeToken, "ci", |c, who| {
            c.revoke_token(who, "ci").map(Some)
        }),
        (Act::AddUpstream, "new", |c, who| {
            c.add_upstream(who, "new", json!({"command": "x"}))
                .map(Some)
        }),
        (Act::ChangeUpstream, "known", |c, who| {
            c.change_upstream(who, "known", json!({"command": "y"}))
                .map(Some)
        }),
        (Act::RemoveUpstream, "known", |c, who| {
            c.remove_upstream(who, "known").map(Some)
        }),
        (Act::EnableUpstream, "known", |c, who| {
            c.enable_upstream(who, "known").map(Some)
        }),
        (Act::DisableUpstream, "known", |c, who| {
            c.disable_upstream(who, "known").map(Some)
        }),
        (Act::Reload, "", |c, who| {
            c.reload(who).map(|done| Some(done.change))
        }),
        (Act::ReadActivity, "", |c, who| {
            c.activity(who, &[]).map(|_| None)
        }),
        (Act::ReadActivity, "", |c, who| {
            let id = "00000000010000000000000000";
            c.activity_record(who, id).map(|_| None)
        }),
    ]
}

#[test]
fn only_the_owner_may_change_anything() {
    let bench = bench();
    for (act, _, run) in operations() {
        // A name is no right: what counts is what the door verified.
        for who in [Principal::local(), agent("token:ci"), agent("owner")] {
            let refused = run(&bench.control, &who).unwrap_err();
            assert_eq!(refused.kind(), Kind::Forbidden, "{act}");
            let expect = format!("`{}` may not {act}; only the owner may", who.name);
            assert_eq!(refused.to_string(), expect);
            assert!(refused.remedy().unwrap().contains("API key"));
        }
    }
    assert!(bench.asked.0.lock().unwrap().is_empty());
    assert!(bench.engine.stops().list().is_empty());
    assert_eq!(std::fs::read_dir(bench.folder.path()).unwrap().count(), 0);
}

#[test]
fn a_record_that_is_not_there_is_unknown() {
    let bench = bench();
    for id in ["00000000020000000000000000", "no id"] {
        let refused = bench.control.activity_record(&Principal::owner(), id);
        assert_eq!(refused.unwrap_err().kind(), Kind::Unknown, "{id}");
    }
}

#[test]
fn the_owner_may_and_is_told_what_changed() {
    let bench = bench();
    for (act, target, run) in operations() {
        let Some(change) = run(&bench.control, &Principal::owner()).unwrap() else {
            continue;
        };
        let by = "owner".to_owned();
        let details: &[&str] = match act {
            Act::CreateToken => &["unlimited"],
            Act::AddUpstream | Act::ChangeUpstream => &["command"],
            _ => &[],
        };
        let (target, at) = (target.to_owned(), Wall(1_000_000));
        assert_eq!(
            change,
            Change {
                act,
                target,
                details: details.iter().map(|&one| one.to_owned()).collect(),
                by,
                at,
                effect: Effect::Made
            }
        );
    }
    let expect = [
        r#"add new {"command":"x"}"#,
        r#"change known {"command":"y"}"#,
        "remove known",
        "enable known true",
        "enable known false",
        "reload",
    ];
    assert_eq!(*bench.asked.0.lock().unwrap(), expect);
}

#[test]
fn a_failure_says_what_kind_it_is() {
    let bench = bench();
    let (control, owner) = (&bench.control, Principal::owner());
    let check = |result: Result<Change, Refused>, kind: Kind, message: &str| {
        let refused = result.unwrap_err();
        assert_eq!((refused.kind(), &*refused.to_string()), (kind, message));
    };
    let token = |name| {
        control
            .create_token(&owner, name, TokenScope::default())
            .map(|new| new.change)
    };
    token("ci").unwrap();
    check(token("ci"), Kind::Conflict, "there is a token `ci` already");
    check(
        control.revoke_token(&owner, "x"),
        Kind::Unknown,
        "there is no token `x`",
    );
    check(
        control.enable_upstream(&owner, "x"),
        Kind::Unknown,
        "there is no upstream `x`",
    );
    let settings = json!({"env": {"KEY": "hidden"}});
    let message = "there is an upstream `known` already";
    check(
        control.add_upstream(&owner, "known", settings),
        Kind::Conflict,
        message,
    );
    let scope: StopScope = "upstream:x".parse().unwrap();
    let message = "calls of `upstream:x` are not stopped";
    check(control.resume_calls(&owner, &scope), Kind::Unknown, message);
    let scope = StopScope::Session(String::new());
    let message = "`session:` names nothing that could be stopped";
    check(control.stop_calls(&owner, &scope), Kind::Invalid, message);
}

#[test]
fn keys_and_tokens_tell_who_asks() {
    let bench = bench();
    let (control, owner) = (&bench.control, Principal::owner());
    let scope = TokenScope {
        upstreams: Some(vec!["github".to_owned()]),
        operations: Some(vec![Operation::Read]),
        expires: Some(Wall(1_000_100)),
        audit: false,
    };
    let new = control.create_token(&owner, "ci", scope.clone()).unwrap();
    let secret = new.secret.expose();
    assert!(!format!("{new:?}{control:?}").contains(secret));
    assert!(!format!("{control:?}").contains(KEY));
    assert_eq!(control.authenticate(KEY), Some(owner.clone()));
    assert_eq!(control.authenticate(secret), Some(agent("token:ci")));
    for wrong in [
        "",
        "owner",
        &format!("{KEY} "),
        &format!("{secret}x"),
        &secret.to_lowercase(),
    ] {
        assert_eq!(control.authenticate(wrong), None, "{wrong}");
    }
    assert_eq!(control.scope_of(&owner), None);
    assert_eq!(control.scope_of(&Principal::local()), None);
    assert_eq!(control.scope_of(&agent("token:ci")), Some(scope));
    for unknown in ["token:other", "ci", "owner", ""] {
        assert_eq!(
            control.scope_of(&agent(unknown)),
            Some(TokenScope::nothing())
        );
    }
    *bench.clock.0.lock().unwrap() = 1_000_100;
    assert_eq!(control.authenticate(secret), None);
    assert_eq!(
        control.scope_of(&agent("token:ci")),
        Some(TokenScope::nothing())
    );
}

#[test]
fn a_token_revoked_by_another_process_ends_within_a_second() {
    let bench = bench();
    let new = bench
        .control
        .create_token(&Principal::owner(), "ci", TokenScope::default());
    let secret = new.unwrap().secret;
    assert!(bench.control.authenticate(secret.expose()).is_some());
    Tokens::open(bench.folder.path())
        .unwrap()
        .revoke("ci")
        .unwrap();
    *bench.clock.0.lock().unwrap() += 1000;
    assert_eq!(bench.control.authenticate(secret.expose()), None);
    std::fs::write(bench.folder.path().join("tokens.json"), "{").unwrap();
    *bench.clock.0.lock().unwrap() += 1000;
    let problems = bench.control.problems();
    assert!(
        problems.len() == 1 && problems[0].contains("tokens.json"),
        "{problems:?}"
    );
}

#[test]
fn others_see_only_the_orders_that_concern_them() {
    let bench = bench();
    let texts = [
        "all",
        "upstream:github",
        "session:ab",
        "principal:token:a",
        "principal:token:b",
    ];
    for text in texts {
        bench
            .control
            .stop_calls(&Principal::owner(), &text.parse().unwrap())
            .unwrap();
    }
    let check = |who: &Principal, expect: &[&str]| {
        let orders = bench.control.stopped(who);
        let seen: Vec<String> = orders.iter().map(|order| order.scope.to_string()).collect();
        assert_eq!(seen, expect);
    };
    check(&Principal::owner(), &texts);
    check(
        &agent("token:a"),
        &["all", "upstream:github", "principal:token:a"],
    );
    check(&Principal::local(), &["all", "upstream:github"]);
    assert_eq!(bench.engine.stops().list().len(), texts.len());
    let again = bench
        .control
        .stop_calls(&Principal::owner(), &StopScope::All)
        .unwrap();
    assert_eq!(again.effect, Effect::AlreadySo);
}
