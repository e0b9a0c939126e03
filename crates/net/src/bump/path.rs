//! How packets of a connection come and go: what was seen on those that came last, and is put on ours. The kernel's
//! programs write it; we only announce a connection of which nothing was seen yet.

use crate::bpf::map::Plain;

/// Bytes of an Ethernet header.
pub(super) const L2: usize = 14;

/// What the kernel's programs know of a connection's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path {
    /// When its SYN came, in ns of the kernel's monotonic clock. That names it among those that have these ends.
    pub(crate) began: u64,
    /// The device by which they leave, and that by which they come. These differ where routes do.
    pub(crate) devices: [u32; 2],
    /// The mark on the last one that was about to leave …
    pub(crate) mark: u32,
    /// … and its priority (SO_PRIORITY), by which queueing disciplines choose.
    pub(crate) priority: u32,
    /// The devices have Ethernet headers: of one that leaves and of one that comes.
    pub(crate) l2: Option<[[u8; L2]; 2]>,
}

impl Path {
    // Where the parts are among the bytes.
    pub(super) const BEGAN: i16 = 0;
    pub(super) const DEVICES: [i16; 2] = [8, 12];
    pub(super) const MARK: i16 = 16;
    pub(super) const HAS_L2: i16 = 20;
    pub(super) const L2: [i16; 2] = [24, 38];
    pub(super) const PRIORITY: i16 = 52;
}

impl Plain for Path {
    const LEN: usize = 56;

    fn write(&self, bytes: &mut [u8]) {
        let mut put = |at: i16, what: &[u8]| {
            bytes[at as usize..][..what.len()].copy_from_slice(what);
        };
        put(Path::BEGAN, &self.began.to_ne_bytes());
        for (at, device) in Path::DEVICES.into_iter().zip(self.devices) {
            put(at, &device.to_ne_bytes());
        }
        put(Path::MARK, &self.mark.to_ne_bytes());
        put(Path::PRIORITY, &self.priority.to_ne_bytes());
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
            began: u64::from_ne_bytes(bytes[..8].try_into().expect("eight")),
            devices: Path::DEVICES.map(word),
            mark: word(Path::MARK),
            priority: word(Path::PRIORITY),
            l2: (word(Path::HAS_L2) != 0).then(|| Path::L2.map(header)),
        }
    }
}
