//! The page of keys and columns.

use super::put;
use crate::command::top::units;
use ratatui::Frame;
use ratatui::layout::Rect;

const TEXT: &str = "\
Tab, 1..4   the views               Enter   a flow; or the flows of a row
s, r        next column, reverse    q, Esc, Ctrl-C  quit            p  pause
arrows, PgUp, PgDn, g, G  move      /       filter: words of a row (an address,
                                    :443, half, link); =10.0.0.1 as a whole word
up, ↑       to the server           down, ↓ to the client
rates       of payload, in bits a second, between two looks
RTT, queue  in ms, over the satellite; queue: the RTT above the shortest one
retr        share that was retransmitted; the last 5 s count most
state       new: opening, half: half-closed, drain: reset, leave: being released
by          what holds the flow back, of the leg that has more waiting:
  source    nothing more has come from the other side
  rwnd      the host's window is full
  cwnd      the congestion window is full
  link      it is the turn of other flows
  pacer     the time of its next segment has not come
  recovery  loss recovery waits for an acknowledgment
  nagle, mark, handshake, closed    as in RFC 9293 and RFC 3168";

/// Draws it. What stands beside the names of the views.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect) -> String {
    let width = usize::from(area.width);
    for (row, line) in TEXT.lines().enumerate() {
        put(frame, area, row as u16, units::cut(line, width));
    }
    "help".to_owned()
}
