//! How packets of a connection come and go: what was seen on those that came last, and is put on
//! ours. The kernel's programs write it; we only announce a connection of which nothing was seen
//! yet.

use bentpipe_linux::bpf::map::Plain;

pub(super) use bentpipe_linux::tun::FRAME_LEN as L2;

/// What the kernel's programs know of a connection's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path {
    /// When its SYN came, in ns of the kernel's monotonic clock. That names it among those that
    /// have these ends.
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
    pub(super) const FLAGS: i16 = 20;
    pub(super) const L2: [i16; 2] = [24, 38];
    pub(super) const PRIORITY: i16 = 52;

    // Flags.
    /// There are headers.
    pub(super) const HAS_L2: i32 = 1;
    /// Its SYN came in by the device, and nothing is known yet of where it goes.
    pub(super) const UNANSWERED: i32 = 2;
}

impl Path {
    /// A device has another number now, and this address, if it has one.
    pub(super) fn renumber(&mut self, [before, after]: [u32; 2], address: Option<[u8; 6]>) {
        for (way, device) in self.devices.iter_mut().enumerate() {
            if *device != before {
                continue;
            }
            *device = after;
            if let (Some(headers), Some(address)) = (&mut self.l2, address) {
                // It is who sends what leaves, and to whom goes what comes.
                let own = if way == 0 { 6..12 } else { 0..6 };
                headers[way][own].copy_from_slice(&address);
            }
        }
    }
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
        put(Path::FLAGS, &u32::from(self.l2.is_some()).to_ne_bytes());
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
            l2: (word(Path::FLAGS) & Path::HAS_L2 as u32 != 0).then(|| Path::L2.map(header)),
        }
    }
}
