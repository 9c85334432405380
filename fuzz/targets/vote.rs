//! The body of a response, parsed as a vote, as a decision, and as an error.

#![no_main]

use ep_polling::ballot::ChoiceForm;
use ep_upstream::testing::readers;
use libfuzzer_sys::fuzz_target;

const OPTIONS: [&str; 4] = ["Earth", "Mars", "Earthrise now", "No"];

fuzz_target!(|body: &[u8]| {
    for form in [ChoiceForm::Text, ChoiceForm::Letter] {
        let vote = readers::vote(body, "Which planet?", &OPTIONS, form);
        // The order of the options does not affect a vote by text.
        if form == ChoiceForm::Text {
            let mut reversed = OPTIONS;
            reversed.reverse();
            let again = readers::vote(body, "Which planet?", &reversed, form);
            assert_eq!(vote.map(|option| OPTIONS[option]), again.map(|option| reversed[option]));
        }
    }
    for probabilities in readers::decisions(body, &OPTIONS).into_iter().flatten() {
        // The largest error of four probabilities that are rounded to two decimals.
        let sum: f64 = probabilities.fractions().sum();
        assert!(probabilities.fractions().len() == OPTIONS.len() && (sum - 1.0).abs() < 0.021, "{sum}");
    }
    let shown = readers::error_text(400, body);
    assert!(shown.len() <= 130 && !shown.contains('\n'), "{shown}");
});
