//! Connections seen from both ends.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_testbed::five_hosts::Testbed;
use socket2::{SockRef, Socket};

use crate::stage::{FAMILIES, StageEnds};
use crate::toolbox::{
    End, PATIENCE, accept, assert_same, content, finish, read_through, receive, receive_to_end,
    send, send_or_abort,
};

/// Both ends of a connection.
pub(crate) struct Pair {
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
}

impl Pair {
    /// The client's address, and the server's as the client has it.
    pub(crate) fn ends(&self) -> [SocketAddr; 2] {
        [self.client.local_addr(), self.client.peer_addr()].map(|end| end.expect("an address"))
    }
}

/// So many for each family.
pub(crate) fn pairs(testbed: &Arc<Testbed>, count: usize) -> Vec<Pair> {
    pairs_for(testbed, count, PATIENCE)
}

/// The same, whose kernels try for so long to get a segment across (TCP_USER_TIMEOUT).
pub(crate) fn pairs_for(testbed: &Arc<Testbed>, count: usize, user_timeout: Duration) -> Vec<Pair> {
    let families = FAMILIES.into_iter().flat_map(|family| std::iter::repeat_n(family, count));
    families.map(|family| open_for(&StageEnds::of(testbed, family), user_timeout)).collect()
}

/// A connection from H1 to H2, both of whose kernels give up after `user_timeout`.
pub(crate) fn open_for(ends: &StageEnds, user_timeout: Duration) -> Pair {
    let patient = |socket: &Socket| {
        socket.set_tcp_user_timeout(Some(user_timeout)).expect("user timeout");
    };
    let (listener, address) = ends.listen();
    let client = ends.try_connect(address, patient).expect("connect");
    let server = accept(&listener);
    patient(&SockRef::from(&server));
    Pair { client, server }
}

/// A download or an upload, by turns, and how it ended for its reader, who waits for `patience`.
pub(crate) fn transfer(
    i: u64,
    Pair { client, server }: Pair,
    size: usize,
    patience: Duration,
) -> End {
    let (from, to) = if i.is_multiple_of(2) { (server, client) } else { (client, server) };
    let sent = content(i, size);
    from.set_write_timeout(Some(patience)).expect("timeout");
    thread::scope(|scope| {
        scope.spawn(|| send_or_abort(from, &sent));
        read_through(&sent, &to, patience)
    })
}

/// One says something, then the other.
pub(crate) fn talk(Pair { client, server }: &Pair, size: usize) {
    for (seed, from, to) in [(1, client, server), (2, server, client)] {
        let said = content(seed, size);
        thread::scope(|scope| {
            scope.spawn(|| send(from, &said));
            assert_same("what was said", &said, &receive(to, size));
        });
    }
}

/// First the client ends, then the server, in order.
pub(crate) fn part(Pair { client, server }: Pair) {
    finish(&client);
    assert!(receive_to_end(&server).is_empty());
    drop(server);
    assert!(receive_to_end(&client).is_empty());
}
