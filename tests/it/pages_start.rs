//! The start page: polls without a script, errors and CSRF protection of the form.

use std::time::Duration;

use ep_polling::money::MicroUsd;
use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::json;

use crate::harness::{Client, Reply, Setup};

/// Names and values of fields or headers.
type Fields<'a> = &'a [(&'a str, &'a str)];

const OWN: (&str, &str) = ("sec-fetch-site", "same-origin");

async fn send(client: &Client, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Reply {
    let request = client.request(Method::POST, "/ask").form(fields);
    client.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

/// Returns the poll that a submitted form redirects to.
#[track_caller]
fn opened(reply: &Reply) -> String {
    assert_eq!(reply.status, 303, "{}", reply.text);
    reply.header("location").strip_prefix("/results/").unwrap().to_owned()
}

#[tokio::test]
async fn form_polls_the_free_models() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let form =
        [("question", "Which drink is best?"), ("options", "Tea\r\n\r\n Coffee \r\nMilk"), ("nonce", "1")];
    let id = opened(&send(&client, &form, &[OWN]).await);
    // Submitting the form twice opens one poll, even while it runs.
    assert_eq!(opened(&send(&client, &form, &[OWN]).await), id);
    let result = client.get(&format!("/api/results/{id}")).await.expect(200);
    assert_eq!(result["options"], json!(["Tea", "Coffee", "Milk"]));
    // Changed input opens a new poll.
    let changed = [("question", "Which drink is worst? [Tea, Coffee]"), ("nonce", "1")];
    assert_ne!(opened(&send(&client, &changed, &[OWN]).await), id);
    let again = client.get(&format!("/?again={id}")).await;
    assert!(again.text.contains("Which drink is best?") && again.text.contains("Tea\nCoffee\nMilk"));
    assert_eq!(client.get("/ask").await.header("location"), "/");
    client.get("/?again=EP-20260101-0000000000").await.refused(404);
}

#[tokio::test]
async fn every_visitor_gets_a_separate_form() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    // The earlier page opened the example poll, which appears after it has ended.
    for _ in 0..100 {
        if client.get("/").await.text.contains("<article class=\"example\">") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let [one, other] = [client.get("/").await.text, client.get("/").await.text];
    assert!(one.contains("<article class=\"example\">"), "{one}");
    let nonce = |page: &str| {
        page.split("name=\"nonce\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    assert_ne!(nonce(&one), nonce(&other));
    assert_eq!(one.replace(&nonce(&one), ""), other.replace(&nonce(&other), ""));
}

#[tokio::test]
async fn form_polls_the_panel_of_an_account() {
    let service = Setup::scripted(Script::panel(8)).boot().await;
    let (user, owner) = service.user_with(MicroUsd::new(5_000_000)).await;
    let cookie = service.cookie(user).await;
    let signed_in = [OWN, ("cookie", cookie.as_str())];
    let client = service.anonymous();
    let page = client.send(client.request(Method::GET, "/").header("cookie", &cookie)).await;
    assert!(page.text.contains("$5.00 left"), "{}", page.text);
    let fields = |question, who| {
        [
            ("question", question),
            ("options", "Yes\nNo"),
            ("who", who),
            ("max_cost", "0.5"),
            ("private", "yes"),
        ]
    };
    let id = opened(&send(&client, &fields("Is a hot dog a sandwich?", "quick"), &signed_in).await);
    let result = owner.get(&format!("/api/results/{id}?costs=true")).await.expect(200);
    assert_eq!(result["max_cost_usd"], json!(0.5));
    client.get(&format!("/api/results/{id}")).await.refused(404);
    assert_eq!(opened(&send(&client, &fields("Is a hot dog a sandwich?", "quick"), &signed_in).await), id);

    // Opened again, the form stays private.
    let again = client.request(Method::GET, &format!("/?again={id}"));
    let again = client.send(again.header("cookie", &cookie)).await;
    assert!(again.text.contains("name=\"private\" value=\"yes\" checked"), "{}", again.text);
    client.get(&format!("/?again={id}")).await.refused(404);

    // Account-only settings are never silently dropped, even for the free models.
    for field in [("private", "yes"), ("max_cost", "0.5"), ("confidence", "0.8")] {
        let fields =
            [("question", "Is a hot dog a sandwich?"), ("options", "Yes\nNo"), ("who", "free"), field];
        assert_eq!(
            send(&client, &fields, &[OWN, ("cookie", "ep_session=ended")]).await.status,
            401,
            "{field:?}"
        );
    }
    let refused = send(&client, &fields("Is a hot dog a taco?", "quick"), &[OWN]).await;
    assert_eq!(refused.status, 401);
    for value in
        ["Is a hot dog a taco?", "Yes\nNo", "value=\"0.5\"", "value=\"quick\" ", "No model was asked"]
    {
        assert!(refused.text.contains(value), "{value} is lost: {}", refused.text);
    }
}

#[tokio::test]
async fn errors_are_shown_at_their_fields() {
    let service = Setup::demo().with("EP_RATE_LIMIT_FREE_PER_MINUTE", "100").boot().await;
    let (user, owner) = service.user_with(MicroUsd::new(5_000_000)).await;
    let cookie = service.cookie(user).await;
    let client = service.anonymous();
    let signed_in = [OWN, ("cookie", cookie.as_str())];
    let long = "a".repeat(20_000);
    let cases: [(Fields<'_>, Fields<'_>, &str); 13] = [
        (&[("question", "Which drink is best?")], &[OWN], "options-wrong"),
        (&[], &[OWN], "question-wrong"),
        (&[("question", "Paid? [Yes, No]")], &signed_in, "question-wrong"),
        (&[("question", "Which drink is best? [Tea")], &[OWN], "question-wrong"),
        (
            &[("question", "Which is best?"), ("options", "A\nB"), ("max_cost", "NaN")],
            &signed_in,
            "max_cost-wrong",
        ),
        (&[("question", "Hm?"), ("options", "Tea\nTea")], &[OWN], "options-wrong"),
        (&[("question", &long), ("options", "Tea\nMilk")], &[OWN], "question-wrong"),
        (&[("question", "Best?"), ("options", "A\nB\nC\nD\nE\nF")], &[OWN], "options-wrong"),
        (
            &[("question", "Which is best?"), ("options", "A\nB"), ("max_cost", "much")],
            &signed_in,
            "max_cost-wrong",
        ),
        (
            &[("question", "Which is best?"), ("options", "A\nB"), ("max_cost", "$")],
            &signed_in,
            "max_cost-wrong",
        ),
        (
            &[("question", "Which is best?"), ("options", "A\nB"), ("confidence", "$")],
            &signed_in,
            "confidence-wrong",
        ),
        (
            &[("question", "Which is best?"), ("options", "A\nB"), ("confidence", "7")],
            &signed_in,
            "confidence-wrong",
        ),
        (
            &[("question", "Which is best?"), ("options", "A\nB"), ("who", "<b>")],
            &signed_in,
            "class=\"wrong\"",
        ),
    ];
    for (fields, headers, at) in cases {
        let reply = send(&client, fields, headers).await;
        assert!(reply.text.contains("<title>Not asked: Please change what is marked"), "{}", reply.text);
        let too_many = fields.iter().any(|(_, value)| value.ends_with('F'));
        assert_eq!(
            reply.text.contains("The panels of an account take up to 10."),
            too_many,
            "{}",
            reply.text
        );
        assert!(reply.status == 400 && reply.text.contains(at), "{at} {}: {}", reply.status, reply.text);
        assert!(
            !reply.text.contains("<b>")
                && reply.header("content-security-policy").contains("script-src 'self'")
        );
    }
    assert_eq!(owner.get("/api/results").await.expect(200), json!([]));
    let large = send(&client, &[("question", &"a".repeat(70_000))], &[OWN]).await;
    assert_eq!(large.status, 413);
    let json = client.request(Method::POST, "/ask").json(&json!({ "question": "Which is best?" }));
    client.send(json).await.refused(415);
}

#[tokio::test]
async fn forms_of_other_websites_are_rejected() {
    let service = Setup::demo().boot().await;
    let (user, owner) = service.user_with(MicroUsd::new(5_000_000)).await;
    let cookie = service.cookie(user).await;
    let client = service.anonymous();
    let form = [("question", "Which drink is best?"), ("options", "Tea\nCoffee")];
    let session = ("cookie", cookie.as_str());
    for headers in [
        vec![("sec-fetch-site", "cross-site")],
        vec![("sec-fetch-site", "cross-site"), session],
        vec![("origin", "null"), session],
        vec![session],
    ] {
        assert_eq!(send(&client, &form, &headers).await.status, 403, "{headers:?}");
    }
    assert_eq!(owner.get("/api/results").await.expect(200), json!([]));
}

#[tokio::test]
async fn example_is_polled_once() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let mut page = client.get("/").await;
    for _ in 0..200 {
        if page.text.contains("class=\"example\"") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        page = client.get("/").await;
    }
    assert!(
        page.text.contains("class=\"example\"") && page.text.contains("Simulated voters."),
        "{}",
        page.text
    );
    let shown = page.text.split("href=\"/results/").nth(1).unwrap();
    assert!(client.get("/").await.text.contains(&format!("/results/{}", &shown[..22])));
    assert!(page.header("link").contains("rel=\"service-desc\""));
}
