//! Reads the vote that a text declares: a value of JSON or of a call written as text, a label with its value, or the last line.

use super::choice_set::ChoiceSet;
use super::declared::Declared;
use super::fields::from_fields;
use super::labels::{from_labels, is_heading};
use super::list_label::is_listed;
use super::matcher::ChoiceMatcher;
use super::normal::normal;
use super::reasoning::without_reasoning;
use super::sentence::sentence;
use super::tags::from_tags;
use super::turns::answer;
use super::vocabulary::retracts;

/// Returns the choices that the text of a response declares. What was cut off counts only if it is a value with its end, or a
/// label's line with its line break.
pub(super) fn from_text(text: &str, matcher: &ChoiceMatcher<'_>, cut_off: bool) -> Declared {
    let text = without_reasoning(text);
    let text = answer(&text);
    let is_ended = !cut_off || text.ends_with('\n');
    let text = super::tail(text.trim());
    let mut found = from_fields(text, matcher, false);
    let has_fields = !found.choices.is_empty() || found.unfinished;
    found.add(from_tags(text, matcher, cut_off));
    // “Wait, I misread the question.”
    let is_prose = |line: &&str| !line.contains(['{', '}', '<', '"', '(']);
    if !found.choices.is_empty() && text.lines().filter(is_prose).any(|line| retracts(&normal(line))) {
        return Declared { choices: ChoiceSet::NONE, ..found };
    }
    found.choices.add(from_labels(text, matcher, is_ended));
    if !cut_off && !has_fields {
        found.choices.add(from_last_line(text, matcher));
    }
    found
}

/// The longest line that is read, in bytes.
const MAX_LINE: usize = 1024;

/// Reads the last line: an option, or a sentence that chooses one. An item of a list, a quotation, and what stands below a heading
/// are none.
fn from_last_line(text: &str, matcher: &ChoiceMatcher<'_>) -> ChoiceSet {
    let lines = text.lines().rev().filter(|line| line.len() <= MAX_LINE);
    let mut lines = lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("```"));
    let last = lines.next().unwrap_or_default();
    if last.trim_start().starts_with('>') {
        return ChoiceSet::NONE;
    }
    let found = matcher.value(last);
    let earlier: Vec<String> = lines.map(normal).collect();
    let Some(previous) = earlier.first() else {
        return if found.is_empty() { sentence(last, matcher) } else { found };
    };
    let is_item = |line: &String| is_listed(line) || line.starts_with("<option");
    let is_listed = is_item(&normal(last));
    if is_heading(previous, matcher) || (is_listed && earlier.iter().any(is_item)) {
        return ChoiceSet::NONE;
    }
    if found.is_empty() {
        return sentence(last, matcher);
    }
    let mut both = found;
    if !is_listed && !is_item(previous) {
        both.add(matcher.normal_value(previous));
    }
    both
}

#[cfg(test)]
mod tests {
    use ep_polling::ChoiceForm;

    use super::super::testing::view;
    use super::*;

    const PLANETS: [&str; 3] = ["Earth", "Mars", "Venus"];

    fn read(text: &str, form: ChoiceForm, cut_off: bool) -> Declared {
        from_text(text, &ChoiceMatcher::new(&view(&PLANETS), form), cut_off)
    }

    fn vote(text: &str) -> Option<usize> {
        read(text, ChoiceForm::Text, false).choices.only()
    }

