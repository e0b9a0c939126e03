//! The diversion of packets to the loop: it vouches for what is taken off the wire, and lets go by
//! what it need not see.

use super::LiveGateway;
use super::return_check::ReturnCheck;
use crate::bump::device_events::DeviceEvents;
use crate::bump::endpoints::Endpoints;
use crate::bump::passed::{Crossed, PassedPrefix};
use crate::bump::{PATIENCE, Table};
use crate::origin::Origins;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, Packet, Verify};
use bentpipe_gateway::Side;
use bentpipe_linux::transport_headers::transport_of;
use nix::errno::Errno;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

/// From one vouching to the next.
const BEAT: Duration = Duration::from_millis(200);

/// Entries of the table that are looked at between two of them: a millisecond or two, so that
/// packets have their turn.
const PORTION: usize = 4096;

/// How long a connection is let be that has just been taken: its first packet may wait to be read.
const FRESH: Duration = Duration::from_secs(10);

/// For so long a connection that is to go by is let be: what was written for it may still be on its
/// way through the kernel ([`receive_steering`](bentpipe_linux::receive_steering)).
const SETTLING: Duration = Duration::from_millis(50);

/// For so long at most it waits until the devices are empty.
const PARTING: Duration = Duration::from_secs(1);

/// For so long from the beginning all connections are taken: a host that has lost bytes with a
/// gateway that crashed sends them again within that time, with which
/// [`Gateway`](bentpipe_gateway::Gateway) finds that out (RFC 6298, 2.5: a timer of two minutes,
/// say).
const ALL: Duration = Duration::from_secs(150);

/// The diversion, as the loop knows it.
#[derive(Debug)]
pub(super) struct Diversion {
    table: Arc<Table>,
    /// When it vouches again; nothing has been vouched for yet if it is zero.
    next: Instant,
    /// Packets that had gone by then.
    went_by: u64,
    /// Until when all are taken.
    all_until: Instant,
    /// Where in the table it looks for what it need not see.
    at: Option<Endpoints>,
    parting: Parting,
    /// Nothing is to be taken.
    asleep: bool,
    return_check: ReturnCheck,
    origins: Origins,
    copies: Copies,
}

/// Connections that are to go by, once none of their packets waits in a device any more.
#[derive(Debug, Default)]
struct Parting {
    /// Noted before `since`, and after it.
    before: HashSet<Endpoints>,
    after: HashSet<Endpoints>,
    since: Instant,
}

impl Parting {
    fn note(&mut self, now: Instant, ends: Endpoints) {
        if self.is_empty() {
            self.since = now;
        }
        self.after.insert(ends);
    }

    fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// Those that may go now, if the devices are `empty`. Some must in the end.
    fn take(&mut self, now: Instant, empty: bool) -> HashSet<Endpoints> {
        let waits = if empty { SETTLING } else { PARTING };
        if now < self.since + waits {
            return HashSet::new();
        }
        self.since = now;
        let noted = std::mem::take(&mut self.after);
        std::mem::replace(&mut self.before, noted)
    }
}

/// Whether what is read are copies of packets that have gone their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copies {
    No,
    /// From now on; others may still wait in the devices.
    Soon,
    Yes,
}

impl Diversion {
    pub(super) fn new(table: Arc<Table>) -> Diversion {
        Diversion {
            table,
            next: Instant::ZERO,
            went_by: 0,
            all_until: Instant::ZERO,
            at: None,
            parting: Parting::default(),
            asleep: false,
            return_check: ReturnCheck::default(),
            origins: Origins::default(),
            copies: Copies::No,
        }
    }

    /// Takes copies alone from now on, or not any more. What is read twice at the turn is forwarded
    /// twice rather than not at all.
    fn copy(&mut self, copies: bool) -> Result<(), Errno> {
        if copies != (self.copies != Copies::No) {
            self.table.copy(copies)?;
            self.copies = if copies { Copies::Soon } else { Copies::No };
        }
        Ok(())
    }

