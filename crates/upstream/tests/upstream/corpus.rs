//! The ballots of `tests/ballots.csv`: texts of models, and what was read from them.

use std::collections::BTreeMap;

use ep_polling::ChoiceForm;
use ep_upstream::testing::readers;
use serde::Deserialize;
use serde_json::json;

/// A ballot of the corpus.
#[derive(Deserialize)]
struct Ballot {
    /// The origin: a public report, a person, or a model.
    source: String,
    /// `call` if the text is the arguments of a call, else `text`.
    place: String,
    /// The requested form: `text` or `letter`.
    form: String,
    finish_reason: String,
    /// The question, as far as it is known.
    question: String,
    /// The options in the shown order, as JSON.
    options: String,
    text: String,
    /// The option that a person understands, by hand; empty if there is none.
    meant: String,
    /// The same if the text declares it by the rules of `docs/decisions/0012-declared-votes.md`. Otherwise the model is asked once
    /// more.
    verdict: String,
    /// The option that the first reader read.
    #[expect(dead_code, reason = "for people")]
    before: String,
    /// The option that this reader reads.
    after: String,
}

impl Ballot {
    fn options(&self) -> Vec<String> {
        serde_json::from_str(&self.options).unwrap()
    }

    /// Returns the option that is read from a response with this ballot.
    fn read(&self) -> String {
        let message = match self.place.as_str() {
            "call" => {
                json!({"content": null, "tool_calls": [{"function": {"name": "vote", "arguments": self.text}}]})
            }
            _ => json!({"content": self.text}),
        };
        let body =
            json!({"choices": [{"message": message, "finish_reason": self.finish_reason}]}).to_string();
        let form = if self.form == "letter" { ChoiceForm::Letter } else { ChoiceForm::Text };
        let options = self.options();
        let shown: Vec<&str> = options.iter().map(String::as_str).collect();
        readers::vote(body.as_bytes(), &self.question, &shown, form)
            .map(|index| options[index].clone())
            .unwrap_or_default()
    }
}

/// The most declared votes that may be lost.
const MOST_LOST: usize = 3;

#[test]
fn no_vote_of_the_corpus_is_read_wrong() {
    let mut reader =
        csv::Reader::from_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ballots.csv")).unwrap();
    let mut lost = BTreeMap::<String, usize>::new();
    for ballot in reader.deserialize() {
        let ballot: Ballot = ballot.unwrap();
        let read = ballot.read();
        assert!(
            read.is_empty() || read == ballot.meant,
            "{}: {:?} was read from {:?}",
            ballot.source,
            read,
            ballot.text
        );
        assert_eq!(read, ballot.after, "{}: {:?}", ballot.source, ballot.text);
        if read != ballot.verdict {
            *lost.entry(ballot.source).or_default() += 1;
        }
    }
    assert!(lost.values().sum::<usize>() <= MOST_LOST, "{lost:?}");
}
