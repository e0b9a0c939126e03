//! The gateway's events in the log, no more of a kind than people can read.

use bentpipe_gateway::{Event, Gateway, Severity};
use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

/// Lines about one kind of event …
const LINES: u32 = 20;
/// … within so long. What is left out is counted.
const SPAN: Duration = Duration::from_secs(10);

/// How much has been said lately, by kind of event.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Vec<Quota>);

#[derive(Debug)]
struct Quota {
    kind: Discriminant<Event>,
    began: Instant,
    said: u32,
    left_out: u64,
}

impl Quotas {
    /// Whether an event may be told, and how many before it were not.
    fn take(&mut self, event: &Event, now: Instant) -> Option<u64> {
        let kind = discriminant(event);
        let at = self.0.iter().position(|quota| quota.kind == kind);
        let at = at.unwrap_or_else(|| {
            self.0.push(Quota { kind, began: now, said: 0, left_out: 0 });
            self.0.len() - 1
        });
        let quota = &mut self.0[at];
        if now.duration_since(quota.began) >= SPAN {
            (quota.began, quota.said) = (now, 0);
        }
        if quota.said >= LINES {
            quota.left_out += 1;
            return None;
        }
        quota.said += 1;
        Some(std::mem::take(&mut quota.left_out))
    }
}

/// Writes down all that has happened since.
pub(crate) fn log(gateway: &mut Gateway, quotas: &mut Quotas) {
    while let Some(event) = gateway.poll_event() {
        // The gateway itself bounds the lines about connections that are not split.
        if event.severity() == Severity::Debug {
            tracing::debug!("{event}");
            continue;
        }
        let Some(left_out) = quotas.take(&event, Instant::now()) else { continue };
        let more = match left_out {
            0 => String::new(),
            count => format!(" (and {count} others like that before)"),
        };
        match event.severity() {
            Severity::Debug | Severity::Info => tracing::info!("{event}{more}"),
            Severity::Warning => tracing::warn!("{event}{more}"),
            Severity::Error => tracing::error!("{event}{more}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_gateway::{Hosts, Side};

    #[test]
    fn of_a_flood_some_are_told_and_the_rest_is_counted() {
        let ends = |port| ([10, 0, 0, 1], port).into();
        let reset = Event::Reset(Hosts { client: ends(1), server: ends(2) }, 5);
        let (mut quotas, now) = (Quotas::default(), Instant::now());
        let told = (0..1000).filter(|_| quotas.take(&reset, now).is_some()).count();
        assert_eq!(told, LINES as usize);
        assert_eq!(quotas.take(&Event::CircuitBroken(Side::Satellite), now), Some(0));
        assert_eq!(quotas.take(&reset, now + SPAN), Some(1000 - u64::from(LINES)));
        assert_eq!(quotas.take(&reset, now + SPAN), Some(0));
    }
}
