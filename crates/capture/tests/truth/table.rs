//! Judgements counted by place, by the record, and by the answer.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// What limited the sender in a silence; its weight is nanoseconds.
    Limiter,
    /// Why a segment was retransmitted.
    Cause,
    /// Whether a segment was retransmitted, or came late, where IP IDs or timestamps say so.
    Lateness,
    /// The same where there are neither.
    LatenessBlind,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] =
        [Kind::Limiter, Kind::Cause, Kind::Lateness, Kind::LatenessBlind];

    fn name(self) -> &'static str {
        match self {
            Kind::Limiter => "limiters of silences",
            Kind::Cause => "causes of retransmissions",
            Kind::Lateness => "late or retransmitted",
            Kind::LatenessBlind => "late or retransmitted, without IP IDs and timestamps,",
        }
    }
}

/// Where it was: the seed, the number of the place, the connection's ends, and two packets.
pub(crate) type Example = (u64, usize, (SocketAddr, SocketAddr), u32, u32);

/// One judgement.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) kind: Kind,
    pub(crate) place: &'static str,
    pub(crate) truth: String,
    pub(crate) told: String,
    /// Something is told: one thing, or two of which one is to be true.
    pub(crate) is_told: bool,
    /// What is told holds the truth.
    pub(crate) right: bool,
    pub(crate) weight: i64,
    /// How much of the weight it is true of.
    pub(crate) right_weight: i64,
    pub(crate) example: Example,
}

/// Judgements that agree in truth and in what was told.
#[derive(Debug, Clone, Default)]
struct Cell {
    is_told: bool,
    right: bool,
    count: u64,
    weight: i64,
    right_weight: i64,
    examples: Vec<Example>,
}

/// What shares are made of.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    count: u64,
    weight: i64,
    told: u64,
    told_weight: i64,
    right: u64,
    right_weight: i64,
}

impl Sums {
    fn add(&mut self, cell: &Cell) {
        self.count += cell.count;
        self.weight += cell.weight;
        if cell.is_told {
            self.told += cell.count;
            self.told_weight += cell.weight;
            self.right += if cell.right { cell.count } else { 0 };
            self.right_weight += cell.right_weight;
        }
    }

    /// How many are told something.
    pub(crate) fn answers(&self) -> u64 {
        self.told
    }

    /// The share that is told something, by count.
    pub(crate) fn told(&self) -> f64 {
        share(self.told as f64, self.count as f64)
    }

    /// The share of what is told that holds the truth, by count.
    pub(crate) fn right(&self) -> f64 {
        share(self.right as f64, self.told as f64)
    }
}

/// All judgements.
#[derive(Debug, Default)]
pub(crate) struct Table {
    cells: BTreeMap<(Kind, &'static str, String, String), Cell>,
}

impl Table {
    /// Adds one.
    pub(crate) fn add(&mut self, verdict: Verdict) {
        let Verdict { kind, place, truth, told, is_told, right, weight, right_weight, example } =
            verdict;
        let cell = self.cells.entry((kind, place, truth, told)).or_default();
        (cell.is_told, cell.right) = (is_told, right);
        cell.count += 1;
        cell.weight += weight;
        cell.right_weight += right_weight;
        // Of seeds that differ, lest one that is odd hide the others.
        if cell.examples.iter().all(|known| known.0 != example.0) {
            cell.examples.push(example);
        }
    }

    /// Adds all of another.
    pub(crate) fn merge(&mut self, other: Table) {
        for (key, cell) in other.cells {
            let mine = self.cells.entry(key).or_default();
            (mine.is_told, mine.right) = (cell.is_told, cell.right);
            mine.count += cell.count;
            mine.weight += cell.weight;
            mine.right_weight += cell.right_weight;
            mine.examples.extend(cell.examples);
        }
    }

    /// The sums of a kind at a place.
    pub(crate) fn sums(&self, kind: Kind, place: &str) -> Sums {
        let mut sums = Sums::default();
        let cells = self.cells.iter().filter(|((of, at, ..), _)| (*of, *at) == (kind, place));
        cells.for_each(|(_, cell)| sums.add(cell));
        sums
    }

    /// The sums of a kind at a place, by what is told.
    pub(crate) fn by_told(&self, kind: Kind, place: &str) -> BTreeMap<&str, Sums> {
        let mut by_told: BTreeMap<&str, Sums> = BTreeMap::new();
        for ((of, at, _, told), cell) in &self.cells {
            if (*of, *at) == (kind, place) {
                by_told.entry(told).or_default().add(cell);
            }
        }
        by_told
    }

    /// As text: for each kind and place the sums, by truth, by what is told, and the cells that are
    /// wrong with `examples` of each.
    pub(crate) fn write(&self, places: &[&'static str], examples: usize) -> String {
        let mut out = String::new();
        for kind in Kind::ALL {
            for place in places {
                self.section(kind, place, examples, &mut out);
            }
        }
        out
    }

    fn section(&self, kind: Kind, place: &'static str, examples: usize, out: &mut String) {
        let mut all = Sums::default();
        let mut by_truth: BTreeMap<&str, Sums> = BTreeMap::new();
        let mut by_told: BTreeMap<&str, Sums> = BTreeMap::new();
        let mut cells = Vec::new();
        for ((of, at, truth, told), cell) in &self.cells {
            if (*of, *at) == (kind, place) {
                all.add(cell);
                by_truth.entry(truth).or_default().add(cell);
                by_told.entry(told).or_default().add(cell);
                cells.push((truth, told, cell));
            }
        }
        let _ = writeln!(out, "== {} at the {place}", kind.name());
        let _ = writeln!(
            out,
            "  {:<60} {:>8} {:>8} {:>8}   {:>10} {:>8} {:>8}",
            "", "count", "told", "right", "weight", "told", "right"
        );
        line(kind, "all", &all, out);
        for (name, sums) in by_truth {
            line(kind, &format!("truth: {name}"), &sums, out);
        }
        for (name, sums) in by_told {
            line(kind, &format!("told: {name}"), &sums, out);
        }
        cells.sort_by_key(|(_, _, cell)| std::cmp::Reverse(cell.count));
        for (truth, told, cell) in cells {
            let mark = match (cell.is_told, cell.right) {
                (false, _) => '-',
                (true, true) => ' ',
                (true, false) => '!',
            };
            let _ = write!(
                out,
                "  {mark} {truth} told as {told}: {} ({})",
                cell.count,
                weighed(kind, cell.weight)
            );
            if mark == '!' || examples > 3 {
                for (seed, place, (from, to), one, other) in cell.examples.iter().take(examples) {
                    let place = ["a", "m", "b"][*place];
                    let _ = write!(out, "; seed {seed} {place} {from}>{to} #{one}..{other}");
                }
            }
            out.push('\n');
        }
        out.push('\n');
    }
}

fn line(kind: Kind, name: &str, sums: &Sums, out: &mut String) {
    let _ = writeln!(
        out,
        "  {name:<60} {:>8} {:>7.2}% {:>7.2}%   {:>10} {:>7.2}% {:>7.2}%",
        sums.count,
        100.0 * sums.told(),
        100.0 * sums.right(),
        weighed(kind, sums.weight),
        100.0 * share(sums.told_weight as f64, sums.weight as f64),
        100.0 * share(sums.right_weight as f64, sums.told_weight as f64),
    );
}

fn weighed(kind: Kind, weight: i64) -> String {
    match kind {
        Kind::Limiter => format!("{:.2} s", weight as f64 / 1e9),
        _ => weight.to_string(),
    }
}

fn share(part: f64, of: f64) -> f64 {
    if of > 0.0 { part / of } else { 1.0 }
}
