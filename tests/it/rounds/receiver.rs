//! A receiver of webhooks and push notifications that fails at random.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::dice::Dice;

/// A receiver on localhost.
pub struct Receiver {
    pub url: String,
    shared: Arc<ReceiverState>,
    _server: AbortOnDropHandle<()>,
}

struct ReceiverState {
    dice: Dice,
    /// True if it fails at random.
    fails: AtomicBool,
    /// The accepted notifications, by path and by poll or task.
    taken: Mutex<HashMap<(String, String), Value>>,
}

impl Receiver {
    pub async fn start(dice: Dice) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(ReceiverState { dice, fails: AtomicBool::new(true), taken: Mutex::default() });
        let router = Router::new().fallback(take).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, _server: AbortOnDropHandle::new(server) }
    }

    /// Accepts every further notification.
    pub fn recover(&self) {
        self.shared.fails.store(false, Ordering::SeqCst);
    }

    /// Returns the notification about this poll or task at this path.
    pub fn taken(&self, path: &str, about: &str) -> Option<Value> {
        self.shared.taken.lock().unwrap().get(&(path.to_owned(), about.to_owned())).cloned()
    }
}

async fn take(
    State(shared): State<Arc<ReceiverState>>,
    uri: Uri,
    headers: HeaderMap,
    body: axum::Json<Value>,
) -> StatusCode {
    tokio::time::sleep(Duration::from_millis(shared.dice.below(80))).await;
    if shared.fails.load(Ordering::SeqCst) && shared.dice.below(4) == 0 {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let task = body.0.get("task").unwrap_or(&body.0);
    let about = headers.get("webhook-id").and_then(|id| id.to_str().ok()).or_else(|| task["id"].as_str());
    let about = about.unwrap_or_default().to_owned();
    shared.taken.lock().unwrap().insert((uri.path().to_owned(), about), body.0);
    StatusCode::NO_CONTENT
}
