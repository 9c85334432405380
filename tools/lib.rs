//! The catalogue: every operation of Ensemble Poll. Each noun has a folder; each operation has a file, with
//! its manual and example beside it.
//!
//! To add an operation, add a file, declare it in its folder's `mod.rs`, and add it to [`TOOLS`]
//! (`docs/adding-a-tool.md`). All surfaces and documents are derived from this table.
//!
//! **Invariant:** this package knows no HTTP, no SQL and no protocol types.

pub mod account;
mod amount;
pub mod batches;
pub mod evaluations;
pub mod examples;
pub mod feedback;
pub mod intents;
pub mod keys;
pub mod models;
mod paging;
pub mod panels;
mod plain_words;
mod poll_id;
pub mod polls;
mod prelude;
pub mod reader;
pub mod reputation;
mod result_link;
pub mod results;
pub mod service;
#[cfg(test)]
mod testing;
pub mod wallets;
pub mod webhooks;

use std::sync::LazyLock;

pub use plain_words::operation_of;

use ep_kernel::dispatch::entry;
use ep_kernel::{Entry, Fault, Kind, Tool};

/// All operations, in the order of the documents.
pub static TOOLS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        entry::<polls::PollQuestion>(),
        entry::<results::GetPollResult>(),
        entry::<account::GetBalance>(),
        entry::<polls::StartPoll>(),
        entry::<polls::GetPollStatus>(),
        entry::<polls::GetPoll>(),
        entry::<polls::WatchPoll>(),
        entry::<polls::CancelPoll>(),
        entry::<polls::DeletePoll>(),
        entry::<polls::ListPolls>(),
        entry::<results::ListResults>(),
        entry::<results::ListRecentResults>(),
        entry::<feedback::SubmitFeedback>(),
        entry::<feedback::GetFeedback>(),
        entry::<reputation::GetReputation>(),
        entry::<reputation::ListModelReputation>(),
        entry::<reputation::GetCalibration>(),
        entry::<keys::ListKeys>(),
        entry::<keys::CreateKey>(),
        entry::<keys::FundKey>(),
        entry::<keys::RevokeKey>(),
        entry::<wallets::ChallengeWallet>(),
        entry::<wallets::VerifyWallet>(),
        entry::<wallets::RevokeKeyByWallet>(),
        entry::<wallets::RotateKeyByWallet>(),
        entry::<account::GetCurrentUser>(),
        entry::<account::ListSpending>(),
        entry::<account::CreateCheckout>(),
        entry::<account::GetConfirmation>(),
        entry::<account::SetConfirmation>(),
        entry::<account::ExportAccount>(),
        entry::<account::DeleteAccount>(),
        entry::<webhooks::GetWebhook>(),
        entry::<webhooks::SetWebhook>(),
        entry::<webhooks::RotateWebhookSecret>(),
        entry::<polls::PollFree>(),
        entry::<polls::ProposeOptions>(),
        entry::<polls::DecideQuestions>(),
        entry::<polls::DecideFreeQuestions>(),
        entry::<batches::CreateBatch>(),
        entry::<batches::GetBatch>(),
        entry::<batches::GetBatchResults>(),
        entry::<batches::ListBatches>(),
        entry::<batches::CancelBatch>(),
        entry::<batches::GetBatchReview>(),
        entry::<batches::ReviewBatchRow>(),
        entry::<batches::ShareBatch>(),
        entry::<evaluations::CreateEvaluation>(),
        entry::<evaluations::GetEvaluation>(),
        entry::<evaluations::ListEvaluations>(),
        entry::<evaluations::ShareEvaluation>(),
        entry::<evaluations::DeleteEvaluation>(),
        entry::<polls::DryRunPoll>(),
        entry::<polls::EstimatePoll>(),
        entry::<polls::ListProfiles>(),
        entry::<models::ListModels>(),
        entry::<panels::CreatePanel>(),
        entry::<panels::ListPanels>(),
        entry::<panels::GetPanel>(),
        entry::<panels::DeletePanel>(),
        entry::<results::DrawPoll>(),
        entry::<results::WatchResult>(),
        entry::<examples::ListExamples>(),
        entry::<examples::GetExample>(),
        entry::<intents::MatchIntent>(),
        entry::<service::ListErrors>(),
        entry::<service::GetHealth>(),
    ]
});

/// Returns the catalogue's entry of an operation.
pub fn entry_of<T: Tool>() -> Result<&'static Entry, Fault> {
    find(T::SPEC.name).ok_or_else(|| Fault::new(Kind::NotFound, "there is no such operation"))
}

/// Returns the operation with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TOOLS.iter().find(|entry| entry.spec.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_names_its_texts_and_its_callers() {
        for Entry { spec, .. } in TOOLS.iter() {
            for text in [spec.name, spec.title, spec.summary, spec.manual] {
                assert!(!text.trim().is_empty(), "{}", spec.name);
            }
            let access = spec.access;
            assert!(access.anonymous || access.cookie || access.key, "{} admits nobody", spec.name);
        }
    }
}
