//! Events of the devices, from the monitor to the loop that carries packets.

use super::state::DiversionState;
use bentpipe_linux::tun::Tun;
use std::sync::mpsc::Receiver;

/// An event of a device that the loop must know.
#[derive(Debug)]
pub enum DeviceEvent {
    /// The device of a side had been deleted, and this is the new one.
    Replaced {
        /// The side's number.
        side: usize,
        /// The device.
        tun: Tun,
    },
    /// Packets may have gone by, as somebody has taken off what takes them.
    PacketsMissed,
    /// The longest packets that the interfaces of each side carry now, in bytes.
    Mtus([u16; 2]),
    /// In a moment nothing will be taken, as something in the way forbids it.
    FallingAsleep,
}

/// The events, at the loop's end.
#[derive(Debug)]
pub struct DeviceEvents {
    pub(super) receiver: Receiver<DeviceEvent>,
    pub(super) state: DiversionState,
}

impl DeviceEvents {
    /// Nothing is to be taken for now.
    pub fn is_asleep(&self) -> bool {
        self.state.is_asleep()
    }

    /// Packets that are given back must come by the satellite's interfaces.
    pub fn carries(&self) -> bool {
        self.state.carries()
    }

    /// Nothing comes by of what was given back.
    pub fn tell_of_silence(&self) {
        self.state.tell_of_silence();
    }

    /// What it is told, one after the other.
    pub fn next(&self) -> Option<DeviceEvent> {
        self.receiver.try_recv().ok()
    }
}
