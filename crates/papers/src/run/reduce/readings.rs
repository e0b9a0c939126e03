//! Readings: columns of tables, samples of series.

use super::value::Value;
use super::{Reduction, Scope};
use crate::catalogue::Node;
use crate::run::trace::{Trace, series};
use bentpipe_lab::tables::Table;

/// Conditions that no field of a scenario is called by.
#[derive(Default)]
struct Conditions {
    scenario: Option<String>,
    /// Table and row: `flow="main"`.
    row: Vec<(&'static str, String)>,
    /// The element of a series, and its time.
    series: Option<String>,
    after: Option<f64>,
    since: Option<f64>,
    until: Option<f64>,
    /// The quantity whose times are read.
    of: Option<String>,
    /// So many bytes are acknowledged within such a time.
    bytes: Option<f64>,
    over: Option<f64>,
    /// At which point.
    at: Vec<(String, String)>,
}

impl Reduction<'_> {
    pub(super) fn reading(
        &self,
        column: &str,
        conditions: &[(String, Node)],
        scope: &Scope,
    ) -> Result<Value, String> {
        let given = self.conditions(conditions, scope)?;
        let parts = &self.ran.parts;
        let part = match &given.scenario {
            Some(name) => self.ran.part(name)?,
            None if parts.len() == 1 => parts.values().next().ok_or("there is no scenario")?,
            None => return Err(format!("{column} does not say of which scenario")),
        };
        let at: Vec<_> = given.at.iter().map(|(path, at)| (path.as_str(), at.as_str())).collect();
        let point = part.point(&at)?;
        if let Some(element) = &given.series {
            let (after, since) = (given.after, given.since);
            let is_in = |at: f64| {
                after.is_none_or(|after| at > after)
                    && since.is_none_or(|since| at >= since)
                    && given.until.is_none_or(|until| at <= until)
            };
            let quantity = given.of.as_deref().unwrap_or(column);
            let samples = series(part, point, element, quantity)?.into_iter();
            let values = samples.filter(|(at, _)| is_in(*at));
            let of = |(at, value)| if given.of.is_some() { at } else { value };
            return Ok(Value::List(values.map(|it| Value::Number(vec![of(it)])).collect()));
        }
        let rows: Vec<_> = given.row.iter().map(|(name, text)| (*name, text.as_str())).collect();
        if let Some((bytes, over)) = given.bytes.zip(given.over) {
            let [("flow", flow)] = rows[..] else {
                return Err(format!("{column} does not say of which flow"));
            };
            let reached = Trace::new(part, point, flow)?.reaches(bytes, over);
            let never = || format!("{flow} never has {bytes} bytes acknowledged in {over} s");
            return Ok(Value::Number(vec![reached.ok_or_else(never)?]));
        }
        let table = match rows.first() {
            None => Table::Runs,
            Some(("flow", _)) => Table::Results,
            Some(("group", _)) => Table::Groups,
            Some(("gateway", _)) => Table::Gateways,
            Some(_) => Table::Links,
        };
        Ok(self.column(point.column(table, &rows, column)?))
    }

    fn conditions(&self, nodes: &[(String, Node)], scope: &Scope) -> Result<Conditions, String> {
        let mut given = Conditions::default();
        for (key, node) in nodes {
            let text = || self.text(node, scope);
            let time = || {
                let number = self.number(node, scope)?;
                number.first().copied().ok_or_else(|| format!("{key} has no time"))
            };
            match key.as_str() {
                "scenario" => given.scenario = Some(text()?),
                "flow" => given.row.push(("flow", text()?)),
                "link" => given.row.push(("link", text()?)),
                "from" => given.row.push(("from", text()?)),
                "group" => given.row.push(("group", text()?)),
                "gateway" => given.row.push(("gateway", text()?)),
                "series" => given.series = Some(text()?),
                "after" => given.after = Some(time()?),
                "since" => given.since = Some(time()?),
                "until" => given.until = Some(time()?),
                "of" => given.of = Some(text()?),
                "bytes" => given.bytes = Some(time()?),
                "over" => given.over = Some(time()?),
                path => given.at.push((super::filled(path, scope), text()?)),
            }
        }
        Ok(given)
    }
}