    /// When it is to vouch next.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Vouches, or not if nothing is to be taken; how many packets have gone by that should have
    /// been.
    fn vouch(&mut self, now: Instant, asleep: bool) -> Result<u64, Errno> {
        if self.next == Instant::ZERO {
            self.table.take_all(ALL)?;
            self.all_until = now + ALL;
            // Of connections that another gateway has left.
            self.went_by = self.table.went_by()?;
        }
        self.next = now + BEAT;
        let slept = std::mem::replace(&mut self.asleep, asleep);
        if !asleep {
            self.table.vouching().vouch(PATIENCE)?;
        } else if !slept {
            self.table.vouching().retract()?;
        }
        let went_by = self.table.went_by()?;
        let by = went_by.saturating_sub(std::mem::replace(&mut self.went_by, went_by));
        Ok(if asleep { 0 } else { by })
    }

    /// Lets some go by that nobody need see, as `knows` does not know them.
    fn sweep(&mut self, now: Instant, knows: impl Fn(&Endpoints) -> bool) -> Result<(), Errno> {
        let mut last = self.at;
        for _ in 0..PORTION {
            last = self.table.next(last.as_ref())?;
            let Some(ends) = last else {
                self.at = None;
                return Ok(());
            };
            match !knows(&ends) && self.table.age(&ends)? > FRESH {
                // Behind one that is gone the table would begin again.
                true => self.parting.note(now, ends),
                false => self.at = Some(ends),
            }
        }
        Ok(())
    }

    /// Connections that were recorded come to us, though their beginnings did not.
    pub(super) fn expect(&self, ends: &Endpoints) -> Result<(), Errno> {
        self.table.expect(ends)
    }
}

impl LiveGateway {
    /// The traffic over the satellite's devices; none where the kernel does not say.
    pub(super) fn crossed(&self) -> Crossed {
        let crossed = self.diversion.as_ref().map(|diversion| diversion.table.crossed());
        crossed.and_then(Result::ok).unwrap_or_default()
    }

    /// The prefixes of what passes, likewise.
    pub(super) fn passed_prefixes(&self) -> Vec<PassedPrefix> {
        let prefixes = self.diversion.as_ref().map(|diversion| diversion.table.passed_prefixes());
        prefixes.and_then(Result::ok).unwrap_or_default()
    }

    /// Whether what was read has gone its way already.
    pub(super) fn reads_copies(&self) -> bool {
        self.diversion.as_ref().is_some_and(|diversion| diversion.copies == Copies::Yes)
    }

    /// What was read before the turn has been read, if the devices are `empty`.
    pub(super) fn settle_copies(&mut self, empty: bool) {
        if let Some(diversion) = self.diversion.as_mut().filter(|_| empty)
            && diversion.copies == Copies::Soon
        {
            diversion.copies = Copies::Yes;
        }
    }

    /// Takes what is to be split, or only looks on while nothing is and nothing is to be.
    pub(super) fn take_or_look_on(&mut self) {
        let (observes, flows) = (self.gateway.observes(), self.gateway.flows());
        let Some(diversion) = &mut self.diversion else { return };
        // Of those that come then none is split.
        let looks_on = observes && (flows == 0 || diversion.copies != Copies::No);
        if let Err(error) = diversion.copy(looks_on) {
            tracing::error!(%error, "the kernel is not told whether we only look on");
        }
    }

    /// Vouches for what is taken when it is time, and looks what has gone by.
    pub(super) fn vouch(&mut self, now: Instant) {
        if self.diversion.as_ref().is_some_and(|diversion| diversion.next <= now) {
            self.take_or_look_on();
        }
        let asleep = self.device_events.as_ref().is_some_and(DeviceEvents::is_asleep);
        let Some(diversion) = self.diversion.as_mut().filter(|diversion| diversion.next <= now)
        else {
            return;
        };
        if let Some(device_events) = &self.device_events
            && let Ok(returned) = diversion.table.returned()
        {
            let carries = device_events.carries() && !asleep;
            if diversion.return_check.is_silent(now, self.work.writes(), returned, carries) {
                device_events.tell_of_silence();
            }
        }
        let gateway = &self.gateway;
        let done = diversion.vouch(now, asleep).and_then(|by| {
            let knows = |ends: &Endpoints| gateway.knows(ends.inner, ends.outer);
            diversion.sweep(now, knows).map(|()| by)
        });
        match done {
            Ok(0) => {}
            Ok(packets) => {
                let flows = self.gateway.flows();
                tracing::warn!(
                    flows,
                    packets,
                    "hung for a while: the connections that there are will be released"
                );
                self.gateway.release_all(now);
                self.transmit(now);
            }
            Err(error) => tracing::error!(%error, "the kernel is not told what to take"),
        }
    }

