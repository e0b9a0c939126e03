//! The same ways in virtual time, where CUBIC need not be stopped.

use super::super::simulated::{Ends, download};
use super::{BYTES, Transfer, Way, loss};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_net::testbed::SatelliteLink;

/// Downloads the file over `link` with losses.
pub(in super::super) fn all(link: &SatelliteLink) -> Vec<Transfer> {
    let link = link.with_loss(loss());
    let transfer = |way: Way| {
        let seconds = download(&link, BYTES, ends(way));
        Transfer {
            way,
            seconds,
            stopped_s: None,
            received_bytes: if seconds.is_some() { BYTES } else { 0 },
            hash_matches: seconds.is_some(),
        }
    };
    Way::ALL.into_iter().map(transfer).collect()
}

fn ends(way: Way) -> Ends {
    let control = if way == Way::EndToEndBbr { "bbr1" } else { "cubic" };
    let hosts: ConnectionConfig =
        format!("linux,congestion={control}").parse().expect("the core has this preset");
    Ends { hosts, gateways: way.has_gateways(), told: way == Way::Known }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_are_near_the_limit_where_cubic_takes_minutes() {
        let link = super::super::super::geo_link();
        let transfers = all(&link);
        let seconds = |way| transfers.iter().find(|it| it.way == way).unwrap().seconds.unwrap();
        let limit = super::super::Lossy::new(&link, Vec::new()).limit_s;
        assert!(seconds(Way::Known) < 1.1 * limit, "{transfers:?}");
        assert!(seconds(Way::Estimated) < seconds(Way::EndToEndBbr) * 1.1, "{transfers:?}");
        assert!(seconds(Way::EndToEnd) > 60.0, "{transfers:?}");
    }
}
