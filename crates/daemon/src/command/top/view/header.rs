//! The link, above every view.

use crate::command::top::model::link::{KnownFrom, LinkRow, State};
use crate::command::top::units;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

/// Things in the way that have a line.
const FINDINGS: usize = 3;

/// The lines of the link. `silence`: why the gateway has not answered, and for how many seconds.
pub(in super::super) fn lines(
    link: &LinkRow,
    silence: Option<&(String, u64)>,
    width: usize,
) -> Vec<Line<'static>> {
    let mut lines = vec![first(link, silence, width)];
    lines.push(Line::raw(units::cut(&rates(link), width)));
    lines.push(Line::raw(units::cut(&limits(link), width)));
    if link.circuit_broken {
        let text = "circuit breaker: it carried less than half of what it was sent; losses are \
                    taken for congestion";
        lines.push(Line::raw(units::cut(text, width)));
    }
    for finding in link.findings.iter().take(FINDINGS) {
        let text = format!("in the way: {}; {}", finding.cause, finding.remedy);
        lines.push(Line::raw(units::cut(&text, width)));
    }
    lines
}

/// Whether anything is split, and how much there is.
fn first(link: &LinkRow, silence: Option<&(String, u64)>, width: usize) -> Line<'static> {
    if let Some((why, seconds)) = silence {
        let text = format!("NO ANSWER for {seconds} s, asking on: {why}");
        return Line::styled(units::cut(&text, width), Modifier::BOLD);
    }
    let state = match link.state {
        State::Splits => "splits".to_owned(),
        State::Observes => "NOTHING IS SPLIT: it only observes".to_owned(),
        State::Asleep => "NOTHING IS SPLIT: something is in the way".to_owned(),
    };
    let trial = link
        .trial_left_s
        .map_or_else(String::new, |left| format!(" on trial ({} left)", units::age(left)));
    let peer = if link.peer_known { "peer known" } else { "no peer seen" };
    let now = |state: &str| link.flows.get(state).copied().unwrap_or(0);
    let open: u64 = ["open", "half-closed", "draining", "releasing"].into_iter().map(now).sum();
    let rest = format!(
        "  {peer}  up {}  flows {open}, {} opening  held {} of {}",
        units::age(link.uptime_s),
        now("opening"),
        units::bytes(link.held_bytes),
        units::bytes(link.memory_bytes),
    );
    let state = units::cut(&(state + &trial), width);
    let left = width - state.chars().count();
    Line::from(vec![Span::styled(state, Modifier::BOLD), Span::raw(units::cut(&rest, left))])
}

/// What crosses the link, and what it is known to carry.
fn rates(link: &LinkRow) -> String {
    let to = units::rate(link.to_satellite_bps);
    let from = units::rate(link.from_satellite_bps);
    let known = match (link.rate_bps, link.rate_from) {
        (Some(rate), Some(known_from)) => {
            let all = units::with_unit(rate as f64, "bit/s");
            match (link.used_at_bps.filter(|used| *used < rate), known_from) {
                (Some(used), _) => {
                    format!("link used at {} of {all}", units::short(used as f64))
                }
                (None, KnownFrom::Configured) => format!("link {all} configured"),
                (None, KnownFrom::Told) => format!("link {all} told by peer"),
                (None, KnownFrom::Found) => format!("link {all} found"),
            }
        }
        _ => "link rate unknown".to_owned(),
    };
    format!("to satellite {to}  from it {from}  {known}")
}

/// Its queue and its losses, and what keeps flows with something to send back.
fn limits(link: &LinkRow) -> String {
    let queue = units::millis(link.queue_s);
    let queue = if link.queue_s.is_some() { format!("{queue} ms") } else { queue };
    let retransmitted = units::share(link.recent.share());
    let mut text = format!("queue {queue}  retransmitted {retransmitted}  held back: ");
    if link.limits.is_empty() {
        return text + "none";
    }
    let limits = link.limits.iter().map(|limit| {
        let lan = if &*limit.side == "satellite" { "" } else { " on the LAN" };
        format!("{} by {}{lan}", limit.flows, units::limiter(&limit.limiter))
    });
    text += &limits.collect::<Vec<_>>().join(", ");
    text
}
