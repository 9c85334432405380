//! Pages about the service: the models, the confidence of results, and the operator's texts.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

use ep_upstream::testing::{Script, priced};
use reqwest::Method;
use serde_json::json;

use crate::harness::{Client, Reply, Setup, until};

async fn get(client: &Client, path: &str, accept: &str) -> Reply {
    client.send(client.request(Method::GET, path).header("accept", accept)).await
}

/// Returns the names in the table's rows.
fn names(page: &str) -> Vec<String> {
    let rows = page.split("<span data-words><b>").skip(1);
    rows.map(|row| row.split("</b>").next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn registry_lists_the_presets_of_a_model() {
    let service = Setup::scripted(Script::panel(60)).boot().await;
    let registry = service.anonymous().get("/api/models").await.expect(200);
    let user = service.user().await;
    for preset in ["fast_and_cheap", "budget"] {
        let poll = user
            .poll(json!({ "preset": preset, "confidence_threshold": 1, "pace": "fast" }))
            .await
            .expect(200);
        let asked: HashSet<&str> =
            poll["votes"].as_array().unwrap().iter().map(|vote| vote["model_id"].as_str().unwrap()).collect();
        let named: HashSet<&str> = registry["variants"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|model| model["presets"].as_array().unwrap().contains(&json!(preset)))
            .map(|model| model["id"].as_str().unwrap())
            .collect();
        assert!(!asked.is_empty() && asked.is_subset(&named), "{preset}: {asked:?} of {named:?}");
        let result = format!("/api/results/{}", poll["poll_id"].as_str().unwrap());
        let result = service.anonymous().get(&result).await.expect(200);
        let count = |name: &str| result[name].as_u64().unwrap();
        assert_eq!(named.len() as u64, count("models_requested") + count("models_skipped"));
    }
}

#[tokio::test]
async fn model_list_is_sorted_and_filtered_by_links() {
    let mut script = Script::panel(320);
    script.models.push(priced("maker9/<b>bold</b>|", "0.000001", "0.0000025"));
    let service = Setup::scripted(script).boot().await;
    let client = service.anonymous();
    let page = client.get("/models").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), "public, max-age=300");
    assert_eq!(names(&page.text).len(), 321);
    let row = page.text.split("<tr").find(|row| row.contains("bold")).unwrap();
    for cell in ["data-label=\"Input\">$1.00<", "data-label=\"Output\">$2.50<", ">30 votes for 1 cent<"] {
        assert!(row.contains(cell) && !row.contains("<b>bold"), "{row} lacks {cell}");
    }
    assert!(!page.text.contains("imulated"), "these are no simulated models");
    let known = client.request(Method::GET, "/models").header("if-none-match", page.header("etag"));
    assert_eq!(client.send(known).await.status, 304);

    let listed = names(&page.text);
    let by_name = names(&client.get("/models?sort=model").await.text);
    let mut expected = listed.clone();
    expected.sort_by_key(|name| name.to_lowercase());
    assert_eq!(by_name, expected);
    assert_ne!(by_name, listed);
    let dearest = client.get("/models?sort=input").await;
    assert!(names(&dearest.text).last().unwrap().contains("bold"));
    assert!(
        dearest
            .text
            .contains("class=\"number\" aria-sort=\"ascending\"><a class=\"sort\" href=\"/models\">Input")
    );
    let few = client.get("/models?preset=budget&sort=nonsense").await;
    let count = names(&few.text).len();
    assert!(few.text.contains(&format!(" aria-current=\"true\">Budget <small>{count}<")), "{count}");
    assert!((1..=50).contains(&count));
    assert_eq!(names(&client.get("/models?preset=nonsense").await.text), listed);

    let twin = client.get("/models.md").await;
    let negotiated = get(&client, "/models", "text/markdown").await;
    assert_eq!((twin.header("content-type"), &negotiated.text), ("text/markdown; charset=utf-8", &twin.text));
    assert!(twin.text.contains("\\<b\\>bold\\</b\\>\\|"), "the cell is escaped");
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(rows(&twin.text), 322);

    // Without a script, the server searches; a script shows the hidden rows for another search.
    let found = client.get("/models?q=MAKER9+bold&sort=model").await.text;
    let hidden = found.matches("<tr hidden>").count();
    assert_eq!((names(&found).len() - hidden, hidden), (1, 320));
    assert!(found.contains("1 of 321 models match.") && found.contains("name=\"q\" value=\"MAKER9 bold\""));
    assert!(
        found.contains("name=\"sort\" value=\"model\"") && found.contains("?q=MAKER9+bold&#38;sort=input")
    );
    assert_eq!(rows(&client.get("/models.md?q=bold").await.text), 2);
    let none = client.get("/models?q=%3Cscript%3E").await.text;
    assert!(none.contains("No model matches") && !none.contains("<script>"));
    let sitemap = client.get("/sitemap.xml").await.text;
    assert!(sitemap.contains(&format!("<loc>{}/models</loc>", service.url)), "{sitemap}");
}

