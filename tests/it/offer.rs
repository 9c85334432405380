//! Compares the claims of documents with the routes, in every kind of configuration.

use std::collections::BTreeSet;

use ep_pages::documents::DOCUMENTS;
use ep_polling::MicroUsd;
use ep_site::names::API_REFERENCE;
use ep_upstream::testing::{Script, bare, priced};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Reply, Service, Setup, WalletLibraries, question};

/// The configurations, each with its name.
fn setups() -> Vec<(&'static str, Setup)> {
    let local =
        Script { models: (0..4).map(|n| bare(&format!("local{n}:7b"))).collect(), ..Script::default() };
    let cards = |setup: Setup| {
        setup
            .with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
            .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_test")
            .with("EP_STRIPE_API_URL", "http://127.0.0.1:9")
    };
    let usdc = |setup: Setup| {
        setup
            .with("EP_X402_NETWORK", "eip155:84532")
            .with("EP_X402_FACILITATOR_URL", "http://127.0.0.1:9")
            .with("EP_X402_PAY_TO", "0x000000000000000000000000000000000000dEaD")
    };
    let sign_in = |setup: Setup| {
        setup
            .with("EP_AUTH_ISSUER_URL", "http://127.0.0.1:9")
            .with("EP_AUTH_CLIENT_ID", "polls")
            .with("EP_AUTH_CLIENT_SECRET", "a secret of the client")
    };
    vec![
        ("demo", Setup::demo()),
        ("a local upstream without prices", Setup::scripted(local)),
        ("an upstream with prices", Setup::default().with("EP_STARTER_CREDIT_USD", "0")),
        ("billing off", usdc(cards(Setup::demo())).with("EP_BILLING", "off")),
        ("cards", cards(Setup::default())),
        ("USDC", usdc(Setup::default())),
        ("sign-in", sign_in(Setup::default())),
        ("a public base URL", Setup::demo().with("EP_BASE_URL", "https://polls.example.com")),
        (
            "no models",
            Setup { script: None, ..Setup::default() }.with("EP_DEMO", "off").with("EP_BILLING", "off"),
        ),
    ]
}

/// The behaviour of the routes.
#[derive(Debug)]
struct State {
    charges: bool,
    cards: bool,
    usdc: bool,
    sign_in: bool,
    starter_credit: bool,
    simulated: bool,
    models: bool,
}

/// Returns the code of a problem; empty for a success.
fn code(reply: &Reply) -> String {
    let problem: Value = serde_json::from_str(&reply.text).unwrap_or_default();
    problem["code"].as_str().unwrap_or_default().to_owned()
}

impl State {
    async fn of(service: &Service, wallets: &WalletLibraries) -> Self {
        let (user, poor) = service.user_with(MicroUsd::ZERO).await;
        let (cookie, nobody) = (service.cookie(user).await, service.anonymous());
        let call = |method: Method, path: &str, body: Option<Value>| {
            let request = nobody.request(method, path).header("x-machine-client", "true");
            let request = request.header("cookie", cookie.clone()).header("sec-fetch-site", "same-origin");
            nobody.send(match body {
                Some(body) => request.json(&body),
                None => request,
            })
        };
        let checkout = call(Method::POST, "/api/checkout", Some(json!({ "amount_cents": 500 }))).await;
        let deposit = call(Method::POST, "/api/deposit", Some(json!({ "amount_usd": 5 }))).await;
        let login = call(Method::GET, "/api/auth/login", None).await;
        let models = call(Method::GET, "/api/models", None).await;
        let poll = poor.post_with("/api/poll", &question(json!({})), &[("x-machine-client", "true")]).await;
        let wallet = wallets.wallet().await;
        let made = wallets.sign_in(&nobody, &wallet, &[]).await.expect(200);
        let made = nobody.with_key(made["api_key"].as_str().unwrap()).get("/api/balance").await.expect(200);
        let registry: Value = serde_json::from_str(&models.text).unwrap_or_default();
        Self {
            charges: poll.status == 402 || poll.text.contains("polls are charged to accounts here"),
            cards: code(&checkout) != "not_configured",
            usdc: deposit.status == 402,
            sign_in: code(&login) != "not_configured",
            starter_credit: made["balance_cents"].as_i64().unwrap() > 0,
            simulated: registry["simulated"] == true,
            models: models.status == 200,
        }
    }
}

