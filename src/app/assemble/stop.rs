//! The end of a service.

use ep_kernel::Fault;
use ep_kernel::app::App;

use super::Assembled;

impl Assembled {
    /// Stops the service. Running polls have until `deadline` to end; the next start resumes the rest.
    pub async fn stop(self, deadline: tokio::time::Instant) {
        let grace = deadline.saturating_duration_since(tokio::time::Instant::now());
        let ended = self.app.tasks.shut_down(grace).await;
        let polls = &self.app.ports.polls;
        if !ended {
            tracing::warn!(
                polls = polls.running(),
                "stopping with running polls; another process or the next start resumes them"
            );
        }
        if let Err(fault) = polls.release().await {
            tracing::warn!(error = %fault, "failed to release leases; they will expire");
        }
        if let Err(fault) = store_key_uses(&self.app).await {
            tracing::debug!(error = %fault, "failed to store key uses");
        }
        self.runtime.close().await;
    }
}

/// Stores the last uses of API keys that this process has collected.
pub(in crate::app) async fn store_key_uses(app: &App) -> Result<(), Fault> {
    let uses = app.guard.key_uses.take();
    if uses.is_empty() { Ok(()) } else { app.ports.keys.record_uses(&uses).await }
}
