//! Cached upstream data: model lists in the table `upstream_registries`, fallback levels in `upstream_rungs`.

pub(crate) const MODEL_LIST: &str = "SELECT fetched_at, body FROM upstream_registries WHERE upstream = $1";
pub(crate) const SAVE_MODEL_LIST: &str = "INSERT INTO upstream_registries (upstream, fetched_at, body) \
     VALUES ($1, $2, $3) \
     ON CONFLICT (upstream) DO UPDATE SET fetched_at = excluded.fetched_at, body = excluded.body";
pub(crate) const FALLBACK_LEVELS: &str = "SELECT model, rung AS level, parameters, needs, saved_at FROM upstream_rungs WHERE upstream = $1 ORDER BY model";
pub(crate) const SAVE_FALLBACK_LEVEL: &str = "INSERT INTO upstream_rungs (upstream, model, rung, parameters, needs, saved_at) \
     VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (upstream, model) DO UPDATE SET rung = excluded.rung, parameters = excluded.parameters, \
         needs = excluded.needs, saved_at = excluded.saved_at";
pub(crate) const FORGET_FALLBACK_LEVEL: &str =
    "DELETE FROM upstream_rungs WHERE upstream = $1 AND model = $2";
