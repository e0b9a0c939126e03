//! The search for the smallest plan that still violates what a drawn one does.
//!
//! Whatever can be left out is, as long as the violation remains: changes by halves and then one by
//! one (Zeller and Hildebrandt, 2002), then connections, gateways and hazards, then bytes, until
//! nothing more goes.

use super::cut::{Cut, SmallerPlan};
use super::plan::{FaultPlan, Middle};

/// Finds the smallest plan of a seed that `violates` what that does. It is given plans, and says
/// None when it has no more time.
pub fn shrink(seed: u64, mut violates: impl FnMut(&SmallerPlan) -> Option<bool>) -> SmallerPlan {
    let mut search =
        Search { best: SmallerPlan::whole(seed), violates: &mut violates, over: false };
    let drawn = FaultPlan::draw(seed);
    loop {
        let before = search.best.clone();
        search.cut_changes(drawn.changes.len());
        for cut in single_cuts(&drawn) {
            search.try_cuts(&[cut]);
        }
        for call in 0..drawn.calls.len() {
            for (end, application) in drawn.calls[call].applications.iter().enumerate() {
                search.cut_bytes((call, end), application.bytes);
            }
        }
        if search.over || search.best == before {
            return search.best;
        }
    }
}

/// What else can be left out, the largest first.
fn single_cuts(drawn: &FaultPlan) -> Vec<Cut> {
    let gateways = [0, 1].into_iter().filter(|&at| matches!(drawn.middle[at], Middle::Gateway(_)));
    let hazards = Cut::HAZARDS.into_iter().filter(|hazard| drawn.hazards.contains(hazard));
    let calls = 0..drawn.calls.len();
    let mut cuts: Vec<Cut> =
        if drawn.calls.len() > 1 { calls.clone().map(Cut::Call).collect() } else { Vec::new() };
    cuts.extend(drawn.detour.as_ref().map(|_| Cut::Detour));
    cuts.extend(drawn.strait.map(|_| Cut::Strait));
    cuts.extend(drawn.meddlers.first().map(|_| Cut::Meddlers));
    cuts.extend(gateways.map(Cut::Box));
    cuts.extend(hazards.map(Cut::Hazard));
    cuts.extend(calls.map(Cut::Pauses));
    cuts
}

struct Search<'a, F> {
    best: SmallerPlan,
    violates: &'a mut F,
    /// No more time.
    over: bool,
}

impl<F: FnMut(&SmallerPlan) -> Option<bool>> Search<'_, F> {
    /// Whether the violation remains. Then `smaller` is the best so far.
    fn keeps(&mut self, smaller: SmallerPlan) -> bool {
        if self.over || smaller == self.best {
            return false;
        }
        let verdict = (self.violates)(&smaller);
        self.over = verdict.is_none();
        let violates = verdict == Some(true);
        if violates {
            self.best = smaller;
        }
        violates
    }

    fn try_cuts(&mut self, cuts: &[Cut]) -> bool {
        let mut smaller = self.best.clone();
        smaller.cuts.extend(cuts);
        // Of connections one has to remain.
        let all = FaultPlan::draw(smaller.seed).calls.len();
        let gone = smaller.cuts.iter().filter(|cut| matches!(cut, Cut::Call(_))).count();
        gone < all && self.keeps(smaller)
    }

    fn cut_changes(&mut self, count: usize) {
        let mut size = count;
        while size > 0 {
            let left = (0..count).map(Cut::Change).filter(|cut| !self.best.cuts.contains(cut));
            let left: Vec<Cut> = left.collect();
            for chunk in left.chunks(size) {
                self.try_cuts(chunk);
            }
            size /= 2;
        }
    }

    /// Halves what an end writes until that is too little.
    fn cut_bytes(&mut self, end: (usize, usize), drawn: u64) {
        if self.best.cuts.contains(&Cut::Call(end.0)) {
            return;
        }
        loop {
            let bytes = self.best.bytes.get(&end).copied().unwrap_or(drawn);
            if bytes == 0 {
                return;
            }
            let with = |bytes| {
                let mut smaller = self.best.clone();
                smaller.bytes.insert(end, bytes);
                smaller
            };
            let [nothing, half] = [0, bytes / 2].map(with);
            if !self.keeps(nothing) && !self.keeps(half) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::plan::Change;

    /// A plan that "violates" something as long as one of its attacks and some bytes are left.
    #[test]
    fn what_matters_is_left_and_nothing_else() {
        let attacked = |plan: &FaultPlan| {
            plan.changes.iter().any(|(_, change)| matches!(change, Change::Attack(_)))
        };
        let mut seeds = 0..;
        let seed = seeds.find(|&seed| {
            let plan = FaultPlan::draw(seed);
            attacked(&plan) && plan.calls.len() == 2 && plan.calls[1].applications[0].bytes > 2_000
        });
        let seed = seed.expect("there are such plans");
        let port = FaultPlan::draw(seed).calls[1].keys[0].0;
        let mut plays = 0;
        let smallest = shrink(seed, |smaller| {
            plays += 1;
            let plan = smaller.plan();
            let call = plan.calls.iter().find(|call| call.keys[0].0 == port);
            let matters = call.is_some_and(|call| call.applications[0].bytes > 1_000);
            Some(
                matters
                    && plan.changes.iter().any(|(_, change)| matches!(change, Change::Attack(_))),
            )
        });
        let plan = smallest.plan();
        assert_eq!((plan.changes.len(), plan.calls.len()), (1, 1));
        assert!((1_001..=2_002).contains(&plan.calls[0].applications[0].bytes));
        assert_eq!(plan.calls[0].applications[1].bytes, 0);
        assert!(plays < 500, "{plays}");
        // Without time nothing is left out.
        assert_eq!(shrink(seed, |_| None), SmallerPlan::whole(seed));
    }
}
