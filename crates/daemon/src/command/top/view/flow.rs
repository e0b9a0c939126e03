//! A flow: in three lines below the list, and alone with its history.

use super::put;
use crate::command::top::model::Model;
use crate::command::top::model::flows::{FlowRow, LegRow};
use crate::command::top::model::groups::remote_of;
use crate::command::top::model::history::{self, Curves, FlowId};
use crate::command::top::units;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::Sparkline;

/// The width of the names of figures.
const NAMES: usize = 20;

/// The selected flow, below the list.
pub(super) fn draw_in_short(frame: &mut Frame<'_>, area: Rect, flow: &FlowRow) {
    let width = usize::from(area.width);
    put(frame, area, 0, "─".repeat(width));
    let about = format!(
        "  {} {}, held {}, remote {}",
        flow.state,
        units::age(flow.age_s),
        units::bytes(flow.held_bytes),
        remote_of(flow).unwrap_or_default(),
    );
    let hosts = units::cut(&hosts(flow, width.saturating_sub(about.chars().count())), width);
    put(frame, area, 1, units::cut(&(hosts + &about), width));
    let Some(legs) = &flow.legs else { return };
    for (row, arrow, leg) in [(2, "↑", &legs.server), (3, "↓", &legs.client)] {
        let text = format!(
            "{arrow} {:9}  RTT {} ms  queue {} ms  cwnd {}  in flight {}  by {}",
            &*leg.side,
            units::millis(leg.srtt_s),
            units::millis(leg.queue_s),
            units::bytes(leg.cwnd_bytes),
            units::bytes(leg.in_flight_bytes),
            limiter(leg),
        );
        put(frame, area, row, units::cut(&text, width));
    }
}

/// The flow alone. What stands beside the names of the views.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model, id: FlowId) -> String {
    let Some(flow) = model.flows.iter().find(|flow| history::id(flow) == id) else {
        put(frame, area, 0, "The flow is over.");
        return String::new();
    };
    let width = usize::from(area.width);
    let lines = details(flow, width);
    let figures = lines.len() as u16;
    for (row, line) in lines.into_iter().enumerate() {
        let style = if row == 0 { Modifier::BOLD } else { Modifier::empty() };
        put(frame, area, row as u16, Line::styled(units::cut(&line, width), style));
    }
    let below = Rect { y: area.y + figures, height: area.height.saturating_sub(figures), ..area };
    match model.histories.of(id) {
        Some(curves) => draw_history(frame, below, &curves, model.histories.samples()),
        None => put(frame, below, 0, "no history: it has carried nothing since"),
    }
    format!("flow {}", flow.number)
}

/// Its hosts; where NAT has translated the client's address, with its own.
fn hosts(flow: &FlowRow, width: usize) -> String {
    let own = flow.opener;
    let own = if own == flow.client.ip() { String::new() } else { format!("{own} as ") };
    let client = format!("{own}{}", flow.client);
    let server = flow.server.to_string();
    if client.chars().count() + server.chars().count() + 3 <= width {
        return format!("{client} → {server}");
    }
    let each = width.saturating_sub(3) / 2;
    format!("{} → {}", units::fit(&client, each), units::fit(&server, each))
}

fn limiter(leg: &LegRow) -> &str {
    leg.limiter.as_ref().map_or("nothing", |limiter| units::limiter(limiter))
}

/// The figures of both legs.
fn details(flow: &FlowRow, width: usize) -> Vec<String> {
    let mut lines = vec![
        hosts(flow, width),
        format!(
            "{}, age {}, a host heard {} ago, held {}, remote {}",
            flow.state,
            units::age(flow.age_s),
            units::age(flow.idle_s),
            units::bytes(flow.held_bytes),
            remote_of(flow).unwrap_or_default(),
        ),
    ];
    let Some(legs) = &flow.legs else { return lines };
    let row = |name: &str, of: &dyn Fn(&LegRow) -> String| {
        let cell = width.saturating_sub(NAMES) / 2;
        let server = units::cut(&of(&legs.server), cell.saturating_sub(1));
        format!("{name:NAMES$}{server:cell$}{}", of(&legs.client))
    };
    let millis = |seconds| format!("{} ms", units::millis(seconds));
    lines.extend([
        row("", &|leg| {
            let end =
                if std::ptr::eq(leg, &legs.server) { "↑ to server" } else { "↓ to client" };
            format!("{end} ({})", leg.side)
        }),
        row("rate", &|leg| units::rate(leg.rate_bps)),
        row("delivered", &|leg| units::bytes(leg.delivered_bytes)),
        row("round trip", &|leg| {
            let [srtt, var, min] = [leg.srtt_s, leg.rttvar_s, leg.min_rtt_s].map(units::millis);
            format!("{srtt} ± {var} ms, min {min} ms")
        }),
        row("queue", &|leg| millis(leg.queue_s)),
        row("cwnd, ssthresh", &|leg| {
            let ssthresh = leg.ssthresh_bytes.map_or_else(|| units::NONE.into(), units::bytes);
            format!("{}, {ssthresh}", units::bytes(leg.cwnd_bytes))
        }),
        row("in flight, backlog", &|leg| {
            format!("{}, {}", units::bytes(leg.in_flight_bytes), units::bytes(leg.backlog_bytes))
        }),
        row("host's window left", &|leg| units::bytes(leg.usable_window_bytes)),
        row("retransmitted, RTOs", &|leg| {
            let share = units::share(leg.recent.share());
            format!("{share}, {} segments, {}", leg.retransmissions, leg.timeouts)
        }),
        row("held back by", &|leg| limiter(leg).to_owned()),
    ]);
    lines
}

