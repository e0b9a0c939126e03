//! `[splitting]`: what of the hosts' connections is end to end.

use super::bounds::{Size, Span};
use super::forms::{Optional, SECRET, Switch, ZeroIsNone, named};
use super::key::{Help, Key, Reload, fields, key};
use super::quantity::within;
use crate::reader::Section;
use bentpipe_core::time::Duration;
use bentpipe_gateway::Config;

pub(super) const SPLITTING: Section = Section {
    path: "gateway.NAME.splitting",
    about: "What of the hosts' connections is end to end.",
    fields: &fields::<_, { KEYS.len() }>(KEYS),
    example: "splitting = { handshake = \"downstream-first\", fin = \"immediate\" }",
};

/// Hosts and other gateways have been promised what these say.
pub(super) const KEYS: &[Key<Config>] = &[
    key!(Config: "handshake" => handshake,
        named(),
        "whether a server's SYN-ACK is acknowledged when the client has done so, or at once",
        reload: Reload::Refused,
        help: Help { value: "", remark: "servers are answered before clients have" },
    ),
    key!(Config: "fin" => fin,
        named(),
        "whether a FIN is acknowledged when the far host has done so, or at once",
        reload: Reload::Refused,
        help: Help { value: "", remark: "a FIN is acknowledged at once" },
    ),
    key!(Config: "fin-hold" => fin_hold,
        // An acknowledgment that waits longer is of no use to the host.
        within(Span(Duration::ZERO)..=Span(Duration::from_secs(3600))),
        "how long a FIN's acknowledgment waits for the far side's",
        reload: Reload::Refused,
        help: Help {
            value: "",
            remark: "for how long at most it waits for the far host's acknowledgment",
        },
    ),
    key!(Config: "announce" => announce,
        Switch,
        "announce itself to other gateways in SYNs",
        reload: Reload::Refused,
        help: Help { value: "", remark: "to the gateway at the other end, in SYNs" },
    ),
    key!(Config: "pair-key" => pair_key,
        Optional { form: SECRET, absent: "no key" },
        "a secret of all gateways of a pair or hub: no other gateway is believed; `openssl rand -hex 16` makes one",
        reload: Reload::Refused,
        help: Help {
            value: "\"00112233445566778899aabbccddeeff\"",
            remark: "the same at both ends: then no other gateway is believed",
        },
    ),
    key!(Config: "adopt-after" => adopt_after,
        // From the SYN on, to more than any page has.
        ZeroIsNone(within(Size(0)..=Size(1 << 30))),
        "connections are forwarded until their hosts have acknowledged so much to each other, and then split; 0B: they are split from the SYN on",
        reload: Reload::Refused,
        help: Help {
            value: "",
            remark: "forward connections until they have carried so much; 0B: split them from the SYN",
        },
    ),
    key!(Config: "soft-state" => soft_state,
        Switch,
        "connections that were forwarded in mid-life, after two hours of silence or by a gateway that was stopped, are split again",
        reload: Reload::Refused,
        help: Help {
            value: "",
            remark: "true: split connections again that a stopped gateway has left, or that were silent",
        },
    ),
];
