//! The virtual-time world: hosts, routers, gateways and links in one event loop.
//!
//! Everything in it is a state machine without a clock: [`World`] holds the time, asks each of
//! them when its next timer fires, and carries packets from one to the next. The same seed gives
//! the same run, packet by packet ([`World::trace`]).
#![forbid(unsafe_code)]

mod barrier;
mod build;
mod capture;
mod damage;
mod dead_end;
mod ecmp;
mod event_queue;
mod faults;
pub mod fuzz;
mod host;
mod line;
mod listener;
pub mod measurement;
mod middleboxes;
mod narrow;
mod node;
mod packet;
mod packet_pool;
mod run;
mod simulation;
mod stream;
pub mod workload;
mod world;

pub use barrier::{Barriers, Ticket};
pub use build::{Built, BuiltLink, Layout, build};
pub use dead_end::DeadEnd;
pub use ecmp::{EqualWay, FlowHash, Spread};
pub use host::script::{Close, Pace, Report, Run, Script, Start};
pub use host::{Application, Host, SessionKey, Slot};
pub use line::Line;
pub use listener::Listener;
pub use middleboxes::{Alias, ClearsDf, Fake, Fakes, FakesEnd, Liar, Lies, Pieced};
pub use narrow::Narrow;
pub use node::{Middlebox, Node};
pub use packet::{Body, Content, CorruptionNotice, Datagram, Echo, Hole, Packet};
pub use run::{run, run_into};
pub use simulation::{Call, Net, Service, Simulation, Socket};
pub use stream::{Notice, Stream};
pub use world::{Endpoint, LineId, NodeId, World};
