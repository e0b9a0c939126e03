//! Real hosts: each way has a testbed of its own, and all go on at the same time.
//!
//! CUBIC takes two minutes, which nobody wants to wait for: what is not complete after a minute is
//! stopped.

use std::fs;
use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_core::units::Bytes;
use bentpipe_linux::netns::NetnsError;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::web::{WebServer, curl};
use bentpipe_testbed::five_hosts::{
    Programs, SatelliteLink, Testbed, TestbedConfig, TestbedError, Told,
};

use super::super::measure::{MeasureError, TICK, content};
use super::super::progress::Progress;
use super::{BYTES, Transfer, Variant, heading, loss};

/// What takes longer is stopped.
const PATIENCE: Duration = Duration::from_secs(60);

/// How far a way has come.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    SettingUp,
    Received(u64),
    /// In so many seconds, or not in time.
    Over(Option<f64>),
    /// It cannot be had here.
    LeftOut(String),
}

impl Stage {
    fn text(&self) -> String {
        match self {
            Stage::SettingUp => "…".to_owned(),
            Stage::Received(bytes) => format!("{:.1} MB", *bytes as f64 / 1e6),
            Stage::Over(Some(seconds)) => format!("{seconds:.2} s"),
            Stage::Over(None) => "stopped".to_owned(),
            Stage::LeftOut(_) => "left out".to_owned(),
        }
    }

    fn is_last(&self) -> bool {
        matches!(self, Stage::Over(_) | Stage::LeftOut(_))
    }
}

/// Downloads the file over `link` with losses; with `gateways` through these, too.
pub fn all(
    link: &SatelliteLink,
    gateways: bool,
    progress: &mut dyn Progress,
) -> Result<Vec<Transfer>, MeasureError> {
    let link = link.with_loss(loss());
    let variants: Vec<Variant> =
        Variant::ALL.into_iter().filter(|variant| gateways || !variant.has_gateways()).collect();
    let stages = Mutex::new(vec![Stage::SettingUp; variants.len()]);
    let failed = AtomicBool::new(false);
    let now = || stages.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let line = || {
        let parts: Vec<String> = variants
            .iter()
            .zip(now())
            .map(|(variant, stage)| format!("{} {}", variant.short(), stage.text()))
            .collect();
        format!("{}: {}", heading(), parts.join(", "))
    };
    progress.begin(&format!("{}: {} ways at once", heading(), variants.len()));
    let results = thread::scope(|scope| {
        let threads: Vec<_> = variants
            .iter()
            .enumerate()
            .map(|(i, &variant)| {
                let (stages, failed, link) = (&stages, &failed, &link);
                scope.spawn(move || {
                    let tell = |stage: Stage| {
                        stages.lock().unwrap_or_else(PoisonError::into_inner)[i] = stage;
                    };
                    let result = transfer(link, variant, &tell, failed);
                    if result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        let mut over = 0;
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(TICK);
            let done = now().iter().filter(|stage| stage.is_last()).count();
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
        threads.into_iter().map(join).collect::<Result<Vec<_>, MeasureError>>()
    });
    for (variant, stage) in variants.iter().zip(now()) {
        if let Stage::LeftOut(why) = stage {
            progress.left_out(variant.name(), &why);
        }
    }
    Ok(results?.into_iter().flatten().collect())
}

/// None if it cannot be had here; `tell` says why.
fn transfer(
    link: &SatelliteLink,
    variant: Variant,
    tell: &dyn Fn(Stage),
    failed: &AtomicBool,
) -> Result<Option<Transfer>, MeasureError> {
    let told = if variant == Variant::Known { Told::Link } else { Told::Nothing };
    let plan = TestbedConfig { link: Some(*link), told, ..TestbedConfig::default() };
    let mut testbed =
        Testbed::build(Programs { bentpipe: std::env::current_exe()?, gateway: None }, plan)?;
    if variant == Variant::EndToEndBbr
        && let Err(error) = testbed.use_congestion_control("bbr")
    {
        return match error {
            NetnsError::Refused { .. } => {
                tell(Stage::LeftOut("this kernel does not have it (module tcp_bbr)".to_owned()));
                Ok(None)
            }
            other => Err(TestbedError::from(other).into()),
        };
    }
    let (site, name) = (testbed.files().join("site"), BYTES.to_string());
    let sent = content(BYTES)?;
    fs::create_dir(&site)?;
    fs::write(site.join(&name), &sent)?;
    let _server = WebServer::start(&testbed, &site)?;
    if variant.has_gateways() {
        testbed.start_gateways()?;
    }

    let destination = testbed.files().join("download");
    let error = |message| MeasureError::Download {
        bytes: Bytes::new(BYTES),
        path: variant.name(),
        message,
    };
    let mut command = curl(&testbed.h1, Testbed::H2_V4, &name, &destination);
    let mut curl = Process::start("curl", &mut command).map_err(TestbedError::from)?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = curl.wait(TICK) {
            break Some(status);
        }
        if began.elapsed() > PATIENCE || failed.load(Ordering::Relaxed) {
            curl.kill();
            break None;
        }
        tell(Stage::Received(fs::metadata(&destination).map_or(0, |file| file.len())));
    };
    if status.is_some_and(|status| !status.success()) {
        return Err(error(curl.stderr().trim().to_owned()));
    }
    let read = |_| error("no time from curl".to_owned());
    let seconds = status.map(|_| curl.stdout().trim().parse().map_err(read)).transpose()?;
    let received = match fs::read(&destination) {
        Err(error) if status.is_none() && error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read?,
    };
    tell(Stage::Over(seconds));
    Ok(Some(Transfer {
        variant,
        seconds,
        stopped_s: if seconds.is_none() { Some(PATIENCE.as_secs_f64()) } else { None },
        received_bytes: received.len() as u64,
        hash_matches: match seconds {
            Some(_) => received == sent,
            None => sent.starts_with(&received),
        },
    }))
}
