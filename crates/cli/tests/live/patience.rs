//! Readers that take minutes, long after the other end has closed and forgotten the connection.

use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_testbed::five_hosts::{BOTH, Testbed, TestbedConfig};
use socket2::Socket;

use crate::observation::ask;
use crate::stage::{FAMILIES, StageEnds, build, fast_link, gateways_wanted, start_gateways};
use crate::toolbox::{accept, assert_same, content, receive, receive_to_end, send};

pub(crate) const CASES: &[(&str, fn())] =
    &[("reader_drains_for_five_minutes", reader_drains_for_five_minutes)];

/// How long it takes at least to read it all.
const DRAIN: Duration = Duration::from_secs(300);
/// What is sent: it fits the sender's buffer, so that the sender can close at once.
const SIZE: usize = 300_000;
const CHUNK: usize = 1_000;
/// Of the sender, as asked for: the kernel doubles it.
const SEND_BUFFER: usize = 200_000;
/// Of the reader: what it has not read must wait elsewhere.
const RECEIVE_BUFFER: usize = 8_192;

/// A download and an upload in each family, through gateways and, at the same time, through plain
/// routers: the same bytes to the same clean end.
fn reader_drains_for_five_minutes() {
    let plain =
        Arc::new(build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() }));
    let mut split = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    start_gateways(&mut split);
    let split = Arc::new(split);
    thread::scope(|scope| {
        for testbed in [&plain, &split] {
            for family in FAMILIES {
                scope.spawn(move || drain(&StageEnds::of(testbed, family), Direction::Down));
                scope.spawn(move || drain(&StageEnds::of(testbed, family), Direction::Up));
            }
        }
    });
    if gateways_wanted() {
        nothing_was_lost(&split);
    }
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Down,
    Up,
}

fn drain(ends: &StageEnds, direction: Direction) {
    let hoards = |socket: &Socket| {
        socket.set_send_buffer_size(SEND_BUFFER).expect("buffer");
    };
    let has_little_room = |socket: &Socket| {
        socket.set_recv_buffer_size(RECEIVE_BUFFER).expect("buffer");
    };
    let (sender, reader): (TcpStream, TcpStream) = match direction {
        Direction::Down => {
            let (listener, address) = ends.listen_with(hoards);
            let reader = ends.try_connect(address, has_little_room).expect("connect");
            (accept(&listener), reader)
        }
        Direction::Up => {
            let (listener, address) = ends.listen_with(has_little_room);
            let sender = ends.try_connect(address, hoards).expect("connect");
            (sender, accept(&listener))
        }
    };
    let sent = content(31, SIZE);
    // It can close at once, before anything is read.
    send(&sender, &sent);
    drop(sender);

    let pause = DRAIN / (SIZE / CHUNK) as u32;
    for (i, expected) in sent.chunks(CHUNK).enumerate() {
        thread::sleep(pause);
        assert_same(
            &format!("{direction:?}, chunk {i}"),
            expected,
            &receive(&reader, expected.len()),
        );
    }
    assert_same("behind the last byte", &[], &receive_to_end(&reader));
}

/// No flow was reset with bytes in it.
fn nothing_was_lost(testbed: &Testbed) {
    for place in BOTH {
        let (name, namespace) = testbed.gateway_at(place);
        let status = ask(namespace, "status");
        let totals = &status["totals"];
        assert_eq!(
            [&totals["split"], &totals["lost_bytes"]],
            [2 * FAMILIES.len(), 0],
            "{name}: {status}"
        );
    }
}
