//! Questions of the policy: put to whoever can be asked, to a person who looks at the queue, or to
//! nobody. Each time what counts is what arrives outside.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::support::{
    Gateway, Home, KEY, Legacy, Modern, Scene, WORDS, arrived, text_of, until, within,
};

fn can_be_asked() -> Value {
    json!({ "elicitation": {} })
}

/// Answers to a question, and whether the call arrives then.
fn answers() -> [(Value, bool); 5] {
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    [
        (accept(json!({ "decision": "allow" })), true),
        (accept(json!({ "decision": "deny" })), false),
        (json!({ "action": "decline" }), false),
        (json!({ "action": "cancel" }), false),
        (accept(json!({})), false),
    ]
}

fn is_the_question(question: &Value) {
    let params = &question["params"];
    assert_eq!(question["method"], "elicitation/create");
    let message = params["message"].as_str().unwrap();
    let reason = "Data flowing from internal source (inside) to external destination (outside).";
    assert!(message.contains(reason), "{message}");
    assert!(!message.contains(WORDS), "{message}");
    let schema = &params["requestedSchema"];
    assert_eq!(
        schema["properties"]["decision"]["enum"],
        json!(["deny", "allow"])
    );
    assert_eq!(schema["properties"]["decision"].get("default"), None);
    assert_eq!(schema["required"], json!(["decision"]));
}

/// Compares what came of an answer, at the agent, outside and in the log.
fn check(scene: &Scene, result: &Value, allowed: bool, before: usize, answer: &Value) {
    let record = scene.records().pop().unwrap();
    assert_eq!(record["decision"], "ask", "{answer}");
    if allowed {
        assert_eq!(text_of(result), "posted", "{answer}");
        assert_eq!(scene.arrived().split_off(before), [WORDS]);
        assert_eq!(record["status"], "success");
    } else {
        assert_eq!(result["isError"], true, "{answer}");
        let said = text_of(result);
        assert!(said.contains("a person refused this call"), "{said}");
        assert_eq!(scene.arrived().len(), before, "{answer}");
        assert_eq!(record["status"], "blocked");
    }
}

#[tokio::test]
async fn a_legacy_downstream_is_asked_and_only_allow_lets_the_call_leave() {
    let scene = Scene::start(json!({})).await;
    for (answer, allowed) in answers() {
        let before = scene.arrived().len();
        let agent = scene.informed(can_be_asked()).await;
        let mut reply = agent.request("tools/call", Scene::post(WORDS)).await;
        let question = reply.notification("elicitation/create").await;
        is_the_question(&question);
        assert_eq!(scene.arrived().len(), before, "before the answer");
        agent.respond(&question, answer.clone()).await;
        check(&scene, &reply.result().await, allowed, before, &answer);
    }
    // Each question counts once, with what was answered.
    let yes = answers().iter().filter(|(_, allowed)| *allowed).count();
    let summary = scene.gateway.api("/activity/summary").await;
    let asks = &summary["approvals"];
    assert_eq!(
        (&asks["asked"], &asks["approved"], &asks["denied"]),
        (
            &json!(answers().len()),
            &json!(yes),
            &json!(answers().len() - yes)
        ),
        "{asks}"
    );
}

