//! Where boxes and movements stand in the picture of a session: beside each other where there is
//! room for it, under each other on a narrow screen. All in units of the picture, which the page
//! scales.

/// The room between the tops of two boxes, and the height of one.
const STEP: usize = 48;
pub(super) const HEIGHT: usize = 34;
/// Room for a heading.
const HEAD: usize = 22;

/// How the picture is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Sources to the left, destinations to the right.
    Beside,
    /// Sources above, destinations below, and movements to their right.
    Stacked,
}

/// The way of a movement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// All of it.
    pub(super) whole: String,
    /// Up to its middle: what was stopped or waits has not arrived.
    pub(super) half: String,
    /// The middle.
    pub(super) middle: [usize; 2],
    /// The point of the arrow.
    pub(super) head: String,
}

impl Layout {
    /// The width of the picture.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Beside => 900,
            Self::Stacked => 360,
        }
    }

    /// The width of a box.
    pub(super) fn box_width(self) -> usize {
        match self {
            Self::Beside => 250,
            Self::Stacked => 290,
        }
    }

    /// The height of the picture for so many sources and destinations.
    pub(super) fn height(self, sources: usize, destinations: usize) -> usize {
        match self {
            Self::Beside => sources.max(destinations) * STEP + 26,
            Self::Stacked => self.destination(sources, destinations)[1] + 4,
        }
    }

    /// The corner of the box of a source.
    pub(super) fn source(row: usize) -> [usize; 2] {
        [0, row * STEP + HEAD]
    }

    /// The corner of the box of a destination, with so many sources.
    pub(super) fn destination(self, sources: usize, row: usize) -> [usize; 2] {
        match self {
            Self::Beside => [self.width() - self.box_width(), row * STEP + HEAD],
            Self::Stacked => [0, (sources + row) * STEP + 2 * HEAD],
        }
    }

    /// The way between two heights, from a source to a destination.
    pub(super) fn way(self, start: usize, end: usize) -> Way {
        let left = self.box_width();
        let y = usize::midpoint(start, end);
        match self {
            Self::Beside => {
                let right = self.width() - left;
                let x = usize::midpoint(left, right);
                Way {
                    whole: format!("M{left} {start} C{x} {start} {x} {end} {right} {end}"),
                    half: format!(
                        "M{left} {start} Q{} {start} {x} {y}",
                        usize::midpoint(left, x)
                    ),
                    middle: [x, y],
                    head: format!("M{} {}l9 5l-9 5", right - 9, end - 5),
                }
            }
            Self::Stacked => {
                // An arc over the margin; its middle is at three quarters of the way out.
                let right = self.width();
                let (first, x) = (usize::midpoint(left, right), left + (right - left) * 3 / 4);
                let above = usize::midpoint(start, y);
                Way {
                    whole: format!("M{left} {start} C{right} {start} {right} {end} {left} {end}"),
                    half: format!("M{left} {start} C{first} {start} {x} {above} {x} {y}"),
                    middle: [x, y],
                    head: format!("M{} {}l-9 5l9 5", left + 9, end - 5),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stands_outside_the_picture_or_on_something_else() {
        for layout in [Layout::Beside, Layout::Stacked] {
            for (sources, destinations) in [(1, 0), (1, 1), (3, 1), (1, 12), (12, 12)] {
                let [width, height] = [layout.width(), layout.height(sources, destinations)];
                let mut boxes: Vec<_> = (0..sources).map(Layout::source).collect();
                boxes.extend((0..destinations).map(|row| layout.destination(sources, row)));
                for (at, [x, y]) in boxes.iter().enumerate() {
                    assert!(x + layout.box_width() <= width, "{layout:?}");
                    assert!(y + HEIGHT <= height, "{layout:?}");
                    let apart = |[left, top]: &[usize; 2]| {
                        left.abs_diff(*x) >= layout.box_width() || top.abs_diff(*y) >= HEIGHT
                    };
                    assert!(boxes.iter().take(at).all(apart), "{layout:?} {boxes:?}");
                }
                let [_, end] = layout.destination(sources, destinations.saturating_sub(1));
                let [x, y] = layout.way(HEAD + 5, end + 5).middle;
                assert!(x + 10 <= width && x >= layout.box_width(), "{layout:?}");
                assert!(y <= height.max(end + 5), "{layout:?}");
            }
        }
    }
}
