//! Charts: data with names, laid out for a width.

mod bars;
mod boxes;
mod frame;
mod labels;
mod layout;
mod legend;
mod lines;
mod overlay;
mod panel;
mod reference;
mod statistics;
mod thin;

pub(crate) use bars::patch;
pub use overlay::{Overlay, OverlayMark};
pub use reference::Reference;
pub use statistics::{cdf, quartiles};

use crate::axes::AxisSpec;
use crate::scene::Scene;

/// A figure: one panel, or several with the same axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// Over it.
    pub title: String,
    /// Below it.
    pub caption: String,
    /// The axis from left to right.
    pub x: AxisSpec,
    /// The axis from bottom to top.
    pub y: AxisSpec,
    /// Small multiples, in rows from the upper left one on.
    pub panels: Vec<Panel>,
    /// Lines in every panel to compare with.
    pub references: Vec<Reference>,
    /// Numbers from elsewhere over the data.
    pub overlays: Vec<Overlay>,
}

/// One of a figure's charts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// Over it.
    pub title: String,
    /// Its curves.
    pub curves: Vec<Curve>,
}

/// Data of one name. The same name looks the same in all panels if its `style` is the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// The number of its look in the [`palette`](crate::palette).
    pub style: usize,
    /// Its data.
    pub data: Data,
}

/// The data of a curve, and the form in which it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Marks with lines from one to the next.
    Lines(Vec<Datum>),
    /// Marks.
    Points(Vec<Datum>),
    /// Bars from zero, one beside the other where curves have the same x.
    Bars(Vec<Datum>),
    /// The same with a text over each.
    LabelledBars {
        /// The tops.
        points: Vec<Datum>,
        /// As many texts.
        labels: Vec<String>,
    },
    /// Many points, as a line without marks.
    Series(Vec<Datum>),
    /// A line that stays until the next point: a distribution, or what is set from time to time.
    Steps(Vec<Datum>),
    /// Many small marks.
    Dots(Vec<Datum>),
    /// Crosses, whatever the curve's own mark.
    Crosses(Vec<Datum>),
    /// How samples are spread, one beside the other where curves have the same x.
    Boxes(Vec<Quartiles>),
}

/// A point, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Datum {
    /// From left to right.
    pub x: f64,
    /// From bottom to top.
    pub y: f64,
    /// The error bar goes so far up and down, if there is one.
    pub error: Option<f64>,
}

/// The spread of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Quartiles {
    /// The place on the axis.
    pub x: f64,
    /// The box' lower end.
    pub first: f64,
    /// The line in it.
    pub median: f64,
    /// The box' upper end.
    pub third: f64,
    /// The last samples within one and a half of the box' height of it.
    pub whiskers: (f64, f64),
    /// Samples beyond those.
    pub outliers: Vec<f64>,
}

impl Datum {
    /// A point without an error bar.
    pub fn new(x: f64, y: f64) -> Datum {
        Datum { x, y, error: None }
    }
}

impl Figure {
    /// Lays the figure out, `width` px wide: 360 for a phone, 720 for a page. Its height follows.
    pub fn scene(&self, width: f64) -> Scene {
        layout::scene(self, width.max(160.0))
    }

    /// All values of x, in whatever panel.
    fn xs(&self) -> impl Iterator<Item = f64> + '_ {
        let of_curves = self.curves().flat_map(|curve| curve.data.extent().map(|(x, _)| x));
        let of_lines = of_curves.chain(self.references.iter().filter_map(Reference::x));
        of_lines.chain(self.overlays.iter().flat_map(Overlay::xs))
    }

    /// All values of y, in whatever panel, error bars included.
    fn ys(&self) -> impl Iterator<Item = f64> + '_ {
        let of_curves = self.curves().flat_map(|curve| curve.data.extent().map(|(_, y)| y));
        let of_lines = of_curves.chain(self.references.iter().filter_map(Reference::y));
        of_lines.chain(self.overlays.iter().flat_map(Overlay::ys))
    }

    fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.panels.iter().flat_map(|panel| &panel.curves)
    }
}

impl Data {
    /// Points that are to have a place on the axes.
    fn extent(&self) -> Box<dyn Iterator<Item = (f64, f64)> + '_> {
        match self {
            Data::Boxes(boxes) => Box::new(boxes.iter().flat_map(|it| {
                let ends = [it.whiskers.0, it.whiskers.1];
                ends.into_iter().chain(it.outliers.iter().copied()).map(|y| (it.x, y))
            })),
            _ => Box::new(self.points().iter().flat_map(|point| {
                let error = point.error.unwrap_or(0.0);
                [(point.x, point.y - error), (point.x, point.y + error)]
            })),
        }
    }

    fn points(&self) -> &[Datum] {
        match self {
            Data::Lines(points)
            | Data::Points(points)
            | Data::Bars(points)
            | Data::LabelledBars { points, .. }
            | Data::Series(points)
            | Data::Steps(points)
            | Data::Dots(points)
            | Data::Crosses(points) => points,
            Data::Boxes(_) => &[],
        }
    }

    /// Whether curves lie beside each other at one x.
    fn is_side_by_side(&self) -> bool {
        matches!(self, Data::Bars(_) | Data::LabelledBars { .. } | Data::Boxes(_))
    }
}
