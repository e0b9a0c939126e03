//! The drawing of a screen: a function of model, state and size.
//!
//! Nothing is said by colours alone: the selected row has a mark, the view that is shown brackets.

mod flow;
mod header;
mod help;
pub(super) mod list;

pub(super) use header::lines as header;

use super::listing::{Listing, Row};
use super::model::Model;
use super::screen::{Over, Pane, Screen};
use super::units;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// The smallest terminal that has room for anything.
const SMALLEST: (u16, u16) = (40, 8);

/// With fewer rows than these, the selected flow is not shown below the list.
const WITH_SELECTED: u16 = 18;

/// Rows of the selected flow below the list, with the line above it.
const SELECTED: u16 = 4;

/// Draws it all.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, screen: &mut Screen) {
    let area = frame.area();
    screen.width = usize::from(area.width);
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        put(frame, area, 0, "too small: 80 x 24, please");
        return;
    }
    let head = header(&model.link, screen.silence.as_ref(), screen.width);
    let mut row = 0;
    // What is in the way leaves half of the screen to the list.
    for line in head.into_iter().take(usize::from(area.height / 2)) {
        put(frame, area, row, line);
        row += 1;
    }
    let body = Rect { y: row + 1, height: area.height.saturating_sub(row + 2), ..area };
    let info = match (screen.over, screen.pane) {
        (Over::Help, _) => help::draw(frame, body),
        (Over::Flow(id), _) => flow::draw(frame, body, model, id),
        (Over::Nothing, Pane::Flows) => {
            let selected = if body.height >= WITH_SELECTED - 5 { SELECTED } else { 0 };
            let list_area = Rect { height: body.height - selected, ..body };
            let rows = &model.flows;
            let drawn = listing(frame, list_area, &mut screen.flows, rows, &screen.filter);
            if let (Some(flow), true) = (drawn.selected, selected > 0) {
                let below = Rect { y: list_area.bottom(), height: selected, ..body };
                flow::draw_in_short(frame, below, flow);
            }
            screen.page = drawn.page;
            drawn.info
        }
        (Over::Nothing, Pane::Subscribers) => {
            let rows = &model.subscribers;
            let drawn = listing(frame, body, &mut screen.subscribers, rows, &screen.filter);
            screen.page = drawn.page;
            drawn.info
        }
        (Over::Nothing, Pane::Remotes) => {
            let drawn = listing(frame, body, &mut screen.remotes, &model.remotes, &screen.filter);
            screen.page = drawn.page;
            drawn.info
        }
        (Over::Nothing, Pane::NotSplit) => not_split(frame, body, model, screen),
    };
    put(frame, area, row, tabs(screen, &info));
    put(frame, area, area.height - 1, footer(screen));
}

/// A list on the screen.
struct Drawn<'a, R> {
    selected: Option<&'a R>,
    /// The rows that the screen has for it.
    page: usize,
    info: String,
}

/// The reasons, and below them the last connections.
fn not_split(frame: &mut Frame<'_>, area: Rect, model: &Model, screen: &mut Screen) -> String {
    if model.reasons.is_empty() {
        put(frame, area, 0, "All that crosses the satellite was split.");
        return String::new();
    }
    // A head, the reasons, and a line below them.
    let above = (model.reasons.len() as u16 + 2).min(area.height / 2);
    let reasons = Rect { height: above.saturating_sub(1), ..area };
    let lines = list::lines(&Listing::default(), &model.reasons, usize::from(area.width));
    for (row, line) in lines.into_iter().take(usize::from(reasons.height)).enumerate() {
        put(frame, reasons, row as u16, head_style(row, line));
    }
    let last = Rect { y: area.y + above, height: area.height - above, ..area };
    let drawn = listing(frame, last, &mut screen.unsplit, &model.unsplit, &screen.filter);
    screen.page = drawn.page;
    drawn.info
}

/// A list with its head.
fn listing<'a, R: Row>(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &mut Listing<R>,
    rows: &'a [R],
    filter: &str,
) -> Drawn<'a, R> {
    let page = usize::from(area.height.saturating_sub(1));
    let shown = state.shown(rows, filter);
    let place = state.settle(&shown, page);
    let width = usize::from(area.width);
    put(frame, area, 0, head_style(0, list::head::<R>(width)));
    let on_screen = shown.iter().enumerate().skip(state.top()).take(page);
    for (row, (number, it)) in on_screen.enumerate() {
        let is_selected = Some(number) == place;
        let mark = if is_selected { ">" } else { " " };
        let text = format!("{mark}{}", list::line(*it, width));
        let style = if is_selected { Modifier::REVERSED } else { Modifier::empty() };
        put(frame, area, row as u16 + 1, Line::styled(text, style));
    }
    let count = if shown.len() == rows.len() {
        format!("{}", rows.len())
    } else {
        format!("{} of {}", shown.len(), rows.len())
    };
    let info = format!("{count} by {}", state.order());
    Drawn { selected: place.map(|place| shown[place]), page, info }
}

fn head_style(row: usize, text: String) -> Line<'static> {
    let style = if row == 0 { Modifier::UNDERLINED } else { Modifier::empty() };
    Line::styled(text, style)
}

/// The names of the views, and what the list is sorted by.
fn tabs(screen: &Screen, info: &str) -> Line<'static> {
    let mut spans = Vec::new();
    let mut length = 0;
    for (number, pane) in Pane::ALL.into_iter().enumerate() {
        let is_shown = pane == screen.pane && screen.over != Over::Help;
        let name = format!("{} {}", number + 1, pane.name());
        let text = if is_shown { format!("[{name}]") } else { format!(" {name} ") };
        length += text.chars().count();
        spans.push(if is_shown { Span::styled(text, Modifier::BOLD) } else { Span::raw(text) });
    }
    let paused = if screen.is_paused { "PAUSED  " } else { "" };
    let left = screen.width.saturating_sub(length + 1);
    let info = units::cut(&format!("{paused}{info}"), left);
    spans.push(Span::raw(format!("{info:>width$}", width = left + 1)));
    Line::from(spans)
}

/// The keys, or the filter while it is there.
fn footer(screen: &Screen) -> Line<'static> {
    let Screen { filter, is_typing, over, pane, .. } = screen;
    let text = match (over, is_typing) {
        (Over::Help | Over::Flow(_), _) => "Esc back  p pause  q quit".to_owned(),
        (_, true) => format!("filter: {filter}_   Enter keeps it, Esc drops it"),
        (_, false) if !filter.is_empty() => {
            format!("filter: {filter}   / changes it, Esc drops it   ? help  q quit")
        }
        _ => {
            let enter = match pane {
                Pane::Flows => "Enter flow  ",
                Pane::Subscribers | Pane::Remotes => "Enter its flows  ",
                Pane::NotSplit => "",
            };
            format!("Tab view  {enter}s sort  r reverse  / filter  p pause  ? help  q quit")
        }
    };
    Line::raw(units::cut(&text, screen.width))
}

/// Writes a line into a row of an area, if it has that row.
fn put<'a>(frame: &mut Frame<'_>, area: Rect, row: u16, line: impl Into<Line<'a>>) {
    let line = line.into();
    let area = area.intersection(frame.area());
    if row < area.height {
        let style: Style = line.style;
        let buffer = frame.buffer_mut();
        buffer.set_line(area.x, area.y + row, &line, area.width);
        buffer.set_style(Rect { y: area.y + row, height: 1, ..area }, style);
    }
}

#[cfg(test)]
mod tests;
