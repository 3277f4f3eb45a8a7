//! Decisions in tables.

use std::sync::Arc;

use mcpproxy_core::{
    AccessDecision, AccessRequest, AccessRules as _, Claims, OfferKind, Operation, Principal,
    PrincipalKind,
};

use super::CedarRules;

#[test]
fn arguments_that_are_too_large_are_forbidden() {
    let rules = CedarRules::parse("permit(principal, action, resource);", "here").unwrap();
    let who = Principal::owner();
    let ask = |arguments: &str| {
        rules.decide(&AccessRequest {
            who: &who,
            kind: OfferKind::Tool,
            upstream: "files",
            name: "read",
            operation: Some(Operation::Read),
            arguments,
        })
    };
    assert_eq!(ask("{}"), AccessDecision::Permitted);
    let large = format!(r#"{{"a":[{}0]}}"#, "0,".repeat(200_000));
    assert!(matches!(ask(&large), AccessDecision::Forbidden { .. }));
}

const POLICIES: &str = r#"
@id("readers-read")
permit(principal in Role::"reader", action == Action::"tools/call", resource in Server::"files")
when { context.operation == "read" };

@id("writers-write-notes")
permit(principal in Role::"writer", action == Action::"tools/call", resource == Tool::"files/write")
when { context.arguments.path like "notes/*" };

@id("operations")
permit(principal, action, resource)
when { principal has attributes && principal.attributes has team && principal.attributes.team == "ops" };

@id("no-keys")
forbid(principal, action, resource)
when { context.arguments has path && context.arguments.path like "*.key" };

@id("small-batches")
forbid(principal, action, resource == Tool::"files/delete")
when { context.arguments.count > 10 };

@id("greeting")
permit(principal == Local::"local", action, resource == Prompt::"files/hello");

@id("ci")
permit(principal == Agent::"ci", action, resource)
when { principal.scopes.contains("upstream:files") };
"#;

fn rules() -> CedarRules {
    CedarRules::parse(POLICIES, "access.cedar").unwrap()
}

fn user(roles: &[&str], team: &str) -> Principal {
    Principal {
        kind: PrincipalKind::User,
        name: "oauth:ada".into(),
        claims: Some(Arc::new(Claims {
            subject: "ada".to_owned(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            attributes: vec![("team".to_owned(), team.to_owned())],
            ..Claims::default()
        })),
    }
}

fn call<'a>(
    who: &'a Principal,
    name: &'a str,
    operation: Operation,
    arguments: &'a str,
) -> AccessRequest<'a> {
    AccessRequest {
        who,
        kind: OfferKind::Tool,
        upstream: "files",
        name,
        operation: Some(operation),
        arguments,
    }
}

/// `permitted`, or what forbids.
fn short(decision: AccessDecision) -> String {
    match decision {
        AccessDecision::Permitted => "permitted".to_owned(),
        AccessDecision::Forbidden { rules, problems } => {
            format!("forbidden {rules:?} {problems:?}")
        }
    }
}

fn check(request: AccessRequest<'_>, expect: &str) {
    assert_eq!(short(rules().decide(&request)), expect, "{request:?}");
}

