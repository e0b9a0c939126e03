//! What every algorithm holds, and connections from their snapshots. `fuzz`, which has inputs of
//! its own, is apart.

mod kept;
mod pair;
mod properties;
mod snapshot;
mod timers;
