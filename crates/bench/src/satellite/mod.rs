//! How far the gateways are from the limit of the link: every case in virtual time, with the code
//! that is deployed.

pub mod campaign;
pub mod case;
pub mod cases;
pub(crate) mod limit;
mod measure;
mod ratio;
pub mod row;
mod setup;
mod target;

#[cfg(test)]
mod tests {
    use super::campaign::Campaign;
    use super::case::{Case, Column, Figures, Seeds};
    use super::limit::{Limit, Opening};
    use super::row::{Row, Table};
    use super::setup::{DOWNLOAD, Place, Setup};
    use super::target::{Figure, Target};
    use bentpipe_core::time::Duration;
    use bentpipe_core::units::Rate;
    use std::num::NonZeroUsize;
    use std::sync::atomic::AtomicBool;

    /// A lossy download of 100 KB, with one gateway and without.
    fn small() -> Case {
        let setup =
            Setup::of(DOWNLOAD).with("flow.transfer.bytes", "100KB").with("link.sat.loss", "1%");
        let rate = Rate::from_bits_per_sec(8_000_000);
        Case::new("small", Seeds::All)
            .limit(Limit::of(rate, Duration::from_millis(500), 100_000, Opening::Receiver))
            .column(Column::EndToEnd, setup.clone())
            .column(Column::Estimated, setup.between(Place::Gateway, Place::Router))
            .ratio(Column::Estimated, Column::EndToEnd)
            .target(Target::times(Figure::Estimated, 1.0, Figure::Limit))
    }

    fn rows(cases: &[Case], seeds: u64) -> Vec<Row> {
        let campaign = Campaign::new(cases, seeds).unwrap();
        campaign.run(NonZeroUsize::MIN, &AtomicBool::new(false), &|_, _| ()).unwrap()
    }

    #[test]
    fn a_row_has_the_fields_that_apply_to_it_and_no_others() {
        let cases = [small()];
        let rows = rows(&cases, 4);
        let json: serde_json::Value =
            serde_json::from_str(&Table { rows: &rows }.to_json()).unwrap();
        let row = json["rows"][0].as_object().unwrap();
        let fields: Vec<&str> = row.keys().map(String::as_str).collect();
        let expected = [
            "case",
            "end_to_end_s",
            "estimated_s",
            "limit_s",
            "met",
            "ratio",
            "ratio_bound",
            "runs",
            "target",
        ];
        assert_eq!(fields, expected);
        assert_eq!((&row["case"], &row["runs"]), (&"small".into(), &4.into()));
        assert_eq!((&row["target"], &row["met"]), (&"estimated ≤ limit".into(), &false.into()));
        let figure = |name: &str| row[name].as_f64().unwrap();
        assert!((figure("limit_s") - 1.1036).abs() < 1e-3, "{row:?}");
        assert!(
            figure("end_to_end_s") > 1.5 && figure("ratio_bound") >= figure("ratio"),
            "{row:?}"
        );
    }

    #[test]
    fn equal_columns_are_run_once() {
        let twice = [small(), Case { name: "again".to_owned(), ..small() }];
        assert_eq!(Campaign::new(&twice, 3).unwrap().runs(), 6);
        let rows = rows(&twice, 2);
        assert_eq!(rows[0].end_to_end_s, rows[1].end_to_end_s);
    }

    #[test]
    fn what_many_flows_do_is_told_by_more_than_their_time() {
        let setup = Setup::of(DOWNLOAD)
            .with("flow.transfer.bytes", "200KB")
            .with("flow.transfer.count", "3")
            .recorded();
        let told = Place::Told {
            rate: "8Mbit/s".to_owned(),
            return_rate: None,
            round_trip: "500ms".to_owned(),
        };
        let case = Case::new("sharing", Seeds::One)
            .column(Column::Known, setup.pair(&told))
            .figures(Column::Known, Figures::Sharing(8e6))
            .target(Target::at_least(Figure::Jain, 0.9))
            .target(Target::at_most(Figure::Drops, 0.0));
        let row = &rows(&[case], 5)[0];
        assert_eq!((row.runs, row.met, row.limit_s), (1, Some(true), None));
        // 600 KB take 0.62 s of the link, behind two round trips.
        let (seconds, busy) = (row.known_s.unwrap(), row.utilisation.unwrap());
        assert!((1.6..1.8).contains(&seconds) && (0.3..0.45).contains(&busy), "{row:?}");
        assert!((row.goodput_share.unwrap() - 600e3 / 1e6 / seconds).abs() < 1e-6, "{row:?}");
        assert!(row.queueing_p95_ms.is_some_and(|ms| ms < 100.0), "{row:?}");
    }

    #[test]
    fn a_transfer_that_is_not_complete_counts_as_long_as_its_run_and_is_marked() {
        let setup = Setup::of(DOWNLOAD).with("run.duration", "4s");
        let case = Case::new("short", Seeds::One).column(Column::EndToEnd, setup);
        let row = &rows(&[case], 1)[0];
        assert_eq!((row.end_to_end_s, row.met), (Some(4.0), None));
        assert_eq!(row.unfinished, [("end_to_end_s", 1.0)].into());
    }

    #[test]
    fn what_is_stopped_has_no_row() {
        let cases = [small()];
        let campaign = Campaign::new(&cases, 1).unwrap();
        let rows = campaign.run(NonZeroUsize::MIN, &AtomicBool::new(true), &|_, _| ()).unwrap();
        assert_eq!(rows, []);
    }
}
