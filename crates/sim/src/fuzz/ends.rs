//! The two ends of a connection: what each has read and how it ended, held against the other.

use super::plan::{Call, FaultPlan, Middle};
use super::violation::Invariant;
use crate::host::script::Report;
use crate::world::World;
use bentpipe_core::time::Instant;
use bentpipe_gateway::FinMode;
use std::time::Duration;

type Finding = (Invariant, String);

/// What was seen of a connection's ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The least time for which a gateway withholds a FIN's acknowledgment, zero if one does not;
    /// None without gateways.
    fin_hold: Option<Duration>,
    /// The least time for which a gateway delivers behind a reset.
    reset_drain: Option<Duration>,
    seen: [EndRecord; 2],
}

#[derive(Debug, Clone, Copy, Default)]
struct EndRecord {
    /// When it closed.
    closed: Option<Instant>,
    /// Its FIN was acknowledged, and that was in order.
    fin_judged: bool,
    /// When it reset the connection, and how much was acknowledged to it by then.
    aborted: Option<(Instant, u64)>,
    reset_judged: bool,
}

impl Ends {
    pub(super) fn new(plan: &FaultPlan, _call: &Call) -> Ends {
        let configs = || {
            plan.middle.iter().filter_map(|middle| match middle {
                Middle::Gateway(config) => Some(config),
                Middle::Router => None,
            })
        };
        Ends {
            fin_hold: configs()
                .map(|config| match config.fin {
                    FinMode::EndToEnd => config.fin_hold,
                    FinMode::Immediate => Duration::ZERO,
                })
                .min(),
            reset_drain: configs().map(|config| config.reset_drain).min(),
            seen: [EndRecord::default(); 2],
        }
    }

    /// Checks the ends at host `host`, which something has happened to.
    pub(super) fn check(
        &mut self,
        plan: &FaultPlan,
        call: &Call,
        world: &World,
        host: usize,
    ) -> Result<(), Finding> {
        let end = usize::from(call.host(0) != host);
        let reports = call.reports(world);
        let Some(mine) = reports[end] else { return Ok(()) };
        let nothing = Report::default();
        let peer = reports[1 - end].unwrap_or(&nothing);
        let context = || format!("end {end} of {:?}: {mine:?}, peer {peer:?}", call.keys);
        if mine.read > peer.written {
            return Err((Invariant::Prefix, context()));
        }
        if mine.clean_end && !(peer.closed && mine.read == peer.written) {
            return Err((Invariant::CleanEnd, context()));
        }
        self.check_fin(call, world, end, mine)?;
        // A host that aborts while its box drains resets behind what it has sent past that box: the
        // box cannot tell that from a forgery, and the reset overtakes what it still holds.
        if !plan.may_break() && !plan.drains() {
            self.check_reset(call, world, end, reports)?;
        }
        Ok(())
    }

    /// A FIN is acknowledged when the far host has it, or after so long that somebody is owed
    /// delivery without its sender.
    fn check_fin(
        &mut self,
        call: &Call,
        world: &World,
        end: usize,
        mine: &Report,
    ) -> Result<(), Finding> {
        let seen = &mut self.seen[end];
        if !mine.closed || seen.fin_judged {
            return Ok(());
        }
        let now = world.now();
        let closed = *seen.closed.get_or_insert(now);
        let tcb = |end: usize| {
            world.host(call.host(end)).connection(&call.keys[end]).and_then(|c| c.last_tcb())
        };
        if !tcb(end).is_some_and(|tcb| tcb.sender.fin_acked()) {
            return Ok(());
        }
        seen.fin_judged = true;
        let arrived = tcb(1 - end).is_some_and(|tcb| tcb.receiver.fin_received());
        let waited = now.saturating_since(closed);
        if arrived || self.fin_hold.is_some_and(|hold| waited >= hold) {
            return Ok(());
        }
        let detail = format!("end {end} of {:?}: acknowledged after {waited:?}", call.keys);
        Err((Invariant::FinEndToEnd, detail))
    }

    /// Whoever is reset has got all that was acknowledged to the peer that resets.
    fn check_reset(
        &mut self,
        call: &Call,
        world: &World,
        end: usize,
        reports: [Option<&Report>; 2],
    ) -> Result<(), Finding> {
        let now = world.now();
        let tcb = |end: usize| {
            world.host(call.host(end)).connection(&call.keys[end]).and_then(|c| c.last_tcb())
        };
        let is = |end: usize, what: fn(&Report) -> bool| reports[end].is_some_and(what);
        if is(end, |report| report.aborted) && self.seen[end].aborted.is_none() {
            let acked = tcb(end).map_or(0, |tcb| tcb.sender.snd_una().get());
            self.seen[end].aborted = Some((now, acked));
        }
        if !is(end, |report| report.reset) || self.seen[end].reset_judged {
            return Ok(());
        }
        self.seen[end].reset_judged = true;
        let Some((at, acked)) = self.seen[1 - end].aborted else { return Ok(()) };
        let late = self.reset_drain.is_some_and(|drain| now.saturating_since(at) >= drain);
        let received = tcb(end).map_or(0, |tcb| tcb.receiver.expected().get());
        // Of the SYN alone nobody has to know.
        if acked <= 1 || received >= acked || late {
            return Ok(());
        }
        let detail = format!(
            "end {end} of {:?} was reset at {received}, but {acked} was acknowledged to its peer",
            call.keys
        );
        Err((Invariant::ResetBehindData, detail))
    }

    /// Checks that it has come to what it must.
    pub(super) fn check_end(
        &self,
        plan: &FaultPlan,
        call: &Call,
        world: &World,
    ) -> Result<(), Finding> {
        if plan.may_break() || call.aborts() {
            return Ok(());
        }
        if call.completed(world) {
            // Both have read all and its end. If a last acknowledgment was lost for longer than
            // TIME-WAIT, the FIN that is retransmitted meets nobody and is reset: no harm done.
            return Ok(());
        }
        let reports = call.reports(world).map(|report| report.copied().unwrap_or_default());
        for end in [0, 1] {
            let (mine, peer) = (&reports[end], &reports[1 - end]);
            let whole = mine.clean_end && mine.read == call.applications[1 - end].bytes;
            if !whole || mine.reset || mine.timed_out {
                let detail = format!("end {end} of {:?}: {mine:?}, peer {peer:?}", call.keys);
                return Err((Invariant::Whole, detail));
            }
        }
        Ok(())
    }
}
