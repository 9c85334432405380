//! Colours. Texts have a contrast of at least 4.5:1 to their background; a test computes it.

/// The colours of a poll's options, by index: distinct with every kind of colour vision, with a contrast of 3:1 against
/// paper (WCAG 2.2, 1.4.11). Pages use the same colours.
pub const PALETTE: [&str; 10] = [
    "#1984fc", "#da7312", "#15602b", "#8b24a3", "#8a6c01", "#168c85", "#804ed6", "#bb0c54", "#7a9a5c",
    "#436c7c",
];

pub(crate) const PAPER: &str = "#fbfaf6";
pub(crate) const TRACK: &str = "#e6e8ee";
pub(crate) const INK: &str = "#141c2b";
pub(crate) const MUTED: &str = "#4a5568";
pub(crate) const BRAND: &str = "#2257c5";
pub(crate) const ON_BRAND: &str = "#ffffff";
pub(crate) const QUIET_ON_BRAND: &str = "#e2eaff";
pub(crate) const WARNING: &str = "#ffd166";

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

    #[test]
    fn texts_have_sufficient_contrast() {
        for (text, ground) in
            [(INK, PAPER), (MUTED, PAPER), (INK, WARNING), (ON_BRAND, BRAND), (QUIET_ON_BRAND, BRAND)]
        {
            let (a, b) = (luminance(text), luminance(ground));
            let contrast = (f64::max(a, b) + 0.05) / (f64::min(a, b) + 0.05);
            assert!(contrast >= 4.5, "{text} on {ground}: {contrast:.2}");
        }
    }

    #[test]
    fn bars_have_sufficient_contrast() {
        for colour in PALETTE {
            let contrast = (luminance(PAPER) + 0.05) / (luminance(colour) + 0.05);
            assert!(contrast >= 3.0, "{colour}: {contrast:.2}");
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
