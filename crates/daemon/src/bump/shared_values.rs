//! Values that the kernel's programs and we tell each other.

/// A value in the array that they share with us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SharedValue {
    /// Until when we vouch for taking care of what is taken, in ns of the kernel's monotonic clock.
    /// Nothing is taken later.
    VouchedUntil = 0,
    /// Until when all connections are taken, and not only those that begin, likewise.
    AllUntil = 1,
    /// Packets of connections of ours that went by, as nobody had vouched for us.
    WentBy = 2,
    /// Packets of ours that have come by their device on their way out, or go nowhere, as their
    /// connection is forgotten …
    ReturnedOut = 3,
    /// … and in.
    ReturnedIn = 4,
    /// SYNs and SYN-ACKs of the LAN's that have left …
    Begun = 5,
    /// … SYNs that came in by another interface …
    Strange = 6,
    /// … and by which, the last of them.
    StrangeFrom = 7,
    /// We only look on, if it is not zero: what would be taken goes its way, and we get a copy.
    Copies = 8,
}

impl SharedValue {
    /// How many there are.
    pub(super) const COUNT: u32 = 9;
}
