//! Which commit a report is of.

use std::process::Command;

/// The commit of the checkout that the program is run in, and its date; `None` outside the project.
pub(super) fn of_checkout() -> Option<String> {
    // Another project's commit says nothing.
    git(&["ls-files", "--error-unmatch", ":/papers/frozen.toml", ":/crates/papers/Cargo.toml"])?;
    let commit = git(&["log", "-1", "--format=%h of %cs", "--abbrev=12"])?;
    let changed = git(&["status", "--porcelain", "--", ":/papers", ":/crates"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}, with changes") })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The compiler that is at hand: `rustc 1.95.0 (59807616e 2026-04-14)`.
pub(super) fn compiler() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
