//! The text forms of a link's elements: `name` or `name:key=value,key=value`.

mod write;

use super::gilbert_elliott::{GilbertElliott, States};
use super::{CoDelConfig, LossKind, Measure, Outages, OutagesError, PolicerConfig, QueueKind};
use super::{QueueLimit, QueueLimitError, RedConfig};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, ParseError, Probability, Rate, parse_duration};
use std::str::FromStr;

/// Why the text of a link's element was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkTextError {
    /// Nothing is called so.
    #[error("no {what} is called `{name}` (expected something like {expected})")]
    Name {
        /// What was looked for.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// Texts that would have been understood.
        expected: &'static str,
    },
    /// There is no such parameter here, or it was given twice.
    #[error("`{name}` does not take `{key}` here, or takes it once (expected {expected})")]
    Key {
        /// Of what.
        name: String,
        /// The parameter.
        key: String,
        /// The parameters that there are.
        expected: &'static str,
    },
    /// A parameter cannot have this value.
    #[error("`{value}` is no value for `{name}`'s `{key}` (expected {expected})")]
    Value {
        /// Of what.
        name: String,
        /// The parameter.
        key: &'static str,
        /// What was given.
        value: String,
        /// What would have been understood.
        expected: &'static str,
    },
    /// A parameter is missing.
    #[error("`{name}` needs `{key}` (expected {expected})")]
    Missing {
        /// Of what.
        name: String,
        /// The parameter.
        key: &'static str,
        /// What would have been understood.
        expected: &'static str,
    },
    /// No queue limit.
    #[error(transparent)]
    Limit(#[from] QueueLimitError),
    /// No quantity.
    #[error(transparent)]
    Quantity(#[from] ParseError),
    /// No times for outages.
    #[error(transparent)]
    Outages(#[from] OutagesError),
}

/// A text, taken apart.
struct Parameters<'a> {
    name: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
    keys: &'static str,
}

impl<'a> Parameters<'a> {
    /// Of `name`, whose parameters are like `keys`.
    fn read(name: &'a str, text: &'a str, keys: &'static str) -> Parameters<'a> {
        let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let pairs = pairs.map(|(key, value)| (key.trim(), value.trim())).collect();
        Parameters { name, pairs, keys }
    }

    fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(found, _)| *found == key)
    }

    /// The value of `key`, if it is there; `read` understands what `expected` describes.
    fn take<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, LinkTextError> {
        let Some(at) = self.pairs.iter().position(|(found, _)| *found == key) else {
            return Ok(None);
        };
        let (_, value) = self.pairs.remove(at);
        let name = || self.name.to_owned();
        let error = || LinkTextError::Value { name: name(), key, value: value.into(), expected };
        read(value).map(Some).ok_or_else(error)
    }

    fn need<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, LinkTextError> {
        let name = self.name.to_owned();
        self.take(key, expected, read)?.ok_or(LinkTextError::Missing { name, key, expected })
    }

    /// Nothing is left that nobody has taken.
    fn finish<T>(self, made: T) -> Result<T, LinkTextError> {
        match self.pairs.first() {
            None => Ok(made),
            Some((key, _)) => Err(LinkTextError::Key {
                name: self.name.to_owned(),
                key: (*key).to_owned(),
                expected: self.keys,
            }),
        }
    }
}

fn limit(text: &str) -> Option<QueueLimit> {
    text.parse().ok()
}

fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite())
}

fn probability(text: &str) -> Option<Probability> {
    text.parse().ok()
}

