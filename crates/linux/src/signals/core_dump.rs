//! The second SIGQUIT: the process ends as if nobody had caught it, also while its loop hangs,
//! which is what one wants to see in a core.
//!
//! [`crate::privileges`] keeps cores from being dumped, as what a gateway holds are other people's
//! connections. Who asks for one twice may have it: root, or the gateway's own user. It is as large
//! as this host allows.

use crate::privileges;
use signal_hook::consts::SIGQUIT;
use signal_hook::low_level;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Has the second SIGQUIT end the process from now on, whatever it does then. To be called before
/// SIGQUIT is caught otherwise: actions run in this order.
///
/// # Errors
/// When no handler can be made.
pub fn dump_core_upon_second_quit() -> io::Result<()> {
    static FIRST: AtomicBool = AtomicBool::new(false);
    let act = || {
        if FIRST.swap(true, Ordering::SeqCst) {
            privileges::show_memory();
            let _ = low_level::emulate_default_handler(SIGQUIT);
        }
    };
    // SAFETY: the action runs in a signal handler. It uses an atomic, two system calls (prctl,
    // prlimit) without allocation or locks, and signal-hook's emulation, which is made for
    // handlers.
    #[allow(unsafe_code)]
    unsafe {
        low_level::register(SIGQUIT, act)?;
    }
    Ok(())
}
