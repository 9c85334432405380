//! The start page: polls without a script, errors and CSRF protection of the form.

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use reqwest::Method;
use serde_json::json;

use crate::harness::{Client, Reply, Setup, until};

/// Names and values of fields or headers.
type Fields<'a> = &'a [(&'a str, &'a str)];

const OWN: (&str, &str) = ("sec-fetch-site", "same-origin");

/// Sends the form. Each line of `options` is the field of an option.
async fn send(client: &Client, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Reply {
    let mut all = Vec::new();
    for (name, value) in fields {
        match *name {
            "options" => all.extend(value.split('\n').map(|option| ("option", option))),
            name => all.push((name, *value)),
        }
    }
    let request = client.request(Method::POST, "/ask").form(&all);
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
    let form = [("question", "Which drink is best?"), ("options", "Tea\n\n Coffee \nMilk"), ("nonce", "1")];
    let id = opened(&send(&client, &form, &[OWN]).await);
    // Submitting the form twice opens one poll, even while it runs.
    assert_eq!(opened(&send(&client, &form, &[OWN]).await), id);
    let result = client.get(&format!("/api/results/{id}")).await.expect(200);
    assert_eq!(result["options"], json!(["Tea", "Coffee", "Milk"]));
    // Changed input opens a new poll.
    let changed = [("question", "Which drink is worst? [Tea, Coffee]"), ("nonce", "1")];
    assert_ne!(opened(&send(&client, &changed, &[OWN]).await), id);
    let again = client.get(&format!("/?again={id}")).await;
    for value in ["Which drink is best?", "value=\"Tea\"", "value=\"Coffee\"", "value=\"Milk\""] {
        assert!(again.text.contains(value), "{value}: {}", again.text);
    }
    assert_eq!(client.get("/ask").await.header("location"), "/");
    let example = client.get("/?example=1").await.text;
    assert!(example.contains("Does pineapple belong on pizza?") && example.contains("value=\"Yes\""));
    assert_eq!(client.get("/?example=9").await.status, 200);
    client.get("/?again=EP-20260101-0000000000").await.refused(404);
}

#[tokio::test]
async fn every_visitor_gets_a_separate_form() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    // The earlier page opened the example poll, which appears after it has ended.
    until(
        "the example is shown",
        async || client.get("/").await.text,
        |page| page.contains("<section class=\"featured\""),
    )
    .await;
    let [one, other] = [client.get("/").await.text, client.get("/").await.text];
    assert!(one.contains("<section class=\"featured\""), "{one}");
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
    for field in [("private", "yes"), ("private", ""), ("max_cost", "0.5"), ("confidence", "0.8")] {
        let fields =
            [("question", "Is a hot dog a sandwich?"), ("options", "Yes\nNo"), ("who", "free"), field];
        let sent = send(&client, &fields, &[OWN, ("cookie", "ep_session=ended")]).await;
        assert_eq!((sent.status, sent.header("location")), (303, "/login?return_to=%2Fask"), "{field:?}");
    }
}

