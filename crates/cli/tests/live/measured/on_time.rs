//! A machine whose processors are taken away now and then costs a transfer next to no time: link
//! and gateways are stopped for 20 ms at random in each 200 ms, one of them in turn.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_testbed::five_hosts::{GatewayPosition, Testbed, TestbedConfig};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::stage::{Family, StageEnds, build, gateways_wanted, geo_link, start_gateways};
use crate::toolbox::{accept, assert_same, content, finish, receive_to_end, send};

pub(crate) const CASES: &[(&str, fn())] = &[("halts_cost_no_rate", halts)];

/// 10 s of the link.
const SIZE: usize = 10_000_000;
const EVERY: Duration = Duration::from_millis(200);
const HALT: Duration = Duration::from_millis(20);

/// Who is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Halted {
    Nobody,
    Link,
    Gateway(GatewayPosition),
}

/// Four transfers at a time, which hardly compute. What else the machine does slows them all down.
fn halts() {
    if !gateways_wanted() {
        return;
    }
    let all = [
        Halted::Nobody,
        Halted::Link,
        Halted::Gateway(GatewayPosition::Near),
        Halted::Gateway(GatewayPosition::Far),
    ];
    let mut last = String::new();
    for _ in 0..4 {
        let took = thread::scope(|scope| {
            let runs = all.map(|halted| scope.spawn(move || transfer(halted)));
            runs.map(|run| run.join().expect("a transfer").as_secs_f64())
        });
        let ratios = took.map(|seconds| seconds / took[0]);
        last = format!("{all:?}: {took:.2?} s, {ratios:.3?} of the first");
        println!("{last}");
        // Without making up for it a halted sender takes 1.055 to 1.078 times as long.
        if ratios.iter().all(|ratio| *ratio < 1.05) {
            return;
        }
    }
    panic!("{last}");
}

/// How long a download takes while `halted` is stopped again and again.
fn transfer(halted: Halted) -> Duration {
    let mut testbed = build(TestbedConfig { link: Some(geo_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let process = match halted {
        Halted::Nobody => None,
        Halted::Link => testbed.emulator(),
        Halted::Gateway(position) => testbed.gateway(position),
    };
    let pid = process.map(|process| Pid::from_raw(process.id().cast_signed()));
    let (testbed, stop) = (Arc::new(testbed), AtomicBool::new(false));
    let over = &stop;
    thread::scope(|scope| {
        if let Some(pid) = pid {
            scope.spawn(move || halt(pid, over));
        }
        let took = download(&testbed);
        over.store(true, Ordering::Relaxed);
        took
    })
}

fn download(testbed: &Arc<Testbed>) -> Duration {
    let ends = StageEnds::of(testbed, Family::V4);
    let (listener, server) = ends.listen();
    let bytes = content(3, SIZE);
    thread::scope(|scope| {
        scope.spawn(|| {
            let stream: TcpStream = accept(&listener);
            send(&stream, &bytes);
            finish(&stream);
        });
        let begin = Instant::now();
        let received = receive_to_end(&ends.connect(server));
        let took = begin.elapsed();
        assert_same("a download", &bytes, &received);
        took
    })
}

/// Stops the process for a while at a random moment of each period. It goes on at the end.
fn halt(pid: Pid, over: &AtomicBool) {
    let mut random = Pcg64Mcg::seed_from_u64(16);
    while !over.load(Ordering::Relaxed) {
        let before = (EVERY - HALT).mul_f64(random.random::<f64>());
        thread::sleep(before);
        let _ = kill(pid, Signal::SIGSTOP);
        thread::sleep(HALT);
        let _ = kill(pid, Signal::SIGCONT);
        thread::sleep(EVERY - HALT - before);
    }
}
