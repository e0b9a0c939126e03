//! Many connections at the same time: opened, all of them open, used and closed.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{BOTH, Testbed, TestbedConfig};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::Value;

use crate::observation::ask;
use crate::stage::{FAMILIES, StageEnds, build, fast_link, gateways_wanted, start_gateways};
use crate::toolbox::{
    PATIENCE, accept, assert_same, content, finish, receive, receive_to_end, send, wait_longer,
    wait_until,
};

pub(crate) const CASES: &[(&str, fn())] =
    &[("two_thousand_connections_at_once", two_thousand_connections)];

/// Connections of both families together.
const CONNECTIONS: usize = 2_000;
/// Threads at either end; each takes an equal part, all of one family.
const THREADS: usize = 100;
const EACH: usize = CONNECTIONS / THREADS;
/// A request: its connection's number.
const REQUEST: usize = 8;
/// What a gateway says that the machine has held up for so long that it released its flows.
const HUNG: &str = "hung for a while";
/// A gateway's TIME-WAIT.
const TIME_WAIT: Duration = Duration::from_secs(15);

/// How much larger than at its start a gateway may stay, in bytes.
const KEPT: usize = 16 << 20;

/// How much memory a process has, in bytes (proc_pid_statm(5)).
fn resident(process: u32) -> usize {
    let statm = fs::read_to_string(format!("/proc/{process}/statm")).expect("a process");
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("pages");
    pages * 4096
}

/// Two thousand connections, first through plain routers, then through two gateways.
fn two_thousand_connections() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("limit of open files");
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("limit of open files");
    let mut testbed =
        Arc::new(build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() }));
    crowd(&testbed, || ());
    if !gateways_wanted() {
        return;
    }
    let owned = Arc::get_mut(&mut testbed).expect("the only holder");
    start_gateways(owned);
    let gateways = BOTH.map(|place| owned.take_gateway(place).expect("a gateway"));
    let at_first = gateways.each_ref().map(|gateway| resident(gateway.id()));
    let open = crowd(&testbed, || {
        BOTH.map(|place| {
            let (name, namespace) = testbed.gateway_at(place);
            wait_until_open(name, namespace, &gateways[place as usize])
        })
    });
    for (((place, gateway), open), at_first) in
        BOTH.into_iter().zip(gateways).zip(open).zip(at_first)
    {
        let (name, namespace) = testbed.gateway_at(place);
        wait_until_forgotten(name, namespace);
        wait_until(&format!("{name} gives its memory back"), || {
            let kept = resident(gateway.id()).saturating_sub(at_first);
            if kept <= KEPT { Ok(()) } else { Err(format!("{kept} bytes more than at first")) }
        });
        let status = ask(namespace, "status");
        let totals = &status["totals"];
        assert_eq!([&totals["reset"], &totals["lost_bytes"]], [0, 0], "{name}: {status}");
        assert_eq!(status["held_bytes"], 0, "{name}: {status}");
        // On a machine that has no time for it, a gateway hands its flows back, as it should.
        if !gateway.stderr().contains(HUNG) {
            assert_eq!(open, CONNECTIONS as u64, "open in {name}");
            let counts = [&totals["split"], &totals["closed"]];
            assert_eq!(counts, [CONNECTIONS; 2], "{name}: {status}");
        }
    }
}

/// The number of open flows, once every connection is one, or the gateway has been held up and has
/// released some.
fn wait_until_open(name: &str, gateway: &Namespace, process: &Process) -> u64 {
    wait_longer(Duration::ZERO, "all are open", || {
        let open = ask(gateway, "status")["flows"]["open"].as_u64().expect("a count");
        match open == CONNECTIONS as u64 || process.stderr().contains(HUNG) {
            true => Ok(open),
            false => Err(format!("{open} in {name}")),
        }
    })
}

fn wait_until_forgotten(name: &str, gateway: &Namespace) {
    wait_longer(TIME_WAIT, "all flows are forgotten", || {
        let flows = ask(gateway, "status")["flows"].take();
        let counts = flows.as_object().expect("counts by state").values();
        let left: u64 = counts.filter_map(Value::as_u64).sum();
        if left == 0 { Ok(()) } else { Err(format!("left in {name}: {flows}")) }
    });
}

/// Opens all connections, does `when_open`, uses and closes them.
fn crowd<T>(testbed: &Arc<Testbed>, when_open: impl FnOnce() -> T) -> T {
    let servers = FAMILIES.map(|family| {
        let ends = StageEnds::of(testbed, family);
        let (listener, address) = ends.listen();
        (ends, listener, address)
    });
    let phase = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for part in 0..THREADS {
            let (ends, listener, address) = &servers[part % servers.len()];
            scope.spawn(|| serve(listener));
            let phase = &phase;
            scope.spawn(move || ask_all(ends, *address, part, phase));
        }
        phase.wait();
        let seen = when_open();
        phase.wait();
        seen
    })
}

/// The clients of one thread: all are connected before any says anything, and all have said it
/// before any reads.
fn ask_all(ends: &StageEnds, address: SocketAddr, part: usize, phase: &Barrier) {
    let clients: Vec<TcpStream> = (0..EACH).map(|_| ends.connect(address)).collect();
    phase.wait();
    phase.wait();
    let number = |i: usize| (part * EACH + i) as u64;
    for (i, client) in clients.iter().enumerate() {
        send(client, &number(i).to_be_bytes());
    }
    for (i, client) in clients.into_iter().enumerate() {
        let reply = reply_to(number(i));
        let what = format!("reply {}", number(i));
        if client_closes_first(number(i)) {
            assert_same(&what, &reply, &receive(&client, reply.len()));
            finish(&client);
            assert!(receive_to_end(&client).is_empty(), "{what}: more than the reply");
        } else {
            assert_same(&what, &reply, &receive_to_end(&client));
        }
    }
}

/// As many connections as one thread of clients opens, though perhaps not the same. All have their
/// replies before it waits for the end of any.
fn serve(listener: &TcpListener) {
    let servers: Vec<TcpStream> = (0..EACH).map(|_| accept(listener)).collect();
    let mut others_close = Vec::new();
    for server in servers {
        // Nobody says anything before all are connected, which has all its patience by itself.
        server.set_read_timeout(Some(3 * PATIENCE)).expect("timeout");
        let request = receive(&server, REQUEST).try_into().expect("its length");
        let number = u64::from_be_bytes(request);
        send(&server, &reply_to(number));
        if client_closes_first(number) {
            others_close.push(server);
        }
    }
    for server in others_close {
        assert!(receive_to_end(&server).is_empty(), "more than the request");
    }
}

/// A few KB, of another length for each connection.
fn reply_to(number: u64) -> Vec<u8> {
    content(number, 2_000 + 3 * number as usize)
}

fn client_closes_first(number: u64) -> bool {
    number.is_multiple_of(2)
}
