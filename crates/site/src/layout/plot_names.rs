//! The points of the plot of an evaluation, and the places of their names. A name covers no point, no other name and no step
//! of the frontier; a name without such a place is left out, and the table below the plot has it.

/// The other edges of the plot.
pub(super) const LEFT: f64 = 56.0;
pub(super) const RIGHT: f64 = 540.0;
pub(super) const BOTTOM: f64 = 300.0;

/// The mean width of a character, the height above the baseline, and the depth below it.
const CHARACTER: f64 = 7.6;
const ASCENT: f64 = 13.0;
const DESCENT: f64 = 4.0;
/// Half of the side of a point, and the distance of a name from its centre.
const HALF: f64 = 6.0;
const APART: f64 = 11.0;
/// Half of the width of the frontier.
const LINE: f64 = 1.0;
/// Room for names beyond the ends of the axes.
const BEYOND: f64 = 16.0;

/// The name of a point with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// The place of its anchor from the left.
    pub x: f64,
    /// The place of its baseline from the top.
    pub y: f64,
    /// The class of its anchor: the start, the middle or the end of the text.
    pub anchor: &'static str,
}

/// A model or a panel.
pub struct Point {
    /// Its place from the left.
    pub x: f64,
    /// Its place from the top.
    pub y: f64,
    /// True for a panel.
    pub is_panel: bool,
    /// Its name and figures.
    pub title: String,
    /// The name, if it is shown.
    pub name: Option<Name>,
}

/// A rectangle.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Name {
    /// Creates a name without a place.
    pub(super) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), x: 0.0, y: 0.0, anchor: "" }
    }

    /// Returns the places beside a point, the best first: above, below, left and right.
    fn places(&self, x: f64, y: f64) -> [Self; 4] {
        let at = |x, y, anchor| Self { text: self.text.clone(), x, y, anchor };
        let beside = y + (ASCENT - DESCENT) / 2.0;
        [
            at(x, y - APART, "mid"),
            at(x, y + APART + ASCENT, "mid"),
            at(x - APART, beside, "end"),
            at(x + APART, beside, "start"),
        ]
    }

    fn area(&self) -> Area {
        let width = self.text.chars().count() as f64 * CHARACTER;
        let left = match self.anchor {
            "mid" => self.x - width / 2.0,
            "end" => self.x - width,
            _ => self.x,
        };
        Area { left, top: self.y - ASCENT, right: left + width, bottom: self.y + DESCENT }
    }
}

impl Area {
    fn around((x, y): (f64, f64), half: f64) -> Self {
        Self { left: x - half, top: y - half, right: x + half, bottom: y + half }
    }

    /// Returns the smallest area with both of these.
    fn with(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_in_plot(&self) -> bool {
        self.left >= LEFT - BEYOND && self.right <= RIGHT + BEYOND && self.top >= 0.0 && self.bottom <= BOTTOM
    }
}

/// Places the names; the last points are the most important ones. `steps` are the corners of the frontier.
pub(super) fn place_names(points: &mut [Point], steps: &[(f64, f64)]) {
    let marks = points.iter().map(|point| Area::around((point.x, point.y), HALF));
    let mut taken: Vec<Area> = marks.chain(lines(steps)).collect();
    for point in points.iter_mut().rev() {
        let Some(name) = point.name.take() else { continue };
        let mut places = name.places(point.x, point.y).into_iter();
        point.name = places.find(|place| {
            let area = place.area();
            area.is_in_plot() && !taken.iter().any(|other| area.overlaps(other))
        });
        taken.extend(point.name.as_ref().map(Name::area));
    }
}

/// Returns the lines of the frontier: from each corner to the right, and up to the next one.
fn lines(steps: &[(f64, f64)]) -> Vec<Area> {
    let ends = steps.iter().skip(1).copied().map(Some).chain([None]);
    let lines = steps.iter().zip(ends).flat_map(|(&(x, y), next)| {
        let corner = Area::around((next.map_or(RIGHT, |(x, _)| x), y), LINE);
        let up = next.map(|next| corner.with(Area::around(next, LINE)));
        [Some(Area::around((x, y), LINE).with(corner)), up]
    });
    lines.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64, name: &str) -> Point {
        Point { x, y, is_panel: false, title: name.to_owned(), name: Some(Name::of(name)) }
    }

    fn placed(points: &[(f64, f64, &str)], steps: &[(f64, f64)]) -> Vec<Option<Name>> {
        let mut points: Vec<Point> = points.iter().map(|(x, y, name)| point(*x, *y, name)).collect();
        place_names(&mut points, steps);
        points.into_iter().map(|point| point.name).collect()
    }

    #[test]
    fn names_cover_no_points_and_no_frontier() {
        let points = [
            (106.0, 193.0, "c/medium"),
            (129.0, 175.0, "b/medium"),
            (308.0, 121.0, "a/large"),
            (338.0, 103.0, "all 3 models"),
        ];
        let corners: Vec<(f64, f64)> = points.iter().map(|(x, y, _)| (*x, *y)).collect();
        let names = placed(&points, &corners);
        let areas: Vec<Area> = names.iter().flatten().map(Name::area).collect();
        assert_eq!(areas.len(), 4, "{names:?}");
        let obstacles: Vec<Area> =
            corners.iter().map(|at| Area::around(*at, HALF)).chain(lines(&corners)).collect();
        for (index, area) in areas.iter().enumerate() {
            let others =
                areas.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
            assert!(!others.chain(&obstacles).any(|other| area.overlaps(other)), "{names:?}");
        }
    }

    #[test]
    fn a_name_without_room_is_left_out() {
        let names = placed(&[(300.0, 200.0, "one"), (300.0, 200.0, "other")], &[]);
        assert_eq!(names.iter().flatten().count(), 2, "above and below");
        let crowd: Vec<(f64, f64, &str)> = (0..25)
            .map(|at| (270.0 + f64::from(at % 5) * 13.0, 150.0 + f64::from(at / 5) * 13.0, ""))
            .collect();
        let crowd: Vec<_> = crowd.into_iter().map(|(x, y, _)| (x, y, "a long name")).collect();
        assert!(placed(&crowd, &[])[12].is_none());
    }
}
