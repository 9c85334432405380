//! Requests as programs really send them: arguments as text, links in place of ids, one media type only, and texts from files
//! and terminals.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::harness::{Client, Service, Setup, question};

/// Calls a tool of MCP, and returns its result.
async fn called(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = client.tool(tool, arguments).await;
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].clone()
}

#[tokio::test]
async fn arguments_that_are_json_in_a_text_are_read() {
    let service = Service::start().await;
    let client = service.user().await;
    let text = json!({
        "question": "Which planet of these two is red?",
        "options": " [\n \"Earth\", \"Mars\" ]",
        "confidence_threshold": "0.9",
        "private": "true",
        "models": "[\"maker0/*\", \"maker1/*\"]",
        "include": "[\"votes\"]",
        "idempotency_key": "as-text",
    });
    let first = called(&client, "poll_question", text.clone()).await;
    // The same arguments as values are the same request.
    let mut values = text.clone();
    (values["options"], values["confidence_threshold"]) = (json!(["Earth", "Mars"]), json!(0.9));
    (values["private"], values["models"]) = (json!(true), json!(["maker0/*", "maker1/*"]));
    let second = called(&client, "poll_question", values).await;
    assert_eq!(first["poll_id"], second["poll_id"]);
    let options: Vec<&String> = first["tally"].as_object().unwrap().keys().collect();
    assert_eq!(options, ["Earth", "Mars"], "{first}");
    assert!(first["votes"].is_array(), "{first}");

    let data = json!({ "question": "Which planet of these two is red?", "options": "[\"Earth\",\"Mars\"]", "max_cost_usd": "0.5" });
    let task = client.skill("poll_question", &data).await;
    assert_eq!(task["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{task}");

    for (name, wrong) in [
        ("options", "[]"),
        ("options", "null"),
        ("options", "Earth, Mars"),
        ("options", "[\"Earth\", \"Mars\""),
        ("confidence_threshold", "NaN"),
        ("dry_run", "True"),
    ] {
        let result = client.tool("poll_question", question(json!({ name: wrong }))).await;
        let said = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(result["isError"] == true && said.contains(name), "{name} {wrong}: {result}");
    }
    // A question is a text, whatever it looks like.
    let asked = called(
        &client,
        "poll_question",
        question(json!({ "question": "[1, 2, 3, 4, 5]", "dry_run": "false" })),
    )
    .await;
    let read = client.get(&format!("/api/results/{}", asked["poll_id"].as_str().unwrap())).await.expect(200);
    assert_eq!(read["question"], "[1, 2, 3, 4, 5]");
}

#[tokio::test]
async fn the_url_of_a_result_names_its_poll() {
    let service = Service::start().await;
    let client = service.user().await;
    let poll = client.poll(json!({})).await.expect(200);
    let (id, url) = (&poll["poll_id"], poll["result_url"].as_str().unwrap());
    for named in [url.to_owned(), format!("{url}?from=mail"), format!("{url}/events")] {
        let read = called(&client, "get_poll_result", json!({ "poll_id": named })).await;
        assert_eq!(read["poll_id"], *id);
    }
    let task = client.skill("get_poll_result", &json!({ "poll_id": url })).await;
    assert!(task.to_string().contains(id.as_str().unwrap()) && task.get("error").is_none(), "{task}");
    let foreign = url.replace("127.0.0.1", "polls.example");
    let refused = client.tool("get_poll_result", json!({ "poll_id": foreign })).await;
    assert_eq!(refused["isError"], true, "{refused}");
}

#[tokio::test]
async fn clients_of_mcp_that_accept_event_streams_alone_are_served() {
    let service = Service::start().await;
    let client = service.user().await;
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "poll_question", "arguments": question(json!({})) })),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let headers = [(ACCEPT.as_str(), "text/event-stream"), ("mcp-protocol-version", "2025-06-18")];
        let reply = client.post_with("/api/mcp", &body, &headers).await;
        assert_eq!((reply.status, reply.header(CONTENT_TYPE.as_str())), (200, "text/event-stream"));
        let data = reply.text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let message: Value = serde_json::from_str(data).unwrap();
        assert!(message["id"] == 7 && message["result"].is_object(), "{message}");
    }
}

/// The form of a response changes nothing about the limits.
#[tokio::test]
async fn event_streams_of_mcp_count_against_the_allowance() {
    let service = Setup::demo().with("EP_RATE_LIMIT_PER_MINUTE", "1").boot().await;
    let client = service.user().await;
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {} });
    let headers = [(ACCEPT.as_str(), "text/event-stream")];
    let first = client.post_with("/api/mcp", &body, &headers).await;
    assert_eq!((first.status, first.header(CONTENT_TYPE.as_str())), (200, "text/event-stream"));
    client.post_with("/api/mcp", &body, &headers).await.rpc_refused(429);
}