    #[test]
    fn declared_votes_are_read() {
        for text in [
            "Mars",
            "Mars.",
            "**Mars**",
            "I compared Earth, Mars and Venus.\n\nMars",
            "The options:\n- Earth\n- Mars\n- Venus\n\nMars",
            "Earth is small, Venus is hot.\nAnswer: Mars",
            "Earth is small, Venus is hot.\n**Final answer:** Mars",
            "**Final answer: Mars**\n\nEarth was close.",
            "### Answer:\nMars",
            "My vote is Mars.",
            "答案：Mars",
            "Meine Stimme: B) Mars",
            "```json\n{\"option\": \"Mars\"}\n```",
            "{\"name\":\"vote\",\"arguments\":{\"option\":\"Mars\"}}",
            "{\"finalAnswer\": \"Mars\", \"runnerUp\": \"Earth\"}",
            "{\"planet\": \"Mars\", \"rejected\": \"Earth\"}",
            "<tool_call>\n{\"name\": \"vote\", \"arguments\": {\"option\": \"Mars\"}}\n</tool_call>",
            "<tool_call>{\"name\": \"vote\", \"arguments\": {\"option\": \"Mars\"",
            "<function=vote>\n<parameter=option>\nMars\n</parameter>\n</function>",
            "<function=vote>{\"option\":\"Mars\"}</function>",
            "<tool_call>vote\n<arg_key>option</arg_key>\n<arg_value>Mars</arg_value>\n</tool_call>",
            "[TOOL_REQUEST]{\"name\":\"vote\",\"arguments\":{\"option\":\"Mars\"}}[END_TOOL_REQUEST]",
            "[TOOL_CALLS][{\"name\":\"vote\",\"arguments\":{\"option\":\"Mars\"}}]",
            "vote(option=\"Mars\")",
            "print(vote(option='Mars'))",
            "Earth is blue.\n<answer>Mars</answer>",
            "<option id=\"1\">Mars</option>",
            "<label>Mars</label>\n<summary>It is red.</summary>",
            "So it is $\\boxed{\\text{Mars}}$.",
            "<think>Earth? Venus? Earth it is.</think>Mars",
            "Mars <think>or Earth?</think>",
            "Mars<|im_end|>",
            "Earth seems wrong and Venus too hot.\nSo my choice is Mars.",
        ] {
            assert_eq!(vote(text), Some(1), "{text}");
        }
        let long = format!("{}\nAnswer: Mars", "Earth is blue. ".repeat(1000));
        assert_eq!(vote(&long), Some(1), "the end of a long response decides");
    }

    #[test]
    fn everything_else_is_no_vote() {
        for text in [
            "",
            "I cannot decide.",
            "Earth or Mars, both are fine",
            "Earth and Mars are planets.",
            "<think>Mars",
            "B",
            "{\"option\": \"<text>\"}",
            "{\"enum\": [\"Earth\", \"Mars\"]}",
            "{\"second_choice\": \"Mars\"}",
            "{\"option\": \"Mar",
            "The options are Earth, Mars, Venus.",
            "1. Earth\n2. Mars\n3. Venus",
            "Option A: Earth is blue\nOption B: Mars",
            "Earth\nMars",
            "I would never choose Mars",
            "I can't choose [Mars].",
            "<options-0badcafe>\nA: Mars",
            "<option-0badcafe>\nMars\n</option-0badcafe>",
            "The object has this structure: {\"option\": {\"description\": \"Mars\"}}",
            "I will not send {\"option\": \"Mars\"}.",
            "Wrong answer: Mars",
            "Option 2: Mars is red, and\nOption 3: Venus",
            "Voter 1: Earth\nVoter 2: Mars",
            "Answer: Earth\nAnswer: Mars",
            "Answer: Earth\n\nMars",
            "Mars. Wait, no: Earth.",
            "Mars, because Earth is blue.",
        ] {
            assert_eq!(vote(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_that_was_cut_off_counts_only_with_the_end_of_its_value() {
        for text in [
            "**Vote:** Mars\n\n**Reasons:** it",
            "{\"option\": \"Mars\", \"why\": \"it",
            "<answer>Mars</answer> is",
        ] {
            assert_eq!(read(text, ChoiceForm::Text, true).choices.only(), Some(1), "{text}");
        }
        for text in [
            "Mars",
            "Answer: Mars",
            "The answer is Mars",
            "<answer>Mars",
            "Earth is blue.\nMars",
            "Answer:\nMars",
        ] {
            assert_eq!(read(text, ChoiceForm::Text, true).choices.only(), None, "{text}");
        }
        assert!(read("{\"option\": \"Mars", ChoiceForm::Text, false).unfinished);
    }

    #[test]
    fn letters_count_only_if_they_stand_alone() {
        let vote = |text: &str| read(text, ChoiceForm::Letter, false).choices.only();
        for text in [
            "B",
            "(B)",
            "Answer: B",
            "B: Mars",
            "I compared A, B and C.\n\nB",
            "**Answer:** B) Mars",
            "The answer is B.",
        ] {
            assert_eq!(vote(text), Some(1), "{text}");
        }
        for text in ["A good question.", "I like plan B", "A or B", "D", "A: Earth\nB: Mars"] {
            assert_eq!(vote(text), None, "{text}");
        }
    }
}
