//! What sizes and positions can be computed with, and what they cannot.
//!
//! A sum of two sizes is a size; the distance of two positions is a size; a position and a size are
//! a position. Nothing else compiles: no sum of two positions, no position beside a size or a bare
//! number. Overflow is what it is for integers: a panic where the crate checks for it.

use super::{Bytes, Offset};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, Rem, Sub, SubAssign};

impl Bytes {
    /// None.
    pub const ZERO: Bytes = Bytes(0);
    /// One: what a SYN or a FIN takes.
    pub const ONE: Bytes = Bytes(1);
    /// More than there can be: no limit.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// How many something in memory has.
    #[inline]
    pub const fn of_len(len: usize) -> Bytes {
        Bytes(len as u64)
    }

    /// As a length in memory; the largest one if there is none as large.
    #[inline]
    pub fn as_len(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// For formulas.
    #[inline]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// What a formula has found: whole bytes, none if that is negative or no number.
    #[inline]
    pub const fn from_f64(bytes: f64) -> Bytes {
        Bytes(bytes as u64)
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, or [`Bytes::MAX`].
    #[inline]
    pub const fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }

    /// The difference, none if `other` is more.
    #[inline]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// So many `times`, or [`Bytes::MAX`].
    #[inline]
    pub const fn saturating_mul(self, times: u64) -> Bytes {
        Bytes(self.0.saturating_mul(times))
    }

    /// The difference whichever is more.
    #[inline]
    pub const fn abs_diff(self, other: Bytes) -> Bytes {
        Bytes(self.0.abs_diff(other.0))
    }

    /// How many parts of `size` it takes.
    #[inline]
    pub const fn div_ceil(self, size: Bytes) -> u64 {
        self.0.div_ceil(size.0)
    }

    /// As many of `part` as these are of `whole`, rounded up, or [`Bytes::MAX`].
    #[inline]
    pub fn scaled_up(self, part: Bytes, whole: Bytes) -> Bytes {
        let scaled = (u128::from(self.0) * u128::from(part.0)).div_ceil(u128::from(whole.0));
        Bytes(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// One or none, as a FIN takes.
impl From<bool> for Bytes {
    #[inline]
    fn from(one: bool) -> Bytes {
        Bytes(u64::from(one))
    }
}

impl From<u16> for Bytes {
    #[inline]
    fn from(count: u16) -> Bytes {
        Bytes(u64::from(count))
    }
}

impl From<u32> for Bytes {
    #[inline]
    fn from(count: u32) -> Bytes {
        Bytes(u64::from(count))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn mul(self, times: u64) -> Bytes {
        Bytes(self.0 * times)
    }
}

impl Mul<Bytes> for u64 {
    type Output = Bytes;
    #[inline]
    fn mul(self, each: Bytes) -> Bytes {
        Bytes(self * each.0)
    }
}

impl Div<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn div(self, parts: u64) -> Bytes {
        Bytes(self.0 / parts)
    }
}

impl DivAssign<u64> for Bytes {
    #[inline]
    fn div_assign(&mut self, parts: u64) {
        self.0 /= parts;
    }
}

/// How many whole parts of a size there are.
impl Div for Bytes {
    type Output = u64;
    #[inline]
    fn div(self, size: Bytes) -> u64 {
        self.0 / size.0
    }
}

/// What whole parts of a size leave.
impl Rem for Bytes {
    type Output = Bytes;
    #[inline]
    fn rem(self, size: Bytes) -> Bytes {
        Bytes(self.0 % size.0)
    }
}

impl Sum for Bytes {
    #[inline]
    fn sum<I: Iterator<Item = Bytes>>(sizes: I) -> Bytes {
        sizes.fold(Bytes::ZERO, Add::add)
    }
}

impl Add<Bytes> for Offset {
    type Output = Offset;
    #[inline]
    fn add(self, distance: Bytes) -> Offset {
        Offset(self.0 + distance.0)
    }
}

impl AddAssign<Bytes> for Offset {
    #[inline]
    fn add_assign(&mut self, distance: Bytes) {
        self.0 += distance.0;
    }
}

impl Sub<Bytes> for Offset {
    type Output = Offset;
    #[inline]
    fn sub(self, distance: Bytes) -> Offset {
        Offset(self.0 - distance.0)
    }
}

impl SubAssign<Bytes> for Offset {
    #[inline]
    fn sub_assign(&mut self, distance: Bytes) {
        self.0 -= distance.0;
    }
}

/// How far apart they are, the later one first.
impl Sub for Offset {
    type Output = Bytes;
    #[inline]
    fn sub(self, earlier: Offset) -> Bytes {
        Bytes(self.0 - earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Writer;

    #[test]
    fn sizes_and_positions_keep_apart() {
        let (start, size) = (Offset::new(101), Bytes::new(1448));
        let end = start + 2 * size;
        assert_eq!((end, end - start), (Offset::new(2997), Bytes::new(2896)));
        assert_eq!((end - start) / size, 2);
        assert_eq!(end - size, start + size);
        assert_eq!((end - start).div_ceil(Bytes::new(1000)), 3);
        assert_eq!((end - start) % Bytes::new(1000), Bytes::new(896));
        assert_eq!([size, size].into_iter().sum::<Bytes>(), size * 2);
        assert_eq!(Offset::span(1, 101), Offset::span(1, 101));
    }

    #[test]
    fn limits_hold_where_they_are_asked_for() {
        let (low, high) = (Offset::new(5), Offset::new(9));
        assert_eq!(low.saturating_sub(high), Bytes::ZERO);
        assert_eq!(high.saturating_sub(low), Bytes::new(4));
        assert_eq!(low.checked_back(Bytes::new(6)), None);
        assert_eq!(Offset::SYN.previous(), Offset::SYN);
        assert_eq!(Bytes::MAX.saturating_add(Bytes::ONE), Bytes::MAX);
        assert_eq!(Bytes::new(3).saturating_sub(Bytes::new(4)), Bytes::ZERO);
        assert_eq!(Bytes::MAX.saturating_mul(2), Bytes::MAX);
        assert_eq!(Bytes::new(7).scaled_up(Bytes::new(3), Bytes::new(2)), Bytes::new(11));
        assert_eq!(Bytes::MAX.scaled_up(Bytes::new(3), Bytes::new(2)), Bytes::MAX);
        assert_eq!((Bytes::from_f64(-1.0), Bytes::from_f64(2.9)), (Bytes::ZERO, Bytes::new(2)));
    }

    #[test]
    fn they_are_kept_as_bare_numbers() {
        let mut kept = Writer::default();
        kept.put(&(Offset::new(70_000), Bytes::new(1448)));
        let mut bare = Writer::default();
        bare.put(&(70_000u64, 1448u64));
        assert_eq!(kept.finish(), bare.finish());
    }
}
