use super::clients::LONGEST;
use super::*;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Twenty clients that were waited for one after the other would take twice as long, and a machine
/// that many share takes less.
const NOT_IN_TURN: Duration = Duration::from_secs(10 * PATIENCE.as_secs());

/// A server on a free port of the loopback, whose `n`th answer is n.
fn counting() -> (Server, SocketAddr) {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut count = 0;
    let server = Server::metrics(address, move || {
        count += 1;
        Some(format!("bentpipe_answers_total {count}\n"))
    });
    (server.unwrap(), address)
}

fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(request).unwrap();
    let mut answer = String::new();
    // A client that was cut off may be reset.
    let _ = client.read_to_string(&mut answer);
    answer
}

#[test]
fn a_scraper_gets_its_metrics() {
    let (_server, address) = counting();
    let answer = exchange(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    assert_eq!(body, "bentpipe_answers_total 1\n");
}

#[test]
fn what_is_no_request_for_metrics_is_told_so() {
    let (_server, address) = counting();
    for (request, status) in [
        ("GET / HTTP/1.0\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.0\r\n\r\n", "501"),
        ("nonsense\r\n\r\n", "400"),
    ] {
        let answer = exchange(address, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.0 {status} ")), "{request:?}: {answer}");
    }
    // None of them has cost the loop an answer.
    assert!(exchange(address, b"GET /metrics HTTP/1.0\r\n\r\n").ends_with("_total 1\n"));
}

#[test]
fn a_request_without_end_is_cut_off_and_the_next_client_served() {
    let (_server, address) = counting();
    assert_eq!(exchange(address, &[b'x'; 2 * LONGEST]), "");
    let half = TcpStream::connect(address).unwrap();
    (&half).write_all(b"GET /metr").unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert!(exchange(address, b"GET /metrics HTTP/1.0\r\n\r\n").ends_with("_total 1\n"));
}

#[test]
fn idle_and_slow_clients_hold_nobody_up() {
    for idle in [20, 200] {
        let (_server, address) = counting();
        let clients: Vec<TcpStream> = (0..idle)
            .map(|i| {
                let client = TcpStream::connect(address).unwrap();
                // Every other one begins, and goes no further.
                if i % 2 == 0 {
                    (&client).write_all(b"GET /metr").unwrap();
                }
                client
            })
            .collect();
        for answer in 1..=3 {
            let began = Instant::now();
            let text = exchange(address, b"GET /metrics HTTP/1.0\r\n\r\n");
            assert!(text.ends_with(&format!("_total {answer}\n")), "{text}");
            let took = began.elapsed();
            assert!(took < NOT_IN_TURN, "behind {idle} clients: {took:?}");
        }
        drop(clients);
    }
}

#[test]
fn a_silent_client_is_sent_away_in_the_end() {
    let (_server, address) = counting();
    let mut silent = TcpStream::connect(address).unwrap();
    silent.set_read_timeout(Some(PATIENCE + Duration::from_secs(30))).unwrap();
    // To its end, as other tests' signals may interrupt a read.
    assert_eq!(silent.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn answers_that_nobody_reads_hold_nobody_up() {
    let (_place, dir) = names();
    let long = vec![b'.'; 4 << 20];
    let _server = Server::for_operators_in(&dir, NAME, move |_| Some(long.clone())).unwrap();
    let path = dir.file(NAME, "sock").unwrap();
    let lazy: Vec<UnixStream> = (0..20)
        .map(|_| {
            let mut client = UnixStream::connect(&path).unwrap();
            client.write_all(b"flows\n").unwrap();
            client
        })
        .collect();
    let began = Instant::now();
    let answer = ask_in(&dir, NAME, "test gateway", "flows").unwrap();
    assert_eq!(answer.map(|bytes| bytes.len()), Some(4 << 20));
    assert!(began.elapsed() < NOT_IN_TURN, "{:?}", began.elapsed());
    drop(lazy);
}

#[test]
fn only_the_loopback_is_served() {
    for address in ["0.0.0.0:0", "192.0.2.1:9464", "[::]:0"] {
        let error = Server::metrics(address.parse().unwrap(), || None).unwrap_err().to_string();
        assert!(error.contains("not a loopback address"), "{error}");
    }
}

const NAME: &str = "bentpipe test server";

/// A directory for names, and its place, which goes when it is dropped.
fn names() -> (tempfile::TempDir, RuntimeDir) {
    let place = tempfile::tempdir().unwrap();
    let dir = RuntimeDir::create_in(place.path()).unwrap();
    (place, dir)
}

#[test]
fn a_name_answers_until_its_server_is_dropped() {
    let (place, dir) = names();
    let ask = |question| ask_in(&dir, NAME, "test gateway", question);
    assert_eq!(ask("flows").unwrap(), None);
    let long = vec![b'.'; 1 << 20];
    let serve = || {
        let long = long.clone();
        Server::for_operators_in(&dir, NAME, move |line| (line == "flows").then(|| long.clone()))
    };
    let server = serve().unwrap();
    // Far more than a socket holds.
    assert_eq!(ask("flows").unwrap(), Some(long.clone()));
    let refused = ask("anything else").unwrap_err();
    assert!(matches!(refused, ClientError::Refused(_)), "{refused}");
    // A second one does not take the name away.
    let second = serve().unwrap_err().to_string();
    assert!(second.contains("already runs in this network namespace"), "{second}");
    assert!(ask("flows").unwrap().is_some());
    drop(server);
    assert_eq!(ask("flows").unwrap(), None);
    assert_eq!(fs::read_dir(place.path().join("bentpipe")).unwrap().count(), 0);
}

#[test]
fn a_socket_that_a_killed_server_has_left_is_replaced() {
    let (_place, dir) = names();
    drop(UnixListener::bind(dir.file(NAME, "sock").unwrap()).unwrap());
    assert_eq!(ask_in(&dir, NAME, "test gateway", "x").unwrap(), None);
    let _server = Server::for_operators_in(&dir, NAME, |_| Some(b"y".to_vec())).unwrap();
    assert_eq!(ask_in(&dir, NAME, "test gateway", "x").unwrap(), Some(b"y".to_vec()));
}
