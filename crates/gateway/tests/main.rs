//! What the gateway takes of memory, many flows at once, and the order of its rooms.

mod candidate_memory;
mod flow_memory;
mod many_flows;
mod rooms;
mod syn_memory;
