//! The example of a `gateway.toml` in `bentpipe gateway --help`: a line for each key, from its
//! entry.

use super::key::example as lines;
use super::{deployment, leg, limits, policy, satellite, splitting};

/// The interfaces, which have no defaults.
pub(super) const INTERFACES: &str = "[interfaces]\nlan = [\"eth0\"]\nsatellite = [\"sat0\"]\n";

/// Some of the TCP settings that a leg has; the reference names all.
pub(super) const TCP_SETTINGS: &str = "\
recovery = \"rack\"       # or fack, sack, newreno, …
congestion = \"cubic\"    # or bbr, bbr1, westwood, standard, hybla, vegas, …
iw = 10                 # initial window: segments, or \"4380B\", \"rfc3390\"; more where rate and round-trip say so
pacing = \"8Mbit/s\"      # or \"on\", \"off\"; without it, at the rate if that is given
rto.min = \"1s\"          # and all else that is a leg's: docs/tcp-parameters.md
ack = \"delayed:40ms\"    # of every second segment; or \"thinned:8:200ms\", \"per-segment\"
";

pub(super) const RULE: &str = "\
[[policy.rule]]         # the first rule that matches a SYN decides
action = \"forward\"      # or \"split\", \"observe\"
client = \"10.1.0.0/16\"  # a network or an address, or a list; IPv4 and IPv6
server = [\"192.0.2.0/24\", \"2001:db8::/32\"]
port = [22, \"8000-8999\"]  # the server's
dscp = \"ef\"             # or a number
from = \"lan\"            # the client's side; or \"satellite\"
";

/// A `gateway.toml` that has every key, most with their defaults and a remark.
pub fn example() -> String {
    let tables = [
        INTERFACES.to_owned(),
        "[satellite]             # all optional\n".to_owned()
            + &lines(satellite::KEYS)
            + &lines(leg::KEYS)
            + TCP_SETTINGS,
        "[lan]                   # the same but add-options; all optional\nrecovery = \"sack\"\n"
            .to_owned(),
        "[splitting]             # all optional\n".to_owned() + &lines(splitting::KEYS),
        "[limits]                # all optional\n".to_owned()
            + &lines(limits::KEYS)
            + &lines(limits::DEPLOYED_KEYS),
        "[policy]                # which connections are split; without it, all\n".to_owned()
            + &lines(policy::KEYS)
            + &lines(policy::DEPLOYED_KEYS),
        RULE.to_owned(),
        "[metrics]               # optional: for Prometheus, at /metrics\n".to_owned()
            + &lines(deployment::METRICS_KEYS),
        "[log]                   # optional\n".to_owned() + &lines(deployment::LOG_KEYS),
    ];
    tables.join("\n")
}
