//! What the loop that carries packets is told by who looks after the devices.

use super::state::DiversionState;
use bentpipe_linux::tun::Tun;
use std::sync::mpsc::Receiver;

/// Something that the loop must know.
#[derive(Debug)]
pub enum Repair {
    /// The device of a side had been deleted, and this is the new one.
    Device {
        /// The side's number.
        side: usize,
        /// The device.
        tun: Tun,
    },
    /// Packets may have gone by, as somebody has taken off what takes them.
    Passed,
    /// In a moment nothing will be taken, as something in the way forbids it.
    FallingAsleep,
}

/// The loop's end.
#[derive(Debug)]
pub struct Repairs {
    pub(super) told: Receiver<Repair>,
    pub(super) state: DiversionState,
}

impl Repairs {
    /// Nothing is to be taken for now.
    pub fn is_asleep(&self) -> bool {
        self.state.is_asleep()
    }

    /// Whether the satellite's interfaces are up.
    pub fn carries(&self) -> bool {
        self.state.carries()
    }

    /// Nothing comes by of what was given back.
    pub fn tell_of_silence(&self) {
        self.state.tell_of_silence();
    }

    /// What it is told, one after the other.
    pub fn next(&self) -> Option<Repair> {
        self.told.try_recv().ok()
    }
}
