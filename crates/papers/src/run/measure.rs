//! From the tables of results to the numbers that claims are about.

use super::LiveResults;
use super::Ran;
use super::reduce::reduce;
use crate::catalogue::{Form, Measure, same, text};
use bentpipe_lab::tables::Table;
use std::cmp::Ordering;

/// A number that a claim is about, with a sample from each run.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Its name; its tolerance has the same.
    pub name: String,
    /// What each run has given; one where nothing is random or nothing was run.
    pub samples: Vec<f64>,
}

impl Number {
    /// A number that comes of no run, or of one.
    pub fn new(name: impl Into<String>, value: f64) -> Number {
        Number { name: name.into(), samples: vec![value] }
    }
}

/// What `form` comes to in each run.
///
/// # Errors
/// What is missing, in a sentence.
pub fn measure(ran: &Ran, form: &Form) -> Result<Vec<f64>, String> {
    match form {
        Form::Expression(expression) => reduce(ran, expression),
        Form::Value(measure) => cells(ran, measure),
        Form::Ratio(pair) => {
            let [over, under] =
                paired(ran, &pair[..])?.try_into().map_err(|_| "not two".to_owned())?;
            Ok(over.iter().zip(&under).map(|(over, under)| over / under).collect())
        }
        Form::Difference(pair) => {
            let [of, less] =
                paired(ran, &pair[..])?.try_into().map_err(|_| "not two".to_owned())?;
            Ok(of.iter().zip(&less).map(|(of, less)| of - less).collect())
        }
        Form::Order(measures) => {
            let columns = paired(ran, measures)?;
            let runs = columns.first().map_or(0, Vec::len);
            let smallest = |run: usize| {
                let steps = columns.windows(2).map(|pair| pair[1][run] - pair[0][run]);
                steps.fold(f64::INFINITY, f64::min)
            };
            Ok((0..runs).map(smallest).collect())
        }
        Form::Points(scenario) => Ok(vec![ran.part(scenario)?.points.len() as f64]),
        Form::LivePoints(scenario) => Ok(vec![ran.measured(scenario)?.len() as f64]),
        Form::LivePackets { scenario, column, over } => {
            let measured = ran.measured(scenario)?;
            let [(_, point)] = measured[..] else {
                return Err(format!("{scenario} has {} points, and not one", measured.len()));
            };
            let of = |name: &String| {
                let samples = point.packets.get(name).cloned();
                samples.ok_or_else(|| format!("{name} was not read off the packets of {scenario}"))
            };
            let (values, over) = (of(column)?, over.as_ref().map(of).transpose()?);
            let one = vec![1.0; values.len()];
            let over = over.unwrap_or(one);
            Ok(values.iter().zip(&over).map(|(value, over)| value / over).collect())
        }
        Form::LiveLeast(measure) => live_to_simulated(ran, measure, f64::total_cmp),
        Form::LiveMost(measure) => live_to_simulated(ran, measure, |a, b| b.total_cmp(a)),
    }
}

/// What real hosts have given by what the simulator has, run by run, at the point whose mean comes
/// `first`.
fn live_to_simulated(
    ran: &Ran,
    measure: &Measure,
    first: impl Fn(&f64, &f64) -> Ordering,
) -> Result<Vec<f64>, String> {
    let flow = measure.flow.as_deref().ok_or("it does not say of which flow")?;
    let column = measure.column.as_deref().ok_or("it does not say which column")?;
    let scenario = measure.scenario.as_deref().ok_or("it does not say of which scenario")?;
    let at = conditions(measure);
    let fits = |values: &[(String, String)]| {
        at.iter().all(|(path, value)| values.iter().any(|(p, v)| p == path && same(v, value)))
    };
    let mut ratios = Vec::new();
    for (point, live) in ran.measured(scenario)? {
        if fits(&point.values) {
            let simulated = LiveResults::simulated(point, flow, column)?;
            ratios.push(by_run(&live.samples(flow, column)?, &simulated));
        }
    }
    let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
    let chosen = ratios.into_iter().min_by(|a, b| first(&mean(a), &mean(b)));
    chosen.ok_or_else(|| format!("no point of {scenario} that was measured fits"))
}

/// Runs of the same number have the same random numbers. What has nothing random was simulated
/// once.
pub(crate) fn by_run(live: &[f64], simulated: &[f64]) -> Vec<f64> {
    match simulated {
        [only] => live.iter().map(|live| live / only).collect(),
        several => live.iter().zip(several).map(|(live, simulated)| live / simulated).collect(),
    }
}

/// The swept fields' values at which a measure is taken.
fn conditions(measure: &Measure) -> Vec<(&str, String)> {
    measure.at.iter().map(|(path, value)| (path.as_str(), text(value))).collect()
}

/// The cells of several measures, as many of each as all have: runs belong together by their
/// numbers. What has nothing random was run once, and is the same in every run.
fn paired(ran: &Ran, measures: &[Measure]) -> Result<Vec<Vec<f64>>, String> {
    let mut columns =
        measures.iter().map(|measure| cells(ran, measure)).collect::<Result<Vec<_>, _>>()?;
    let several = columns.iter().map(Vec::len).filter(|&len| len > 1).min();
    for column in &mut columns {
        match several {
            Some(runs) if column.len() == 1 => *column = vec![column[0]; runs],
            Some(runs) => column.truncate(runs),
            None => {}
        }
    }
    Ok(columns)
}

/// What a measure's cell holds in each run.
fn cells(ran: &Ran, measure: &Measure) -> Result<Vec<f64>, String> {
    let part = match (&measure.scenario, ran.parts.len()) {
        (Some(name), _) => ran.part(name)?,
        (None, 1) => ran.parts.values().next().ok_or("there is no scenario")?,
        (None, _) => return Err("it does not say of which scenario".to_owned()),
    };
    let at = conditions(measure);
    let at: Vec<_> = at.iter().map(|(path, value)| (*path, value.as_str())).collect();
    let point = part.point(&at)?;
    let mut rows = Vec::new();
    let table = match (&measure.flow, &measure.link, &measure.group) {
        (Some(flow), None, None) => {
            rows.push(("flow", flow.as_str()));
            Table::Results
        }
        (None, Some(link), None) => {
            rows.push(("link", link.as_str()));
            rows.extend(measure.from.as_deref().map(|from| ("from", from)));
            Table::Links
        }
        (None, None, Some(group)) => {
            rows.push(("group", group.as_str()));
            Table::Groups
        }
        (None, None, None) if measure.run => Table::Runs,
        _ => return Err("it is of one: a flow, a link, a group or the run".to_owned()),
    };
    let column = measure.column.as_deref().ok_or("it does not say which column")?;
    let scale = measure.scale.unwrap_or(1.0);
    let values = point.column(table, &rows, column)?;
    Ok(values.into_iter().map(|value| value * scale).collect())
}
