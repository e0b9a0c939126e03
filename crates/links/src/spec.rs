//! The two directions of a link: each has a rate, a delay, a queue, losses and impairments.

use crate::directions::Directions;
use crate::impairment::{self, IMPAIRMENTS, Impairments};
use crate::loss::{self, Outages, merge_spans};
use crate::profile::Ground;
use crate::queue::{self, read_queue};
use crate::trace::Trace;
use bentpipe_config::document::Table;
use bentpipe_config::reader::{Context, Reader, Result, Section, field, one_of};
use bentpipe_core::link::{Framing, Line, LossKind, Order, QueueKind, Varying};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Probability, Rate};
use rand_pcg::Pcg64Mcg;

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionSpec {
    /// Bottleneck rate; `None` sends in no time.
    pub rate: Option<Varying<Rate>>,
    /// The link layer's addition to each packet on the line.
    pub framing: Framing,
    /// The medium that it shares with all directions which name it, one packet at a time.
    pub medium: Option<String>,
    /// Propagation delay.
    pub delay: Varying<Duration>,
    /// The queue before the line.
    pub queue: QueueKind,
    /// The order of packets where the delay shrinks.
    pub order: Order,
    /// The losses of packets.
    pub loss: LossKind,
    /// Probability that a bit is wrong; one wrong bit loses its packet.
    pub bit_errors: Varying<Probability>,
    /// When nothing passes.
    pub outages: Vec<Outages>,
    /// Jitter, reordering, duplicates, damage.
    pub impairments: Impairments,
}

impl DirectionSpec {
    /// All outages that begin within `duration`, by chance drawn from `rng`: spans (beginning,
    /// length), in order, none touching the next.
    pub fn outage_spans(
        &self,
        rng: &mut Pcg64Mcg,
        duration: Duration,
    ) -> Vec<(Duration, Duration)> {
        let mut spans: Vec<_> =
            self.outages.iter().flat_map(|outages| outages.spans(rng, duration)).collect();
        merge_spans(&mut spans);
        spans
    }
}

/// The tables of a direction and all in it, in the order of the reference.
pub fn sections() -> impl Iterator<Item = &'static Section> {
    const FIRST: &[&Section] = &[&DIRECTION, &IMPAIRMENTS, &impairment::MEDIUM];
    const LAST: &[&Section] = &[&loss::GILBERT_ELLIOTT, &loss::OUTAGE, &loss::RANDOM_OUTAGES];
    FIRST.iter().copied().chain(queue::sections()).chain(LAST.iter().copied())
}

/// The keys of a direction, but for its [`IMPAIRMENTS`].
pub const DIRECTION: Section = Section {
    path: "link.NAME (and its `back`)",
    about: "A direction of a link. The rate counts IP packets with their headers, and what `overhead` adds to each. Utilisation and \
            counters are of packets without it.",
    fields: &[
        field("rate", "a rate, or `unlimited`", "the profile's; else unlimited", "of the line"),
        field(
            "overhead",
            "bytes",
            "0B",
            "what the link layer adds to each packet on the line; Ethernet: 38B (preamble, header, checksum, gap)",
        ),
        field(
            "min-packet",
            "bytes",
            "0B",
            "shorter packets are padded to this on the line; Ethernet: 46B",
        ),
        field(
            "medium",
            "a name of yours, or `none`",
            "`none`",
            "directions that name the same medium share it, one packet at a time: both of a half-duplex link, or those of several stations. See below",
        ),
        field(
            "delay",
            "a time",
            "the profile's or the orbit's; else 0s",
            "of propagation, one way",
        ),
        field("queue", "a limit, or a table", queue::DEFAULT, "what waits for the line"),
        field(
            "loss",
            "a probability",
            "0",
            "that a packet is lost, independently; or bursts as `bentpipe link` takes them: `gilbert-elliott:burst=5,loss=1%`",
        ),
        field(
            "bit-errors",
            "a probability",
            "0",
            "that a bit is wrong, independently; one loses its packet",
        ),
        field("gilbert-elliott", "a table", "", "losses in bursts, instead of `loss`"),
        one_of::<Order>(
            "order",
            "`kept`",
            "what a shrinking delay does: a packet waits for the one before it, or overtakes",
        ),
        field(
            "outages",
            "a list, a table or a text",
            "",
            "when nothing passes; as a text `10s+500ms,60s+2s`, or `periodic:first=10s,lasting=2s,every=60s`",
        ),
        field(
            "trace",
            "a file's name, or a list",
            "",
            "a rate, delay, loss or bit errors over time, which override the above (but not what `back` says itself, where it has no trace of its own). The file is found next to the scenario and known by its content: CSV with a header, moments of mahimahi's, JSON of irtt and others, each as it is or as gzip ([which](link.md#what-a-trace-may-be)). `[\"bw_1.txt\", \"delay_1.txt\"]` are LeoReplayer's rates and delays, `[\"x.down\", \"x.up\"]` a pair of mahimahi's: down is from the first of `between` to the second. `bdp` of a queue is by the greatest rate: say a queue of your own",
        ),
        field(
            "trace-period",
            "a time",
            "the last value holds; mahimahi's last moment",
            "after this time the trace begins again, and again",
        ),
    ],
    example: "back = { trace = \"uplink.csv\", queue = \"30packets\" }",
};

