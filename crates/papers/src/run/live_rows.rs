//! Results of real hosts as CSV: a row a point, run and kind of flow.
//!
//! A row begins with the point: the experiment, the digest of its inputs, the swept values. The run
//! follows with its number and conditions, with packets and gateways. Its flows are last. A cell is
//! empty where there is no value.

use super::{LiveFlows, LivePointResults};
use csv::StringRecord;
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};

/// What is kept of flows, if it was measured.
pub(super) const COLUMNS: [&str; 6] =
    ["goodput_bps", "completion_mean_s", "segments", "retransmissions", "timeouts", "recoveries"];

/// Columns in front of a point's swept values.
const POINT: [&str; 2] = ["scenario", "inputs"];
/// Columns of a run.
const RUN: [&str; 4] = ["run", "late", "late_p99_ms", "busy"];
/// Columns in front of what flows have given.
const KIND: [&str; 2] = ["kind", "flows"];
/// Columns of what was read off packets, and of gateways, begin with these.
const PACKETS: &str = "packets.";
const GATEWAY: &str = "gateway.";

/// The points as CSV.
///
/// # Errors
/// A row cannot be written.
pub(super) fn text(points: &[LivePointResults]) -> Result<String, String> {
    let at: BTreeSet<&str> = names(points, |point| point.at.keys());
    let packets: BTreeSet<&str> = names(points, |point| point.packets.keys());
    let gateways: BTreeSet<(&str, &str)> = points
        .iter()
        .flat_map(|point| &point.gateway)
        .flat_map(|(name, columns)| columns.keys().map(|column| (name.as_str(), column.as_str())))
        .collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut row = |cells: Vec<String>| writer.write_record(cells).map_err(|why| why.to_string());
    let fixed = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let mut heads = [fixed(&POINT), at.iter().map(|&path| path.to_owned()).collect(), fixed(&RUN)];
    heads[2].extend(packets.iter().map(|name| format!("{PACKETS}{name}")));
    heads[2].extend(gateways.iter().map(|(name, column)| format!("{GATEWAY}{name}.{column}")));
    row([heads.concat(), fixed(&KIND), fixed(&COLUMNS)].concat())?;
    for point in points {
        for run in 0..point.runs() {
            let cell = |column: Option<&Vec<f64>>| {
                column.and_then(|runs| runs.get(run)).map(f64::to_string).unwrap_or_default()
            };
            let mut first = vec![point.scenario.clone(), point.inputs.clone()];
            first.extend(at.iter().map(|&path| point.at.get(path).cloned().unwrap_or_default()));
            first.push(run.to_string());
            first.extend([&point.late, &point.late_p99_ms, &point.busy].map(|of| cell(Some(of))));
            first.extend(packets.iter().map(|&name| cell(point.packets.get(name))));
            first.extend(gateways.iter().map(|&(name, column)| {
                cell(point.gateway.get(name).and_then(|columns| columns.get(column)))
            }));
            for (kind, flows) in &point.flow {
                let last = COLUMNS.iter().map(|&column| cell(flows.columns.get(column)));
                let kind = [kind.clone(), flows.count.to_string()];
                row(first.iter().cloned().chain(kind).chain(last).collect())?;
            }
        }
    }
    let bytes = writer.into_inner().map_err(|why| why.to_string())?;
    String::from_utf8(bytes).map_err(|why| why.to_string())
}

fn names<'p, I: Iterator<Item = &'p String>>(
    points: &'p [LivePointResults],
    of: impl Fn(&'p LivePointResults) -> I,
) -> BTreeSet<&'p str> {
    points.iter().flat_map(of).map(String::as_str).collect()
}

/// Reads points from CSV.
///
/// # Errors
/// What is wrong, with the line.
pub(super) fn read(text: &str) -> Result<Vec<LivePointResults>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = Heads::new(reader.headers().map_err(|why| why.to_string())?)?;
    let mut points: Vec<LivePointResults> = Vec::new();
    for (number, record) in reader.records().enumerate() {
        let record = record.map_err(|why| why.to_string())?;
        let row = Row { heads: &heads, record };
        row.add(&mut points).map_err(|why| format!("line {}: {why}", number + 2))?;
    }
    Ok(points)
}

/// Where columns are.
struct Heads(Vec<String>);

