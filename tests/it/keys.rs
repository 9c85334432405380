//! API keys: created, listed and revoked by their owner.

use reqwest::Method;
use serde_json::json;

use crate::harness::{Client, Service};

#[tokio::test]
async fn a_key_is_created_listed_and_revoked() {
    let service = Service::start().await;
    let client = service.user().await;
    let created = client.post("/api/keys", &json!({ "label": " laptop " })).await;
    assert_eq!(created.header("cache-control"), "no-store");
    let created = created.expect(201);
    let key = created["key"].as_str().unwrap();
    assert!(key.starts_with("ep_k_") && created["warning"].is_string());
    assert_eq!((&created["label"], created["key_prefix"].as_str()), (&json!("laptop"), Some(&key[..10])));

    let with_it = client.with_key(key);
    let listed = with_it.get("/api/keys").await.expect(200);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!((&listed[0]["id"], &listed[0]["revoked_at"]), (&created["id"], &json!(null)));
    assert!(!listed.to_string().contains(key));

    let path = format!("/api/keys/{}", created["id"].as_str().unwrap());
    let other = service.user().await;
    let delete = |client: &Client, path: &str| {
        let (client, request) = (client.clone(), client.request(Method::DELETE, path));
        async move { client.send(request).await }
    };
    delete(&other, &path).await.refused(404);
    assert_eq!(delete(&with_it, &path).await.expect(200), json!({ "revoked": true }));
    with_it.get("/api/keys").await.refused(401);
    delete(&client, &path).await.refused(404);
    delete(&client, "/api/keys/not-an-id").await.refused(404);
    let listed = client.get("/api/keys").await.expect(200);
    assert!(listed[0]["revoked_at"].is_string());

    client.post("/api/keys", &json!({ "label": "x".repeat(65) })).await.refused(400);
    client.post("/api/keys", &json!({ "label": 5 })).await.refused(400);
    assert_eq!(client.post("/api/keys", &json!({ "label": null })).await.expect(201)["label"], "");
    service.anonymous().get("/api/keys").await.refused(401);
}
