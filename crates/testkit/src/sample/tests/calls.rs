//! Calls that take time, ask, or go wrong.

use super::*;

fn cancel(downstream: &mut Downstream, id: &str) {
    let params = json!({ "requestId": id });
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    downstream.send(&cancelled);
}

#[test]
fn slow_calls_hold_up_nobody_and_stop_at_once() {
    for era in ERAS {
        let mut downstream = Downstream::start(Sample::Echo, era);
        downstream.tool("slow", "slow", &json!({ "ms": 600_000 }));
        downstream.tool("hang", "hang", &json!({}));
        let echo = json!({ "name": "echo", "arguments": { "text": "there" } });
        let said = downstream.ask("tools/call", echo.clone());
        assert_eq!(said["result"]["structuredContent"]["text"], "there");
        cancel(&mut downstream, "slow");
        cancel(&mut downstream, "hang");
        cancel(&mut downstream, "unknown");
        // Both ids are free again, and neither call is ever answered.
        for id in ["slow", "hang"] {
            downstream.tool(id, "slow", &json!({ "ms": 0 }));
            let answer = downstream.next();
            assert_eq!(answer["id"], id);
            assert_eq!(answer["result"]["content"][0]["text"], "took 0 ms");
        }
        assert_eq!(downstream.end(), (vec![], Ended::Quietly), "{era:?}");
    }
}

#[test]
fn calls_under_way_end_with_the_input() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both);
    downstream.tool(1, "slow", &json!({ "ms": 600_000 }));
    downstream.tool(2, "ask", &json!({ "question": "?" }));
    assert_eq!(downstream.next()["method"], "elicitation/create");
    assert_eq!(downstream.end(), (vec![], Ended::Quietly));
}

#[test]
fn progress_is_told_to_who_asked_for_it() {
    let check = |era, token: Value| {
        let mut downstream = Downstream::start(Sample::Echo, era);
        let arguments = json!({ "ms": 4 });
        let meta = json!({ "progressToken": token });
        let params = json!({ "name": "slow", "arguments": arguments, "_meta": meta });
        downstream.request(1, "tools/call", params);
        for step in 1..=4 {
            let told = downstream.next();
            assert_eq!(told["method"], "notifications/progress", "{told}");
            let expect = json!({ "progressToken": token, "progress": step, "total": 4 });
            assert_eq!(told["params"], expect);
        }
        assert_eq!(
            downstream.next()["result"]["content"][0]["text"],
            "took 4 ms"
        );
    };
    for era in ERAS {
        check(era, "a token".into());
        check(era, 7.into());
    }
}

#[test]
fn calls_under_way_are_bounded() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both);
    for id in 0..64 {
        downstream.tool(id, "hang", &json!({}));
    }
    downstream.tool("more", "hang", &json!({}));
    let refused = downstream.next();
    assert_eq!(
        refused["error"]["message"],
        "64 requests are under way already"
    );
    downstream.tool("slow", "slow", &json!({ "ms": 0 }));
    assert_eq!(downstream.next()["error"]["code"], -32603);
    assert_eq!(downstream.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both);
    downstream.tool(1, "hang", &json!({}));
    downstream.tool(1, "hang", &json!({}));
    assert_eq!(downstream.next()["error"]["message"], "the id is in use");
}

#[test]
fn a_crash_ends_the_conversation() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::Both);
    downstream.tool(1, "crash", &json!({}));
    assert_eq!(downstream.end(), (vec![], Ended::Crashed));
}

/// Calls a tool that asks `method`, answers with `reply`, and compares the text of the result.
fn check_question(tool: &str, arguments: &Value, method: &str, reply: &Value, expect: &str) {
    let mut legacy = Downstream::start(Sample::Echo, EraSupport::LegacyOnly);
    legacy.tool(1, tool, arguments);
    let question = legacy.next();
    assert_eq!(question["method"], method);
    legacy.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": reply }));
    assert_eq!(legacy.next()["result"]["content"][0]["text"], expect);

    let mut modern = Downstream::start(Sample::Echo, EraSupport::ModernOnly);
    let call = json!({ "name": tool, "arguments": arguments });
    let result = modern.ask("tools/call", call.clone())["result"].take();
    assert_eq!(result["resultType"], "input_required");
    let asked = &result["inputRequests"]["question"];
    assert_eq!(asked["method"], method);
    assert_eq!(asked["params"], question["params"]);
    let mut retry = call;
    retry["inputResponses"] = json!({ "question": reply });
    assert_eq!(
        modern.ask("tools/call", retry.clone())["error"]["code"],
        -32602
    );
    retry["requestState"] = "another".into();
    assert_eq!(
        modern.ask("tools/call", retry.clone())["error"]["code"],
        -32602
    );
    retry["requestState"] = result["requestState"].clone();
    let done = modern.ask("tools/call", retry)["result"].take();
    assert_eq!(done["content"][0]["text"], expect);
    assert_eq!(done["resultType"], "complete");
}

#[test]
fn questions_are_put_and_answered_in_both_eras() {
    let ask = json!({ "question": "Which colour?" });
    let check_form = |reply: Value, expect: &str| {
        check_question("ask", &ask, "elicitation/create", &reply, expect);
    };
    check_form(
        json!({ "action": "accept", "content": { "answer": "blue" } }),
        "accept: blue",
    );
    check_form(json!({ "action": "decline" }), "decline");
    check_form(json!({}), "the answer has no action");
    let prompt = json!({ "prompt": "Rhyme!" });
    let content = json!({ "type": "text", "text": "Time!" });
    let reply = json!({ "role": "assistant", "model": "m", "content": content });
    check_question("sample", &prompt, "sampling/createMessage", &reply, "Time!");
    let roots = json!({ "roots": [{ "uri": "file:///a" }, { "uri": "file:///b" }] });
    check_question(
        "roots",
        &json!({}),
        "roots/list",
        &roots,
        "file:///a\nfile:///b",
    );
}

#[test]
fn questions_that_cannot_be_put() {
    let ask = json!({ "name": "ask", "arguments": { "question": "?" } });
    let mut legacy = Downstream::silent(Sample::Echo, Options::default());
    legacy.ask(
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
    );
    let answer = legacy.ask("tools/call", ask.clone());
    let why = "the downstream does not declare `elicitation`";
    assert_eq!(answer["result"]["content"][0]["text"], why);

    let mut legacy = Downstream::start(Sample::Echo, EraSupport::LegacyOnly);
    legacy.request(1, "tools/call", ask.clone());
    let id = legacy.next()["id"].take();
    let error = json!({ "code": -1, "message": "no" });
    legacy.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    let text = legacy.next()["result"]["content"][0]["text"].take();
    assert_eq!(text, "the question was refused: no");

    let mut modern = Downstream::start(Sample::Echo, EraSupport::ModernOnly);
    let mut call = ask;
    call["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": {} });
    let error = modern.ask("tools/call", call)["error"].take();
    assert_eq!(error["code"], -32021);
    assert_eq!(
        error["data"]["requiredCapabilities"],
        json!({ "elicitation": {} })
    );
}

#[test]
fn a_question_can_be_cancelled() {
    let mut downstream = Downstream::start(Sample::Echo, EraSupport::LegacyOnly);
    downstream.tool("asking", "ask", &json!({ "question": "?" }));
    let id = downstream.next()["id"].take();
    cancel(&mut downstream, "asking");
    downstream.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept" } }));
    assert_eq!(downstream.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(downstream.end().0, Vec::<Value>::new());
}
