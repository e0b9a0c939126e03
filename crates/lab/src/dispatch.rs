//! The shared run queue: hands out runs, collects results.

use crate::executed::{Event, Executed, Failure};
use crate::plan::{Job, Next, RunPlan};
use crate::shard::Shard;
use crate::store::{Key, RunRecord, Store};
use bentpipe_scenario::{Experiment, Point, Repeat};

/// What an experiment's runs come from and go to.
#[derive(Debug, Clone, Copy)]
pub struct Campaign<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Where finished runs are.
    pub store: &'a Store,
    /// Only this point.
    pub point: Option<usize>,
    /// Only this run of each point, anew even if it is stored.
    pub run: Option<u32>,
    /// Only this part of the runs.
    pub shard: Option<Shard>,
}

impl Campaign<'_> {
    /// What is stored of a run, unless it is asked for by its number, to be made anew.
    fn stored(&self, point: &Point, job: Job, watch: &dyn Fn(Event<'_>)) -> Option<RunRecord> {
        if self.run.is_some() {
            return None;
        }
        self.store.load(Key::of(&point.canonical, job.run)).unwrap_or_else(|damaged| {
            watch(Event::Damaged(&damaged));
            None
        })
    }

    /// The number of the run that is made for `job`.
    pub(crate) fn number(&self, job: Job) -> u32 {
        self.run.unwrap_or(job.run)
    }
}

/// How far an experiment is.
#[derive(Debug)]
pub struct Dispatch {
    plan: RunPlan,
    failures: Vec<Failure>,
    made: u64,
    found: u64,
}

impl Dispatch {
    /// Of `campaign`, with at most `ahead` runs of a point that may turn out not to be needed.
    pub fn new(campaign: &Campaign<'_>, ahead: u32) -> Dispatch {
        let points = match campaign.point {
            Some(point) => point..point + 1,
            None => 0..campaign.experiment.len(),
        };
        let repeat =
            if campaign.run.is_some() { Repeat::Runs(1) } else { campaign.experiment.repeat };
        let here =
            |point: &usize| campaign.shard.is_none_or(|shard| shard.has_point(*point, repeat));
        let plan = RunPlan::new(points.filter(here), repeat, ahead);
        Dispatch { plan, failures: Vec::new(), made: 0, found: 0 }
    }

    /// From now on at most so many runs of a point are made that may turn out not to be needed: as
    /// many as have somebody to make them.
    pub fn make_ahead(&mut self, ahead: u32) {
        self.plan.make_ahead(ahead);
    }

    /// The next run to be made; its point is then in `latest`. One that is stored is settled on the
    /// way, before anyone is given another: so no run is made ahead where what is stored is enough.
    pub fn next(
        &mut self,
        campaign: &Campaign<'_>,
        latest: &mut Option<Point>,
        watch: &dyn Fn(Event<'_>),
    ) -> Next {
        loop {
            let next = self.plan.next();
            let Next::Run(job) = next else { return next };
            if latest.as_ref().is_none_or(|point| point.index != job.point) {
                *latest = Some(campaign.experiment.point(job.point));
            }
            let Some(point) = latest else { return next };
            if job.run == 0 && !point.scenario.is_random() {
                self.plan.certain(job.point);
            }
            let repeat = campaign.experiment.repeat;
            if campaign.shard.is_some_and(|shard| !shard.has(job, repeat)) {
                self.pass_over(job);
                continue;
            }
            let Some(record) = campaign.stored(point, job, watch) else { return next };
            self.found += 1;
            self.settle(job, Some(record.goodputs()), true, watch);
        }
    }

    /// A run has been made, and is in the store.
    pub fn made(&mut self, job: Job, record: &RunRecord, watch: &dyn Fn(Event<'_>)) {
        self.made += 1;
        self.settle(job, Some(record.goodputs()), false, watch);
    }

    /// A run could not be completed.
    pub fn failed(&mut self, job: Job, failure: Failure, watch: &dyn Fn(Event<'_>)) {
        watch(Event::Failed(&failure));
        self.failures.push(failure);
        self.settle(job, None, false, watch);
    }

    /// A run is made by nobody here: it counts as one that gives no figures.
    pub(crate) fn pass_over(&mut self, job: Job) {
        self.plan.finished(job, None);
    }

    /// Events come in the order of what they tell of.
    fn settle(
        &mut self,
        job: Job,
        figures: Option<Vec<f64>>,
        stored: bool,
        watch: &dyn Fn(Event<'_>),
    ) {
        let end = self.plan.finished(job, figures);
        watch(Event::Finished { job, stored, needed: self.plan.needed() });
        if let Some(end) = end {
            watch(Event::Ended(end));
        }
    }

    /// What has come of it.
    pub fn executed(mut self, campaign: &Campaign<'_>) -> Executed {
        self.failures.sort_by_key(|failure| failure.job);
        let ends = self.plan.ends();
        // Runs ahead that turned out not to count fail for nobody.
        let counts = |failure: &Failure| {
            let end = ends.iter().find(|end| end.point == failure.job.point);
            campaign.run.is_some() || end.is_some_and(|end| failure.job.run < end.runs)
        };
        Executed {
            failures: self.failures.into_iter().filter(counts).collect(),
            stopped: ends.iter().any(|end| end.because.is_none()),
            ends,
            made: self.made,
            found: self.found,
            run: campaign.run,
        }
    }
}
