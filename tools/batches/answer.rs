//! The answer of a row with one poll.

use ep_kernel::PollState;
use ep_polling::{Agreement, ChoiceKind};
use ep_store::RowAnswer;

use crate::polls::summary::{contested, decided, no_answer};

/// Returns the answer of a closed poll: the option that won, or the one that its tie rule chose; of a scale the lower median.
/// None if the votes give no answer.
pub fn answer_of(state: &PollState) -> RowAnswer {
    let plan = &state.record.plan;
    let tally = state.tally();
    let closing = state.record.closing.as_ref();
    let option = match plan.kind {
        _ if closing.is_some_and(|closing| no_answer(state, closing).is_some()) => None,
        ChoiceKind::Options => decided(state, &tally).0,
        ChoiceKind::Levels | ChoiceKind::PassMark(_) => tally.lower_median(),
    };
    let mut votes = plan.ranked_votes(state.ballots.iter().map(|ballot| &**ballot));
    let mut answer = option;
    if let ChoiceKind::PassMark(mark) = plan.kind {
        // The models agree if they pass or fail alike.
        let side = |level: usize| mark.side(level) as usize;
        answer = option.map(side);
        for vote in &mut votes {
            *vote = vote.map(side);
        }
    }
    RowAnswer {
        option: option.and_then(|option| plan.options.get(option).cloned()),
        agreement: answer.map_or(Agreement::NONE, |answer| Agreement::of(&votes, answer, plan.has_order())),
        contested: contested(state, &tally),
    }
}
