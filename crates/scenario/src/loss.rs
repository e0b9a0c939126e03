//! Loss of packets on a link, apart from its queue.

use crate::distribution::RandomTime;
use crate::document::{Node, Value};
use crate::reader::{Context, FromNode, Reader, Result, Section, field};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Probability;

/// The two-state Markov channel of Gilbert (1960) and Elliott (1963), a step a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability to go from the good state to the bad one, for each packet.
    pub good_to_bad: Probability,
    /// Probability to go back, for each packet.
    pub bad_to_good: Probability,
    /// Probability of loss in the good state.
    pub good_loss: Probability,
    /// Probability of loss in the bad state.
    pub bad_loss: Probability,
}

impl GilbertElliott {
    /// The share of packets that is lost in the long run.
    pub fn mean_loss(&self) -> f64 {
        let (p, r) = (self.good_to_bad.value(), self.bad_to_good.value());
        if p + r == 0.0 {
            return self.good_loss.value();
        }
        (r * self.good_loss.value() + p * self.bad_loss.value()) / (p + r)
    }
}

/// When a link passes nothing: what is sent then is lost.
#[derive(Debug, Clone, PartialEq)]
pub enum Outages {
    /// Spans (beginning, length), in order, apart from each other.
    Planned(Vec<(Duration, Duration)>),
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
}

pub(crate) const GILBERT_ELLIOTT: Section = Section {
    path: "link.NAME.gilbert-elliott",
    about: "Losses in bursts: a channel with a good and a bad state that may change with each \
            packet (Gilbert 1960, Elliott 1963).",
    fields: &[
        field("good-to-bad", "a probability", "", "of turning bad, for each packet"),
        field(
            "bad-to-good",
            "a probability",
            "",
            "of turning good; its inverse is the mean burst in packets",
        ),
        field("good-loss", "a probability", "0", "of loss while good"),
        field("bad-loss", "a probability", "1", "of loss while bad"),
    ],
    example: "gilbert-elliott = { good-to-bad = 0.001, bad-to-good = 0.2 }",
};

impl FromNode for GilbertElliott {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<GilbertElliott> {
        let reader = Reader::open(context, node, "gilbert-elliott", &[&GILBERT_ELLIOTT])?;
        Ok(GilbertElliott {
            good_to_bad: reader.need("good-to-bad")?,
            bad_to_good: reader.need("bad-to-good")?,
            good_loss: reader.or("good-loss", Probability::ZERO)?,
            bad_loss: reader
                .or("bad-loss", Probability::new(1.0).expect("one is a probability"))?,
        })
    }
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

impl FromNode for Outages {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Outages> {
        if let Value::Table(_) = node.value {
            let reader = Reader::open(context, node, "outages", &[&RANDOM_OUTAGES])?;
            let (every, lasting) = (reader.need("every")?, reader.need("lasting")?);
            return Ok(Outages::Random { every, lasting });
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
