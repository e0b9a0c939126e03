//! Which points of an experiment are also run on real hosts: `[scenario.NAME.live]` in a figure's
//! file.

use super::Measure;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// The points of an experiment that are also run on real hosts, and what is compared there.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Live {
    /// So many runs of each point.
    pub runs: u32,
    /// A flow and a column of table `results`: what stands simulated beside live.
    pub measure: Measure,
    /// So near the two means are to be, as a share of the simulated one, where their intervals do
    /// not meet.
    #[serde(default = "within")]
    pub within: f64,
    /// A link whose packets are recorded; [`crate::live::bottleneck`] reads them.
    pub record: Option<String>,
    /// Swept fields, and which of their values are run on real hosts: what is not named, all. The
    /// other points are simulated only.
    #[serde(default)]
    only: BTreeMap<String, Vec<Value>>,
    /// The same of those that `--live --quick` runs, once each; without it none.
    #[serde(default)]
    quick: BTreeMap<String, Vec<Value>>,
    /// Real programs instead of our own requests and replies: nginx, and a client that fetches as
    /// `netscape` did, or today's `chromium`.
    pub programs: Option<String>,
    /// Why some points are not as near.
    pub explanation: Option<String>,
}

/// Five per cent: single flows without loss.
fn within() -> f64 {
    0.05
}

impl Live {
    /// Whether the point with these values is run on real hosts.
    pub fn has(&self, values: &[(String, String)]) -> bool {
        fits(&self.only, values)
    }

    /// Whether `--live --quick` runs some of its points.
    pub fn is_quick(&self) -> bool {
        !self.quick.is_empty()
    }

    /// Whether `--live --quick` runs it.
    pub fn has_quick(&self, values: &[(String, String)]) -> bool {
        self.is_quick() && self.has(values) && fits(&self.quick, values)
    }
}

/// Whether each field that is named has one of its values.
fn fits(only: &BTreeMap<String, Vec<Value>>, values: &[(String, String)]) -> bool {
    only.iter().all(|(path, allowed)| {
        values.iter().any(|(swept, value)| {
            swept == path && allowed.iter().any(|allowed| same(value, &text(allowed)))
        })
    })
}

/// A value as it stands in a sweep's tables.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether two values are written the same, or are the same number.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a == b || a.parse::<f64>().is_ok_and(|a| b.parse::<f64>().is_ok_and(|b| a == b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_points_are_run_on_real_hosts_and_fewer_of_them_quickly() {
        let live: Live = toml::from_str(
            "runs = 3\nmeasure = { flow = \"main\", column = \"goodput_bps\" }\n\
             only = { size = [\"10KB\", \"1MB\"] }\nquick = { size = [\"10KB\", \"9MB\"], variant = [1] }",
        )
        .unwrap();
        let point = |size: &str, variant: &str| {
            vec![("size".to_owned(), size.to_owned()), ("variant".to_owned(), variant.to_owned())]
        };
        assert!(live.has(&point("1MB", "7")) && !live.has(&point("9MB", "1")));
        assert!(live.has_quick(&point("10KB", "1.0")));
        for other in [point("10KB", "2"), point("1MB", "1"), point("9MB", "1")] {
            assert!(!live.has_quick(&other), "{other:?}");
        }
        let all: Live = toml::from_str("runs = 3\nmeasure = {}").unwrap();
        assert!(all.has(&point("1MB", "7")) && !all.has_quick(&point("1MB", "7")));
        assert_eq!(all.within, 0.05);
    }
}
