//! Pages for one visitor: the tables of the account page, and a header without a visitor on public pages.

use reqwest::Method;
use serde_json::json;

use crate::harness::Setup;
use crate::pages_account::{BROWSER, DASHBOARD, Visitor, between};

#[tokio::test]
async fn history_shows_the_winner_and_marks_private_polls() {
    let service = Setup::default().boot().await;
    let (visitor, owner) = Visitor::new(&service, 50).await;
    for private in [false, true] {
        let asked = format!("Is the mark {private}?");
        owner.poll(json!({ "question": asked, "private": private })).await.expect(200);
    }
    let page = visitor.page().await;
    let history = between(&page, "id=\"history\"", "</table>");
    let row = |asked: &str| history.split("<tr>").find(|row| row.contains(asked)).unwrap();
    let (public, private) = (row("Is the mark false?"), row("Is the mark true?"));
    assert!(
        !public.contains("aria-label=\"private\"") && private.contains("aria-label=\"private\""),
        "{history}"
    );
    let listed = owner.get("/api/results").await.expect(200);
    let winner = listed[0]["winningOption"].as_str().unwrap();
    assert!(
        private.contains(&format!("<bdi>{winner}</bdi>")) && private.contains("class=\"key\""),
        "{private}"
    );
    assert!(private.contains(&format!("href=\"/results/{}\"", listed[0]["resultId"].as_str().unwrap())));
    assert!(between(&page, "id=\"paid\"", "</table>").contains("+$50.00"), "{page}");
}

#[tokio::test]
async fn keys_are_listed_with_what_they_may_do() {
    let service = Setup::demo().boot().await;
    let (visitor, owner) = Visitor::new(&service, 50).await;
    for (terms, words) in [
        (json!({ "label": "one", "scope": "read" }), "read only"),
        (json!({ "label": "two", "scope": "polls", "daily_cap_usd": 2 }), "ask and read, up to $2.00 a day"),
        (json!({ "label": "three", "cap_usd": 7.5 }), "up to $7.50 in total"),
    ] {
        owner.post("/api/keys", &terms).await.expect(201);
        let page = visitor.page().await;
        let active = between(&page, "id=\"active\"", "</table>");
        let label = terms["label"].as_str().unwrap();
        let row = active.split("<tr>").find(|row| row.contains(&format!("<bdi>{label}</bdi>"))).unwrap();
        assert!(row.contains(words) && row.contains(">never</td>"), "{row}");
    }
}

#[tokio::test]
async fn public_pages_name_no_visitor() {
    let service = Setup::demo().boot().await;
    let (visitor, owner) = Visitor::new(&service, 5).await;
    let poll = owner.poll(json!({ "preset": "free" })).await.expect(200);
    let result = format!("/results/{}", poll["poll_id"].as_str().unwrap());
    for path in ["/about", "/models", "/docs", result.as_str()] {
        let own = visitor.get(path).await;
        let request = visitor.client.request(Method::GET, path).header("accept", BROWSER);
        let of_nobody = visitor.client.send(request).await;
        assert_eq!((own.status, &own.text), (200, &of_nobody.text), "{path}");
        let header = between(&own.text, "<header class=\"top\">", "</header>");
        assert!(header.contains("data-balance=\"/api/balance\">Sign in</a>"), "{path}: {header}");
        assert!(own.header("cache-control").starts_with("public"), "{path}");
    }
    let page = visitor.get(DASHBOARD).await;
    let header = between(&page.text, "<header class=\"top\">", "</header>");
    assert!(
        header.contains("<span class=\"number\">$5.00</span>") && !header.contains("Sign in"),
        "{header}"
    );
    assert_eq!(page.header("cache-control"), "no-store");
}
