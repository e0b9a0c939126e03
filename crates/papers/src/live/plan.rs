//! Which runs a figure takes on real hosts, which of them are missing, and what has come of all.

use super::jobs::Job;
use super::load::Load;
use super::{
    Comparison, LiveOptions, LivePointResults, LiveRequest, LiveResults, LiveRunner, Machine,
    Programs,
};
use crate::catalogue::{Figure, Files, Live};
use crate::judge::live_claims;
use crate::run::{Options, Ran, RunError};
use crate::verdict::Judged;
use std::io;
use std::path::Path;

/// Why a figure is not run on real hosts.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Simulating it, or its results.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Laying its scenarios out.
    #[error("{0}")]
    LayOut(String),
    /// Writing what was measured.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A figure's experiments, simulated, and what is to be run of them.
pub struct LivePlan<'a, P> {
    figure: &'a Figure,
    ran: Ran,
    parts: Vec<PlannedPart<P>>,
}

/// A figure of which points were run on real hosts.
pub struct Measured {
    /// Its id.
    pub figure: String,
    /// Its experiments.
    pub beside: Vec<Comparison>,
    /// The claims that they decide; none if not all of it was measured.
    pub claims: Vec<Judged>,
}

impl<'a, P: Sync> LivePlan<'a, P> {
    /// Simulates a figure's experiments that have live points, and lays these out; if `quick`,
    /// those of `--live --quick`, for one run each.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn new(
        figure: &'a Figure,
        files: &Files,
        runner: &dyn LiveRunner<Point = P>,
        quick: bool,
        options: &Options<'_>,
    ) -> Result<LivePlan<'a, P>, LiveError> {
        let ran = Ran::of_live(figure, files, options, &|_| {})?;
        let parts = figure.live().map(|part| PlannedPart::new(figure, part, &ran, runner, quick));
        let parts = parts.collect::<Result<_, _>>()?;
        Ok(LivePlan { figure, ran, parts })
    }

    /// The runs that are not there yet.
    pub(super) fn missing<'p>(&'p self, options: &LiveOptions<'_, P>) -> Vec<Job<'p, P>> {
        let LiveOptions { runner, stored, .. } = options;
        let mut jobs = Vec::new();
        for part in &self.parts {
            let Ok(simulated) = self.ran.part(&part.name) else { continue };
            for live in &part.points {
                let point = runner.point(live);
                let Some(runs) = simulated.numbered(point.index) else { continue };
                let longest = point.scenario.run.duration.as_secs_f64();
                let load = Load::of(runs, part.programs, longest);
                let canonical = runner.canonical(live);
                let missing = |run: &u32| stored.load(&canonical, *run).is_none();
                jobs.extend((0..part.runs).filter(missing).map(|run| Job {
                    request: LiveRequest {
                        experiment: &simulated.experiment,
                        file: &part.file,
                        point: live,
                        run,
                        record: part.record,
                    },
                    canonical: canonical.clone(),
                    simulated: runs,
                    programs: part.programs,
                    load,
                }));
            }
        }
        jobs
    }

    /// What has come of the figure on `machine`. It is kept in each of `folders`.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn measured(
        self,
        options: &LiveOptions<'_, P>,
        machine: &Machine,
        folders: &[&Path],
    ) -> Result<Measured, LiveError> {
        let LiveOptions { runner, stored, .. } = options;
        let LivePlan { figure, mut ran, parts } = self;
        let failed = |why: String| RunError::Failed { figure: figure.id.clone(), why };
        let mut kept = LiveResults { machine: machine.clone(), ..LiveResults::default() };
        for part in &parts {
            let simulated = ran.part(&part.name).map_err(failed)?;
            kept.kernel_settings.extend(runner.kernel_settings(&part.name, &part.points));
            for live in &part.points {
                let canonical = runner.canonical(live);
                let load = |run| stored.load(&canonical, run);
                let runs: Vec<_> = (0..part.runs).filter_map(load).collect();
                let point = simulated.numbered(runner.point(live).index);
                if let Some(point) = point.filter(|_| !runs.is_empty()) {
                    kept.points
                        .push(LivePointResults::new(&part.name, point, &runs).map_err(failed)?);
                }
            }
        }
        ran.live = kept.keep(&figure.id, folders)?;
        let claims = live_claims(figure, &ran).map_err(failed)?;
        let beside = Comparison::all(figure, &ran).map_err(failed)?;
        Ok(Measured { figure: figure.id.clone(), beside, claims })
    }
}

/// One experiment's points on real hosts.
struct PlannedPart<P> {
    name: String,
    /// What it is called in messages.
    file: String,
    programs: Option<Programs>,
    points: Vec<P>,
    runs: u32,
    /// The link whose packets are recorded.
    record: Option<usize>,
}

impl<P: Sync> PlannedPart<P> {
    fn new(
        figure: &Figure,
        (name, live): (&str, &Live),
        ran: &Ran,
        runner: &dyn LiveRunner<Point = P>,
        quick: bool,
    ) -> Result<PlannedPart<P>, LiveError> {
        let failed = |why: String| RunError::Failed { figure: figure.id.clone(), why };
        let experiment = &ran.part(name).map_err(failed)?.experiment;
        let file = format!("{} ({name})", figure.id);
        let programs = |name: &String| {
            let known = Programs::named(name);
            known.ok_or_else(|| failed(format!("{file}: there is no program {name}")))
        };
        let programs = live.programs.as_ref().map(programs).transpose()?;
        let mut points = runner.points(experiment, &file, programs).map_err(LiveError::LayOut)?;
        points.retain(|one| {
            let values = &runner.point(one).values;
            if quick { live.has_quick(values) } else { live.has(values) }
        });
        let links = |name: &String| {
            let links = &experiment.point(0).scenario.links;
            let found = links.iter().position(|link| link.name == *name);
            found.ok_or_else(|| failed(format!("{file}: there is no link {name} to be recorded")))
        };
        let record = live.record.as_ref().map(links).transpose()?;
        let runs = if quick { 1 } else { live.runs };
        Ok(PlannedPart { name: name.to_owned(), file, programs, points, runs, record })
    }
}
