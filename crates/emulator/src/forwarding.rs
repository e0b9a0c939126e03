//! Forwarding by this host, switched on for a while: `bentpipe link --nat`.
//!
//! What is changed is written down first, in our user's directory. Who ends as the last one of this
//! network namespace restores it, and if that was killed, the next one does.

use bentpipe_linux::runtime_dir::RuntimeDir;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Switches of all interfaces together, and where each interface has its own.
const SWITCHES: [(&str, &str); 2] = [
    ("/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/conf"),
    ("/proc/sys/net/ipv6/conf/all/forwarding", "/proc/sys/net/ipv6/conf"),
];
const SIX: &str = "/proc/sys/net/ipv6/conf";
/// Our record.
const RECORD: &str = "bentpipe link forwarding";

/// Has this host forward IPv4 and IPv6, if it does not. Interfaces that heed router advertisements
/// go on doing so (`accept_ra=2`): the kernel would have those of a router stop.
///
/// # Errors
/// When a setting cannot be written or noted.
pub(crate) fn enable() -> io::Result<()> {
    let mut before: Vec<(String, String)> = Vec::new();
    for (switch, interfaces) in SWITCHES {
        // A kernel without IPv6 has nothing to switch on.
        let Some(value) = read(switch).filter(|value| value == "0") else { continue };
        before.push((switch.to_owned(), value));
        for name in names(interfaces) {
            let own = format!("{interfaces}/{name}/forwarding");
            before.extend(read(&own).map(|value| (own, value)));
            let heeds = format!("{interfaces}/{name}/accept_ra");
            if interfaces == SIX && read(&heeds).is_some_and(|value| value == "1") {
                before.push((heeds, "1".to_owned()));
            }
        }
    }
    if before.is_empty() {
        return Ok(());
    }
    let lines: String = before.iter().map(|(path, value)| format!("{path} {value}\n")).collect();
    fs::write(record(&RuntimeDir::create().map_err(io::Error::other)?)?, lines)?;
    for (path, _) in before.iter().filter(|(path, _)| path.ends_with("/accept_ra")) {
        fs::write(path, "2")?;
    }
    for (switch, _) in before.iter().filter(|(path, _)| is_switch(path)) {
        fs::write(switch, "1")?;
    }
    Ok(())
}

/// Restores what is noted; whether anything was. For who knows that nobody needs it any more.
pub(crate) fn restore() -> bool {
    let Some(record) = RuntimeDir::find().ok().and_then(|dir| record(&dir).ok()) else {
        return false;
    };
    let Ok(lines) = fs::read_to_string(&record) else { return false };
    let noted: Vec<(&str, &str)> = lines.lines().filter_map(|line| line.split_once(' ')).collect();
    // A switch sets all interfaces, so that their own values come behind it.
    for switches in [true, false] {
        for (path, value) in noted.iter().filter(|(path, _)| is_switch(path) == switches) {
            // An interface may be gone.
            if read(path).is_some_and(|now| now != *value) {
                let _ = fs::write(path, value);
            }
        }
    }
    fs::remove_file(record).is_ok()
}

fn is_switch(path: &str) -> bool {
    SWITCHES.iter().any(|(switch, _)| *switch == path)
}

fn record(dir: &RuntimeDir) -> io::Result<PathBuf> {
    dir.file(RECORD, "before")
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The interfaces that have settings in `directory`.
fn names(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name != "all").collect()
}
