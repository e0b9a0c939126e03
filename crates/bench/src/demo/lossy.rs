//! The largest file over the same link with losses, by several ways at once: each has a network of
//! its own.

use super::download::{Download, download};
use super::{Demo, Progress};
use crate::BenchError;
use crate::player::World;
use crate::satellite::case::{Case, Column};
use crate::satellite::limit::Limit;
use bentpipe_testbed::congestion_control;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the line of progress is renewed.
const TICK: Duration = Duration::from_millis(100);

/// How the file comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// By the hosts alone, with CUBIC.
    EndToEnd,
    /// By the hosts alone, with BBR.
    EndToEndBbr,
    /// Through unconfigured gateways.
    Estimated,
    /// Through gateways that know its rate and round trip.
    Known,
}

impl Variant {
    const ALL: [Variant; 4] =
        [Variant::EndToEnd, Variant::EndToEndBbr, Variant::Estimated, Variant::Known];

    /// In the table.
    pub fn name(self) -> &'static str {
        match self {
            Variant::EndToEnd => "end to end, CUBIC",
            Variant::EndToEndBbr => "end to end, BBR",
            Variant::Estimated => "gateways, unconfigured",
            Variant::Known => "gateways, rate configured",
        }
    }

    /// In a line of progress.
    fn short(self) -> &'static str {
        match self {
            Variant::EndToEnd => "CUBIC",
            Variant::EndToEndBbr => "BBR",
            Variant::Estimated => "gateways",
            Variant::Known => "gateways, rate configured",
        }
    }

    fn column(self) -> Column {
        match self {
            Variant::EndToEnd => Column::EndToEnd,
            Variant::EndToEndBbr => Column::EndToEndBbr,
            Variant::Estimated => Column::Estimated,
            Variant::Known => Column::Known,
        }
    }

    fn has_gateways(self) -> bool {
        matches!(self, Variant::Estimated | Variant::Known)
    }
}

/// What became of the file by one way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Transfer {
    /// The way.
    pub variant: Variant,
    /// How long it took; absent if it was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// After how long it was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_s: Option<f64>,
    /// What had come by then.
    pub received_bytes: u64,
    /// Whether that is what was sent: otherwise there is an error in its place.
    pub hash_matches: bool,
}

/// All of them.
#[derive(Debug, Serialize)]
pub struct Lossy {
    /// The size of the file.
    pub bytes: u64,
    /// The share of the packets that are lost, in each direction.
    pub loss: f64,
    /// The mean of an ideal sender, to which a loss is known a round trip later.
    pub limit_s: f64,
    /// One for each way.
    pub transfers: Vec<Transfer>,
}

impl Lossy {
    /// The transfers of a case, next to its file and its limit.
    pub(super) fn of(case: &Case, transfers: Vec<Transfer>) -> Lossy {
        let ideal = case.limit.as_ref();
        Lossy {
            bytes: ideal.map_or(0, Limit::bytes),
            loss: ideal.map_or(0.0, Limit::loss),
            limit_s: ideal.map_or(0.0, Limit::seconds),
            transfers,
        }
    }
}

/// How far a way has come.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    SettingUp,
    Received(u64),
    /// In so many seconds, or not in time.
    Over(Option<f64>),
}

impl Stage {
    fn text(&self) -> String {
        match self {
            Stage::SettingUp => "…".to_owned(),
            Stage::Received(bytes) => format!("{:.1} MB", *bytes as f64 / 1e6),
            Stage::Over(Some(seconds)) => format!("{seconds:.2} s"),
            Stage::Over(None) => "stopped".to_owned(),
        }
    }
}

