//! Cells that several lists have.

use crate::command::top::model::flows::{End, HeldBack};
use crate::command::top::units::{self, NONE};

/// The limiter, behind the direction of its leg: up is to the server.
pub(crate) fn held_back(held: Option<&HeldBack>) -> String {
    held.map_or_else(
        || NONE.to_owned(),
        |held| {
            let arrow = if held.leg == End::Server { "↑" } else { "↓" };
            format!("{arrow}{}", units::limiter(&held.limiter))
        },
    )
}
