//! The page about the confidence of results, and the page that opens a result.

use std::path::Path;

use ep_polling::Evidence;
use ep_polling::stopping::p_value;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Client, Reply, Setup, node, until};

async fn get(client: &Client, path: &str, accept: &str) -> Reply {
    client.send(client.request(reqwest::Method::GET, path).header("accept", accept)).await
}

#[tokio::test]
async fn how_sure_shows_the_committed_figures() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let page = client.get("/how-sure").await.text;
    assert_eq!((page.matches("role=\"img\"").count(), page.matches("<polyline").count()), (5, 14));
    assert!(!page.contains('\u{fffc}') && page.contains("stops at 6 to 0, 8 to 1, 9 to 2, 10 to 3 votes"));
    let text = client.get("/how-sure.md").await.text;
    assert!(text.contains("agrees less often than its level claims at 50 % and 80 %."), "{text}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/stopping-figures.json");
    let figures: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    for set in figures["sets"].as_array().unwrap() {
        let name = set["set"].as_str().unwrap();
        assert!(page.contains(name) && text.contains(name), "{name}");
        for at in set["thresholds"].as_array().unwrap() {
            let count = |name: &str| at["bridge"][name].as_f64().unwrap();
            let asked = 100.0 * count("calls") / count("polls") / set["models"].as_f64().unwrap();
            let asked = format!("{asked:.1} %");
            assert!(page.contains(&asked) && text.contains(&asked), "{name}: {asked}");
        }
    }
    let id = client
        .post("/api/poll", &json!({ "question": "Is a hot dog a sandwich?", "options": ["Yes", "No"] }))
        .await
        .expect(200)["poll_id"]
        .clone();
    let result = client.get(&format!("/results/{}", id.as_str().unwrap())).await.text;
    assert!(result.contains("<a href=\"/how-sure\">How sure is a result?</a>"));
}

#[tokio::test]
async fn poll_to_try_follows_the_query() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let page = client.get("/how-sure?panel=25&leader=8&runner_up=1&threshold=80").await;
    assert_eq!((page.status, page.header("cache-control")), (200, "public, max-age=3600"));
    for shown in [
        ">98.1 %<",
        ">The poll stops here and does not ask the other 16.<",
        "name=\"leader\" min=\"0\" max=\"100\" value=\"8\"",
    ] {
        assert!(page.text.contains(shown), "{shown}");
    }
    let plain = client.get("/how-sure").await;
    assert!(plain.text.contains(">88.8 %<") && plain.header("cache-control") == "public, max-age=3600");
    let twin = client.get("/how-sure.md").await.text;
    assert!(
        twin.contains("In a panel of 50 models, 11 to 3 votes are 88.8 % sure. The poll goes on until 95 %.")
    );
    assert_eq!(get(&client, "/how-sure?panel=25", "text/markdown").await.text, twin);
}

/// The script of the page has its own implementation of the bound.
#[tokio::test]
async fn script_computes_the_confidence_of_the_service() {
    let mut table = Vec::new();
    for panel in [3_u32, 4, 11, 25, 50, 99, 100] {
        for rival in (0..panel / 2).step_by(if panel > 25 { 7 } else { 1 }) {
            for leader in rival..=(panel - rival).min(rival + 24) {
                table.push((leader, rival, panel - leader - rival));
            }
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/how-sure.js");
    let program = "const { pValue } = await import(process.argv[1]); \
                   console.log(JSON.stringify(JSON.parse(process.argv[2]).map((of) => pValue(...of))))";
    let table_text = serde_json::to_string(&table).unwrap();
    let run = Command::new(node())
        .args(["--input-type=module", "--eval", program, "--"])
        .arg(script)
        .arg(table_text)
        .output()
        .await
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let computed: Vec<f64> = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(computed.len(), table.len());
    for ((leader, rival, remaining), computed) in table.into_iter().zip(computed) {
        let expected = p_value(Evidence { leader, rival, remaining });
        assert!(
            (computed - expected).abs() <= 1e-9 * expected,
            "{leader} to {rival}, {remaining}: {computed}, not {expected}"
        );
    }
}

#[tokio::test]
async fn results_are_opened_by_link_or_id() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let id = "EP-20260101-0000000000";
    for poll in
        [id.to_owned(), format!("https%3A%2F%2Fep.example%2Fresults%2F{id}.md%3Fx%3D1"), format!("+{id}%0A")]
    {
        let reply = client.get(&format!("/results?poll={poll}")).await;
        assert_eq!(
            (reply.status, reply.header("location")),
            (303, format!("/results/{id}").as_str()),
            "{poll}"
        );
    }
    let path = "/results?poll=%22%3E%3Cscript%3E";
    assert!(client.get(path).await.refused(404).contains("names no poll"));
    let wrong = get(&client, path, "text/html").await;
    assert_eq!((wrong.status, wrong.header("content-type")), (404, "text/html; charset=utf-8"));
    assert!(
        wrong.text.contains("aria-invalid=\"true\"") && !wrong.text.contains("\"><script>"),
        "{}",
        wrong.text
    );

    let page = client.get("/results").await;
    assert_eq!((page.status, page.header("cache-control")), (200, "public, max-age=300"));
    assert!(!page.text.contains("EP-2") && page.text.contains("Nobody can guess a link"), "{}", page.text);
    let twin = get(&client, "/results", "text/markdown").await;
    assert_eq!(twin.header("content-type"), "text/markdown; charset=utf-8");
    assert!(twin.text.contains(&format!("{}/results/{{poll_id}}", service.url)), "{}", twin.text);
    let sitemap = client.get("/sitemap.xml").await.text;
    assert!(sitemap.contains(&format!("<loc>{}/results</loc>", service.url)), "{sitemap}");

    // A poll of a visitor is never listed; the example of the start page is.
    let asked = json!({ "question": "Is a hot dog a sandwich?", "options": ["Yes", "No"] });
    client.post("/api/poll", &asked).await.expect(200);
    client.get("/").await;
    let read = async || client.get("/results").await.text;
    let listed = until("the example is listed", read, |listed| listed.contains("/results/EP-")).await;
    assert!(!listed.contains("hot dog"), "{listed}");
}
