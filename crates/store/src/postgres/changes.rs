//! Changes to polls, announced with LISTEN and NOTIFY.

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryFutureExt};
use serde_json::Value;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::{Postgres, within};
use crate::error::database_error;
use crate::polls::{PollChange, PollChanges};
use crate::store_error::Result;
use crate::value::json;
use crate::value::values;

const CHANNEL: &str = "ep_poll_changes";
/// Announcements need no durability: the commit does not wait for the disk.
const ANNOUNCE: &str = "SELECT set_config('synchronous_commit', 'off', TRUE), pg_notify($1, $2)";

#[async_trait]
impl PollChanges for Postgres {
    async fn announce(&self, changes: &[PollChange]) -> Result<()> {
        let payload = json(&changes)?;
        self.execute(ANNOUNCE, values![CHANNEL, &*payload]).await.map(drop)
    }

    async fn listen(&self) -> Result<BoxStream<'static, PollChange>> {
        // A separate connection, because it waits for long and would block one of the pool's.
        let Self { server, timeout, .. } = self;
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(*timeout).max_lifetime(None);
        let pool = pool.idle_timeout(None).connect_lazy_with(server.clone());
        let listening = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        let listener = within(*timeout, Box::pin(listening).map_err(database_error)).await?;
        let notifications = futures::stream::unfold(listener, |mut listener| async move {
            match listener.try_recv().await {
                Ok(Some(notification)) => Some((notification, listener)),
                // The connection was lost, and some notifications perhaps with it.
                Ok(None) | Err(_) => None,
            }
        });
        let changes = notifications.flat_map(|notification| {
            // Announcements of another version may be unreadable.
            let changes: Vec<Value> = serde_json::from_str(notification.payload()).unwrap_or_default();
            futures::stream::iter(
                changes.into_iter().filter_map(|change| serde_json::from_value(change).ok()),
            )
        });
        Ok(changes.boxed())
    }
}
