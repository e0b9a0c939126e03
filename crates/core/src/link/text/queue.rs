//! How a queue is read, from a text or from the pairs of a table.

use super::LinkTextError;
use crate::link::{
    CoDelConfig, FqCoDelConfig, Measure, PieConfig, PolicerConfig, QueueKind, QueueLimit,
    QueueName, RedConfig,
};
use crate::text::{
    BYTES, Choice, PROBABILITY, Parameters, RATE, SPAN, SWITCH, TextError, bytes, positive,
    probability, rate, span, switch,
};
use crate::time::Duration;
use crate::units::{Bytes, Rate, parse_duration};
use std::str::FromStr;

/// The line behind a queue, which limits in bandwidth-delay products (`1bdp`) refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its rate; None: it sends in no time.
    pub rate: Option<Rate>,
    /// Its delay, one way.
    pub delay: Duration,
}

/// A queue holds ten full-sized packets even where the delay is next to nothing.
const MIN_PRODUCT: u64 = 15_000;

impl Line {
    /// `share` of rate × 2 × delay, of which a whole one is 15 KB at least.
    pub fn limit(self, share: f64) -> QueueLimit {
        let Some(rate) = self.rate else { return QueueLimit::Unlimited };
        let product = rate.bytes_in(self.delay.saturating_mul(2)).max(MIN_PRODUCT);
        QueueLimit::Bytes(Bytes::new((product as f64 * share).round() as u64))
    }
}

const LIMIT: &str = "something like `50packets`, `64KiB`, `1bdp` or `unlimited`";

/// What a queue's limit says. One that holds nothing would pass nothing.
fn limit(line: Option<Line>) -> impl Fn(&str) -> Option<QueueLimit> {
    move |text| {
        if let Some(share) = text.strip_suffix("bdp") {
            let share: f64 = share.trim().parse().ok()?;
            return (share > 0.0 && share <= 1e6).then(|| line.map(|line| line.limit(share)))?;
        }
        match text.parse().ok()? {
            QueueLimit::Packets(0) => None,
            QueueLimit::Bytes(bytes) if bytes.count() == 0 => None,
            limit => Some(limit),
        }
    }
}

impl FromStr for QueueKind {
    type Err = LinkTextError;
    fn from_str(text: &str) -> Result<QueueKind, LinkTextError> {
        QueueKind::of_text(text, None, None)
    }
}

impl QueueKind {
    /// The queue that `text` describes: a limit alone, which is a drop-tail queue's, or a name with
    /// parameters. Limits may refer to a `line`, if there is one; what has none gets the `usual` one,
    /// or else its discipline's.
    ///
    /// # Errors
    /// [`LinkTextError`].
    pub fn of_text(
        text: &str,
        line: Option<Line>,
        usual: Option<QueueLimit>,
    ) -> Result<QueueKind, LinkTextError> {
        let text = text.trim();
        let begins_with_a_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if text == "unlimited" || begins_with_a_number {
            if let Some(limit) = limit(line)(text) {
                return Ok(QueueKind::DropTail(limit));
            }
            // Its error says what is wrong; or it is a limit, but of nothing.
            text.parse::<QueueLimit>()?;
        }
        let given = Parameters::read(text);
        let name = given.kind("queue").map_err(|error| match error {
            TextError::Name { what, name, .. } => LinkTextError::Name {
                what,
                name,
                expected: "`420packets`, `500KB`, `1bdp`, `unlimited`, `drop-tail:limit=420packets`, \
                           `red:min-threshold=5,max-threshold=15`, `codel:target=5ms,interval=100ms`, `fq-codel`, \
                           `pie:target=15ms` or `policer:rate=8Mbit/s,burst=30KB`",
            },
            error => error.into(),
        })?;
        Ok(QueueKind::of_parameters(name, given, line, usual)?)
    }

