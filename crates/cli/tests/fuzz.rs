//! `bentpipe fuzz` as a program.

use serde_json::Value;
use std::process::{Command, Output};

fn fuzz(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bentpipe")).arg("fuzz").args(arguments).output().unwrap()
}

#[test]
fn seeds_are_played_on_any_number_of_threads_with_the_same_result() {
    let summary = |threads| {
        let output = fuzz(&["--seeds", "5..25", "--threads", threads, "--json"]);
        assert!(output.status.success(), "{output:?}");
        let mut summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(summary["seconds"].take().as_f64().unwrap() > 0.0);
        summary
    };
    let one = summary("1");
    assert_eq!((one["seeds"].as_u64(), one["violations"].as_u64()), (Some(20), Some(0)));
    assert_eq!(summary("3"), one);
}

#[test]
fn one_seed_is_told_packet_by_packet() {
    let output = fuzz(&["--seed", "8"]);
    assert!(output.status.success());
    let (told, packets) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(told.starts_with("seed 8: ") && told.contains("no violation"), "{told}");
    assert!(packets.lines().filter(|line| line.contains("ack ")).count() > 10);
}

#[test]
fn what_is_no_range_is_refused() {
    let output = fuzz(&["--seeds", "7"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("0..1000"), "{output:?}");
}
