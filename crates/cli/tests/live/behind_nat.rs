//! A gateway on a router that masquerades what leaves over the satellite: who is behind it is
//! known, and hears what it is told.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig};

use crate::life::exchange;
use crate::observation::ask;
use crate::stage::{FAMILIES, Family, StageEnds, build, fast_link, gateway_by, gateways_wanted};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("clients_are_known_behind_masquerade", clients_are_known),
    ("quic_is_rejected_behind_masquerade", quic_is_rejected),
];

/// Two routes back are all that the Internet has: those to the router itself.
pub(crate) const MASQUERADE: &str = "table inet nat { chain post { type nat hook postrouting priority 100; oifname sat0 masquerade; }; }\n";

/// A router that masquerades, with a gateway of this policy.
fn stage(policy: &str) -> (Arc<Testbed>, Process) {
    let testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    testbed.g1.nft(MASQUERADE).expect("masquerade");
    let text =
        format!("[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n[policy]\n{policy}\n");
    let gateway = gateway_by(&testbed, &text);
    (Arc::new(testbed), gateway)
}

/// A rule with the client's own address, which nobody sees at the satellite's interface.
fn clients_are_known() {
    if !gateways_wanted() {
        return;
    }
    let rule =
        "[[policy.rule]]\naction = \"forward\"\nclient = [\"10.91.1.0/24\", \"fd00:91:0:1::/64\"]";
    for (policy, split) in [(rule, 0), ("", FAMILIES.len())] {
        let (testbed, gateway) = stage(policy);
        FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(&testbed, family), 100_000));
        let status = ask(&testbed.g1, "status");
        assert_eq!(status["totals"]["split"], split, "{status} {}", gateway.stderr());
        let forwarded = &status["totals"]["forwarded_flows"]["policy"];
        assert_eq!(*forwarded, FAMILIES.len() - split, "{status}");
    }
}

/// What a browser is told of its first packet; other ports pass.
fn quic_is_rejected() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, mut gateway) = stage("reject-quic = true");
    for family in FAMILIES {
        let refused = echo(&testbed, family, 443).expect_err("it is rejected");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused, "{family}: {refused}");
        assert_eq!(echo(&testbed, family, 4433).expect("it passes"), 1200, "{family}");
    }
    gateway.kill();
    for family in FAMILIES {
        assert_eq!(echo(&testbed, family, 443).expect("nothing is left that rejects"), 1200);
    }
}

/// A datagram from H1 to `port` of H2, which answers it: what came back, or why nothing did. The
/// server waits until the client has been told one or the other.
fn echo(testbed: &Testbed, family: Family, port: u16) -> io::Result<usize> {
    let (tell, told) = mpsc::channel::<()>();
    let bind = |to| UdpSocket::bind((to, port)).expect("a server");
    let server = testbed.h2.run(|| bind(family.h2())).expect("its namespace");
    server.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out");
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut buffer = [0; 2000];
            while told.try_recv() == Err(mpsc::TryRecvError::Empty) {
                if let Ok((length, from)) = server.recv_from(&mut buffer) {
                    server.send_to(&buffer[..length], from).expect("an answer");
                }
            }
        });
        let client = testbed.h1.run(|| UdpSocket::bind((family.h1(), 0)).expect("a client"));
        let client = client.expect("its namespace");
        client.connect((family.h2(), port))?;
        client.set_read_timeout(Some(Duration::from_secs(60)))?;
        client.send(&[7; 1200])?;
        let result = client.recv(&mut [0; 2000]);
        drop(tell);
        result
    })
}
