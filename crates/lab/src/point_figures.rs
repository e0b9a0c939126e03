//! The figures of a point's runs on their way into its summary. Of a run that was added nothing
//! stays in memory: its figures wait in a spool, as they are needed a second time, for their
//! distances from the mean.

use crate::figures::{FLOW_FIGURES, LINK_FIGURES};
use crate::spool::{Spool, SpoolEntry};
use crate::store::{Figures, RunRecord};
use bentpipe_scenario::repeat::{FirstPass, SampleSummary};
use std::io;
use std::path::Path;

/// So many runs' figures are in memory at most.
const BLOCK: usize = 256;

/// What figures are of: the run, flows, links, groups.
const KINDS: usize = 4;

/// A run's figures, one after the other.
type Flat = Vec<Option<f64>>;

/// What is known of a point's runs so far.
#[derive(Debug)]
pub(crate) struct PointFigures {
    /// What there is, as the first run has it.
    known: Option<[Vec<Known>; KINDS]>,
    first: Vec<FirstPass>,
    newest: Vec<Flat>,
    earlier: Vec<SpoolEntry>,
    spool: Spool,
    runs: u32,
}

/// A flow, a link's direction, a group or the run itself.
#[derive(Debug)]
struct Known {
    name: Vec<String>,
    figures: usize,
}

/// A flow, a link's direction or a group in a point's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ElementSummary {
    /// Its name: of a link with its ends.
    pub name: Vec<String>,
    /// Its figures, in their order; `None` where no run gives one.
    pub figures: Vec<Option<SampleSummary>>,
}

impl ElementSummary {
    /// A flow's figure, by its name in [`FLOW_FIGURES`].
    pub fn flow_figure(&self, name: &str) -> Option<SampleSummary> {
        let index = FLOW_FIGURES.iter().position(|figure| figure.name == name)?;
        *self.figures.get(index)?
    }

    /// The figure of a link's direction, by its name in [`LINK_FIGURES`].
    pub fn link_figure(&self, name: &str) -> Option<SampleSummary> {
        let index = LINK_FIGURES.iter().position(|figure| figure.name == name)?;
        *self.figures.get(index)?
    }
}

/// What the runs of a point say of each.
#[derive(Debug, Default)]
pub(crate) struct PointMeans {
    /// How many runs there were.
    pub(crate) runs: u32,
    /// Of the run as a whole.
    pub(crate) run: Vec<Option<SampleSummary>>,
    pub(crate) flows: Vec<ElementSummary>,
    pub(crate) links: Vec<ElementSummary>,
    pub(crate) groups: Vec<ElementSummary>,
}

fn figures(run: &RunRecord) -> [&[Figures]; KINDS] {
    [std::slice::from_ref(&run.run), &run.flows, &run.links, &run.groups]
}

impl PointFigures {
    /// Of no run yet. What has to wait does so in the folder `beside`.
    pub(crate) fn new(beside: &Path) -> PointFigures {
        let (first, newest, earlier) = (Vec::new(), Vec::new(), Vec::new());
        PointFigures { known: None, first, newest, earlier, spool: Spool::new(beside), runs: 0 }
    }

    /// Takes a run's figures.
    ///
    /// # Errors
    /// They cannot be set aside.
    pub(crate) fn add(&mut self, run: &RunRecord) -> io::Result<()> {
        let of_run = figures(run);
        let known = self.known.get_or_insert_with(|| {
            of_run.map(|elements| {
                let known = |element: &Figures| Known {
                    name: element.name.clone(),
                    figures: element.values.len(),
                };
                elements.iter().map(known).collect()
            })
        });
        let mut flat = Flat::new();
        for (elements, known) in of_run.into_iter().zip(known.iter()) {
            for (index, known) in known.iter().enumerate() {
                let value = |at| *elements.get(index)?.values.get(at)?;
                flat.extend((0..known.figures).map(value));
            }
        }
        self.first.resize(flat.len(), FirstPass::default());
        for (first, value) in self.first.iter_mut().zip(&flat) {
            value.iter().for_each(|value| first.add(*value));
        }
        self.runs += 1;
        self.newest.push(flat);
        if self.newest.len() == BLOCK {
            self.earlier.push(self.spool.push(&self.newest)?);
            self.newest.clear();
        }
        Ok(())
    }

