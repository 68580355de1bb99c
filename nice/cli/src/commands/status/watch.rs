// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice status --watch` on a terminal: keys, signals, and the screen once a second.

use std::io::{Stdout, Write, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::Print;
use crossterm::terminal::{
    self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{execute, queue};

use super::screen::{self, Choice, Emphasis, Entry, Sort};
use netnice_terminal::signals::{Arrived, HeldSignals};
use netnice_terminal::style;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// A signal that ends us is noticed within that time.
const PATIENCE: Duration = Duration::from_millis(100);

/// The terminal as it is while we use it; given back as it was.
struct Terminal(Stdout);

impl Terminal {
    fn take() -> Result<Self> {
        enable_raw_mode().context("reading keys from the terminal")?;
        let mut terminal = Self(stdout());
        execute!(terminal.0, EnterAlternateScreen, Hide).context("writing to the terminal")?;
        Ok(terminal)
    }

    fn paint(&mut self, entries: &[Entry], notes: &[String], choice: Choice) -> Result<()> {
        let (width, height) = terminal::size().context("asking for the terminal's size")?;
        let lines = screen::render(entries, notes, choice, width.into(), height.into());
        let painting = || "writing to the terminal";
        let below = lines.len() as u16;
        for (row, (emphasis, line)) in (0..).zip(lines) {
            let line = match emphasis {
                Emphasis::None => line,
                Emphasis::Heading => style::heading(line),
                Emphasis::GivesWay => style::attention(line),
            };
            // Before the line: after one as long as the terminal is wide its last character would go.
            let empty = Clear(ClearType::CurrentLine);
            queue!(self.0, MoveTo(0, row), empty, Print(line)).with_context(painting)?;
        }
        if below < height {
            let rest = Clear(ClearType::FromCursorDown);
            queue!(self.0, MoveTo(0, below), rest).with_context(painting)?;
        }
        self.0.flush().with_context(painting)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Whatever fails here, there is nobody to tell.
        let _ = execute!(self.0, Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// Shows what `look` finds, connections and notes, until the user or a signal ends it.
pub fn watch(
    sort: Sort,
    mut look: impl FnMut() -> Result<(Vec<Entry>, Vec<String>)>,
) -> Result<ExitCode> {
    let signals = HeldSignals::hold()?;
    let mut terminal = Terminal::take()?;
    let mut choice = Choice {
        sort,
        ..Choice::default()
    };
    loop {
        let (entries, notes) = look()?;
        let next = Instant::now() + PERIOD;
        terminal.paint(&entries, &notes, choice)?;
        while Instant::now() < next {
            if let Some(Arrived::FromProcess(signal) | Arrived::FromTerminal(signal)) =
                signals.wait(Some(Duration::ZERO))
            {
                return Ok(ExitCode::from(128 + signal as u8));
            }
            let wait = PATIENCE.min(next.saturating_duration_since(Instant::now()));
            if !event::poll(wait).context("waiting for keys")? {
                continue;
            }
            match event::read().context("reading keys")? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    let control = key.modifiers.contains(KeyModifiers::CONTROL);
                    let last = screen::length(&entries, choice).saturating_sub(1);
                    match key.code {
                        KeyCode::Char('q') | KeyCode::Esc => return Ok(ExitCode::SUCCESS),
                        KeyCode::Char('c') if control => return Ok(ExitCode::from(130)),
                        code => choice = changed(choice, code, last),
                    }
                }
                Event::Resize(..) => {}
                _ => continue,
            }
            terminal.paint(&entries, &notes, choice)?;
        }
    }
}

/// The choice after a key, of a table whose last line is `last`.
fn changed(mut choice: Choice, key: KeyCode, last: usize) -> Choice {
    const PAGE: usize = 10;
    let first = choice.first.min(last);
    choice.first = match key {
        KeyCode::Up | KeyCode::Char('k') => first.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => (first + 1).min(last),
        KeyCode::PageUp => first.saturating_sub(PAGE),
        KeyCode::PageDown => (first + PAGE).min(last),
        KeyCode::End => last,
        KeyCode::Home | KeyCode::Char('s' | 'p') => 0,
        _ => first,
    };
    match key {
        KeyCode::Char('s') => choice.sort = choice.sort.next(),
        KeyCode::Char('p') => choice.processes_only = !choice.processes_only,
        _ => {}
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_scroll_within_the_table_and_choose() {
        let press = |keys: &[KeyCode]| {
            let key = |choice, key: &KeyCode| changed(choice, *key, 25);
            keys.iter().fold(Choice::default(), key)
        };
        assert_eq!(press(&[KeyCode::Up]).first, 0);
        assert_eq!(press(&[KeyCode::Down, KeyCode::PageDown]).first, 11);
        assert_eq!(press(&[KeyCode::PageDown; 3]).first, 25);
        assert_eq!(press(&[KeyCode::End, KeyCode::Up]).first, 24);
        let sorted = press(&[KeyCode::End, KeyCode::Char('s')]);
        assert_eq!((sorted.first, sorted.sort), (0, Sort::Delay));
        assert!(press(&[KeyCode::Char('p')]).processes_only);
        assert!(!press(&[KeyCode::Char('p'); 2]).processes_only);
    }
}
