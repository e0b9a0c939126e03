//! Loss of packets on a link, apart from its queue.

use crate::distribution::RandomTime;
use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, FromNode, Reader, Result, Section, field};
use bentpipe_core::link::{self, GilbertElliott, LossKind, States, Varying};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Probability;
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

/// When a link passes nothing: what is sent then is lost.
#[derive(Debug, Clone, PartialEq)]
pub enum Outages {
    /// Spans (beginning, length), in order, apart from each other.
    Planned(Vec<(Duration, Duration)>),
    /// Of the same length, at equal intervals.
    Periodic {
        /// When the first begins.
        first: Duration,
        /// Its length.
        lasting: Duration,
        /// From the beginning of one to that of the next.
        every: Duration,
    },
    /// Again and again, by chance.
    Random {
        /// From the end of an outage (or the beginning of the run) to the next one.
        every: RandomTime,
        /// Its length.
        lasting: RandomTime,
    },
}

impl Outages {
    /// None.
    pub const NONE: Outages = Outages::Planned(Vec::new());

    /// The outages that begin within `duration`, as spans (beginning, length) in order.
    ///
    /// Those by chance are drawn from `rng`.
    pub fn spans(&self, rng: &mut Pcg64Mcg, duration: Duration) -> Vec<(Duration, Duration)> {
        let (every, lasting) = match self {
            Outages::Planned(spans) => {
                return spans.iter().copied().filter(|(at, _)| *at < duration).collect();
            }
            Outages::Periodic { first, lasting, every } => {
                let count = duration.saturating_sub(*first).as_nanos().div_ceil(every.as_nanos());
                let begin = |n: u128| *first + Duration::from_nanos((n * every.as_nanos()) as u64);
                return (0..count).map(|n| (begin(n), *lasting)).collect();
            }
            Outages::Random { every, lasting } => (every, lasting),
        };
        let mut spans = Vec::new();
        let mut at = every.sample(rng);
        while at < duration {
            let length = lasting.sample(rng);
            spans.push((at, length));
            // Time goes on even where both are drawn as nothing.
            at += (length + every.sample(rng)).max(Duration::from_micros(1));
        }
        merge_spans(&mut spans);
        spans
    }
}

/// Puts spans (beginning, length) in order and joins those that touch; empty ones go.
pub fn merge_spans(spans: &mut Vec<(Duration, Duration)>) {
    spans.retain(|(_, length)| !length.is_zero());
    spans.sort();
    let mut merged: Vec<(Duration, Duration)> = Vec::with_capacity(spans.len());
    for (at, length) in spans.drain(..) {
        match merged.last_mut() {
            Some(last) if last.0 + last.1 >= at => last.1 = last.1.max(at + length - last.0),
            _ => merged.push((at, length)),
        }
    }
    *spans = merged;
}

pub(crate) const GILBERT_ELLIOTT: Section = Section {
    path: "link.NAME.gilbert-elliott",
    about: "Losses in bursts: a channel with a good and a bad state (Gilbert 1960, Elliott 1963). \
            The state changes with each packet (`good-to-bad`, `bad-to-good`), or in time \
            (`mean-good`, `mean-bad`).",
    fields: &[
        field("good-to-bad", "a probability", "", "of turning bad, for each packet"),
        field(
            "bad-to-good",
            "a probability",
            "",
            "of turning good; its inverse is the mean burst in packets",
        ),
        field("mean-good", "a time", "", "mean time in the good state, exponential"),
        field("mean-bad", "a time", "", "mean time in the bad state, exponential"),
        field("good-loss", "a probability", "0", "of loss while good"),
        field("bad-loss", "a probability", "1", "of loss while bad"),
    ],
    example: "gilbert-elliott = { good-to-bad = 0.001, bad-to-good = 0.2 }",
};

/// Reads the table `gilbert-elliott`.
fn gilbert_elliott(context: &Context<'_>, node: &Node) -> Result<GilbertElliott> {
    let reader = Reader::open(context, node, "gilbert-elliott", &[&GILBERT_ELLIOTT])?;
    let in_time = reader.node("mean-good").or(reader.node("mean-bad"));
    let states = match in_time {
        None => {
            States::PerPacket { p: reader.need("good-to-bad")?, r: reader.need("bad-to-good")? }
        }
        Some(_) => {
            if let Some(key) =
                ["good-to-bad", "bad-to-good"].iter().find(|key| reader.node(key).is_some())
            {
                let why = format!("`{key}` (per packet) and means in time exclude each other");
                return Err(reader.bad(key, why));
            }
            let (good, bad): (Duration, _) = (reader.need("mean-good")?, reader.need("mean-bad")?);
            if good.min(bad) < States::MIN_SOJOURN {
                return Err(context.value_error(node, "mean times must be 1us at least"));
            }
            States::InTime { good, bad }
        }
    };
    // The file gives probabilities of loss, the model those of arrival.
    let arrives = |lost: Probability| {
        Probability::new(1.0 - lost.value()).expect("the complement of a probability is one")
    };
    Ok(GilbertElliott {
        states,
        k: arrives(reader.or("good-loss", Probability::ZERO)?),
        h: arrives(reader.or("bad-loss", Probability::ONE)?),
    })
}

