//! What looks at packets that pass a node, and does something with them: the remedies inside the
//! network that the papers and RFC 3135 and 3449 weigh.

use crate::names::{LinkIndex, Names, NodeIndex};
use bentpipe_config::TcpLayer;
use bentpipe_config::reader::{Reader, Result, Section, field, one_of};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};

/// A middlebox at a node, looking towards one of its links.
#[derive(Debug, Clone, PartialEq)]
pub struct Middlebox {
    /// Its name in the file.
    pub name: String,
    /// Where it stands.
    pub at: NodeIndex,
    /// Which link of that node it looks at.
    pub link: LinkIndex,
    /// What it does.
    pub kind: MiddleboxKind,
}

/// What a middlebox does. "Out" is onto its link, "in" is from it.
#[derive(Debug, Clone, PartialEq, strum::EnumDiscriminants)]
#[strum_discriminants(
    vis(pub(crate)),
    name(Kind),
    derive(strum::VariantArray, strum::VariantNames, strum::IntoStaticStr),
    strum(serialize_all = "kebab-case")
)]
pub enum MiddleboxKind {
    /// Spreads acknowledgments that go out (the draft of bbn on ACK spacing).
    AckSpacer {
        /// The rate at which the data that they release may be sent; none: as the box estimates it.
        rate: Option<Rate>,
    },
    /// Of acknowledgments that go out, waiting ones that a newer one makes superfluous are removed
    /// (RFC 3449, 5.2.1).
    AckFilter,
    /// Of acknowledgments that go out, only every so many pass.
    AckDecimator {
        /// One of so many.
        one_in: u32,
        /// None waits for its turn longer than this.
        longest: Duration,
    },
    /// Keeps copies of segments that go out, and retransmits lost ones (Balakrishnan et al. 1995).
    Snoop {
        /// The most bytes that it keeps.
        memory: Bytes,
        /// Its minimum timeout.
        min_timeout: Duration,
    },
    /// Acknowledges what comes from elsewhere before it goes out, and answers for its delivery
    /// (henderson, 4.3.1).
    Spoof {
        /// The most bytes that it keeps.
        memory: Bytes,
    },
    /// Takes the connections of Web clients that go out, answers requests for what it holds, and
    /// fetches the rest on connections of its own.
    WebCache {
        /// The probability that it holds an object.
        hits: f64,
        /// Its TCP, towards clients and towards servers.
        tcp: Box<ConnectionConfig>,
    },
    /// Poses as a gateway in what goes out, and reports what is not so.
    Liar {
        /// In whose name.
        alias: Alias,
        /// So many times the bytes that arrived.
        bytes: f64,
        /// So many times as fast as time goes.
        clock: f64,
    },
}

/// The identity that a [liar](MiddleboxKind::Liar) uses.
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
pub enum Alias {
    /// Its own.
    #[default]
    Own,
    /// Another one in each report.
    New,
    /// That of the last gateway whose report has passed.
    Stolen,
}

pub(crate) const MIDDLEBOX: Section = Section {
    path: "middlebox.NAME",
    about: "Something at a node that looks at the packets that pass over one of its links.",
    fields: &[
        one_of::<Kind>("kind", "", "what it does"),
        field("at", "a node's name", "", "where it stands"),
        field(
            "link",
            "a link's name",
            "",
            "onto which link of that node the packets go that it handles",
        ),
    ],
    example: "[middlebox.thinner]\nkind = \"ack-decimator\"\nat = \"client-router\"\nlink = \"return\"\none-in = 4",
};

pub(crate) const ACK_SPACER: Section = Section {
    path: "middlebox.NAME, ack-spacer",
    about: "Holds acknowledgments back so that what they release keeps to a rate.",
    fields: &[field(
        "rate",
        "a rate",
        "the bottleneck's, estimated",
        "at which data that they release may be sent; an estimate is the greatest rate at which \
         acknowledgments have come to the box in the last 10 s, and 5 %",
    )],
    example: "",
};

pub(crate) const ACK_FILTER: Section = Section {
    path: "middlebox.NAME, ack-filter",
    about: "Removes acknowledgments from the link's queue that a newer one of their connection \
            makes superfluous (RFC 3449, 5.2.1). Has no keys of its own.",
    fields: &[],
    example: "",
};

pub(crate) const ACK_DECIMATOR: Section = Section {
    path: "middlebox.NAME, ack-decimator",
    about: "Lets one of several acknowledgments of a connection pass.",
    fields: &[
        field("one-in", "2 to 1000", "2", "one of so many"),
        field("longest", "a time", "200ms", "none is held longer"),
    ],
    example: "",
};

pub(crate) const SNOOP: Section = Section {
    path: "middlebox.NAME, snoop",
    about: "Retransmits segments that were lost on the link, before all that waits for it, and hides the \
            loss from the sender.",
    fields: &[
        field("memory", "bytes", "64KiB", "for copies"),
        field("min-timeout", "a time", "20ms", "before a copy is retransmitted unasked"),
    ],
    example: "",
};

