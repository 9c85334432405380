//! Rows of panels.

use ep_polling::panel::PanelVersion;
use ep_polling::time::Timestamp;

use super::unreadable;
use crate::error::failed;
use crate::records::{StoreError, StoredPanel};

row! {
    /// A version of a panel.
    PanelRow { name: String, version: i64, definition: String, created_at: i64 }
}

impl TryFrom<PanelRow> for StoredPanel {
    type Error = StoreError;

    fn try_from(row: PanelRow) -> Result<Self, StoreError> {
        let name = row.name.parse().map_err(failed)?;
        let version = u32::try_from(row.version).map_err(|_| unreadable("the version of a panel"))?;
        Ok(Self {
            version: PanelVersion { name, version },
            definition: serde_json::from_str(&row.definition).map_err(failed)?,
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}