#[tokio::test]
async fn form_waits_for_a_sign_in() {
    let service = Setup::demo().boot().await;
    let (user, _) = service.user_with(MicroUsd::new(5_000_000)).await;
    let session = service.cookie(user).await;
    let client = service.anonymous();
    let fields = [
        ("question", "Is a hot dog a taco?"),
        ("options", "Yes\nNo; “never”"),
        ("who", "quick"),
        ("max_cost", "0.5"),
        ("private", "yes"),
    ];
    let sent = send(&client, &fields, &[OWN]).await;
    assert_eq!((sent.status, sent.header("location")), (303, "/login?return_to=%2Fask"));
    let cookie = sent.header("set-cookie");
    assert!(cookie.starts_with("ep_question=") && cookie.contains("; HttpOnly; SameSite=Lax; Path=/ask;"));
    let stored = cookie.split(';').next().unwrap().to_owned();
    let login = client.get(sent.header("location")).await.text;
    assert!(login.contains("Your question is saved") && login.contains("data-return=\"/ask\""), "{login}");

    let both = format!("{session}; {stored}");
    let page = client.send(client.request(Method::GET, "/ask").header("cookie", &both)).await;
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    for value in [
        "Is a hot dog a taco?",
        "value=\"No; “never”\"",
        "value=\"0.5\"",
        "value=\"yes\" checked",
        "value=\"quick\" data-options=\"10\" data-chars=\"200\" data-question=\"0\" checked",
    ] {
        assert!(page.text.contains(value), "{value} is lost: {}", page.text);
    }
    let asked = send(&client, &fields, &[OWN, ("cookie", &both)]).await;
    opened(&asked);
    assert!(asked.header("set-cookie").starts_with("ep_question=; "), "{}", asked.header("set-cookie"));

    // A form that is too large for a cookie stays on its page.
    let long = format!("Is this long? {}", "x".repeat(4000));
    let large = [("question", long.as_str()), ("options", "Yes\nNo"), ("who", "quick")];
    let refused = send(&client, &large, &[OWN]).await;
    assert_eq!((refused.status, refused.header("set-cookie")), (401, ""));
    for value in [&long, "value=\"Yes\"", "Sign in to use this panel", "No model was asked"] {
        assert!(refused.text.contains(value), "{value} is lost: {}", refused.text);
    }
}

#[tokio::test]
async fn featured_polls_are_shown_if_they_can_be() {
    let first = Setup::demo().boot().await;
    let (user, owner) = first.user_with(MicroUsd::new(5_000_000)).await;
    let poll = async |private: bool, question: &str| {
        let asked = owner.poll(json!({ "question": question, "private": private })).await.expect(200);
        asked["poll_id"].as_str().unwrap().to_owned()
    };
    let private = poll(true, "Is this a private question?").await;
    let public = poll(false, "Is <b> this a public question?").await;
    let unknown = "EP-20260101-0000000000";

    let service = Setup::demo()
        .with("EP_DATA_DIR", first.data.path().display().to_string())
        .with("EP_FEATURED_POLLS", format!("{unknown},{private}, {public}"))
        .boot()
        .await;
    let client = service.anonymous();
    let page = client.get("/").await.text;
    assert!(page.contains("class=\"featured\"") && page.contains(&format!("/results/{public}")), "{page}");
    assert!(page.contains("Is &#60;b&#62; this a public question?"), "{page}");
    for hidden in [&private, unknown, "a private question"] {
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
    let (_, key) = service.key(user).await;
    let owner = client.with_key(&key);
    let delete = owner.request(Method::DELETE, &format!("/api/polls/{public}?confirm={public}"));
    owner.send(delete).await.expect(200);
    let page = client.get("/").await.text;
    assert!(!page.contains("class=\"featured\""), "{page}");
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
        (&[("question", "We all like something to drink.")], &[OWN], "options-wrong"),
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
            &[("question", "Which is best?"), ("options", "A\nB"), ("who", "<i>")],
            &signed_in,
            "class=\"wrong\"",
        ),
    ];
    for (fields, headers, at) in cases {
        let reply = send(&client, fields, headers).await;
        assert!(reply.text.contains("<title>Not asked: Please change the marked field"), "{}", reply.text);
        let too_many = fields.iter().any(|(_, value)| value.ends_with('F'));
        assert_eq!(
            reply.text.contains("The panels of an account take up to 10."),
            too_many,
            "{}",
            reply.text
        );
        assert!(reply.status == 400 && reply.text.contains(at), "{at} {}: {}", reply.status, reply.text);
        assert!(
            !reply.text.contains("<i>")
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
    let page = until(
        "the example is shown",
        async || client.get("/").await,
        |page| page.text.contains("class=\"featured\""),
    )
    .await;
    assert!(page.text.contains("Simulated voters."), "{}", page.text);
    let shown = page.text.split("href=\"/results/").nth(1).unwrap();
    assert!(client.get("/").await.text.contains(&format!("/results/{}", &shown[..22])));
    assert!(page.header("link").contains("rel=\"service-desc\""));
}

#[tokio::test]
async fn featured_poll_says_how_many_models_were_asked() {
    let first = Setup::scripted(Script::panel(20)).boot().await;
    let (_, owner) = first.user_with(MicroUsd::new(5_000_000)).await;
    let poll = owner.poll(json!({ "confidence_threshold": 0.8 })).await.expect(200);
    let id = poll["poll_id"].as_str().unwrap();
    let result = first.anonymous().get(&format!("/api/results/{id}")).await.expect(200);
    let service = Setup::scripted(Script::panel(20))
        .with("EP_DATA_DIR", first.data.path().display().to_string())
        .with("EP_FEATURED_POLLS", id)
        .boot()
        .await;
    let page = service.anonymous().get("/").await.text;
    let featured = page.split("<section class=\"featured\"").nth(1).unwrap();
    let kicker = featured.split("<p class=\"kicker\">").nth(1).unwrap().split('<').next().unwrap();
    assert_eq!(kicker, format!("{} models were asked", result["models_requested"]));
}

/// The numbers of models that a text names: each number before "models", "AIs" or "voters".
fn quantities(text: &str) -> Vec<u64> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_noun = |word: &str| ["model", "models", "AIs", "voters"].contains(&word);
    let named = |place: usize| words[place + 1..].iter().take(2).any(|word| is_noun(word));
    let numbers = words.iter().enumerate();
    numbers.filter(|(place, _)| named(*place)).filter_map(|(_, word)| word.parse().ok()).collect()
}

