//! Data export, deletion of polls and accounts, and the operator's database commands: backup and audit.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

use ep_polling::MicroUsd;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Reply, Service, Setup, question, until};

/// A text that appears nowhere else.
const MARK: &str = "Zebra-Quartz-4711";

async fn with_cookie(client: &Client, method: Method, path: &str, cookie: &str, body: &Value) -> Reply {
    let request =
        client.request(method, path).header("cookie", cookie).header("sec-fetch-site", "same-origin");
    client.send(request.json(body)).await
}

async fn form(client: &Client, path: &str, cookie: &str, fields: &[(&str, &str)]) -> Reply {
    let request = client.request(Method::POST, path).header("cookie", cookie);
    client.send(request.header("sec-fetch-site", "same-origin").form(fields)).await
}

/// Opens a poll and waits until it is settled.
async fn settled_poll(service: &Service, client: &Client, input: Value) -> String {
    let poll = client.poll(input).await.expect(200);
    let id = poll["poll_id"].as_str().unwrap().to_owned();
    let parsed = id.parse().unwrap();
    let read = async || service.app.ports.polls.stored(&parsed).await.unwrap().unwrap().record.settled;
    until("the poll is settled", read, |settled| *settled).await;
    id
}

#[tokio::test]
async fn account_export_has_no_secrets_and_requires_the_owner() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::default().on(engine).boot().await;
        let (user, owner) = service.user_with(MicroUsd::new(5_000_000)).await;
        let id = settled_poll(&service, &owner, json!({ "private": true })).await;
        owner.post("/api/account/webhook", &json!({ "url": "https://8.8.8.8/hook" })).await.expect(200);
        owner.post("/api/account/confirmation", &json!({ "above_usd": 0.5 })).await.expect(200);
        let message =
            json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [{ "data": question(json!({})) }] });
        owner.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
        owner.post("/api/feedback", &json!({ "poll_id": id, "notes": MARK })).await;
        let public = settled_poll(&service, &owner, json!({})).await;
        owner.post("/api/feedback", &json!({ "poll_id": public, "notes": MARK })).await.expect(201);
        let cookie = service.cookie(user).await;
        let export = owner.get("/api/account/export?limit=100").await.expect(200);
        let account = &export["account"];
        assert_eq!((&account["id"], &account["webhook_url"]), (&json!(user), &json!("https://8.8.8.8/hook")));
        assert_eq!(
            (&account["confirm_above_micro_usd"], &account["frozen"]),
            (&json!(500_000), &json!(false))
        );
        assert_eq!(account["sessions"].as_array().unwrap().len(), 1);
        let count = |list: &str| export[list].as_array().unwrap().len();
        assert_eq!((count("keys"), count("polls"), count("feedback")), (1, 3, 1), "{export}");
        assert_eq!((count("tasks"), export["feedback"][0]["notes"].as_str()), (1, Some(MARK)));
        assert!(count("transfers") >= 3, "starter credit and captures");
        assert!(export["tasks"][0]["content"].to_string().contains("m1"));
        let polls = export["polls"].as_array().unwrap();
        let exported = polls.iter().find(|poll| poll["poll_id"] == id.as_str()).unwrap();
        assert!(exported["private"] == true && exported["votes"][0]["option_order"].is_array());
        let text = export.to_string();
        for secret in ["ep_k_", "hash", cookie.trim_start_matches("ep_session=")] {
            // The export shows the first ten characters of a key.
            let shown = export["keys"][0]["key_prefix"].as_str().unwrap();
            assert!(!text.replace(shown, "").contains(secret), "the export holds {secret}");
        }

        // The account page downloads the same data.
        let file = form(&service.anonymous(), "/dashboard/export", &cookie, &[]).await;
        assert!(file.header("content-disposition").starts_with("attachment"), "{}", file.text);
        let pages = file.expect(200);
        assert_eq!(pages.as_array().unwrap().len(), 1);
        assert_eq!((&pages[0]["polls"], &pages[0]["tasks"]), (&export["polls"], &export["tasks"]));
        let foreign =
            service.anonymous().request(Method::POST, "/dashboard/export").header("cookie", &cookie);
        let foreign = foreign.header("origin", "https://evil.example").header("sec-fetch-site", "cross-site");
        assert_eq!(service.anonymous().send(foreign.form(&[("a", "b")])).await.status, 403);

        // Keys with a narrower scope or their own funds cannot export or delete.
        for terms in [json!({ "scope": "read" }), json!({ "scope": "polls" }), json!({ "funds_usd": 0.5 })] {
            let key = owner.post("/api/keys", &terms).await.expect(201)["key"].as_str().unwrap().to_owned();
            let limited = service.anonymous().with_key(&key);
            limited.get("/api/account/export").await.refused(403);
            let all = json!({ "confirm": user, "forfeit_balance": true });
            limited.post("/api/account/delete", &all).await.refused(403);
            let delete = limited.request(Method::DELETE, &format!("/api/polls/{public}?confirm={public}"));
            let refused = limited.send(delete).await.status;
            assert!([403, 404].contains(&refused), "{terms}: {refused}");
        }
        owner.get(&format!("/api/results/{public}")).await.expect(200);
    }
}

