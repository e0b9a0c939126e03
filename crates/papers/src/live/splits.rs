//! Whether gateways on real hosts have split what they were to: a run in which one has not is of
//! another path.

use crate::run::cells;
use bentpipe_lab::RunRecord;
use bentpipe_lab::tables::Table;

/// What a gateway has done with connections, by the columns of table `gateways`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Connections {
    split: f64,
    released: f64,
}

impl Connections {
    fn of(record: &RunRecord, gateway: &str) -> Option<Connections> {
        let of = |column: &str| {
            let rows = [("gateway", gateway)];
            let found = cells(std::slice::from_ref(record), Table::Gateways, &rows, column);
            found.ok()?.first().copied()
        };
        Some(Connections { split: of("split_flows")?, released: of("released_flows")? })
    }

    /// Whether these are those of the same path. `more`: of programs that open more connections
    /// than ours.
    fn are(self, wanted: Connections, more: bool) -> bool {
        let enough = more && wanted.split > 0.0 && self.split > wanted.split;
        (self.split == wanted.split || enough) && self.released == wanted.released
    }
}

/// In what the gateways of a live run differ from those of a simulated one, in a sentence; None if
/// in nothing. `more`: programs may open more connections than the simulator's do.
pub(super) fn otherwise(simulated: &RunRecord, live: &RunRecord, more: bool) -> Option<String> {
    let names = simulated.rows(Table::Gateways).iter().filter_map(|row| row.first());
    names.map(bentpipe_lab::Cell::text).find_map(|name| {
        let wanted = Connections::of(simulated, &name)?;
        let Some(found) = Connections::of(live, &name) else {
            return Some(format!("gateway {name} says nothing of itself"));
        };
        (!found.are(wanted, more)).then(|| {
            format!(
                "gateway {name} has split {} connections and released {}, where the simulated one has {} and {}",
                found.split, found.released, wanted.split, wanted.released
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_has_split_all_that_it_is_to_and_kept_it() {
        let of = |split, released| Connections { split, released };
        assert!(of(10.0, 0.0).are(of(10.0, 0.0), false));
        assert!(!of(9.0, 0.0).are(of(10.0, 0.0), true), "one was connected before");
        assert!(!of(10.0, 1.0).are(of(10.0, 0.0), true), "one was handed back");
        assert!(!of(12.0, 0.0).are(of(10.0, 0.0), false));
        assert!(of(12.0, 0.0).are(of(10.0, 0.0), true), "programs open more");
        assert!(!of(1.0, 0.0).are(of(0.0, 0.0), true), "it is a router");
    }
}
