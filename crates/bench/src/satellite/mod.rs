//! How far gateways are from the limit of the link, case by case: in virtual time with the code
//! that is deployed, or live.

pub mod campaign;
mod capacity;
pub mod case;
pub mod cases;
pub(crate) mod family;
pub(crate) mod limit;
pub(crate) mod measure;
mod ratio;
pub mod row;
mod target;

#[cfg(test)]
mod tests {
    use super::campaign::Campaign;
    use super::case::Case;
    use super::family::{self, Reading};
    use super::row::{Row, Table};
    use crate::files::Files;
    use crate::player::World;
    use std::num::NonZeroUsize;
    use std::sync::atomic::AtomicBool;

    /// A lossy download of 100 KB, with one gateway and without.
    const SMALL: &str = r#"
        base = "networks/download.toml"
        set = { "flow.transfer.bytes" = "100KB" }
        name = "small"
        limit = true
        columns = { estimated = "estimated, server alone" }
        ratio = ["estimated", "end to end"]
        target = ["estimated ≤ limit"]
        sweep."link.sat.loss" = ["1%"]
        sweep.variant = ["end to end", "estimated, server alone"]
    "#;

    fn cases(families: &[&str]) -> Vec<Case> {
        let folder = tempfile::tempdir().unwrap();
        let blocks = families.iter().enumerate().map(|(number, text)| {
            let table: toml::Table = toml::from_str(text).unwrap();
            (number.to_string(), toml::Value::Table(table))
        });
        let cases = toml::Value::Table(blocks.collect());
        let file = toml::Table::from_iter([("about".into(), "x".into()), ("cases".into(), cases)]);
        let files = Files::Folder(folder.path().to_owned());
        family::read(&file.to_string(), "own.toml", &files, Reading::default()).unwrap()
    }

    fn rows(cases: &[Case], seeds: u64) -> Vec<Row> {
        let (campaign, stop) =
            (Campaign::new(cases, &World::Simulated, seeds), AtomicBool::new(false));
        let finished = campaign.run(NonZeroUsize::MIN, &stop, &|_, _| ());
        assert!(finished.error.is_none(), "{finished:?}");
        finished.rows
    }

    #[test]
    fn a_row_has_the_fields_that_apply_to_it_and_no_others() {
        let rows = rows(&cases(&[SMALL]), 4);
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
        // Without losses it is 1.1040 s; one packet in a hundred costs a round trip at times.
        assert!((figure("limit_s") - 1.338).abs() < 1e-2, "{row:?}");
        assert!(
            figure("end_to_end_s") > 1.5 && figure("ratio_bound") >= figure("ratio"),
            "{row:?}"
        );
    }

    #[test]
    fn equal_columns_are_run_once() {
        let again = SMALL.replace("\"small\"", "\"again\"");
        let twice = cases(&[SMALL, &again]);
        assert_eq!(Campaign::new(&twice, &World::Simulated, 3).runs(), 6);
        let rows = rows(&twice, 2);
        assert_eq!(rows[0].end_to_end_s, rows[1].end_to_end_s);
    }

    #[test]
    fn what_many_flows_do_is_told_by_more_than_their_time() {
        let text = r#"
            base = "networks/download.toml"
            set = { "flow.transfer.bytes" = "200KB", "flow.transfer.count" = 3 }
            record = { interval = "5ms", link = ["queue"], links = ["sat"] }
            name = "sharing"
            figures = { sharing = "known" }
            target = ["Jain ≥ 0.9", "drops ≤ 0"]
            sweep.variant = ["known"]
        "#;
        let row = &rows(&cases(&[text]), 5)[0];
        assert_eq!((row.runs, row.met, row.limit_s), (1, Some(true), None));
        // 600 KB take 0.62 s of the link, behind two round trips.
        let (seconds, busy) = (row.known_s.unwrap(), row.utilisation.unwrap());
        assert!((1.6..1.8).contains(&seconds) && (0.3..0.45).contains(&busy), "{row:?}");
        let payload = 8e6 * 1448.0 / 1500.0;
        let share = row.goodput_share.unwrap();
        assert!((share - 600e3 * 8.0 / payload / seconds).abs() < 1e-6, "{row:?}");
        assert!(row.queueing_p95_ms.is_some_and(|ms| ms < 100.0), "{row:?}");
    }

    #[test]
    fn a_transfer_that_is_not_complete_counts_as_long_as_its_run_and_is_marked() {
        let text = r#"
            base = "networks/download.toml"
            set = { "run.duration" = "4s" }
            name = "short"
            sweep.variant = ["end to end"]
        "#;
        let row = &rows(&cases(&[text]), 1)[0];
        assert_eq!((row.end_to_end_s, row.met), (Some(4.0), None));
        assert_eq!(row.unfinished, [("end_to_end_s", 1.0)].into());
    }

    #[test]
    fn what_is_stopped_has_no_row() {
        let cases = cases(&[SMALL]);
        let (campaign, stop) = (Campaign::new(&cases, &World::Simulated, 1), AtomicBool::new(true));
        let rows = campaign.run(NonZeroUsize::MIN, &stop, &|_, _| ()).rows;
        assert_eq!(rows, []);
    }
}
