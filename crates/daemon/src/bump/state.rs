//! The state of the diversion: whether packets are taken, and what is in the way.

use bentpipe_linux::surroundings::Finding;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The state of the diversion, which the monitor writes and commands show. Clones are of the same
/// devices.
#[derive(Debug, Clone, Default)]
pub struct DiversionState(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    asleep: AtomicBool,
    carries: AtomicBool,
    silence: AtomicBool,
    findings: Mutex<Vec<Finding>>,
}

impl DiversionState {
    /// Nothing is taken, as something in the way forbids it.
    pub fn is_asleep(&self) -> bool {
        self.0.asleep.load(Ordering::Relaxed)
    }

    /// What is in the way.
    pub fn findings(&self) -> Vec<Finding> {
        self.0.findings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether packets that are given back must come by.
    pub(super) fn carries(&self) -> bool {
        self.0.carries.load(Ordering::Relaxed)
    }

    pub(super) fn set_carries(&self, carries: bool) {
        self.0.carries.store(carries, Ordering::Relaxed);
    }

    /// Nothing comes by of what was given back.
    pub(super) fn tell_of_silence(&self) {
        self.0.silence.store(true, Ordering::Relaxed);
    }

    /// Whether that was told since it was asked last.
    pub(super) fn take_silence(&self) -> bool {
        self.0.silence.swap(false, Ordering::Relaxed)
    }

    pub(super) fn set_asleep(&self, asleep: bool) {
        self.0.asleep.store(asleep, Ordering::Relaxed);
    }

    pub(super) fn set_findings(&self, findings: &[Finding]) {
        *self.0.findings.lock().unwrap_or_else(PoisonError::into_inner) = findings.to_vec();
    }
}
