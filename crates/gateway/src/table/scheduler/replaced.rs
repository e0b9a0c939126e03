//! A link of which something else is said: what is measured again, and what stays.

use super::free_share::Start;
use super::rate_control::LossyRound;
use super::{DrrEntry, LinkScheduler};
use crate::config::LegConfig;

impl LinkScheduler {
    /// Whether a leg says something else of its link than another one.
    pub(in crate::table) fn is_another(old: &LegConfig, new: &LegConfig) -> bool {
        let link = |leg: &LegConfig| {
            let LegConfig { rate, max_rate, guess, told, found_by, shared_carrier, .. } = *leg;
            let uses = (leg.pacing(), leg.is_watched(), leg.first_window, leg.shared_product());
            ([rate, max_rate, guess], told.rate, (found_by, shared_carrier), uses)
        };
        link(old) != link(new)
    }

    /// Another link is said to be there. Flows keep their places; each is to be
    /// [told](LinkScheduler::renew).
    pub(in crate::table) fn reconfigure(&mut self, leg: &LegConfig) {
        let LinkScheduler {
            rate,
            max_rate,
            pacer,
            latest,
            control,
            broken,
            mut free_share,
            spread_budget,
            estimate,
            shared_carrier,
            paths,
            apart,
            prompt: _,
            arrived: _,
            in_flight: _,
            waiting: _,
        } = LinkScheduler::new(leg);
        if let (Some(old), Some(new)) = (self.free_share.take(), &mut free_share) {
            new.take_over(&old);
        }
        (self.rate, self.max_rate) = (rate, max_rate);
        (self.pacer, self.latest) = (pacer, latest);
        (self.control, self.broken) = (control, broken);
        (self.free_share, self.spread_budget) = (free_share, spread_budget);
        (self.estimate, self.shared_carrier) = (estimate, shared_carrier);
        (self.paths, self.apart) = (paths, apart);
    }

    /// A flow hears that its link is another one: what is not counted any more is forgotten.
    pub(in crate::table) fn renew(&mut self, turn: &mut DrrEntry) {
        turn.lossy = LossyRound::default();
        if self.control.is_none() {
            self.set_in_flight(turn, 0, false);
        }
        if self.free_share.is_none() {
            (turn.load, turn.start) = (0, Start::Over);
        }
    }
}
