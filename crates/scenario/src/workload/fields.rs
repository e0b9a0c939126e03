//! The keys of each workload.

use super::{ArrivalKind, FlowEnd, Reuse};
use bentpipe_config::reader::{Section, field, one_of};

pub(crate) const BULK: Section = Section {
    path: "flow.NAME, bulk",
    about: "One connection that sends as much as it can.",
    fields: &[
        field("bytes", "a random size", "as long as the run lasts", "how much"),
        one_of::<FlowEnd>(
            "opened-by",
            "`from`",
            "who opens the connection: `to` for a download, where data follow the client's handshake",
        ),
        field(
            "barrier",
            "a name of yours",
            "",
            "flows of the same barrier all connect first, at their `start`, and send once the last of them is connected, in an order that is drawn for each run; their transfers begin then",
        ),
    ],
    example: "[flow.main]\nfrom = \"server\"\nto = \"client\"\nbytes = \"10MB\"",
};

pub(crate) const REQUEST_RESPONSE: Section = Section {
    path: "flow.NAME, request-response",
    about: "`to` asks, `from` answers. Both switch Nagle's algorithm off, as such programs do.",
    fields: &[
        field("request", "a random size", "400B", "of a request"),
        field("reply", "a random size", "", "of a reply"),
        field(
            "server-delay",
            "a random time",
            "0s",
            "from the request's last byte to the reply's first",
        ),
        field("think", "a random time", "0s", "from the reply's last byte to the next request"),
        field("requests", "a whole number", "as long as the run lasts", "how many"),
        one_of::<Reuse>(
            "connection",
            "`same`",
            "`new`: each on a new one, which the server closes",
        ),
    ],
    example: "[flow.query]\nworkload = \"request-response\"\nfrom = \"server\"\nto = \"client\"\nreply = \"20KB\"\nrequests = 50",
};

pub(crate) const HTTP: Section = Section {
    path: "flow.NAME, http/1.0, http/1.1, http/1.1-pipelined",
    about: "`to` loads pages from `from`: the document first, then what it refers to. `http/1.0` \
            opens a connection for each object, `http/1.1` keeps them, `http/1.1-pipelined` also \
            sends all requests at once. Both ends switch Nagle's algorithm off, as servers and \
            browsers do.",
    fields: &[
        field("page", "a preset's name, or a table", "", "what is loaded"),
        field(
            "connections",
            "1 to 100",
            "4 for `http/1.0`, 2 for `http/1.1`, 1 pipelined",
            "at a time",
        ),
        field("request", "a random size", "400B", "of each request"),
        field(
            "server-delay",
            "a random time",
            "0s",
            "from the request's last byte to the reply's first",
        ),
        field("think", "a random time", "0s", "from a whole page to the next"),
        field(
            "pages",
            "a whole number",
            "1",
            "how many, one after the other; 0: as long as the run lasts",
        ),
    ],
    example: "[flow.page]\nworkload = \"http/1.0\"\nfrom = \"server\"\nto = \"client\"\npage = \"bharadwaj-2001-2\"\nconnections = 4",
};

pub(crate) const HTTP2: Section = Section {
    path: "flow.NAME, http/2",
    about: "`to` loads pages from `from` over one connection (RFC 9113): the document, then what it refers to, up to \
            `streams` requests at a time; the replies are sent in turns, a frame each. Priorities, server push, flow \
            control windows and TLS are not modelled; requests are as long as they are sent. Web caches do not take it. \
            Nagle's algorithm is off.",
    fields: &[
        field("page", "a preset's name, or a table", "", "what is loaded"),
        field("streams", "1 to 10000", "100", "requests that are open at a time"),
        field(
            "frame",
            "bytes, 1 to 16777215",
            "16384B",
            "the longest payload of a frame, which has 9 bytes besides",
        ),
        field(
            "send-ahead",
            "bytes",
            "64KiB",
            "what the server hands to its TCP ahead of what is sent: a reply that is ready later waits for so much",
        ),
        field("request", "a random size", "400B", "of each request"),
        field(
            "server-delay",
            "a random time",
            "0s",
            "from the request's last byte until its reply is ready",
        ),
        field("think", "a random time", "0s", "from a whole page to the next"),
        field(
            "pages",
            "a whole number",
            "1",
            "how many, one after the other; 0: as long as the run lasts",
        ),
    ],
    example: "[flow.page]\nworkload = \"http/2\"\nfrom = \"server\"\nto = \"client\"\npage = { document = \"20KB\", objects = \"30KB\", count = 40 }",
};