/// All ways, at once.
pub(super) fn all(
    demo: &Demo,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Lossy, BenchError> {
    let Demo { world, gateways, lossy: case, .. } = demo;
    let mut variants: Vec<Variant> =
        Variant::ALL.into_iter().filter(|variant| *gateways || !variant.has_gateways()).collect();
    if matches!(world, World::Live { .. }) && !congestion_control::is_available("bbr") {
        variants.retain(|variant| *variant != Variant::EndToEndBbr);
        let why = "this kernel does not have it (module tcp_bbr)";
        progress.left_out(Variant::EndToEndBbr.name(), why);
    }
    let stages = Mutex::new(vec![Stage::SettingUp; variants.len()]);
    let now = || stages.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let line = || {
        let parts = variants.iter().zip(now());
        let parts: Vec<String> =
            parts.map(|(variant, stage)| format!("{} {}", variant.short(), stage.text())).collect();
        format!("{}: {}", case.name, parts.join(", "))
    };
    // A way that fails halts the others, as `stop` does.
    let halt = AtomicBool::new(false);
    progress.begin(&format!("{}: {} ways at once", case.name, variants.len()));
    let results = thread::scope(|scope| {
        let begin = |(worker, variant): (usize, &Variant)| {
            let (stages, halt, column) = (&stages, &halt, variant.column());
            scope.spawn(move || {
                let tell = |stage: Stage| {
                    stages.lock().unwrap_or_else(PoisonError::into_inner)[worker] = stage;
                };
                let mut player = world.player(worker);
                let mut hears = |bytes| tell(Stage::Received(bytes));
                let result = download(&mut *player, case, column, halt, &mut hears);
                match &result {
                    Ok(download) => tell(Stage::Over(download.seconds)),
                    Err(_) => halt.store(true, Ordering::Relaxed),
                }
                result
            })
        };
        let threads: Vec<_> = variants.iter().enumerate().map(begin).collect();
        let mut over = 0;
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(TICK);
            if stop.load(Ordering::Relaxed) {
                halt.store(true, Ordering::Relaxed);
            }
            let done = now().iter().filter(|stage| matches!(stage, Stage::Over(_))).count();
            if done > over {
                over = done;
                progress.note(&line());
            } else {
                progress.update(&line());
            }
        }
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Vec<Result<Download, BenchError>>>()
    });
    let mut transfers = Vec::new();
    let mut stopped = None;
    for (&variant, result) in variants.iter().zip(results) {
        match result {
            Ok(download) => transfers.push(transfer(variant, &download)),
            // The way that failed says more than those that it stopped.
            Err(BenchError::Stopped) => stopped = Some(BenchError::Stopped),
            Err(error) => return Err(error),
        }
    }
    stopped.map_or_else(|| Ok(Lossy::of(case, transfers)), Err)
}

fn transfer(variant: Variant, download: &Download) -> Transfer {
    let &Download { seconds, patience_s, received } = download;
    Transfer {
        variant,
        seconds,
        stopped_s: if seconds.is_none() { Some(patience_s) } else { None },
        received_bytes: received,
        hash_matches: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_the_promised_keys() {
        let demo = Demo::new(World::Simulated, true).unwrap();
        let of = |variant, seconds| {
            transfer(variant, &Download { seconds, patience_s: 60.0, received: 4_230_000 })
        };
        let transfers = vec![of(Variant::EndToEnd, None), of(Variant::Known, Some(11.9))];
        let json = serde_json::to_value(Lossy::of(&demo.lossy, transfers)).unwrap();
        assert_eq!((&json["bytes"], &json["loss"]), (&10_000_000.into(), &0.01.into()));
        assert!((json["limit_s"].as_f64().unwrap() - 11.83).abs() < 0.1, "{json}");
        let [cubic, known] = [0, 1].map(|i| &json["transfers"][i]);
        assert_eq!((&cubic["variant"], &cubic["stopped_s"]), (&"end-to-end".into(), &60.0.into()));
        assert!(cubic.get("seconds").is_none());
        assert_eq!((&known["variant"], &known["seconds"]), (&"known".into(), &11.9.into()));
        assert_eq!(known["hash_matches"], true);
    }
}
