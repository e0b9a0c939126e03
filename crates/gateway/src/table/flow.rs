//! A flow in the table: how far it has come, and its places in the table's queues.

use super::awaiting_ack::AdmissionState;
use super::pool::Account;
use super::remotes::RemoteId;
use super::scheduler::DrrEntry;
use super::timers::Alarm;
use crate::benefit::Progress;
use crate::handshake::Opening;
use crate::key::{Endpoint, FlowKey};
use crate::leg::{Leg, PerLeg};
use crate::lifecycle::{Hibernated, SplicedFlow};
use crate::segment::Segment;
use crate::{PerSide, Side};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;

/// Of what flows' streams have for themselves: there are many flows, and chunks are multiples of
/// it.
const SHARE_UNIT: Bytes = Bytes::new(256);

/// A flow in the table.
#[derive(Debug)]
pub(crate) struct Flow<B> {
    client: Endpoint,
    server: Endpoint,
    sides: PerLeg<Side>,
    began: Instant,
    phase: Phase<B>,
    /// Whether it waits for the client's acknowledgment of the SYN-ACK.
    pub(super) standing: AdmissionState,
    /// Where it stands among those that share a link.
    pub(super) turns: PerSide<DrrEntry>,
    /// The gateway behind the satellite link to which it leads, as far as that is known.
    pub(super) remote: Option<RemoteId>,
    /// What it takes of the pool.
    pub(super) account: Account,
    /// When the gateway looks at it again.
    pub(super) alarm: Alarm,
    /// How its payload goes on.
    pub(super) progress: Progress,
    /// What each of its streams has of the pool for itself, in [`SHARE_UNIT`]s; 0 while it waits
    /// for that.
    share: u16,
    /// The flow's end has been counted.
    end_noted: bool,
    /// The flow is in the queue of those that may have something to send.
    queued: bool,
}

/// How far a flow has come.
#[derive(Debug)]
pub(crate) enum Phase<B> {
    /// Between the SYN-ACK and the client's acknowledgment of it.
    Opening(Box<Opening>),
    /// Both handshakes are complete as seen from here.
    Spliced(Box<SplicedFlow<B>>),
    /// The same, while nothing happens to it.
    Hibernated(Hibernated),
    /// A defect of ours has ended it; until then who still sends is reset.
    Broken(Instant),
}

impl<B> Flow<B> {
    /// Between these two, whose SYN was sent on at `began` and has been answered.
    pub(super) fn new(
        ends: PerLeg<Endpoint>,
        sides: PerLeg<Side>,
        began: Instant,
        opening: Opening,
    ) -> Flow<B> {
        Flow::in_phase(ends, sides, began, Phase::Opening(Box::new(opening)))
    }

    /// Between these two, whose SYN was forwarded at `began`.
    pub(super) fn adopted(
        ends: PerLeg<Endpoint>,
        sides: PerLeg<Side>,
        began: Instant,
        flow: SplicedFlow<B>,
    ) -> Flow<B> {
        Flow::in_phase(ends, sides, began, Phase::Spliced(Box::new(flow)))
    }

    fn in_phase(
        ends: PerLeg<Endpoint>,
        sides: PerLeg<Side>,
        began: Instant,
        phase: Phase<B>,
    ) -> Flow<B> {
        let [client, server] = ends.into_array();
        Flow {
            client,
            server,
            sides,
            began,
            phase,
            standing: AdmissionState::default(),
            turns: PerSide::default(),
            remote: None,
            account: Account::default(),
            alarm: Alarm::default(),
            progress: Progress::default(),
            share: 0,
            end_noted: false,
            queued: false,
        }
    }

    /// The flow's name in the table.
    pub(super) fn key(&self) -> FlowKey {
        FlowKey::between(self.client, self.server)
    }

    /// The host that sent the SYN.
    pub(super) fn client(&self) -> Endpoint {
        self.client
    }

    /// The host to which it was sent.
    pub(super) fn server(&self) -> Endpoint {
        self.server
    }

    /// The hosts of the legs.
    pub(super) fn ends(&self) -> PerLeg<Endpoint> {
        PerLeg::new(self.client, self.server)
    }

    /// The side of each leg.
    pub(super) fn sides(&self) -> PerLeg<Side> {
        self.sides
    }

    /// When its last SYN before the SYN-ACK came.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// How far it has come.
    pub(super) fn phase(&self) -> &Phase<B> {
        &self.phase
    }

    /// The same, to be called upon.
    pub(super) fn phase_mut(&mut self) -> &mut Phase<B> {
        &mut self.phase
    }

    /// What it does, if it is at work, with its turns.
    pub(super) fn spliced_mut(&mut self) -> Option<(&mut SplicedFlow<B>, &mut PerSide<DrrEntry>)> {
        self.spliced_with_progress().map(|(spliced, turns, _)| (spliced, turns))
    }

    /// The same with its progress.
    pub(super) fn spliced_with_progress(
        &mut self,
    ) -> Option<(&mut SplicedFlow<B>, &mut PerSide<DrrEntry>, &mut Progress)> {
        match &mut self.phase {
            Phase::Spliced(spliced) => Some((&mut **spliced, &mut self.turns, &mut self.progress)),
            Phase::Opening(_) | Phase::Hibernated(_) | Phase::Broken(_) => None,
        }
    }

    /// What it does, if it is at work.
    pub(super) fn spliced(&self) -> Option<&SplicedFlow<B>> {
        match &self.phase {
            Phase::Spliced(spliced) => Some(&**spliced),
            Phase::Opening(_) | Phase::Hibernated(_) | Phase::Broken(_) => None,
        }
    }

    /// Lets it go on in another phase; the one that it was in.
    pub(super) fn enter(&mut self, phase: Phase<B>) -> Phase<B> {
        std::mem::replace(&mut self.phase, phase)
    }

    /// Whether its end is noted for the first time now.
    pub(super) fn note_end(&mut self) -> bool {
        !std::mem::replace(&mut self.end_noted, true)
    }

    /// Whether its streams have shares of the pool for themselves.
    pub(super) fn has_share(&self) -> bool {
        self.share > 0
    }

    /// What each of them has so, rounded up; nothing while they wait.
    pub(super) fn share(&self) -> Bytes {
        SHARE_UNIT * u64::from(self.share)
    }

    /// They have so much from now on.
    pub(super) fn set_share(&mut self, share: Bytes) {
        self.share = u16::try_from(share.div_ceil(SHARE_UNIT)).unwrap_or(u16::MAX);
    }

    /// It is to be asked for something to send, or has been. Whether it was to be asked before.
    pub(super) fn set_queued(&mut self, queued: bool) -> bool {
        std::mem::replace(&mut self.queued, queued)
    }

    /// Which leg a segment came in on: that of the host which is its source. None if the segment
    /// is of another connection or came from the wrong side.
    pub(super) fn leg_of(&self, segment: &Segment<'_>) -> Option<Leg> {
        let src = (segment.ip.src, segment.tcp.src_port);
        let leg = if src == self.client { Leg::Client } else { Leg::Server };
        (self.sides[leg] == segment.from).then_some(leg)
    }
}
