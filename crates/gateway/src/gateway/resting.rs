//! Flows that have nothing to do are kept in few bytes, until something happens to them.

use super::{Gateway, add_sender_stats, subtract_sender_stats};
use crate::flow::Phase;
use bentpipe_core::tcp::buffer::Buffer;

impl<B: Buffer> Gateway<B> {
    /// The flow has nothing to send, and its timer is set: if nothing has happened to it for long
    /// enough, it rests until then.
    pub(super) fn let_rest(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let Phase::Split(split) = &flow.phase else { return };
        if !split.is_to_rest(self.config.rest_after) {
            return;
        }
        let Some(resting) = split.condense(&self.config, flow.sides, flow.ends()) else { return };
        add_sender_stats(&mut self.summary, flow.sides, split);
        flow.phase = Phase::Resting(resting);
    }

    /// How many flows are at rest.
    #[cfg(test)]
    pub(crate) fn resting(&self) -> usize {
        self.flows.iter().filter(|(_, flow)| matches!(flow.phase, Phase::Resting(_))).count()
    }

    /// Something happens to the flow.
    pub(super) fn wake(&mut self, id: usize) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        if let Phase::Resting(resting) = &flow.phase {
            let split = resting.wake(&self.config, flow.sides, flow.ends());
            subtract_sender_stats(&mut self.summary, flow.sides, &split);
            flow.phase = Phase::Split(Box::new(split));
            self.believe_after_rest(id);
        }
    }
}
