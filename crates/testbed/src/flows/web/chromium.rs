//! Chromium's headless shell, which loads a page and says how long that took.

use super::super::meter::FlowMeter;
use super::super::socket::LocalEndpoint;
use bentpipe_core::time::Duration;
use std::io::{self, Read};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, process, thread};

/// How often we look whether all is over.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

/// Loads the page at `url`. The time is the browser's own, without that of its start: from the
/// moment in which it asks for the document until all has come.
pub(super) fn load(meter: &FlowMeter, client: &LocalEndpoint, url: &str) -> io::Result<Duration> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Nothing is left of an earlier load.
    let profile = std::env::temp_dir().join(format!("bentpipe-browser-{}-{number}", process::id()));
    fs::create_dir_all(&profile)?;
    let mut command = client.namespace.command("chromium-headless-shell");
    command.args(["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]);
    command.args([
        "--disable-background-networking",
        "--no-proxy-server",
        "--ignore-certificate-errors",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display())).arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut browser = command.spawn()?;
    let mut output = browser.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let reading = thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let ended = loop {
        if let Some(status) = browser.try_wait()? {
            break status.success();
        }
        if meter.is_stopped() {
            let _ = browser.kill();
            let _ = browser.wait();
            break false;
        }
        thread::sleep(LOOK);
    };
    let text = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let _ = fs::remove_dir_all(&profile);
    if meter.is_stopped() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let millis = text.ok().filter(|_| ended).and_then(|text| said(&text));
    let millis = millis.ok_or_else(|| io::Error::other("chromium did not load the page"))?;
    Ok(Duration::from_millis(millis))
}

/// What the page's script has found, in milliseconds.
fn said(dom: &str) -> Option<u64> {
    dom.split("<p id=\"t\">").nth(1)?.split('<').next()?.parse().ok().filter(|millis| *millis > 0)
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn the_page_says_how_long_it_took() {
        assert_eq!(said("<html><body><p id=\"t\">1234</p>"), Some(1234));
        assert_eq!(said("<p id=\"t\"></p>"), None);
    }
}
