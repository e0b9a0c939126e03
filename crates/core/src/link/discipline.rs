//! Which queueing discipline a link has, by name and at work.

use super::{
    CoDel, CoDelConfig, Count, DropTail, FqCoDel, FqCoDelConfig, LinkPacket, Pie, PieConfig,
    Policer, PolicerConfig, Queue, QueueLimit, Red, RedConfig, Varying,
};
use crate::time::Instant;
use crate::units::Rate;

/// A queueing discipline with its parameters. Its text form is that of a [`QueueLimit`], or one of
/// `drop-tail:limit=420packets`, `red:limit=50packets,min-threshold=5,max-threshold=15,weight=0.002,max-p=0.1`
/// (and `mean-packet=500`, `gentle=off`, `wait=on`, `average=packets`, `drops=packets`, `ecn=off`),
/// `codel:limit=1000packets,target=5ms,interval=100ms,ecn=off`,
/// `fq-codel:limit=10240packets,flows=1024,quantum=1514B,target=5ms,interval=100ms,ecn=on`,
/// `pie:limit=1000packets,target=15ms,update=15ms,burst=150ms,alpha=0.125,beta=1.25,ecn=off`, of which all
/// parameters may be left out, and `policer:rate=8Mbit/s,burst=30KB,limit=unlimited`, of which the limit may. Where the [line](super::Line)
/// is known, limits may be `1bdp`, too.
#[derive(Debug, Clone, Copy, PartialEq, strum::EnumDiscriminants)]
#[strum_discriminants(
    vis(pub),
    name(QueueName),
    doc = "The name of a queueing discipline.",
    derive(strum::VariantArray, strum::VariantNames, strum::IntoStaticStr),
    strum(serialize_all = "kebab-case")
)]
pub enum QueueKind {
    /// First in, first out; an arrival that does not fit is dropped.
    DropTail(QueueLimit),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay.
    #[strum_discriminants(strum(serialize = "codel"))]
    CoDel(CoDelConfig),
    /// A queue for each flow, served in turns, with controlled delay.
    #[strum_discriminants(strum(serialize = "fq-codel"))]
    FqCoDel(FqCoDelConfig),
    /// The proportional integral controller enhanced.
    Pie(PieConfig),
    /// A token bucket that drops what exceeds its rate and burst.
    Policer(PolicerConfig),
}

impl From<QueueLimit> for QueueKind {
    fn from(limit: QueueLimit) -> QueueKind {
        QueueKind::DropTail(limit)
    }
}

impl QueueKind {
    /// An empty queue of this kind before a line of `rate`, drawing from `seed`.
    pub fn queue<P: LinkPacket>(&self, rate: Option<Varying<Rate>>, seed: u64) -> Discipline<P> {
        let active = match self {
            QueueKind::DropTail(limit) => return Discipline::DropTail(DropTail::new(*limit)),
            QueueKind::Red(config) => Active::Red(Red::new(*config, rate, seed)),
            QueueKind::CoDel(config) => Active::CoDel(CoDel::new(*config)),
            QueueKind::FqCoDel(config) => Active::FqCoDel(FqCoDel::new(*config, seed)),
            QueueKind::Pie(config) => Active::Pie(Pie::new(*config, seed)),
            QueueKind::Policer(config) => Active::Policer(Policer::new(*config)),
        };
        Discipline::Active(active)
    }
}

/// A queue of any kind. An enum and not a trait object: it is asked several times a packet.
///
/// Drop-tail is what most links have, and is small: it is what is inlined where packets pass. The others are
/// called, so that what runs for each packet stays in the processor's cache of instructions.
#[derive(Debug)]
pub enum Discipline<P> {
    /// First in, first out; an arrival that does not fit is dropped.
    DropTail(DropTail<P>),
    /// One that does more.
    Active(Active<P>),
}

/// A queue that drops or marks by more than its limit.
#[derive(Debug)]
pub enum Active<P> {
    /// Random early detection.
    Red(Red<P>),
    /// Controlled delay.
    CoDel(CoDel<P>),
    /// A queue for each flow, served in turns, with controlled delay.
    FqCoDel(FqCoDel<P>),
    /// The proportional integral controller enhanced.
    Pie(Pie<P>),
    /// A token bucket that drops what exceeds its rate and burst.
    Policer(Policer<P>),
}

/// A queue is the one that it holds.
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

delegate!(Discipline, inline, DropTail Active);
delegate!(Active, inline(never), Red CoDel FqCoDel Pie Policer);
