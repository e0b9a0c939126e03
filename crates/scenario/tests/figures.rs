//! `[figure.NAME]`: what is read, what is refused, and that no run depends on it.

use bentpipe_config::DocumentError;
use bentpipe_scenario::{
    AxisName, Errors, Experiment, FigureKind, Line, PrintedPlace, PrintedRange,
};

const NETWORK: &str = r#"
[run]
duration = "1s"
[host]
a = {}
b = {}
[link.sat]
between = ["a", "b"]
rate = "1Mbit/s"
[flow.main]
from = "a"
to = "b"
[sweep]
"link.sat.delay" = ["1ms", "1s"]
"#;

fn parse(figures: &str) -> Result<Experiment, DocumentError> {
    Experiment::parse("x.toml", &format!("{NETWORK}{figures}"), &|_| Err(String::new()))
}

#[test]
fn a_figure_is_read() {
    let experiment = parse(
        r#"[figure.goodput]
x = "link.sat.delay"
y = "goodput_bps"
curves = "flow"
kind = "points"
errors = "sd"
log = "x"
where = { flow = ["main", "other"], "link.sat.loss" = 0.01 }
names = { flow = ["ours"] }
y-range = [0, 1e6]
x-unit = "ms"
references = [{ y = 1e6, label = "the link" }, { factor = 2, exponent = -0.5 }]
printed = [{ x = 0.25, y = 2e5, interval = 1e4, curve = "ours" }, { x = "SACK", y = [1, 3], panel = "on land", label = "Table 1" }, { y = 5 }]
"#,
    )
    .unwrap();
    let [figure] = &experiment.figures[..] else { panic!("one") };
    assert_eq!((figure.name.as_str(), figure.y.text.as_str()), ("goodput", "goodput_bps"));
    assert_eq!((figure.y.position.line, figure.y.position.column), (17, 5));
    assert_eq!((figure.kind, figure.errors), (Some(FigureKind::Points), Errors::Sd));
    assert_eq!(figure.log, [AxisName::X]);
    assert_eq!(figure.curves.as_ref().unwrap()[0].text, "flow");
    let only: Vec<(&str, &[String])> =
        figure.only.iter().map(|(word, values)| (word.text.as_str(), &values[..])).collect();
    assert_eq!(only[0], ("flow", &["main".to_owned(), "other".to_owned()][..]));
    assert_eq!(only[1], ("link.sat.loss", &["0.01".to_owned()][..]));
    assert_eq!(figure.y_axis.range, Some((0.0, 1e6)));
    assert_eq!(figure.x_axis.unit.as_deref(), Some("ms"));
    assert_eq!(figure.references[1].line, Line::Power { factor: 2.0, exponent: -0.5 });
    let [number, named, across] = &figure.printed[..] else { panic!("three") };
    assert_eq!(number.x, Some(PrintedPlace::At(0.25)));
    assert_eq!((number.y.middle(), number.y.half()), (2e5, Some(1e4)));
    assert_eq!(number.curve.as_ref().unwrap().text, "ours");
    assert!(matches!(&named.x, Some(PrintedPlace::Named(word)) if word.text == "SACK"));
    assert_eq!((named.y, named.label.as_str()), (PrintedRange::Between(1.0, 3.0), "Table 1"));
    assert_eq!((named.y.middle(), named.y.half()), (2.0, Some(1.0)));
    assert_eq!((across.x.clone(), across.y.half()), (None, None));
    assert_eq!(across.label, "printed in the paper");
}

#[test]
fn a_figure_is_no_part_of_a_run() {
    let plain = parse("").unwrap();
    let drawn = parse("[figure.a]\ny = \"goodput_bps\"\ncaption = \"x\"\n").unwrap();
    assert!(drawn.source().contains("caption"));
    for (a, b) in plain.points().zip(drawn.points()) {
        assert_eq!(a.canonical, b.canonical);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (figures, said) in [
        ("[figure.a]\n", "x.toml:15:1: [figure.a] has no `y`"),
        ("[figure.a]\ny = 1\n", "x.toml:16:5: found the number 1, expected a text"),
        ("[figure.a]\ny = \"b\"\nkinds = \"bars\"\n", "did you mean `kind`?"),
        ("[figure.a]\ny = \"b\"\nkind = \"bar\"\n", "did you mean `bars`?"),
        ("[figure.a]\ny = \"b\"\nx-range = [1, 1]\n", "expected two numbers"),
        ("[figure.a]\ny = \"b\"\nreferences = [{ x = 1, y = 1 }]\n", "expected one of"),
        ("[figure.a]\ny = \"b\"\ny-per = 0\n", "above zero"),
        ("[figure.a]\ny = \"b\"\ny-modulo = -90\n", "above zero"),
        ("[figure.a]\ny = \"b\"\nprinted = [{ x = 1 }]\n", "a value of printed has no `y`"),
        ("[figure.a]\ny = \"b\"\nprinted = [{ y = \"1\" }]\n", "expected a number"),
        ("[figure.a]\ny = \"b\"\nprinted = [{ y = [1] }]\n", "expected two numbers"),
        (
            "[figure.a]\ny = \"b\"\nprinted = [{ y = [1, 2], interval = 1 }]\n",
            "two ends have no `interval`",
        ),
        ("[figure.a]\ny = \"b\"\nprinted = [{ y = 1, interval = -1 }]\n", "not negative"),
        ("[figure.a]\ny = \"b\"\nwhere = { link.sat.loss = 1 }\n", "a path stands in quotes"),
        ("[figure.\"a/b\"]\ny = \"b\"\n", "no name of files"),
        ("figure = [1]\n", "cannot be swept"),
    ] {
        let error = parse(figures).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}
