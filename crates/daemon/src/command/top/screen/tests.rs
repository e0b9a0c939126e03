use super::*;
use crate::command::top::model::tests::{flow, leg, look, status};

fn model() -> Model {
    let legs = || [leg("lan", 0, 0, "application"), leg("satellite", 1_000, 0, "cwnd")];
    let flows = vec![
        flow(1, "10.0.0.1:4000", "192.0.2.9:443", 10.0, legs()),
        flow(2, "10.0.0.2:4000", "192.0.2.9:443", 10.0, legs()),
    ];
    Model::new(look(status(100.0, 0), flows), 1)
}

fn press(screen: &mut Screen, model: &Model, keys: &str) -> Reaction {
    let mut reaction = Reaction::GoOn;
    for key in keys.chars() {
        reaction = screen.on_key(Key::Character(key), model);
    }
    reaction
}

#[test]
fn views_are_a_key_away() {
    let (mut screen, model) = (Screen::new(), model());
    for pane in Pane::ALL.into_iter().cycle().skip(1).take(5) {
        screen.on_key(Key::Tab, &model);
        assert_eq!(screen.pane, pane);
    }
    screen.on_key(Key::BackTab, &model);
    assert_eq!(screen.pane, Pane::Flows);
    press(&mut screen, &model, "4");
    assert!(screen.wants_unsplit());
}

#[test]
fn a_filter_is_typed_kept_and_dropped() {
    let (mut screen, model) = (Screen::new(), model());
    press(&mut screen, &model, "/q?1");
    assert_eq!((screen.filter.as_str(), screen.pane), ("q?1", Pane::Flows), "no commands");
    screen.on_key(Key::Backspace, &model);
    screen.on_key(Key::Enter, &model);
    assert_eq!((screen.filter.as_str(), screen.is_typing), ("q?", false));
    assert_eq!(screen.on_key(Key::Escape, &model), Reaction::GoOn);
    assert_eq!(screen.filter, "");
    press(&mut screen, &model, &format!("/{}", "x".repeat(500)));
    assert_eq!(screen.filter.len(), FILTER);
    assert_eq!(screen.on_key(Key::Interrupt, &model), Reaction::Quit);
}

#[test]
fn escape_leads_back_a_step_and_then_out() {
    let (mut screen, model) = (Screen::new(), model());
    screen.on_key(Key::Down, &model);
    screen.on_key(Key::Enter, &model);
    let Over::Flow((number, ..)) = screen.over else { panic!("{screen:?}") };
    assert_eq!(number, 2);
    press(&mut screen, &model, "?");
    assert_eq!(screen.over, Over::Help);
    assert_eq!(screen.on_key(Key::Escape, &model), Reaction::GoOn);
    assert_eq!(screen.on_key(Key::Escape, &model), Reaction::Quit);
    assert_eq!(press(&mut screen, &model, "q"), Reaction::Quit);
}

#[test]
fn a_subscriber_leads_to_its_flows() {
    let (mut screen, model) = (Screen::new(), model());
    press(&mut screen, &model, "2G");
    screen.on_key(Key::Enter, &model);
    assert_eq!((screen.pane, screen.filter.as_str()), (Pane::Flows, "=10.0.0.2"));
    let shown = screen.flows.shown(&model.flows, &screen.filter);
    assert_eq!(shown.iter().map(|flow| flow.number).collect::<Vec<_>>(), [2]);
}

#[test]
fn no_key_does_harm_where_there_is_nothing() {
    let model = Model::new(look(status(100.0, 0), Vec::new()), 1);
    let keys = [Key::Enter, Key::Up, Key::Down, Key::PageUp, Key::PageDown, Key::Home, Key::End];
    let letters = "sSrgGjk p".chars().map(Key::Character);
    for pane in 1..=4 {
        let mut screen = Screen::new();
        press(&mut screen, &model, &pane.to_string());
        for key in keys.into_iter().chain(letters.clone()) {
            assert_eq!(screen.on_key(key, &model), Reaction::GoOn, "{key:?}");
        }
    }
}
