//! The layout of a figure of some width.

use super::frame::Frame;
use super::labels::{SIZE, XLabels};
use super::legend::Legend;
use super::{Figure, Panel, panel};
use crate::axes::Axis;
use crate::font;
use crate::scene::{Anchor, Area, Color, Element, Point, Scene, Text, Weight};

const MARGIN: f64 = 10.0;
/// Of axes' names.
const NAME: f64 = 12.0;
/// Of panels' titles.
const PANEL: f64 = 11.5;
/// Of the caption.
const CAPTION: f64 = 11.0;
/// Between panels, at least.
const GAP: f64 = 18.0;
/// Between the texts below two panels.
const APART: f64 = 6.0;

/// Where the legend is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Nowhere,
    /// Among the data, with its corner there.
    Inside(Point),
    Right,
    Below,
}

struct Layout<'a> {
    figure: &'a Figure,
    width: f64,
    /// Where the title ends.
    top: f64,
    x: Axis,
    y: Axis,
    legend: Option<Legend>,
    columns: usize,
}

/// What is known once the legend has its side.
struct Grid {
    areas: Vec<Area>,
    x_labels: XLabels,
    /// Where the axis' name and the legend may begin.
    bottom: f64,
}

/// The figure, `width` px wide.
pub(super) fn scene(figure: &Figure, width: f64) -> Scene {
    let mut elements = Vec::new();
    let inner = width - 2.0 * MARGIN;
    let size = if width < 520.0 { 13.0 } else { 15.0 };
    let mut top = MARGIN;
    for line in font::wrap(&figure.title, size, Weight::Bold, inner) {
        let at = Point::new(MARGIN, top + size * font::ASCENT);
        elements.push(Text::new(at, line, size).bold().into());
        top += size * font::LINE;
    }
    if !figure.title.is_empty() {
        top += 6.0;
    }
    let x = Axis::new(&figure.x, figure.xs());
    let y = Axis::new(&figure.y, figure.ys());
    let legend = Legend::new(figure, (inner * 0.8).min(260.0));
    let columns = columns(figure.panels.len(), width);
    let layout = Layout { figure, width, top, x, y, legend, columns };
    let (side, grid) = layout.choose();
    let mut bottom = layout.draw(&mut elements, side, &grid);
    if !figure.caption.is_empty() {
        bottom += 8.0;
        for line in font::wrap(&figure.caption, CAPTION, Weight::Regular, inner) {
            let at = Point::new(MARGIN, bottom + CAPTION * font::ASCENT);
            elements.push(Text { color: Color::FAINT_TEXT, ..Text::new(at, line, CAPTION) }.into());
            bottom += CAPTION * font::LINE;
        }
    }
    Scene {
        width,
        height: (bottom + MARGIN).ceil(),
        title: figure.title.clone(),
        about: figure.caption.clone(),
        elements,
    }
}

/// In how many columns so many panels stand.
fn columns(panels: usize, width: f64) -> usize {
    let most = ((width / 215.0) as usize).clamp(1, 4);
    match panels {
        0 | 1 => 1,
        // Two rows of two are better than three and one.
        4 if most == 3 => 2,
        panels => panels.min(most),
    }
}

