//! Someone who types, and a server that echoes. A transfer is a keystroke: from the key to its
//! echo, or, without echoes, to its arrival.

use super::conversation::{ConversationId, Conversations, Exchange, Said};
use super::{AGAIN, FlowEnds, Workload};
use crate::measurement::TransferId;
use crate::simulation::Net;
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_core::time::Duration;
use bentpipe_links::RandomTime;
use bentpipe_results::FlowId;
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// A session that lasts as long as its flow.
#[derive(Debug)]
pub struct Telnet {
    flow: FlowId,
    between: RandomTime,
    /// A keystroke and its echo.
    exchange: Exchange,
    rng: Pcg64Mcg,
    conversations: Conversations,
    session: Option<ConversationId>,
    /// Keystrokes that have not been echoed.
    typed: VecDeque<TransferId>,
}

impl Telnet {
    /// Keystrokes `between` apart, of so many bytes, with echoes of so many.
    pub fn new(
        ends: FlowEnds,
        between: RandomTime,
        keystroke: u64,
        echo: u64,
        rng: Pcg64Mcg,
    ) -> Telnet {
        Telnet {
            flow: ends.flow,
            between,
            exchange: Exchange::private(keystroke, echo, Duration::ZERO),
            rng,
            conversations: Conversations::new(ends),
            session: None,
            typed: VecDeque::new(),
        }
    }

    /// Types again after a while.
    fn go_on(&mut self, net: &mut Net) {
        let pause = self.between.sample(&mut self.rng).max(Duration::from_nanos(1));
        net.set_timer(net.now() + pause, AGAIN);
    }
}

impl Workload for Telnet {
    fn start(&mut self, net: &mut Net) {
        self.session = Some(self.conversations.open(net, 0, &[], false));
        self.go_on(net);
    }

    fn stop(&mut self, net: &mut Net) {
        self.conversations.quit(net);
    }

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        // A session that broke is over.
        let Some(id) = self.session.filter(|_| mark == AGAIN) else { return };
        self.typed.push_back(net.meters.begin(net.now(), self.flow));
        self.conversations.ask(net, id, &[self.exchange]);
        self.go_on(net);
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let now = net.now();
        let Some((_, _, said)) = self.conversations.on_notice(net, end, tag, notice) else {
            return;
        };
        match (said, self.typed.front()) {
            (Said::FirstByte, Some(typed)) => net.meters.first_byte(now, *typed),
            (Said::Replied, Some(typed)) => {
                let Exchange { request, reply, .. } = self.exchange;
                let bytes = if reply > 0 { reply } else { request };
                net.meters.complete(now, *typed, bytes);
                self.typed.pop_front();
            }
            (Said::Broken, _) => {
                self.session = None;
                for typed in self.typed.drain(..) {
                    net.meters.give_up(typed);
                }
                net.meters.finish(now, self.flow);
            }
            _ => {}
        }
    }
}
