//! Workloads as they are read.

use super::*;
use crate::link::Link;
use crate::names::{Names, NodeIndex};
use bentpipe_config::document::Value;
use bentpipe_config::reader::{Reader, Result};
use bentpipe_core::time::Instant;
use bentpipe_links::measured;

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
    pub(crate) fn read(
        reader: &Reader<'_>,
        kind: WorkloadKind,
        around: &Around<'_>,
    ) -> Result<Workload> {
        match kind {
            WorkloadKind::Bulk => Ok(Workload::Bulk {
                bytes: reader.maybe("bytes")?,
                opened_by: reader.choice("opened-by")?,
                barrier: reader.maybe("barrier")?,
            }),
            WorkloadKind::RequestResponse => Ok(Workload::RequestResponse {
                request: reader.or("request", RandomSize::constant(REQUEST))?,
                reply: reader.need("reply")?,
                server_delay: reader.or("server-delay", RandomTime::ZERO)?,
                think: reader.or("think", RandomTime::ZERO)?,
                requests: reader.maybe("requests")?,
                connection: reader.choice("connection")?,
            }),
            WorkloadKind::Http10 => http(reader, HttpVersion::Http10, 4),
            WorkloadKind::Http11 => http(reader, HttpVersion::Http11, 2),
            WorkloadKind::Pipelined => http(reader, HttpVersion::Pipelined, 1),
            WorkloadKind::Http2 => http2(reader).map(Workload::Http2),
            WorkloadKind::Telnet => {
                let typing = RandomTime(Distribution::Measured(measured::TELNET.to_vec()));
                Ok(Workload::Telnet {
                    between: reader.or("between", typing)?,
                    keystroke: some_bytes(reader, "keystroke", 1)?,
                    echo: reader.or("echo", Bytes::new(1))?,
                })
            }
            WorkloadKind::Web => Ok(Workload::Web {
                load: load(reader, around)?,
                connections: reader.within("connections", 4, 1..=100)?,
            }),
            WorkloadKind::Poisson => {
                let pareto = Distribution::pareto_of_mean(10_000.0, 1.5, Some(100_000.0));
                let size = RandomSize {
                    distribution: pareto.expect("there is one of this mean"),
                    multiple_of: 1000,
                };
                let size = reader.or("size", size)?;
                Ok(Workload::Poisson { size, load: load(reader, around)? })
            }
            WorkloadKind::Udp => {
                let rate: Rate = reader.need("rate")?;
                if rate.bits_per_sec() == 0 {
                    return Err(reader.bad("rate", "a flow at 0bit/s sends nothing"));
                }
                let arrivals = match reader.choice("arrivals")? {
                    ArrivalKind::Constant => Arrivals::Constant(rate),
                    ArrivalKind::OnOff => {
                        let half_a_second = RandomTime(Distribution::Exponential(0.5));
                        let on = reader.or("on", half_a_second.clone())?;
                        let off = reader.or("off", half_a_second)?;
                        if on.mean_seconds() <= 0.0 {
                            return Err(reader.bad("on", "a flow that is never on sends nothing"));
                        }
                        Arrivals::OnOff { rate, on, off }
                    }
                    ArrivalKind::Poisson => Arrivals::Poisson(rate),
                };
                Ok(Workload::Udp { arrivals, packet: packet(reader, 1000, around)? })
            }
            WorkloadKind::Ping => {
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
                let (packet, packets) = (packet(reader, 84, around)?, reader.maybe("packets")?);
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

fn http2(reader: &Reader<'_>) -> Result<Http2> {
    let sized = |key: &str, usual: u64, max: u64| {
        let bytes = reader.or(key, Bytes::new(usual))?;
        if (1..=max).contains(&bytes.count()) {
            return Ok(bytes);
        }
        Err(reader.bad(key, format!("{key} = {bytes} (expected 1B to {max}B)")))
    };
    Ok(Http2 {
        page: reader.need("page")?,
        streams: reader.within("streams", 100, 1..=10_000)?,
        frame: sized("frame", 16_384, 16_777_215)?,
        ahead: sized("send-ahead", 65_536, 1 << 32)?,
        request: reader.or("request", RandomSize::constant(REQUEST))?,
        server_delay: reader.or("server-delay", RandomTime::ZERO)?,
        think: reader.or("think", RandomTime::ZERO)?,
        pages: Some(reader.or("pages", 1)?).filter(|pages| *pages > 0),
    })
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
fn packet(reader: &Reader<'_>, default: u64, around: &Around<'_>) -> Result<Bytes> {
    let bytes = reader.or("packet", Bytes::new(default))?;
    let links = around.path.iter().map(|(link, _)| &around.links[link.0]);
    let narrow = |link: &&Link| link.mtu.is_some_and(|mtu| u64::from(mtu) < bytes.count());
    if let Some(link) = links.into_iter().find(narrow) {
        let why =
            format!("a packet of {bytes} does not pass link `{}`, whose `mtu` is less", link.name);
        return Err(reader.bad("packet", why));
    }
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
    let bits = rate.at(Instant::ZERO).bits_per_sec() as f64 * share;
    Ok(Load::Share { share, link, rate: Rate::from_bits_per_sec(bits.round() as u64) })
}

/// "20%" or 0.2; more than one is an overload, which may be wanted.
fn load_share(reader: &Reader<'_>) -> Result<f64> {
    let node = reader.need_node("load")?;
    let share = match &node.value {
        Value::Text(text) => {
            let number = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
            number.map(|number| number / 100.0)
        }
        _ => Some(reader.need("load")?),
    };
    share
        .filter(|share| (0.0..=100.0).contains(share))
        .ok_or_else(|| reader.context.type_error(node, "a share such as \"20%\" or 0.2"))
}