fn span(text: &str) -> Option<Duration> {
    parse_duration(text).ok().filter(|span| !span.is_zero())
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn measure(text: &str) -> Option<Measure> {
    match text {
        "packets" => Some(Measure::Packets),
        "bytes" => Some(Measure::Bytes),
        _ => None,
    }
}

const LIMIT: &str = "something like `50packets`, `64KiB` or `unlimited`";
const PROBABILITY: &str = "a probability like `0.01` or `1%`";
const SPAN: &str = "a time like `100ms`";
const SWITCH: &str = "`on` or `off`";
const MEASURE: &str = "`packets` or `bytes`";

impl FromStr for QueueKind {
    type Err = LinkTextError;
    fn from_str(text: &str) -> Result<QueueKind, LinkTextError> {
        let text = text.trim();
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "droptail" => Ok(QueueKind::DropTail(rest.parse()?)),
            "red" => red(Parameters::read(name, rest, RED_KEYS)).map(QueueKind::Red),
            "codel" => codel(Parameters::read(name, rest, CODEL_KEYS)).map(QueueKind::CoDel),
            "policer" => {
                policer(Parameters::read(name, rest, POLICER_KEYS)).map(QueueKind::Policer)
            }
            _ if name == "unlimited" || text.starts_with(|c: char| c.is_ascii_digit()) => {
                Ok(QueueKind::DropTail(text.parse()?))
            }
            _ => Err(LinkTextError::Name {
                what: "queue",
                name: name.to_owned(),
                expected: "`420packets`, `500KB`, `unlimited`, `droptail:420packets`, \
                           `red:min=5,max=15`, `codel:target=5ms,interval=100ms` or \
                           `policer:rate=8Mbit/s,burst=30KB`",
            }),
        }
    }
}

const RED_KEYS: &str =
    "limit, min, max, weight, max-p, mean-packet, gentle, wait, average, drops, ecn";

fn red(mut given: Parameters<'_>) -> Result<RedConfig, LinkTextError> {
    let usual = RedConfig::default();
    let not_above_one = |text: &str| positive(text).filter(|number| *number <= 1.0);
    let min_threshold =
        given.take("min", "a number of packets", positive)?.unwrap_or(usual.min_threshold);
    // ns-2 takes three times the minimum where no maximum is given.
    let max_threshold = given
        .take("max", "a number of packets above `min`", |text| {
            positive(text).filter(|max| *max > min_threshold)
        })?
        .unwrap_or(3.0 * min_threshold);
    let packet = |text: &str| text.parse().ok().filter(|bytes: &Bytes| bytes.count() > 0);
    let config = RedConfig {
        min_threshold,
        max_threshold,
        limit: given.take("limit", LIMIT, limit)?.unwrap_or(usual.limit),
        weight: given
            .take("weight", "a number from 0 to 1, like `0.002`", not_above_one)?
            .unwrap_or(usual.weight),
        max_p: given.take("max-p", PROBABILITY, probability)?.unwrap_or(usual.max_p),
        mean_packet: given
            .take("mean-packet", "a length like `500B`", packet)?
            .unwrap_or(usual.mean_packet),
        gentle: given.take("gentle", SWITCH, switch)?.unwrap_or(usual.gentle),
        wait: given.take("wait", SWITCH, switch)?.unwrap_or(usual.wait),
        average: given.take("average", MEASURE, measure)?.unwrap_or(usual.average),
        drops: given.take("drops", MEASURE, measure)?.unwrap_or(usual.drops),
        ecn: given.take("ecn", SWITCH, switch)?.unwrap_or(usual.ecn),
    };
    given.finish(config)
}

const CODEL_KEYS: &str = "limit, target, interval, ecn";

fn codel(mut given: Parameters<'_>) -> Result<CoDelConfig, LinkTextError> {
    let usual = CoDelConfig::default();
    let config = CoDelConfig {
        limit: given.take("limit", LIMIT, limit)?.unwrap_or(usual.limit),
        target: given.take("target", SPAN, span)?.unwrap_or(usual.target),
        interval: given.take("interval", SPAN, span)?.unwrap_or(usual.interval),
        ecn: given.take("ecn", SWITCH, switch)?.unwrap_or(usual.ecn),
    };
    given.finish(config)
}

const POLICER_KEYS: &str = "rate, burst, limit";

fn policer(mut given: Parameters<'_>) -> Result<PolicerConfig, LinkTextError> {
    let rate = |text: &str| text.parse().ok().filter(|rate: &Rate| rate.bits_per_sec() > 0);
    let burst = |text: &str| text.parse().ok().filter(|burst: &Bytes| burst.count() > 0);
    let config = PolicerConfig {
        rate: given.need("rate", "a rate like `8Mbit/s`", rate)?,
        burst: given.need("burst", "a length like `30KB`", burst)?,
        limit: given.take("limit", LIMIT, limit)?.unwrap_or(QueueLimit::Unlimited),
    };
    given.finish(config)
}

