//! Hosts that fall silent: asked whether they are still there (RFC 9293, 3.8.4), each for itself.
//!
//! A gateway answers its near host's keep-alives by itself, so that this host would never notice
//! that the far one is dead. Therefore such a segment makes the gateway ask the far host. Who was
//! asked and does not answer is asked again until the leg's sender gives up, and then the flow is
//! reset.

use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use bentpipe_core::tcp::tcb::Tcb;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::Flags;
use serde::{Deserialize, Serialize};

/// How often a host is asked that does not answer, as Linux does.
const INTERVAL: Duration = Duration::from_secs(75);

/// When each host was last heard, and when it is to be asked next.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeepAlive {
    heard: PerLeg<Instant>,
    asking: PerLeg<Option<Instant>>,
    /// The flow is to hibernate until a host is heard.
    hibernates: bool,
}

impl KeepAlive {
    pub(crate) fn new(now: Instant) -> KeepAlive {
        KeepAlive { heard: PerLeg::new(now, now), asking: PerLeg::default(), hibernates: false }
    }

    /// The host of `leg` is there.
    pub(crate) fn hear(&mut self, now: Instant, leg: Leg) {
        self.heard[leg] = now;
        self.asking[leg] = None;
        self.hibernates = false;
    }

    /// When the host of `leg` was last heard.
    pub(crate) fn heard(&self, leg: Leg) -> Instant {
        self.heard[leg]
    }

    /// When either host was last heard.
    pub(crate) fn last_heard(&self) -> Instant {
        self.heard[Leg::Client].max(self.heard[Leg::Server])
    }

    /// Whether nothing has come from either host for `idle`.
    pub(crate) fn is_silent(&self, now: Instant, idle: Duration) -> bool {
        self.heard.iter().all(|&heard| heard + idle <= now)
    }

    /// The other host wants to know whether that of `leg` is still there.
    pub(crate) fn want_answer(&mut self, now: Instant, leg: Leg) {
        self.asking[leg].get_or_insert(now);
    }

    /// When the host of `leg` is to be asked. Of two hosts that fell silent together nothing is
    /// asked as long as the flow can be released: while it is `clean`.
    pub(crate) fn ask_at(&self, leg: Leg, idle: Duration, clean: bool) -> Option<Instant> {
        let KeepAlive { heard, asking, .. } = self;
        let alone = heard[leg.other()] > heard[leg] + INTERVAL;
        asking[leg].or_else(|| (alone || !clean).then(|| heard[leg] + idle))
    }

    /// The host of `leg` is asked at `now`.
    pub(crate) fn note_asked(&mut self, now: Instant, leg: Leg) {
        self.asking[leg] = Some(now + INTERVAL);
    }

    /// When a flow in which nothing is under way is to hibernate, if it is not to do so already.
    pub(crate) fn hibernate_at(&self, after: Duration) -> Option<Instant> {
        (!self.is_to_hibernate(after)).then(|| self.last_heard() + after)
    }

    /// Nothing has happened for long enough.
    pub(crate) fn let_hibernate(&mut self) {
        self.hibernates = true;
    }

    /// Whether the flow is to hibernate now, if it can.
    pub(crate) fn is_to_hibernate(&self, after: Duration) -> bool {
        self.hibernates || after.is_zero()
    }
}

/// Whether a segment asks its receiver whether it is still there: it stands one below what is
/// expected.
pub(crate) fn is_keep_alive(tcb: &Tcb, segment: &Segment<'_>) -> bool {
    let expected = tcb.receiver.expected();
    let start = segment.tcp.seq.offset_near(tcb.handshake().rcv_isn, expected);
    segment.payload.len() <= 1
        && segment.tcp.flags.0 & (Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0) == 0
        && start == expected.checked_back(Bytes::ONE)
}