#[tokio::test]
async fn start_page_names_the_models_that_it_would_ask() {
    for setup in [Setup::demo(), Setup::scripted(Script::panel(8)), Setup::default()] {
        let service = setup.boot().await;
        let client = service.anonymous();
        let page = client.get("/").await.text;
        let (before, form) = page.split_once("<form class=\"ask\"").unwrap();
        let panels: Vec<&str> = form.split("<label><input type=\"radio\"").skip(1).collect();
        let mut fitting = 0;
        for query in ["preset=free", "profile=quick", "profile=balanced", "profile=conservative"] {
            let reply = client.get(&format!("/api/poll/estimate?{query}")).await;
            fitting += usize::from(reply.status == 200);
        }
        assert_eq!(panels.len(), fitting, "panels without a model are not offered");
        let mut free = Vec::new();
        for panel in panels {
            let (value, shown) = panel.split_once("value=\"").unwrap().1.split_once('"').unwrap();
            let query = if value == "free" { "preset=free" } else { &format!("profile={value}") };
            let reply = client.get(&format!("/api/poll/estimate?{query}")).await;
            let named = quantities(shown.split_once("<b>").unwrap().1.split_once("</label>").unwrap().0);
            let estimate = reply.expect(200);
            let count = |name: &str| estimate[name].as_u64().unwrap();
            let (least, most) = (count("calls_at_least"), count("calls_at_most"));
            assert!(
                named.iter().all(|number| [least, most, count("models")].contains(number)),
                "{value}: {shown}"
            );
            if value == "free" {
                assert_eq!(named, [count("models")]);
                free = named;
            } else {
                assert!(named.contains(&most), "{value}: {shown}");
            }
        }
        // The headline stands over the panel that is asked unless another one is chosen.
        assert!(quantities(before).iter().all(|number| free.contains(number)), "{before}");
        let plugin = client.get("/.well-known/ai-plugin.json").await.expect(200);
        let tagline = plugin["description_for_human"].as_str().unwrap();
        assert_eq!(quantities(tagline), Vec::<u64>::new(), "{tagline}");
    }
}
