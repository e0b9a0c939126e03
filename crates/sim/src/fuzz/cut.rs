//! Plans of which something is left out: the smaller a plan that violates something, the sooner it
//! is understood.
//!
//! A cut names what the plan's seed has drawn, by its number there. So a smaller plan is a seed and
//! a few lines of text, and is replayed as long as its seed is the same run. What a cut takes away
//! makes no demand stricter that the plan's hazards have made lenient: those of routes and crashes
//! stay in its list.

use super::plan::{Change, FaultPlan, Hazard, Middle};
use crate::host::script::{Pace, Start};
use bentpipe_core::link::{LinkConfig, LossKind};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Probability;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// What is left out of a drawn plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// This connection.
    Call(usize),
    /// This change.
    Change(usize),
    /// The gateway in this place: a router stands there.
    Box(usize),
    /// The ways around the boxes, and changes of routes.
    Detour,
    /// The router that speaks ICMP.
    Strait,
    /// Boxes that meddle.
    Meddlers,
    /// What befalls packets, or what applications do: one of [`Cut::HAZARDS`].
    Hazard(Hazard),
    /// The pauses of the applications of this connection.
    Pauses(usize),
}

impl Cut {
    /// What can be left out of lines and applications.
    pub const HAZARDS: [Hazard; 8] = [
        Hazard::Loss,
        Hazard::BurstLoss,
        Hazard::Reordering,
        Hazard::Duplication,
        Hazard::Corruption,
        Hazard::DelayChange,
        Hazard::Outage,
        Hazard::Abort,
    ];
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Call(number) => write!(f, "call {number}"),
            Cut::Change(number) => write!(f, "change {number}"),
            Cut::Box(place) => write!(f, "box {place}"),
            Cut::Detour => f.write_str("detour"),
            Cut::Strait => f.write_str("strait"),
            Cut::Meddlers => f.write_str("meddlers"),
            Cut::Hazard(hazard) => f.write_str(hazard.name()),
            Cut::Pauses(number) => write!(f, "pauses {number}"),
        }
    }
}

/// A plan as drawn from a seed, and what is left out of it.
///
/// Its text is `seed N`, then a line for each cut (`without call 1`) and each smaller transfer
/// (`bytes CALL END COUNT`). Empty lines and such that begin with `#` say nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallerPlan {
    /// What it was drawn from.
    pub seed: u64,
    /// What is left out.
    pub cuts: BTreeSet<Cut>,
    /// By connection and end: how many bytes it writes, if fewer than drawn.
    pub bytes: BTreeMap<(usize, usize), u64>,
}

/// Why a text is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanTextError {
    /// No line says `seed N`.
    #[error("no line says `seed N`")]
    Seed,
    /// A line says nothing that can be left out.
    #[error("line {0}: `{1}` is none of `seed N`, `without …` and `bytes CALL END COUNT`")]
    Line(usize, String),
}

impl SmallerPlan {
    /// All that the seed draws.
    pub fn whole(seed: u64) -> SmallerPlan {
        SmallerPlan { seed, cuts: BTreeSet::new(), bytes: BTreeMap::new() }
    }

