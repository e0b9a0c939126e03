//! What the link layer adds takes time.

use super::{DONE, TRANSFER, scenario};
use crate::support::{main_flow, played};

#[test]
fn efficiency_falls_by_the_share_of_the_headers() {
    let goodput = |keys: &str| {
        let link = format!("rate = \"1Mbit/s\"\ndelay = \"1ms\"\nqueue = \"20packets\"\n{keys}");
        main_flow(&played(&scenario(DONE, &link, TRANSFER))).goodput
    };
    // 1448 of 1500 bytes, and of 1538 with Ethernet's frames.
    let (plain, framed) = (goodput(""), goodput("overhead = \"38B\""));
    let ratio = plain / framed;
    assert!((ratio - 1538.0 / 1500.0).abs() < 0.002, "{ratio}");
    // Padding does nothing to full-sized packets, but to acknowledgments.
    let padded = goodput("back = { min-packet = \"1000B\" }");
    assert!(padded < plain, "{padded} {plain}");
}
