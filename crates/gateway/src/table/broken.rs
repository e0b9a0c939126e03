//! A defect in a flow ends that flow, and not the gateway with all that it holds.
//!
//! What calls upon a flow's own state does so within [`Gateway::guarded`]. A panic there is caught,
//! and the flow's state is given up: it may be broken. All that the gateway knows of a flow apart
//! from that state stands beside it in the [`Flow`](super::flow::Flow), and is changed by steps of
//! which none can panic half-way: its places in the tables, its timer, its turns, and what it takes
//! of the pool.
//!
//! Its hosts are reset. As the gateway cannot tell where they stand, who has not taken its reset is
//! told again when it speaks, for as long as a flow lingers that was reset in good order.

use super::Gateway;
use super::access::add_sender_stats;
use super::flow::Phase;
use crate::Side;
use crate::handshake::Relay;
use crate::key::{Endpoint, FlowKey};
use crate::leg::{Leg, PerLeg};
use crate::observe::{Event, Reason};
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// It is told of no more than one panic in so long: who causes them may do it often.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// What hop limit a reset has that we make without a host's example.
const HOP_LIMIT: u8 = 64;

/// How a flow is known to whoever calls upon it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose {
    /// By its slot.
    Slot(usize),
    /// By its name; there may be no flow yet.
    Key(FlowKey),
}

/// When another panic may be told of, and how many it has left out.
#[derive(Debug, Default)]
pub(super) struct PanicLog {
    next: Instant,
    left_out: u64,
}

/// What a broken flow leaves behind.
#[derive(Default)]
struct Remains {
    resets: Vec<(Side, Relay)>,
    lost_bytes: u64,
}

impl<B: Buffer> Gateway<B> {
    /// Calls upon a flow. None if that panicked: then the flow is over.
    pub(super) fn guarded<R>(
        &mut self,
        now: Instant,
        whose: Whose,
        act: impl FnOnce(&mut Self) -> R,
    ) -> Option<R> {
        // Of what a panic leaves half-done only the flow's own state is ever looked at again, and
        // that is given up.
        match catch_unwind(AssertUnwindSafe(|| act(self))) {
            Ok(done) => Some(done),
            Err(panic) => {
                self.give_up_broken(now, whose, &message(&*panic));
                None
            }
        }
    }

    fn give_up_broken(&mut self, now: Instant, whose: Whose, message: &str) {
        self.summary.panicked += 1;
        let id = match whose {
            Whose::Slot(id) => Some(id),
            Whose::Key(key) => {
                self.forget_half_open(now, &key, Reason::NotOpened);
                self.candidates.forget(&key);
                self.table.get(&key).copied()
            }
        };
        let Some(flow) = id.and_then(|id| self.flows.get_mut(id)) else {
            return self.tell_of_panic(now, message, None);
        };
        let id = id.unwrap_or_default();
        let (ends, sides) = (flow.ends(), flow.sides());
        let phase = flow.enter(Phase::Broken(now + self.config.linger));
        self.awaiting_ack.settle(id, ends[Leg::Client].0, &mut flow.standing);
        self.links.remove(id, &mut flow.turns, &mut flow.remote);
        if flow.note_end() && !matches!(phase, Phase::Opening(_)) {
            self.summary.reset += 1;
        }
        self.account(id);
        // That looks at what may be broken: with luck it works.
        let summary = &mut self.summary;
        let remains = catch_unwind(AssertUnwindSafe(|| {
            let Phase::Spliced(spliced) = phase else { return Remains::default() };
            add_sender_stats(summary, sides, &spliced);
            let resets = spliced.last_resets().map(|(leg, reset)| (sides[leg], reset));
            Remains { resets: resets.collect(), lost_bytes: spliced.still_owed().count() }
        }));
        let Remains { resets, lost_bytes } = remains.unwrap_or_default();
        self.relays.extend(resets);
        self.summary.lost_bytes += lost_bytes;
        self.queue(id);
        self.tell_of_panic(now, message, Some((ends, lost_bytes)));
    }

    fn tell_of_panic(
        &mut self,
        now: Instant,
        message: &str,
        flow: Option<(PerLeg<Endpoint>, u64)>,
    ) {
        if now < self.panic_log.next {
            self.panic_log.left_out += 1;
            return;
        }
        let left_out = std::mem::take(&mut self.panic_log.left_out);
        self.panic_log.next = now + BETWEEN_LINES;
        let flow = flow.map(|(ends, lost_bytes)| (ends.into(), lost_bytes));
        self.events.push(Event::Panic { flow, why: message.to_owned(), left_out });
    }

    /// A segment of a flow that has broken: who sends it has not taken its reset (RFC 9293,
    /// 3.10.7.1).
    pub(super) fn answer_for_broken(&mut self, segment: Segment<'_>) {
        let Segment { from, ip, tcp, payload } = segment;
        if tcp.has(Flags::RST) {
            return;
        }
        let header = IpHeader { hop_limit: HOP_LIMIT, ..IpHeader::between(ip.dst, ip.src) };
        let (seq, ack, flags) = if tcp.has(Flags::ACK) {
            (tcp.ack, SeqNum::default(), Flags::RST)
        } else {
            let occupied = payload.len() as u64
                + u64::from(tcp.has(Flags::SYN))
                + u64::from(tcp.has(Flags::FIN));
            (SeqNum::default(), tcp.seq + occupied, Flags::RST | Flags::ACK)
        };
        let (src_port, dst_port) = (tcp.dst_port, tcp.src_port);
        let reset = TcpHeader { src_port, dst_port, seq, ack, flags, ..TcpHeader::default() };
        self.relays.push_back((from, (header, reset)));
    }
}

/// What a panic says, in one line.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message");
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// What `act` makes, if it does not panic: for those who only look.
pub(super) fn unless_broken<R>(act: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(act)).ok()
}
