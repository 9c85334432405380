//! Ballot views for the tests of this folder.

use ep_polling::ballot::{BallotView, Choice};

/// A view with the codes BC, DF, GH, JK, … in order.
pub(super) fn view(texts: &[&str]) -> BallotView {
    let codes = ["BC", "DF", "GH", "JK", "LM", "NP", "QR", "ST", "VW", "XZ"];
    let choices = texts
        .iter()
        .zip(codes)
        .enumerate()
        .map(|(option, (text, code))| Choice { code: code.to_owned(), text: (*text).to_owned(), option })
        .collect();
    BallotView { question: "Which?".into(), choices }
}
