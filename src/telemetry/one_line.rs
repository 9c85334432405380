//! Events of the log, each on one line.

use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes each event as one line with line breaks and other control characters escaped, so that untrusted text
/// cannot imitate an event. The formatter writes one event at a time.
pub(super) struct OneLine<W> {
    pub(super) to: W,
    /// True if the formatter writes styles; these terminal sequences are not escaped.
    pub(super) styled: bool,
}

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        if !line.contains(breaks_out) {
            self.to.write_all(event)?;
            return Ok(event.len());
        }
        let mut escaped = String::with_capacity(text.len() + 16);
        for (at, c) in line.char_indices() {
            match c {
                '\n' => escaped.push_str("\\n"),
                '\r' => escaped.push_str("\\r"),
                '\u{1b}' if self.styled && is_style(&line[at + 1..]) => escaped.push(c),
                c if breaks_out(c) => drop(write!(escaped, "\\u{:04x}", u32::from(c))),
                c => escaped.push(c),
            }
        }
        escaped.push('\n');
        self.to.write_all(escaped.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// True for a character that could end a line or begin a terminal sequence.
fn breaks_out(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}')
}

/// True if the text after an escape character sets colour or weight (ECMA-48, SGR).
fn is_style(rest: &str) -> bool {
    let parameters =
        rest.strip_prefix('[').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    parameters.is_some_and(|rest| rest.starts_with('m'))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log output for a text, as text and as JSON.
    fn logged(outside: &str, styled: bool) -> [String; 2] {
        let (text, json) = (Buffer::default(), Buffer::default());
        let (as_text, as_json) = (text.clone(), json.clone());
        let layer = fmt::layer().with_ansi(styled);
        let subscriber = tracing_subscriber::registry()
            .with(layer.with_writer(move || OneLine { to: as_text.clone(), styled }))
            .with(fmt::layer().json().with_writer(move || OneLine { to: as_json.clone(), styled: false }));
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(name = %outside, value = ?outside, "refused: {outside}");
        });
        let read = |buffer: Buffer| String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        [read(text), read(json)]
    }

    #[test]
    fn untrusted_text_stays_on_one_line() {
        let forged = "x\r\n2026-01-01T00:00:00Z  INFO all is well\u{85}\u{2028}\u{9b}31m\u{1b}[2J\u{7f} end";
        for log in [logged(forged, false), logged(forged, true)].concat() {
            let line = log.strip_suffix('\n').unwrap();
            let unstyled = console::strip_ansi_codes(line);
            assert!(!unstyled.contains(|c: char| c.is_control() || c == '\u{2028}'), "{unstyled:?}");
            assert!(!line.contains("\u{1b}[2J"), "{line:?}");
            assert!(line.contains("all is well") && line.contains(" end"), "{line}");
        }
        assert!(logged("caf\u{e9}", false)[0].contains("refused: caf\u{e9}"));
        assert!(logged("fine", true)[0].contains('\u{1b}'), "colours stay");
        let json: serde_json::Value = serde_json::from_str(&logged(forged, false)[1]).unwrap();
        assert_eq!(json["fields"]["name"], forged);
    }
}
