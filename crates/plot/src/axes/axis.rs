//! An axis with its name, its unit and the texts at its ticks.

use super::scale::{Limits, Scale};
use super::ticks;
use super::units::{Prefix, Unit, number, power, trimmed, wants_power};

/// The settings of an axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AxisSpec {
    /// Its name, without the unit.
    pub label: String,
    /// The quantity of its values.
    pub unit: Unit,
    /// The unit that is shown, such as `Mbit/s`. Without it, the one that makes numbers short.
    pub shown: Option<String>,
    /// Its ends.
    pub limits: Limits,
    /// Names in the place of numbers (0, 1, 2 and so on), if any.
    pub categories: Vec<String>,
}

/// A tick's text.
#[derive(Debug, Clone, PartialEq)]
pub struct TickLabel {
    /// The value.
    pub value: f64,
    /// The text.
    pub text: String,
}

/// An axis that knows its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Its scale.
    pub scale: Scale,
    /// Its name with its unit.
    pub title: String,
    unit: Unit,
    prefix: Prefix,
    /// Each tick has a prefix of its own: the axis has too many decades for one.
    own_prefixes: bool,
    categories: Vec<String>,
}

impl Axis {
    /// An axis for these values.
    pub fn new(spec: &AxisSpec, values: impl IntoIterator<Item = f64>) -> Axis {
        let scale = match spec.categories.len() {
            0 => Scale::fit(values, spec.limits),
            count => Scale::Categories(count),
        };
        let (from, to) = scale.ends();
        let log = matches!(scale, Scale::Log { .. });
        let asked = spec.shown.as_deref().and_then(|name| spec.unit.prefix_named(name));
        let many = log && to / from > 500.0;
        let has_prefixes = matches!(spec.unit, Unit::Seconds | Unit::BitsPerSecond | Unit::Bytes);
        let own_prefixes = many && has_prefixes && asked.is_none();
        // On a logarithmic axis the middle counts.
        let typical = if log { (from * to).sqrt() } else { from.abs().max(to.abs()) };
        let prefix = asked.unwrap_or_else(|| spec.unit.prefix(typical));
        let bare = matches!(scale, Scale::Categories(_)) || own_prefixes || prefix.unit.is_empty();
        let title = match (spec.label.as_str(), bare) {
            (label, true) => label.to_owned(),
            ("", false) => prefix.unit.clone(),
            // "segments (segments)" says nothing more.
            (label, false) if label == prefix.unit => label.to_owned(),
            (label, false) => format!("{label} ({})", prefix.unit),
        };
        let (unit, categories) = (spec.unit.clone(), spec.categories.clone());
        Axis { scale, title, unit, prefix, own_prefixes, categories }
    }

    /// At most about `count` ticks.
    pub fn ticks(&self, count: usize) -> Vec<TickLabel> {
        if let Scale::Categories(_) = self.scale {
            let names = self.categories.iter().enumerate();
            return names
                .map(|(index, name)| TickLabel { value: index as f64, text: name.clone() })
                .collect();
        }
        let scale = self.shown_scale();
        let values = ticks::ticks(scale, count);
        let decimals = match scale {
            Scale::Linear { .. } => {
                values.windows(2).next().map(|pair| decimals(pair[1] - pair[0]))
            }
            _ => None,
        };
        // Where one of them is a power of ten, all are.
        let bare = matches!(self.unit, Unit::None | Unit::Count(_));
        let log = matches!(scale, Scale::Log { .. });
        let powers = bare && log && values.iter().copied().any(wants_power);
        let label = |value: f64| {
            let text = match decimals {
                _ if powers => power(value),
                _ if self.own_prefixes => self.unit.text(value * self.prefix.factor),
                Some(decimals) if value.abs() < 1e9 => trimmed(&format!("{value:.decimals$}")),
                _ => number(value),
            };
            TickLabel { value: value * self.prefix.factor, text }
        };
        values.into_iter().map(label).collect()
    }

    /// The ticks without labels.
    pub fn minor(&self) -> Vec<f64> {
        ticks::minor(self.shown_scale())
            .into_iter()
            .map(|value| value * self.prefix.factor)
            .collect()
    }

    /// The scale of the numbers that are shown: ticks are round in the unit that is shown.
    fn shown_scale(&self) -> Scale {
        let factor = self.prefix.factor;
        match self.scale {
            Scale::Linear { from, to } => Scale::Linear { from: from / factor, to: to / factor },
            Scale::Log { from, to } => Scale::Log { from: from / factor, to: to / factor },
            categories @ Scale::Categories(_) => categories,
        }
    }
}

/// Digits behind the point that a multiple of `step` needs.
fn decimals(step: f64) -> usize {
    (-step.abs().log10().floor()).clamp(0.0, 12.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks(6).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn an_axis_says_its_unit_once() {
        let limits = Limits { zero: true, nice: true, ..Limits::default() };
        let spec = AxisSpec {
            label: "goodput".to_owned(),
            unit: Unit::BitsPerSecond,
            limits,
            ..AxisSpec::default()
        };
        let axis = Axis::new(&spec, [0.5e6, 7.9e6]);
        assert_eq!(axis.title, "goodput (Mbit/s)");
        assert_eq!(texts(&axis), ["0", "2", "4", "6", "8"]);
        let asked = AxisSpec { shown: Some("kbit/s".to_owned()), ..spec };
        assert_eq!(Axis::new(&asked, [7.9e6]).title, "goodput (kbit/s)");
    }

    #[test]
    fn over_many_decades_each_tick_says_its_own() {
        let spec = AxisSpec {
            label: "size".to_owned(),
            unit: Unit::Bytes,
            limits: Limits { log: true, ..Limits::default() },
            ..AxisSpec::default()
        };
        let axis = Axis::new(&spec, [1e4, 1e8]);
        assert_eq!(axis.title, "size");
        assert_eq!(texts(&axis), ["10 kB", "100 kB", "1 MB", "10 MB", "100 MB"]);
    }

    #[test]
    fn where_one_tick_is_a_power_all_are() {
        let limits = Limits { log: true, ..Limits::default() };
        let spec = AxisSpec { unit: Unit::None, limits, ..AxisSpec::default() };
        assert_eq!(texts(&Axis::new(&spec, [1e-7, 1e-5])), ["10⁻⁷", "10⁻⁶", "10⁻⁵"]);
        assert_eq!(texts(&Axis::new(&spec, [1e-4, 1e-2])), ["0.0001", "0.001", "0.01"]);
    }

    #[test]
    fn small_steps_have_all_their_digits() {
        let spec = AxisSpec { unit: Unit::Seconds, ..AxisSpec::default() };
        let axis = Axis::new(&spec, [0.5401, 0.5412]);
        assert_eq!(axis.title, "ms");
        let texts = texts(&axis);
        assert!(
            texts.contains(&"540.2".to_owned()) && texts.contains(&"541".to_owned()),
            "{texts:?}"
        );
    }
}
