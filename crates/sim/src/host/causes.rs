//! What losses come from: what the world knows of a connection's segments, what the receiver has
//! seen, and what the sender has made of it.

use super::session::{Application, Session};
use super::{Host, SessionKey};
use crate::packet::{Content, CorruptionNotice, Hole, Packet};
use bentpipe_core::tcp::sender::{Copies, Sender};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_results::LossCauses;
use std::ops::Range;

/// An acknowledgment tells of at most so many holes.
const MAX_HOLES: usize = 16;

/// An episode that is not over.
#[derive(Debug)]
struct Open {
    /// SND.NXT at its beginning.
    end: Offset,
    /// The sender's reductions before it.
    reductions: u64,
    /// Something was retransmitted.
    retransmits: bool,
    /// Something that no link has lost.
    congestion: bool,
}

/// What of a session's losses is known.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// What links have lost of what it has sent.
    lost: Copies,
    /// What has come to it damaged.
    damaged: Copies,
    open: Option<Open>,
    recoveries: u64,
    reductions: u64,
    causes: LossCauses,
}

impl Losses {
    /// Looks at what the sender is about to retransmit. The counts, if they have changed.
    #[inline]
    fn judge(&mut self, sender: &Sender) -> Option<LossCauses> {
        let (recoveries, reductions) = sender.episodes();
        if self.open.is_none() && recoveries == self.recoveries {
            self.reductions = reductions;
            return None;
        }
        self.judge_episode(sender)
    }

    fn judge_episode(&mut self, sender: &Sender) -> Option<LossCauses> {
        let (recoveries, reductions) = sender.episodes();
        let begins = recoveries > self.recoveries;
        let over = |open: &mut Open| begins || sender.snd_una() >= open.end;
        let mut told = None;
        if let Some(open) = self.open.take_if(over).filter(|open| open.retransmits) {
            // What a new episode has reduced is not this one's.
            let now = if begins { self.reductions } else { reductions };
            let answered = now > open.reductions;
            let one = LossCauses {
                corruption: u64::from(!open.congestion),
                congestion: u64::from(open.congestion),
                corruption_answered: u64::from(!open.congestion && answered),
                congestion_unanswered: u64::from(open.congestion && !answered),
            };
            self.causes = self.causes + one;
            told = Some(self.causes);
        }
        if begins {
            let (end, reductions) = (sender.snd_nxt(), self.reductions);
            self.open = Some(Open { end, reductions, retransmits: false, congestion: false });
        }
        (self.recoveries, self.reductions) = (recoveries, reductions);
        if let Some(open) = &mut self.open
            && let Some((range, transmissions)) = sender.first_lost()
        {
            open.retransmits = true;
            open.congestion |= !self.lost.account_for(&range, transmissions);
        }
        told
    }
}

fn range(start: Offset, len: usize) -> Range<Offset> {
    start..start + Bytes::of_len(len)
}

impl<A: Application> Session<A> {
    /// It is about to send: the application hears of an episode that is over.
    pub(super) fn judge_losses(&mut self) {
        if let Some(tcb) = self.connection.tcb()
            && let Some(causes) = self.losses.judge(&tcb.sender)
        {
            self.application.on_causes(causes);
        }
    }

    /// What an acknowledgment says of the damaged segments that have come.
    #[inline]
    pub(super) fn holes(&mut self) -> CorruptionNotice {
        if self.losses.damaged.is_empty() { CorruptionNotice::None } else { self.tell_holes() }
    }

    fn tell_holes(&mut self) -> CorruptionNotice {
        let (losses, Some(tcb)) = (&mut self.losses, self.connection.tcb()) else {
            return CorruptionNotice::None;
        };
        losses.damaged.forget_below(tcb.receiver.rcv_nxt());
        let isn = tcb.handshake().rcv_isn;
        let holes = losses.damaged.iter().take(MAX_HOLES).map(|(range, copies)| Hole {
            seq: isn + range.start,
            len: (range.end - range.start).as_len() as u32,
            copies,
        });
        CorruptionNotice::Holes(holes.collect())
    }
}

impl<A: Application> Host<A> {
    fn named(&mut self, key: &SessionKey) -> Option<&mut Session<A>> {
        let &index = self.table.get(key)?;
        Some(&mut self.sessions[index])
    }

    /// A link has lost, or damaged, a packet from here.
    pub(crate) fn note_lost(&mut self, packet: &Packet) {
        let Content::Tcp(tcp, body) = &packet.content else { return };
        let key = (tcp.src_port, packet.ip.dst, tcp.dst_port);
        let Some(session) = self.named(&key).filter(|_| !body.is_empty()) else { return };
        let Some(tcb) = session.connection.tcb() else { return };
        let una = tcb.sender.snd_una();
        session.losses.lost.forget_below(una);
        if let Some(start) = tcp.seq.offset_near(tcb.handshake().snd_isn, una)
            && una <= start
            && start < tcb.sender.snd_nxt()
        {
            session.losses.lost.add(range(start, body.len()));
        }
    }

    /// A packet has come damaged, but for its headers: its payload is not accepted.
    pub(crate) fn handle_damaged(&mut self, packet: &Packet) {
        let Content::Tcp(tcp, body) = &packet.content else { return };
        let key = (tcp.dst_port, packet.ip.src, tcp.src_port);
        let Some(session) = self.named(&key).filter(|_| !body.is_empty()) else { return };
        let Some(tcb) = session.connection.tcb() else { return };
        let next = tcb.receiver.rcv_nxt();
        if let Some(start) = tcp.seq.offset_near(tcb.handshake().rcv_isn, next)
            && start >= next
            && tcb.receiver.acceptable(Some(start), Bytes::of_len(body.len()))
        {
            session.losses.damaged.add(range(start, body.len()));
        }
    }

    /// The peer tells of damaged segments.
    pub(super) fn hear_of(&mut self, key: &SessionKey, holes: &[Hole]) {
        if let Some(session) = self.named(key) {
            for &Hole { seq, len, copies } in holes {
                session.connection.note_damaged(seq, len, copies);
            }
        }
    }
}
