//! Prompts for missing arguments of `ep poll`, on standard error.

use std::io::{BufRead, Result, Write};

use ep_polling::options::MAX_OPTIONS;

/// Reads the question if it is missing, then the options if there are none. An empty line or the end of the input ends
/// the options.
pub(super) fn complete(
    question: Option<String>,
    options: &mut Vec<String>,
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<String> {
    let question = match question {
        Some(question) => question,
        None => line(&mut input, &mut output, "Question: ")?,
    };
    if options.is_empty() {
        writeln!(output, "Options, one per line; an empty line ends them.")?;
        while options.len() < MAX_OPTIONS {
            let option = line(&mut input, &mut output, &format!("  {}. ", options.len() + 1))?;
            if option.is_empty() {
                break;
            }
            options.push(option);
        }
    }
    Ok(question)
}

/// Asks for a line.
pub(super) fn line(input: &mut impl BufRead, output: &mut impl Write, prompt: &str) -> Result<String> {
    write!(output, "{prompt}")?;
    output.flush()?;
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(question: Option<&str>, options: &[&str], typed: &str) -> (String, Vec<String>, String) {
        let mut options = options.iter().map(ToString::to_string).collect();
        let mut shown = Vec::new();
        let question = question.map(str::to_owned);
        let question = complete(question, &mut options, typed.as_bytes(), &mut shown).unwrap();
        (question, options, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn only_missing_arguments_are_read() {
        let (question, options, shown) =
            completed(None, &[], "Tabs or spaces?\n Tabs \nSpaces\n\nnot read\n");
        assert_eq!((question.as_str(), options), ("Tabs or spaces?", vec!["Tabs".into(), "Spaces".into()]));
        assert!(shown.starts_with("Question: ") && shown.ends_with("  3. "), "{shown}");
        let (question, options, shown) = completed(Some("Tabs or spaces?"), &["Tabs"], "Spaces\n");
        assert_eq!((question.as_str(), options.len(), shown.as_str()), ("Tabs or spaces?", 1, ""));
        let many = "option\n".repeat(20);
        assert_eq!(completed(Some("Tabs or spaces?"), &[], &many).1.len(), MAX_OPTIONS);
        assert_eq!(completed(None, &[], "").0, "");
    }
}
