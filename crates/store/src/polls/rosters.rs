//! Rosters that were stored or read recently.

use std::sync::Arc;

use ep_polling::Member;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::connection::Connection;
use crate::error::{UnexpectedData, failed};
use crate::row::Json;
use crate::store_error::Result;
use crate::value::{json, values};

pub(crate) const ROSTER: &str = "SELECT members FROM rosters WHERE id = $1";

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
pub(crate) type RosterHash = [u8; 32];

impl Default for RosterCache {
    fn default() -> Self {
        Self { by_id: Arc::new(Cache::new(CACHED)), hashes: Arc::new(Cache::new(CACHED)) }
    }
}

impl RosterCache {
    /// Returns the hash of a roster. Polls of a preset share one roster, so it is rarely computed.
    pub(crate) fn hash(&self, members: &Arc<[Member]>) -> Result<RosterHash> {
        let address = members.as_ptr() as usize;
        if let Some((_, hash)) = self.hashes.get(&address) {
            return Ok(hash);
        }
        let hash = hash(&json(&members)?);
        self.hashes.insert(address, (Arc::clone(members), hash));
        Ok(hash)
    }

    /// Returns the members of the roster with this number, in a transaction; none without a number.
    pub(crate) async fn members(
        &self,
        db: &mut Connection<'_>,
        roster: Option<i64>,
    ) -> Result<Arc<[Member]>> {
        match self.known(roster) {
            Ok(members) => Ok(members),
            Err(id) => self.add(id, db.fetch_optional(ROSTER, values![id]).await?),
        }
    }

    /// Returns the members without reading, or the number of the roster to read.
    pub(crate) fn known(&self, roster: Option<i64>) -> Result<Arc<[Member]>, i64> {
        roster.map_or(Ok(Arc::default()), |id| self.by_id.get(&id).ok_or(id))
    }

    /// Adds a roster that was read.
    pub(crate) fn add(&self, id: i64, stored: Option<Json<Vec<Member>>>) -> Result<Arc<[Member]>> {
        let Json(members) = stored.ok_or_else(|| failed(UnexpectedData::MissingRow))?;
        let members: Arc<[Member]> = members.into();
        self.by_id.insert(id, Arc::clone(&members));
        Ok(members)
    }
}

fn hash(json: &str) -> RosterHash {
    Sha256::digest(json.as_bytes()).into()
}
