//! A slow end loses nothing: what a gateway has acknowledged, it keeps until it is taken.

use std::thread;
use std::time::Duration;

use socket2::Socket;

use crate::Case;
use crate::stage::StageEnds;
use crate::toolbox::{accept, assert_same, content, receive_slowly, send};

pub(crate) const CASES: &[Case] =
    &[("slow_reader_20_of_20", slow_reader), ("slow_sink_20_of_20", slow_sink)];

const TIMES: u64 = 20;
const SIZE: usize = 1_000_000;
const CHUNK: usize = 16_384;
const PAUSE: Duration = Duration::from_millis(20);

/// A window so small that the bytes must wait elsewhere.
fn small_buffer(socket: &Socket) {
    socket.set_recv_buffer_size(8_192).expect("buffer");
}

/// The server has long closed when the client begins to read.
fn slow_reader(ends: &StageEnds) {
    thread::scope(|scope| {
        for i in 0..TIMES {
            scope.spawn(move || {
                let sent = content(i, SIZE);
                let (listener, address) = ends.listen();
                let received = thread::scope(|scope| {
                    scope.spawn(|| send(&accept(&listener), &sent));
                    let client = ends.try_connect(address, small_buffer).expect("connect");
                    receive_slowly(&client, CHUNK, PAUSE)
                });
                assert_same(&format!("slow reader {i}"), &sent, &received);
            });
        }
    });
}

/// The client has long closed when the server begins to read.
fn slow_sink(ends: &StageEnds) {
    thread::scope(|scope| {
        for i in 0..TIMES {
            scope.spawn(move || {
                let sent = content(i, SIZE);
                let (listener, address) = ends.listen_with(small_buffer);
                let received = thread::scope(|scope| {
                    scope.spawn(|| send(&ends.connect(address), &sent));
                    receive_slowly(&accept(&listener), CHUNK, PAUSE)
                });
                assert_same(&format!("slow sink {i}"), &sent, &received);
            });
        }
    });
}