/// Returns the places of a schema that some clients refuse.
fn refused_by_clients(schema: &Value, path: &str, found: &mut Vec<String>) {
    let Value::Object(members) = schema else { return };
    for key in ["oneOf", "anyOf", "allOf", "$ref"] {
        if members.contains_key(key) {
            found.push(format!("{path}/{key}"));
        }
    }
    if let Some(items) = members.get("items") {
        if items.get("type").is_none() {
            found.push(format!("{path}/items without a type"));
        }
        refused_by_clients(items, &format!("{path}/items"), found);
    }
    for (name, field) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
        refused_by_clients(field, &format!("{path}/{name}"), found);
    }
}

#[tokio::test]
async fn schemas_of_tools_have_no_alternatives() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let mut listed = 0;
    for path in ["/api/mcp", "/api/mcp?toolsets=all", "/api/mcp?toolsets=read-only"] {
        let tools = client.rpc(path, "tools/list", json!({})).await.expect(200);
        for tool in tools["result"]["tools"].as_array().unwrap() {
            let mut found = Vec::new();
            refused_by_clients(&tool["inputSchema"], "", &mut found);
            assert_eq!(found, Vec::<String>::new(), "{path} {}", tool["name"]);
            if let Some(output) = tool.get("outputSchema") {
                let alternatives = ["oneOf", "anyOf", "allOf"].iter().any(|key| output.get(key).is_some());
                assert!(!alternatives && output["type"] == "object", "{path} {}: {output}", tool["name"]);
            }
            listed += 1;
        }
    }
    assert!(listed > 40, "{listed}");
    for (fields, words) in [
        (json!({ "models": ["maker0/line-0", "maker1/line-1"], "preset": "budget" }), "models"),
        (json!({}), "models"),
    ] {
        let mut panel = fields.clone();
        panel["name"] = json!("mine");
        let refused = client
            .rpc("/api/mcp?toolsets=all", "tools/call", json!({ "name": "create_panel", "arguments": panel }))
            .await
            .expect(200);
        let said = refused["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(refused["result"]["isError"] == true && said.contains(words), "{fields}: {refused}");
    }
}

#[tokio::test]
async fn questions_hold_texts_from_files_and_terminals() {
    let service = Service::start().await;
    let client = service.user().await;
    let asked = "Is this fine?\u{c}\u{1b}[1mPage 2\u{1b}[0m\u{2028}\u{2067}שלום 葛\u{e0101}";
    let converted = "Is this fine?\nPage 2\n\u{2067}שלום 葛\u{e0101}\u{2069}";
    let poll = client.poll(json!({ "question": asked })).await.expect(200);
    assert_eq!(poll["question"], converted);
    let has_notice = |poll: &Value| poll["notices"].to_string().contains("in the question, form feeds");
    assert!(has_notice(&poll), "{poll}");
    assert!(
        service.upstream().all_received().iter().all(|request| !request.body.to_string().contains("\\u001b"))
    );
    // The notice is for the owner.
    let id = poll["poll_id"].as_str().unwrap();
    let public = service.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
    assert!(public["question"] == converted && !has_notice(&public), "{public}");

    let chat = json!({
        "model": "poll",
        "messages": [{ "role": "user", "content": "Is this fine?\u{c}Page 2" }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "x", "schema": {
            "type": "object", "properties": { "fine": { "enum": ["yes", "no"] } }, "required": ["fine"]
        } } },
    });
    let reply = client.post("/v1/chat/completions", &chat).await;
    assert!(reply.header("poll-notices").contains("in the question, form feeds"), "{}", reply.text);

    for (members, character) in [
        (json!({ "question": "Is this one fine? \u{1b}]0;never closed" }), "U+001B"),
        (json!({ "question": "Is this one fine? a\u{e0101}" }), "U+E0101"),
        (json!({ "question": "Is this one fine? 葛\u{e0101}\u{e0102}" }), "U+E0102"),
        (json!({ "options": ["fine", "not\u{2067}fine"] }), "U+2067"),
        (json!({ "options": ["fine", "not\u{c}fine"] }), "U+000C"),
    ] {
        let message = client.poll(members.clone()).await.refused(400);
        assert!(message.contains(character), "{members}: {message}");
    }
}
