use super::*;
use crate::command::top::model::Model;
use crate::command::top::model::flows::FlowRow;
use crate::command::top::model::tests::{flow, leg, look, status};
use std::fmt::Debug;

/// Flows of ten clients: the later ones have delivered more.
fn model() -> Model {
    let flows = |seconds: u64| {
        (1..=10)
            .map(|number| {
                let legs = [
                    leg("lan", 0, 0, "application"),
                    leg("satellite", 1_000 * number * seconds, 0, "cwnd"),
                ];
                let client = format!("10.0.0.{number}:4000");
                flow(number as usize, &client, "192.0.2.9:443", 10.0 + seconds as f64, legs)
            })
            .collect()
    };
    let mut model = Model::new(look(status(100.0, 0), flows(0)), 1);
    model.take(look(status(101.0, 0), flows(1)));
    model
}

fn numbers(rows: &[&FlowRow]) -> Vec<usize> {
    rows.iter().map(|row| row.number).collect()
}

#[test]
fn the_fastest_are_first_and_keys_change_that() {
    let model = model();
    let mut list: Listing<FlowRow> = Listing::default();
    assert_eq!(numbers(&list.shown(&model.flows, ""))[..3], [10, 9, 8]);
    assert_eq!(list.order(), "rate");
    list.reverse();
    assert_eq!(numbers(&list.shown(&model.flows, ""))[..3], [1, 2, 3]);
    list.sort_by_next(80);
    assert_eq!(list.order(), "client");
    assert_eq!(numbers(&list.shown(&model.flows, ""))[..3], [1, 2, 3], "10.0.0.10 is the last");
    // Each column that is shown, once.
    let mut names = vec![list.order()];
    loop {
        list.sort_by_next(80);
        if list.order() == "client" {
            break;
        }
        names.push(list.order());
    }
    assert_eq!(
        names,
        ["client", "server", "state", "age", "up", "down", "RTT", "retr", "by", "rate"]
    );
}

#[test]
fn filters_look_for_words_or_whole_ones() {
    let model = model();
    let list: Listing<FlowRow> = Listing::default();
    let find = |filter| numbers(&list.shown(&model.flows, filter));
    assert_eq!(find("10.0.0.1"), [10, 1]);
    assert_eq!(find("=10.0.0.1"), [1]);
    assert_eq!(find(":443 OPEN 0.7"), [7]);
    assert!(find("half").is_empty());
    assert_eq!(find("cwnd").len(), 10);
    assert_eq!(find("192.0.2.0/24").len(), 10, "its remote");
}

#[test]
fn a_selection_follows_its_row_and_stays_on_the_screen() {
    let model = model();
    let mut list: Listing<FlowRow> = Listing::default();
    let shown = list.shown(&model.flows, "");
    assert_eq!(list.settle(&shown, 4), Some(0));
    list.step(&shown, Step::Down(6));
    assert_eq!((list.settle(&shown, 4), list.top()), (Some(6), 3));
    list.step(&shown, Step::Up(2));
    assert_eq!((list.settle(&shown, 4), list.top()), (Some(4), 3));
    let selected = list.select(&shown).unwrap();
    list.reverse();
    let shown = list.shown(&model.flows, "");
    assert_eq!(list.settle(&shown, 4), Some(5));
    assert_eq!(shown[5].id(), selected);
    // It is gone.
    let shown = list.shown(&model.flows, "10.0.0.1");
    assert_eq!((list.settle(&shown, 4), list.top()), (Some(1), 0));
    assert_eq!(list.settle(&[], 4), None);
    list.step(&[], Step::Last);
    assert_eq!(list.select(&[]), None);
}

/// No column is lost, and no row is wider than the terminal.
fn fills<R: Row + Debug>(width: usize) {
    let columns = visible(R::COLUMNS, width);
    let taken: usize = columns.iter().map(|(_, width)| width + 1).sum();
    assert!(taken <= width, "{taken} of {width}");
}

#[test]
fn columns_fit_into_every_terminal_from_80_on() {
    use crate::command::top::look::Unsplit;
    use crate::command::top::model::groups::{RemoteRow, SubscriberRow};
    use crate::command::top::model::unsplit::ReasonRow;
    for width in 80..=250 {
        fills::<FlowRow>(width);
        fills::<SubscriberRow>(width);
        fills::<RemoteRow>(width);
        fills::<ReasonRow>(width);
        fills::<Unsplit>(width);
    }
}
