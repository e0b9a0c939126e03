//! The live screen: its loop, and the threads for keys and for questions.
//!
//! The loop waits for nothing but its events. So keys work while the gateway is silent, and a
//! terminal that is gone ends the process, whatever the other threads wait for.

use super::look::{Ask, Look, LookError};
use super::model::Model;
use super::screen::{Key, Reaction, Screen};
use super::view;
use bentpipe_linux::signals::Signals;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The history is that of so long.
const HISTORY: Duration = Duration::from_secs(120);

/// A look is followed by a pause of so many times as long as it took: at most a sixth of the time
/// is spent on looks, however many flows there are.
const PAUSE: u32 = 5;

/// How often a silent gateway's silence is counted on.
const SECOND: Duration = Duration::from_secs(1);

enum Event {
    Key(Key),
    Resized,
    /// An answer, and how long it took.
    Look(Result<Look, LookError>, Duration),
    /// A signal has come, or there are no keys any more.
    End,
}

/// What the thread that asks is to ask for.
struct Wanted {
    unsplit: bool,
}

/// Shows `look`, and others every so often, until the operator has seen enough.
pub(super) fn run(ask: Ask, look: Look, every: Duration) -> io::Result<ExitCode> {
    let (events, received) = mpsc::channel();
    end_by_signals(events.clone())?;
    let asked = look_when_wanted(ask, events.clone())?;
    let samples = HISTORY.as_millis().div_ceil(every.as_millis().max(1)) as usize;
    let mut session = Session {
        model: Model::new(look, samples),
        screen: Screen::new(),
        asked,
        every,
        is_asking: false,
        next: Instant::now() + every,
        answered: Instant::now(),
        failure: None,
    };
    let mut terminal = Terminal::enter()?;
    read_keys(events)?;
    let ended = session.go_on(&mut terminal.0, &received);
    drop(terminal);
    // A terminal that is gone cannot be told so.
    Ok(if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The terminal, which is as it was before once this is dropped.
///
/// Its own drop would say on standard error that the cursor cannot be shown, and panic if that is
/// the terminal that is gone.
struct Terminal(ManuallyDrop<DefaultTerminal>);

impl Terminal {
    /// A panic restores it as well.
    fn enter() -> io::Result<Terminal> {
        match ratatui::try_init() {
            Ok(terminal) => Ok(Terminal(ManuallyDrop::new(terminal))),
            Err(error) => {
                let _ = ratatui::try_restore();
                Err(error)
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.0.show_cursor();
        let _ = ratatui::try_restore();
    }
}

/// What the loop knows.
struct Session {
    model: Model,
    screen: Screen,
    asked: Sender<Wanted>,
    every: Duration,
    is_asking: bool,
    /// The next look.
    next: Instant,
    /// The last answer.
    answered: Instant,
    /// Why there was none since.
    failure: Option<String>,
}

impl Session {
    fn go_on(
        &mut self,
        terminal: &mut DefaultTerminal,
        events: &Receiver<Event>,
    ) -> io::Result<()> {
        loop {
            self.screen.silence =
                self.failure.clone().map(|why| (why, self.answered.elapsed().as_secs()));
            terminal.draw(|frame| view::draw(frame, &self.model, &mut self.screen))?;
            self.ask();
            let event = match events.recv_timeout(self.patience()) {
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => continue,
            };
            if self.on_event(event) == Reaction::Quit {
                return Ok(());
            }
        }
    }

    /// How long nothing happens by itself.
    fn patience(&self) -> Duration {
        match self.is_asking || self.screen.is_paused {
            true => SECOND,
            false => self.next.saturating_duration_since(Instant::now()).min(SECOND),
        }
    }

    fn ask(&mut self) {
        if !self.is_asking && !self.screen.is_paused && Instant::now() >= self.next {
            self.is_asking = true;
            let _ = self.asked.send(Wanted { unsplit: self.screen.wants_unsplit() });
        }
    }

    fn on_event(&mut self, event: Event) -> Reaction {
        match event {
            Event::Key(key) => {
                let wanted = self.screen.wants_unsplit();
                let reaction = self.screen.on_key(key, &self.model);
                if self.screen.wants_unsplit() && !wanted {
                    // They have not been asked for yet.
                    self.next = self.next.min(Instant::now());
                }
                return reaction;
            }
            Event::Look(look, took) => {
                self.is_asking = false;
                self.next = Instant::now() + self.every.max(took * PAUSE);
                match look {
                    // The operator has paused meanwhile.
                    Ok(_) if self.screen.is_paused => {}
                    Ok(look) => {
                        self.model.take(look);
                        (self.answered, self.failure) = (Instant::now(), None);
                    }
                    Err(error) => self.failure = Some(error.to_string()),
                }
            }
            Event::Resized | Event::End => {}
        }
        Reaction::GoOn
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop)
}

/// Asks the gateway whenever that is wanted.
fn look_when_wanted(ask: Ask, events: Sender<Event>) -> io::Result<Sender<Wanted>> {
    let (wanted, asked) = mpsc::channel::<Wanted>();
    start("bp-look", move || {
        for Wanted { unsplit } in asked {
            let began = Instant::now();
            let look = Look::take(ask, unsplit);
            if events.send(Event::Look(look, began.elapsed())).is_err() {
                return;
            }
        }
    })?;
    Ok(wanted)
}

/// SIGINT, SIGTERM and a terminal that hangs up end it.
fn end_by_signals(events: Sender<Event>) -> io::Result<()> {
    let signals = Signals::catch()?;
    start("bp-signals", move || {
        while signals.received().is_none() {
            let mut descriptors = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut descriptors, PollTimeout::NONE);
        }
        let _ = events.send(Event::End);
    })
}

fn read_keys(events: Sender<Event>) -> io::Result<()> {
    start("bp-keys", move || {
        loop {
            let event = match event::read() {
                Ok(event::Event::Key(key)) => match key_of(key) {
                    Some(key) => Event::Key(key),
                    None => continue,
                },
                Ok(event::Event::Resize(..)) => Event::Resized,
                Ok(_) => continue,
                Err(_) => Event::End,
            };
            let is_end = matches!(event, Event::End);
            if events.send(event).is_err() || is_end {
                return;
            }
        }
    })
}

fn key_of(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c') if control => Key::Interrupt,
        KeyCode::Char('u') if control => Key::Clear,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(character) => Key::Character(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
