//! The same ways in virtual time, where CUBIC need not be stopped.

use super::super::simulated::{Ends, download};
use super::{BYTES, Transfer, Variant, loss};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_testbed::five_hosts::SatelliteLink;

/// Downloads the file over `link` with losses.
pub fn all(link: &SatelliteLink) -> Vec<Transfer> {
    let link = link.with_loss(loss());
    let transfer = |variant: Variant| {
        let seconds = download(&link, BYTES, ends(variant));
        Transfer {
            variant,
            seconds,
            stopped_s: None,
            received_bytes: if seconds.is_some() { BYTES } else { 0 },
            hash_matches: seconds.is_some(),
        }
    };
    Variant::ALL.into_iter().map(transfer).collect()
}

fn ends(variant: Variant) -> Ends {
    let control = if variant == Variant::EndToEndBbr { "bbr1" } else { "cubic" };
    let hosts: ConnectionConfig =
        format!("linux,congestion={control}").parse().expect("the core has this preset");
    Ends { hosts, gateways: variant.has_gateways(), told: variant == Variant::Known }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_are_near_the_limit_where_cubic_takes_minutes() {
        let link = super::super::super::geo_link();
        let transfers = all(&link);
        let seconds =
            |variant| transfers.iter().find(|it| it.variant == variant).unwrap().seconds.unwrap();
        let limit = super::super::Lossy::new(&link, Vec::new()).limit_s;
        assert!(seconds(Variant::Known) < 1.1 * limit, "{transfers:?}");
        assert!(seconds(Variant::Estimated) < seconds(Variant::EndToEndBbr) * 1.1, "{transfers:?}");
        assert!(seconds(Variant::EndToEnd) > 60.0, "{transfers:?}");
    }
}
