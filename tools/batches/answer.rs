//! The answer of a row with one poll.

use ep_kernel::executor::PollState;
use ep_kernel::ports::RowAnswer;
use ep_polling::agreement::Agreement;
use ep_polling::choices::ChoiceKind;

use crate::polls::summary::{contested, decided};

/// Returns the answer of a closed poll: the option that won, or the one that its tie rule chose; of a scale the lower median.
pub fn answer_of(state: &PollState) -> RowAnswer {
    let plan = &state.record.plan;
    let tally = state.tally();
    let option = match plan.kind {
        ChoiceKind::Options => decided(state, &tally).0,
        ChoiceKind::Levels | ChoiceKind::PassMark(_) => tally.lower_median(),
    };
    let votes = plan.ranked_votes(state.ballots.iter().map(|ballot| &**ballot));
    RowAnswer {
        option: option.and_then(|option| plan.options.get(option).cloned()),
        agreement: option.map_or(Agreement::NONE, |option| Agreement::of(&votes, option, plan.has_order())),
        contested: contested(state, &tally).unwrap_or(false),
    }
}