#[tokio::test]
async fn a_modern_downstream_is_asked_and_only_allow_lets_the_call_leave() {
    for (answer, allowed) in answers() {
        let scene = Scene::start(json!({})).await;
        let agent = Modern::new(&scene.gateway.url("/mcp"), can_be_asked());
        agent.call("inside__read", json!({})).await;
        let mut params = Scene::post(WORDS);
        let asked = agent.ask("tools/call", params.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (key, question) = asked["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        is_the_question(question);
        assert_eq!(scene.arrived().len(), 0, "before the answer");
        params["inputResponses"] = json!({ key: answer });
        params["requestState"] = asked["requestState"].clone();
        let result = agent.ask("tools/call", params).await;
        check(&scene, &result, allowed, 0, &answer);
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_call_leaves_with_a_warning() {
    let scene = Scene::start(json!({})).await;
    let agent = scene.informed(json!({})).await;
    let result = agent.ask("tools/call", Scene::post(WORDS)).await;
    assert_eq!(text_of(&result), "posted");
    assert_eq!(scene.arrived(), [WORDS]);
    let record = scene.records().pop().unwrap();
    let decided = [
        &record["decision"],
        &record["effective"],
        &record["enforcement"],
    ];
    assert_eq!(decided, ["ask", "warn", "degraded"]);
    let risk = [&record["risk_level"], &record["flow_type"]];
    assert_eq!(risk, ["medium", "internal→external"]);
}

fn queue() -> Value {
    json!({ "approvals": { "mode": "queue", "timeout": "1m" } })
}

/// Waits until something waits for a person, and returns it.
async fn waiting(gateway: &Gateway) -> Value {
    until("a question in the queue", || async {
        let listed = gateway.api("/approvals").await;
        listed["approvals"].as_array().unwrap().first().cloned()
    })
    .await
}

async fn answer(gateway: &Gateway, id: &str, decision: &str) -> Value {
    let body = json!({ "decision": decision });
    let path = format!("/api/v1/approvals/{id}");
    let (status, answer) = gateway.owner().post(&path, &body).await;
    assert_eq!(status, 200, "{answer}");
    answer["data"].clone()
}

/// Posts an answer over the socket without a key, and returns the status line.
async fn over_the_socket(gateway: &Gateway, id: &str) -> String {
    let socket = gateway.home.data().join("mcpproxy.sock");
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let body = json!({ "decision": "approve" }).to_string();
    let length = body.len();
    let request = format!(
        "POST /api/v1/approvals/{id} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = String::new();
    within("an answer", stream.read_to_string(&mut said))
        .await
        .unwrap();
    said.lines().next().unwrap().to_owned()
}

async fn post(agent: &Legacy, text: &str) -> Value {
    agent.ask("tools/call", Scene::post(text)).await
}

/// Nobody looks at the queue meanwhile: looking is not what ends a question.
#[tokio::test]
async fn a_question_that_lapses_lets_its_call_go() {
    let scene = Scene::start(json!({ "approvals": { "mode": "queue", "timeout": "1s" } })).await;
    let agent = scene.informed(json!({})).await;
    let result = within("the end of the question", post(&agent, WORDS)).await;
    assert!(text_of(&result).ends_with("(a person was asked about this call and did not answer)"));
    assert_eq!(scene.arrived().len(), 0);
    let waiting = scene.gateway.api("/approvals").await;
    assert_eq!(waiting["approvals"], json!([]));
    // Regression for #8: it was pending for ever.
    until("the record that it lapsed", || async {
        let page = scene.gateway.api("/activity?type=approval").await;
        let said = page["activities"][0]["method"].clone();
        (said == "lapsed").then_some(())
    })
    .await;
    let pending = scene.gateway.api("/activity?status=pending").await;
    assert_eq!(pending["activities"], json!([]));
}

#[tokio::test]
async fn a_call_waits_in_the_queue_for_whoever_holds_the_key() {
    let scene = Scene::start(queue()).await;
    let gateway = &scene.gateway;
    for (decision, outcome, arrives) in [("deny", "denied", 0), ("approve", "approved", 1)] {
        let agent = scene.informed(json!({})).await;
        let decided = async {
            let question = waiting(gateway).await;
            assert_eq!(question["server_name"], "outside");
            assert_eq!(question["tool_name"], "post");
            assert_eq!(question["risk_level"], "medium");
            assert!(
                !question["findings"].to_string().contains(WORDS),
                "{question}"
            );
            assert_eq!(question["arguments"], json!({ "text": WORDS }).to_string());
            assert_eq!(question["arguments_truncated"], false);
            let id = question["id"].as_str().unwrap();
            assert_eq!(over_the_socket(gateway, id).await, "HTTP/1.1 403 Forbidden");
            let path = format!("/api/v1/approvals/{id}");
            let stranger = gateway.token("ci", &json!(["outside"])).await;
            let (status, _) = stranger
                .post(&path, &json!({ "decision": "approve" }))
                .await;
            assert_eq!(status, 403);
            assert_eq!(gateway.api("/status").await["approvals"], 1);
            assert_eq!(scene.arrived().len(), 0, "before the answer");
            assert_eq!(answer(gateway, id, decision).await["outcome"], outcome);
            let (status, _) = gateway.owner().delete("/api/v1/tokens/ci").await;
            assert_eq!(status, 200);
        };
        let (result, ()) = tokio::join!(post(&agent, WORDS), decided);
        assert_eq!(result["isError"] == true, arrives == 0, "{result}");
        assert_eq!(scene.arrived().len(), arrives);
        assert_eq!(gateway.api("/approvals").await["approvals"], json!([]));
    }
}

#[tokio::test]
async fn questions_and_answers_are_on_record_as_part_of_their_call() {
    let scene = Scene::start(queue()).await;
    let agent = scene.informed(json!({})).await;
    let (result, id) = tokio::join!(post(&agent, WORDS), async {
        let asked = waiting(&scene.gateway).await;
        let id = asked["id"].as_str().unwrap().to_owned();
        answer(&scene.gateway, &id, "deny").await;
        id
    });
    assert_eq!(result["isError"], true);
    let found = until("both records", || async {
        let path = format!("/activity?type=approval&parent_id={id}");
        let page = scene.gateway.api(&path).await;
        let records = page["activities"].as_array().unwrap().clone();
        (records.len() == 2).then_some(records)
    })
    .await;
    let said = |at: usize| {
        let record = &found[at];
        [&record["method"], &record["status"], &record["tool_name"]]
    };
    assert_eq!(said(0), ["denied", "blocked", "post"]);
    assert_eq!(said(1), ["requested", "success", "post"]);
    // Regression for #8: the question was pending for ever.
    let pending = scene.gateway.api("/activity?status=pending").await;
    assert_eq!(pending["activities"], json!([]));
    let summary = scene.gateway.api("/activity/summary").await;
    assert_eq!(summary["by_status"]["pending"], Value::Null, "{summary}");
    let none = scene.gateway.api("/activity?parent_id=nothing").await;
    assert_eq!(none["activities"], json!([]));
}

/// The records of answers to a question.
async fn answers_on_record(gateway: &Gateway, id: &str) -> Vec<Value> {
    until("the record of an answer", || async {
        let path = format!("/activity?type=approval&parent_id={id}");
        let page = gateway.api(&path).await;
        let records = page["activities"].as_array().unwrap().iter();
        let said: Vec<_> = records
            .filter(|one| one["method"] != "requested")
            .cloned()
            .collect();
        (!said.is_empty()).then_some(said)
    })
    .await
}

#[tokio::test]
async fn an_approval_for_the_session_answers_the_same_question_there_and_nowhere_else() {
    let scene = Scene::start(queue()).await;
    let gateway = &scene.gateway;
    let agent = scene.informed(json!({})).await;
    let decided = async {
        let question = waiting(gateway).await;
        let evidence = &question["findings"][0]["evidence"]["origin"];
        assert_eq!(evidence["upstream"], "inside", "{question}");
        let id = question["id"].as_str().unwrap().to_owned();
        answer(gateway, &id, "approve_for_session").await;
        id
    };
    let (first, id) = tokio::join!(post(&agent, WORDS), decided);
    assert_eq!(text_of(&first), "posted");
    // Other words, the same question.
    let again = format!("{WORDS} Please.");
    assert_eq!(text_of(&post(&agent, &again).await), "posted");
    assert_eq!(scene.arrived().len(), 2);
    // Regression for #8: nothing said for how long the answer counts, nor what let the second call out.
    let said = answers_on_record(gateway, &id).await;
    let [said] = &said[..] else {
        panic!("one answer: {said:?}");
    };
    assert_eq!(said["metadata"], said["approval"], "{said}");
    let (term, by) = (&said["approval"]["term"], &said["approval"]["by"]);
    assert_eq!((term, by), (&json!("session"), &said["principal"]));
    assert!(said["approval"]["until"].is_string(), "{said}");
    let [.., first, second] = &scene.records()[..] else {
        panic!("two calls left");
    };
    assert_eq!(first["approval"], Value::Null);
    let mut expect = said["approval"].clone();
    expect["question"] = json!(id);
    assert_eq!(second["approval"], expect, "{second}");
    let other = scene.informed(json!({})).await;
    let denied = async {
        let question = waiting(gateway).await;
        answer(gateway, question["id"].as_str().unwrap(), "deny").await;
    };
    let (refused, ()) = tokio::join!(post(&other, WORDS), denied);
    assert_eq!(refused["isError"], true);
    assert_eq!(scene.arrived().len(), 2);
}

#[tokio::test]
async fn an_approval_after_the_deadline_counts_once_and_for_that_call_alone() {
    let scene = Scene::start_with(queue(), "1s").await;
    let gateway = &scene.gateway;
    let agent = scene.informed(json!({})).await;
    let is_pending = |result: &Value, id: &str| {
        assert_eq!(result["isError"], true, "{result}");
        let expect = format!("approval {id} is pending");
        assert!(text_of(result).contains(&expect), "{result}");
    };
    let (result, question) = tokio::join!(post(&agent, WORDS), waiting(gateway));
    let id = question["id"].as_str().unwrap();
    is_pending(&result, id);
    // Asking again does not ask twice, and is answered at once.
    is_pending(&post(&agent, WORDS).await, id);
    assert_eq!(
        gateway.api("/approvals").await["approvals"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    answer(gateway, id, "approve").await;
    let approved = id.to_owned();

    let other = format!("{WORDS} And soon.");
    let (result, question) = tokio::join!(post(&agent, &other), waiting(gateway));
    let id = question["id"].as_str().unwrap();
    is_pending(&result, id);
    answer(gateway, id, "deny").await;
    assert_eq!(scene.arrived(), Vec::<String>::new());

    assert_eq!(text_of(&post(&agent, WORDS).await), "posted");
    assert_eq!(scene.arrived(), [WORDS]);
    let expect = json!({ "term": "once", "by": "owner", "question": approved });
    assert_eq!(scene.records().pop().unwrap()["approval"], expect);
    let said = answers_on_record(gateway, &approved).await;
    assert_eq!(
        said[0]["approval"],
        json!({ "term": "once", "by": "owner" })
    );
    let (result, question) = tokio::join!(post(&agent, WORDS), waiting(gateway));
    is_pending(&result, question["id"].as_str().unwrap());
    let refused = post(&agent, &other).await;
    assert!(
        text_of(&refused).contains("a person refused this call"),
        "{refused}"
    );
    assert_eq!(scene.arrived(), [WORDS]);
}

/// Regression for #8: it held the end of the gateway up for the whole grace, and was cut off then.
#[tokio::test]
async fn a_call_that_waits_for_a_person_is_sent_back_when_the_gateway_stops() {
    let scene = Scene::start(queue()).await;
    let agent = scene.informed(json!({})).await;
    let (gateway, outside) = (scene.gateway, scene.outside);
    let stopped = async {
        let question = waiting(&gateway).await;
        (gateway.stop().await, question)
    };
    let (result, (home, question)) = tokio::join!(post(&agent, WORDS), stopped);
    let expect = format!("approval {} is pending", question["id"].as_str().unwrap());
    assert!(text_of(&result).contains(&expect), "{result}");
    assert_eq!(arrived(&outside), Vec::<String>::new());
    let mut records = home.activity().into_iter().rev();
    let call = records.find(|one| one["id"] == question["id"]).unwrap();
    assert_eq!(call["decision"], "ask", "{call}");
    assert_ne!(call["status"], "success", "{call}");
}

/// What a call would send is shown to who is asked: whole where it is words, masked where a detector
/// knows a secret, left out where the gateway knows one again, and never longer than a page.
#[tokio::test]
async fn whoever_is_asked_sees_what_would_leave_and_no_secret() {
    let mut security = queue();
    security["flow_policy"] = json!({ "sensitive_data_external": "ask" });
    let scene = Scene::start(security).await;
    let home = &scene.gateway.home;
    let other = "AKIAQ3EGRTLZ7VHWN2KM";
    let check = async |text: String, secret: &str, expect: &str, cut: bool| {
        let agent = scene.informed(json!({})).await;
        let looked = async {
            let question = waiting(&scene.gateway).await;
            let id = question["id"].as_str().unwrap();
            let shown = home.run(&["approvals", "show", id]).await;
            let shown = String::from_utf8(shown.stdout).unwrap();
            answer(&scene.gateway, id, "deny").await;
            (question, shown)
        };
        let (result, (question, shown)) = tokio::join!(post(&agent, &text), looked);
        assert_eq!(result["isError"], true, "{result}");
        let arguments = question["arguments"].as_str().unwrap();
        assert!(arguments.contains(expect), "{question}");
        assert!(
            shown.contains(expect) && shown.contains("outside"),
            "{shown}"
        );
        assert!(!question.to_string().contains(secret), "{question}");
        assert!(!shown.contains(secret), "{shown}");
        assert!(arguments.len() <= 4096, "{question}");
        assert_eq!(question["arguments_truncated"], cut, "{question}");
    };
    check(format!("{WORDS} {other}"), other, "AKIA***KM", false).await;
    check(format!("{WORDS} {KEY}"), KEY, "left out", false).await;
    let long = WORDS.to_owned() + &" and again".repeat(1000);
    check(long, KEY, WORDS, true).await;
    let done = home.run(&["approvals", "show", "nothing"]).await;
    assert_eq!(done.status.code(), Some(3), "{done:?}");
}

/// Runs a command that finds a key in its environment, and returns its code.
async fn with_key(home: &Home, key: &str, args: &[&str]) -> Option<i32> {
    let mut command = home.command(args);
    let done = command.env("MCPPROXY_API_KEY", key).output();
    within("a command", done).await.unwrap().status.code()
}

#[tokio::test]
async fn the_queue_is_read_and_answered_on_the_command_line() {
    let scene = Scene::start(queue()).await;
    let home = &scene.gateway.home;
    for (word, arrives) in [("deny", 0), ("approve", 1)] {
        let agent = scene.informed(json!({})).await;
        let answered = async {
            waiting(&scene.gateway).await;
            let listed = home.run(&["approvals", "list", "--json"]).await;
            let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
            let args = ["approvals", word, listed[0]["id"].as_str().unwrap()];
            assert_eq!(
                home.run(&args).await.status.code(),
                Some(4),
                "without a key"
            );
            assert_ne!(with_key(home, "wrong", &args).await, Some(0));
            assert_eq!(scene.arrived().len(), 0, "before the answer");
            assert_eq!(with_key(home, &home.key(), &args).await, Some(0));
        };
        let (result, ()) = tokio::join!(post(&agent, WORDS), answered);
        assert_eq!(result["isError"] == true, arrives == 0, "{result}");
        assert_eq!(scene.arrived().len(), arrives, "{word}");
    }
}
