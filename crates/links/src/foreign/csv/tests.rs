use super::*;
use crate::foreign::tests::written;

fn read(text: &str) -> Result<Rows, String> {
    csv(text, &CsvColumns::default()).map_err(|error| error.to_string())
}

/// The trace and its notes.
fn found(text: &str) -> (String, Vec<String>) {
    let rows = read(text).unwrap();
    (written(&rows), rows.notes)
}

#[test]
fn own_traces_are_read() {
    let own = "time,rate,delay,loss\n0s,8Mbit/s,250ms,1%\n1.5s,4Mbit/s,,\n";
    let expected = "time_s,rate_Mbit/s,delay_ms,loss\n0,8,250,0.01\n1.5,4,,\n";
    assert_eq!(found(own), (expected.to_owned(), vec![]));
    assert_eq!(found(expected), (expected.to_owned(), vec![]));
}

#[test]
fn a_column_that_no_link_has_is_left_out_and_named() {
    let (trace, notes) = found("t_s,rtt_ms,owd_ms,reconfig\n0,20,11,0\n0.05,26,13,1\n");
    assert_eq!(trace, "time_s,delay_ms\n0,11\n0.05,13\n");
    assert_eq!(notes, ["t_s, owd_ms taken, left out: rtt_ms, reconfig"]);
    // Half of a round trip, where nothing is measured one way.
    assert_eq!(found("t_s,rtt_ms\n0,21\n").0, "time_s,delay_ms\n0,10.5\n");
}

#[test]
fn a_trace_begins_with_its_first_row() {
    let (trace, notes) = found("time_s,delay_ms\n5,10\n6,20\n");
    assert_eq!(trace, "time_s,delay_ms\n0,10\n1,20\n");
    assert_eq!(notes, ["it begins at 5 (line 2), which is 0 s of the trace"]);
    let (trace, notes) = found("time_s,delay_ms,loss\n0,,0.5\n2,20,\n");
    assert_eq!(trace, "time_s,delay_ms,loss\n0,20,0.5\n");
    assert_eq!(notes, ["the first delay is at 2s: it holds from the beginning"]);
}

#[test]
fn dates_and_counts_are_read() {
    // As NUWiNS writes them: Mbit/s, packets, per cent; two rows of one print.
    let text = "time,throughput_mbps,pkt_drop,pkt_total,loss\n\
        2024-05-27T12:33:55.777353,283,1,4,25\n\
        2024-05-27T12:33:55.777438,323,1,2,50\n\
        2024-05-27T12:34:20.277353,0.00,0,0,0\n\
        2024-05-27T12:34:20.277438,370,3,4,75\n\
        2024-05-27T12:34:44.277438,1.5,0,4,0\n";
    let (trace, notes) = found(text);
    assert_eq!(
        trace,
        "time_s,rate_Mbit/s,loss\n0,283,0.25\n0.000085,323,0.5\n24.5,0,\n24.500085,370,0.75\n48.500085,1.5,0\n"
    );
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[0].ends_with("left out: loss") && notes[1].contains("--step"), "{notes:?}");
    let asked = CsvColumns { step: Some(Duration::from_millis(20)), ..CsvColumns::default() };
    let stepped = written(&csv(text, &asked).unwrap());
    assert!(stepped.ends_with("0.04,0,\n0.06,370,0.75\n0.08,1.5,0\n"), "{stepped}");
}

#[test]
fn columns_are_taken_as_asked() {
    let text = "a;b;c;ping\n1;8;800;20\n2;16;900;30,5\n";
    let column = |text: &str| Some(text.parse().unwrap());
    let asked = CsvColumns {
        time: column("a=s"),
        rate: column("b=Mbit/s"),
        rtt: column("ping=ms"),
        ..CsvColumns::default()
    };
    let rows = csv(text, &asked).unwrap();
    assert_eq!(written(&rows), "time_s,rate_Mbit/s,delay_ms\n0,8,10\n1,16,15.25\n");
    assert_eq!(rows.notes[0], "b, ping, a taken, left out: c");
    let asked = CsvColumns { time: column("d"), ..asked };
    let error = csv(text, &asked).unwrap_err().to_string();
    assert_eq!(error, "line 1: no column is called `d` (there are: a, b, c, ping)");
    assert!("b=furlong".parse::<ColumnChoice>().unwrap_err().contains("`furlong` is no unit"));
}

#[test]
fn errors_name_the_line_and_the_reason() {
    for (text, expected) in [
        (
            "time_s,loss\n0,1.5\n",
            "line 2: loss: `1.5` is out of range (expected 0 to 1, or 0% to 100%); of per cent, the column is called `loss_percent`",
        ),
        (
            "time_s,loss_%\n0,0\n1,150\n",
            "line 3: loss_%: `150%` is out of range (expected 0 to 1, or 0% to 100%)",
        ),
        (
            "time_s,delay_ms\n0,-5\n",
            "line 2: delay_ms: `-5ms` is negative (expected something like `250ms`)",
        ),
        (
            "time_s,delay_ms\n0,5\n\n# x\n2,6\n1,7\n",
            "line 6: the time `1` is before that of line 5",
        ),
        ("time_s,delay_ms\n0,5\n1,6\n1,7\n", "line 4: two values for one moment"),
        ("time_s,delay_ms\n5,5\n1,6\n", "line 3: the time `1` is before that of line 2"),
        ("time_s,delay_ms\n0,5\n1\n", "line 3: it has 1 of the header's 2 columns"),
        ("time_s,delay_ms\n,5\n", "line 2: it has no time"),
        ("time_s,delay_ms\n", "it has a header, and no row with a value"),
        (
            "time,delay_ms\n0.5,5\n",
            "line 2: the time `0.5` has no unit: call the column `time_s` or `time_ms`",
        ),
        (
            "time_s,rate\n0,8\n",
            "line 2: rate: `8` has no known unit (expected something like `8Mbit/s`)",
        ),
        ("delay_ms,delay_ms,time_s\n", "line 1: the column `delay_ms` stands twice in the header"),
    ] {
        assert_eq!(read(text).unwrap_err(), expected);
    }
    let error = read("a,b\n1,2\n").unwrap_err();
    assert!(
        error.starts_with("line 1: found `a,b`, which has no column of times: expected "),
        "{error}"
    );
    let error = read("time,b\n1,2\n").unwrap_err();
    assert!(error.contains("which has no rate, delay or loss"), "{error}");
}
