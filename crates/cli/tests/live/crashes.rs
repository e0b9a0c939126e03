//! Gateways that get kill -9 with bytes that they have acknowledged, and are started again within three
//! seconds: both hosts of a connection that misses some are told, and do not wait for a time-out.

use std::io::{ErrorKind, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_net::testbed::{Place, Plan};

use crate::observation::ask;
use crate::pair::{pairs, part, talk};
use crate::stage::{Ends, FAMILIES, build, fast_link, gateways_wanted, start_gateways};
use crate::toolbox::{End, accept, content, read_through};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("uploads_into_a_killed_gateway_end_in_resets", || cut(Place::Near)),
    ("downloads_into_a_killed_gateway_end_in_resets", || cut(Place::Far)),
];

/// Connections for each family.
const COUNT: usize = 4;
/// What each transfers: more than the link carries before the gateway is killed.
const SIZE: usize = 12_000_000;
/// What systemd's `Restart=always` and a start take, together.
const RESTART: Duration = Duration::from_millis(2_500);
/// Linux's hosts are told within 27 s, by their seventh repetition; on a busy machine by the eighth.
const TOLD_WITHIN: Duration = Duration::from_secs(75);

/// Transfers that begin next to the gateway at `place`, which is killed.
fn cut(place: Place) {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(Plan { link: Some(fast_link()), ..Plan::default() });
    start_gateways(&mut testbed);
    let mut gateway = testbed.take_gateway(place).expect("a gateway");
    let testbed = Arc::new(testbed);
    let idle = pairs(&testbed, 2);
    idle.iter().for_each(|pair| talk(pair, 5_000));
    let sent = content(20, SIZE);
    thread::scope(|scope| {
        let transfers: Vec<_> = FAMILIES
            .into_iter()
            .flat_map(|family| (0..COUNT).map(move |_| family))
            .map(|family| {
                let ends = Ends::of(&testbed, family);
                let (listener, address) = ends.listen();
                let client = ends.connect(address);
                let server = accept(&listener);
                let (from, to) =
                    if place == Place::Near { (client, server) } else { (server, client) };
                let sent = &sent;
                let writer = scope.spawn(move || (written(from, sent), Instant::now()));
                let reader =
                    scope.spawn(move || (read_through(sent, &to, TOLD_WITHIN), Instant::now()));
                (writer, reader)
            })
            .collect();
        thread::sleep(Duration::from_millis(1_500));
        gateway.kill();
        let killed = Instant::now();
        thread::sleep(RESTART);
        let again = testbed.run_gateway(place).expect("the gateway again");
        let mut told = 0;
        for (writer, reader) in transfers {
            let (error, writer_at) = writer.join().expect("a writer");
            let (end, reader_at) = reader.join().expect("a reader");
            let took = [writer_at, reader_at].map(|at| at.saturating_duration_since(killed));
            println!(
                "{place:?}: the writer ends with {error:?}, the reader with {end:?}: {took:?}"
            );
            assert_ne!(end, End::Whole);
            let reset = matches!(end, End::Cut(ErrorKind::ConnectionReset, _));
            told += usize::from(reset && error == Some(ErrorKind::ConnectionReset));
        }
        // One that had just been told to wait until its window opens asks for that in vain.
        assert!(told >= COUNT, "{told} of {}: {}", 2 * COUNT, again.stderr());
        let status = ask(testbed.gateway_at(place).1, "status");
        assert!(status["totals"]["forwarded_resets"].as_u64() >= Some(told as u64), "{status}");
        // Nothing of these was in the gateway.
        idle.iter().for_each(|pair| talk(pair, 100_000));
    });
    idle.into_iter().for_each(part);
}

/// How writing ends.
fn written(mut stream: TcpStream, bytes: &[u8]) -> Option<ErrorKind> {
    stream.set_write_timeout(Some(TOLD_WITHIN)).expect("timeout");
    stream.write_all(bytes).err().map(|error| error.kind())
}
