//! The place of a capture, as round-trip times tell it.

/// Near an end its answers take less than these parts of the other end's: near enough to know what
/// the sender heard when it sent, and nearer than to the other end.
const NEAR: (i64, i64) = (16, 4);
/// Or no longer than this, in nanoseconds.
pub(crate) const AT_THE_END: i64 = 2_000_000;
/// An end that answers as soon is on the same machine, or the next one, in nanoseconds.
pub(crate) const NOWHERE_ELSE: i64 = 200_000;

/// A direction's sender, seen from the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vantage {
    /// Near: what it hears and sends passes the capture when it does.
    Sender,
    /// Between the ends, near neither.
    Between,
    /// Far: the capture is near the other end.
    Receiver,
    /// Nothing that the other end sent is in the capture.
    OneWay,
    /// No round trip says where.
    #[default]
    Unknown,
}

impl Vantage {
    /// By whether the other end is seen at all, the smallest round trip of the sender's data, from
    /// the capture to the other end and back, and that of the other end's data to the sender.
    pub(super) fn new(answered: bool, trip: Option<i64>, back: Option<i64>) -> Vantage {
        match (trip, back) {
            _ if !answered => Vantage::OneWay,
            (_, Some(back)) if back <= NOWHERE_ELSE => Vantage::Sender,
            (Some(trip), Some(back))
                if back <= (trip / NEAR.1).min(AT_THE_END.max(trip / NEAR.0)) =>
            {
                Vantage::Sender
            }
            (Some(trip), Some(back)) if trip < back / NEAR.1 => Vantage::Receiver,
            (Some(_), Some(_)) => Vantage::Between,
            _ => Vantage::Unknown,
        }
    }
}
