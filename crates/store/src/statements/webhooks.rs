//! Webhooks and notifications.

/// Stores the notification of a new poll, if the poll ($3) or its owner has a webhook URL.
pub(crate) const ADD_NOTIFICATION: &str = "INSERT INTO notifications (poll_id, user_id, url, next_at, created_at) \
     SELECT $1, $2, url, (SELECT now FROM clock), $4 FROM \
         (SELECT COALESCE($3, (SELECT url FROM webhooks WHERE user_id = $2)) AS url) AS named WHERE url IS NOT NULL";
pub(crate) const DUE_NOTIFICATIONS: &str = due_notifications!("SELECT value FROM json_each($4)", "");
pub(crate) const DUE_NOTIFICATIONS_POSTGRES: &str =
    due_notifications!("SELECT json_array_elements_text($4::json)", " FOR UPDATE SKIP LOCKED");
pub(crate) const DUE_BATCH_NOTIFICATIONS: &str =
    due_batch_notifications!("SELECT value FROM json_each($4)", "");
pub(crate) const DUE_BATCH_NOTIFICATIONS_POSTGRES: &str =
    due_batch_notifications!("SELECT json_array_elements_text($4::json)", " FOR UPDATE SKIP LOCKED");
pub(crate) const BATCH_ATTEMPTED: &str = "UPDATE batch_notifications SET state = $2, last_error = $3, \
     next_at = (SELECT now FROM clock) + $4 WHERE batch = $1 AND state = 'waiting'";
pub(crate) const ATTEMPTED: &str = "UPDATE notifications SET state = $2, last_error = $3, \
     next_at = (SELECT now FROM clock) + $4 WHERE poll_id = $1 AND state = 'waiting'";
pub(crate) const NOTIFICATIONS_OF: &str = "SELECT poll_id, url, state, attempts, last_error, created_at \
     FROM notifications WHERE user_id = $1 ORDER BY created_at DESC, poll_id LIMIT $2";
pub(crate) const DELETE_OLD_NOTIFICATIONS: &str =
    "DELETE FROM notifications WHERE state <> 'waiting' AND created_at < $1";
pub(crate) const WEBHOOK: &str =
    "SELECT url, secret_number, secret_replaced_at AS replaced_at FROM webhooks WHERE user_id = $1";
pub(crate) const SET_WEBHOOK_URL: &str = "INSERT INTO webhooks (user_id, url) VALUES ($1, $2) \
     ON CONFLICT (user_id) DO UPDATE SET url = excluded.url";
pub(crate) const REPLACE_WEBHOOK_SECRET: &str = "INSERT INTO webhooks (user_id, secret_number, secret_replaced_at) \
     VALUES ($1, 1, $2) ON CONFLICT (user_id) DO UPDATE SET \
         secret_number = webhooks.secret_number + 1, secret_replaced_at = excluded.secret_replaced_at \
     RETURNING secret_number";
