//! The answer of a row with one poll.

use ep_kernel::executor::PollState;
use ep_kernel::ports::RowAnswer;
use ep_polling::agreement::Agreement;
use ep_polling::choices::ChoiceKind;
use ep_polling::contested::is_contested;
use ep_polling::plan::Plan;
use ep_polling::scale::PassMark;
use ep_polling::tally::Tally;

use crate::polls::summary::{contested, decided};

/// Returns the answer of a closed poll: the option that won, or the one that its tie rule chose; of a scale the lower median.
pub fn answer_of(state: &PollState) -> RowAnswer {
    let plan = &state.record.plan;
    let tally = state.tally();
    let option = match plan.kind {
        ChoiceKind::Options => decided(state, &tally).0,
        ChoiceKind::Levels | ChoiceKind::PassMark(_) => tally.lower_median(),
    };
    let ballots = || state.ballots.iter().map(|ballot| &**ballot);
    if let ChoiceKind::PassMark(mark) = plan.kind {
        return of_pass(mark, option, plan.ranked_votes(ballots()), plan);
    }
    let votes = plan.ranked_votes(ballots());
    RowAnswer {
        option: option.and_then(|option| plan.options.get(option).cloned()),
        agreement: option.map_or(Agreement::NONE, |option| Agreement::of(&votes, option, plan.has_order())),
        contested: contested(state, &tally).unwrap_or(false),
    }
}

/// Returns the answer of a scale with a pass mark: the median, with the agreement on the pass or fail.
fn of_pass(mark: PassMark, median: Option<usize>, levels: Vec<Option<usize>>, plan: &Plan) -> RowAnswer {
    let sides: Vec<Option<usize>> =
        levels.into_iter().map(|level| level.map(|level| mark.side(level) as usize)).collect();
    let tally = Tally::of(2, sides.iter().copied());
    let strongest = sides.iter().flatten().next().copied().filter(|_| plan.has_order());
    RowAnswer {
        option: median.and_then(|level| plan.options.get(level).cloned()),
        agreement: median.map_or(Agreement::NONE, |level| {
            Agreement::of(&sides, mark.side(level) as usize, plan.has_order())
        }),
        contested: is_contested(&tally, strongest),
    }
}
