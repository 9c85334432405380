//! The recorded requests of clients (`scripts/long/openai-clients`), each sent again.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use ep_polling::MicroUsd;
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;

use crate::harness::Setup;

/// The requests of a case.
#[derive(Deserialize)]
struct Case {
    /// The number of polls that the case opens.
    polls: usize,
    requests: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Value,
    /// The body, if it is compressed.
    #[serde(default)]
    base64: Option<String>,
    status: u16,
}

#[tokio::test]
async fn requests_of_clients_get_the_recorded_status() {
    let cases: BTreeMap<String, Case> = serde_json::from_str(include_str!("openai_calls.json")).unwrap();
    assert!(cases.len() > 50 && cases.values().map(|case| case.polls).sum::<usize>() > 50);
    let service = Setup::demo().with("EP_OPENAI_ALIASES", "gpt-4o=poll,gpt-4.1=poll:0-10").boot().await;
    let client = service.user_with(MicroUsd::new(50_000_000)).await.1;
    for (name, case) in cases {
        for recorded in case.requests {
            let method = Method::from_bytes(recorded.method.as_bytes()).unwrap();
            let mut request = client.request(method, &recorded.path);
            for (header, value) in &recorded.headers {
                request = request.header(header, value);
            }
            request = match (&recorded.base64, &recorded.body) {
                (Some(bytes), _) => request.body(STANDARD.decode(bytes).unwrap()),
                (None, Value::Null) => request,
                (None, body) => request.body(body.to_string()),
            };
            let reply = client.send(request).await;
            assert_eq!(reply.status, recorded.status, "{name}: {}", reply.text);
        }
    }
}
