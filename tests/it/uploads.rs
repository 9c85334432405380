//! Uploads: those that are reset, repeated or slow.

use ep_kernel::testing::until;
use ep_polling::MicroUsd;
use futures::stream;
use reqwest::Method;
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::batches::{account, create, form, rows, send_form, upload};
use crate::harness::{Client, Reply, Service, Setup};

/// The media type of the forms.
const FORM: &str = "multipart/form-data; boundary=rows";

async fn file_count(client: &Client) -> usize {
    client.get("/v1/files").await.expect(200)["data"].as_array().unwrap().len()
}

/// Sends a form with an Idempotency-Key.
async fn send_with(client: &Client, key: &str, form: String) -> Reply {
    let request = client.request(Method::POST, "/v1/files").header("content-type", FORM);
    client.send(request.header("idempotency-key", key).body(form)).await
}

/// Begins an upload that goes on as long as the sender exists.
fn begun(
    client: &Client,
    key: Option<&str>,
    start: &str,
) -> (mpsc::Sender<String>, tokio::task::JoinHandle<Reply>) {
    let (sender, parts) = mpsc::channel::<String>(9);
    sender.try_send(start.to_owned()).unwrap();
    let parts = stream::unfold(parts, |mut parts| async move {
        parts.recv().await.map(|part| (Ok::<_, std::io::Error>(part), parts))
    });
    let mut request = client.request(Method::POST, "/v1/files").header("content-type", FORM);
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let request = request.body(reqwest::Body::wrap_stream(parts));
    let client = client.clone();
    (sender, tokio::spawn(async move { client.send(request).await }))
}

/// Splits a form in the middle of its file.
fn halves(form: &str) -> (String, String) {
    let (start, end) = form.split_at(form.len() / 2);
    (start.to_owned(), end.to_owned())
}

/// Sends these parts of an upload on an HTTP/2 stream, and resets the stream once the service has received them.
async fn reset_after(service: &Service, key: &str, parts: &[Vec<u8>]) {
    let address = service.url.strip_prefix("http://").unwrap();
    let socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let (client, connection) = h2::client::handshake(socket).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = axum::http::Request::post(format!("{}/v1/files", service.url))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", FORM)
        .body(())
        .unwrap();
    let (response, mut stream) = client.ready().await.unwrap().send_request(request, false).unwrap();
    for part in parts {
        let mut rest = axum::body::Bytes::from(part.clone());
        while !rest.is_empty() {
            stream.reserve_capacity(rest.len());
            let room = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap().unwrap();
            stream.send_data(rest.split_to(room.min(rest.len())), false).unwrap();
        }
    }
    // All of it was sent if the window has room again.
    stream.reserve_capacity(1);
    std::future::poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap().unwrap();
    stream.send_reset(h2::Reason::CANCEL);
    assert!(response.await.unwrap_err().is_reset());
    connection.abort();
}

#[tokio::test]
async fn a_stream_that_is_reset_leaves_nothing() {
    let service = Setup::demo().boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let key = client.key.clone().unwrap();
    let form_of = |kib: usize| form("batch", &format!("{}\n", "x".repeat(1023)).repeat(kib));
    // After each DATA frame of a short upload, and after each MiB of one that takes nearly all the room of the account.
    let form = form_of(7 << 10);
    for (form, part) in [(form_of(300), 16 << 10), (form.clone(), 1 << 20)] {
        let parts: Vec<Vec<u8>> = form.as_bytes().chunks(part).map(<[u8]>::to_vec).collect();
        for sent in 1..=parts.len() {
            reset_after(&service, &key, &parts[..sent]).await;
        }
    }
    let database = service.data.path().join("ensemble-poll.db");
    let database = Connection::open(database).unwrap();
    let files =
        async || -> i64 { database.query_row("SELECT COUNT(*) FROM files", [], |row| row.get(0)).unwrap() };
    until("no file is left", files, |count| *count == 0).await;
    let send = async || send_form(&client, form.clone()).await;
    until("there is room after the resets", send, |reply| reply.status == 200).await;
    assert_eq!(file_count(&client).await, 1);
}