/// Collects the texts of a document that offer something, without the parts marked as unavailable.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => {
            let marked = |name: &str| members.get(name).and_then(Value::as_str).is_some_and(is_marked);
            if marked("description") || marked("unavailable") {
                return;
            }
            members
                .iter()
                .filter(|(name, _)| *name != "components")
                .for_each(|(_, member)| texts(member, found));
        }
        _ => {}
    }
}

fn is_marked(text: &str) -> bool {
    text.starts_with("Not offered here")
}

/// Collects the texts of the schemas that the offered operations of an OpenAPI description use.
fn schema_texts(description: &Value, found: &mut Vec<String>) {
    let offered = description["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    let offered = offered.flat_map(|path| path.as_object().into_iter().flat_map(|methods| methods.values()));
    let mut left: Vec<&Value> =
        offered.filter(|operation| !is_marked(&text(&operation["description"]))).collect();
    let mut seen = BTreeSet::new();
    while let Some(value) = left.pop() {
        match value {
            // A balance can remain from before billing was switched off.
            Value::String(reference)
                if reference.starts_with("#/components/schemas/")
                    && !reference.ends_with("/DeleteAccountInput")
                    && seen.insert(reference) =>
            {
                let schema = description.pointer(&reference[1..]).unwrap();
                texts(schema, found);
                left.push(schema);
            }
            Value::Array(items) => left.extend(items),
            Value::Object(members) => left.extend(members.values()),
            _ => {}
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns a page without its markup.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        let (tag, rest) = part.split_once('>').unwrap_or(("", part));
        if !tag.starts_with("script") && !tag.starts_with("style") {
            text.push(' ');
            text.push_str(rest);
        }
    }
    text
}

/// Returns a phrase with the surrounding words.
fn around(text: &str, phrase: &str) -> String {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let phrase: Vec<char> = phrase.chars().collect();
    let at = text.windows(phrase.len()).position(|window| window == phrase).unwrap_or_default();
    text.iter().skip(at.saturating_sub(60)).take(phrase.len() + 120).collect()
}

/// Returns the words of a text, in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.to_lowercase();
    words.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
}

/// Returns every document and page.
async fn documents(service: &Service) -> Vec<(String, String)> {
    let client = service.anonymous();
    let mut paths: BTreeSet<(String, &'static str)> = BTreeSet::new();
    // The API reference renders the OpenAPI description, which is read instead.
    for document in DOCUMENTS.iter().filter(|document| document.name != API_REFERENCE) {
        for path in (document.paths)(&service.site) {
            paths.extend(document.forms.iter().map(|form| {
                let kind = form.media_type.split(';').next().unwrap();
                (path.clone(), kind)
            }));
        }
    }
    paths.extend(["/", "/login", "/models"].map(|path| (path.to_owned(), "text/html")));
    let mut read = Vec::new();
    for (path, kind) in paths {
        let is_read = kind.contains("json") || ["text/html", "text/markdown", "text/plain"].contains(&kind);
        if !is_read || kind.contains("manifest") {
            continue;
        }
        let request = client.request(Method::GET, &path).header("accept", kind);
        let reply = client.send(request).await;
        if reply.status != 200 {
            assert!([404, 503].contains(&reply.status), "{path}: {}", reply.text);
            continue;
        }
        let text = match serde_json::from_str::<Value>(&reply.text) {
            Ok(value) if value.is_object() || value.is_array() => {
                let mut found = Vec::new();
                texts(&value, &mut found);
                schema_texts(&value, &mut found);
                found.join("\n")
            }
            _ if reply.header("content-type").starts_with("text/html") => without_tags(&reply.text),
            // A list marks unavailable items in its lines.
            _ => reply
                .text
                .lines()
                .filter(|line| !line.contains("Not offered here"))
                .fold(String::new(), |text, line| text + line + "\n"),
        };
        read.push((format!("{path} ({kind})"), text));
    }
    let (user, _) = service.user_with(MicroUsd::ZERO).await;
    let account = client.request(Method::GET, "/dashboard").header("cookie", service.cookie(user).await);
    let account = client.send(account.header("accept", "text/html")).await;
    assert_eq!(account.status, 200, "{}", account.text);
    read.push(("/dashboard".to_owned(), without_tags(&account.text)));
    assert!(read.len() > 40, "{}", read.len());
    read
}

#[tokio::test]
async fn documents_match_the_behaviour_of_the_routes() {
    let (mut wrong, wallets) = (Vec::new(), WalletLibraries::start());
    for (name, setup) in setups() {
        let service = setup.boot().await;
        let state = State::of(&service, &wallets).await;
        if state.starter_credit && !state.charges {
            wrong.push(format!("{name}: a starter credit, although nothing is charged"));
        }
        for (place, text) in documents(&service).await {
            let words = words(&text);
            let has =
                |any: &[&str]| any.iter().find(|word| words.contains(**word)).map(|word| (*word).to_owned());
            let says = |phrase: &str| text.to_lowercase().contains(phrase).then(|| phrase.to_owned());
            let claims = [
                (
                    state.charges,
                    has(&["balance", "credit", "credits", "credited", "402", "insufficient_balance"]),
                ),
                (
                    state.cards,
                    has(&["stripe", "checkout"]).or_else(|| says("by card")).or_else(|| says("credit card")),
                ),
                (state.usdc, has(&["usdc", "x402", "deposits"])),
                (state.sign_in, says("/api/auth/login")),
                (state.starter_credit, says("starter credit").or_else(|| says("starts with $"))),
                (
                    state.simulated,
                    says("models of this service are simulated").or_else(|| says("(simulated models")),
                ),
                (!state.models, says("no models are configured")),
                (false, says("$0.01")),
            ];
            for claim in claims.into_iter().filter(|(holds, _)| !holds).filter_map(|(_, claim)| claim) {
                wrong.push(format!("{name}: {place} says {claim:?}: {}", around(&text, &claim)));
            }
        }
        // Required statements.
        let client = service.anonymous();
        for path in
            ["/llms.txt", "/index.md", "/.well-known/agent-card.json", "/api/agent-card", "/api/openapi.json"]
        {
            let text = client.send(client.request(Method::GET, path)).await.text;
            for (must, phrase) in [
                (state.simulated, "models of this service are simulated"),
                (!state.models, "No models are configured here yet"),
            ] {
                if must && !text.contains(phrase) {
                    wrong.push(format!("{name}: {path} does not say {phrase:?}"));
                }
            }
        }
        let funding = client.send(client.request(Method::GET, "/docs/funding.md")).await;
        if (funding.status == 200) != state.charges || funding.text.contains("eip155:84532") != state.usdc {
            wrong.push(format!("{name}: /docs/funding.md is {}: {}", funding.status, funding.text));
        }
        if state.cards != funding.text.contains("/api/checkout") {
            wrong.push(format!("{name}: /docs/funding.md and cards"));
        }
        // The matcher proposes and lists what the list of intents names.
        let intents = client.get("/api/intents").await.expect(200);
        let intents = intents["intents"].as_array().unwrap();
        let offered: BTreeSet<String> = intents.iter().map(|intent| text(&intent["operation"])).collect();
        let phrases = ["pay by card", "make a deposit in USDC", "add money to a key", "what is my balance"];
        for phrase in phrases.into_iter().chain(["qwertz uiop"]) {
            let found = client.post("/api/intents/match", &json!({ "text": phrase })).await.expect(200);
            let proposed =
                found["matches"].as_array().unwrap().iter().chain(found["available"].as_array().unwrap());
            for operation in proposed.map(|proposed| text(&proposed["operation"])) {
                if !offered.contains(&operation) {
                    wrong.push(format!("{name}: {phrase:?} proposes {operation}"));
                }
            }
        }
        let free = json!({ "question": "Is a hot dog a sandwich?", "dry_run": true });
        let asks_free = client.post("/api/poll", &free).await.status == 200;
        let card = client.get("/api/agent-card").await.expect(200);
        if card["capabilities"]["polls_without_account"] != asks_free {
            wrong.push(format!("{name}: polls_without_account, but a free poll is possible: {asks_free}"));
        }
        let (_, agent) = service.user_with(MicroUsd::STARTER_CREDIT).await;
        let all = agent.rpc("/api/mcp?toolsets=all", "tools/list", json!({})).await.expect(200);
        let uri = "ensemble-poll://guide";
        let guide =
            agent.mcp(json!({}), "resources/read", Some(uri), json!({ "uri": uri })).await.expect(200);
        let errors = client.get("/api/errors/catalog").await.expect(200);
        for (place, shown, said) in [
            ("tools/list", all.to_string(), "\"get_balance\""),
            ("the guide", guide.to_string(), "get_balance"),
            ("the catalogue of errors", errors.to_string(), "insufficient_balance"),
        ] {
            if shown.contains(said) != state.charges {
                wrong.push(format!("{name}: {place} and {said}"));
            }
        }
        // What is marked as not offered, or left out, does answer so.
        for route in &service.site.routes {
            let Some(lack) = service.site.settings.offer.lacks_route(route) else { continue };
            let Some(expected) = lack.status else { continue };
            let method: Method = route.method.as_str().parse().unwrap();
            let (user, with_key) = service.user_with(MicroUsd::STARTER_CREDIT).await;
            let request = match route.access.key || route.access.anonymous {
                true if route.access.key => with_key.request(method.clone(), &route.path),
                true => client.request(method.clone(), &route.path),
                false => client
                    .request(method.clone(), &route.path)
                    .header("cookie", service.cookie(user).await)
                    .header("sec-fetch-site", "same-origin"),
            };
            let body = match route.name {
                "deposit" => json!({ "amount_usd": 5 }),
                name => ep_tools::find(name).map_or(json!({}), crate::harness::example),
            };
            let reply = client.send(if method == Method::POST { request.json(&body) } else { request }).await;
            if reply.status != expected {
                wrong.push(format!(
                    "{name}: {} {} is {}, not {expected}",
                    route.method.as_str(),
                    route.path,
                    reply.status
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong claims:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn documents_quote_the_current_price() {
    let places = ["/api/routing-descriptions.json", "/docs/start.md", "/docs/funding.md"];
    let cheap = Setup::default();
    let dear = Script {
        models: (0..8).map(|n| priced(&format!("maker{n}/dear"), "0.0000004", "0.0000004")).collect(),
        ..Script::default()
    };
    let mut quoted = BTreeSet::new();
    for setup in [cheap, Setup::scripted(dear)] {
        let service = setup.boot().await;
        let client = service.anonymous();
        let estimate = client.get("/api/poll/estimate").await.expect(200);
        let (least, all) = (&estimate["cost_usd_at_least"], &estimate["cost_usd_typical_full_roster"]);
        let routes = client.get(places[0]).await.expect(200);
        let routes = routes["routes"].as_array().unwrap();
        let poll = routes.iter().find(|route| route["name"] == "poll_question").unwrap();
        let expected = json!({
            "preset": estimate["preset"],
            "models": estimate["models"],
            "usd_at_least": least,
            "usd_typical_full_roster": all,
        });
        assert_eq!(poll["cost"]["estimate"], expected);
        for guide in &places[1..] {
            let text = client.get(guide).await.text;
            for figure in [least, all] {
                let figure = MicroUsd::new((figure.as_f64().unwrap() * 1e6).round() as i64).to_string();
                assert!(text.contains(&format!(" {figure} ")), "{guide} does not say {figure}: {text}");
            }
        }
        quoted.insert(all.to_string());
    }
    assert_eq!(quoted.len(), 2, "{quoted:?}");

    // Without models there is no price, but the documents are served.
    let away = Setup { script: None, ..Setup::default() }
        .with("EP_UPSTREAM_URL", "http://127.0.0.1:9/v1")
        .boot()
        .await;
    for place in places {
        let reply = away.anonymous().get(place).await;
        assert!(
            reply.status == 200 && !reply.text.contains("At the current prices"),
            "{place}: {}",
            reply.text
        );
    }
}
