//! Text fitting: wrapping between words, smaller sizes for long texts, and truncation as the last resort.

use std::ops::Range;

use unicode_linebreak::linebreaks;

use crate::share_image::clean::is_rtl;
use crate::share_image::faces::Weight;
use crate::share_image::shape::{Cluster, Line, Typesetter};

/// The size from which lines are set closer, in pixels.
const DISPLAY: f32 = 60.0;

/// A text on one or more lines of the same size.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) lines: Vec<Line>,
    /// The font size in pixels.
    pub(crate) size: f32,
}

impl Block {
    /// Returns the height from the top of the first line to the bottom of the last, in pixels.
    pub(crate) fn height(&self) -> f32 {
        self.lines.len() as f32 * self.line_height()
    }

    /// Returns the distance between baselines, in pixels.
    pub(crate) fn line_height(&self) -> f32 {
        line_height(self.size, self.lines.iter().all(Line::is_low))
    }
}

/// Returns the distance between baselines, in pixels. Large letters of the faces of pages need less.
pub(crate) fn line_height(size: f32, is_low: bool) -> f32 {
    (size * if is_low && size >= DISPLAY { 1.1 } else { 1.25 }).round()
}

impl Typesetter {
    /// Sets a text at the first of `sizes` (pixels and maximum number of lines) at which it fits a width in
    /// pixels. At the last size, the text is truncated to fit. Lines are balanced.
    pub(crate) fn block(self, text: &str, weight: Weight, width: f32, sizes: &[(f32, usize)]) -> Block {
        let rtl = is_rtl(text);
        let clusters = self.measure(text, weight, rtl);
        let breaks: Vec<usize> = linebreaks(text).map(|(position, _)| position).collect();
        for &(size, most) in sizes {
            let lines = wrap(text, &clusters, &breaks, width / size);
            if lines.len() <= most {
                let lines = balanced(text, &clusters, &breaks, width / size, lines);
                let lines =
                    lines.into_iter().map(|line| self.line(within(text, &clusters, line), weight, rtl));
                return Block { lines: lines.collect(), size };
            }
        }
        let Some(&(size, most)) = sizes.last() else { return Block { lines: Vec::new(), size: 0.0 } };
        let mut wrapped = wrap(text, &clusters, &breaks, width / size);
        let rest = wrapped.get(most.saturating_sub(1)).map_or(0, |line| line.start);
        wrapped.truncate(most.saturating_sub(1));
        let mut lines: Vec<_> =
            wrapped.into_iter().map(|line| self.line(within(text, &clusters, line), weight, rtl)).collect();
        lines.push(self.truncated(text, &clusters[rest..], weight, rtl, width / size));
        Block { lines, size }
    }

    /// Sets a text on one line of at most `width` pixels, with an ellipsis if it is truncated.
    pub(crate) fn one_line(self, text: &str, weight: Weight, width: f32, size: f32) -> Line {
        let rtl = is_rtl(text);
        let line = self.line(text, weight, rtl);
        if line.width * size <= width {
            return line;
        }
        self.truncated(text, &self.measure(text, weight, rtl), weight, rtl, width / size)
    }

    /// Sets as many clusters as fit `width` em, followed by an ellipsis.
    fn truncated(self, text: &str, clusters: &[Cluster], weight: Weight, rtl: bool, width: f32) -> Line {
        let mut used = self.line("…", weight, rtl).width;
        let mut count = clusters
            .iter()
            .take_while(|cluster| {
                used += cluster.width;
                used <= width
            })
            .count();
        loop {
            let start = clusters.first().map_or(0, |cluster| cluster.range.start);
            let end = count.checked_sub(1).map_or(start, |last| clusters[last].range.end);
            let line = self.line(&format!("{}…", whole_words(&text[start..end])), weight, rtl);
            // After shaping next to the ellipsis, letters may be wider than before.
            if line.width <= width || count == 0 {
                return line;
            }
            count -= 1;
        }
    }
}

/// Removes the last word of a truncated text, unless too little text would be left.
fn whole_words(cut: &str) -> &str {
    let cut = cut.trim_end().trim_end_matches('…');
    let words = cut.rfind(' ').map_or("", |space| cut[..space].trim_end_matches([' ', ',', ';', ':']));
    if words.len() * 4 > cut.len() * 3 { words } else { cut }
}

/// Returns the text of clusters, trimmed.
fn within<'a>(text: &'a str, clusters: &[Cluster], line: Range<usize>) -> &'a str {
    let line = &clusters[line];
    match (line.first(), line.last()) {
        (Some(first), Some(last)) => text[first.range.start..last.range.end].trim(),
        _ => "",
    }
}

/// Returns the clusters of each line of at most `width` em. Lines break where the text allows it (UAX 14), or
/// between clusters if a word is longer than a line. White space at the end of a line has no width.
fn wrap(text: &str, clusters: &[Cluster], breaks: &[usize], width: f32) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut allowed, mut used) = (0, 0, 0.0);
    for (index, cluster) in clusters.iter().enumerate() {
        if breaks.binary_search(&cluster.range.start).is_ok() {
            allowed = index;
        }
        let is_space = text[cluster.range.clone()].trim().is_empty();
        if !is_space && index > start && used + cluster.width > width {
            let end = if allowed > start { allowed } else { index };
            lines.push(start..end);
            start = end;
            used = clusters[start..index].iter().map(|cluster| cluster.width).sum();
        }
        used += cluster.width;
    }
    if start < clusters.len() {
        lines.push(start..clusters.len());
    }
    lines
}

/// Wraps to the same number of lines with the least width.
fn balanced(
    text: &str,
    clusters: &[Cluster],
    breaks: &[usize],
    width: f32,
    lines: Vec<Range<usize>>,
) -> Vec<Range<usize>> {
    let (mut low, mut high, mut best) = (0.0, width, lines);
    for _ in 0..8 {
        let middle = f32::midpoint(low, high);
        let narrower = wrap(text, clusters, breaks, middle);
        let breaks_words = narrower.iter().any(|line| {
            clusters.get(line.start).is_some_and(|first| {
                first.range.start > 0 && breaks.binary_search(&first.range.start).is_err()
            })
        });
        if narrower.len() > best.len() || breaks_words {
            low = middle;
        } else {
            (high, best) = (middle, narrower);
        }
    }
    best
}