    /// The plan. Cuts of what was not drawn change nothing, and one connection is left in any case.
    pub fn plan(&self) -> FaultPlan {
        let mut plan = FaultPlan::draw(self.seed);
        let gone = |number| self.cuts.contains(&Cut::Change(number));
        let mut number = 0..;
        plan.changes.retain(|_| !number.next().is_some_and(gone));
        for cut in &self.cuts {
            cut_off(&mut plan, *cut);
        }
        for (&(call, end), &bytes) in &self.bytes {
            if let Some(call) = plan.calls.get_mut(call).filter(|_| end < 2) {
                call.applications[end].bytes = bytes.min(call.applications[end].bytes);
            }
        }
        for call in &mut plan.calls {
            let bytes = call.applications.map(|application| application.bytes);
            for (end, application) in call.applications.iter_mut().enumerate() {
                if let Start::AfterReading(after) = &mut application.start {
                    *after = bytes[1 - end].min(*after);
                }
            }
        }
        // From the last on, so that numbers stay what they are.
        for cut in self.cuts.iter().rev() {
            if let Cut::Call(number) = *cut
                && number < plan.calls.len()
                && plan.calls.len() > 1
            {
                plan.calls.remove(number);
                plan.changes.retain_mut(|(_, change)| match change {
                    Change::Attack(attack) if attack.call == number => false,
                    Change::CallAgain(call, _) if *call == number => false,
                    Change::CallAgain(call, _) => {
                        *call -= usize::from(*call > number);
                        true
                    }
                    Change::Attack(attack) => {
                        attack.call -= usize::from(attack.call > number);
                        true
                    }
                    _ => true,
                });
            }
        }
        plan
    }
}

/// Leaves something out. Connections are left out last.
fn cut_off(plan: &mut FaultPlan, cut: Cut) {
    match cut {
        Cut::Call(_) | Cut::Change(_) => {}
        Cut::Box(place) => {
            if let Some(middle) = plan.middle.get_mut(place) {
                *middle = Middle::Router;
            }
            plan.changes.retain(|(_, change)| match change {
                Change::Crash(at) | Change::Restart(at) | Change::Drain(at) => *at != place,
                Change::Stop(at) | Change::Start(at) | Change::End(at) => *at != place,
                Change::Reload(at, _) => *at != place,
                _ => true,
            });
        }
        Cut::Detour => {
            plan.detour = None;
            plan.changes.retain(|(_, change)| !matches!(change, Change::Route { .. }));
        }
        Cut::Strait => {
            plan.strait = None;
            plan.changes.retain(|(_, change)| !matches!(change, Change::Strait(_)));
        }
        Cut::Meddlers => plan.meddlers.clear(),
        Cut::Pauses(number) => {
            for application in
                plan.calls.iter_mut().skip(number).take(1).flat_map(|call| &mut call.applications)
            {
                (application.write, application.read) = (Pace::default(), Pace::default());
            }
        }
        Cut::Hazard(hazard) => leave_out(plan, hazard),
    }
}

fn leave_out(plan: &mut FaultPlan, hazard: Hazard) {
    if !Cut::HAZARDS.contains(&hazard) || !plan.hazards.contains(&hazard) {
        return;
    }
    if hazard == Hazard::Abort {
        // Where something breaks, applications that wait for ever are what ends a run.
        if plan.may_break() {
            return;
        }
        for application in plan.calls.iter_mut().flat_map(|call| &mut call.applications) {
            application.abort_after = None;
        }
    }
    plan.hazards.remove(&hazard);
    let [there, back] = &mut plan.satellite;
    let [first, second] = &mut plan.cables;
    let ways = plan.detour.iter_mut().flat_map(|detour| [&mut detour.beside, &mut detour.around]);
    let links = [there, back, &mut first.link, &mut second.link].into_iter().chain(ways);
    links.for_each(|link| leave_out_of_link(link, hazard));
    for faults in [&mut plan.faults, &mut first.faults, &mut second.faults] {
        match hazard {
            Hazard::Reordering => faults.reorder = Probability::ZERO,
            Hazard::Duplication => faults.duplicate = Probability::ZERO,
            Hazard::Corruption => faults.corrupt = Probability::ZERO,
            Hazard::Outage => faults.outages.clear(),
            _ => {}
        }
    }
}

fn leave_out_of_link(link: &mut LinkConfig, hazard: Hazard) {
    match hazard {
        Hazard::Loss => {
            (link.packet_loss, link.bit_errors) = (LossKind::NONE, Probability::ZERO.into());
        }
        Hazard::BurstLoss => link.packet_loss = LossKind::NONE,
        Hazard::DelayChange => link.delay = link.delay.at(Instant::ZERO).into(),
        _ => {}
    }
}

