//! The operator's terminal: pictures go there as they are taken, and keys come from there.
//!
//! Must not know what is shown. Invariants: the terminal is given back as it was, whatever ends this; a server that answers late
//! delays no key.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};

use super::looks::{Looks, Picture};
use super::screen::Screen;
use super::table::Order;

/// How long a new picture may wait until it is shown.
const PATIENCE: Duration = Duration::from_millis(100);

/// Shows a server until a key says to end.
///
/// # Errors
/// The terminal cannot be used; what to do.
pub fn show(mut looks: Looks, seconds: f64, order: Order) -> Result<(), String> {
    let wants_requests = Arc::new(AtomicBool::new(true));
    // Without a place in it, no further look is taken while nobody wants the last one.
    let (sender, pictures) = sync_channel(0);
    let wants = Arc::clone(&wants_requests);
    std::thread::spawn(move || while sender.send(looks.next(seconds, wants.load(Relaxed))).is_ok() {});
    // https://no-color.org
    let has_colors = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut screen = Screen::new(order, has_colors);
    let outcome = ratatui::try_init()
        .and_then(|mut terminal| go_on(&mut terminal, &mut screen, &pictures, &wants_requests));
    ratatui::restore();
    outcome.map_err(|error| format!("the terminal cannot be used: {error}; --once prints one picture"))
}

fn go_on(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    pictures: &Receiver<Result<Picture, String>>,
    wants_requests: &AtomicBool,
) -> io::Result<()> {
    let mut is_new = true;
    loop {
        if is_new {
            terminal.draw(|frame| screen.draw(frame))?;
        }
        is_new = event::poll(PATIENCE)?;
        if is_new && let Event::Key(key) = event::read()? {
            if !screen.press(key) {
                return Ok(());
            }
            wants_requests.store(screen.shows_requests(), Relaxed);
        }
        if !screen.is_paused
            && let Ok(look) = pictures.try_recv()
        {
            screen.take(look);
            is_new = true;
        }
    }
}
