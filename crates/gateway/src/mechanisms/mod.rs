//! What a flow does beside passing bytes on. Each mechanism keeps its own state, is told what was
//! observed, and returns what is to be done: none sees a flow, or acts on one.

mod aqm;
mod blind_send;
mod buffer_tuner;
mod bypass;
mod keepalive;

pub(crate) use aqm::{Aqm, Backlog, Offered};
pub(crate) use blind_send::{BlindSend, is_suspect, is_unheard};
pub(crate) use buffer_tuner::{BufferTuner, Observed};
pub(crate) use bypass::BypassSigns;
pub(crate) use keepalive::{KeepAlive, is_keep_alive};
