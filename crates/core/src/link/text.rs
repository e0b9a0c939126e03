//! The text forms of a link's elements: `name` or `name:key=value,key=value`.

mod exact;
mod queue;
mod write;

pub(super) use exact::Exact;

use super::gilbert_elliott::{GilbertElliott, States};
use super::{LossKind, Outages, OutagesError, QueueLimitError};
use crate::text::{PROBABILITY, Parameters, SPAN, TextError, positive, probability, span};
use crate::time::Instant;
use crate::units::{ParseError, Probability, parse_duration};
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
        expected: String,
    },
    /// A parameter is not what it has to be.
    #[error(transparent)]
    Text(#[from] TextError),
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

impl LinkTextError {
    /// The parameter that is at fault, if it is one that was given.
    pub fn key(&self) -> Option<&str> {
        match self {
            LinkTextError::Text(error) => error.key(),
            _ => None,
        }
    }
}

impl FromStr for LossKind {
    type Err = LinkTextError;
    fn from_str(text: &str) -> Result<LossKind, LinkTextError> {
        let text = text.trim();
        let given = Parameters::read(text);
        match given.name() {
            "gilbert-elliott" => Ok(gilbert_elliott(given).map(LossKind::GilbertElliott)?),
            name if !text.starts_with(|c: char| c.is_ascii_digit() || "-.+".contains(c)) => {
                Err(LinkTextError::Name {
                    what: "kind of loss",
                    name: name.to_owned(),
                    expected: "`1%`, `1e-4`, `gilbert-elliott:burst=5,loss=1%`, \
                               `gilbert-elliott:p=0.2%,r=20%` or \
                               `gilbert-elliott:good=10s,bad=200ms`"
                        .to_owned(),
                })
            }
            _ => Ok(LossKind::from(text.parse::<Probability>()?)),
        }
    }
}

fn gilbert_elliott(mut given: Parameters<'_>) -> Result<GilbertElliott, TextError> {
    const BURST: &str = "a mean number of packets, at least 1";
    const SHARE: &str = "a share below burst / (burst + 1)";
    if given.has("burst") || given.has("loss") {
        let at_least_one = |text: &str| positive(text).filter(|number| *number >= 1.0);
        let burst = given.need("burst", BURST, at_least_one)?;
        let channel = given
            .need("loss", SHARE, |text| GilbertElliott::from_bursts(burst, probability(text)?))?;
        return given.finish(channel);
    }
    let sojourn = |text: &str| span(text).filter(|span| *span >= States::MIN_SOJOURN);
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
        let text = text.trim();
        if text == "none" {
            return Ok(Outages::NONE);
        }
        let mut given = Parameters::read(text);
        if given.name() == "periodic" {
            let any = |text: &str| parse_duration(text).ok();
            let first = given.take("first", SPAN, any)?.unwrap_or_default();
            let lasting = given.need("lasting", SPAN, span)?;
            let every = given.need("every", SPAN, span)?;
            return Ok(given.finish(Outages::periodic(first, lasting, every)?)?);
        }
        let time = |text: &str| {
            let (start, lasting) = text.split_once('+').ok_or_else(|| LinkTextError::Name {
                what: "outage",
                name: text.to_owned(),
                expected: "`10s+500ms,60s+2s`, `periodic:first=10s,lasting=2s,every=60s` or `none`"
                    .to_owned(),
            })?;
            let start = Instant::ZERO + parse_duration(start)?;
            Ok(start..start + parse_duration(lasting)?)
        };
        let times: Result<Vec<_>, LinkTextError> = text.split(',').map(time).collect();
        Ok(Outages::listed(times?)?)
    }
}
