//! Flows that wait for their turns on a link.
//!
//! They stand in three lines. In each the flow with the lowest place is first. Flows to hosts that
//! are not heard wait in one of their own.
//!
//! So do flows that have sent little since they paused, where that is wanted. They go first: a page
//! is not to wait for a hundred downloads. Nobody knows a flow's size, but a flow that has sent
//! much is likely to send more (least attained service; Rai, Urvoy-Keller and Biersack, 2003). They
//! have seven tenths of the link at most, as long as others wait. Where they are more than seven in
//! ten they have their even share of it: never less than by turns alone.

use std::collections::BTreeMap;

/// A flow is short until it has sent so many bytes.
pub(super) const SHORT: u32 = 128 * 1_024;

/// For each byte of others short flows may send so many, or as many as there are of them for each
/// other; and so many at once after others alone have sent.
const SHARE: f64 = 7.0 / 3.0;
const AT_ONCE: f64 = 64.0 * 1_024.0;

/// Where a flow waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// It has sent little.
    Short,
    Usual,
    /// Its host is not heard.
    Unheard,
}

impl Line {
    /// All of them.
    pub(super) const ALL: [Line; 3] = [Line::Short, Line::Usual, Line::Unheard];

    /// That of a flow whose host is unheard or not, and that is short or not.
    pub(super) fn of(unheard: bool, short: bool) -> Line {
        match (unheard, short) {
            (true, _) => Line::Unheard,
            (false, true) => Line::Short,
            (false, false) => Line::Usual,
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Flows by their places.
    lines: [BTreeMap<u64, usize>; 3],
    last_place: u64,
    /// What short flows may send before others have to, in bytes.
    credit: f64,
}

impl Waiting {
    /// Nobody waits.
    pub(super) fn new() -> Waiting {
        Waiting { lines: Default::default(), last_place: 0, credit: AT_ONCE }
    }

    /// A place behind all that there are.
    pub(super) fn new_place(&mut self) -> u64 {
        self.last_place += 1;
        self.last_place
    }

    /// A flow waits.
    pub(super) fn insert(&mut self, line: Line, place: u64, id: usize) {
        self.lines[line as usize].insert(place, id);
    }

    /// It does no more. The flow, if it waited there.
    pub(super) fn remove(&mut self, line: Line, place: u64) -> Option<usize> {
        self.lines[line as usize].remove(&place)
    }

    /// Whether somebody waits in a line.
    pub(super) fn is_anybody(&self, line: Line) -> bool {
        !self.lines[line as usize].is_empty()
    }

    /// Takes out who is next, in the lines for which there is room.
    pub(super) fn next(&mut self, has_room: impl Fn(Line) -> bool) -> Option<usize> {
        let first = |line: Line| {
            let (place, _) = self.lines[line as usize].first_key_value()?;
            has_room(line).then_some((*place, line))
        };
        let short = first(Line::Short);
        let others = [first(Line::Usual), first(Line::Unheard)];
        let other = others.into_iter().flatten().min_by_key(|(place, _)| *place);
        let (place, line) = short.filter(|_| self.credit > 0.0).or(other).or(short)?;
        self.remove(line, place)
    }

    /// A flow that is short or not has sent so much in its turn.
    pub(super) fn note_sent(&mut self, short: bool, bytes: u64) {
        let earned = bytes as f64 * if short { -1.0 } else { self.share() };
        self.credit = (self.credit + earned).clamp(-AT_ONCE, AT_ONCE);
    }

    /// What short flows may send for each byte of others. One of these has just been taken out.
    fn share(&self) -> f64 {
        let [short, usual, unheard] = self.lines.each_ref().map(|line| line.len() as f64);
        SHARE.max(short / (usual + unheard + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who sends, of these that wait again and again with 1,000 bytes each.
    fn order(waiting: &mut Waiting, lines: &[Line], turns: usize) -> Vec<usize> {
        for (id, line) in lines.iter().enumerate() {
            let place = waiting.new_place();
            waiting.insert(*line, place, id);
        }
        let mut turn = || {
            let id = waiting.next(|_| true)?;
            waiting.note_sent(lines[id] == Line::Short, 1_000);
            let place = waiting.new_place();
            waiting.insert(lines[id], place, id);
            Some(id)
        };
        (0..turns).filter_map(|_| turn()).collect()
    }

    #[test]
    fn short_flows_go_first_and_have_seven_tenths_of_the_link() {
        let lines = [Line::Usual, Line::Usual, Line::Short, Line::Unheard];
        let mut waiting = Waiting::new();
        let order = order(&mut waiting, &lines, 1_000);
        assert_eq!(order[..60], [2; 60]);
        let of = |flow: usize| order[100..].iter().filter(|id| **id == flow).count();
        assert!((600..=660).contains(&of(2)), "{}", of(2));
        assert!([0, 1, 3].into_iter().all(|flow| (80..=100).contains(&of(flow))));
    }

    #[test]
    fn where_they_are_more_than_seven_in_ten_they_have_their_even_share() {
        let mut lines = vec![Line::Short; 19];
        lines.push(Line::Usual);
        let order = order(&mut Waiting::new(), &lines, 2_100);
        let of_other = order[100..].iter().filter(|id| **id == 19).count();
        assert!((90..=110).contains(&of_other), "{of_other} of 2000");
    }

    #[test]
    fn they_have_all_of_it_where_no_other_waits_and_room_is_for_whom_it_is_for() {
        let mut waiting = Waiting::new();
        assert_eq!(order(&mut waiting, &[Line::Short; 2], 200).len(), 200);
        waiting.insert(Line::Unheard, 1_000, 7);
        let room_for = |line: Line| move |other: Line| other == line;
        assert_eq!(waiting.next(room_for(Line::Unheard)), Some(7));
        assert_eq!(waiting.next(room_for(Line::Unheard)), None);
        assert_eq!(Line::ALL.map(|line| waiting.is_anybody(line)), [true, false, false]);
    }
}
