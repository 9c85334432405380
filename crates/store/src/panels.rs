//! Panels of accounts.

use ep_polling::{PanelDefinition, PanelName, PanelVersion, Timestamp};

use crate::accounts::account;
use crate::connection::Durability;
use crate::handles::Store;
use crate::ids::UserId;
use crate::row::from_row;
use crate::store_error::Result;
use crate::value::{json, values};

/// Maximum number of panels per account.
pub const MAX_PANELS: u32 = 100;
/// Maximum number of versions per panel.
pub const MAX_PANEL_VERSIONS: u32 = 100;

/// A stored version of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPanel {
    /// The name and the version.
    pub version: PanelVersion,
    /// The models and rules.
    pub definition: PanelDefinition,
    /// The time when the version was stored.
    pub created_at: Timestamp,
}

/// The outcome of saving a panel.
#[derive(Debug, Clone, PartialEq)]
pub enum SavedPanel {
    /// A new version was stored.
    Stored(StoredPanel),
    /// The newest version has the same definition; nothing was stored.
    Unchanged(StoredPanel),
    /// The account already has [`MAX_PANELS`] panels.
    TooManyPanels,
    /// The panel already has [`MAX_PANEL_VERSIONS`] versions.
    TooManyVersions,
}

from_row!(PanelVersion { name, version });
from_row!(StoredPanel { version, definition: json, created_at });

macro_rules! panel_columns {
    () => {
        "name, version, definition, created_at"
    };
}

pub(crate) const NEWEST_PANEL: &str = concat!(
    "SELECT ",
    panel_columns!(),
    " FROM panels WHERE user_id = $1 AND name = $2 ORDER BY version DESC LIMIT 1"
);
const PANEL_VERSION: &str =
    concat!("SELECT ", panel_columns!(), " FROM panels WHERE user_id = $1 AND name = $2 AND version = $3");
pub(crate) const NEWEST_PANELS: &str = concat!(
    "SELECT ",
    panel_columns!(),
    " FROM panels WHERE user_id = $1 AND version = (SELECT MAX(version) FROM panels AS versions \
         WHERE versions.user_id = panels.user_id AND versions.name = panels.name) ORDER BY name LIMIT $2"
);
pub(crate) const PANEL_VERSIONS_AFTER: &str = concat!(
    "SELECT ",
    panel_columns!(),
    " FROM panels WHERE user_id = $1 AND (name, version) > ($2, $3) ORDER BY name, version LIMIT $4"
);
const PANEL_NAMES: &str = "SELECT COUNT(DISTINCT name) AS count FROM panels WHERE user_id = $1";
const ADD_PANEL: &str =
    "INSERT INTO panels (user_id, name, version, definition, created_at) VALUES ($1, $2, $3, $4, $5)";
const DELETE_PANEL: &str = "DELETE FROM panels WHERE user_id = $1 AND name = $2";

/// Stores the panels of accounts. A stored version never changes. Changes are acknowledged once a power loss cannot undo
/// them.
impl Store {
    /// Stores the next version of a panel, or version 1 of a new one, unless its newest version has the same definition.
    /// [`StoreError::NotFound`](crate::StoreError::NotFound) for an unknown or deleted account.
    pub async fn save_panel(
        &self,
        user: UserId,
        name: &PanelName,
        definition: &PanelDefinition,
        at: Timestamp,
    ) -> Result<SavedPanel> {
        let (name, definition) = (name.clone(), definition.clone());
        transact!(self.0, PowerLoss, |db| {
            // Two requests at once get two versions.
            account::lock_live(db, user).await?;
            let newest: Option<StoredPanel> =
                db.fetch_optional(NEWEST_PANEL, values![user, name.as_str()]).await?;
            let version = match newest {
                Some(newest) if newest.definition == definition => return Ok(SavedPanel::Unchanged(newest)),
                Some(newest) if newest.version.version >= MAX_PANEL_VERSIONS => {
                    return Ok(SavedPanel::TooManyVersions);
                }
                Some(newest) => newest.version.version + 1,
                None => {
                    let panels: u32 = db.fetch_one(PANEL_NAMES, values![user]).await?;
                    if panels >= MAX_PANELS {
                        return Ok(SavedPanel::TooManyPanels);
                    }
                    1
                }
            };
            let json = json(&definition)?;
            db.execute(ADD_PANEL, values![user, name.as_str(), version, json, at]).await?;
            let version = PanelVersion { name, version };
            Ok(SavedPanel::Stored(StoredPanel { version, definition, created_at: at }))
        })
    }

    /// Returns a version of the user's panel: by default the newest.
    pub async fn panel(
        &self,
        user: UserId,
        name: &PanelName,
        version: Option<u32>,
    ) -> Result<Option<StoredPanel>> {
        let name = name.as_str();
        match version {
            Some(version) => self.0.fetch_by_key(PANEL_VERSION, values![user, name, version]).await,
            None => self.0.fetch_by_key(NEWEST_PANEL, values![user, name]).await,
        }
    }

    /// Returns the newest versions of the user's panels, by name: at most [`MAX_PANELS`].
    pub async fn panels_of(&self, user: UserId) -> Result<Vec<StoredPanel>> {
        self.0.fetch_all(NEWEST_PANELS, values![user, MAX_PANELS]).await
    }

    /// Returns up to `limit` versions of the user's panels, ordered by name and version, after this one.
    pub async fn panel_versions_after(
        &self,
        user: UserId,
        after: Option<&PanelVersion>,
        limit: u32,
    ) -> Result<Vec<StoredPanel>> {
        let (name, version) = after.map_or(("", 0), |after| (after.name.as_str(), after.version));
        self.0.fetch_all(PANEL_VERSIONS_AFTER, values![user, name, version, limit]).await
    }

    /// Deletes all versions of the user's panel. Returns `false` if the user has no such panel.
    pub async fn delete_panel(&self, user: UserId, name: &PanelName) -> Result<bool> {
        Ok(self.0.execute(Durability::PowerLoss, DELETE_PANEL, values![user, name.as_str()]).await? > 0)
    }
}
