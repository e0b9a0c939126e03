//! `bentpipe link` with queues that keep delays short: they drop before they are full.

use std::time::Duration;

use crate::probe::Emulated;

pub(crate) const CASES: &[(&str, fn())] = &[("emulated_queues_drop_before_they_are_full", queues)];

/// A burst that takes a line of 1 Mbit/s four seconds. By then those queues that look at how long
/// packets wait have dropped some; one without a limit has not, and none of them is full. (PIE
/// drops as packets come, over time: `measured`.)
fn queues() {
    for (queue, drops) in [
        ("unlimited", false),
        ("codel:target=5ms,interval=20ms,limit=1000packets", true),
        ("fq-codel:target=5ms,interval=20ms", true),
    ] {
        let mut emulated = Emulated::new();
        emulated.link(&["--down", &format!("rate=1Mbit/s,delay=5ms,queue={queue}")]);
        let arrived = emulated.send(true, 400, 1222, Duration::ZERO).len();
        let summary = emulated.end();
        let dropped = summary["directions"][0]["dropped"]["packets"].as_u64().expect("a count");
        println!("{queue}: {dropped} dropped, {arrived} arrived");
        assert_eq!(dropped > 0, drops, "{queue}: {summary}");
        // The kernel has packets of its own now and then, which may be dropped, too.
        let missing = 400 - arrived as u64;
        assert!((missing..missing + 5).contains(&dropped), "{queue}: {arrived}, {summary}");
    }
}
