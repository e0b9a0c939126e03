//! A spliced flow that has nothing to do, in few bytes: a gateway keeps thousands of them, as
//! browsers and mail programs leave their connections open.
//!
//! All that the flow knows is kept, so that it goes on as if it had never hibernated. Left out is
//! what follows from the configuration, from the flow's name, or from its having nothing to do: its
//! streams are empty, and nothing is about to be sent.

use super::SplicedFlow;
use super::closing::Closing;
use crate::Side;
use crate::config::Config;
use crate::key::Endpoint;
use crate::leg::{Leg, PerLeg};
use crate::splice::{LegTcp, Splice, usual_sender};
use bentpipe_core::snapshot::{Reader, Writer};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::Tcb;
use bentpipe_core::wire::IpHeader;
use std::collections::VecDeque;
use std::sync::Arc;

/// What most flows take, in bytes, and some more.
const USUAL: usize = 768;

/// A flow that hibernates.
#[derive(Debug)]
pub(crate) struct Hibernated {
    bytes: Box<[u8]>,
    /// What is left out of them follows from this one: the gateway's may be another one by now.
    config: Arc<Config>,
    /// One host has ended its direction.
    half_closed: bool,
}

impl<B: Buffer> SplicedFlow<B> {
    /// The flow in few bytes, with legs towards `sides`, between the client and the server at its
    /// `ends`. None if it is doing something.
    pub(crate) fn hibernate(
        &self,
        config: &Arc<Config>,
        sides: PerLeg<Side>,
        ends: PerLeg<Endpoint>,
    ) -> Option<Hibernated> {
        let SplicedFlow {
            splice,
            closing,
            spoofed_synack,
            added,
            tuners,
            aqms,
            keep_alive,
            bypass,
            went_past,
            blind,
            control,
        } = self;
        let closing = closing.kept()?;
        let acts = spoofed_synack.is_some() || blind.is_some() || !control.is_empty();
        if acts || !splice.is_idle() {
            return None;
        }
        let mut bytes = Writer::with_capacity(USUAL);
        for host in Leg::BOTH {
            let leg = splice.leg(host);
            let IpHeader { hop_limit, traffic_class, flow_label, dont_fragment, .. } = leg.ip;
            let followed = (hop_limit, traffic_class, flow_label, dont_fragment);
            debug_assert_eq!(leg.ip, header(ends, host, followed));
            bytes.put(&(followed, leg.hop_limit, leg.peer, leg.reports));
            if !leg.tcb.snapshot(&usual_sender(config.leg(sides[host])), &mut bytes) {
                return None;
            }
        }
        bytes.put(&(tuners, aqms, added));
        bytes.put(&(closing, keep_alive, bypass, went_past));
        let half_closed = splice.legs().iter().any(|leg| leg.tcb.receiver.fin_received());
        let config = Arc::clone(config);
        Some(Hibernated { bytes: bytes.finish(), config, half_closed })
    }
}

impl Hibernated {
    /// Whether one host has ended its direction.
    pub(crate) fn is_half_closed(&self) -> bool {
        self.half_closed
    }

    /// The flow as it was, by the same sides and ends.
    pub(crate) fn restore<B: Buffer>(
        &self,
        sides: PerLeg<Side>,
        ends: PerLeg<Endpoint>,
    ) -> SplicedFlow<B> {
        let config = &self.config;
        let mut bytes = Reader::new(&self.bytes);
        let legs = PerLeg::of(|host| {
            let (followed, hop_limit, peer, reports) = bytes.take();
            let ip = header(ends, host, followed);
            let leg_config = config.leg(sides[host]);
            let tcb = Tcb::restore(&mut bytes, &usual_sender(leg_config));
            let ports = [ends[host.other()].1, ends[host].1];
            LegTcp {
                hop_limit,
                reports,
                ..LegTcp::of(leg_config, sides[host], peer, tcb, ip, ports)
            }
        });
        let (tuners, aqms, added) = bytes.take();
        let (closing, keep_alive, bypass, went_past) = bytes.take();
        let mut restored = SplicedFlow {
            splice: Splice::restore(legs),
            closing: Closing::restore(config.fin, closing),
            spoofed_synack: None,
            added,
            tuners,
            aqms,
            keep_alive,
            bypass,
            went_past,
            blind: None,
            control: VecDeque::new(),
        };
        restored.remember_bursts();
        restored
    }
}

/// The header of what is sent to `host`, in the other one's name.
fn header(ends: PerLeg<Endpoint>, host: Leg, followed: (u8, u8, u32, bool)) -> IpHeader {
    let (hop_limit, traffic_class, flow_label, dont_fragment) = followed;
    let (src, dst) = (ends[host.other()].0, ends[host].0);
    let plain = IpHeader::between(src, dst);
    IpHeader { hop_limit, traffic_class, flow_label, dont_fragment, ..plain }
}