    /// Tells the gateway who opens a connection, if this is its SYN and NAT on this host has
    /// translated its source. Then it is to be [dismissed](bentpipe_gateway::Gateway::dismiss)
    /// behind that.
    pub(super) fn introduce(
        &mut self,
        side: Side,
        packet: &[u8],
    ) -> Option<(SocketAddr, SocketAddr)> {
        let diversion = self.diversion.as_mut().filter(|_| side == Side::Lan)?;
        let Endpoints { inner: client, outer: server } =
            asks(packet).then(|| ends_of(side, packet)).flatten()?;
        let origin = diversion.origins.of(client, server)?;
        self.gateway.introduce(client, server, origin);
        Some((client, server))
    }

    /// A packet from `side` was forwarded. If it belongs to a connection that the gateway need not
    /// see, the others are to go by. While all are taken, those that begin are.
    pub(super) fn note_forwarded(&mut self, side: Side, packet: &[u8]) {
        let now = self.clock.now();
        let Some(diversion) = &mut self.diversion else { return };
        if now < diversion.all_until && !asks(packet) {
            return;
        }
        let Some(ends) = ends_of(side, packet) else { return };
        if !self.gateway.knows(ends.inner, ends.outer) {
            diversion.parting.note(now, ends);
        }
    }

    /// Lets connections go by that need not be seen, if the devices are `empty`: a packet of theirs
    /// that waits there would go nowhere.
    pub(super) fn let_go(&mut self, empty: bool) {
        let Some(diversion) = self.diversion.as_mut().filter(|it| !it.parting.is_empty()) else {
            return;
        };
        for ends in diversion.parting.take(self.clock.now(), empty) {
            // Its ports may be in use again.
            if self.gateway.knows(ends.inner, ends.outer) {
                continue;
            }
            if let Err(error) = diversion.table.forget(&ends) {
                tracing::debug!(%error, "a connection comes by though nobody need see it");
            }
        }
    }
}

/// Whether a packet is a SYN without an acknowledgment, as far as its bytes in the usual places
/// say.
fn asks(packet: &[u8]) -> bool {
    const TCP: u8 = 6;
    let Some((TCP, transport)) = transport_of(packet) else { return false };
    let flags = packet.get(transport + 13).copied().unwrap_or_default();
    Flags(flags).contains(Flags::SYN) && flags & Flags::ACK.0 == 0
}

/// The ends of a whole segment that came from `side`.
fn ends_of(side: Side, packet: &[u8]) -> Option<Endpoints> {
    let Packet { ip, tcp, .. } = Packet::parse(packet, Verify::Skip).ok()?;
    let [src, dst] = [(ip.src, tcp.src_port).into(), (ip.dst, tcp.dst_port).into()];
    Some(match side {
        Side::Lan => Endpoints { inner: src, outer: dst },
        Side::Satellite => Endpoints { inner: dst, outer: src },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_go_by_waits_until_it_has_left_the_kernel_and_the_devices_are_empty() {
        let ends = |port| {
            let end = |port| SocketAddr::from(([10, 0, 0, 1], port));
            Endpoints { inner: end(port), outer: end(443) }
        };
        let at = Instant::from_millis;
        let mut parting = Parting::default();
        parting.note(at(1_000), ends(1));
        assert!(parting.take(at(1_050), true).is_empty(), "it is the first of its time");
        parting.note(at(1_051), ends(2));
        assert!(parting.take(at(1_099), true).is_empty());
        assert_eq!(parting.take(at(1_100), true), HashSet::from([ends(1)]));
        assert!(parting.take(at(2_099), false).is_empty(), "a packet may wait in a device");
        assert_eq!(parting.take(at(2_100), false), HashSet::from([ends(2)]), "some must");
        assert!(parting.take(at(9_000), true).is_empty());
    }
}
