//! The seats of a panel in a half circle: one for each model, coloured by its vote.
//!
//! Seats are filled by angle, the outer row first, so that the votes for an option form a wedge.

use std::f64::consts::{FRAC_PI_2, PI};

use ep_polling::apportion::apportion;

/// The width of the chamber; its height is half of it.
pub const WIDTH: f64 = 640.0;
/// Half of the side of a square seat, in radii.
pub const SQUARE: f64 = 0.84;
/// The size of a seat's letter, in radii.
pub const LETTER: f64 = 0.86;
/// The distance of neighbours in seat radii, between rows and along a row.
const PITCH: f64 = 2.42;
/// The smallest radius of a row, with an outer edge of 1: the middle has a text.
const HOLE: f64 = 0.38;
/// The largest radius of a seat, so that three seats do not look like balloons.
const LARGEST: f64 = 0.1;
const MOST_ROWS: u32 = 10;

/// The middle of a seat, in tenths of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    x: i32,
    y: i32,
}

impl Place {
    /// Returns the distance from the left edge, as SVG writes it.
    pub fn x(self) -> String {
        tenths(self.x)
    }

    /// Returns the distance from the upper edge, as SVG writes it.
    pub fn y(self) -> String {
        tenths(self.y)
    }

    /// Returns the distances from the left and from the upper edge.
    pub fn position(self) -> (f64, f64) {
        (f64::from(self.x) / 10.0, f64::from(self.y) / 10.0)
    }

    /// Returns the base line of a letter of this size in the middle of the seat.
    pub fn base_line(self, size: f64) -> String {
        tenths(self.y + (size * 3.6).round() as i32)
    }
}

/// The seats of a panel.
#[derive(Debug)]
pub struct Chamber {
    /// The radius of each seat.
    pub radius: f64,
    /// The places of the seats in seating order: from the left end to the right one.
    pub places: Vec<Place>,
}

impl Chamber {
    /// Places this many seats.
    pub fn new(seats: usize) -> Self {
        let (radius, rows) = rows(seats);
        let half = WIDTH / 2.0;
        let mut found: Vec<(f64, usize, Place)> = Vec::with_capacity(seats);
        for (row, (distance, count)) in rows.iter().zip(apportion(seats, &rows)).enumerate() {
            for seat in 0..count {
                let angle =
                    if count == 1 { FRAC_PI_2 } else { PI * (1.0 - seat as f64 / (count - 1) as f64) };
                let place = Place {
                    x: ((half + half * distance * angle.cos()) * 10.0).round() as i32,
                    y: ((half - half * distance * angle.sin()) * 10.0).round() as i32,
                };
                // Rounded, so that seats at the ends of the rows have one angle.
                found.push((-(angle * 1e6).round(), row, place));
            }
        }
        found.sort_by(|(one, row, _), (other, later, _)| one.total_cmp(other).then(row.cmp(later)));
        Self { radius: radius * half, places: found.into_iter().map(|(_, _, place)| place).collect() }
    }

    /// Returns the radius of each seat, as SVG writes it.
    pub fn radius(&self) -> String {
        tenths((self.radius * 10.0).round() as i32)
    }
}

/// Returns the radius of a seat, and the radii of the rows from the outside in, for an outer edge of 1.
fn rows(seats: usize) -> (f64, Vec<f64>) {
    let mut best = (LARGEST, vec![1.0 - LARGEST]);
    for rows in 1..=MOST_ROWS {
        let count = f64::from(rows);
        // Solves: the sum over the rows of 1 + π · radius / (PITCH · seat) is the number of seats.
        let gaps = PITCH * (seats as f64 - count) + PI * (count + PITCH * count * (count - 1.0) / 2.0);
        let seat = if seats > rows as usize { (PI * count / gaps).min(LARGEST) } else { LARGEST };
        let radii: Vec<f64> = (0..rows).map(|row| 1.0 - seat - PITCH * seat * f64::from(row)).collect();
        let fits = radii.last().is_some_and(|inner| *inner >= HOLE);
        if rows == 1 || (fits && seat > best.0 + 1e-9) {
            best = (seat, radii);
        }
    }
    best
}

fn tenths(number: i32) -> String {
    if number % 10 == 0 { (number / 10).to_string() } else { format!("{:.1}", f64::from(number) / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_neither_touch_nor_leave_the_picture() {
        for seats in 1..=150 {
            let chamber = Chamber::new(seats);
            assert_eq!(chamber.places.len(), seats);
            let radius = chamber.radius * 10.0;
            for (index, place) in chamber.places.iter().enumerate() {
                assert!(
                    f64::from(place.x) >= radius - 1.0 && f64::from(place.x) <= 6401.0 - radius,
                    "{seats}"
                );
                assert!(f64::from(place.y) >= radius - 1.0 && place.y <= 3201, "{seats}");
                for other in &chamber.places[..index] {
                    let distance = f64::from(place.x - other.x).hypot(f64::from(place.y - other.y));
                    assert!(distance >= 2.0 * radius, "{seats}: {distance} of {radius}");
                }
            }
        }
    }

    #[test]
    fn seats_are_ordered_by_angle_with_the_outer_row_first() {
        let three = Chamber::new(3);
        let at = |place: &Place| (place.x(), place.y());
        let places: Vec<(String, String)> = three.places.iter().map(at).collect();
        let expected = [("32", "320"), ("320", "32"), ("608", "320")];
        assert_eq!(places, expected.map(|(x, y)| (x.to_owned(), y.to_owned())));
        assert_eq!(three.radius(), "32");
        let many = Chamber::new(60);
        assert!(many.places[0].x < many.places[1].x && many.places[0].y == many.places[1].y);
    }
}