#[tokio::test]
async fn deleted_poll_is_not_found_anywhere() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::default().on(engine).boot().await;
        let (user, owner) = service.user_with(MicroUsd::new(5_000_000)).await;
        let nobody = service.anonymous();
        let cookie = service.cookie(user).await;
        for by_form in [false, true] {
            let headers = [("idempotency-key", if by_form { "one" } else { "two" })];
            let asked = question(json!({ "question": format!("Is {MARK} {by_form} a good name?") }));
            let poll = owner.post_with("/api/poll", &asked, &headers).await.expect(200);
            let id = poll["poll_id"].as_str().unwrap().to_owned();
            let _ = service.settled_cost(user).await;
            let page = format!("{}/results/{id}", service.url);
            let paths = [
                format!("/results/{id}"),
                format!("/results/{id}.md"),
                format!("/results/{id}.csv"),
                format!("/results/{id}.svg"),
                format!("/results/{id}.png"),
                format!("/embed/{id}"),
                format!("/oembed?url={page}"),
                format!("/api/results/{id}"),
                format!("/api/graph/mermaid/{id}"),
                format!("/api/feedback/{id}"),
            ];
            for path in &paths {
                assert_eq!(nobody.get(path).await.status, 200, "{path}");
            }
            let confirm = format!("/api/polls/{id}?confirm={id}");
            for wrong in [format!("/api/polls/{id}"), format!("/api/polls/{id}?confirm=EP-1")] {
                owner.send(owner.request(Method::DELETE, &wrong)).await.refused(400);
            }
            nobody.send(nobody.request(Method::DELETE, &confirm)).await.refused(401);
            if by_form {
                let shown = nobody.request(Method::GET, "/dashboard").header("cookie", &cookie);
                assert!(nobody.send(shown.header("accept", "text/html")).await.text.contains(&id));
                let fields = [("poll_id", id.as_str()), ("confirm", id.as_str()), ("nonce", "n")];
                let sent = form(&nobody, "/dashboard/polls/delete", &cookie, &fields).await;
                assert_eq!((sent.status, sent.header("location")), (303, "/dashboard?done=deleted#polls"));
            } else {
                let deleted = owner.send(owner.request(Method::DELETE, &confirm)).await.expect(200);
                assert_eq!(deleted, json!({ "poll_id": id, "deleted": true }));
            }
            for path in &paths {
                assert_eq!(nobody.get(path).await.status, 404, "{path}");
                assert_eq!(owner.get(path).await.status, 404, "{path} for its owner");
            }
            owner.send(owner.request(Method::DELETE, &confirm)).await.refused(404);
            let repeated = owner.post_with("/api/poll", &asked, &headers).await.refused(404);
            assert!(repeated.contains("was deleted"), "{repeated}");
            assert!(!owner.get("/api/polls").await.text.contains(&id));
            if by_form {
                let shown = nobody.request(Method::GET, "/dashboard").header("cookie", &cookie);
                assert!(!nobody.send(shown.header("accept", "text/html")).await.text.contains(&id));
            }
        }
        let audit = service.app.accounts.treasury.audit(std::time::Duration::from_mins(1)).await.unwrap();
        assert!(audit.is_clean(), "{audit:?}");
        assert!(service.app.accounts.balance(user).await.unwrap().used > MicroUsd::ZERO, "the costs stay");
        if engine == Engine::Sqlite {
            assert_eq!(marks(service.data.path()), 0, "nothing of the polls is left in the files");
        }
    }
}

/// Counts occurrences of the mark in the files of a folder.
fn marks(folder: &Path) -> usize {
    let count = |bytes: &[u8]| bytes.windows(MARK.len()).filter(|bytes| *bytes == MARK.as_bytes()).count();
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.is_file()).map(|file| count(&std::fs::read(file).unwrap())).sum()
}

