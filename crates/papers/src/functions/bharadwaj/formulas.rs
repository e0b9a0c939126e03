//! What both papers compute: windows, round trips, bandwidth-delay products. Each function computes
//! it anew from what it is made of.

use super::{Function, Number, Numbers, RTT, Ran};

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[("G01-F-9", product_of_e1)];

fn numbers<const N: usize>(of: [(&str, f64); N]) -> Numbers {
    Ok(of.map(|(name, value)| Number::new(name, value)).to_vec())
}

fn bytes_of_product(rate: f64) -> f64 {
    rate * RTT / 8.0
}

fn product_of_e1(_: &Ran) -> Numbers {
    let bytes = bytes_of_product(2.048e6);
    numbers([("bytes", bytes), ("kibibytes", bytes / 1024.0)])
}