impl Heads {
    fn new(record: &StringRecord) -> Result<Heads, String> {
        let heads = Heads(record.iter().map(str::to_owned).collect());
        POINT.iter().chain(&RUN).chain(&KIND).try_for_each(|name| heads.at(name).map(drop))?;
        Ok(heads)
    }

    fn at(&self, name: &str) -> Result<usize, String> {
        let found = self.0.iter().position(|head| head == name);
        found.ok_or_else(|| format!("there is no column {name}"))
    }
}

struct Row<'h> {
    heads: &'h Heads,
    record: StringRecord,
}

impl Row<'_> {
    fn text(&self, name: &str) -> Result<&str, String> {
        Ok(self.record.get(self.heads.at(name)?).unwrap_or_default())
    }

    fn number(&self, name: &str) -> Result<f64, String> {
        number(name, self.text(name)?)
    }

    /// The cells that are not empty, of the columns in `range`.
    fn cells(&self, from: usize, to: usize) -> impl Iterator<Item = (&str, &str)> {
        let heads = self.heads.0.iter().map(String::as_str).zip(&self.record);
        heads.skip(from).take(to - from).filter(|(_, cell)| !cell.is_empty())
    }

    fn add(&self, points: &mut Vec<LivePointResults>) -> Result<(), String> {
        let (scenario, inputs) = (self.text("scenario")?, self.text("inputs")?);
        let run: usize = self.text("run")?.parse().map_err(|_| "the run has no number")?;
        let same = |point: &LivePointResults| point.scenario == scenario && point.inputs == inputs;
        if !points.last().is_some_and(same) {
            points.push(LivePointResults {
                scenario: scenario.to_owned(),
                inputs: inputs.to_owned(),
                at: self
                    .cells(POINT.len(), self.heads.at("run")?)
                    .map(|(path, value)| (path.to_owned(), value.to_owned()))
                    .collect(),
                ..LivePointResults::default()
            });
        }
        let point = points.last_mut().ok_or("there is no point")?;
        if run == point.runs() {
            self.add_run(point)?;
        } else if run + 1 != point.runs() {
            return Err("runs of a point stand one after the other".to_owned());
        }
        let count = self.text("flows")?.parse().map_err(|_| "how many flows is no number")?;
        let kind = self.text("kind")?.to_owned();
        let flows =
            point.flow.entry(kind).or_insert_with(|| LiveFlows { count, columns: BTreeMap::new() });
        for (name, cell) in self.cells(self.heads.at("flows")? + 1, self.heads.0.len()) {
            flows.columns.entry(name.to_owned()).or_default().push(number(name, cell)?);
        }
        Ok(())
    }

    fn add_run(&self, point: &mut LivePointResults) -> Result<(), String> {
        point.late.push(self.number("late")?);
        point.late_p99_ms.push(self.number("late_p99_ms")?);
        point.busy.push(self.number("busy")?);
        for (name, cell) in self.cells(self.heads.at("busy")? + 1, self.heads.at("kind")?) {
            let value = number(name, cell)?;
            let unknown = || format!("column {name} is not known");
            if let Some(name) = name.strip_prefix(PACKETS) {
                point.packets.entry(name.to_owned()).or_default().push(value);
            } else {
                let name = name.strip_prefix(GATEWAY).ok_or_else(unknown)?;
                let (gateway, column) = name.rsplit_once('.').ok_or_else(unknown)?;
                let columns = point.gateway.entry(gateway.to_owned()).or_default();
                columns.entry(column.to_owned()).or_default().push(value);
            }
        }
        Ok(())
    }
}

fn number(name: &str, cell: &str) -> Result<f64, String> {
    cell.parse().map_err(|_| format!("{name} is no number: {cell:?}"))
}

/// Compresses a text; the same one always gives the same bytes.
///
/// # Errors
/// It cannot be compressed.
pub(super) fn compress(text: &str) -> Result<Vec<u8>, String> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::best());
    let written = writer.write_all(text.as_bytes()).and_then(|()| writer.finish());
    written.map_err(|why| why.to_string())
}

/// The text that was compressed.
///
/// # Errors
/// It is damaged.
pub(super) fn decompress(bytes: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).map_err(|why| why.to_string())?;
    Ok(text)
}
