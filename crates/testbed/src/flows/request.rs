//! Requests and their replies, one after the other.

use super::conversation::{Client, Conversations, Exchange, Said};
use super::meter::FlowMeter;
use super::{RETRY, Streams};
use bentpipe_links::{RandomSize, RandomTime};
use bentpipe_scenario::Reuse;
use std::sync::Arc;

/// What is asked and answered.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) request: RandomSize,
    pub(super) reply: RandomSize,
    pub(super) server_delay: RandomTime,
    pub(super) think: RandomTime,
    /// How many; None: as long as the flow lasts.
    pub(super) requests: Option<u64>,
    pub(super) connection: Reuse,
}

/// Asks as `plan` says, until it is done or all is over. Random numbers are drawn as the simulator
/// does.
pub(super) fn run(
    meter: &Arc<FlowMeter>,
    conversations: &Conversations,
    plan: &Settings,
    rng: &Streams,
) {
    let [mut request, mut reply, mut delay, mut think] =
        ["request", "reply", "server-delay", "think"].map(|what| rng.of(what));
    let last = plan.connection == Reuse::New;
    let mut current: Option<Client> = None;
    let mut asked = 0;
    while plan.requests.is_none_or(|requests| asked < requests) {
        asked += 1;
        let exchange = Exchange {
            request: plan.request.sample(&mut request).count(),
            reply: plan.reply.sample(&mut reply).count(),
            delay: plan.server_delay.sample(&mut delay),
        };
        let transfer = meter.transfer();
        let client = match current.take() {
            Some(client) => Ok(client),
            None => conversations.open(),
        };
        let done = client.and_then(|mut client| {
            client.ask(&[exchange], last, |_, said| match said {
                Said::FirstByte => meter.first_byte(transfer),
                Said::Replied => meter.complete(transfer, exchange.reply),
            })?;
            Ok(client)
        });
        let pause = match done {
            Ok(client) => {
                current = Some(client).filter(|_| !last);
                plan.think.sample(&mut think)
            }
            Err(error) => {
                meter.failed(&error);
                RETRY
            }
        };
        let all = plan.requests == Some(asked);
        if !all && !meter.wait_until(meter.now() + pause) {
            return;
        }
    }
    drop(current);
    if !meter.is_stopped() {
        meter.finish();
    }
}
