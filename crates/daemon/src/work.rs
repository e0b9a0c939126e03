//! Counters of the loop's system calls, by device.

use bentpipe_linux::receive_steering::Written;
use bentpipe_linux::tun::{ReadError, Tun};
use bentpipe_linux::vnet_hdr::VnetHdr;

/// Counters since the gateway began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Waits for something to do.
    pub waits: u64,
    /// A device's, by side.
    pub devices: [DeviceWork; 2],
}

/// Those of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceWork {
    /// Packets that were read; a super-segment is one.
    pub reads: u64,
    /// Their bytes, headers included.
    pub read_bytes: u64,
    /// Reads that found none.
    pub empty_reads: u64,
    /// Packets that were written, whatever is cut of them.
    pub writes: u64,
    /// Their bytes, headers included.
    pub written_bytes: u64,
    /// Those of them that are only acknowledgments of ours.
    pub bare_acks: u64,
    /// Packets that the kernel did not take.
    pub refused: u64,
}

impl Work {
    /// Packets that were written, by side.
    pub(crate) fn writes(&self) -> [u64; 2] {
        self.devices.map(|device| device.writes)
    }

    /// All that was written.
    pub(crate) fn written(&self) -> Written {
        let [lan, satellite] = &self.devices;
        Written {
            packets: lan.writes + satellite.writes,
            bytes: lan.written_bytes + satellite.written_bytes,
        }
    }

    /// Packets that the kernel did not take.
    pub fn refused(&self) -> u64 {
        self.devices.iter().map(|device| device.refused).sum()
    }

    /// The system calls that packets and waiting for them took.
    pub fn system_calls(&self) -> u64 {
        let of = |device: &DeviceWork| {
            device.reads + device.empty_reads + device.writes + device.refused
        };
        self.waits + self.devices.iter().map(of).sum::<u64>()
    }
}

impl DeviceWork {
    /// Reads a packet from `device`, as [`Tun::read`] does.
    ///
    /// # Errors
    /// [`ReadError`].
    pub(crate) fn read<'a>(
        &mut self,
        device: &Tun,
        buffer: &'a mut [u8],
    ) -> Result<Option<(VnetHdr, &'a mut [u8])>, ReadError> {
        let read = device.read(buffer)?;
        match &read {
            Some((_, bytes)) => {
                self.reads += 1;
                self.read_bytes += bytes.len() as u64;
            }
            None => self.empty_reads += 1,
        }
        Ok(read)
    }

    /// Writes a packet into `device`, as far as the kernel takes it.
    pub(crate) fn write(&mut self, device: &Tun, header: &VnetHdr, slices: &[&[u8]]) {
        match device.write(header, slices) {
            Ok(()) => {
                self.writes += 1;
                self.written_bytes += slices.iter().map(|slice| slice.len() as u64).sum::<u64>();
            }
            Err(error) => {
                tracing::debug!(device = device.name(), %error, "packet not taken");
                self.refused += 1;
            }
        }
    }
}
