//! A flow that begins in mid-life: its hosts have spoken to each other, and go on with us.

use super::SplicedFlow;
use crate::config::Config;
use crate::handshake::Completed;
use crate::leg::{Leg, PerLeg};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;

impl<B: Buffer> SplicedFlow<B> {
    /// `streams` hold what has come from each host and is not acknowledged by the other one: all of that was
    /// forwarded. The leg of its sender acknowledges it now, and the other one sees that it arrives.
    pub(crate) fn adopt(
        now: Instant,
        config: &Config,
        begun: Completed,
        streams: PerLeg<B>,
        first: Bytes,
    ) -> Self {
        let mut flow = SplicedFlow::new(now, config, begun, first);
        flow.splice.adopt(now, streams);
        for leg in Leg::BOTH {
            let delivered = flow.splice.tcb(leg.other()).sender.snd_una();
            flow.tuners[leg].begin_at(delivered);
            flow.keep_ahead(leg);
            if !flow.splice.undelivered(leg).is_zero() {
                flow.splice.tcb_mut(leg).receiver.ack_now(Cause::Segments);
            }
        }
        flow
    }
}
