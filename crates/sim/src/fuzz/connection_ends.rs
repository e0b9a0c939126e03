//! The two ends of a connection: what each has read and how it ended, held against the other.

use super::attack::expected;
use super::plan::{Call, Change, FaultPlan};
use super::violation::Invariant;
use crate::host::script::Report;
use crate::world::{Segment, World};
use bentpipe_core::tcp::tcb::Tcb;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, SeqNum};
use bentpipe_gateway::FinMode;
use std::collections::BTreeSet;
use std::time::Duration;

type Finding = (Invariant, String);

/// The ends of a connection, as fault tests have seen them.
#[derive(Debug, Clone)]
pub(super) struct ConnectionEnds {
    /// The least time for which a gateway withholds a FIN's acknowledgment, zero if one does not;
    /// None without gateways.
    fin_hold: Option<Duration>,
    /// The least time for which a gateway delivers behind a reset.
    reset_drain: Option<Duration>,
    /// The caller's first number: of its second attempt, if there is one.
    attempt: Option<SeqNum>,
    /// There may be one.
    may_call_again: bool,
    /// A host has ended, and begun once more by a SYN that came late: what it says then is of no
    /// connection.
    revived: bool,
    /// Somebody else has sent a SYN in a host's name.
    forged_syn: bool,
    /// By the end to which they go: the numbers of RSTs that somebody else has sent.
    forged_resets: [BTreeSet<u32>; 2],
    seen: [EndState; 2],
}

#[derive(Debug, Clone, Copy, Default)]
struct EndState {
    /// When it closed.
    closed: Option<Instant>,
    /// It had closed and read all.
    ended: bool,
    /// Its FIN was acknowledged, and that was in order.
    fin_judged: bool,
    /// When it reset the connection, and how much was acknowledged to it by then.
    aborted: Option<(Instant, u64)>,
    reset_judged: bool,
}

impl ConnectionEnds {
    pub(super) fn new(plan: &FaultPlan, number: usize) -> ConnectionEnds {
        let configs = || [0, 1].into_iter().flat_map(|place| plan.configs(place));
        ConnectionEnds {
            fin_hold: configs()
                .map(|config| match config.fin {
                    FinMode::EndToEnd => config.fin_hold,
                    FinMode::Immediate => Duration::ZERO,
                })
                .min(),
            reset_drain: configs().map(|config| config.reset_drain).min(),
            attempt: None,
            may_call_again: plan
                .changes
                .iter()
                .any(|(_, change)| matches!(change, Change::CallAgain(call, _) if *call == number)),
            revived: false,
            forged_syn: false,
            forged_resets: Default::default(),
            seen: [EndState::default(); 2],
        }
    }

    /// Takes down what somebody else has sent in the name of a host of `call`.
    pub(super) fn note_forged(&mut self, plan: &FaultPlan, call: &Call, segment: &Segment) {
        if !plan.is_of(call, segment) {
            return;
        }
        self.forged_syn |= segment.flags.ask_for_a_connection();
        if segment.flags.contains(Flags::RST) {
            let end = usize::from(segment.dst != plan.endpoint(call, 0));
            self.forged_resets[end].insert(segment.seq.0);
        }
    }

    /// Whether an end stands where a forged RST had its number: not when that was sent, but while
    /// it crossed the satellite, what comes before it has come. Then it is exact, and no TCP helps
    /// (RFC 5961, 3.2; fault seed 116282616).
    fn met_a_forged_reset(&self, call: &Call, world: &World) -> bool {
        let is_reset = call.reports(world).into_iter().flatten().any(|report| report.reset);
        let is_exact = (0..2).any(|end| {
            let stands = call.tcb(world, end).map(expected);
            stands.is_some_and(|number| self.forged_resets[end].contains(&number.0))
        });
        is_reset && is_exact
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
        if !self.is_one_attempt(call, world) {
            return Ok(());
        }
        let reports = call.reports(world);
        self.note_revival(reports);
        if self.revived {
            return Ok(());
        }
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
        // Nor where somebody else sends a SYN in its name: what is gone resets, asked whether it
        // has sent that, and without gateways its peer would be reset as well (RFC 5961, 4.2).
        // Fault seeds 30002872 and 50571716.
        if !plan.may_break() && !plan.drains() && !self.forged_syn {
            self.check_reset(call, world, end, reports)?;
        }
        Ok(())
    }

    /// Whether both ends, as far as they are there, are of the same attempt to connect: a caller
    /// may have called again from the same port.
    fn is_one_attempt(&mut self, call: &Call, world: &World) -> bool {
        let [caller, called] = [0, 1].map(|end| call.tcb(world, end).map(Tcb::handshake));
        let Some(isn) = caller.map(|caller| caller.snd_isn) else { return self.attempt.is_none() };
        if self.attempt.replace(isn).is_some_and(|before| before != isn) {
            // The called one has been there for a while, unseen.
            let unseen = EndState { fin_judged: true, ..EndState::default() };
            self.seen = [EndState::default(), unseen];
        }
        called.is_none_or(|called| called.rcv_isn == isn)
    }

    /// A host that had ended and listens on takes a SYN for another connection's, though that is a
    /// copy of the first one's (fault seed 51056927).
    fn note_revival(&mut self, reports: [Option<&Report>; 2]) {
        for (seen, report) in self.seen.iter_mut().zip(reports) {
            let ended = report.is_some_and(|report| report.closed && report.clean_end);
            self.revived |= seen.ended && report.is_some_and(|report| !report.closed);
            seen.ended |= ended;
        }
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
        if !call.tcb(world, end).is_some_and(|tcb| tcb.sender.fin_acked()) {
            return Ok(());
        }
        seen.fin_judged = true;
        let arrived = call.tcb(world, 1 - end).is_some_and(|tcb| tcb.receiver.fin_received());
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
        let is = |end: usize, what: fn(&Report) -> bool| reports[end].is_some_and(what);
        if is(end, |report| report.aborted) && self.seen[end].aborted.is_none() {
            let acked = call.tcb(world, end).map_or(0, |tcb| tcb.sender.snd_una().get());
            self.seen[end].aborted = Some((now, acked));
        }
        if !is(end, |report| report.reset) || self.seen[end].reset_judged {
            return Ok(());
        }
        self.seen[end].reset_judged = true;
        let Some((at, acked)) = self.seen[1 - end].aborted else { return Ok(()) };
        let late = self.reset_drain.is_some_and(|drain| now.saturating_since(at) >= drain);
        let received = call.tcb(world, end).map_or(0, |tcb| tcb.receiver.expected().get());
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

    /// Whether the caller's last attempt is its second, which nobody resets.
    fn has_called_again(&self, call: &Call, world: &World) -> bool {
        self.may_call_again
            && self.attempt != Some(call.isns[0])
            && call.reports(world)[0].is_some_and(|report| !report.aborted)
    }

    /// Checks that it has come to what it must.
    pub(super) fn check_end(
        &self,
        plan: &FaultPlan,
        call: &Call,
        world: &World,
    ) -> Result<(), Finding> {
        if self.revived || plan.may_break() || call.aborts() && !self.has_called_again(call, world)
        {
            return Ok(());
        }
        if call.completed(world) {
            // Both have read all and its end. If a last acknowledgment was lost for longer than
            // TIME-WAIT, the FIN that is retransmitted meets nobody and is reset: no harm done.
            return Ok(());
        }
        if plan.leaves_deaf(call, world) || self.met_a_forged_reset(call, world) {
            // A documented limit, and counted.
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
