//! Colours. Texts have a contrast of at least 4.5:1 to their background; a test computes it.

/// The colours of a poll's options, by index; a scale can have eleven levels. They are distinct with every kind of colour
/// vision, with a contrast of 3:1 against paper (WCAG 2.2, 1.4.11). Pages use the same colours.
pub const PALETTE: [&str; 11] = [
    "#1984fc", "#da7312", "#15602b", "#8b24a3", "#8a6c01", "#168c85", "#804ed6", "#bb0c54", "#7a9a5c",
    "#436c7c", "#4a1f14",
];

/// The colours of letters on the colours of options.
pub(crate) const ON_PALETTE: [&str; 11] =
    [DARK, DARK, LIGHT, LIGHT, LIGHT, DARK, LIGHT, LIGHT, DARK, LIGHT, LIGHT];

const DARK: &str = "#0b0b0d";
const LIGHT: &str = "#ffffff";

pub(crate) const PAPER: &str = "#fcfbf8";
pub(crate) const PALE: &str = "#e3e0d7";
pub(crate) const INK: &str = "#17171a";
pub(crate) const MUTED: &str = "#5e5c57";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relative luminance (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let channel = |start: usize| {
            let value = f64::from(u8::from_str_radix(&colour[start..start + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (a, b) = (luminance(one), luminance(other));
        (f64::max(a, b) + 0.05) / (f64::min(a, b) + 0.05)
    }

    #[test]
    fn texts_have_sufficient_contrast() {
        let letters = ON_PALETTE.into_iter().zip(PALETTE);
        for (text, ground) in [(INK, PAPER), (MUTED, PAPER), (INK, PALE)].into_iter().chain(letters) {
            let contrast = contrast(text, ground);
            assert!(contrast >= 4.5, "{text} on {ground}: {contrast:.2}");
        }
    }

    #[test]
    fn answers_and_seats_have_sufficient_contrast() {
        for colour in PALETTE {
            assert!(contrast(PAPER, colour) >= 3.0, "{colour}");
        }
    }

    #[test]
    fn every_option_has_a_distinct_colour() {
        let mut colours = PALETTE.to_vec();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), PALETTE.len());
    }
}
