//! Ends of connections: halves that close alone, and resets.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use crate::Case;
use crate::stage::StageEnds;
use crate::toolbox::{abort, accept, assert_same, content, finish, receive, receive_to_end, send};

pub(crate) const CASES: &[Case] = &[
    ("half_closed_request_gets_its_reply", half_closed_request),
    ("half_closed_server_gets_the_rest", half_closed_server),
    ("reset_by_client_reaches_server", reset_by_client),
    ("reset_by_server_reaches_client", reset_by_server),
    ("reset_among_data_is_no_clean_end", reset_among_data),
];

/// Not where a router drops what connection tracking calls invalid: an answer of the old connection
/// that is still on its way may make the client reset what the router takes for the new one, with
/// gateways and without.
pub(crate) const CASES_WITHOUT_FIREWALL: &[Case] =
    &[("an_aborted_port_is_used_again_at_once", an_aborted_port)];

fn half_closed_request(ends: &StageEnds) {
    let (request, reply) = (content(1, 3_000), content(2, 300_000));
    let (listener, address) = ends.listen();
    thread::scope(|scope| {
        scope.spawn(|| {
            let server = accept(&listener);
            assert_same("request", &request, &receive_to_end(&server));
            thread::sleep(Duration::from_millis(500));
            send(&server, &reply);
        });
        let client = ends.connect(address);
        send(&client, &request);
        finish(&client);
        assert_same("reply", &reply, &receive_to_end(&client));
    });
}

fn half_closed_server(ends: &StageEnds) {
    let (greeting, rest) = (content(3, 2_000), content(4, 300_000));
    let (listener, address) = ends.listen();
    thread::scope(|scope| {
        scope.spawn(|| {
            let client = ends.connect(address);
            assert_same("greeting", &greeting, &receive_to_end(&client));
            thread::sleep(Duration::from_millis(500));
            send(&client, &rest);
        });
        let server = accept(&listener);
        send(&server, &greeting);
        finish(&server);
        assert_same("rest", &rest, &receive_to_end(&server));
    });
}

fn reset_by_client(ends: &StageEnds) {
    let (client, server) = talking_pair(ends);
    abort(client);
    assert_reset(&server);
}

fn reset_by_server(ends: &StageEnds) {
    let (client, server) = talking_pair(ends);
    abort(server);
    assert_reset(&client);
}

/// A reset that overtakes data, or comes amid it, never looks like the end of the data.
fn reset_among_data(ends: &StageEnds) {
    let (client, server) = talking_pair(ends);
    thread::scope(|scope| {
        scope.spawn(|| assert_reset(&client));
        send(&server, &content(5, 500_000));
        abort(server);
    });
}

/// A client resets an upload that its server has stopped reading, and connects from the same port:
/// it does not wait until the gateways give up delivering, which takes a minute each.
fn an_aborted_port(ends: &StageEnds) {
    let (listener, server_address) =
        ends.listen_with(|socket| socket.set_recv_buffer_size(32_768).expect("buffer"));
    let from = |port: u16| {
        let address = SocketAddr::new(ends.family.h1(), port);
        ends.try_connect(server_address, move |socket| {
            socket.set_reuse_address(true).expect("reuse");
            socket.bind(&address.into()).expect("bind");
        })
    };
    let mut client = from(0).expect("connect");
    let port = client.local_addr().expect("an address").port();
    let stalled = accept(&listener);
    client.set_write_timeout(Some(Duration::from_secs(1))).expect("timeout");
    let chunk = content(6, 65_536);
    // Until nothing more goes: all windows are closed.
    while client.write_all(&chunk).is_ok() {}
    abort(client);
    let again = from(port).expect("connect again");
    let server = accept(&listener);
    assert_eq!(server.peer_addr().expect("an address").port(), port);
    send(&again, b"hello");
    assert_eq!(receive(&server, 5), b"hello");
    let mut rest = Vec::new();
    assert!((&stalled).read_to_end(&mut rest).is_err(), "a reset after {} bytes", rest.len());
}

/// Two ends that have exchanged a few bytes.
fn talking_pair(ends: &StageEnds) -> (TcpStream, TcpStream) {
    let (listener, address) = ends.listen();
    let client = ends.connect(address);
    let server = accept(&listener);
    send(&client, b"ping");
    assert_eq!(receive(&server, 4), b"ping");
    send(&server, b"pong");
    assert_eq!(receive(&client, 4), b"pong");
    (client, server)
}

/// Reads what there is, and expects a reset behind it.
fn assert_reset(mut stream: &TcpStream) {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("expected a reset, got: {error}"),
        Ok(_) => panic!("expected a reset, got a clean end after {} bytes", bytes.len()),
    }
}
