//! When routes change, boxes crash or drain, and segments are forged.

use super::Draw;
use crate::fuzz::attack::{Attack, Forgery};
use crate::fuzz::plan::{Call, Change, Hazard, Middle, Path};
use bentpipe_core::time::{Duration, Instant};
use rand::RngExt;

impl Draw {
    /// A moment before, during or after a handshake.
    pub(super) fn moment(&mut self, calls: &[Call]) -> Instant {
        let call = calls[self.rng.random_range(0..calls.len())];
        match self.between(0, 3) {
            0 => Instant::ZERO + self.millis(0, 3_000),
            1 => call.at + self.millis(0, 1_200),
            _ => call.at + self.millis(0, 10_000),
        }
    }

    pub(super) fn changes(
        &mut self,
        middle: &[Middle; 2],
        calls: &[Call],
    ) -> Vec<(Instant, Change)> {
        let mut changes = Vec::new();
        if self.has(Hazard::Crash) {
            let gateways: Vec<usize> =
                (0..2).filter(|&i| matches!(middle[i], Middle::Gateway(_))).collect();
            for _ in 0..self.pick(&[1, 1, 2]) {
                if gateways.is_empty() {
                    break;
                }
                let (gateway, at) = (self.pick(&gateways), self.moment(calls));
                changes.push((at, Change::Crash(gateway)));
                if self.has(Hazard::Restart) {
                    // At once, or after a while.
                    let later = if self.flip() { Duration::ZERO } else { self.millis(1, 5_000) };
                    changes.push((at + later, Change::Restart(gateway)));
                }
            }
        }
        if self.has(Hazard::Drain) {
            for gateway in [0, 1] {
                if matches!(middle[gateway], Middle::Gateway(_)) && self.flip() {
                    changes.push((self.moment(calls), Change::Drain(gateway)));
                }
            }
        }
        if self.has(Hazard::RouteOneWay) {
            for _ in 0..self.between(1, 3) {
                let (towards, at) = (usize::from(self.flip()), self.moment(calls));
                changes.push((at, Change::Route { towards, path: self.path() }));
            }
        }
        if self.has(Hazard::RouteTwoWay) {
            for _ in 0..self.between(1, 3) {
                let (path, at) = (self.path(), self.moment(calls));
                // The box near one host is far from the other.
                let back = match path {
                    Path::Near => Path::Far,
                    Path::Far => Path::Near,
                    path => path,
                };
                let apart = if self.flip() { Duration::ZERO } else { self.millis(0, 500) };
                changes.push((at, Change::Route { towards: 1, path }));
                changes.push((at + apart, Change::Route { towards: 0, path: back }));
            }
        }
        if self.has(Hazard::Attack) {
            // What is out of the window for a box may be what the host behind it expects, once the
            // box has handed the connection back.
            let boxes_stay = [Hazard::Drain, Hazard::RouteOneWay, Hazard::RouteTwoWay]
                .iter()
                .all(|hazard| !self.has(*hazard));
            for _ in 0..self.between(5, 60) {
                let at = self.moment(calls);
                let forgery = self.pick(&[
                    Forgery::Blind,
                    Forgery::Blind,
                    Forgery::Reset,
                    Forgery::Syn,
                    Forgery::WrongAck,
                    Forgery::Stale,
                ]);
                let forgery = if boxes_stay { forgery } else { Forgery::Blind };
                changes.push((at, Change::Attack(self.attack(calls, forgery))));
            }
        }
        if self.has(Hazard::SynFlood) {
            let (at, count) = (self.moment(calls), self.between(1, 30) as u8);
            changes.push((at, Change::Attack(self.attack(calls, Forgery::Flood(count)))));
        }
        changes
    }

    fn path(&mut self) -> Path {
        self.pick(&[Path::Beside, Path::Beside, Path::Both, Path::Near, Path::Far])
    }

    pub(super) fn attack(&mut self, calls: &[Call], forgery: Forgery) -> Attack {
        Attack {
            call: self.rng.random_range(0..calls.len()),
            name: usize::from(self.flip()),
            place: self.pick(&[0, 1, 1, 2]),
            forgery,
            seed: self.rng.random(),
        }
    }
}