impl fmt::Display for SmallerPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        self.cuts.iter().try_for_each(|cut| writeln!(f, "without {cut}"))?;
        self.bytes
            .iter()
            .try_for_each(|((call, end), bytes)| writeln!(f, "bytes {call} {end} {bytes}"))
    }
}

impl FromStr for SmallerPlan {
    type Err = PlanTextError;
    fn from_str(text: &str) -> Result<SmallerPlan, PlanTextError> {
        let (mut seed, mut plan) = (None, SmallerPlan::whole(0));
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let read = match words[..] {
                ["seed", value] => value.parse().ok().map(|value| seed = Some(value)),
                _ => plan.read(&words),
            };
            read.ok_or_else(|| PlanTextError::Line(number + 1, line.to_owned()))?;
        }
        plan.seed = seed.ok_or(PlanTextError::Seed)?;
        Ok(plan)
    }
}

impl SmallerPlan {
    /// Reads a line that leaves something out.
    fn read(&mut self, words: &[&str]) -> Option<()> {
        match *words {
            ["without", ref what @ ..] => {
                self.cuts.insert(cut_of(what)?);
            }
            ["bytes", call, end, count] => {
                let end = (call.parse().ok()?, end.parse().ok()?);
                self.bytes.insert(end, count.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

fn cut_of(words: &[&str]) -> Option<Cut> {
    match *words {
        ["call", number] => number.parse().ok().map(Cut::Call),
        ["change", number] => number.parse().ok().map(Cut::Change),
        ["box", place] => place.parse().ok().map(Cut::Box),
        ["pauses", number] => number.parse().ok().map(Cut::Pauses),
        ["detour"] => Some(Cut::Detour),
        ["strait"] => Some(Cut::Strait),
        ["meddlers"] => Some(Cut::Meddlers),
        [name] => Cut::HAZARDS.into_iter().find(|hazard| hazard.name() == name).map(Cut::Hazard),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::Attack;

    #[test]
    fn a_smaller_plan_is_a_text() {
        let cuts =
            [Cut::Call(1), Cut::Change(3), Cut::Box(0), Cut::Detour, Cut::Strait, Cut::Meddlers];
        let hazards = Cut::HAZARDS.map(Cut::Hazard);
        let cuts = cuts.into_iter().chain([Cut::Pauses(0)]).chain(hazards).collect();
        let plan = SmallerPlan { seed: 4711, cuts, bytes: BTreeMap::from([((0, 1), 300)]) };
        assert_eq!(format!("# why\n\n{plan}").parse::<SmallerPlan>().unwrap(), plan);
        for (text, part) in [("without call 1", "seed N"), ("seed 1\nwithout luck", "line 2")] {
            let message = text.parse::<SmallerPlan>().unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn what_is_cut_is_gone_and_what_is_left_keeps_its_names() {
        for seed in 0..300 {
            let (drawn, mut smaller) = (FaultPlan::draw(seed), SmallerPlan::whole(seed));
            assert_eq!(format!("{:?}", smaller.plan()), format!("{drawn:?}"));
            smaller.cuts.extend([Cut::Call(0), Cut::Detour, Cut::Strait, Cut::Box(0), Cut::Box(1)]);
            smaller.cuts.insert(Cut::Meddlers);
            smaller.cuts.extend(Cut::HAZARDS.map(Cut::Hazard));
            let plan = smaller.plan();
            assert_eq!(plan.calls.len(), (drawn.calls.len() - 1).max(1));
            assert_eq!(plan.calls.last().unwrap().keys, drawn.calls.last().unwrap().keys);
            assert!(plan.detour.is_none() && plan.strait.is_none() && plan.meddlers.is_empty());
            for (_, change) in &plan.changes {
                let (Change::Attack(Attack { call, .. }) | Change::CallAgain(call, _)) = change
                else {
                    panic!("{change:?}")
                };
                assert!(*call < plan.calls.len());
            }
            assert_eq!(plan.may_break(), drawn.may_break());
        }
    }
}
