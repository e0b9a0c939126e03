//! How packets of a connection come and go: what was seen on those that came last, and is put on ours.

use crate::bpf::map::Plain;

/// Bytes of an Ethernet header.
pub(super) const L2: usize = 14;

/// What the kernel's programs do with the packets of a connection, and what they know of its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path {
    /// They go by, as if we were not here.
    pub(crate) exempt: bool,
    /// The device by which they leave, and that by which they come. These differ where routes do.
    pub(crate) devices: [u32; 2],
    /// The mark on the last one that was about to leave.
    pub(crate) mark: u32,
    /// The devices have Ethernet headers: of one that leaves and of one that comes.
    pub(crate) l2: Option<[[u8; L2]; 2]>,
}

impl Path {
    // Where the parts are among the bytes.
    pub(super) const EXEMPT: i16 = 0;
    pub(super) const DEVICES: [i16; 2] = [4, 8];
    pub(super) const MARK: i16 = 12;
    pub(super) const HAS_L2: i16 = 16;
    pub(super) const L2: [i16; 2] = [20, 34];
}

impl Plain for Path {
    const LEN: usize = 48;

    fn write(&self, bytes: &mut [u8]) {
        let mut put = |at: i16, what: &[u8]| {
            bytes[at as usize..][..what.len()].copy_from_slice(what);
        };
        put(Path::EXEMPT, &u32::from(self.exempt).to_ne_bytes());
        for (at, device) in Path::DEVICES.into_iter().zip(self.devices) {
            put(at, &device.to_ne_bytes());
        }
        put(Path::MARK, &self.mark.to_ne_bytes());
        put(Path::HAS_L2, &u32::from(self.l2.is_some()).to_ne_bytes());
        for (at, header) in Path::L2.into_iter().zip(self.l2.unwrap_or_default()) {
            put(at, &header);
        }
    }

    fn read(bytes: &[u8]) -> Path {
        let word = |at: i16| {
            let bytes: [u8; 4] = bytes[at as usize..][..4].try_into().expect("four");
            u32::from_ne_bytes(bytes)
        };
        let header =
            |at: i16| -> [u8; L2] { bytes[at as usize..][..L2].try_into().expect("fourteen") };
        Path {
            exempt: word(Path::EXEMPT) != 0,
            devices: Path::DEVICES.map(word),
            mark: word(Path::MARK),
            l2: (word(Path::HAS_L2) != 0).then(|| Path::L2.map(header)),
        }
    }
}
