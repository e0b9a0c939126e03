//! Keys of `[satellite]` alone: its options, and the link whose rate is followed or bounded.

use super::bounds::RATES;
use super::forms::{Optional, Switch, named};
use super::key::{Help, Key, fields, key};
use super::quantity::within;
use crate::reader::{Reader, Result, Section};
use bentpipe_gateway::{Config, LegConfig};

pub(super) const SATELLITE: Section = Section {
    path: "gateway.NAME.satellite",
    about: "Of the satellite side alone.",
    fields: &fields::<_, { KEYS.len() }>(KEYS),
    example: "",
};

pub(super) const KEYS: &[Key<Config>] = &[
    key!(Config: "add-options" => add_options,
        named(),
        "whether TCP options that hosts lack are added on the satellite leg",
    ),
    key!(Config: "follow" => satellite.follow,
        Switch,
        "`rate` is what flows to a remote gateway begin with, and no more: together they find what the link carries, more or less than that, as `found-by` says",
        check: |reader, config| check_follow(reader, &config.satellite),
        help: Help { value: "", remark: "`rate` is a first guess, and the link's own rate is followed" },
    ),
    key!(Config: "max-rate" => satellite.max_rate,
        Optional { form: within(RATES), absent: "no limit" },
        "what flows to a remote gateway use together at most, and so all flows to hosts without one: as a contract has it, whatever the link carries",
        check: |reader, config| check_max_rate(reader, &config.satellite),
        help: Help { value: "\"20Mbit/s\"", remark: "not more than this, whatever the link carries" },
    ),
    key!(Config: "shared-carrier" => satellite.shared_carrier,
        Switch,
        "other pairs of gateways send over the same carrier, each with this key, and nobody else does. They drain it together, at multiples of ten seconds of the wall clock: so each sees how long a round trip takes without a queue. They come to equal shares. Clocks have to agree within half a round trip",
        check: |reader, config| check_shared_carrier(reader, &config.satellite),
        help: Help { value: "", remark: "other pairs of gateways send over it, too, and nobody else" },
    ),
];

/// Refuses to follow what is not known or not found together.
fn check_follow(reader: &Reader<'_>, leg: &LegConfig) -> Result<()> {
    let why = match leg.follow {
        true if leg.rate.is_none() => "follow: it needs the `rate` that is to be followed",
        true if !leg.can_follow() => {
            "follow: flows follow a link's rate together (`found-by` other than `each-flow`), \
             with `iw = \"by-round-trip\"` and a congestion control of the gateway's"
        }
        _ => return Ok(()),
    };
    Err(reader.bad("follow", why.to_owned()))
}

/// Refuses to share what is known, or is not found together.
fn check_shared_carrier(reader: &Reader<'_>, leg: &LegConfig) -> Result<()> {
    let found = leg.can_follow() && (leg.rate.is_none() || leg.follow);
    if found || !leg.shared_carrier {
        return Ok(());
    }
    let why = "shared-carrier: flows share what they find together (`found-by` other than \
               `each-flow`, no `rate` without `follow`, and `iw = \"by-round-trip\"`)";
    Err(reader.bad("shared-carrier", why.to_owned()))
}

/// Refuses a rate that is not to be used.
fn check_max_rate(reader: &Reader<'_>, leg: &LegConfig) -> Result<()> {
    match (leg.rate, leg.max_rate) {
        (Some(rate), Some(max)) if rate > max => {
            let why = format!("max-rate: {max} is less than the link's `rate`, {rate}");
            Err(reader.bad("max-rate", why))
        }
        _ => Ok(()),
    }
}