#[tokio::test]
async fn models_page_shows_statistics_after_enough_votes() {
    let service = Setup::scripted(Script::panel(3)).seeded(5).boot().await;
    let (user, nobody) = (service.user().await, service.anonymous());
    let ask =
        json!({ "confidence_threshold": 1, "pace": "fast", "models": ["maker0/*", "maker1/*", "maker2/*"] });
    let before = nobody.get("/models").await.text;
    assert!(before.contains("from 30 votes on") && !before.contains("With the majority</a>"));
    for _ in 0..31 {
        user.poll(ask.clone()).await.expect(200);
    }
    let read = async || {
        service.clock.as_ref().unwrap().advance(Duration::from_mins(5));
        nobody.get("/api/reputation/models").await.expect(200)["models"][0].clone()
    };
    let model = until("the votes are counted", read, |model| model["votes"] == 31).await;
    let page = nobody.get("/models?sort=majority").await.text;
    assert!(page.contains("aria-sort=\"descending\"") && page.contains("from 30 votes on"), "{page}");
    let id = model["model_id"].as_str().unwrap();
    let row = page.split("<tr>").find(|row| row.contains(&format!(">{id}</code>"))).unwrap();
    let share = |name: &str| format!("{:.1} %</td>", model[name].as_f64().unwrap() * 100.0);
    for expected in [share("success_rate"), share("with_outcome_rate")] {
        assert!(row.contains(&expected), "{row} lacks {expected}");
    }
}

#[tokio::test]
async fn models_page_states_simulated_and_missing_models() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    for path in ["/models", "/models.md"] {
        assert!(client.get(path).await.text.contains("Simulated models"), "{path}");
    }
    let off = Setup { script: None, ..Setup::default() }.with("EP_DEMO", "off").boot().await;
    let client = off.anonymous();
    let page = get(&client, "/models", "text/html").await;
    assert_eq!((page.status, page.header("content-type")), (503, "text/html; charset=utf-8"));
    assert!(page.text.contains("EP_UPSTREAM_URL"), "{}", page.text);
    client.get("/models").await.refused(503);
}