    /// The queue of this `name` with what was given of its parameters, as [`of_text`](Self::of_text)
    /// reads them.
    ///
    /// # Errors
    /// [`TextError`].
    pub fn of_parameters(
        name: QueueName,
        mut given: Parameters<'_>,
        line: Option<Line>,
        usual: Option<QueueLimit>,
    ) -> Result<QueueKind, TextError> {
        let limit = given.take("limit", LIMIT, limit(line))?.or(usual);
        let kind = match name {
            QueueName::DropTail => QueueKind::DropTail(limit.unwrap_or(QueueLimit::Unlimited)),
            QueueName::Red => QueueKind::Red(red(&mut given, limit)?),
            QueueName::CoDel => {
                let usual = CoDelConfig::default();
                QueueKind::CoDel(CoDelConfig {
                    limit: limit.unwrap_or(usual.limit),
                    target: given.take("target", SPAN, span)?.unwrap_or(usual.target),
                    interval: given.take("interval", SPAN, span)?.unwrap_or(usual.interval),
                    ecn: given.take("ecn", SWITCH, switch)?.unwrap_or(usual.ecn),
                })
            }
            QueueName::FqCoDel => QueueKind::FqCoDel(fq_codel(&mut given, limit)?),
            QueueName::Pie => QueueKind::Pie(pie(&mut given, limit)?),
            QueueName::Policer => QueueKind::Policer(PolicerConfig {
                rate: given.need("rate", RATE, rate)?,
                burst: given.need("burst", BYTES, bytes)?,
                limit: limit.unwrap_or(QueueLimit::Unlimited),
            }),
        };
        given.finish(kind)
    }
}

fn fq_codel(
    given: &mut Parameters<'_>,
    limit: Option<QueueLimit>,
) -> Result<FqCoDelConfig, TextError> {
    let usual = FqCoDelConfig::default();
    let flows = |text: &str| text.parse().ok().filter(|flows: &u16| *flows > 0);
    Ok(FqCoDelConfig {
        limit: limit.unwrap_or(usual.limit),
        flows: given.take("flows", "1 to 65535 queues", flows)?.unwrap_or(usual.flows),
        quantum: given.take("quantum", BYTES, bytes)?.unwrap_or(usual.quantum),
        target: given.take("target", SPAN, span)?.unwrap_or(usual.target),
        interval: given.take("interval", SPAN, span)?.unwrap_or(usual.interval),
        ecn: given.take("ecn", SWITCH, switch)?.unwrap_or(usual.ecn),
    })
}

fn pie(given: &mut Parameters<'_>, limit: Option<QueueLimit>) -> Result<PieConfig, TextError> {
    const GAIN: &str = "a number above 0, like `0.125`";
    let usual = PieConfig::default();
    let millisecond = |text: &str| span(text).filter(|span| *span >= Duration::from_millis(1));
    let any = |text: &str| parse_duration(text).ok();
    Ok(PieConfig {
        limit: limit.unwrap_or(usual.limit),
        target: given.take("target", SPAN, span)?.unwrap_or(usual.target),
        update: given.take("update", "a time, at least 1ms", millisecond)?.unwrap_or(usual.update),
        burst: given.take("burst", SPAN, any)?.unwrap_or(usual.burst),
        alpha: given.take("alpha", GAIN, positive)?.unwrap_or(usual.alpha),
        beta: given.take("beta", GAIN, positive)?.unwrap_or(usual.beta),
        ecn: given.take("ecn", SWITCH, switch)?.unwrap_or(usual.ecn),
    })
}

fn red(given: &mut Parameters<'_>, limit: Option<QueueLimit>) -> Result<RedConfig, TextError> {
    const PACKETS: &str = "a number of packets";
    let usual = RedConfig::default();
    let packets =
        |text: &str| text.parse().ok().filter(|number: &f64| (0.0..1e12).contains(number));
    let not_above_one = |text: &str| positive(text).filter(|number| *number <= 1.0);
    let min_threshold =
        given.take("min-threshold", PACKETS, packets)?.unwrap_or(usual.min_threshold);
    // ns-2 takes three times the minimum where no maximum is given.
    let above = |max: &f64| *max > min_threshold;
    let expected = format!("{PACKETS} above `min-threshold`, {min_threshold}");
    let max_threshold = given
        .take("max-threshold", &expected, |text| packets(text).filter(above))?
        .unwrap_or(3.0 * min_threshold);
    Ok(RedConfig {
        min_threshold,
        max_threshold,
        limit: limit.unwrap_or(usual.limit),
        weight: given
            .take("weight", "a number from 0 to 1, like `0.002`", not_above_one)?
            .unwrap_or(usual.weight),
        max_p: given.take("max-p", PROBABILITY, probability)?.unwrap_or(usual.max_p),
        mean_packet: given.take("mean-packet", BYTES, bytes)?.unwrap_or(usual.mean_packet),
        gentle: given.take("gentle", SWITCH, switch)?.unwrap_or(usual.gentle),
        wait: given.take("wait", SWITCH, switch)?.unwrap_or(usual.wait),
        average: given.choose::<Measure>("average")?.unwrap_or(usual.average),
        drops: given.choose::<Measure>("drops")?.unwrap_or(usual.drops),
        ecn: given.take("ecn", SWITCH, switch)?.unwrap_or(usual.ecn),
    })
}

/// The name that a queue's text begins with.
impl std::fmt::Display for QueueName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
