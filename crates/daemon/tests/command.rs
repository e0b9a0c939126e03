//! `bentpipe-gateway` as a program: it is `bentpipe gateway` under a name of its own.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_bentpipe-gateway");
    Command::new(program).args(arguments).output().expect("it starts")
}

fn help(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn it_calls_itself_by_its_name() {
    let whole = help(&["--help"]);
    assert!(whole.contains("bentpipe-gateway --config gateway.toml"), "{whole}");
    let commands = ["flows", "why", "enable", "disable", "record", "check", "status"];
    let texts = commands.map(|command| help(&[command, "--help"]));
    for text in texts.iter().chain([&whole]) {
        assert!(text.contains("bentpipe-gateway"), "{text}");
        assert!(
            !text.contains("bentpipe "),
            "it is sent to a program that a router has not: {text}"
        );
    }
}

#[test]
fn what_is_wrong_is_said_in_a_line_under_its_name() {
    for (arguments, code) in
        [(&["--config"][..], 2), (&["gateway", "--config", "x"], 2), (&["--config", "/none"], 78)]
    {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.starts_with("bentpipe-gateway: ") && said.lines().count() == 1, "{said}");
    }
}