#[tokio::test]
async fn operator_texts_follow_the_settings() {
    let plain = Setup::demo().with("EP_BILLING", "off").boot().await;
    let client = plain.anonymous();
    let privacy = client.get("/privacy.md").await.text;
    for words in ["is deleted after 90 days", "after 24 hours without use", "after 14 days at the latest"] {
        assert!(privacy.contains(words), "{words}: {privacy}");
    }
    assert!(privacy.contains("The models here are simulated") && !privacy.contains("Stripe"));
    let terms = client.get("/terms.md").await.text;
    assert!(
        terms.contains("Nothing is charged here")
            && !terms.contains("## Refunds")
            && !terms.contains("## Law")
    );
    assert!(client.get("/about.md").await.text.contains("The models of this service are simulated"));

    let setup = Setup::default()
        .with("EP_OPERATOR_NAME", "Example <b>Polls</b> Ltd")
        .with("EP_OPERATOR_URL", "https://example.com/imprint")
        .with("EP_CONTACT", "help@example.com")
        .with("EP_OPERATOR_TERMS_URL", "https://example.com/terms")
        .with("EP_OPERATOR_PRIVACY_URL", "https://example.com/privacy")
        .with("EP_OPERATOR_REFUNDS", "Within 14 days what is left is paid back.")
        .with("EP_OPERATOR_LAW", "Austrian law; the courts of Vienna.")
        .with("EP_KEEP_ANONYMOUS_DAYS", "0")
        .with("EP_SESSION_IDLE_HOURS", "7")
        .with("EP_STRIPE_SECRET_KEY", "sk_test_1")
        .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_1");
    let service = setup.boot().await;
    let client = service.anonymous();
    let (privacy, terms) = (client.get("/privacy").await, client.get("/terms").await);
    for (page, words) in [
        (&privacy, "href=\"https://example.com/privacy\""),
        (&privacy, "is stored until the operator deletes it"),
        (&privacy, "after 7 hours without use"),
        (&privacy, "never receives card numbers"),
        (&privacy, "href=\"mailto:help@example.com\""),
        (&terms, "href=\"https://example.com/terms\""),
        (&terms, "Within 14 days what is left is paid back."),
        (&terms, "Austrian law; the courts of Vienna."),
        (&terms, "charged-back payment is deducted from the balance"),
    ] {
        assert!(page.text.contains(words), "{words}: {}", page.text);
    }
    for path in ["/about", "/privacy", "/terms", "/how-sure"] {
        let page = client.get(path).await;
        assert!(page.header("content-security-policy").contains("style-src 'self'"), "{path}");
        assert!(page.text.contains(&format!("<link rel=\"canonical\" href=\"{}{path}\">", service.url)));
        assert!(!page.text.contains("<b>Polls"), "{path}");
        let twin = client.get(&format!("{path}.md")).await;
        let negotiated = get(&client, path, "text/markdown").await;
        assert_eq!(
            (twin.header("content-type"), &twin.text),
            ("text/markdown; charset=utf-8", &negotiated.text)
        );
        assert!(twin.header("link").contains("rel=\"canonical\""), "{path}");
        for listing in ["/sitemap.xml", "/index.md"] {
            assert!(client.get(listing).await.text.contains(&format!("{}{path}", service.url)), "{listing}");
        }
    }
    // Every page links to them, including error pages.
    let lost = get(&client, "/nowhere", "text/html").await.text;
    for path in ["/about", "/privacy", "/terms", "/how-sure", "/models"] {
        assert!(lost.contains(&format!("<a href=\"{path}\">")), "{path}");
    }
}

/// `/privacy` describes the data in these tables. For a new table, add its personal data and retention there,
/// then list it here.
#[test]
fn privacy_page_covers_every_table() {
    let described = [
        "a2a_pushes",
        "a2a_tasks",
        "accounts",
        "api_keys",
        "batch_answers",
        "batch_notifications",
        "batch_rows",
        "batches",
        "calibration",
        "cancellations",
        "card_refund_failures",
        "card_reversals",
        "checkouts",
        "deposits",
        "erased_batches",
        "evaluations",
        "feedback",
        "file_chunks",
        "files",
        "heartbeats",
        "holds",
        "identities",
        "key_spending",
        "notifications",
        "panels",
        "plans",
        "polls",
        "rate_limits",
        "replays",
        "reputation_models",
        "reputation_polls",
        "reputation_readers",
        "reputation_service",
        "reputation_slots",
        "rosters",
        "sessions",
        "starter_credits",
        "transfers",
        "upstream_registries",
        "upstream_rungs",
        "used_nonces",
        "users",
        "votes",
        "webhooks",
    ];
    let mut tables = BTreeSet::new();
    for engine in ["sqlite", "postgres"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(engine);
        for file in std::fs::read_dir(folder).unwrap() {
            let sql = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let created = sql
                .lines()
                .filter_map(|line| line.split("TABLE ").nth(1).filter(|_| line.contains("CREATE")));
            tables.extend(created.map(|rest| {
                rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap().to_owned()
            }));
        }
    }
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    assert_eq!(tables, described);
}
