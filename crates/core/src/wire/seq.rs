//! TCP sequence numbers (RFC 9293, section 3.4): 32 bits that wrap.

use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Add;

/// A 32-bit sequence number. It wraps, so it has no order of its own: compare by distance,
/// or turn it into a 64-bit offset with [`SeqNum::offset_near`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct SeqNum(pub u32);

impl SeqNum {
    /// The signed distance from `other` to `self`, right as long as it is below 2³¹.
    pub fn distance_from(self, other: SeqNum) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The 64-bit offset of this number in a stream whose SYN (offset 0) has number `isn`: the
    /// one nearest to `near`. `None` if it would lie before the SYN.
    pub fn offset_near(self, isn: SeqNum, near: Offset) -> Option<Offset> {
        let distance = i64::from(self.distance_from(isn + near));
        near.get().checked_add_signed(distance).map(Offset::new)
    }
}

impl Add<u64> for SeqNum {
    type Output = SeqNum;
    fn add(self, offset: u64) -> SeqNum {
        SeqNum(self.0.wrapping_add(offset as u32))
    }
}

impl Add<Offset> for SeqNum {
    type Output = SeqNum;
    #[inline]
    fn add(self, offset: Offset) -> SeqNum {
        self + offset.get()
    }
}

impl Add<Bytes> for SeqNum {
    type Output = SeqNum;
    #[inline]
    fn add(self, distance: Bytes) -> SeqNum {
        self + distance.count()
    }
}

impl fmt::Debug for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
