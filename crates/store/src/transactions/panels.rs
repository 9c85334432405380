//! Panels of accounts.

use ep_polling::panel::{PanelDefinition, PanelName, PanelVersion};
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::accounts;
use crate::connection::{Connection, Durability};
use crate::handles::Store;
use crate::ids::UserId;
use crate::records::{MAX_PANEL_VERSIONS, MAX_PANELS, SavedPanel, StoreError, StoredPanel};
use crate::statements as sql;
use crate::value::{json, values};

/// Stores the panels of accounts. A stored version never changes. Changes are acknowledged once a power loss cannot undo
/// them.
impl Store {
    /// Stores the next version of a panel, or version 1 of a new one, unless its newest version has the same definition.
    /// [`StoreError::NotFound`] for an unknown or deleted account.
    pub async fn save_panel(
        &self,
        user: UserId,
        name: &PanelName,
        definition: &PanelDefinition,
        at: Timestamp,
    ) -> Result<SavedPanel, StoreError> {
        let (name, definition) = (name.clone(), definition.clone());
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { save(db, user, name, definition, at).await }.boxed()
            })
            .await
    }

    /// Returns a version of the user's panel: by default the newest.
    pub async fn panel(
        &self,
        user: UserId,
        name: &PanelName,
        version: Option<u32>,
    ) -> Result<Option<StoredPanel>, StoreError> {
        let name = name.as_str();
        match version {
            Some(version) => {
                self.0.engine.fetch_by_key(sql::PANEL_VERSION, values![user, name, version]).await
            }
            None => self.0.engine.fetch_by_key(sql::NEWEST_PANEL, values![user, name]).await,
        }
    }

    /// Returns the newest versions of the user's panels, by name: at most [`MAX_PANELS`].
    pub async fn panels_of(&self, user: UserId) -> Result<Vec<StoredPanel>, StoreError> {
        self.0.engine.fetch_all(sql::NEWEST_PANELS, values![user, MAX_PANELS]).await
    }

    /// Returns up to `limit` versions of the user's panels, ordered by name and version, after this one.
    pub async fn panel_versions_after(
        &self,
        user: UserId,
        after: Option<&PanelVersion>,
        limit: u32,
    ) -> Result<Vec<StoredPanel>, StoreError> {
        let (name, version) = after.map_or(("", 0), |after| (after.name.as_str(), after.version));
        let values = values![user, name, version, limit];
        self.0.engine.fetch_all(sql::PANEL_VERSIONS_AFTER, values).await
    }

    /// Deletes all versions of the user's panel. Returns `false` if the user has no such panel.
    pub async fn delete_panel(&self, user: UserId, name: &PanelName) -> Result<bool, StoreError> {
        let values = values![user, name.as_str()];
        Ok(self.0.engine.execute(Durability::PowerLoss, sql::DELETE_PANEL, values).await? > 0)
    }
}

async fn save(
    db: &mut Connection<'_>,
    user: UserId,
    name: PanelName,
    definition: PanelDefinition,
    at: Timestamp,
) -> Result<SavedPanel, StoreError> {
    // Two requests at once get two versions.
    accounts::lock_live(db, user).await?;
    let newest: Option<StoredPanel> =
        db.fetch_optional(sql::NEWEST_PANEL, values![user, name.as_str()]).await?;
    let version = match newest {
        Some(newest) if newest.definition == definition => return Ok(SavedPanel::Unchanged(newest)),
        Some(newest) if newest.version.version >= MAX_PANEL_VERSIONS => {
            return Ok(SavedPanel::TooManyVersions);
        }
        Some(newest) => newest.version.version + 1,
        None => {
            let panels: u32 = db.fetch_one(sql::PANEL_NAMES, values![user]).await?;
            if panels >= MAX_PANELS {
                return Ok(SavedPanel::TooManyPanels);
            }
            1
        }
    };
    let json = json(&definition)?;
    db.execute(sql::ADD_PANEL, values![user, name.as_str(), version, json, at]).await?;
    Ok(SavedPanel::Stored(StoredPanel {
        version: PanelVersion { name, version },
        definition,
        created_at: at,
    }))
}
