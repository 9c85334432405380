//! Evaluations that accounts store.

pub(crate) mod evaluation;
mod id;

pub use self::evaluation::{EvaluationRecord, MAX_EVALUATION_BYTES, MAX_EVALUATIONS};
pub use self::id::{EvaluationId, NotAnEvaluationId};
