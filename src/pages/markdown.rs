//! Texts of others in Markdown.

/// A text on one line, what Markdown would make something of behind a backslash (CommonMark 0.31.2 §2.4).
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' | '&' => {
                line.push('\\');
                line.push(c);
            }
            c if c.is_control() => line.push(' '),
            c => line.push(c),
        }
    }
    line
}
