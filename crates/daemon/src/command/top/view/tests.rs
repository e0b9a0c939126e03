use super::*;
use crate::command::top::model::tests::{flow, leg, look, status};
use crate::command::top::screen::Key;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};
use std::time::Instant;

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

/// What a terminal of this size shows.
fn shown(model: &Model, screen: &mut Screen, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, screen)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned()).collect()
}

/// A download and an upload, looked at twice.
fn model() -> Model {
    let flows = |seconds: u64| {
        let some = 1_000_000 * seconds;
        vec![
            flow(
                1,
                "10.0.0.7:40112",
                "192.0.2.9:443",
                10.0 + seconds as f64,
                [leg("lan", 2 * some, 0, "application"), leg("satellite", 0, 0, "application")],
            ),
            flow(
                2,
                "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:7]:40112",
                "[2001:db8:1:2:3:4:5:9]:443",
                99.0,
                [leg("lan", 0, 0, "application"), leg("satellite", some, 1_000_000, "link-turn")],
            ),
        ]
    };
    let mut model = Model::new(look(status(100.0, 0), flows(0)), 120);
    for second in 1..=100 {
        let mut flows = flows(second);
        flows[1]["age_s"] = json!(99 + second);
        model.take(look(status(100.0 + second as f64, 950_000 * second), flows));
    }
    model
}

fn press(screen: &mut Screen, model: &Model, keys: &str) {
    for key in keys.chars() {
        screen.on_key(Key::Character(key), model);
    }
}

fn find<'a>(rows: &'a [String], word: &str) -> &'a str {
    rows.iter().find(|row| row.contains(word)).unwrap_or_else(|| panic!("no {word} in {rows:#?}"))
}

#[test]
fn flows_and_their_link_fit_into_80_columns() {
    let (model, mut screen) = (model(), Screen::new());
    let rows = shown(&model, &mut screen, (80, 24));
    assert!(rows[0].starts_with("splits  peer known  up 3m  flows 12, 2 opening"), "{rows:#?}");
    let rates = "to satellite 7.60 Mbit/s  from it 760 kbit/s  link used at 6.15M of 8.00 Mbit/s";
    assert_eq!(rows[1], rates);
    assert_eq!(rows[2], "queue 41 ms  retransmitted 2.0%  held back: 1 by link");
    assert!(rows[3].starts_with("[1 flows] 2 subscribers  3 remotes  4 not split "), "{rows:#?}");
    assert!(rows[3].ends_with("2 by rate"), "{rows:#?}");
    let words = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let head = ["client", "server", "state", "age", "up", "down", "RTT", "retr", "by"];
    assert_eq!(words(&rows[4]), head);
    let first = ["192.0.2.9:443", "open", "1m", "0", "16.0M", "612", "-", "↓source"];
    assert_eq!(words(&rows[5])[1..], first);
    assert!(rows[5].starts_with(">10.0.0.7:40112 "), "{rows:#?}");
    let second = words(&rows[6]);
    assert_eq!(second[second.len() - 7..], ["open", "3m", "8.00M", "0", "612", "1.0%", "↑link"]);
    assert!(rows[20].starts_with("10.0.0.7:40112 → 192.0.2.9:443  open 1m"), "{rows:#?}");
    assert!(rows[21].starts_with("↑ satellite  RTT 612 ms  queue 41 ms"), "{rows:#?}");
    assert!(rows[23].ends_with("? help  q quit"), "{rows:#?}");
}

#[test]
fn a_larger_terminal_shows_more() {
    let (model, mut screen) = (model(), Screen::new());
    let rows = shown(&model, &mut screen, (120, 40));
    for head in ["queue", "held", "cwnd", "flight"] {
        assert!(rows[4].contains(head), "{rows:#?}");
    }
    assert!(rows[5].starts_with(">10.0.0.7:40112 "), "{rows:#?}");
    let rows = shown(&model, &mut screen, (160, 40));
    assert!(
        rows[4].ends_with("↓ by") && rows[6].contains("[2001:db8:1:2:3:4:5:9]:443"),
        "{rows:#?}"
    );
}