pub(crate) const SPOOF: Section = Section {
    path: "middlebox.NAME, spoof",
    about: "Acknowledges data in the far host's name and answers for its delivery; the connection \
            itself stays end to end. Segments pass as the sender sends them (Henderson, 4.3.1, has \
            them pass without alteration, and names no congestion control), so that towards the \
            link there is none but the far host's window and `memory`, and the sender does not learn \
            of what the link drops. The link's queue should hold the window: with one that does not, \
            what it drops comes again hole by hole, and a connection is slower than without the box.",
    fields: &[field("memory", "bytes", "4MiB", "for what it has acknowledged")],
    example: "",
};

pub(crate) const WEB_CACHE: Section = Section {
    path: "middlebox.NAME, web-cache",
    about: "A transparent Web cache. It takes the connections that Web clients open over the link, in \
            the server's name, and answers at once for each object that it holds. The others it fetches \
            and passes on as they come: over a connection of its own for each connection of a client, \
            begun at its first miss, kept or closed after one reply as the client's is, pipelined if \
            the client's is. Which objects it holds is drawn for each object of a flow, from the \
            same random numbers whatever `hits` is: what is a hit at 0.3 is one at 0.5; a run adds \
            nothing to its store. It takes the workloads `http/1.0`, `http/1.1`, \
            `http/1.1-pipelined` and `web`. All others pass, and so do connections without a \
            handshake (`opening=prearranged`).",
    fields: &[
        field("hits", "0 to 1", "0", "the probability that it holds an object"),
        field(
            "tcp",
            "TCP settings",
            "those of the file",
            "its own, towards clients and servers; Nagle's algorithm is off, and connections begin with a handshake",
        ),
    ],
    example: "[middlebox.cache]\nkind = \"web-cache\"\nat = \"client-router\"\nlink = \"return\"\nhits = 0.4",
};

pub(crate) const LIAR: Section = Section {
    path: "middlebox.NAME, liar",
    about: "Poses as a gateway to the gateways that its node's packets reach: SYNs and SYN-ACKs that go \
            out announce one, and each acknowledgment without data reports arrivals that are made up.",
    fields: &[
        one_of::<Alias>("alias", "`own`", "the identity that it reports by"),
        field("bytes", "0 to 1e9", "1", "so many times what has arrived is reported"),
        field("clock", "-1e6 to 1e6", "1", "so many times as fast as time goes its clock"),
    ],
    example: "[middlebox.boaster]\nkind = \"liar\"\nat = \"client-router\"\nlink = \"return\"\nbytes = 100",
};

impl Kind {
    /// The keys of its own.
    pub(crate) fn section(self) -> &'static Section {
        match self {
            Kind::AckSpacer => &ACK_SPACER,
            Kind::AckFilter => &ACK_FILTER,
            Kind::AckDecimator => &ACK_DECIMATOR,
            Kind::Snoop => &SNOOP,
            Kind::Spoof => &SPOOF,
            Kind::WebCache => &WEB_CACHE,
            Kind::Liar => &LIAR,
        }
    }
}

impl Middlebox {
    pub(crate) fn read(
        reader: &Reader<'_>,
        name: &str,
        names: &Names,
        below: ConnectionConfig,
    ) -> Result<Middlebox> {
        let context = reader.context;
        let at = names.node(context, reader.need_node("at")?)?;
        let link = names.link(context, reader.need_node("link")?)?;
        let kind = match context.choice(reader.need_node("kind")?, "middlebox")? {
            Kind::AckSpacer => MiddleboxKind::AckSpacer { rate: reader.maybe("rate")? },
            Kind::AckFilter => MiddleboxKind::AckFilter,
            Kind::AckDecimator => MiddleboxKind::AckDecimator {
                one_in: reader.within("one-in", 2, 2..=1000)?,
                longest: reader.or("longest", Duration::from_millis(200))?,
            },
            Kind::Snoop => MiddleboxKind::Snoop {
                memory: reader.or("memory", Bytes::new(64 << 10))?,
                min_timeout: reader.or("min-timeout", Duration::from_millis(20))?,
            },
            Kind::Spoof => {
                MiddleboxKind::Spoof { memory: reader.or("memory", Bytes::new(4 << 20))? }
            }
            Kind::WebCache => {
                let tcp = reader.or("tcp", TcpLayer::default())?.over(below);
                let hits = reader.within("hits", 0.0, 0.0..=1.0)?;
                MiddleboxKind::WebCache { hits, tcp: Box::new(tcp) }
            }
            Kind::Liar => MiddleboxKind::Liar {
                alias: reader.choice("alias")?,
                bytes: reader.within("bytes", 1.0, 0.0..=1e9)?,
                clock: reader.within("clock", 1.0, -1e6..=1e6)?,
            },
        };
        Ok(Middlebox { name: name.to_owned(), at, link, kind })
    }
}
