//! What agents sent to open polls.

use crate::test_database::{TestDatabase, new_poll};

on_both_engines!(the_first_message_is_kept_for_the_owner_of_the_poll);

async fn the_first_message_is_kept_for_the_owner_of_the_poll(db: TestDatabase) {
    let (owner, other) = (db.user(0).await, db.user(0).await);
    let poll = db.running(Some(owner), None).await;
    let unknown = new_poll(None, None).id;
    let messages = db.store.agent_messages();
    assert_eq!(messages.kept(&poll, owner).await.unwrap(), None);
    for message in ["{\"messageId\":\"é\"}", "{\"messageId\":\"later\"}"] {
        messages.keep(&poll, message).await.unwrap();
        messages.keep(&unknown, message).await.unwrap();
    }
    let db = db.reopened().await;
    let messages = db.store.agent_messages();
    assert_eq!(messages.kept(&poll, owner).await.unwrap().unwrap(), "{\"messageId\":\"é\"}");
    assert_eq!(messages.kept(&poll, other).await.unwrap(), None, "another account sees no message");
    assert_eq!(messages.kept(&unknown, owner).await.unwrap(), None);
}
