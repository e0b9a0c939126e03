//! Ctrl-C: the first lets a command end in order, the second ends it at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit status of an interrupted command, 128 and the number of SIGINT, as shells have it.
const INTERRUPTED: u8 = 130;

/// The exit code of a command that was interrupted, and has ended in order.
pub fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}

/// Catches SIGINT and SIGTERM: the first sets the flag, the second exits with 130.
///
/// # Errors
/// No handler can be installed.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Handlers run in the order of their registration: this one sees what the ones before the
        // next have set.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
