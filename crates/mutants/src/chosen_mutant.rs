//! The mutant that is chosen. Each crate with mutated functions has this module in the copy of the
//! tree.

use std::env;
use std::sync::LazyLock;

static CHOSEN: LazyLock<usize> = LazyLock::new(|| {
    let number = env::var("BENTPIPE_MUTANT").ok();
    number.map_or(usize::MAX, |number| number.parse().expect("BENTPIPE_MUTANT is a number"))
});

/// The number in `BENTPIPE_MUTANT`, or one that no mutant has.
#[inline]
pub(crate) fn chosen() -> usize {
    *CHOSEN
}
