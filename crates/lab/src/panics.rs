//! Panics in runs, which are our own bugs, caught with the place where they happened.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// While runs are made on this thread: the place of the last panic.
    static PLACE: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Does `act`; if it panics, says with which message and where, in one line.
pub fn caught<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    static REPORTED: AtomicBool = AtomicBool::new(false);
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = PLACE.with(|place| match &mut *place.borrow_mut() {
                Some(place) => {
                    *place = info.location().map(ToString::to_string);
                    true
                }
                None => false,
            });
            // Who asks for backtraces gets the usual report, too, of the first one.
            let wanted = || std::env::var_os("RUST_BACKTRACE").is_some();
            if !ours || (wanted() && !REPORTED.swap(true, Ordering::Relaxed)) {
                usual(info);
            }
        }));
    });
    PLACE.with(|place| *place.borrow_mut() = Some(None));
    let result = panic::catch_unwind(AssertUnwindSafe(act));
    let place = PLACE.with(|place| place.borrow_mut().take()).flatten();
    result.map_err(|payload| {
        let text = message(payload.as_ref());
        let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        match place {
            Some(place) => format!("panicked at {place}: {text}"),
            None => format!("panicked: {text}"),
        }
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_one_line() {
        assert_eq!(caught(|| 7), Ok(7));
        let line = caught(|| panic!("one\n  two {}", 3)).unwrap_err();
        assert!(line.contains("panics.rs:") && line.ends_with("one two 3"), "{line}");
    }
}
