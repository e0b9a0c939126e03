//! A queue that holds one of several, and is the one that it holds.

/// Implements `Queue` for an enum of queues: each call goes to the one that it holds.
macro_rules! delegate {
    ($queue:ident, $inline:meta, $($kind:ident)*) => {
        impl<P: LinkPacket> Queue<P> for $queue<P> {
            #[$inline]
            fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
                match self { $($queue::$kind(queue) => queue.enqueue(now, packet)),* }
            }

            #[$inline]
            fn head(&mut self, now: Instant) -> Option<&P> {
                match self { $($queue::$kind(queue) => queue.head(now)),* }
            }

            #[$inline]
            fn dequeue(&mut self, now: Instant) -> Option<P> {
                match self { $($queue::$kind(queue) => queue.dequeue(now)),* }
            }

            fn drop_superseded(&mut self, newer: &P, from: usize) {
                match self { $($queue::$kind(queue) => queue.drop_superseded(newer, from)),* }
            }

            fn bring_forward(&mut self, from: usize) {
                match self { $($queue::$kind(queue) => queue.bring_forward(from)),* }
            }

            #[$inline]
            fn held(&self) -> Count {
                match self { $($queue::$kind(queue) => queue.held()),* }
            }

            fn dropped(&self) -> Count {
                match self { $($queue::$kind(queue) => queue.dropped()),* }
            }

            fn marked(&self) -> Count {
                match self { $($queue::$kind(queue) => queue.marked()),* }
            }
        }
    };
}

pub(super) use delegate;
