//! Two gateways with a key, the first one behind its router's masquerade.

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig};
use std::sync::Arc;

use crate::behind_nat::MASQUERADE;
use crate::life::exchange;
use crate::observation::ask;
use crate::stage::{FAMILIES, StageEnds, build, fast_link, gateway_in, gateways_wanted};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("a_key_is_known_behind_masquerade", the_same_key),
    ("gateways_of_two_keys_are_hosts_to_each_other", two_keys),
];

const KEYS: [&str; 2] = ["000102030405060708090a0b0c0d0e0f", "f00102030405060708090a0b0c0d0e0f"];

fn gateways(testbed: &Testbed, keys: [&str; 2]) -> [Process; 2] {
    testbed.g1.nft(MASQUERADE).expect("masquerade");
    let ends = [(&testbed.g1, "near.toml", keys[0]), (&testbed.g2, "far.toml", keys[1])];
    ends.map(|(namespace, file, key)| {
        let interfaces = "[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n";
        let text = format!("{interfaces}[splitting]\npair-key = \"{key}\"\n");
        gateway_in(namespace, &testbed.files().join(file), &text)
    })
}

/// Each gateway's `status` after so many bytes to and fro, in connections of both families.
fn statuses(keys: [&str; 2]) -> [serde_json::Value; 2] {
    let testbed =
        Arc::new(build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() }));
    let _gateways = gateways(&testbed, keys);
    for family in FAMILIES {
        exchange(&StageEnds::of(&testbed, family), 300_000);
    }
    [&testbed.g1, &testbed.g2].map(|namespace| ask(namespace, "status"))
}

fn the_same_key() {
    if !gateways_wanted() {
        return;
    }
    let [near, far] = statuses([KEYS[0]; 2]);
    assert_eq!(near["peer_known"], true, "{near}");
    for status in [near, far] {
        assert_eq!(status["totals"]["foreign_announcements"], 0, "{status}");
        assert_eq!(status["totals"]["split"], FAMILIES.len(), "{status}");
        let named = status["remotes"].as_array().expect("remotes");
        assert!(named.iter().any(|remote| remote["name"] != "unreported"), "{status}");
    }
}

fn two_keys() {
    if !gateways_wanted() {
        return;
    }
    let [near, far] = statuses(KEYS);
    assert_eq!(near["peer_known"], false, "{near}");
    let foreign = &far["totals"]["foreign_announcements"];
    assert!(foreign.as_u64() >= Some(FAMILIES.len() as u64), "{far}");
    for status in [near, far] {
        assert_eq!(status["totals"]["split"], FAMILIES.len(), "{status}");
    }
}
