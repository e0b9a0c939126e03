//! Ready-made links.

use bentpipe_config::document::Node;
use bentpipe_config::reader::{Context, Reader, Result};
use bentpipe_core::link::Varying;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;

/// A ready-made link by name: rates and one-way delays, and where they come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// From the first end named in `between` to the second.
    pub rate: Rate,
    /// Back.
    pub back_rate: Rate,
    /// One way, from the first end to the second.
    pub delay: Duration,
    /// Back.
    pub back_delay: Duration,
    /// The kind of link that it stands for, and its source.
    pub about: &'static str,
}

const fn profile(
    name: &'static str,
    rates: (u64, u64),
    delay_micros: u64,
    about: &'static str,
) -> Profile {
    Profile {
        name,
        rate: Rate::from_bits_per_sec(rates.0),
        back_rate: Rate::from_bits_per_sec(rates.1),
        delay: Duration::from_micros(delay_micros),
        back_delay: Duration::from_micros(delay_micros),
        about,
    }
}

/// Every profile. Rates of today's links are typical ones, chosen by us; delays follow from the
/// orbit or the source.
pub const PROFILES: &[Profile] = &[
    profile(
        "geo",
        (8_000_000, 8_000_000),
        250_000,
        "a geostationary bent pipe: 239.6 to 279 ms (RFC 2488, section 2), 250 ms in most of the papers; 8 Mbit/s is bharadwaj-1999's fastest link",
    ),
    profile(
        "geo-consumer",
        (50_000_000, 3_000_000),
        280_000,
        "a consumer's GEO service: 50/3 Mbit/s (chosen), with some delay of its access layer",
    ),
    profile(
        "geo-henderson",
        (1_300_000, 1_300_000),
        300_000,
        "henderson's GEO testbed: 1.3 Mbit/s, round trip 600 ms",
    ),
    profile(
        "geo-t1",
        (1_536_000, 1_536_000),
        250_000,
        "a T1's payload over GEO: bbn, bharadwaj-1999",
    ),
    profile(
        "geo-asymmetric",
        (10_000_000, 256_000),
        250_000,
        "GEO with a narrow return channel: rates chosen so that one acknowledgment a segment just fills it (RFC 3449, section 2.1: k is about 1)",
    ),
    Profile {
        back_delay: Duration::from_millis(50),
        ..profile(
            "hybrid-dbs",
            (8_000_000, 50_000),
            250_000,
            "direct broadcast satellite with a modem's return (RFC 3449, section 1.2): GEO towards the user, 50 kbit/s and 50 ms of telephone network back (rates and its delay chosen)",
        )
    },
    profile(
        "vsat-384k",
        (384_000, 384_000),
        270_000,
        "a narrow VSAT terminal over GEO: 384 kbit/s (chosen, six channels of 64 kbit/s), 270 ms (RFC 2488, section 2: up to 279 ms)",
    ),
    profile(
        "maritime",
        (432_000, 432_000),
        350_000,
        "a ship's L-band terminal over GEO: 432 kbit/s is Inmarsat FleetBroadband's standard service at best, shared; 350 ms with its access layer (chosen)",
    ),
    profile("geo-sfu", (1_544_000, 1_544_000), 280_000, "sfu's T1 over GEO, 280 ms"),
    profile(
        "meo",
        (100_000_000, 100_000_000),
        70_000,
        "MEO at 8062 km: round trips below 150 ms; rate chosen",
    ),
    profile(
        "leo",
        (100_000_000, 15_000_000),
        20_000,
        "LEO at 550 km with its access network: round trips around 40 ms; rates chosen; use `orbit` for handovers",
    ),
    profile(
        "starlink",
        (180_000_000, 17_000_000),
        25_000,
        "what Starlink gave in 2022: about 180/17 Mbit/s, round trips about 50 ms (Michel et al., IMC 2022, rounded); use `orbit` for handovers",
    ),
    profile(
        "leo-henderson",
        (1_300_000, 1_300_000),
        40_000,
        "henderson's LEO: 1.3 Mbit/s, round trip 80 ms",
    ),
    profile(
        "t1",
        (1_536_000, 1_536_000),
        20_000,
        "a terrestrial T1: 1.544 Mbit/s with 1.536 for payload (ANSI T1.403); 20 ms chosen",
    ),
    profile(
        "dsl",
        (16_000_000, 1_000_000),
        10_000,
        "ADSL2+ (ITU-T G.992.5), towards the user and back; delay with interleaving, typical",
    ),
    profile(
        "modem",
        (9_600, 9_600),
        150_000,
        "a 9600 bit/s modem line, as in bbn's four-packet draft",
    ),
    profile(
        "ethernet-10",
        (10_000_000, 10_000_000),
        100,
        "10 Mbit/s Ethernet, as in henderson's testbed",
    ),
    profile("ethernet-100", (100_000_000, 100_000_000), 100, "100 Mbit/s Ethernet"),
    profile("lan", (1_000_000_000, 1_000_000_000), 50, "gigabit Ethernet"),
];

/// The values that hold where a direction does not say them.
#[derive(Debug, Clone)]
pub struct Ground {
    /// Of the line; `None`: unlimited.
    pub rate: Option<Rate>,
    /// One way.
    pub delay: Varying<Duration>,
    /// Spans (beginning, length) besides those that it says.
    pub outages: Vec<(Duration, Duration)>,
}

impl Ground {
    /// The values of the link's `profile`, forward and back; none without a profile.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn read(reader: &Reader<'_>) -> Result<[Ground; 2]> {
        let profile = reader.node("profile").map(|node| find(reader.context, node)).transpose()?;
        let ground =
            |rate, delay| Ground { rate, delay: Varying::Constant(delay), outages: vec![] };
        Ok(match profile {
            None => [ground(None, Duration::ZERO), ground(None, Duration::ZERO)],
            Some(p) => [ground(Some(p.rate), p.delay), ground(Some(p.back_rate), p.back_delay)],
        })
    }
}

fn find(context: &Context<'_>, node: &Node) -> Result<&'static Profile> {
    let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
    Ok(&PROFILES[context.one_of(node, "profile", &names)?])
}