/// A curve: its name, its figures in words, its values.
struct Curve {
    name: &'static str,
    words: String,
    /// The value of no bar.
    floor: f64,
    values: Vec<Option<f64>>,
}

/// Bars of the rates and of the round-trip time: the latest look is on the right.
fn draw_history(frame: &mut Frame<'_>, area: Rect, curves: &Curves, samples: usize) {
    let width = usize::from(area.width);
    let shares = curves.limiters.iter().map(|(limiter, share)| {
        format!("{} {}", units::limiter(limiter), units::share(Some(*share)))
    });
    let shares: Vec<String> = shares.collect();
    let text = if shares.is_empty() { "nothing".to_owned() } else { shares.join(", ") };
    put(frame, area, 0, units::cut(&format!("{:NAMES$}{text}", "of the last 2 min"), width));
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let rate =
        |values: &[f64]| format!("max {}", units::rate(values.iter().copied().reduce(f64::max)));
    let measured = || curves.srtt_s.iter().flatten().copied();
    let round_trip = format!(
        "{} to {} ms",
        units::millis(measured().reduce(f64::min)),
        units::millis(measured().reduce(f64::max))
    );
    // From 0 the queue would hardly show above a satellite's propagation delay.
    let floor = measured().reduce(f64::min).unwrap_or(0.0) * 0.9;
    let shown = [
        Curve {
            name: "↑ rate",
            words: rate(&curves.up_bps),
            floor: 0.0,
            values: some(&curves.up_bps),
        },
        Curve {
            name: "↓ rate",
            words: rate(&curves.down_bps),
            floor: 0.0,
            values: some(&curves.down_bps),
        },
        Curve { name: "RTT", words: round_trip, floor, values: curves.srtt_s.clone() },
    ];
    let height = (area.height.saturating_sub(1) / shown.len() as u16).min(6);
    if height == 0 {
        return;
    }
    for (number, curve) in shown.into_iter().enumerate() {
        let y = area.y + 1 + number as u16 * height;
        let row = Rect { y, height, ..area };
        put(frame, row, 0, curve.name);
        put(frame, row, 1, curve.words.as_str());
        let left = NAMES as u16;
        let bars = Rect { x: area.x + left, width: area.width.saturating_sub(left), ..row };
        draw_bars(frame, bars.intersection(frame.area()), &curve, samples);
    }
}

/// Bars from the right. Where there are more values than columns, a bar is the largest of some.
fn draw_bars(frame: &mut Frame<'_>, area: Rect, curve: &Curve, samples: usize) {
    let Curve { floor, values, .. } = curve;
    let columns = usize::from(area.width);
    if columns == 0 {
        return;
    }
    let each = samples.div_ceil(columns).max(1);
    let most = values.iter().flatten().copied().fold(0.0, f64::max) - floor;
    let largest = |values: &[Option<f64>]| values.iter().flatten().copied().reduce(f64::max);
    // In thousandths: a bar has at most 6 rows of 8 steps.
    let height = |value: Option<f64>| {
        value
            .map(|value| if most > 0.0 { ((value - floor) / most * 1e3).round() as u64 } else { 0 })
    };
    let bars: Vec<Option<u64>> = values.rchunks(each).rev().map(largest).map(height).collect();
    let missing = columns.saturating_sub(bars.len());
    let bars = std::iter::repeat_n(None, missing).chain(bars).collect::<Vec<_>>();
    let skipped = bars.len().saturating_sub(columns);
    frame.render_widget(Sparkline::default().data(&bars[skipped..]).max(1_000), area);
}
