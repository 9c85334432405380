//! Statements about evaluations.

pub(crate) const EVALUATIONS_OF_ACCOUNT: &str = "SELECT COUNT(*) AS count, \
         CAST(COALESCE(SUM(octet_length(report)), 0) AS BIGINT) AS bytes FROM evaluations WHERE user_id = $1";
pub(crate) const ADD_EVALUATION: &str =
    "INSERT INTO evaluations (id, user_id, name, report, created_at) VALUES ($1, $2, $3, $4, $5)";
pub(crate) const EVALUATION: &str =
    "SELECT id, name, report, shared, created_at FROM evaluations WHERE user_id = $1 AND id = $2";
pub(crate) const SHARED_EVALUATION: &str = "SELECT id, name, report, shared, created_at FROM evaluations WHERE id = $1 AND shared = 1 \
     AND NOT EXISTS (SELECT 1 FROM accounts WHERE id = evaluations.user_id AND deleted_at IS NOT NULL)";
pub(crate) const EVALUATIONS: &str = "SELECT id, name, '' AS report, shared, created_at FROM evaluations \
     WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2";
pub(crate) const SHARE_EVALUATION: &str = "UPDATE evaluations SET shared = $3 WHERE user_id = $1 AND id = $2";
pub(crate) const DELETE_EVALUATION: &str = "DELETE FROM evaluations WHERE user_id = $1 AND id = $2";
