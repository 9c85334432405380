//! Statements about panels.

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
pub(crate) const PANEL_VERSION: &str =
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
pub(crate) const PANEL_NAMES: &str = "SELECT COUNT(DISTINCT name) AS count FROM panels WHERE user_id = $1";
pub(crate) const ADD_PANEL: &str =
    "INSERT INTO panels (user_id, name, version, definition, created_at) VALUES ($1, $2, $3, $4, $5)";
pub(crate) const DELETE_PANEL: &str = "DELETE FROM panels WHERE user_id = $1 AND name = $2";
