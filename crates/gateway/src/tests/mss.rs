//! How long segments may be: what the hosts say, and what the configuration lets them.

use super::*;

/// The MSS options that the server and the client see, and the longest segments to each.
fn sizes(config: Config, announced: Option<u16>) -> [(Option<u16>, usize); 2] {
    sizes_in(Table::new(config), announced)
}

fn sizes_in(mut table: Table, announced: Option<u16>) -> [(Option<u16>, usize); 2] {
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

/// A PPP session sets its MTU when the interface is in use already.
#[test]
fn a_connection_keeps_to_what_the_interfaces_carry_when_it_begins() {
    let with = |config| {
        let mut table = Table::new(config);
        table.gateway.set_mtus([1500, 1300]);
        sizes_in(table, Some(1460))
    };
    let hosts = config(MssLimit::Hosts, MssLimit::Hosts);
    assert_eq!(with(hosts), [(Some(1460), 1260), (Some(1460), 1460)]);
    assert_eq!(with(config(MssLimit::Clamp, MssLimit::Clamp)), [(Some(1260), 1260); 2]);
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

/// The MSS option that a host on the LAN without timestamps sees, where the satellite leg gets them
/// or the server has not `accepted` them.
fn beside_added_timestamps(mut config: Config, accepted: bool, announced: u16) -> Option<u16> {
    config.add_options = AddOptions::Always;
    let mut table = Table::new(config);
    let options = TcpOptions { mss: Some(announced), ..TcpOptions::default() };
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    table.send(Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    let timestamps = accepted.then_some(Timestamps { value: 500, echo: 0 });
    let synack = TcpHeader { options: TcpOptions { timestamps, ..options }, ..synack };
    table.send(Side::Satellite, synack, b"")[0].tcp.options.mss
}

#[test]
fn a_host_without_timestamps_leaves_room_for_those_of_the_satellite_leg() {
    let of = |config: Config, accepted| beside_added_timestamps(config, accepted, 1460);
    assert_eq!(of(Config::default(), true), Some(1448));
    assert_eq!(of(Config::default(), false), Some(1460), "no room for what is not there");
    let clamp = config(MssLimit::Hosts, MssLimit::Clamp);
    assert_eq!(of(clamp, true), Some(1360), "the satellite has no limit of its own");
    let both = config(MssLimit::Clamp, MssLimit::Clamp);
    assert_eq!(of(both, true), Some(1348));
    let numbers = config(MssLimit::At(1400), MssLimit::At(1400));
    assert_eq!(of(numbers, true), Some(1388));
    assert_eq!(of(config(MssLimit::Hosts, MssLimit::At(1000)), true), Some(1000));
    let small = |announced| beside_added_timestamps(Config::default(), true, announced);
    assert_eq!((small(70), small(5)), (Some(64), Some(5)), "never less than we take, nor upwards");
}

#[test]
fn a_full_segment_of_the_lan_is_one_on_the_satellite_leg() {
    let mut table = Table::new(Config { add_options: AddOptions::Always, ..Config::default() });
    let options = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    let syn = table.send(Side::Lan, TcpHeader { options, ..syn }, b"");
    assert_eq!(syn[0].tcp.options.mss, Some(1460), "the LAN's segments need no room");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    let synack = TcpHeader { options: Table::stamped(), ..synack };
    let mss = table.send(Side::Satellite, synack, b"")[0].tcp.options.mss.expect("it had one");
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
    let data = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    let sent = table.send(Side::Lan, data, &vec![7; mss.into()]);
    let lengths = sent.iter().filter(|sent| sent.to == Side::Satellite).map(Transmit::payload_len);
    assert_eq!(lengths.collect::<Vec<_>>(), [1448]);
}