/// Reads both directions of the link `name`, forward first. Its `ground` holds for what a direction
/// does not say.
///
/// # Errors
/// The first thing that is wrong.
pub fn read_directions(
    reader: &Reader<'_>,
    name: &str,
    [ground, back_ground]: [&Ground; 2],
) -> Result<[DirectionSpec; 2]> {
    let context = reader.context;
    let forward = direction(reader, ground, &[], Directions::Forward)?;
    // What `back` does not say is as in the forward direction.
    let sections = [&DIRECTION, &IMPAIRMENTS];
    let own: Vec<_> = sections.iter().flat_map(|s| s.fields).map(|field| field.key).collect();
    let mut table = Table {
        entries: reader
            .table
            .entries
            .iter()
            .filter(|e| own.contains(&e.key.as_str()))
            .cloned()
            .collect(),
    };
    // A trace that `back` does not name itself gives way to what it does say.
    let mut firm = Vec::new();
    if let Some(node) = reader.node("back") {
        let back = Reader::open(context, node, &format!("[link.{name}.back]"), &sections)?;
        if back.node("trace").is_none() {
            firm.extend(back.table.keys());
        }
        for (one, other) in [("loss", "gilbert-elliott"), ("gilbert-elliott", "loss")] {
            // They exclude each other: what `back` says replaces what it would inherit.
            if back.node(one).is_some() {
                table.remove(other);
            }
        }
        for entry in &back.table.entries {
            table.set(&entry.key, entry.key_at, entry.node.clone());
        }
    }
    let name_back = format!("[link.{name}.back]");
    let merged = Reader::of_table(context, &table, reader.at, &name_back, &sections)?;
    let back = direction(&merged, back_ground, &firm, Directions::Back)?;
    Ok([forward, back])
}

/// Reads the direction `way`; a trace does not override what is said for the keys that are `firm`.
pub(crate) fn direction(
    reader: &Reader<'_>,
    ground: &Ground,
    firm: &[&str],
    way: Directions,
) -> Result<DirectionSpec> {
    let context: &Context<'_> = reader.context;
    let unlimited = reader.node("rate").is_some_and(|rate| rate.label() == "unlimited");
    let mut rate = match unlimited {
        true => None,
        false => reader.maybe("rate")?.or(ground.rate).map(Varying::Constant),
    };
    let mut delay = reader.maybe("delay")?.map_or_else(|| ground.delay.clone(), Varying::Constant);
    let mut loss = loss::independent(reader)?;
    let mut bit_errors = Varying::Constant(reader.or("bit-errors", Probability::ZERO)?);
    if let Some(node) = reader.node("trace") {
        let trace = Trace::read(context, node, reader.maybe("trace-period")?, way)?;
        let free = |key: &str| !firm.contains(&key);
        let traced = trace.rate.filter(|_| free("rate"));
        rate = traced.map(Varying::from).or(rate);
        delay = trace.delay.filter(|_| free("delay")).map_or(delay, Varying::from);
        loss = trace.loss.filter(|_| free("loss")).map(Varying::from).or(loss);
        let traced = trace.bit_errors.filter(|_| free("bit-errors"));
        bit_errors = traced.map_or(bit_errors, Varying::from);
    }
    if rate.as_ref().is_some_and(|rate| rate.greatest().bits_per_sec() == 0) {
        return Err(reader.bad("rate", "a link at 0bit/s passes nothing"));
    }
    let impairments = Impairments::read(reader)?;
    let way = delay.greatest() + impairments.mean_jitter();
    let line = Line { rate: rate.as_ref().map(Varying::greatest), delay: way };
    let loss = loss::kind(reader, loss)?;
    let order = reader.choice("order")?;
    let mut outages = Vec::new();
    if let Some(own) = reader.maybe::<Outages>("outages")? {
        outages.push(own);
    }
    if !ground.outages.is_empty() {
        outages.push(Outages::Planned(ground.outages.clone()));
    }
    let zero = Bytes::new(0);
    let framing = Framing {
        overhead: reader.or("overhead", zero)?,
        min_packet: reader.or("min-packet", zero)?,
    };
    let medium = reader.maybe::<String>("medium")?.filter(|medium| medium != "none");
    if medium.is_some() && rate.is_none() {
        return Err(reader.bad("medium", "a direction without `rate` takes no time on its medium"));
    }
    Ok(DirectionSpec {
        rate,
        framing,
        medium,
        delay,
        queue: read_queue(context, reader.node("queue"), line)?,
        order,
        loss,
        bit_errors,
        outages,
        impairments,
    })
}

/// Reads `mtu`, of both directions, if there is one.
///
/// # Errors
/// No link has it.
pub fn read_mtu(reader: &Reader<'_>) -> Result<Option<u32>> {
    let Some(bytes) = reader.maybe::<Bytes>("mtu")? else { return Ok(None) };
    let mtu = u32::try_from(bytes.count()).ok().filter(|mtu| (68..=65_535).contains(mtu));
    match mtu {
        Some(mtu) => Ok(Some(mtu)),
        None => Err(reader.bad("mtu", format!("an MTU of {bytes} (expected 128B to 65535B)"))),
    }
}
