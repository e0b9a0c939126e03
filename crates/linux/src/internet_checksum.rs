//! The Internet checksum (RFC 1071), and what becomes of one when a field changes (RFC 1624).

/// The one's complement sum of `bytes` as 16-bit words, added to `sum`. A last odd byte has a zero
/// behind it.
pub(crate) fn ones_complement_sum(sum: u16, bytes: &[u8]) -> u16 {
    let mut total = u64::from(sum);
    let mut chunks = bytes.chunks_exact(4);
    for chunk in &mut chunks {
        // The sum of 32-bit words folds to that of 16-bit words (RFC 1071, 2(C)). 2^32 words cannot
        // overflow.
        total += u64::from(u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
    }
    let mut last = [0; 4];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    fold(total + u64::from(u32::from_be_bytes(last)))
}

/// What stands in the checksum's field, if everything else sums up to `sum`.
pub(crate) fn stored(sum: u16) -> u16 {
    !sum
}

/// `sum` with `old` in it replaced by `new`.
pub(crate) fn replaced(sum: u16, old: u16, new: u16) -> u16 {
    fold(u64::from(sum) + u64::from(!old) + u64::from(new))
}

/// Writes the checksum of an IPv4 header.
pub fn write_ipv4_header_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let checksum = stored(ones_complement_sum(0, header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Adds the carries.
fn fold(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071's own example, section 3.
    #[test]
    fn sums_are_those_of_the_specification() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(ones_complement_sum(0, &bytes), 0xddf2);
        assert_eq!(ones_complement_sum(0, &[0xff, 0xff, 0x01]), 0x0100);
        for cut in [0, 2, 4, 6, 8] {
            let first = ones_complement_sum(0, &bytes[..cut]);
            assert_eq!(ones_complement_sum(first, &bytes[cut..]), 0xddf2);
        }
    }

    #[test]
    fn a_changed_field_changes_the_sum_as_if_it_were_made_anew() {
        let mut bytes: Vec<u8> = (0..40_u8).map(|i| i.wrapping_mul(37)).collect();
        for new in [0_u16, 1, 0x7fff, 0xfffe, 0xffff] {
            let sum = ones_complement_sum(0, &bytes);
            let old = u16::from_be_bytes([bytes[4], bytes[5]]);
            bytes[4..6].copy_from_slice(&new.to_be_bytes());
            assert_eq!(replaced(sum, old, new), ones_complement_sum(0, &bytes), "{new}");
        }
    }
}
