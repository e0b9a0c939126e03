//! A foreign program in a gateway's place: a transparent TCP proxy, which is this binary.
//!
//! Connections go through it in the variants that say so, and in no other.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Socket, Type};

use super::Bed;

/// The first argument with which this binary is a proxy; then come its port and its file.
pub(crate) const ASKED: &str = "transparent-proxy";

const BYTES: u64 = 200_000;

const COMPARED: &str = r#"
tcp = "linux"
[run]
duration = "60s"
until = "flows-done"
[host.server]
[host.client]
[gateway.g]
lan-links = "near"
[link.near]
between = ["client", "g"]
rate = "100Mbit/s"
[link.sat]
between = ["g", "server"]
rate = "20Mbit/s"
delay = "20ms"
[flow.download]
from = "server"
to = "client"
bytes = "200KB"
opened-by = "to"
[[variant]]
name = "end to end"
set = { "gateway.g.split" = false }
[[variant]]
name = "proxy"
set = { "gateway.g.proxy" = "tiny", "gateway.g.proxy-tcp" = "congestion=standard,slow-start=standard" }
"#;

pub(super) fn plays_a_foreign_gateway() {
    let bed = Bed::new("proxy", COMPARED);
    let line = bed.fail(&["up", "x.toml", "--name", &bed.name]);
    assert!(line.contains("gateway.g.proxy: give the command of `tiny`: --proxy tiny="), "{line}");
    let counted = bed.folder.path().join("counted");
    let this = env::current_exe().expect("this binary");
    let command = format!("tiny={} {ASKED} {{port}} {}", this.display(), counted.display());
    bed.succeed(&["up", "x.toml", "--name", &bed.name, "--proxy", &command]);
    let differs = bed.fail(&["up", "x.toml", "--name", &bed.name, "--proxy", "tiny=/bin/other"]);
    assert!(differs.contains("is up with another scenario"), "{differs}");
    for through in [true, false, true] {
        fs::write(&counted, "").expect("a file");
        let point = if through { "1" } else { "0" };
        let output = format!("through-{through}");
        bed.succeed(&["run", &bed.name, "--quiet", "--point", point, "--output", &output]);
        let table = |name: &str| {
            let path = bed.folder.path().join(&output).join(name);
            fs::read_to_string(path).expect("a table")
        };
        // Each byte was compared by the flow.
        assert_eq!(cells(&table("transfers.csv"), "bytes"), [BYTES.to_string()]);
        assert_ne!(cells(&table("transfers.csv"), "finish_s"), [""]);
        let passed = total(&counted);
        assert!(if through { passed >= BYTES } else { passed == 0 }, "{through}: {passed}");
        let gateways = table("gateways.csv");
        assert_eq!(cells(&gateways, "split_flows"), [if through { "" } else { "0" }], "{gateways}");
        let shell = |words: &[&str]| {
            bed.succeed(&[&["shell", "g", "--testbed", &bed.name, "--"][..], words].concat())
        };
        let diverted = shell(&["nft", "list", "tables"]).contains("bentpipe-proxy");
        let marked = shell(&["ip", "rule"]).contains("lookup 100");
        assert_eq!((diverted, marked), (through, through));
    }
    bed.down();
    let ends = Bed::new(
        "ends",
        &COMPARED
            .replace("\"end to end\"", "\"b\"")
            .replace("\"gateway.g.split\" = false", "\"gateway.g.proxy\" = \"tiny\""),
    );
    let line =
        ends.fail(&["up", "x.toml", "--name", &ends.name, "--proxy", "tiny=echo no licence"]);
    assert!(line.contains("gateway g did not become ready: no licence"), "{line}");
    ends.assert_nothing_is_left();
}

/// The cells of a column.
fn cells(table: &str, column: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let head = reader.headers().expect("a head").clone();
    let at = head.iter().position(|name| name == column).expect(column);
    reader.records().map(|row| row.expect("a row")[at].to_owned()).collect()
}

/// The bytes that the proxy has passed on.
fn total(counted: &Path) -> u64 {
    let text = fs::read_to_string(counted).expect("a file");
    text.lines().map(|line| line.parse::<u64>().expect("a number")).sum()
}

/// Is the proxy for good, if this process was started as one.
pub(crate) fn serve_if_asked() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [asked, port, counted] = &arguments[..] else { return };
    if asked == ASKED {
        let error = serve(port.parse().expect("a port"), Path::new(counted));
        panic!("the proxy ends: {error:?}");
    }
}

/// A socket that may have any host's address.
fn transparent(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    setsockopt(&socket, sockopt::IpTransparent, &true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Takes what is diverted to `port`, and goes on to its server in the client's name.
fn serve(port: u16, counted: &Path) -> io::Result<()> {
    let socket = transparent((Ipv4Addr::UNSPECIFIED, port).into())?;
    socket.listen(16)?;
    let listener = TcpListener::from(socket);
    loop {
        let (client, from) = listener.accept()?;
        let counted = counted.to_owned();
        thread::spawn(move || -> io::Result<()> {
            let socket = transparent((from.ip(), 0).into())?;
            socket.connect(&client.local_addr()?.into())?;
            let server = TcpStream::from(socket);
            thread::scope(|scope| {
                scope.spawn(|| pass(&client, &server, &counted));
                pass(&server, &client, &counted)
            })
        });
    }
}

/// Passes on what comes to its end; each read is counted before.
fn pass(mut from: &TcpStream, mut to: &TcpStream, counted: &Path) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return to.shutdown(Shutdown::Write);
        }
        let mut file = OpenOptions::new().append(true).open(counted)?;
        file.write_all(format!("{length}\n").as_bytes())?;
        to.write_all(&buffer[..length])?;
    }
}
