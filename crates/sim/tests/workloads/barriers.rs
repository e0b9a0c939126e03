//! All connect first, then all send at once.

use super::{flow, ms, scenario, times};
use crate::support::{brief, played};
use bentpipe_sim::run;

#[test]
fn transfers_begin_when_the_last_is_connected() {
    // Four flows, of which one opens its connection two seconds later than the others.
    let late = "[flow.late]\nfrom = \"server\"\nto = \"client\"\nbytes = \"1KB\"\nbarrier = \"all\"\nstart = \"2s\"";
    for opened_by in ["from", "to"] {
        let keys =
            format!("bytes = \"1KB\"\nbarrier = \"all\"\ncount = 3\nopened-by = \"{opened_by}\"");
        let outcome = played(&scenario("", &format!("{}{late}", flow(&keys))));
        let started: Vec<_> = outcome.transfers.iter().map(|row| row.transfer.started).collect();
        // A handshake of one round trip, seen at the sender: half a one more where the receiver
        // calls, but those have called before.
        assert!(started.iter().all(|at| at.as_nanos() == 2_500_000_000), "{started:?}");
        // What is sent is there after half a round trip.
        assert_eq!(times(&outcome), [ms(250); 4], "{}", brief(&outcome));
    }
}

#[test]
fn each_run_has_an_order_of_its_own() {
    // A segment each, over a link that carries them one behind the other: who begins first ends
    // first.
    let scenario =
        scenario("rate = \"1Mbit/s\"", &flow("bytes = \"1KB\"\nbarrier = \"all\"\ncount = 4"));
    let order = |number| {
        let mut transfers = run(&scenario, number, |_| true).expect("it is not given up").transfers;
        transfers.sort_by_key(|row| row.transfer.completed);
        assert!(
            transfers.windows(2).all(|two| two[0].transfer.completed < two[1].transfer.completed)
        );
        transfers.into_iter().map(|row| row.flow).collect::<Vec<String>>()
    };
    assert_eq!(order(3), order(3));
    let mut firsts: Vec<String> = (0..20).map(|number| order(number).swap_remove(0)).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts, ["main.1", "main.2", "main.3", "main.4"]);
}

#[test]
fn who_cannot_connect_is_not_waited_for() {
    // The other host is behind a link that is down.
    let rest = format!(
        "{}[host.far]\n[router.r]\n[link.r]\nbetween = [\"r\", \"client\"]\n\
         [link.far]\nbetween = [\"far\", \"r\"]\noutages = [{{ at = \"0s\", lasting = \"1h\" }}]\n\
         [flow.lost]\nfrom = \"far\"\nto = \"client\"\nbytes = \"1KB\"\nbarrier = \"all\"\nstop = \"10s\"",
        flow("bytes = \"1KB\"\nbarrier = \"all\"")
    );
    let outcome = played(&scenario("", &rest));
    assert_eq!(times(&outcome), [ms(250)]);
    assert_eq!(outcome.transfers[0].transfer.started.as_nanos(), 10_000_000_000);
}

#[test]
fn who_never_starts_is_not_waited_for() {
    let never = "[flow.never]\nfrom = \"server\"\nto = \"client\"\nbytes = \"1KB\"\nbarrier = \"all\"\nstart = \"2s\"\nstop = \"1s\"";
    let outcome =
        played(&scenario("", &format!("{}{never}", flow("bytes = \"1KB\"\nbarrier = \"all\""))));
    assert_eq!(times(&outcome), [ms(250)]);
}
