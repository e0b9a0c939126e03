//! What comes when the pool is full.

use super::*;
use bentpipe_core::units::Bytes;

/// G01-W-12: a window that was promised while there was room is no reason to hold more than there is.
#[test]
fn a_full_pool_takes_nothing_beyond_the_guarantee() {
    let memory = 32 << 10;
    let config =
        Config { memory: Bytes::new(memory), guaranteed: Bytes::new(4 << 10), ..Config::default() };
    let mut table = Table::new(config);
    table.open();
    for at in (1..60_000).step_by(1_000) {
        table.send(Side::Lan, Table::segment(Side::Lan, at, 1, Flags::ACK), &[7; 1_000]);
    }
    // Bytes are held in chunks of 16 KiB: one may be begun when the pool is full.
    assert!(table.gateway.held() <= memory as usize + (16 << 10), "{}", table.gateway.held());
}
