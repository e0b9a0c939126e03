//! Kernel to kernel, in network namespaces, through the live emulator.

use super::outcome::Sample;
use super::{Case, FILE};
use bentpipe_testbed::five_hosts::{Programs, Testbed, TestbedConfig};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

/// A transfer that stands still for so long has failed.
const PATIENCE: Duration = Duration::from_secs(120);
const PORT: u16 = 7000;

/// CUBIC's HyStart switched off, for the whole machine, until dropped.
pub(crate) struct HystartOff {
    before: Option<String>,
}

impl HystartOff {
    const PARAMETER: &'static str = "/sys/module/tcp_cubic/parameters/hystart";

    pub(crate) fn new() -> HystartOff {
        let before = fs::read_to_string(Self::PARAMETER).ok();
        if let Err(error) = fs::write(Self::PARAMETER, "0") {
            println!("cannot switch HyStart off, CUBIC will differ: {error}");
        }
        HystartOff { before }
    }
}

impl Drop for HystartOff {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = fs::write(Self::PARAMETER, before);
        }
    }
}

/// Sends the file from H1 to H2.
pub(crate) fn transfer(case: Case, run: u64) -> Sample {
    let plan =
        TestbedConfig { link: Some(case.link()), seed: 1 + 2 * run, ..TestbedConfig::default() };
    let programs = Programs { bentpipe: env!("CARGO_BIN_EXE_bentpipe").into(), gateway: None };
    let testbed = Testbed::build(programs, plan).expect("testbed");
    let address = SocketAddr::new(Testbed::H2_V4, PORT);
    let listener =
        testbed.h2.run(|| TcpListener::bind(address).expect("listen")).expect("namespace");
    let sender = testbed
        .h1
        .run(|| Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).expect("socket"))
        .expect("namespace");
    let retransmitted = || testbed.h1.run(retransmitted_segments).expect("namespace");
    let before = retransmitted();
    let began = Instant::now();
    let tenths = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("accept");
            stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
            let (mut tenths, mut got) = ([0.0; 10], 0);
            let mut buffer = vec![0; 1 << 16];
            loop {
                let count = stream.read(&mut buffer).expect("read");
                if count == 0 {
                    break;
                }
                got += count as u64;
                let now = began.elapsed().as_secs_f64();
                for (i, tenth) in tenths.iter_mut().enumerate() {
                    if *tenth == 0.0 && got * 10 >= FILE * (i as u64 + 1) {
                        *tenth = now;
                    }
                }
            }
            assert_eq!(got, FILE, "the whole file");
            tenths
        });
        sender.connect(&address.into()).expect("connect");
        // Not before: connecting sets what the testbed's route says.
        sender.set_tcp_congestion(case.control.name().as_bytes()).expect("congestion control");
        let in_use = sender.tcp_congestion().expect("congestion control");
        assert!(in_use.starts_with(case.control.name().as_bytes()), "the kernel uses another one");
        let mut stream = std::net::TcpStream::from(sender);
        stream.set_write_timeout(Some(PATIENCE)).expect("timeout");
        let chunk = vec![7; 1 << 16];
        let mut left = FILE as usize;
        while left > 0 {
            left -= stream.write(&chunk[..left.min(chunk.len())]).expect("write");
        }
        stream.shutdown(std::net::Shutdown::Write).expect("shutdown");
        let tenths = receiver.join().expect("receiver");
        drop(stream);
        tenths
    });
    Sample { seconds: tenths[9], retransmissions: retransmitted() - before, tenths }
}

/// RetransSegs of this thread's network namespace (RFC 4022).
fn retransmitted_segments() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/snmp").expect("/proc");
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let mut columns = names.split(' ').zip(values.split(' '));
    let (_, value) = columns.find(|(name, _)| *name == "RetransSegs").expect("RetransSegs");
    value.parse().expect("a number")
}
