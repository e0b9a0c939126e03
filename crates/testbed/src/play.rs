//! One run on a testbed that is up.

use crate::flows::{self, Host, PlayError, Progress};
use crate::network::{GatewayProgram, LinkReport, Network, NetworkError};
use crate::plan::LivePoint;
use crate::results::{self, Measured};
use bentpipe_linux::netns::Namespace;
use bentpipe_linux::processor_times::ProcessorTimes;
use bentpipe_results::RunResults;
use serde_json::Value;
use std::net::Ipv4Addr;
use std::time::Duration;

/// How long the connections of an earlier run may take to end.
const SETTLE: Duration = Duration::from_secs(5);

/// What a run has given.
pub struct Run {
    /// The rows; what real hosts do not count is absent.
    pub results: RunResults,
    /// The share of packets that were more than 1 ms late, of the worst link.
    pub late: f64,
    /// What 99 % of its packets were not later than, in milliseconds.
    pub late_p99_ms: f64,
    /// The share of the processors' time that was in use, by any process; 0 without `/proc/stat`.
    pub busy: f64,
}

/// Makes run `run` of a point, with links as new and gateways started anew. The packets of the link
/// `record` are recorded, if there is one. `go_on` hears how far it has come, and says whether it
/// is to go on.
///
/// # Errors
/// [`PlayError`].
pub fn run(
    network: &mut Network,
    live: &LivePoint,
    run: u32,
    record: Option<usize>,
    go_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<Run, PlayError> {
    if !go_on(Progress::default()) {
        return Err(PlayError::Cancelled);
    }
    let begin = ProcessorTimes::now();
    network.settle(SETTLE)?;
    network.set_hosts(&live.stack)?;
    for (node, program) in &live.gateways {
        network.stop_gateway(*node)?;
        network.start_gateway(*node, program)?;
    }
    let scenario = &live.point.scenario;
    let mut watch = Watch {
        network,
        point: live.point.index,
        run: u64::from(run),
        record,
        gateways: &live.gateways,
        // Gateways that have just been started have counted nothing.
        before: vec![Value::Null; live.gateways.len()],
        after: Vec::new(),
        links: Vec::new(),
        go_on,
    };
    let played =
        flows::play(scenario, u64::from(run), &live.stack.flows, live.browser, &mut watch)?;
    let Watch { gateways, before, after, links, .. } = watch;
    let status = before.into_iter().zip(after);
    let gateways = gateways.iter().zip(status).map(|((node, _), (a, b))| (*node, a, b)).collect();
    let most = |of: fn(&LinkReport) -> f64| links.iter().map(of).fold(0.0, f64::max);
    let (late, late_p99_ms) = (most(|link| link.late), most(|link| link.late_p99_ms));
    let measured = Measured { played, links, gateways };
    let results = results::results(scenario, u64::from(run), &measured);
    let now = ProcessorTimes::now();
    let busy = now.zip(begin).map_or(0.0, |(now, begin)| now.busy_since(begin));
    Ok(Run { results, late, late_p99_ms, busy })
}

/// What a run asks of the testbed.
struct Watch<'a> {
    network: &'a Network,
    point: usize,
    run: u64,
    record: Option<usize>,
    gateways: &'a [(usize, GatewayProgram)],
    before: Vec<Value>,
    after: Vec<Value>,
    links: Vec<LinkReport>,
    go_on: &'a mut dyn FnMut(Progress) -> bool,
}

impl Watch<'_> {
    fn status(&self) -> Result<Vec<Value>, NetworkError> {
        let parse = |(node, program): &(usize, GatewayProgram)| match program {
            GatewayProgram::Bentpipe(_) => {
                let text = self.network.gateway_status(*node)?;
                Ok(serde_json::from_str(&text).unwrap_or_default())
            }
            // It counts nothing that we could ask for.
            GatewayProgram::Foreign(_) => Ok(Value::Null),
            GatewayProgram::Router => Ok(results::router_status()),
        };
        self.gateways.iter().map(parse).collect()
    }
}

impl Host for Watch<'_> {
    fn place(&self, node: usize) -> (Namespace, Ipv4Addr) {
        self.network.place(node)
    }

    fn begin(&mut self) -> Result<(), NetworkError> {
        self.network.begin(self.point, self.run, self.record)
    }

    fn warm(&mut self) -> Result<(), NetworkError> {
        self.network.mark()?;
        self.before = self.status()?;
        Ok(())
    }

    fn end(&mut self) -> Result<(), NetworkError> {
        self.links = self.network.report()?;
        self.after = self.status()?;
        Ok(())
    }

    fn go_on(&mut self, progress: Progress) -> bool {
        (self.go_on)(progress)
    }
}
