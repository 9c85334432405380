//! Rosters that were stored or read recently.

use std::sync::Arc;

use ep_polling::roster::Member;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use super::Database;
use super::plans::StoredPlan;
use crate::connection::Connection;
use crate::error::{UnexpectedData, failed};
use crate::records::StoreError;
use crate::row::Json;
use crate::statements as sql;
use crate::value::{json, values};

/// Maximum number of cached rosters.
const CACHED: usize = 64;

/// Rosters that were stored or read recently. Stored rosters never change.
#[derive(Clone)]
pub(crate) struct RosterCache {
    by_id: Arc<Cache<i64, Arc<[Member]>>>,
    /// Hashes by the address of the roster, which the entry keeps in use.
    hashes: Arc<Cache<usize, HashedRoster>>,
}

type HashedRoster = (Arc<[Member]>, RosterHash);

/// The SHA-256 of a roster's JSON.
pub(super) type RosterHash = [u8; 32];

impl Default for RosterCache {
    fn default() -> Self {
        Self { by_id: Arc::new(Cache::new(CACHED)), hashes: Arc::new(Cache::new(CACHED)) }
    }
}

impl RosterCache {
    /// Returns the hash of a roster. Polls of a preset share one roster, so it is rarely computed.
    pub(super) fn hash(&self, members: &Arc<[Member]>) -> Result<RosterHash, StoreError> {
        let address = members.as_ptr() as usize;
        if let Some((_, hash)) = self.hashes.get(&address) {
            return Ok(hash);
        }
        let hash = hash(&json(&members)?);
        self.hashes.insert(address, (Arc::clone(members), hash));
        Ok(hash)
    }

    /// Returns the members of the roster of this plan, in a transaction; none for a deleted plan.
    pub(super) async fn members(
        &self,
        db: &mut Connection<'_>,
        plan: &StoredPlan,
    ) -> Result<Arc<[Member]>, StoreError> {
        match self.known(plan) {
            Ok(members) => Ok(members),
            Err(id) => self.add(id, db.fetch_optional(sql::ROSTER, values![id]).await?),
        }
    }

    /// Returns the members without reading, or the id of the roster to read.
    fn known(&self, plan: &StoredPlan) -> Result<Arc<[Member]>, i64> {
        plan.roster.map_or(Ok(Arc::default()), |id| self.by_id.get(&id).ok_or(id))
    }

    fn add(&self, id: i64, stored: Option<Json<Vec<Member>>>) -> Result<Arc<[Member]>, StoreError> {
        let Json(members) = stored.ok_or_else(|| failed(UnexpectedData::MissingRow))?;
        let members: Arc<[Member]> = members.into();
        self.by_id.insert(id, Arc::clone(&members));
        Ok(members)
    }
}

impl Database {
    /// Returns the members of the roster of this plan; none for a deleted plan.
    pub(super) async fn members(&self, plan: &StoredPlan) -> Result<Arc<[Member]>, StoreError> {
        match self.rosters.known(plan) {
            Ok(members) => Ok(members),
            Err(id) => self.rosters.add(id, self.engine.fetch_optional(sql::ROSTER, values![id]).await?),
        }
    }
}

pub(super) fn hash(json: &str) -> RosterHash {
    Sha256::digest(json.as_bytes()).into()
}
