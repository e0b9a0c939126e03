//! What flows carry: the applications at their ends.
//!
//! `from` is the end that the bulk of the data comes from (a server), `to` the end that it goes to
//! (a client). Where a client asks first, that is `to`.

use crate::distribution::{Distribution, RandomSize, RandomTime};
use crate::link::Link;
use crate::names::{LinkIndex, Names, NodeIndex};
use crate::reader::{Reader, Result, Section, field};
use crate::web::{self, Page};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};

/// What a flow carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// One connection that sends as much as it can.
    Bulk {
        /// How much; `None`: as long as the run lasts.
        bytes: Option<RandomSize>,
        /// Who opens the connection.
        opened_by: End,
    },
    /// `to` asks, `from` answers, again and again.
    RequestResponse {
        /// Of a request.
        request: RandomSize,
        /// Of a reply.
        reply: RandomSize,
        /// From a whole request to the reply's first byte.
        server_delay: RandomTime,
        /// From a whole reply to the next request.
        think: RandomTime,
        /// How many; `None`: as long as the run lasts.
        requests: Option<u64>,
        /// On which connection.
        connection: Reuse,
    },
    /// `to` loads pages from `from`.
    Http(Http),
    /// `to` types, `from` echoes.
    Telnet {
        /// Between two keystrokes.
        between: RandomTime,
        /// Of a keystroke.
        keystroke: Bytes,
        /// Of an echo; zero: none.
        echo: Bytes,
    },
    /// Background of Web pages after Mah: pages begin as a Poisson process.
    Web {
        /// The load that their replies offer.
        load: Load,
        /// Pages use at most so many connections at a time.
        connections: u32,
    },
    /// Background of transfers `from` → `to` that begin as a Poisson process, each on a connection
    /// of its own.
    Poisson {
        /// Of a transfer.
        size: RandomSize,
        /// The load that they offer.
        load: Load,
    },
    /// Datagrams without feedback.
    Udp {
        /// When they come.
        arrivals: Arrivals,
        /// IP length of each.
        packet: Bytes,
    },
    /// Echo requests from `from`, and the echoes.
    Ping {
        /// IP length of each.
        packet: Bytes,
        /// When the next goes.
        pace: PingPace,
        /// How many; `None`: as long as the run lasts.
        packets: Option<u64>,
    },
}

/// One of a flow's ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end that data come from.
    From,
    /// The end that data go to.
    To,
}

/// Which connection a request goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// All on one.
    Same,
    /// Each on a new one, which the server closes after its reply.
    New,
}

/// Loading of pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    /// How objects are asked for.
    pub version: HttpVersion,
    /// Connections at a time.
    pub connections: u32,
    /// What is loaded.
    pub page: Page,
    /// Of each request.
    pub request: RandomSize,
    /// From a whole request to its reply's first byte.
    pub server_delay: RandomTime,
    /// From a whole page to the next.
    pub think: RandomTime,
    /// How many pages, one after the other; `None`: as long as the run lasts.
    pub pages: Option<u64>,
}

/// How objects are asked for. The objects' requests begin when the document is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// Each on a connection of its own, which the server closes (RFC 1945).
    Http10,
    /// One after the other on connections that stay open (RFC 9112).
    Http11,
    /// All at once on connections that stay open, answered in order (RFC 9112, 9.3.2).
    Pipelined,
}

/// How much traffic arrivals offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// A share of the rate of a link's direction: that which the flow takes first of the two on
    /// its way from `from` to `to`. Payload bytes count.
    Share {
        /// Such as 0.2.
        share: f64,
        /// Of this link.
        link: LinkIndex,
        /// Of that link's rate at the beginning: share × rate.
        rate: Rate,
    },
    /// Arrivals per second.
    PerSecond(f64),
}

/// When datagrams come.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// Evenly at a rate.
    Constant(Rate),
    /// Evenly at a rate while on, not at all while off.
    OnOff {
        /// While on.
        rate: Rate,
        /// How long it is on.
        on: RandomTime,
        /// How long it is off.
        off: RandomTime,
    },
    /// As a Poisson process with this mean rate.
    Poisson(Rate),
}

/// When the next ping goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingPace {
    /// So long after the last.
    Every(Duration),
    /// When the echo is back, or 10 ms after the last: `ping -f`.
    Flood,
}

impl Load {
    /// Arrivals per second, if each brings `mean_bytes` on the average.
    pub fn per_second(&self, mean_bytes: f64) -> f64 {
        match self {
            Load::Share { rate, .. } => rate.bits_per_sec() as f64 / (8.0 * mean_bytes),
            Load::PerSecond(arrivals) => *arrivals,
        }
    }
}