#[test]
fn a_flow_alone_has_its_figures_and_its_history() {
    let (model, mut screen) = (model(), Screen::new());
    screen.on_key(Key::Down, &model);
    screen.on_key(Key::Enter, &model);
    for size in SIZES {
        let rows = shown(&model, &mut screen, size);
        find(&rows, "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:7]:40112 → ");
        assert!(find(&rows, "↑ to server").contains("(satellite)"), "{rows:#?}");
        assert!(find(&rows, "held back by").contains("link"), "{rows:#?}");
        assert!(find(&rows, "of the last 2 min").contains("link 100%"), "{rows:#?}");
        assert!(find(&rows, "↑ rate").ends_with("████"), "{rows:#?}");
        find(&rows, "max 8.00 Mbit/s");
        find(&rows, "612 to 612 ms");
        assert!(rows.iter().any(|row| row.ends_with("████████")), "{rows:#?}");
        assert!(rows.last().unwrap().starts_with("Esc back"), "{rows:#?}");
    }
    let over = Model::new(look(status(300.0, 0), Vec::new()), 1);
    find(&shown(&over, &mut screen, (80, 24)), "The flow is over.");
}

#[test]
fn every_other_view_fits() {
    let mut model = model();
    let unsplit = json!([{
        "number": "f7", "client": "10.0.0.9:5", "server": "192.0.2.1:22", "opener": "10.0.0.9",
        "reason": "policy", "times": 2, "ago_s": 70.0,
    }]);
    model.unsplit = serde_json::from_value(unsplit).unwrap();
    for size in SIZES {
        let mut screen = Screen::new();
        press(&mut screen, &model, "2");
        let rows = shown(&model, &mut screen, size);
        assert!(find(&rows, ">10.0.0.7").contains("16.0M"), "{rows:#?}");
        press(&mut screen, &model, "3");
        let rows = shown(&model, &mut screen, size);
        assert!(find(&rows, "2001:db8:1::/48").contains("8.00M"), "{rows:#?}");
        press(&mut screen, &model, "4");
        let rows = shown(&model, &mut screen, size);
        assert!(find(&rows, "a rule of the policy").contains("3.00k"), "{rows:#?}");
        let last = find(&rows, "192.0.2.1:22");
        assert!(last.starts_with(">  70s 10.0.0.9:5") || last.starts_with("> 70s"), "{rows:#?}");
        press(&mut screen, &model, "?");
        let rows = shown(&model, &mut screen, size);
        find(&rows, "Ctrl-C  quit");
        find(&rows, "nagle, mark");
        press(&mut screen, &model, "?1/443");
        let rows = shown(&model, &mut screen, size);
        find(&rows, "filter: 443_");
    }
}

#[test]
fn what_is_wrong_is_above_everything() {
    let mut asleep = status(100.0, 0);
    asleep["diverting"] = json!(false);
    asleep["findings"] = json!([{
        "cause": "lan0 is a port of the bridge br0", "remedy": "configure br0", "forbids_diversion": true,
    }]);
    let model = Model::new(look(asleep, Vec::new()), 1);
    let mut screen = Screen::new();
    let rows = shown(&model, &mut screen, (80, 24));
    assert!(rows[0].starts_with("NOTHING IS SPLIT: something is in the way"), "{rows:#?}");
    assert_eq!(rows[3], "in the way: lan0 is a port of the bridge br0; configure br0");
    screen.silence = Some(("no bentpipe gateway runs in this network namespace".into(), 12));
    let rows = shown(&model, &mut screen, (80, 24));
    assert!(rows[0].starts_with("NO ANSWER for 12 s, asking on: no bentpipe gateway"), "{rows:#?}");
    let mut observes = status(100.0, 0);
    observes["observes"] = json!(true);
    let model = Model::new(look(observes, Vec::new()), 1);
    let rows = shown(&model, &mut Screen::new(), (80, 24));
    assert!(rows[0].starts_with("NOTHING IS SPLIT: it only observes"), "{rows:#?}");
}

