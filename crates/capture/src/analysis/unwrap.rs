//! Sequence numbers as places in a stream: they wrap after 4 GB, places do not.

/// One direction's stream. The first number is place 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unwrap {
    first: Option<u32>,
    /// The newest place of data, or what was acknowledged: numbers are taken as near it.
    newest: i64,
}

impl Unwrap {
    pub(super) fn new(first: Option<u32>) -> Unwrap {
        Unwrap { first, newest: 0 }
    }

    /// The place nearest to what was seen last.
    pub(super) fn near(&self, number: u32) -> i64 {
        let here = self.first.unwrap_or(number).wrapping_add(self.newest as u32);
        self.newest + i64::from(number.wrapping_sub(here) as i32)
    }

    /// The place of data.
    pub(super) fn place(&mut self, seq: u32) -> i64 {
        self.first.get_or_insert(seq);
        let place = self.near(seq);
        self.newest = self.newest.max(place);
        place
    }

    /// The place that an ACK names: 1 is the first byte behind a SYN.
    pub(super) fn ack(&mut self, ack: u32) -> i64 {
        // Data in this direction is not in the file: the number before it is taken for the SYN's.
        self.first.get_or_insert(ack.wrapping_sub(1));
        let place = self.near(ack);
        self.newest = self.newest.max(place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_on_where_numbers_wrap() {
        let mut stream = Unwrap::new(Some(u32::MAX - 999));
        assert_eq!(stream.place(u32::MAX - 999), 0);
        assert_eq!(stream.place(0), 1000);
        assert_eq!(stream.place(1 << 31), (1 << 31) + 1000 - (1 << 32), "half a turn is backwards");
        assert_eq!(stream.place((1 << 31) - 1), (1 << 31) - 1 + 1000);
        assert_eq!(stream.place(u32::MAX - 999), 1 << 32, "a whole turn");
        assert_eq!(stream.near(u32::MAX - 1000), (1 << 32) - 1);
    }
}
