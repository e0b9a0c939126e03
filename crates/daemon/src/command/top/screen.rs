//! The state of the screen, and the effects of keys on it.

use super::listing::{Listing, Row, Step};
use super::look::Unsplit;
use super::model::Model;
use super::model::flows::FlowRow;
use super::model::groups::{RemoteRow, SubscriberRow};
use super::model::history::FlowId;

/// A view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pane {
    Flows,
    Subscribers,
    Remotes,
    NotSplit,
}

impl Pane {
    /// In the order of their keys.
    pub(crate) const ALL: [Pane; 4] =
        [Pane::Flows, Pane::Subscribers, Pane::Remotes, Pane::NotSplit];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Pane::Flows => "flows",
            Pane::Subscribers => "subscribers",
            Pane::Remotes => "remotes",
            Pane::NotSplit => "not split",
        }
    }

    fn after(self, steps: usize) -> Pane {
        Pane::ALL[(self as usize + steps) % Pane::ALL.len()]
    }
}

/// What lies over the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Nothing,
    Help,
    /// A flow in detail.
    Flow(FlowId),
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Character(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-U.
    Clear,
}

/// What follows from a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaction {
    GoOn,
    Quit,
}

/// The longest filter.
const FILTER: usize = 60;

/// What is looked at.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) pane: Pane,
    pub(crate) over: Over,
    pub(crate) flows: Listing<FlowRow>,
    pub(crate) subscribers: Listing<SubscriberRow>,
    pub(crate) remotes: Listing<RemoteRow>,
    pub(crate) unsplit: Listing<Unsplit>,
    pub(crate) filter: String,
    /// Keys are the filter's.
    pub(crate) is_typing: bool,
    pub(crate) is_paused: bool,
    /// Why the last look failed, and how many seconds ago the last answer was.
    pub(crate) silence: Option<(String, u64)>,
    /// The width of the terminal, and how many rows of a list it shows.
    pub(crate) width: usize,
    pub(crate) page: usize,
}

impl Screen {
    /// The flows.
    pub(crate) fn new() -> Screen {
        Screen {
            pane: Pane::Flows,
            over: Over::Nothing,
            flows: Listing::default(),
            subscribers: Listing::default(),
            remotes: Listing::default(),
            unsplit: Listing::default(),
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            silence: None,
            width: 80,
            page: 10,
        }
    }

    /// Whether connections that were not split are shown.
    pub(crate) fn wants_unsplit(&self) -> bool {
        self.pane == Pane::NotSplit
    }

    /// A key is pressed.
    pub(crate) fn on_key(&mut self, key: Key, model: &Model) -> Reaction {
        if key == Key::Interrupt {
            return Reaction::Quit;
        }
        if self.is_typing {
            self.type_filter(key);
            return Reaction::GoOn;
        }
        match key {
            Key::Character('q') => return Reaction::Quit,
            Key::Character('?') => {
                self.over = if self.over == Over::Help { Over::Nothing } else { Over::Help };
            }
            Key::Character('p') => self.is_paused = !self.is_paused,
            Key::Escape if self.over != Over::Nothing => self.over = Over::Nothing,
            Key::Escape if !self.filter.is_empty() => self.filter.clear(),
            Key::Escape => return Reaction::Quit,
            Key::Tab => self.turn_to(self.pane.after(1)),
            Key::BackTab => self.turn_to(self.pane.after(Pane::ALL.len() - 1)),
            Key::Character(digit @ '1'..='4') => {
                self.turn_to(Pane::ALL[digit as usize - '1' as usize]);
            }
            Key::Enter if self.over != Over::Nothing => self.over = Over::Nothing,
            _ if self.over != Over::Nothing => {}
            Key::Character('/') => self.is_typing = true,
            key => self.in_list(key, model),
        }
        Reaction::GoOn
    }

    fn turn_to(&mut self, pane: Pane) {
        self.pane = pane;
        self.over = Over::Nothing;
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Character(character) if self.filter.chars().count() < FILTER => {
                self.filter.push(character);
            }
            Key::Backspace => drop(self.filter.pop()),
            Key::Clear => self.filter.clear(),
            Key::Escape => {
                self.filter.clear();
                self.is_typing = false;
            }
            Key::Enter => self.is_typing = false,
            _ => {}
        }
    }

    fn in_list(&mut self, key: Key, model: &Model) {
        let (filter, width, page) = (&self.filter, self.width, self.page);
        match self.pane {
            Pane::Flows => {
                let selected = act(&mut self.flows, key, &model.flows, filter, (width, page));
                if let Some(flow) = selected {
                    self.over = Over::Flow(flow);
                }
            }
            // The flows of a row are what the filter finds by its name.
            Pane::Subscribers => {
                let rows = &model.subscribers;
                if let Some(address) = act(&mut self.subscribers, key, rows, filter, (width, page))
                {
                    self.show_flows_of(&address.to_string());
                }
            }
            Pane::Remotes => {
                let rows = &model.remotes;
                if let Some(name) = act(&mut self.remotes, key, rows, filter, (width, page)) {
                    self.show_flows_of(&name);
                }
            }
            Pane::NotSplit => {
                act(&mut self.unsplit, key, &model.unsplit, filter, (width, page));
            }
        }
    }

    fn show_flows_of(&mut self, name: &str) {
        self.filter = format!("={name}");
        self.pane = Pane::Flows;
    }
}

/// A key in a list. The row that Enter selects.
fn act<R: Row>(
    list: &mut Listing<R>,
    key: Key,
    rows: &[R],
    filter: &str,
    (width, page): (usize, usize),
) -> Option<R::Id> {
    let step = match key {
        Key::Up | Key::Character('k') => Step::Up(1),
        Key::Down | Key::Character('j') => Step::Down(1),
        Key::PageUp => Step::Up(page),
        Key::PageDown | Key::Character(' ') => Step::Down(page),
        Key::Home | Key::Character('g') => Step::First,
        Key::End | Key::Character('G') => Step::Last,
        Key::Character('s') => {
            list.sort_by_next(width);
            return None;
        }
        Key::Character('S' | 'r') => {
            list.reverse();
            return None;
        }
        Key::Enter => return list.select(&list.shown(rows, filter)),
        _ => return None,
    };
    list.step(&list.shown(rows, filter), step);
    None
}

#[cfg(test)]
mod tests;