#[test]
fn nothing_to_be_shown_is_said() {
    let mut whole = status(100.0, 0);
    whole["totals"]["forwarded_packets"] = json!({});
    let model = Model::new(look(whole, Vec::new()), 1);
    let mut screen = Screen::new();
    let rows = shown(&model, &mut screen, (80, 24));
    assert!(
        rows[3].ends_with(" 0 by rate") && rows[5..23].iter().all(String::is_empty),
        "{rows:#?}"
    );
    press(&mut screen, &model, "4");
    find(&shown(&model, &mut screen, (80, 24)), "All that crosses the satellite was split.");
}

/// Long words, control characters and extreme numbers, in every view and on terminals of all sizes.
#[test]
fn hostile_answers_are_drawn_within_the_screen() {
    let long = format!("\u{1b}]0;title\u{7}{}", "漢x\u{300}".repeat(300));
    let mut hostile = status(f64::MAX, u64::MAX);
    hostile["satellite_link"]["rate_bps"] = json!(u64::MAX);
    hostile["findings"] = (0..50)
        .map(|_| json!({ "cause": long, "remedy": long, "forbids_diversion": true }))
        .collect::<Value>();
    hostile["totals"]["forwarded_packets"] = json!({ long.as_str(): u64::MAX });
    hostile["held_bytes"] = json!(u64::MAX);
    let mut flows = Vec::new();
    for number in 0..3_000 {
        let legs = || leg(&long, u64::MAX, u64::MAX, &long);
        let client = format!("[2001:db8:aaaa:bbbb:cccc:dddd:eeee:{:x}]:65535", number % 500);
        let mut flow = flow(number, &client, "203.0.113.254:65535", 1e300, [legs(), legs()]);
        flow["state"] = json!(long);
        flow["remote"] = json!(long);
        flow["legs"]["client"]["srtt_s"] = json!(1e300);
        flow["legs"]["client"]["side"] = json!("satellite");
        flows.push(flow);
    }
    let mut model = Model::new(look(status(1.0, 0), flows.clone()), 120);
    model.take(look(hostile, flows));
    for size in [(1, 1), (40, 8), (41, 9), (80, 24), (120, 40), (300, 100)] {
        for keys in ["1", "2", "3", "4", "?"] {
            let mut screen = Screen::new();
            press(&mut screen, &model, keys);
            for row in shown(&model, &mut screen, size) {
                assert!(!row.chars().any(char::is_control), "{row:?}");
            }
            for key in [Key::End, Key::PageUp, Key::Enter] {
                screen.on_key(key, &model);
                shown(&model, &mut screen, size);
            }
        }
    }
}

#[test]
fn thousands_of_flows_are_walked_through() {
    let flows: Vec<Value> = (0..10_000)
        .map(|number| {
            let client = format!("10.0.{}.{}:4000", number / 250, number % 250);
            flow(
                number,
                &client,
                "192.0.2.9:443",
                10.0,
                [
                    leg("lan", number as u64, 0, "application"),
                    leg("satellite", 0, 0, "application"),
                ],
            )
        })
        .collect();
    let model = Model::new(look(status(100.0, 0), flows), 120);
    let mut screen = Screen::new();
    let began = Instant::now();
    shown(&model, &mut screen, (80, 24));
    screen.on_key(Key::End, &model);
    let rows = shown(&model, &mut screen, (80, 24));
    assert!(rows[18].starts_with('>'), "{rows:#?}");
    screen.on_key(Key::PageUp, &model);
    screen.on_key(Key::Home, &model);
    let rows = shown(&model, &mut screen, (80, 24));
    assert!(rows[5].starts_with('>'), "{rows:#?}");
    eprintln!("10,000 flows: {:?} for three screens", began.elapsed());
}
