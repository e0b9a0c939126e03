//! HTTP/2: round trips of one connection with many requests, and what frames cost.

use super::{alone, flow, ms, scenario, times};
use crate::support::{main_flow, played};
use bentpipe_core::units::Rate;

fn small_page(keys: &str) -> String {
    format!(
        "workload = \"http/2\"\npage = {{ document = \"500B\", objects = \"500B\", count = 16 }}\n{keys}"
    )
}

#[test]
fn round_trips_of_as_many_requests_as_are_open() {
    // The handshake, the document, and the objects in rows.
    for (streams, round_trips) in [(100, 3), (16, 3), (8, 4), (1, 2 + 16)] {
        let outcome = alone(&small_page(&format!("streams = {streams}")));
        assert_eq!(times(&outcome), [ms(500 * round_trips)], "{streams}");
        let flow = main_flow(&outcome);
        // One connection; a frame for each reply.
        assert_eq!((flow.connections, flow.counts.delivered), (1, 17 * 509));
        assert_eq!(outcome.transfers[0].transfer.bytes, 17 * 500);
    }
}

#[test]
fn servers_work_at_all_requests_together_and_pages_share_the_connection() {
    let outcome = alone(&small_page("server-delay = \"20ms\"\npages = 2\nthink = \"5s\""));
    assert_eq!(times(&outcome), [ms(3 * 500 + 40), ms(2 * 500 + 40)]);
    assert_eq!(main_flow(&outcome).connections, 1);
}

#[test]
fn serialisation_adds_what_it_takes_with_the_frames() {
    let keys = "workload = \"http/2\"\nframe = \"1000B\"\npage = { document = \"1000B\", objects = \"200KB\", count = 5 }";
    let link = "rate = \"1Mbit/s\"\nqueue = \"unlimited\"\nback = { rate = \"1Mbit/s\" }";
    let took = times(&played(&scenario(link, &flow(keys))))[0].as_secs_f64();
    // A million bytes in a thousand frames, in packets of 1448 of 1500; slow start takes round
    // trips besides.
    let rate = Rate::from_bits_per_sec(1_000_000);
    let bytes = 1001 * 1009 * 1500 / 1448;
    let line = rate.time_for(bytes).as_secs_f64();
    assert!(took > line + 1.25 && took < line + 3.0, "{took} for {line}");
}

#[test]
fn short_replies_do_not_wait_for_long_ones() {
    // A megabyte, and twenty short replies, two open at a time. In turns, the short ones come one
    // after the other while the long one does; if its frame holds them up, each costs a round trip
    // after it.
    let page = |frame: &str| {
        let keys = format!(
            "workload = \"http/2\"\nstreams = 2\nframe = \"{frame}\"\nsend-ahead = \"4KB\"\npage = {{ document = \"1B\", objects = [\"1MB\"{}] }}",
            ", \"1KB\"".repeat(20)
        );
        let link = "rate = \"250kbit/s\"\nqueue = \"10packets\"\nback = { queue = \"unlimited\" }";
        times(&played(&scenario(link, &flow(&keys))))[0].as_secs_f64()
    };
    let (short, long) = (page("1KB"), page("2MB"));
    assert!(short > 33.0 && short + 3.0 < long, "{short} {long}");
}

#[test]
fn a_broken_connection_is_replaced() {
    // Nothing passes for so long that the client gives up; what had not come is asked for again.
    let keys = small_page("tcp = { max-retries = 2 }\npages = 3\nthink = \"2s\"");
    let link = "outages = [{ at = \"4s\", lasting = \"30s\" }]";
    let outcome = played(&scenario(link, &flow(&keys)));
    let flow = main_flow(&outcome);
    assert_eq!(flow.completed, 3);
    assert!(flow.connections > 1, "{}", flow.connections);
}