#[tokio::test]
async fn a_repeated_upload_gets_the_first_file() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let content = rows(9);
    let first = send_with(&client, "one", form("batch", &content)).await;
    assert_eq!((first.status, first.headers.get("idempotent-replayed")), (200, None), "{}", first.text);
    let purpose_first = format!(
        "--rows\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--rows\r\nContent-Disposition: form-data; \
         name=\"file\"; filename=\"rows.jsonl\"\r\n\r\n{content}\r\n--rows--\r\n"
    );
    for again in [form("batch", &content), purpose_first] {
        let again = send_with(&client, "one", again).await;
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!((again.status, again.json()["id"].clone()), (200, first.json()["id"].clone()));
    }
    let other_name = form("batch", &content).replace("rows.jsonl", "other.jsonl");
    for other in [form("batch", &rows(8)), form("batch", ""), other_name] {
        let refused = send_with(&client, "one", other).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains("Idempotency-Key"), "{}", refused.text);
    }
    assert_eq!(file_count(&client).await, 1);
    // Another account has keys of its own.
    let stranger = account(&service).await;
    let other = send_with(&stranger, "one", form("batch", &content)).await.expect(200);
    assert_ne!(other["id"], first.json()["id"]);
    // A refused upload leaves its key free, and so does a deleted file.
    send_with(&client, "two", form("assistants", &content)).await.expect(400);
    send_with(&client, "two", form("batch", &content)).await.expect(200);
    let path = format!("/v1/files/{}", first.json()["id"].as_str().unwrap());
    client.send(client.request(Method::DELETE, &path)).await.expect(200);
    let new = send_with(&client, "one", form("batch", &rows(8))).await.expect(200);
    assert_ne!(new["id"], first.json()["id"]);
    assert_eq!(send_with(&client, "", form("batch", &content)).await.status, 400);
}

#[tokio::test]
async fn an_upload_that_is_running_is_not_repeated() {
    let service = Setup::demo().boot().await;
    let client = account(&service).await;
    let form = form("batch", &rows(999));
    let (start, end) = halves(&form);
    let database = service.data.path().join("ensemble-poll.db");
    let (sender, running) = begun(&client, Some("one"), &start);
    let database = Connection::open(database).unwrap();
    let count =
        async || -> i64 { database.query_row("SELECT COUNT(*) FROM files", [], |row| row.get(0)).unwrap() };
    until("the first upload is running", count, |count| *count == 1).await;
    let refused = send_with(&client, "one", form.clone()).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(refused.headers.contains_key("retry-after"), "{:?}", refused.headers);
    assert!(refused.text.contains("still running"), "{}", refused.text);
    sender.send(end).await.unwrap();
    drop(sender);
    let file = running.await.unwrap().expect(200);
    let again = send_with(&client, "one", form).await.expect(200);
    assert_eq!(again["id"], file["id"]);
    create(&client, again["id"].as_str().unwrap()).await;
}

/// Begins as many silent uploads as the service admits.
async fn silent(
    service: &Service,
    accounts: usize,
) -> Vec<(mpsc::Sender<String>, tokio::task::JoinHandle<Reply>)> {
    let mut uploads = Vec::new();
    for _ in 0..accounts {
        let (_, client) = service.user_with(MicroUsd::ZERO).await;
        for _ in 0..4 {
            uploads.push(begun(&client, None, "--rows\r\n"));
        }
    }
    uploads
}

#[tokio::test]
async fn silent_uploads_without_money_keep_nobody_else_out() {
    let service = Setup::demo().boot().await;
    let uploads = silent(&service, 4).await;
    // Eight have a place, and the others are refused.
    let refused = async || uploads.iter().filter(|(_, reply)| reply.is_finished()).count();
    let refused = until("uploads are refused", refused, |count| *count >= 8).await;
    assert_eq!(refused, 8);
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let busy = send_form(&client, form("batch", "{}")).await;
    assert_eq!(busy.status, 429, "{}", busy.text);
    let paid = account(&service).await;
    let file = upload(&paid, &rows(2)).await;
    create(&paid, &file).await;
}