pub(crate) const OUTAGE: Section = Section {
    path: "link.NAME.outages, planned",
    about: "A list of tables, in order.",
    fields: &[
        field("at", "a time", "", "when it begins"),
        field("lasting", "a time", "", "how long it lasts"),
    ],
    example: "outages = [{ at = \"10s\", lasting = \"2s\" }, { at = \"60s\", lasting = \"500ms\" }]",
};

pub(crate) const RANDOM_OUTAGES: Section = Section {
    path: "link.NAME.outages, random",
    about: "One table.",
    fields: &[
        field("every", "a random time", "", "from the end of an outage to the next one"),
        field("lasting", "a random time", "", "how long each lasts"),
    ],
    example: "outages = { every = { exponential = \"60s\" }, lasting = \"200ms\" }",
};

/// `loss`, where it is a probability.
pub(crate) fn independent(reader: &Reader<'_>) -> Result<Option<Varying<Probability>>> {
    match bursts_by_text(reader) {
        Some(_) => Ok(None),
        None => Ok(reader.maybe("loss")?.map(Varying::Constant)),
    }
}

/// `loss`, where it is a text about bursts.
fn bursts_by_text<'a>(reader: &Reader<'a>) -> Option<(&'a Node, &'a str)> {
    let node = reader.node("loss")?;
    match &node.value {
        Value::Text(text) if text.trim().starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Some((node, text))
        }
        _ => None,
    }
}

/// How packets are lost: in bursts, or else with the probability `independent`.
pub(crate) fn kind(
    reader: &Reader<'_>,
    independent: Option<Varying<Probability>>,
) -> Result<LossKind> {
    let table = reader.node("gilbert-elliott");
    let bursts = table.map(|node| gilbert_elliott(reader.context, node)).transpose()?;
    let mut bursts = bursts.map(LossKind::GilbertElliott);
    let both = bursts.is_some() && reader.node("loss").is_some();
    if let Some((node, text)) = bursts_by_text(reader).filter(|_| !both) {
        let parsed = text.parse::<LossKind>();
        bursts = Some(parsed.map_err(|why| reader.context.value_error(node, why.to_string()))?);
    }
    match (bursts, independent) {
        (None, loss) => {
            Ok(LossKind::Independent(loss.unwrap_or(Varying::Constant(Probability::ZERO))))
        }
        (Some(bursts), None) if !both => Ok(bursts),
        _ => {
            let why = "`gilbert-elliott` and `loss` exclude each other (see its `good-loss`)";
            Err(reader.bad("gilbert-elliott", why))
        }
    }
}

/// Outages as a text, in the form of the core.
fn by_text(text: &str) -> std::result::Result<Outages, link::LinkTextError> {
    let outages: link::Outages = text.parse()?;
    Ok(match (outages.period(), outages.times()) {
        (Some((first, lasting, every)), _) => Outages::Periodic { first, lasting, every },
        (None, times) => {
            let span = |time: &Range<Instant>| {
                let begin = time.start.saturating_since(Instant::ZERO);
                (begin, time.end.saturating_since(time.start))
            };
            Outages::Planned(times.unwrap_or_default().iter().map(span).collect())
        }
    })
}

impl FromNode for Outages {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Outages> {
        if let Value::Table(_) = node.value {
            let reader = Reader::open(context, node, "outages", &[&RANDOM_OUTAGES])?;
            let (every, lasting): (RandomTime, _) =
                (reader.need("every")?, reader.need("lasting")?);
            if every.mean_seconds() < 1e-3 {
                return Err(
                    reader.bad("every", "outages must be 1ms apart at least, on the average")
                );
            }
            return Ok(Outages::Random { every, lasting });
        }
        if let Value::Text(text) = &node.value {
            return by_text(text).map_err(|why| context.value_error(node, why.to_string()));
        }
        let Value::List(list) = &node.value else {
            let expected = "a list of { at, lasting }, or a table { every, lasting }";
            return Err(context.type_error(node, expected));
        };
        let mut spans: Vec<(Duration, Duration)> = Vec::new();
        for item in list {
            let reader = Reader::open(context, item, "an outage", &[&OUTAGE])?;
            let (at, lasting) = (reader.need("at")?, reader.need("lasting")?);
            if spans.last().is_some_and(|(before, length)| *before + *length > at) {
                return Err(context.value_error(item, "outages must be in order and not overlap"));
            }
            spans.push((at, lasting));
        }
        Ok(Outages::Planned(spans))
    }
}
