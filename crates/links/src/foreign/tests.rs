use super::*;
use bentpipe_core::time::Duration;
use proptest::prelude::*;

/// Rows as a trace.
pub(crate) fn written(rows: &Rows) -> String {
    let mut out = Vec::new();
    rows.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn complaint(text: &str) -> String {
    read(&[("x", text)]).unwrap_err().to_string()
}

#[test]
fn formats_are_known_by_their_content() {
    for (text, expected) in [
        ("1\n1\n3\n", "time_s,rate_Mbit/s\n0,24\n0.001,0\n0.002,12\n"),
        ("\u{feff}time_s,delay_ms\n0,10\n", "time_s,delay_ms\n0,10\n"),
        ("0,44000000\n100000000,46000000\n", "time_s,delay_ms,loss\n0,22,0\n0.1,23,\n"),
        (
            r#"{"intervals": [{"sum": {"start": 0, "end": 1, "bits_per_second": 8e6}}]}"#,
            "time_s,rate_Mbit/s\n0,8\n",
        ),
        (
            r#"{"round_trips": [{"lost": "false", "timestamps": {"client": {"send": {"wall": 7}}}, "delay": {"rtt": 50000000}}]}"#,
            "time_s,delay_ms,loss\n0,25,0\n",
        ),
    ] {
        assert_eq!(written(&read(&[("x", text)]).unwrap()), expected);
    }
}

#[test]
fn rates_and_delays_make_one_trace() {
    let (rates, delays) = ("1\n1\n15\n", "24\n18.5\n");
    let expected =
        "time_s,rate_Mbit/s,delay_ms\n0,24,24\n0.001,0,\n0.01,,18.5\n0.014,12,\n0.015,0,\n";
    for files in [[("r", rates), ("d", delays)], [("d", delays), ("r", rates)]] {
        let rows = read(&files).unwrap();
        let period = Some(Duration::from_millis(20));
        assert_eq!((rows.rate.period, rows.delay.period), (period, period));
        assert_eq!(written(&rows), expected);
    }
    // Delays that do not fall are told by their place.
    let rows = read(&[("r", rates), ("d", "18\n24\n")]).unwrap();
    assert_eq!(rows.delay.steps().len(), 2);
    // Other files' delays.
    let rows = read(&[("r", rates), ("d.csv", "time_s,rtt_ms,x\n0,20,1\n")]).unwrap();
    assert_eq!(rows.delay.steps()[0].value, Duration::from_millis(10));
    assert_eq!(rows.notes, ["d.csv: time_s, rtt_ms taken, left out: x"]);
    let csv = "time_s,rate_mbps\n0,8\n";
    let twice = read(&[("a", csv), ("b", csv)]).unwrap_err().to_string();
    assert_eq!(twice, "b: an earlier file has the rate as well");
}

#[test]
fn what_gives_no_link_is_named_with_what_to_use() {
    let delays = complaint("12\n16\n14\n");
    assert!(
        delays.starts_with("x, line 3: the moment 14 comes after 16: moments must not fall"),
        "{delays}"
    );
    assert!(delays.ends_with("`trace=RATES,DELAYS`"), "{delays}");
    let elements = "STARLINK-1\n1 44713U 19074A   24148.50001157  .00001103  00000+0  92926-4 0  9991\n\
        2 44713  53.0536 112.0437 0001443  92.8716 267.2438 15.06391393250461\n";
    for (text, part) in [
        (elements, "bentpipe trace path"),
        ("0,12-1-0-3-13\n", "networkx_rtt"),
        ("0,Unreachable\n", "networkx_rtt"),
        ("0,17,1,0,0\n", "forwarding state"),
        ("# normal\n -21537 -15000 3 4\n", "bentpipe trace convert netem"),
        ("5,10\n", "without a header"),
        ("0 1\n1 2\n", "without a header"),
        ("{\"a\": 1}", "neither irtt's"),
        ("{\"a\": 1", "line 1: no JSON"),
        ("\n# nothing\n", "it is empty"),
        ("what is this\n", "found `what is this`: expected CSV with a header"),
        ("Lorem, ipsum\ndolor\n", "no column of times"),
    ] {
        let why = complaint(text);
        assert!(why.contains(part) && why.lines().count() == 1, "{text}: {why}");
        assert!(why.starts_with("x") && why.matches("x:").count() <= 1, "{why}");
    }
}

/// What a step of hostile input must keep.
fn sound(rows: &Rows) {
    let zero = |at: Option<Duration>| at.is_none_or(|at| at.is_zero());
    assert!(zero(rows.rate.steps().first().map(|step| step.at)));
    assert!(zero(rows.delay.steps().first().map(|step| step.at)));
    assert!(zero(rows.loss.steps().first().map(|step| step.at)));
    assert!(rows.delay.steps().windows(2).all(|pair| pair[0].at < pair[1].at));
    let _ = written(rows);
}

const SEEDS: [&str; 8] = [
    "1\n1\n3\n15\n20\n",
    "24\n18.5\n30\n",
    "t_s,rtt_ms,owd_ms,capacity_mbps,loss_p\n0.0,20,10,244.8,0.0001\n0.05,26,13,266.4,0.0001\n",
    "time;throughput (Mbps);loss_%\n2024-05-27 12:33:55.7+02:00;283;4,2\n2024-05-27 12:33:56.7+02:00;1;2\n",
    "0,44000000\n100000000,46000000.5\n200000000,-1\n",
    r#"{"round_trips": [{"lost": "false", "timestamps": {"client": {"send": {"wall": 7, "monotonic": 9}}}, "delay": {"rtt": 50000000}}]}"#,
    r#"{"intervals": [{"sum": {"start": 0, "end": 1, "bits_per_second": 8e6, "lost_percent": 1}}]}"#,
    "# normal\n-21537 -15000 3 4\n",
];

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(text) = text(&bytes[..]) {
            if let Ok(rows) = read(&[("x", &text)]) {
                sound(&rows);
            }
            let _ = NetemTable::parse(&text);
        }
    }

    #[test]
    fn no_changed_file_makes_it_panic(
        seed in 0..SEEDS.len(),
        other in 0..SEEDS.len(),
        changes in prop::collection::vec((0_usize..300, "[0-9eE.,;:+\\-\t\n \"#{}TZa-z%µ\u{feff}]{0,3}"), 0..12),
    ) {
        let mut file: Vec<String> = SEEDS[seed].chars().map(String::from).collect();
        for (at, new) in changes {
            if let Some(one) = file.get_mut(at) {
                *one = new;
            }
        }
        let file = file.concat();
        if let Ok(rows) = read(&[("x", &file)]) {
            sound(&rows);
        }
        if let Ok(rows) = read(&[("x", &file), ("y", SEEDS[other])]) {
            sound(&rows);
        }
        let asked = CsvColumns { step: Some(Duration::from_millis(1)), ..CsvColumns::default() };
        let _ = csv(&file, &asked);
    }

    #[test]
    fn what_is_written_is_read_as_the_same(
        steps in prop::collection::vec((1_u32..100_000, 0_u32..1000, 0_u32..100_000, 0_u32..=1000), 1..30),
    ) {
        let mut at = 0;
        let mut file = "time_ms,rate_kbps,delay_us,loss\n".to_owned();
        for (gap, rate, delay, loss) in steps {
            file += &format!("{at},{rate},{delay},{}\n", f64::from(loss) / 1000.0);
            at += gap;
        }
        let rows = read(&[("x", &file)]).unwrap();
        let again = read(&[("x", &written(&rows))]).unwrap();
        prop_assert_eq!(written(&again), written(&rows));
    }
}