impl FromStr for LossKind {
    type Err = LinkTextError;
    fn from_str(text: &str) -> Result<LossKind, LinkTextError> {
        let text = text.trim();
        match text.split_once(':').unwrap_or((text, "")) {
            (name @ "gilbert-elliott", rest) => {
                let given = Parameters::read(name, rest, CHANNEL_KEYS);
                gilbert_elliott(given).map(LossKind::GilbertElliott)
            }
            (name, _) if !text.starts_with(|c: char| c.is_ascii_digit() || "-.+".contains(c)) => {
                Err(LinkTextError::Name {
                    what: "kind of loss",
                    name: name.to_owned(),
                    expected: "`1%`, `1e-4`, `gilbert-elliott:burst=5,loss=1%`, \
                               `gilbert-elliott:p=0.2%,r=20%` or \
                               `gilbert-elliott:good=10s,bad=200ms`",
                })
            }
            _ => Ok(LossKind::from(text.parse::<Probability>()?)),
        }
    }
}

const CHANNEL_KEYS: &str = "burst and loss, or p and r, or good and bad, the latter with h and k";

fn gilbert_elliott(mut given: Parameters<'_>) -> Result<GilbertElliott, LinkTextError> {
    const BURST: &str = "a mean number of packets, at least 1";
    const SHARE: &str = "a share below burst / (burst + 1)";
    if given.has("burst") || given.has("loss") {
        let at_least_one = |text: &str| positive(text).filter(|number| *number >= 1.0);
        let burst = given.need("burst", BURST, at_least_one)?;
        let channel = given
            .need("loss", SHARE, |text| GilbertElliott::from_bursts(burst, probability(text)?))?;
        return given.finish(channel);
    }
    let sojourn = |text: &str| span(text).filter(|span| *span >= States::LEAST_SOJOURN);
    let states = if given.has("good") || given.has("bad") {
        States::InTime {
            good: given.need("good", "a mean time, at least 1us", sojourn)?,
            bad: given.need("bad", "a mean time, at least 1us", sojourn)?,
        }
    } else {
        States::PerPacket {
            p: given.need("p", PROBABILITY, probability)?,
            r: given.need("r", PROBABILITY, probability)?,
        }
    };
    let k = given.take("k", PROBABILITY, probability)?.unwrap_or(Probability::ONE);
    let h = given.take("h", PROBABILITY, probability)?.unwrap_or(Probability::ZERO);
    given.finish(GilbertElliott { states, k, h })
}

impl FromStr for Outages {
    type Err = LinkTextError;
    fn from_str(text: &str) -> Result<Outages, LinkTextError> {
        const PERIODIC: &str = "first, lasting and every";
        let text = text.trim();
        if text == "none" {
            return Ok(Outages::NONE);
        }
        if let Some(rest) = text.strip_prefix("periodic:") {
            let mut given = Parameters::read("periodic", rest, PERIODIC);
            let any = |text: &str| parse_duration(text).ok();
            let first = given.take("first", SPAN, any)?.unwrap_or_default();
            let lasting = given.need("lasting", SPAN, span)?;
            let every = given.need("every", SPAN, span)?;
            return given.finish(Outages::periodic(first, lasting, every)?);
        }
        let time = |text: &str| {
            let (start, lasting) = text.split_once('+').ok_or_else(|| LinkTextError::Name {
                what: "outage",
                name: text.to_owned(),
                expected: "`10s+500ms,60s+2s`, `periodic:first=10s,lasting=2s,every=60s` or `none`",
            })?;
            let start = Instant::ZERO + parse_duration(start)?;
            Ok(start..start + parse_duration(lasting)?)
        };
        let times: Result<Vec<_>, LinkTextError> = text.split(',').map(time).collect();
        Ok(Outages::listed(times?)?)
    }
}
