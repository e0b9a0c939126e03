//! Requests and keystrokes: round trips to the nanosecond.

use super::{alone, ms, times};
use crate::support::main_flow;
use bentpipe_core::time::Instant;

const FIVE: &str = "workload = \"request-response\"\nreply = \"1000B\"\nrequests = 5";

#[test]
fn a_kept_connection_pays_for_its_handshake_once() {
    let outcome = alone(FIVE);
    assert_eq!(times(&outcome), [1000, 500, 500, 500, 500].map(ms));
    let flow = main_flow(&outcome);
    assert_eq!(
        (flow.connections, flow.begun, flow.completed, flow.counts.delivered),
        (1, 5, 5, 5000)
    );
    assert_eq!(outcome.run.end, ms(3000));
}

#[test]
fn each_new_connection_pays_for_its_own() {
    let outcome = alone(&format!("{FIVE}\nconnection = \"new\""));
    assert_eq!(times(&outcome), [ms(1000); 5]);
    assert_eq!(main_flow(&outcome).connections, 5);
}

#[test]
fn transactions_save_the_handshake_once_the_ends_are_acquainted() {
    let keys = format!("{FIVE}\nconnection = \"new\"\ntcp = {{ transactions = true }}");
    assert_eq!(times(&alone(&keys)), [1000, 500, 500, 500, 500].map(ms));
}

#[test]
fn delays_and_pauses_add() {
    let outcome =
        alone(&format!("{FIVE}\nserver-delay = \"30ms\"\nthink = \"2s\"\nstart = \"1s\""));
    assert_eq!(times(&outcome), [1030, 530, 530, 530, 530].map(ms));
    // Four pauses, and nothing behind the last reply.
    assert_eq!(outcome.run.end, ms(1000 + 1030 + 4 * 2530));
    let first = outcome.transfers[0].transfer;
    assert_eq!(first.first_byte, first.completed);
}

#[test]
fn a_reply_of_two_windows_takes_another_round_trip() {
    // Ten segments first (RFC 6928), then the rest, whose last acknowledgment nobody awaits.
    let outcome = alone("workload = \"request-response\"\nreply = \"25KB\"\nrequests = 1");
    assert_eq!(times(&outcome), [ms(1500)]);
    let transfer = outcome.transfers[0].transfer;
    assert_eq!(transfer.first_byte, Some(Instant::from_millis(1000)));
    assert_eq!(main_flow(&outcome).goodput, 25_000.0 * 8.0 / 1.5);
}

#[test]
fn random_sizes_are_those_of_the_seed() {
    let keys = "workload = \"request-response\"\nreply = { lognormal = \"20KB\", sigma = 1.0 }\n\
                requests = 20\nthink = { exponential = \"1s\" }";
    let outcome = alone(keys);
    assert_eq!(outcome, alone(keys));
    let bytes: Vec<u64> = outcome.transfers.iter().map(|row| row.transfer.bytes).collect();
    assert!(bytes.windows(2).all(|pair| pair[0] != pair[1]), "{bytes:?}");
    assert_eq!(main_flow(&outcome).counts.delivered, bytes.iter().sum::<u64>());
}

#[test]
fn an_echo_takes_a_round_trip_behind_the_key() {
    let outcome = alone("workload = \"telnet\"\nbetween = \"2s\"\nstop = \"21s\"");
    assert_eq!(times(&outcome), [ms(500); 10]);
    let flow = main_flow(&outcome);
    assert_eq!((flow.counts.delivered, flow.connections), (10, 1));
}

#[test]
fn without_echoes_a_key_takes_half_of_it() {
    let outcome = alone("workload = \"telnet\"\nbetween = \"2s\"\necho = \"0B\"\nstop = \"21s\"");
    assert_eq!(times(&outcome), [ms(250); 10]);
    assert_eq!(main_flow(&outcome).counts.delivered, 0);
}

#[test]
fn a_connection_that_stays_open_keeps_its_window() {
    // Twelve segments: two flights at first, and one ever after.
    let keys = "workload = \"request-response\"\nreply = \"16375B\"\nrequests = 4";
    assert_eq!(times(&alone(keys)), [1500, 500, 500, 500].map(ms));
}

#[test]
fn without_handshakes_all_comes_a_round_trip_sooner() {
    let prearranged = "tcp = \"ns-1997\"";
    let outcome = alone(&format!("{FIVE}\nconnection = \"new\"\n{prearranged}"));
    assert_eq!(times(&outcome), [ms(500); 5]);
    // A download's client has nothing to say: the data come by themselves.
    let outcome = alone(&format!("bytes = \"1000B\"\nopened-by = \"to\"\n{prearranged}"));
    assert_eq!(times(&outcome), [ms(250)]);
}
