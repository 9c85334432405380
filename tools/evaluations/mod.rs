//! Evaluations of models and panels on gold labels, which accounts store and share.

mod create_evaluation;
mod delete_evaluation;
mod get_evaluation;
mod list_evaluations;
mod share_evaluation;
mod view;

pub use create_evaluation::CreateEvaluation;
pub use delete_evaluation::DeleteEvaluation;
pub use get_evaluation::{GetEvaluation, ReadEvaluation};
pub use list_evaluations::{EvaluationList, ListEvaluations};
pub use share_evaluation::ShareEvaluation;
pub use view::{EVALUATION_PAGE, StoredEvaluation};
