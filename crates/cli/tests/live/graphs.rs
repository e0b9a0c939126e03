//! `bentpipe plot` on a capture of two Linux hosts, whose link loses packets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::Testbed;
use nix::sys::signal::Signal;
use serde_json::Value;
use socket2::SockRef;

use crate::probe::Emulated;
use crate::stage::BENTPIPE;
use crate::toolbox::{PATIENCE, await_said, wait_until};

pub(crate) const CASES: &[(&str, fn())] =
    &[("graphs_of_linux_hosts_with_losses_are_drawn_and_explained", losses)];

/// What is sent, in bytes.
const SIZE: usize = 3_000_000;

fn losses() {
    let mut emulated = Emulated::new();
    emulated.link(&["--both", "delay=15ms,queue=100packets", "--down", "rate=8Mbit/s,loss=1%"]);
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("sender.pcap");
    let file = capture.display().to_string();
    let mut dump = emulated.testbed.h1.command("tcpdump");
    dump.args(["--immediate-mode", "-U", "-s", "120", "-i", "any", "-w", &file, "tcp"]);
    let mut dump = Process::start("tcpdump", &mut dump).expect("tcpdump");
    await_said(&dump, "listening on", 1);
    transfer(&emulated.testbed);
    // The last packets are in the file when it is as it was a moment ago.
    let mut before = 0;
    wait_until("the capture is written", || {
        thread::sleep(Duration::from_millis(500));
        let now = std::fs::metadata(&capture).map_or(0, |data| data.len());
        let is_still = now == before && now > 0;
        before = now;
        if is_still { Ok(()) } else { Err(format!("{now} bytes, and growing")) }
    });
    dump.signal(Signal::SIGTERM);
    dump.wait(PATIENCE).expect("it ends");
    let summary = emulated.end();
    assert!(summary["directions"][0]["lost"]["packets"].as_u64() > Some(0), "{summary}");

    let list = plot(&["--list", "--json", &file]);
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    // Some of it was sent twice. (Whether Wireshark's rules call that a retransmission or out of
    // order is a matter of time.)
    assert!(list[0]["bytes"][0].as_u64() > Some(SIZE as u64), "{list}");

    let told = plot(&["--explain", "--json", &file]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let story = &told["connections"][0]["directions"][0];
    assert_eq!(story["recorded"], false);
    let events = story["events"].as_array().expect("events");
    let runs = events.iter().filter(|event| event["event"] == "segments");
    let again = runs.clone().filter(|run| run["again"] == true);
    assert!(again.clone().count() > 0, "{story}");
    // Each of them has a cause, which is inferred, and what triggered it.
    for run in again {
        assert!(run["inferred"] == true && run["cause"].is_string(), "{run}");
        assert!(run["trigger"].is_object(), "{run}");
    }
    let causes: Vec<&str> = runs.filter_map(|run| run["cause"].as_str()).collect();
    let told = |cause: &&str| !["new data", "late", "unknown"].contains(cause);
    assert!(causes.iter().any(told), "{causes:?}");

    for name in ["graph.svg", "graph.html"] {
        let output = folder.path().join(name).display().to_string();
        plot(&[&file, "-o", &output]);
        let text = std::fs::read_to_string(&output).expect("a graph");
        assert!(text.len() > 10_000 && text.contains("retransmi"), "{name}");
    }
}

/// Sends from H1 to H2 until all has come.
pub(crate) fn transfer(testbed: &Testbed) {
    transfer_of(testbed, SIZE, 0, 0);
}

/// Sends so many bytes from H1 to H2 with buffers of these sizes; 0: the system's.
pub(crate) fn transfer_of(testbed: &Testbed, size: usize, receive: usize, send: usize) {
    let any = SocketAddr::new(Testbed::H2_V4, 0);
    let listener = testbed.h2.run(|| TcpListener::bind(any).expect("socket")).expect("namespace");
    if receive > 0 {
        SockRef::from(&listener).set_recv_buffer_size(receive).expect("a buffer");
    }
    let address = listener.local_addr().expect("address");
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("accept");
            stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).expect("read");
            bytes.len()
        });
        let connect = || TcpStream::connect_timeout(&address, PATIENCE).expect("connect");
        let mut stream = testbed.h1.run(connect).expect("namespace");
        if send > 0 {
            // What Nagle's rule keeps back may be added to, whatever the buffer's size.
            stream.set_nodelay(true).expect("an option");
            SockRef::from(&stream).set_send_buffer_size(send).expect("a buffer");
        }
        // At once: the kernel accounts for a full buffer only as it sends the rest of a write.
        stream.write_all(&vec![0x5a; size]).expect("write");
        drop(stream);
        assert_eq!(receiver.join().expect("receiver"), size);
    });
}

fn plot(arguments: &[&str]) -> String {
    let output = Command::new(BENTPIPE).arg("plot").args(arguments).output().expect("start");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}