    /// What they say together.
    ///
    /// # Errors
    /// What was set aside cannot be read.
    pub(crate) fn means(mut self) -> io::Result<PointMeans> {
        let mut second: Vec<_> = self.first.into_iter().map(FirstPass::mean).collect();
        let mut again = |block: &[Flat]| {
            for flat in block {
                for (second, value) in second.iter_mut().zip(flat) {
                    if let (Some(second), Some(value)) = (second, value) {
                        second.add(*value);
                    }
                }
            }
        };
        for entry in self.earlier {
            again(&self.spool.read::<Vec<Flat>>(entry)?);
        }
        again(&self.newest);
        let mut summaries = second.into_iter().map(|second| Some(second?.summary()));
        let mut elements = |known: Vec<Known>| -> Vec<ElementSummary> {
            let of = |Known { name, figures }| ElementSummary {
                name,
                figures: summaries.by_ref().take(figures).collect(),
            };
            known.into_iter().map(of).collect()
        };
        let Some(known) = self.known else { return Ok(PointMeans::default()) };
        let [run, flows, links, groups] = known.map(&mut elements);
        let run = run.into_iter().next().map(|run| run.figures).unwrap_or_default();
        Ok(PointMeans { runs: self.runs, run, flows, links, groups })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TABLES;

    /// A run with one flow; every third has no second figure.
    fn run(number: u32) -> RunRecord {
        let value = f64::from(number) / 3.0;
        let second = (!number.is_multiple_of(3)).then_some(value * value);
        let figures = |name: &[&str], values: &[Option<f64>]| Figures {
            name: name.iter().map(|part| (*part).to_owned()).collect(),
            values: values.to_vec(),
        };
        RunRecord {
            run: figures(&[], &[Some(value), None]),
            flows: vec![figures(&["main"], &[Some(-value), second])],
            links: vec![figures(&["sat", "a", "b"], &[Some(1.0)])],
            groups: Vec::new(),
            packets: None,
            series: None,
            tables: [const { Vec::new() }; TABLES],
        }
    }

    #[test]
    fn means_by_blocks_are_those_of_all_samples() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 1, 255, 256, 257, 5_000] {
            let mut figures = PointFigures::new(folder.path());
            (0..count).for_each(|number| figures.add(&run(number)).unwrap());
            let means = figures.means().unwrap();
            assert_eq!(means.runs, count);
            let all = |of: &dyn Fn(u32) -> Option<f64>| {
                SampleSummary::of(&(0..count).filter_map(of).collect::<Vec<f64>>())
            };
            let of_flow = |at: usize| all(&|number| run(number).flows[0].values[at]);
            let Some(flow) = means.flows.first() else {
                assert_eq!((count, means.run.len()), (0, 0));
                continue;
            };
            assert_eq!((flow.name.as_slice(), means.groups.len()), (&["main".to_owned()][..], 0));
            assert_eq!(flow.figures, [of_flow(0), of_flow(1)], "{count}");
            assert_eq!(means.run, [all(&|number| run(number).run.values[0]), None]);
            assert_eq!(means.links[0].figures, [all(&|_| Some(1.0))]);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn runs_are_held_against_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut figures = PointFigures::new(folder.path());
        let mut lacking = run(7);
        lacking.flows[0].values.truncate(1);
        lacking.links.clear();
        let mut further = run(8);
        further.flows.push(further.flows[0].clone());
        for run in [run(1), lacking, further] {
            figures.add(&run).unwrap();
        }
        let means = figures.means().unwrap();
        let samples = |figures: &[Option<SampleSummary>]| -> Vec<usize> {
            figures.iter().map(|figure| figure.map_or(0, |figure| figure.samples)).collect()
        };
        assert_eq!(means.flows.len(), 1);
        assert_eq!(samples(&means.flows[0].figures), [3, 2]);
        assert_eq!(samples(&means.links[0].figures), [2]);
    }
}
