//! Panels of accounts.

use std::collections::HashSet;

use ep_polling::{ModelId, OrderBasis, PanelDefinition, PanelName, PanelVersion, Threshold, TieRule};
use ep_store::{MAX_PANEL_VERSIONS, MAX_PANELS, SavedPanel, StoreError, StoredPanel, UserId};
use futures::future::join_all;

use ep_store::testing::test_database::{TestDatabase, at, delete_account};

on_both_engines!(
    another_definition_is_the_next_version_and_the_same_one_is_not_stored,
    panels_and_versions_are_bounded,
    requests_at_once_get_a_version_each,
    a_deleted_panel_loses_all_versions_and_a_deleted_account_all_panels,
    versions_are_read_in_pages,
);

fn name(text: &str) -> PanelName {
    text.parse().unwrap()
}

/// Returns a definition that differs from those of other numbers.
fn definition(number: usize) -> PanelDefinition {
    PanelDefinition {
        models: [format!("maker/model-{number}"), "maker/\"other\" 🦀".to_owned()].map(ModelId::new).to_vec(),
        order: OrderBasis::Given,
        on_tie: Some(TieRule::Strongest),
        confidence_threshold: Some(Threshold::new(0.123_456_789_012_345_67).unwrap()),
    }
}

async fn save(db: &TestDatabase, user: UserId, panel: &str, number: usize) -> SavedPanel {
    db.store.save_panel(user, &name(panel), &definition(number), at(number as i64)).await.unwrap()
}

fn stored(panel: &str, version: u32, number: usize) -> StoredPanel {
    let version = PanelVersion { name: name(panel), version };
    StoredPanel { version, definition: definition(number), created_at: at(number as i64) }
}

async fn another_definition_is_the_next_version_and_the_same_one_is_not_stored(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let panels = &db.store;
    assert_eq!(panels.panel(user, &name("a"), None).await.unwrap(), None);
    assert_eq!(save(&db, user, "a", 1).await, SavedPanel::Stored(stored("a", 1, 1)));
    let again = panels.save_panel(user, &name("a"), &definition(1), at(9)).await.unwrap();
    assert_eq!(again, SavedPanel::Unchanged(stored("a", 1, 1)));
    assert_eq!(save(&db, user, "a", 2).await, SavedPanel::Stored(stored("a", 2, 2)));
    // An earlier definition becomes the newest version.
    assert_eq!(save(&db, user, "a", 1).await, SavedPanel::Stored(stored("a", 3, 1)));
    for (version, number) in [(1, 1), (2, 2), (3, 1)] {
        let found = panels.panel(user, &name("a"), Some(version)).await.unwrap();
        assert_eq!(found, Some(stored("a", version, number)));
    }
    assert_eq!(panels.panel(user, &name("a"), None).await.unwrap(), Some(stored("a", 3, 1)));
    for version in [0, 4, u32::MAX] {
        assert_eq!(panels.panel(user, &name("a"), Some(version)).await.unwrap(), None);
    }
    save(&db, user, "b", 5).await;
    save(&db, other, "a", 7).await;
    assert_eq!(panels.panels_of(user).await.unwrap(), [stored("a", 3, 1), stored("b", 1, 5)]);
    assert_eq!(panels.panels_of(other).await.unwrap(), [stored("a", 1, 7)]);
    let nobody = UserId::from_random([9; 16]);
    let unknown = panels.save_panel(nobody, &name("a"), &definition(1), at(1)).await;
    assert!(matches!(unknown, Err(StoreError::NotFound("account"))), "{unknown:?}");
}

async fn panels_and_versions_are_bounded(db: TestDatabase) {
    let user = db.user(0).await;
    for number in 0..MAX_PANELS {
        let saved = save(&db, user, &format!("panel-{number}"), 1).await;
        assert!(matches!(saved, SavedPanel::Stored(_)), "{saved:?}");
    }
    assert_eq!(save(&db, user, "another", 1).await, SavedPanel::TooManyPanels);
    for number in 2..=MAX_PANEL_VERSIONS as usize {
        let saved = save(&db, user, "panel-0", number).await;
        assert!(matches!(saved, SavedPanel::Stored(_)), "{saved:?}");
    }
    assert_eq!(save(&db, user, "panel-0", 1).await, SavedPanel::TooManyVersions);
    let newest = MAX_PANEL_VERSIONS as usize;
    let unchanged = SavedPanel::Unchanged(stored("panel-0", MAX_PANEL_VERSIONS, newest));
    assert_eq!(save(&db, user, "panel-0", newest).await, unchanged);
    assert!(db.store.delete_panel(user, &name("panel-0")).await.unwrap());
    assert_eq!(save(&db, user, "another", 1).await, SavedPanel::Stored(stored("another", 1, 1)));
}

async fn requests_at_once_get_a_version_each(db: TestDatabase) {
    let user = db.user(0).await;
    let saved = join_all((1..=8).map(|number| save(&db, user, "a", number))).await;
    let versions: HashSet<u32> = saved
        .iter()
        .map(|saved| match saved {
            SavedPanel::Stored(panel) => panel.version.version,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(versions, (1..=8).collect());
}

async fn a_deleted_panel_loses_all_versions_and_a_deleted_account_all_panels(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let panels = &db.store;
    for (owner, panel, number) in [(user, "a", 1), (user, "a", 2), (user, "b", 3), (other, "a", 4)] {
        save(&db, owner, panel, number).await;
    }
    assert!(panels.delete_panel(user, &name("a")).await.unwrap());
    assert!(!panels.delete_panel(user, &name("a")).await.unwrap(), "it is gone");
    assert_eq!(panels.panel(user, &name("a"), Some(1)).await.unwrap(), None);
    assert_eq!(panels.panels_of(user).await.unwrap(), [stored("b", 1, 3)]);
    delete_account(&db, user, at(9)).await;
    assert_eq!(panels.panels_of(user).await.unwrap(), []);
    assert_eq!(panels.panels_of(other).await.unwrap(), [stored("a", 1, 4)]);
    let late = panels.save_panel(user, &name("a"), &definition(1), at(9)).await;
    assert!(matches!(late, Err(StoreError::NotFound("account"))), "{late:?}");
    db.assert_consistent().await;
}

async fn versions_are_read_in_pages(db: TestDatabase) {
    let user = db.user(0).await;
    for (panel, number) in [("b", 1), ("b", 2), ("a", 3), ("b", 4), ("c", 5)] {
        save(&db, user, panel, number).await;
    }
    let mut read: Vec<StoredPanel> = Vec::new();
    loop {
        let after = read.last().map(|panel| &panel.version);
        let page = db.store.panel_versions_after(user, after, 2).await.unwrap();
        let is_last = page.len() < 2;
        read.extend(page);
        if is_last {
            break;
        }
    }
    let all = [("a", 1, 3), ("b", 1, 1), ("b", 2, 2), ("b", 3, 4), ("c", 1, 5)];
    assert_eq!(read, all.map(|(panel, version, number)| stored(panel, version, number)));
}
