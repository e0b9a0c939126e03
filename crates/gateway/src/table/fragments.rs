//! Segments that have come in fragments: a router on the way has cleared DF, and cuts what is too
//! long for its next hop.
//!
//! Each fragment that is lost costs the whole segment. The segment's sender, a host or another
//! gateway, does not know; so it is told what the router should have told it (RFC 1191, 4), and its
//! segments shrink. Only a host that does fragment its own packets is not, which shows in their
//! shape.

use super::Gateway;
use super::flow::Phase;
use crate::Side;
use crate::key::FlowKey;
use crate::leg::Leg;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::MIN_PATH_MTU;
use bentpipe_core::wire::{IcmpError, Packet, Verify};

/// As often at most the sender of a leg is told: some of it may be lost. One that does not believe
/// it, or sends without DF for a reason, goes on.
const MAX_TOLD: u8 = 4;

/// As much of a segment is quoted: its headers.
const QUOTE: usize = 60;

impl<B: Buffer> Gateway<B> {
    /// Whether a connection is split, or about to be.
    pub(crate) fn is_split(&self, key: &FlowKey) -> bool {
        let flow = self.table.get(key).and_then(|&id| self.flows.get(id));
        flow.is_some_and(|flow| match flow.phase() {
            Phase::Spliced(spliced) => spliced.may_receive(),
            Phase::Hibernated(_) => true,
            Phase::Opening(_) | Phase::Broken(_) => false,
        })
    }

    /// What the sender of `packet` is to be told, a segment that the gateway has taken and that
    /// came in from `from` in these `fragments`, in their order: a packet towards that side.
    pub(crate) fn tell_path_mtu(
        &mut self,
        from: Side,
        packet: &[u8],
        fragments: &[Vec<u8>],
    ) -> Option<Vec<u8>> {
        let mtu = router_mtu(fragments)?;
        let Packet { ip, tcp, .. } = Packet::parse(packet, Verify::Skip).ok()?;
        let flow = self.flows.get_mut(*self.table.get(&FlowKey::of(&ip, &tcp))?)?;
        let leg = if (ip.src, tcp.src_port) == flow.client() { Leg::Client } else { Leg::Server };
        if flow.sides()[leg] != from {
            return None;
        }
        let (spliced, _) = flow.spliced_mut().filter(|(spliced, _)| spliced.may_receive())?;
        let told = &mut spliced.leg_mut(leg).path_mtu_told;
        if *told >= MAX_TOLD {
            return None;
        }
        *told += 1;
        // In the name of the host for which the gateway stands: it has no address of its own.
        IcmpError::packet_too_big(ip.dst, mtu, &packet[..packet.len().min(QUOTE)])
    }
}

/// The MTU of the narrowest router that has made these fragments: all but the last are as long as
/// they can be. None if no router makes such, or no host believes it.
fn router_mtu(fragments: &[Vec<u8>]) -> Option<u32> {
    let (first, others) = fragments.split_first()?;
    let longest = others.iter().map(Vec::len).max()?;
    let mtu = first.len() as u32;
    let routers = first[0] >> 4 == 4 && first.len() >= longest;
    (routers && mtu >= MIN_PATH_MTU).then_some(mtu)
}