#[tokio::test]
async fn account_deletion_needs_consent_and_removes_personal_data() {
    let service = Setup::default().boot().await;
    let nobody = service.anonymous();
    for by_form in [false, true] {
        let email = format!("{MARK}-{by_form}@example.com").to_lowercase();
        let user =
            service.app.accounts.create_user(email.parse().unwrap(), MicroUsd::new(3_000_000)).await.unwrap();
        let (cookie, (_, key)) = (service.cookie(user).await, service.key(user).await);
        let owner = nobody.clone().with_key(&key);
        let id = settled_poll(&service, &owner, json!({})).await;
        // The stored replies to requests with a key are no copy of personal data.
        let send = async |path: &str, body: Value| {
            owner.post_with(path, &body, &[("idempotency-key", &format!("{path} {by_form}"))]).await
        };
        send("/api/feedback", json!({ "poll_id": id, "notes": MARK })).await.expect(201);
        send("/api/keys", json!({ "label": MARK })).await.expect(201);
        let webhook = json!({ "url": format!("https://8.8.8.8/{MARK}") });
        for replayed in ["", "true"] {
            let set = send("/api/account/webhook", webhook.clone()).await;
            assert_eq!(set.header("idempotent-replayed"), replayed);
            assert_eq!(set.expect(200), webhook);
        }
        let refused = json!({ "url": format!("http://{MARK}.example/") });
        owner
            .post_with("/api/account/webhook", &refused, &[("idempotency-key", "refused")])
            .await
            .refused(400);
        let said = format!("{MARK} and so on");
        let message = json!({ "messageId": "m1", "role": "ROLE_USER", "parts": [{ "text": said }] });
        owner.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);

        let delete = async |confirm: &str, forfeit_balance: bool| {
            if by_form {
                let forfeit = if forfeit_balance { "yes" } else { "" };
                let nonce = format!("{confirm}{forfeit_balance}");
                let fields = [("confirm", confirm), ("forfeit_balance", forfeit), ("nonce", nonce.as_str())];
                form(&nobody, "/dashboard/delete", &cookie, &fields).await
            } else {
                let input = json!({ "confirm": confirm, "forfeit_balance": forfeit_balance });
                with_cookie(&nobody, Method::POST, "/api/account/delete", &cookie, &input).await
            }
        };
        let misnamed = delete("somebody@example.com", true).await;
        assert_eq!(misnamed.status, 400);
        let rejected = delete(&email, false).await;
        assert!(
            rejected.status == 409 && rejected.text.to_lowercase().contains("a balance of $"),
            "{}",
            rejected.text
        );
        if by_form {
            let marked = |page: &Reply, id: &str| {
                let input = page.text.split_once(&format!("id=\"{id}\"")).unwrap().1;
                input.split_once('>').unwrap().0.contains("aria-invalid=\"true\"")
            };
            let text = format!("That is not {email}. Type it exactly.");
            assert!(misnamed.text.contains(&text), "{}", misnamed.text);
            assert!(marked(&misnamed, "confirm") && !marked(&misnamed, "forfeit"));
            // The box is marked, not the field.
            assert!(marked(&rejected, "forfeit") && !marked(&rejected, "confirm"), "{}", rejected.text);
            assert!(
                rejected.text.contains("tick the box to give it up")
                    && rejected.text.contains("value=\"yes\" required")
            );
            assert!(rejected.text.contains("<h3>The account was not deleted</h3>"));
        }
        owner.get("/api/balance").await.expect(200);

        let gone = delete(&email, true).await;
        assert_eq!(gone.status, if by_form { 303 } else { 200 }, "{}", gone.text);
        assert!(gone.header("set-cookie").starts_with("ep_session=;"), "{:?}", gone.headers);
        // The page that follows can be reloaded.
        for _ in 0..if by_form { 2 } else { 0 } {
            let page = nobody.get(gone.header("location")).await;
            assert!(page.status == 200 && page.text.contains("Your account is deleted"), "{}", page.text);
        }
        owner.get("/api/balance").await.refused(401);
        let signed_in = nobody.request(Method::GET, "/api/auth/me").header("cookie", &cookie);
        nobody.send(signed_in).await.refused(401);
        nobody.get(&format!("/api/results/{id}")).await.expect(200);
        assert_eq!(service.app.accounts.balance(user).await.unwrap().available(), MicroUsd::ZERO);
    }
    let audit = service.app.accounts.treasury.audit(std::time::Duration::from_mins(1)).await.unwrap();
    assert!(audit.is_clean(), "{audit:?}");
    let folder = service.data.path();
    let lower = MARK.to_lowercase();
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).to_lowercase();
        assert!(!text.contains(&lower), "{} holds personal data", file.display());
    }
}

