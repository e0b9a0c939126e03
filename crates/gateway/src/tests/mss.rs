//! How long segments may be: what the hosts say, and what the configuration lets them.

use super::*;

/// The MSS options that the server and the client see, and the longest segments to each.
fn sizes(config: Config, announced: Option<u16>) -> [(Option<u16>, usize); 2] {
    let mut table = Table::new(config);
    let options = TcpOptions { mss: announced, ..TcpOptions::default() };
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    let syn = table.send(Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    let synack = table.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
    [(Side::Satellite, &syn), (Side::Lan, &synack)].map(|(side, relayed)| {
        let data = Table::segment(side.other(), 1, 1, Flags::ACK);
        let sent = table.send(side.other(), data, &[7; 5000]);
        let towards = sent.iter().filter(|sent| sent.to == side);
        let size = |sent: &Transmit| sent.gso_size.map_or(sent.payload_len(), usize::from);
        (relayed[0].tcp.options.mss, towards.map(size).max().unwrap_or(0))
    })
}

fn config(satellite: MssLimit, lan: MssLimit) -> Config {
    let mut config = Config::default();
    (config.satellite.mtu, config.lan.mtu) = (1400, 1500);
    (config.satellite.mss, config.lan.mss) = (satellite, lan);
    config
}

#[test]
fn the_hosts_agree_and_each_leg_keeps_to_its_interfaces() {
    let config = config(MssLimit::Hosts, MssLimit::Hosts);
    assert_eq!(sizes(config.clone(), Some(1460)), [(Some(1460), 1360), (Some(1460), 1460)]);
    assert_eq!(sizes(config, Some(536)), [(Some(536), 536); 2]);
}

#[test]
fn a_clamped_side_sees_what_both_sides_carry() {
    let both = config(MssLimit::Clamp, MssLimit::Clamp);
    assert_eq!(sizes(both.clone(), Some(1460)), [(Some(1360), 1360); 2]);
    // Never upwards, and an option that was not there is not added (RFC 9293, 3.7.1: 536).
    assert_eq!(sizes(both.clone(), Some(536)), [(Some(536), 536); 2]);
    assert_eq!(sizes(both, None), [(None, 536); 2]);
    let lan = config(MssLimit::Hosts, MssLimit::Clamp);
    assert_eq!(sizes(lan, Some(1460)), [(Some(1460), 1360), (Some(1360), 1360)]);
}

#[test]
fn a_number_limits_one_side() {
    let config = config(MssLimit::At(1000), MssLimit::Hosts);
    assert_eq!(sizes(config, Some(1460)), [(Some(1000), 1000), (Some(1460), 1460)]);
}
