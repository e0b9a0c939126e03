//! Gateways that get kill -9 with bytes that they have acknowledged, and are started again within
//! three seconds: both hosts of a connection that misses some are told, and do not wait for a
//! time-out.

use std::io::{ErrorKind, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use bentpipe_testbed::five_hosts::{GatewayPosition, Testbed, TestbedConfig};

use crate::observation::ask;
use crate::pair::{pairs, part, talk};
use crate::stage::{FAMILIES, StageEnds, build, fast_link, gateways_wanted, start_gateways};
use crate::toolbox::{End, accept, content, read_through, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("uploads_into_a_killed_gateway_end_in_resets", || cut(GatewayPosition::Near, Read::AtOnce)),
    ("downloads_into_a_killed_gateway_end_in_resets", || cut(GatewayPosition::Far, Read::AtOnce)),
    ("stalled_uploads_into_a_killed_gateway_end_in_resets", || {
        cut(GatewayPosition::Near, Read::Later);
    }),
    ("stalled_downloads_into_a_killed_gateway_end_in_resets", || {
        cut(GatewayPosition::Far, Read::Later);
    }),
];

/// When the readers read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    AtOnce,
    /// Once a new gateway stands there. Until then all buffers are full, and all windows closed:
    /// the writers have nothing to retransmit.
    Later,
}

/// Connections for each family.
const COUNT: usize = 4;
/// What each transfers: more than the link carries before the gateway is killed.
const SIZE: usize = 12_000_000;
/// More than hosts and gateways have room for while nobody reads.
const STALLING_SIZE: usize = 40_000_000;
/// Written at a time.
const WRITE: usize = 16_384;
/// How long nothing is written once nothing more will be.
const STANDSTILL: Duration = Duration::from_millis(700);
/// What systemd's `Restart=always` and a start take, together.
const RESTART: Duration = Duration::from_millis(2_500);
/// Linux's hosts are told within 27 s, by their seventh repetition. Where the writers took long to
/// stand still, the next probe of a closed window comes as much later, and Linux waits for up to
/// two minutes with it.
const TOLD_WITHIN: Duration = Duration::from_secs(300);
/// What a gateway holds at least of a transfer that is under way.
const ENOUGH: u64 = 10_000;

/// Transfers that begin next to the gateway at `position`, which is killed.
fn cut(position: GatewayPosition, read: Read) {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let mut gateway = testbed.take_gateway(position).expect("a gateway");
    let testbed = Arc::new(testbed);
    let idle = pairs(&testbed, 2);
    idle.iter().for_each(|pair| talk(pair, 5_000));
    let (progress, again) = (ReceivedBytes::default(), Barrier::new(2 * COUNT + 1));
    let sent = content(20, if read == Read::AtOnce { SIZE } else { STALLING_SIZE });
    thread::scope(|scope| {
        let transfers: Vec<_> = FAMILIES
            .into_iter()
            .flat_map(|family| (0..COUNT).map(move |_| family))
            .map(|family| {
                let ends = StageEnds::of(&testbed, family);
                let (listener, address) = ends.listen();
                let client = ends.connect(address);
                let server = accept(&listener);
                let (from, to) = if position == GatewayPosition::Near {
                    (client, server)
                } else {
                    (server, client)
                };
                let (sent, progress, again) = (&sent, &progress, &again);
                let writer = scope.spawn(move || written(from, sent, progress));
                let reader = scope.spawn(move || {
                    if read == Read::Later {
                        again.wait();
                    }
                    read_through(sent, &to, TOLD_WITHIN)
                });
                (writer, reader)
            })
            .collect();
        match read {
            Read::AtOnce => await_holding(&testbed, position, 2 * COUNT),
            Read::Later => progress.await_standstill(),
        }
        gateway.kill();
        thread::sleep(RESTART);
        let restarted = testbed.run_gateway(position).expect("the gateway again");
        if read == Read::Later {
            again.wait();
        }
        let mut told = 0;
        for (writer, reader) in transfers {
            let error = writer.join().expect("a writer");
            let end = reader.join().expect("a reader");
            println!("{position:?}: the writer ends with {error:?}, the reader with {end:?}");
            assert_ne!(end, End::Whole);
            let reset = matches!(end, End::Cut(ErrorKind::ConnectionReset, _));
            told += usize::from(reset && error == Some(ErrorKind::ConnectionReset));
        }
        assert!(told >= COUNT, "{told} of {}: {}", 2 * COUNT, restarted.stderr());
        let status = ask(testbed.gateway_at(position).1, "status");
        assert!(status["totals"]["forwarded_resets"].as_u64() >= Some(told as u64), "{status}");
        // Nothing of these was in the gateway.
        idle.iter().for_each(|pair| talk(pair, 100_000));
    });
    idle.into_iter().for_each(part);
}

/// Waits until the gateway holds bytes of so many flows: none of them can end well without it.
fn await_holding(testbed: &Testbed, position: GatewayPosition, count: usize) {
    wait_until("all transfers are under way", || {
        let flows = ask(testbed.gateway_at(position).1, "flows");
        let all = flows.as_array().expect("flows").iter();
        let holding = all.filter(|flow| flow["held_bytes"].as_u64() > Some(ENOUGH)).count();
        if holding >= count { Ok(()) } else { Err(format!("{holding} of {count}: {flows}")) }
    });
}

/// How much all writers have written.
#[derive(Default)]
struct ReceivedBytes(AtomicUsize);

impl ReceivedBytes {
    /// Waits until none of them has written anything for a moment, which comes when a stalled
    /// reader's windows are closed.
    fn await_standstill(&self) {
        let mut before = 0;
        wait_until("the writers stand still", || {
            thread::sleep(STANDSTILL);
            let written = self.0.load(Ordering::Relaxed);
            if written == before && written > 0 {
                return Ok(());
            }
            before = written;
            Err(format!("{written} bytes, and they go on"))
        });
    }
}

/// How writing ends.
fn written(mut stream: TcpStream, bytes: &[u8], progress: &ReceivedBytes) -> Option<ErrorKind> {
    stream.set_write_timeout(Some(TOLD_WITHIN)).expect("timeout");
    for chunk in bytes.chunks(WRITE) {
        if let Err(error) = stream.write_all(chunk) {
            return Some(error.kind());
        }
        progress.0.fetch_add(chunk.len(), Ordering::Relaxed);
    }
    None
}
