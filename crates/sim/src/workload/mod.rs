//! What the hosts of a scenario do: each kind of traffic is a [`Workload`], which opens
//! connections through [`Net`], is told what happens to them, and sets timers.

mod bulk;

pub use bulk::Bulk;

use crate::packet::Echo;
use crate::simulation::Net;
use crate::stream::Notice;
use crate::world::End;
use bentpipe_core::time::Instant;
use std::fmt;

/// Traffic of one kind.
pub trait Workload: fmt::Debug + Send {
    /// The run begins.
    fn start(&mut self, net: &mut Net);

    /// Something has happened to a connection that is this workload's.
    fn on_notice(&mut self, net: &mut Net, end: End, tag: u64, notice: Notice);

    /// A moment set with [`Net::wake`] has come.
    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        let _ = (net, mark);
    }

    /// A ping was answered at `at`.
    fn on_echo(&mut self, net: &mut Net, at: Instant, echo: Echo) {
        let _ = (net, at, echo);
    }
}