impl Workload {
    /// Whether it is background unless the file says otherwise.
    pub(crate) fn is_background(&self) -> bool {
        match self {
            Workload::Web { .. } | Workload::Poisson { .. } => true,
            Workload::Udp { .. } | Workload::Ping { .. } => true,
            Workload::Bulk { .. }
            | Workload::RequestResponse { .. }
            | Workload::Http(_)
            | Workload::Telnet { .. } => false,
        }
    }

    /// Mean bytes of the replies of one of Mah's pages.
    pub fn mah_page_bytes() -> f64 {
        web::mah_mean_connections() * Distribution::Measured(web::MAH_REPLY.to_vec()).mean()
    }
}

pub(crate) const BULK: Section = Section {
    path: "flow.NAME, bulk",
    about: "One connection that sends as much as it can.",
    fields: &[
        field("bytes", "a random size", "as long as the run lasts", "how much"),
        field(
            "opened-by",
            "`from` or `to`",
            "`from`",
            "who opens the connection: `to` for a download, where data follow the client's handshake",
        ),
    ],
    example: "[flow.main]\nfrom = \"server\"\nto = \"client\"\nbytes = \"10MB\"",
};

pub(crate) const REQUEST_RESPONSE: Section = Section {
    path: "flow.NAME, request-response",
    about: "`to` asks, `from` answers.",
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
        field(
            "connection",
            "`same` or `new`",
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
            sends all requests at once.",
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
            own.",
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
        field("arrivals", "`constant`, `on-off`, `poisson`", "`constant`", "when they come"),
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

/// Workloads by name, with the sections that say their keys.
pub(crate) const KINDS: [(&str, &[&Section]); 10] = [
    ("bulk", &[&BULK]),
    ("request-response", &[&REQUEST_RESPONSE]),
    ("http/1.0", &[&HTTP]),
    ("http/1.1", &[&HTTP]),
    ("http/1.1-pipelined", &[&HTTP]),
    ("telnet", &[&TELNET]),
    ("web", &[&WEB, &LOAD]),
    ("poisson", &[&POISSON, &LOAD]),
    ("udp", &[&UDP]),
    ("ping", &[&PING]),
];

/// What a workload's description refers to.
pub(crate) struct Around<'a> {
    pub(crate) names: &'a Names,
    pub(crate) links: &'a [Link],
    pub(crate) from: NodeIndex,
    pub(crate) to: NodeIndex,
    /// The links that a packet from `from` to `to` takes, with the node where each is entered.
    pub(crate) path: &'a [(LinkIndex, NodeIndex)],
}

const REQUEST: Bytes = Bytes::new(400);

impl Workload {
    pub(crate) fn read(reader: &Reader<'_>, kind: usize, around: &Around<'_>) -> Result<Workload> {
        let name = KINDS[kind].0;
        match name {
            "bulk" => Ok(Workload::Bulk {
                bytes: reader.maybe("bytes")?,
                opened_by: match reader.choice("opened-by", &["from", "to"])? {
                    0 => End::From,
                    _ => End::To,
                },
            }),
            "request-response" => Ok(Workload::RequestResponse {
                request: reader.or("request", RandomSize::constant(REQUEST))?,
                reply: reader.need("reply")?,
                server_delay: reader.or("server-delay", RandomTime::ZERO)?,
                think: reader.or("think", RandomTime::ZERO)?,
                requests: reader.maybe("requests")?,
                connection: match reader.choice("connection", &["same", "new"])? {
                    0 => Reuse::Same,
                    _ => Reuse::New,
                },
            }),
            "http/1.0" => http(reader, HttpVersion::Http10, 4),
            "http/1.1" => http(reader, HttpVersion::Http11, 2),
            "http/1.1-pipelined" => http(reader, HttpVersion::Pipelined, 1),
            "telnet" => {
                let typing = RandomTime(Distribution::Measured(web::TELNET.to_vec()));
                Ok(Workload::Telnet {
                    between: reader.or("between", typing)?,
                    keystroke: some_bytes(reader, "keystroke", 1)?,
                    echo: reader.or("echo", Bytes::new(1))?,
                })
            }
            "web" => Ok(Workload::Web {
                load: load(reader, around)?,
                connections: reader.within("connections", 4, 1..=100)?,
            }),
            "poisson" => {
                let pareto = Distribution::pareto_of_mean(10_000.0, 1.5, Some(100_000.0));
                let size = RandomSize {
                    distribution: pareto.expect("there is one of this mean"),
                    multiple_of: 1000,
                };
                let size = reader.or("size", size)?;
                Ok(Workload::Poisson { size, load: load(reader, around)? })
            }
            "udp" => {
                let rate: Rate = reader.need("rate")?;
                if rate.bits_per_sec() == 0 {
                    return Err(reader.bad("rate", "a flow at 0bit/s sends nothing"));
                }
                let arrivals = match reader
                    .choice("arrivals", &["constant", "on-off", "poisson"])?
                {
                    0 => Arrivals::Constant(rate),
                    1 => {
                        let half_a_second = RandomTime(Distribution::Exponential(0.5));
                        let on = reader.or("on", half_a_second.clone())?;
                        let off = reader.or("off", half_a_second)?;
                        if on.mean_seconds() <= 0.0 {
                            return Err(reader.bad("on", "a flow that is never on sends nothing"));
                        }
                        Arrivals::OnOff { rate, on, off }
                    }
                    _ => Arrivals::Poisson(rate),
                };
                Ok(Workload::Udp { arrivals, packet: packet(reader, 1000)? })
            }
            _ => {
                let flood = reader.node("every").is_some_and(|every| every.label() == "flood");
                let pace = if flood {
                    PingPace::Flood
                } else {
                    let every = reader.or("every", Duration::from_secs(1))?;
                    if every < Duration::from_micros(1) {
                        return Err(reader.bad("every", "pings must be 1us apart at least"));
                    }
                    PingPace::Every(every)
                };
                let (packet, packets) = (packet(reader, 84)?, reader.maybe("packets")?);
                Ok(Workload::Ping { packet, pace, packets })
            }
        }
    }
}

fn http(reader: &Reader<'_>, version: HttpVersion, connections: u32) -> Result<Workload> {
    Ok(Workload::Http(Http {
        version,
        connections: reader.within("connections", connections, 1..=100)?,
        page: reader.need("page")?,
        request: reader.or("request", RandomSize::constant(REQUEST))?,
        server_delay: reader.or("server-delay", RandomTime::ZERO)?,
        think: reader.or("think", RandomTime::ZERO)?,
        pages: Some(reader.or("pages", 1)?).filter(|pages| *pages > 0),
    }))
}

fn some_bytes(reader: &Reader<'_>, key: &str, default: u64) -> Result<Bytes> {
    let bytes = reader.or(key, Bytes::new(default))?;
    if bytes.count() == 0 {
        Err(reader.bad(key, format!("{key} must be 1B at least")))
    } else {
        Ok(bytes)
    }
}

/// The IP length of a datagram, its headers of 28 bytes included.
fn packet(reader: &Reader<'_>, default: u64) -> Result<Bytes> {
    let bytes = reader.or("packet", Bytes::new(default))?;
    if (28..=65_535).contains(&bytes.count()) {
        return Ok(bytes);
    }
    Err(reader.bad("packet", format!("a packet of {bytes} (expected 28B to 65535B)")))
}

fn load(reader: &Reader<'_>, around: &Around<'_>) -> Result<Load> {
    let context = reader.context;
    if reader.node("per-second").is_some() {
        for key in ["load", "of"] {
            if reader.node(key).is_some() {
                return Err(reader.bad(key, format!("`{key}` and `per-second` exclude each other")));
            }
        }
        return Ok(Load::PerSecond(reader.within("per-second", 0.0, 0.0..=1e9)?));
    }
    let share = load_share(reader)?;
    let of = reader.need_node("of")?;
    let link = around.names.link(context, of)?;
    let Some(&(_, entered)) = around.path.iter().find(|(on, _)| *on == link) else {
        let names = (around.from.0, around.to.0);
        let (from, to) = (&around.names.nodes[names.0], &around.names.nodes[names.1]);
        let why = format!("the way from `{from}` to `{to}` does not lead over `{}`", of.label());
        return Err(context.value_error(of, why));
    };
    let direction = around.links[link.0].from(entered).expect("the way enters at an end");
    let Some(rate) = &direction.rate else {
        let why = format!("`{}` has no `rate` to take a share of", of.label());
        return Err(context.value_error(of, why));
    };
    let bits = rate.at(Duration::ZERO).bits_per_sec() as f64 * share;
    Ok(Load::Share { share, link, rate: Rate::from_bits_per_sec(bits.round() as u64) })
}

/// "20%" or 0.2; more than one is an overload, which may be wanted.
fn load_share(reader: &Reader<'_>) -> Result<f64> {
    let node = reader.need_node("load")?;
    let share = match &node.value {
        crate::document::Value::Text(text) => {
            let number = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
            number.map(|number| number / 100.0)
        }
        _ => Some(reader.need("load")?),
    };
    share
        .filter(|share| (0.0..=100.0).contains(share))
        .ok_or_else(|| reader.context.type_error(node, "a share such as \"20%\" or 0.2"))
}
