//! A gateway with two satellite interfaces, of which one fails in the middle of uploads: what it
//! owes goes by the other one, though its hosts have nothing more to say.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::join_by_veth;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig, Told};

use crate::observation::ask;
use crate::stage::{FAMILIES, StageEnds, build, gateway_by, gateways_wanted, narrow_link};
use crate::toolbox::{PATIENCE, accept, assert_same, content, finish, receive, send};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("satellite_interface_fails_over", || fails_over("ip link set sat0 down", "true")),
    ("satellite_path_fails_over", || fails_over("true", DEAD)),
];

/// The first satellite takes nothing any more, though its interfaces are up.
const DEAD: &str = "nft 'table inet dead { chain c { type filter hook prerouting priority 0; iifname ground1 drop; }; }'";

/// Some of it is on its way when that happens, and the rest is acknowledged to its sender.
const SIZE: usize = 100_000;
const SENT: Duration = Duration::from_millis(150);

/// The first satellite carries nothing any more, by a command in G1 or in SAT, and routes lead over
/// the second.
fn fails_over(in_g1: &str, in_sat: &str) {
    if !gateways_wanted() {
        return;
    }
    let (testbed, gateway) = stage();
    let mut uploads = Vec::new();
    for family in FAMILIES {
        for closes in [false, true] {
            let ends = StageEnds::of(&testbed, family);
            let (listener, address) = ends.listen();
            let client = ends.try_connect(address, |_| ()).expect("a connection");
            let server = accept(&listener);
            let sent = content(uploads.len() as u64, SIZE);
            send(&client, &sent);
            if closes {
                finish(&client);
            }
            uploads.push((client, server, sent));
        }
    }
    thread::sleep(SENT);
    testbed.g1.output("sh", &["-c", in_g1]).expect("it fails");
    testbed.sat.output("sh", &["-c", in_sat]).expect("it fails");
    let over = "route replace default via 10.91.5.2\nroute replace default via fd00:91:0:5::2\n";
    testbed.g1.ip(over).expect("the other one's routes");
    let back = "route replace 10.91.1.0/24 via 10.91.5.1\n\
                route replace fd00:91:0:1::/64 via fd00:91:0:5::1\n";
    testbed.sat.ip(back).expect("the other one's routes");
    for (_client, server, sent) in uploads {
        server.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        assert_same("what was sent", &sent, &receive(&server, SIZE));
    }
    let status = ask(&testbed.g1, "status");
    assert_eq!(status["totals"]["split"], 2 * FAMILIES.len(), "{status} {}", gateway.stderr());
}

/// G1 has two cables to the satellite, and a gateway at both.
fn stage() -> (Arc<Testbed>, Process) {
    let config = TestbedConfig {
        link: Some(narrow_link()),
        told: Told::Nothing,
        ..TestbedConfig::default()
    };
    let testbed = build(config);
    join_by_veth((&testbed.g1, "sat1"), (&testbed.sat, "ground3")).expect("a second cable");
    for (namespace, device, part) in [(&testbed.g1, "sat1", 1), (&testbed.sat, "ground3", 2)] {
        namespace
            .ip(&format!(
                "address add 10.91.5.{part}/24 dev {device}\n\
                 address add fd00:91:0:5::{part}/64 dev {device} nodad\n"
            ))
            .expect("addresses");
    }
    let text = "[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\", \"sat1\"]\n";
    let gateway = gateway_by(&testbed, text);
    (Arc::new(testbed), gateway)
}
