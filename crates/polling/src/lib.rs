#![doc = include_str!("../README.md")]

pub mod agreement;
pub mod apportion;
pub mod ballot;
pub mod budget;
pub mod calibration;
mod checked;
pub mod choices;
pub mod contested;
pub mod counted;
pub mod dispatch;
pub mod evaluation;
pub mod explainers;
pub mod explanation;
mod foreign_text;
pub mod model_counts;
pub mod money;
pub mod no_answer;
pub mod options;
pub mod order;
pub mod panel;
pub mod plan;
pub mod poll_id;
pub mod probabilities;
pub mod proposals;
pub mod question;
pub mod reputation;
pub mod roster;
pub mod scale;
pub mod scale_result;
#[cfg(feature = "schema")]
pub mod schema;
pub mod stopping;
pub mod tally;
pub mod text;
pub mod threshold;
pub mod tie_rule;
pub mod time;
mod words;

pub use agreement::Agreement;
pub use ballot::{
    Ballot, BallotMode, BallotView, BallotViews, Casting, Choice, ChoiceForm, ModelResponse, NoVote, Reason,
    TokenUsage, Tokens,
};
pub use budget::Budget;
pub use calibration::{AgreementLevel, CalibrationGroup};
pub use choices::{ChoiceKind, Choices};
pub use dispatch::DispatchOrder;
pub use explainers::Explainer;
pub use explanation::{Explanation, ExplanationCount, ExplanationText};
pub use model_counts::ModelCounts;
pub use money::{Hold, MicroUsd, PicoUsd, Price, Settlement, Spend, SpendBasis, Usd, UsdFigure};
pub use no_answer::{EndedVotes, NoAnswer};
pub use options::{FreeOptions, Levels, Options, OptionsError};
pub use order::Seed;
pub use panel::{ChosenPanel, OrderBasis, PanelDefinition, PanelName, PanelRef, PanelVersion};
pub use plan::{Draft, Plan};
pub use poll_id::PollId;
pub use probabilities::{OptionProbability, Probabilities, ProbabilitiesError};
pub use proposals::{Proposal, ProposedOption};
pub use question::{FreeQuestion, Question, QuestionText};
pub use reputation::{BallotSlot, EndedPoll, Judgements, SlotShare, Sums};
pub use roster::{Member, ModelChoice, ModelId, ModelNames, ModelSource, Roster};
pub use scale::{PassMark, PassSide, Scale};
pub use scale_result::{PassResult, ScaleResult};
pub use stopping::{Decision, Evidence, FinalResponse, Pace, Prefix, Responses, Rule, TerminationReason};
pub use tally::{NamedTally, Outcome, Tally};
pub use text::{Lines, TextError};
pub use threshold::Threshold;
pub use tie_rule::{DecidedBy, TieRule};
pub use time::Timestamp;
