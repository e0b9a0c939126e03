//! What the gateway tells of, in the log.

use bentpipe_gateway::{Gateway, Severity};

/// Writes down all that has happened since.
pub(crate) fn log(gateway: &mut Gateway) {
    while let Some(event) = gateway.poll_event() {
        match event.severity() {
            Severity::Debug => tracing::debug!("{event}"),
            Severity::Info => tracing::info!("{event}"),
            Severity::Warning => tracing::warn!("{event}"),
            Severity::Error => tracing::error!("{event}"),
        }
    }
}
