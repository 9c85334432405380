//! Papers for the tests of this folder.

use ep_kernel::polling::ballot::{Choice, Paper};

/// A paper with the codes BC, DF, GH, JK, … in order.
pub(super) fn paper(texts: &[&str]) -> Paper {
    let codes = ["BC", "DF", "GH", "JK", "LM", "NP", "QR", "ST", "VW", "XZ"];
    let choices = texts
        .iter()
        .zip(codes)
        .enumerate()
        .map(|(option, (text, code))| Choice { code: code.to_owned(), text: (*text).to_owned(), option })
        .collect();
    Paper { question: "Which?".into(), choices }
}
