//! Facts about network interfaces, asked of `ip`: `/sys` may show another namespace's.

use crate::command::{CommandError, run};
use serde_json::Value;

/// Why an interface's properties are not known.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// `ip` failed, perhaps because there is no such interface.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// `ip` said something unexpected.
    #[error("`ip` does not tell the MTU of {0}")]
    Mtu(String),
}

/// The largest IP packet, in bytes, that every one of `interfaces` carries; 65,535 if none of them
/// is smaller.
///
/// # Errors
/// [`InterfaceError`].
pub fn min_mtu(interfaces: &[String]) -> Result<u16, InterfaceError> {
    let mut min = u64::from(u16::MAX);
    for name in interfaces {
        let text = run("ip", &["-j", "link", "show", "dev", name], "")?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let mtu = answer[0]["mtu"].as_u64().ok_or_else(|| InterfaceError::Mtu(name.clone()))?;
        min = min.min(mtu);
    }
    Ok(u16::try_from(min).unwrap_or(u16::MAX))
}