pub(crate) const TELNET: Section = Section {
    path: "flow.NAME, telnet",
    about: "`to` types, `from` echoes.",
    fields: &[
        field("between", "a random time", "like tcplib", "between two keystrokes"),
        field("keystroke", "bytes", "1B", "of a keystroke"),
        field("echo", "bytes", "1B", "of an echo; `0B`: none"),
    ],
    example: "[flow.shell]\nworkload = \"telnet\"\nfrom = \"server\"\nto = \"client\"\nbetween = { exponential = \"1s\" }",
};

pub(crate) const LOAD: Section = Section {
    path: "flow.NAME, web and poisson",
    about: "How much traffic the arrivals offer: `load` of a link, or `per-second`.",
    fields: &[
        field("load", "such as `20%`", "", "the share of a link's rate that the payload offers"),
        field("of", "a link's name", "", "which link's"),
        field("per-second", "a number", "", "pages or transfers per second, instead of `load`"),
    ],
    example: "",
};

pub(crate) const WEB: Section = Section {
    path: "flow.NAME, web",
    about: "Background of Web pages from `from` to `to` that begin as a Poisson process: numbers \
            of connections, requests and replies after Mah's traces (INFOCOM 1997), HTTP/1.0.",
    fields: &[field("connections", "1 to 100", "4", "of one page at a time")],
    example: "[flow.web]\nworkload = \"web\"\nfrom = \"server\"\nto = \"client\"\nload = \"10%\"\nof = \"sat\"",
};

pub(crate) const POISSON: Section = Section {
    path: "flow.NAME, poisson",
    about: "Background of transfers that begin as a Poisson process, each on a connection of its \
            own. The times of background are not kept: with `background = false` it has percentiles, \
            and rows in `transfers.csv`.",
    fields: &[field(
        "size",
        "a random size",
        "Pareto: mean 10KB, shape 1.5, cut at 100KB, multiples of 1000B",
        "of a transfer",
    )],
    example: "[flow.noise]\nworkload = \"poisson\"\nfrom = \"b1\"\nto = \"b2\"\nload = \"20%\"\nof = \"bottleneck\"",
};

pub(crate) const UDP: Section = Section {
    path: "flow.NAME, udp",
    about: "Datagrams without feedback.",
    fields: &[
        one_of::<ArrivalKind>("arrivals", "`constant`", "when they come"),
        field("rate", "a rate", "", "of IP packets, while on; the mean of `poisson`"),
        field("packet", "bytes, 28 to 65535", "1000B", "IP length of each"),
        field("on", "a random time", "exponential, 500ms", "of `on-off`: how long it sends"),
        field("off", "a random time", "exponential, 500ms", "of `on-off`: how long it does not"),
    ],
    example: "[flow.voice]\nworkload = \"udp\"\nfrom = \"a\"\nto = \"b\"\narrivals = \"on-off\"\nrate = \"64kbit/s\"\npacket = \"200B\"\non = { exponential = \"1s\" }\noff = { exponential = \"1.35s\" }",
};

pub(crate) const PING: Section = Section {
    path: "flow.NAME, ping",
    about: "Echo requests from `from`, and their echoes.",
    fields: &[
        field("packet", "bytes, 28 to 65535", "84B", "IP length of each"),
        field(
            "every",
            "a time, or `flood`",
            "1s",
            "`flood`: as soon as an echo is back, or after 10 ms",
        ),
        field("packets", "a whole number", "as long as the run lasts", "how many"),
    ],
    example: "[flow.flood]\nworkload = \"ping\"\nfrom = \"client\"\nto = \"g2\"\nevery = \"flood\"\npacket = \"1500B\"",
};

/// Workloads by name.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum WorkloadKind {
    #[default]
    Bulk,
    RequestResponse,
    #[strum(serialize = "http/1.0")]
    Http10,
    #[strum(serialize = "http/1.1")]
    Http11,
    #[strum(serialize = "http/1.1-pipelined")]
    Pipelined,
    #[strum(serialize = "http/2")]
    Http2,
    Telnet,
    Web,
    Poisson,
    Udp,
    Ping,
}

impl WorkloadKind {
    /// The sections that say its keys.
    pub(crate) fn sections(self) -> &'static [&'static Section] {
        match self {
            WorkloadKind::Bulk => &[&BULK],
            WorkloadKind::RequestResponse => &[&REQUEST_RESPONSE],
            WorkloadKind::Http10 | WorkloadKind::Http11 | WorkloadKind::Pipelined => &[&HTTP],
            WorkloadKind::Http2 => &[&HTTP2],
            WorkloadKind::Telnet => &[&TELNET],
            WorkloadKind::Web => &[&WEB, &LOAD],
            WorkloadKind::Poisson => &[&POISSON, &LOAD],
            WorkloadKind::Udp => &[&UDP],
            WorkloadKind::Ping => &[&PING],
        }
    }
}
