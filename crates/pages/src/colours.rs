//! Tests that option colours are distinguishable with every kind of colour vision, and by their letters.

use crate::share_image::PALETTE;

type Triple = [f64; 3];

/// Colour vision as matrices over linear RGB: normal, and without one kind of cone. Source: Machado, Oliveira and
/// Fernandes 2009, severity 1.
const VISIONS: [(&str, [Triple; 3]); 4] = [
    ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

const STYLE: &str = include_str!("../../../assets/style.css");

/// Returns the option colours of the light and the dark scheme.
fn schemes() -> [Vec<String>; 2] {
    let of = |index: usize| {
        let (_, rest) = STYLE.split_once(&format!("\n.option-{index}")).unwrap();
        let (_, rest) = rest.split_once("--accent: light-dark(").unwrap();
        let (light, rest) = rest.split_once(", ").unwrap();
        (light.to_owned(), rest.split_once(')').unwrap().0.to_owned())
    };
    let (light, dark): (Vec<_>, Vec<_>) = (0..PALETTE.len()).map(of).unzip();
    [light, dark]
}

/// Returns the colours of the letters in the light and the dark scheme.
fn letters() -> [Vec<&'static str>; 2] {
    let (before, _) = STYLE.split_once(") {\n  --on-accent: #0b0b0d").unwrap();
    let always_dark: Vec<&str> = before.rsplit_once(":is(").unwrap().1.split(", ").collect();
    let of = |index: usize| {
        let name = format!(".option-{index}");
        if always_dark.contains(&name.as_str()) { "#0b0b0d" } else { "#ffffff" }
    };
    [(0..PALETTE.len()).map(of).collect(), vec!["#0b0b0d"; PALETTE.len()]]
}

fn linear(hex: &str) -> Triple {
    let part = |index: usize| {
        let value = f64::from(u8::from_str_radix(&hex[index..index + 2], 16).unwrap()) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    [part(1), part(3), part(5)]
}

fn times(matrix: &[Triple; 3], [x, y, z]: Triple) -> Triple {
    matrix.map(|[a, b, c]| a * x + b * y + c * z)
}

/// Converts linear RGB to perceived lightness and colour (Ottosson 2020, "A perceptual color space for image
/// processing").
fn oklab(rgb: Triple) -> Triple {
    let cones = times(
        &[
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ],
        rgb.map(|part| part.clamp(0.0, 1.0)),
    );
    times(
        &[
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ],
        cones.map(f64::cbrt),
    )
}

/// Returns the smallest distance between two of these colours under this vision.
fn least(colours: &[String], vision: &[Triple; 3]) -> f64 {
    let seen: Vec<Triple> = colours.iter().map(|hex| oklab(times(vision, linear(hex)))).collect();
    let pairs = seen.iter().enumerate().flat_map(|(index, a)| seen[..index].iter().map(move |b| (a, b)));
    let distance =
        |(a, b): (&Triple, &Triple)| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    pairs.map(distance).fold(f64::INFINITY, f64::min)
}

/// A just noticeable difference is about 0.02.
#[test]
fn options_are_told_apart_with_every_kind_of_colour_vision() {
    for colours in schemes() {
        for (name, vision) in &VISIONS {
            for (count, wanted) in [(4, 0.15), (11, 0.07)] {
                let found = least(&colours[..count], vision);
                assert!(found >= wanted, "{name}: the first {count} of {colours:?} differ by {found:.3}");
            }
        }
    }
}

#[test]
fn the_letter_of_an_option_can_be_read() {
    let luminance = |hex: &str| {
        let [red, green, blue] = linear(hex);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    for (colours, letters) in schemes().into_iter().zip(letters()) {
        for (colour, letter) in colours.iter().zip(letters) {
            let (one, other) = (luminance(colour) + 0.05, luminance(letter) + 0.05);
            let contrast = f64::max(one, other) / f64::min(one, other);
            assert!(contrast >= 4.5, "{colour}: {contrast:.2}");
        }
    }
}

#[test]
fn an_option_has_one_colour_on_pages_and_pictures() {
    assert_eq!(schemes()[0], PALETTE);
}
