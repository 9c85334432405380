//! Silent connections, too many connections, and responses sent before the request has arrived.

use std::time::Duration;

use ep_kernel::testing::until;
use ep_polling::MicroUsd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Service, Setup};

/// Sends these bytes, then nothing. Returns the bytes received until the service closes the connection.
async fn silent_after(service: &Service, bytes: &[u8]) -> Vec<u8> {
    let address = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // Closing a connection with unread bytes resets it.
    let ended = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
    drop(ended.expect("the service keeps a silent connection"));
    answer
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let service = Setup::demo().with("EP_FIRST_REQUEST_S", "1").with("EP_NEXT_REQUEST_S", "1").boot().await;
    // Silent from the start, within and after the preface, within a head, and after a complete request.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = [&preface[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
    for begun in [&b""[..], b"PRI * HT", preface, &settings, b"GET /api/health HTTP/1.1\r\nhost: loc"] {
        let answer = silent_after(&service, begun).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    }
    let answer = silent_after(&service, b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn connections_above_the_limit_get_a_response_and_are_closed() {
    let service = Setup::demo().with("EP_MAX_CONNECTIONS", "2").boot().await;
    let address = service.url.strip_prefix("http://").unwrap();
    let request = b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        open.push(stream);
    }
    let mut refused = String::new();
    TcpStream::connect(address).await.unwrap().read_to_string(&mut refused).await.unwrap();
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("too many connections"), "{refused}");
    let body = refused.split_once("\r\n\r\n").unwrap().1;
    assert!(refused.contains(&format!("content-length: {}\r\n", body.len())), "{refused}");
    drop(open);
    // The slots become free when the service notices the closed connections.
    while service.anonymous().get("/api/health").await.status != 200 {}
}

/// Reads one response: the head and a body with a content length.
async fn response(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    let missing = loop {
        assert_ne!(stream.read_buf(&mut response).await.unwrap(), 0, "closed without a response");
        let text = String::from_utf8_lossy(&response);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.split_once("\r\ncontent-length: ").unwrap().1.lines().next().unwrap();
        break length.parse::<usize>().unwrap() - body.len();
    };
    let begun = response.len();
    response.resize(begun + missing, 0);
    stream.read_exact(&mut response[begun..]).await.unwrap();
    String::from_utf8(response).unwrap().to_ascii_lowercase()
}

/// The start of a request that gets its response before its body has arrived.
const HEAD: &str = "POST /api/nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

#[tokio::test]
async fn late_body_leaves_the_connection_open() {
    let service = Setup::demo().boot().await;
    let address = service.url.strip_prefix("http://").unwrap();
    for (head, body) in
        [("content-length: 14", "{\"label\": \"a\"}"), ("transfer-encoding: chunked", "2\r\n{}\r\n0\r\n\r\n")]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{HEAD}{head}\r\n\r\n").as_bytes()).await.unwrap();
        let refused = response(&mut stream).await;
        assert!(
            refused.starts_with("http/1.1 404") && !refused.contains("\r\nconnection: close"),
            "{refused}"
        );
        for sent in [body, "GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n"] {
            stream.write_all(sent.as_bytes()).await.unwrap();
        }
        let next = response(&mut stream).await;
        assert!(next.starts_with("http/1.1 200"), "{next}");
    }
}

#[tokio::test]
async fn response_announces_connection_close() {
    let service = Setup::demo().boot().await;
    let address = service.url.strip_prefix("http://").unwrap();
    // The client waits for `100 Continue`, or the body exceeds the limit.
    for (head, sent) in
        [("content-length: 14\r\nexpect: 100-continue", 0), ("content-length: 9000000", 500_000)]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{HEAD}{head}\r\n\r\n").as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; sent]).await.unwrap();
        let refused = response(&mut stream).await;
        assert!(
            refused.starts_with("http/1.1 404") && refused.contains("\r\nconnection: close"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn bodies_that_never_end_take_bounded_memory() {
    let service = Setup::demo().boot().await;
    let address = service.url.strip_prefix("http://").unwrap();
    let head_of = |key: &str| {
        format!(
            "POST /api/batches HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
             content-length: 1048576\r\n\r\n"
        )
    };
    let (_, unpaid) = service.user_with(MicroUsd::ZERO).await;
    let head = head_of(&unpaid.key.unwrap());
    let begun = [head.as_bytes(), &vec![b' '; (1 << 20) - 1]].concat();
    let mut streams = Vec::new();
    for _ in 0..17 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&begun).await.unwrap();
        streams.push(stream);
    }
    // The others wait for their last byte.
    let answers = streams.iter_mut().map(|stream| Box::pin(response(stream)));
    let (refused, _, _) = futures::future::select_all(answers).await;
    assert!(refused.starts_with("http/1.1 429") && refused.contains("too many bodies"), "{refused}");
    let small = service.anonymous().post("/api/poll/dry-run", &serde_json::json!({})).await;
    assert_ne!(small.status, 429, "{}", small.text);
    let send = async |head: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{head}{}", " ".repeat(1 << 20)).as_bytes()).await.unwrap();
        response(&mut stream).await
    };
    let paid = send(&head_of(&service.user().await.key.unwrap())).await;
    assert!(paid.starts_with("http/1.1 400"), "an account with money needs no room: {paid}");
    drop(streams);
    until("there is room again", async || send(&head).await, |answer| !answer.starts_with("http/1.1 429"))
        .await;
}

#[tokio::test]
async fn long_bodies_need_a_valid_key() {
    let service = Setup::demo().boot().await;
    let long = serde_json::json!({ "rows": [{ "question": "x".repeat(100_000), "options": ["a", "b"] }] });
    let strangers = [service.anonymous(), service.anonymous().with_key("ep_k_wrong")];
    for stranger in strangers {
        stranger.post("/api/batches", &long).await.refused(401);
    }
    service.user().await.post("/api/batches", &long).await.expect(202);
}