impl Layout<'_> {
    /// Where the legend goes: to a free corner, to the right, or below.
    fn choose(&self) -> (Side, Grid) {
        let Some(legend) = &self.legend else { return (Side::Nowhere, self.grid(0.0)) };
        let grid = self.grid(0.0);
        if let [_] = &self.figure.panels[..]
            && let Some(at) = self.free_corner(legend, grid.areas[0])
        {
            return (Side::Inside(at), grid);
        }
        let (width, height) = legend.size(1);
        let room = grid.areas.last().map_or(0.0, |area| area.bottom()) - self.top;
        if self.width >= 600.0 && width <= self.width * 0.3 && height <= room {
            return (Side::Right, self.grid(width + 14.0));
        }
        (Side::Below, grid)
    }

    /// A corner of the only panel in which nothing is drawn.
    fn free_corner(&self, legend: &Legend, area: Area) -> Option<Point> {
        let frame = Frame { area, x_axis: &self.x, y_axis: &self.y };
        let drawn = [panel::data(&frame, self.figure, 0)];
        let (width, height) = legend.size(1);
        let inset = 8.0;
        if width > area.width * 0.6 || height > area.height * 0.6 {
            return None;
        }
        let right = area.right() - width - inset;
        let bottom = area.bottom() - height - inset;
        let (left, top) = (area.x + inset, area.y + inset * 0.5);
        let middle = (left + right) / 2.0;
        let corners = [(right, top), (left, top), (right, bottom), (left, bottom), (middle, top)];
        let mut points = corners.into_iter().map(|(x, y)| Point::new(x, y));
        points.find(|at| {
            let place = Area { x: at.x, y: at.y, width, height };
            !panel::is_taken(&drawn, place.grown(5.0))
        })
    }

    /// The panels' places if `right` px are left free on that side.
    fn grid(&self, right: f64) -> Grid {
        let count = self.figure.panels.len().max(1);
        let rows = count.div_ceil(self.columns);
        let titled = self.figure.panels.iter().any(|panel| !panel.title.is_empty());
        // Ticks of the axis on the left have so many texts as it is high, and it is as wide as
        // these are long.
        let texts = self.y.ticks(8);
        let widest = texts.iter().map(|tick| font::width(&tick.text, SIZE, Weight::Regular));
        let name = if self.y.title.is_empty() { 0.0 } else { NAME * 1.6 };
        let mut left = MARGIN + name + widest.fold(0.0, f64::max) + 9.0;
        let mut end = self.width - MARGIN - right;
        let across = self.columns as f64;
        let mut x_labels;
        let mut each;
        let mut gap = GAP;
        // The texts below may need more room at the sides, which leaves less for them; and between
        // two panels, where one's last text is next to the other's first.
        let mut tries = 0;
        loop {
            each = ((end - left - gap * (across - 1.0)) / across).max(40.0);
            x_labels = XLabels::new(&self.x, each);
            let (before, behind) = (
                x_labels.before - (left - 4.0),
                x_labels.behind - (self.width - right - 4.0 - end),
            );
            let between = x_labels.before.max(0.0) + x_labels.behind.max(0.0) + APART;
            let wider = if self.columns > 1 { between - gap } else { 0.0 };
            if (before <= 0.5 && behind <= 0.5 && wider <= 0.5) || tries == 3 {
                break;
            }
            left += before.max(0.0);
            end -= behind.max(0.0);
            gap += wider.max(0.0);
            tries += 1;
        }
        let height = match (self.columns, rows) {
            (1, 1) => (self.width * 0.46).clamp(200.0, 340.0),
            (1, _) => 150.0,
            _ => (each * 0.72).clamp(120.0, 240.0),
        };
        let mut areas = Vec::new();
        let mut top = self.top;
        let lines = |panel: &Panel| font::wrap(&panel.title, PANEL, Weight::Bold, each).len();
        for row in 0..rows {
            let in_row = self.figure.panels.iter().skip(row * self.columns).take(self.columns);
            let titles = in_row.map(lines).max().unwrap_or(0);
            top += if titled { titles as f64 * PANEL * font::LINE + 4.0 } else { 4.0 };
            for column in 0..self.columns.min(count - row * self.columns) {
                let x = left + column as f64 * (each + gap);
                areas.push(Area { x, y: top, width: each, height });
            }
            top += height;
            // Texts stand below a panel that has none below it, in the last row but one, too.
            let last = row + 1 == rows;
            let ragged = row + 2 == rows && !count.is_multiple_of(self.columns);
            top += if last || ragged { x_labels.height } else { GAP * 0.8 };
        }
        Grid { areas, x_labels, bottom: top }
    }

    /// Draws all but the titles; says where it ends.
    fn draw(&self, elements: &mut Vec<Element>, side: Side, grid: &Grid) -> f64 {
        let Some((first, last)) = grid.areas.first().zip(grid.areas.last()) else {
            return self.top;
        };
        let y_ticks = self.y.ticks(((first.height / 38.0) as usize).clamp(2, 8));
        let none = Panel::default();
        for (index, area) in grid.areas.iter().enumerate() {
            let panel = self.figure.panels.get(index).unwrap_or(&none);
            let frame = Frame { area: *area, x_axis: &self.x, y_axis: &self.y };
            elements.push(self.panel_title(panel, *area));
            elements.push(panel::axes(&frame, &grid.x_labels, &y_ticks));
            elements.push(panel::data(&frame, self.figure, index));
            if index % self.columns == 0 {
                elements.push(self.y_texts(&frame, &y_ticks));
            }
            if index + self.columns >= grid.areas.len() {
                let texts = grid.x_labels.draw(&self.x, area.x, area.bottom(), area.width);
                elements.push(Element::Group {
                    name: "x-labels".to_owned(),
                    clip: None,
                    elements: texts,
                });
            }
        }
        let right = grid.areas.iter().map(|area| area.right()).fold(0.0, f64::max);
        let across = Area {
            x: first.x,
            y: first.y,
            width: right - first.x,
            height: last.bottom() - first.y,
        };
        let mut bottom = grid.bottom;
        for line in font::wrap(&self.x.title, NAME, Weight::Regular, across.width.max(120.0)) {
            let at = Point::new(across.center().x, bottom + 2.0 + NAME * font::ASCENT);
            elements.push(Text::new(at, line, NAME).anchored(Anchor::Middle).into());
            bottom += NAME * font::LINE + 2.0;
        }
        elements.extend(self.y_name(across));
        self.legend(elements, side, right, bottom)
    }

    fn legend(&self, elements: &mut Vec<Element>, side: Side, right: f64, bottom: f64) -> f64 {
        let Some(legend) = &self.legend else { return bottom };
        match side {
            Side::Nowhere => bottom,
            Side::Inside(at) => {
                elements.push(legend.draw(at, 1));
                bottom
            }
            Side::Right => {
                elements.push(legend.draw(Point::new(right + 14.0, self.top), 1));
                bottom
            }
            Side::Below => {
                let inner = self.width - 2.0 * MARGIN;
                let columns = legend.columns(inner);
                let (width, height) = legend.size(columns);
                let left = MARGIN + (inner - width).max(0.0) / 2.0;
                elements.push(legend.draw(Point::new(left, bottom + 8.0), columns));
                bottom + 8.0 + height
            }
        }
    }

    fn panel_title(&self, panel: &Panel, area: Area) -> Element {
        let lines = font::wrap(&panel.title, PANEL, Weight::Bold, area.width);
        let above = lines.len() as f64;
        let texts = lines.into_iter().enumerate().map(|(number, line)| {
            let below = (above - 1.0 - number as f64) * PANEL * font::LINE;
            let at = Point::new(area.center().x, area.y - 6.0 - below);
            Text::new(at, line, PANEL).bold().anchored(Anchor::Middle).into()
        });
        Element::Group { name: "panel-title".to_owned(), clip: None, elements: texts.collect() }
    }

    fn y_texts(&self, frame: &Frame<'_>, ticks: &[crate::axes::TickLabel]) -> Element {
        let texts = ticks.iter().filter_map(|tick| {
            let at = Point::new(frame.area.x - 7.0, frame.y(tick.value)? + SIZE * 0.36);
            Some(Text::new(at, &tick.text, SIZE).anchored(Anchor::End).into())
        });
        Element::Group { name: "y-labels".to_owned(), clip: None, elements: texts.collect() }
    }

    /// The name of the axis on the left, from bottom to top.
    fn y_name(&self, across: Area) -> Option<Element> {
        if self.y.title.is_empty() {
            return None;
        }
        let long = font::width(&self.y.title, NAME, Weight::Regular);
        // A name that is longer than the axis goes on above it.
        let middle = across.center().y.max(self.top + long / 2.0);
        let at = Point::new(MARGIN + NAME * 0.8, middle);
        let text = Text::new(at, &self.y.title, NAME).anchored(Anchor::Middle);
        Some(Text { rotation: -90.0, ..text }.into())
    }
}