#[test]
fn roles_operations_and_arguments_decide() {
    use Operation::{Read, Write};
    let reader = user(&["reader"], "blue");
    check(
        call(&reader, "read", Read, r#"{"path":"a.txt"}"#),
        "permitted",
    );
    check(call(&reader, "read", Read, "{}"), "permitted");
    check(
        call(&reader, "write", Write, r#"{"path":"notes/a"}"#),
        "forbidden [] []",
    );
    check(
        call(&reader, "read", Read, r#"{"path":"tls.key"}"#),
        r#"forbidden ["no-keys"] []"#,
    );
    let elsewhere = AccessRequest {
        upstream: "mail",
        ..call(&reader, "read", Read, "{}")
    };
    check(elsewhere, "forbidden [] []");
    let writer = user(&["writer"], "blue");
    let notes = r#"{"path":"notes/a","mode":null,"size":1.5,"tags":["x"]}"#;
    check(call(&writer, "write", Write, notes), "permitted");
    check(
        call(&writer, "write", Write, r#"{"path":"etc/a"}"#),
        "forbidden [] []",
    );
}

#[test]
fn nobody_can_be_called_what_another_kind_of_caller_is() {
    let greets = |who: &Principal, expect: &str| {
        let prompt = AccessRequest {
            kind: OfferKind::Prompt,
            ..call(who, "hello", Operation::Read, "{}")
        };
        check(prompt, expect);
    };
    greets(&Principal::local(), "permitted");
    let mut named = user(&[], "blue");
    named.claims = Some(Arc::new(Claims {
        subject: "local".to_owned(),
        ..Claims::default()
    }));
    greets(&named, "forbidden [] []");
    greets(&Principal::owner(), "forbidden [] []");
    let claims = |scope: &str| {
        Some(Arc::new(Claims {
            subject: "ci".to_owned(),
            scopes: vec![scope.to_owned()],
            ..Claims::default()
        }))
    };
    let mut agent = Principal::agent("token:ci");
    agent.claims = claims("upstream:files");
    greets(&agent, "permitted");
    agent.claims = claims("upstream:mail");
    greets(&agent, "forbidden [] []");
    agent.claims = claims("upstream:files");
    for kind in [PrincipalKind::User, PrincipalKind::Certificate] {
        agent.kind = kind;
        greets(&agent, "forbidden [] []");
    }
}

#[test]
fn a_certificate_has_a_name_roles_and_attributes() {
    let text = r#"
        @id("named")
        permit(principal == Certificate::"spiffe://example/ci", action, resource == Tool::"files/read");
        @id("unit")
        permit(principal in Role::"deployers", action, resource == Tool::"files/write")
        when { principal.attributes.organization == "Example" };
    "#;
    let rules = CedarRules::parse(text, "access.cedar").unwrap();
    let holder = |name: &str, unit: &str, organization: &str| Principal {
        kind: PrincipalKind::Certificate,
        name: format!("certificate:{name}").into(),
        claims: Some(Arc::new(Claims {
            subject: name.to_owned(),
            roles: vec![unit.to_owned()],
            attributes: vec![("organization".to_owned(), organization.to_owned())],
            ..Claims::default()
        })),
    };
    let check = |who: &Principal, tool: &str, expect: bool| {
        let decision = rules.decide(&call(who, tool, Operation::Read, "{}"));
        assert_eq!(
            decision == AccessDecision::Permitted,
            expect,
            "{who:?} {tool}"
        );
    };
    let ci = holder("spiffe://example/ci", "builders", "Example");
    check(&ci, "read", true);
    check(&ci, "write", false);
    check(&holder("other", "deployers", "Example"), "write", true);
    check(&holder("other", "deployers", "Elsewhere"), "write", false);
    check(&holder("other", "deployers", "Example"), "read", false);
}

#[test]
fn what_cannot_be_judged_is_forbidden() {
    let ops = user(&[], "ops");
    let delete = |arguments| call(&ops, "delete", Operation::Destructive, arguments);
    check(delete(r#"{"count":3}"#), "permitted");
    check(
        delete(r#"{"count":11}"#),
        r#"forbidden ["small-batches"] []"#,
    );
    check(delete("{}"), r#"forbidden [] ["small-batches"]"#);
    check(
        delete(r#"{"count":1e30}"#),
        r#"forbidden [] ["small-batches"]"#,
    );
    check(
        delete("{"),
        r#"forbidden [] ["the arguments are not JSON"]"#,
    );
    let deep = format!("{}{}", r#"{"a":"#.repeat(4000), "}".repeat(4000));
    check(
        delete(&deep),
        r#"forbidden [] ["the arguments are not JSON"]"#,
    );
}

#[test]
fn lists_show_what_some_arguments_could_call() {
    let check = |who: &Principal, name: &str, operation, expect: bool| {
        let shown = rules().may_permit(&call(who, name, operation, ""));
        assert_eq!(shown, expect, "{name} for {who:?}");
    };
    let reader = user(&["reader"], "blue");
    check(&reader, "read", Operation::Read, true);
    check(&reader, "write", Operation::Write, false);
    check(&reader, "delete", Operation::Destructive, false);
    let writer = user(&["writer"], "blue");
    check(&writer, "write", Operation::Write, true);
    check(&writer, "read", Operation::Read, false);
    check(&user(&[], "ops"), "delete", Operation::Destructive, true);
}

#[test]
fn what_is_wrong_with_policies_is_said_with_its_place() {
    let check = |text: &str, expect: &str| {
        let why = CedarRules::parse(text, "access.cedar").unwrap_err();
        let why = why.to_string();
        assert!(why.starts_with(expect), "{why}");
    };
    check(
        "permit(principal, action, resource);\n  permt();",
        "`access.cedar` line 2 column 3: ",
    );
    check(
        "permit(principal, action, resource)\nwhen { \"\u{e9}\" == };",
        "`access.cedar` line 2 column 15: ",
    );
    let twice = r#"@id("a") permit(principal, action, resource); @id("a") forbid(principal, action, resource);"#;
    check(twice, "`access.cedar`: two policies have the name `a`");
    let template = r#"@id("t") permit(principal == ?principal, action, resource);"#;
    check(template, "`access.cedar`: policy `t` is a template");
    assert!(CedarRules::parse("", "access.cedar").unwrap().is_empty());
}

#[test]
fn a_policy_that_would_never_apply_is_refused() {
    let check = |text: &str, expect: &str| {
        let text = format!("@id(\"p\") @type(\"x\") forbid({text};");
        let why = CedarRules::parse(&text, "here").err();
        let why = why.map(|why| why.to_string());
        let why = why.as_deref().unwrap_or("fine");
        let told = why.strip_prefix("`here`: policy `p` would never apply: it ");
        assert_eq!(told.unwrap_or(why), expect, "{text}");
    };
    check(
        r#"principal, action == Action::"tool/call", resource)"#,
        "names the action `tool/call`, which nobody does; did you mean `tools/call`?",
    );
    check(
        r#"principal, action in [Action::"tools/call", Action::"call"], resource)"#,
        "names the action `call`, which nobody does; there are `prompts/get`, `resources/read`, \
         `tools/call`",
    );
    check(
        r#"principal, action, resource == Tools::"notes/read")"#,
        "names the type `Tools`, which nothing has; did you mean `Tool`?",
    );
    check(
        "principal, action, resource is Tol)",
        "names the type `Tol`, which nothing has; did you mean `Tool`?",
    );
    check(
        r#"principal, action, resource == Tool::"notes:read")"#,
        r#"names `Tool::"notes:read"`, which nothing is called: write `Tool::"<server>/<tool>"`"#,
    );
    check(
        r#"principal, action, resource) when { resource == Prompt::"/hello" }"#,
        r#"names `Prompt::"/hello"`, which nothing is called: write `Prompt::"<server>/<prompt>"`"#,
    );
    check(
        r#"principal, action, resource) unless { [1, principal in Roles::"a"].contains(true) }"#,
        "names the type `Roles`, which nothing has; did you mean `Role`?",
    );
    check(
        r#"principal == Role::"a", action, resource)"#,
        "has a `principal` of the type `Role`, which none is; write `principal in Role::...`",
    );
    check(
        r#"principal, action, resource == Server::"notes")"#,
        "has a `resource` of the type `Server`, which none is; write `resource in Server::...`",
    );
    check(
        "principal is Tool, action, resource)",
        "has a `principal` of the type `Tool`, which none is",
    );
    // What does apply, and records that only look like entities.
    check(
        r#"principal is User in Role::"a", action in [Action::"tools/call"], resource is Tool in Server::"x")"#,
        "fine",
    );
    check(
        r#"principal, action, resource) when { {"type": "Tools", "id": "x"} == context.arguments }"#,
        "fine",
    );
    check(
        r#"principal, action, resource == Resource::"a/file:///b")"#,
        "fine",
    );
}

#[test]
fn the_servers_that_policies_name_are_known() {
    let servers: Vec<_> = rules()
        .servers()
        .map(|(server, policy)| format!("{server} by {policy}"))
        .collect();
    let expect = [
        "files by greeting",
        "files by readers-read",
        "files by small-batches",
        "files by writers-write-notes",
    ];
    assert_eq!(servers, expect);
}

/// Regression for #8: text that anybody may propose ended the process.
#[test]
fn the_longest_policies_are_read_and_decided_and_longer_ones_have_a_place() {
    let policy =
        |condition: &str| format!("permit(principal, action, resource)\nwhen {{ {condition} }};");
    let nested = |open: &str, inner: &str, close: &str, levels: usize| {
        [&open.repeat(levels), inner, &close.repeat(levels)].concat()
    };
    let who = Principal::owner();
    for condition in [
        vec!["true"; 495].join(" && "),
        vec!["false"; 490].join(" || ") + " || true",
        nested("(", "true", ")", 60),
        nested("[", "", "]", 60) + " == [] || true",
        nested("if true then true else (", "true", ")", 60),
    ] {
        let rules = CedarRules::parse(&policy(&condition), "here").unwrap();
        let decided = rules.decide(&AccessRequest {
            who: &who,
            kind: OfferKind::Tool,
            upstream: "files",
            name: "read",
            operation: Some(Operation::Read),
            arguments: "{}",
        });
        assert_eq!(decided, AccessDecision::Permitted, "{condition:.60}");
    }
    for condition in [nested("(", "true", ")", 5000), vec!["1"; 50_000].join("+")] {
        let fault = CedarRules::parse(&policy(&condition), "here").unwrap_err();
        let fault = fault.to_string();
        assert!(fault.starts_with("`here` line 2 column "), "{fault}");
    }
}