#[tokio::test]
async fn account_with_a_running_poll_cannot_be_deleted() {
    let mut script = ep_upstream::testing::Script::panel(20);
    script.default.latency = std::time::Duration::from_secs(5);
    let service = Setup::scripted(script).boot().await;
    let (user, owner) = service.user_with(MicroUsd::new(1_000_000)).await;
    let started = owner.post("/api/polls", &question(json!({}))).await.expect(202);
    let all = json!({ "confirm": user, "forfeit_balance": true });
    let refused = owner.post("/api/account/delete", &all).await.refused(409);
    assert!(refused.contains("polls still running"), "{refused}");
    let id = started["poll_id"].as_str().unwrap();
    let running = owner.send(owner.request(Method::DELETE, &format!("/api/polls/{id}?confirm={id}"))).await;
    assert!(running.refused(409).contains("still running"));
    owner.get(&format!("/api/polls/{id}/status")).await;
}

#[tokio::test]
async fn frozen_account_cannot_be_deleted_by_its_owner() {
    let service = Setup::default().boot().await;
    let (user, owner) = service.user_with(MicroUsd::ZERO).await;
    service.app.accounts.treasury.freeze(user, true).await.unwrap();
    let all = json!({ "confirm": user, "forfeit_balance": true });
    assert!(owner.post("/api/account/delete", &all).await.refused(403).contains("only the operator"));
}

fn ep(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
    command.args(arguments).env_clear().env("EP_DATA_DIR", data).env("EP_CONFIG", "/dev/null");
    command.env("EP_DEMO_PACE", "0").output().unwrap()
}

/// Asserts the exit code and returns the output.
#[track_caller]
fn printed(output: &Output, code: i32) -> String {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (text, error) = (shown(&output.stdout), shown(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{text}{error}");
    text + &error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backup_made_during_polls_can_be_restored() {
    let service = Setup::demo().boot().await;
    let user = service.user().await;
    let id = settled_poll(&service, &user, json!({})).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let backup = {
        let (data, file) = (service.data.path().to_owned(), file.clone());
        tokio::task::spawn_blocking(move || ep(&data, &["backup", file.to_str().unwrap()]))
    };
    while !backup.is_finished() {
        user.poll(json!({})).await.expect(200);
    }
    let said = printed(&backup.await.unwrap(), 0);
    assert!(said.contains("secret.key") && said.contains("ep admin audit"), "{said}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = ep(service.data.path(), &["backup", file.to_str().unwrap()]);
    assert!(printed(&again, 1).contains("already exists"));

    let restored = tempfile::tempdir().unwrap();
    std::fs::copy(&file, restored.path().join("ensemble-poll.db")).unwrap();
    std::fs::copy(service.data.path().join("secret.key"), restored.path().join("secret.key")).unwrap();
    let audit = printed(&ep(restored.path(), &["admin", "audit", "--full"]), 0);
    assert!(audit.contains("the ledger is consistent"), "{audit}");
    let data_dir = restored.path().display().to_string();
    let second = Setup::demo().with("EP_DATA_DIR", data_dir).boot().await;
    let again = second.anonymous().with_key(user.key.as_deref().unwrap());
    assert_eq!(again.get(&format!("/api/results/{id}?costs=true")).await.expect(200)["poll_id"], id.as_str());
    again.poll(json!({})).await.expect(200);
}

#[test]
fn audit_detects_a_zeroed_page() {
    let data = tempfile::tempdir().unwrap();
    for number in 0..3 {
        let email = format!("{number}@example.com");
        printed(&ep(data.path(), &["admin", "create-user", "--email", &email]), 0);
    }
    assert!(printed(&ep(data.path(), &["admin", "audit"]), 0).contains("the ledger is consistent"));
    let path = data.path().join("ensemble-poll.db");
    let whole = std::fs::read(&path).unwrap();
    // The page with the e-mail addresses.
    let page =
        whole.chunks(4_096).position(|page| page.windows(13).any(|text| text == b"0@example.com")).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0; 4_096], page as u64 * 4_096).unwrap();
    for arguments in [&["admin", "audit"][..], &["admin", "audit", "--full"]] {
        let said = printed(&ep(data.path(), arguments), 1);
        assert!(said.contains("the database is damaged"), "{said}");
    }
    let said = printed(&ep(data.path(), &["admin", "audit", "--json"]), 1);
    let found: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert!(found["clean"] == false && !found["damaged"].as_array().unwrap().is_empty(), "{found}");
    let file = data.path().join("copy.db");
    let refused = printed(&ep(data.path(), &["backup", file.to_str().unwrap()]), 1);
    assert!(refused.contains("damaged") || refused.contains("failed to copy"), "{refused}");
    assert!(!file.exists());
}
