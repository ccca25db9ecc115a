//! What the terminal shows, and what keys do: one view at a time, sorted and scrolled.
//!
//! Must not know how the server is asked, nor whose terminal it is. Invariant: a key changes what is shown, never the server.

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;

use super::looks::Picture;
use super::requests::Requests;
use super::table::{Mark, Order, Table};
use super::tables;

const KEYS: &str = "q quit   1-5, Tab view   < > sort by   r reverse   Up Down scroll   Space pause";

/// The views, in the order of their keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    Overview,
    Workers,
    Routes,
    Waits,
    Requests,
}

const VIEWS: [(View, &str); 5] = [
    (View::Overview, "overview"),
    (View::Workers, "workers"),
    (View::Routes, "routes"),
    (View::Waits, "waits"),
    (View::Requests, "requests"),
];

/// What is shown.
pub struct Screen {
    view: View,
    /// How each view is sorted; that of the overview is its routes'.
    orders: [Order; VIEWS.len()],
    /// The first row that is shown.
    first: usize,
    /// Rows that fit.
    rows: usize,
    pub is_paused: bool,
    picture: Option<Picture>,
    /// Why there is no newer picture.
    trouble: Option<String>,
    has_colors: bool,
}

impl Screen {
    /// Nothing is known yet; the routes are sorted in this order.
    pub fn new(order: Order, has_colors: bool) -> Screen {
        let mut orders = [Order::default(); VIEWS.len()];
        orders[View::Overview as usize] = order;
        orders[View::Routes as usize] = order;
        let (view, picture, trouble) = (View::Overview, None, None);
        Screen { view, orders, first: 0, rows: 1, is_paused: false, picture, trouble, has_colors }
    }

    /// Whether requests are shown, so that the server should be asked for them.
    pub fn shows_requests(&self) -> bool {
        matches!(self.view, View::Overview | View::Requests)
    }

    /// A look at the server.
    pub fn take(&mut self, look: Result<Picture, String>) {
        match look {
            Ok(picture) => (self.picture, self.trouble) = (Some(picture), None),
            Err(why) => self.trouble = Some(why),
        }
    }

    /// Does what a key says; returns false if it says to end.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return true;
        }
        let columns = self.table().map_or(1, |table| table.columns.len());
        let order = &mut self.orders[self.view as usize];
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char(digit @ '1'..='5') => self.show(digit as usize - '1' as usize),
            KeyCode::Tab => self.show(self.view as usize + 1),
            KeyCode::BackTab => self.show(self.view as usize + VIEWS.len() - 1),
            KeyCode::Char('>') | KeyCode::Right => order.column = (order.column + 1) % columns,
            KeyCode::Char('<') | KeyCode::Left => order.column = (order.column + columns - 1) % columns,
            KeyCode::Char('r') => order.is_reversed = !order.is_reversed,
            KeyCode::Char(' ') => self.is_paused = !self.is_paused,
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::PageDown => self.scroll(self.rows as isize),
            KeyCode::PageUp => self.scroll(-(self.rows as isize)),
            KeyCode::Home | KeyCode::Char('g') => self.first = 0,
            _ => {}
        }
        true
    }

    fn show(&mut self, view: usize) {
        self.view = VIEWS[view % VIEWS.len()].0;
        self.first = 0;
    }

    fn scroll(&mut self, by: isize) {
        let last = self.table().map_or(0, |table| table.rows.len().saturating_sub(1));
        self.first = self.first.saturating_add_signed(by).min(last);
    }

    /// The table that is sorted and scrolled.
    fn table(&self) -> Option<Table> {
        let picture = self.picture.as_ref()?;
        let mut table = match self.view {
            View::Workers => tables::workers(&picture.sample),
            View::Overview | View::Routes => tables::routes(&picture.sample),
            View::Waits => tables::waits(&picture.sample),
            View::Requests => tables::requests(picture.requests.as_ref().unwrap_or(&Requests::default())),
        };
        table.sort(self.orders[self.view as usize]);
        Some(table)
    }

    /// Draws all of it.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let mut page = Page { area: frame.area(), lines: Vec::new() };
        page.lines.push(self.tabs());
        if let Some(picture) = &self.picture {
            let head = tables::head(&picture.sample);
            let last = head.len() - 1;
            page.lines.extend(head.into_iter().enumerate().map(|(at, line)| match at {
                at if at == last => Line::from(line).bold(),
                _ => Line::from(line),
            }));
        }
        let waits_for_first = self.picture.is_none().then(|| "the first picture is being taken".to_owned());
        if let Some(why) = self.trouble.clone().or(waits_for_first) {
            page.lines.push(self.colored(Line::from(why), Color::Red));
        }
        self.draw_tables(&mut page);
        page.finish(frame, Line::from(self.footer()).dim());
    }

    fn draw_tables(&mut self, page: &mut Page) {
        let Some((picture, table)) = self.picture.as_ref().zip(self.table()) else { return };
        let is_overview = self.view == View::Overview;
        if is_overview {
            let workers = tables::workers(&picture.sample);
            // A third of what is left, and room for the line that says how many there are.
            let rows = (page.room() / 3).saturating_sub(2);
            self.put(page, &workers, 0, rows);
        }
        let listed = picture.requests.as_ref().filter(|requests| is_overview && !requests.oldest.is_empty());
        let reserved = listed.map_or(0, |requests| (requests.oldest.len() + 3).min(page.room() / 2));
        let about = (self.view == View::Requests).then(|| tables::about_requests(picture));
        let rows = page.room().saturating_sub(reserved + 2 + usize::from(about.is_some()));
        let first = self.first.min(table.rows.len().saturating_sub(1));
        page.lines.extend(about.map(Line::from));
        self.put(page, &table, first, rows);
        if let Some(requests) = listed {
            let rows = page.room().saturating_sub(2);
            self.put(page, &tables::requests(requests), 0, rows);
        }
        (self.rows, self.first) = (rows.max(1), first);
    }

    /// Puts a table's head and some of its rows on the page.
    fn put(&self, page: &mut Page, table: &Table, first: usize, rows: usize) {
        let width = usize::from(page.area.width);
        page.lines.push(Line::default());
        page.lines.push(Line::from(table.head(width)).reversed());
        let shown = table.lines(width).skip(first).take(rows);
        page.lines.extend(shown.map(|(line, mark)| match mark {
            Mark::Usual => Line::from(line),
            Mark::Bad => self.colored(Line::from(line), Color::Yellow),
        }));
    }

    fn tabs(&self) -> Line<'static> {
        let tab = |(at, (view, name)): (usize, &(View, &str))| {
            let text = format!(" {} {name} ", at + 1);
            if *view == self.view { text.reversed() } else { text.into() }
        };
        VIEWS.iter().enumerate().map(tab).collect()
    }

    fn footer(&self) -> String {
        let order = self.orders[self.view as usize];
        let by =
            self.table().map_or("", |table| table.columns[order.column.min(table.columns.len() - 1)].name);
        let reversed = if order.is_reversed { ", reversed" } else { "" };
        let paused = if self.is_paused { "PAUSED   " } else { "" };
        format!("{paused}by {by}{reversed}   {KEYS}")
    }

    fn colored(&self, line: Line<'static>, color: Color) -> Line<'static> {
        if self.has_colors { line.style(Style::new().fg(color)) } else { line.bold() }
    }
}

/// The lines of a picture, and where they go.
struct Page {
    area: Rect,
    lines: Vec<Line<'static>>,
}

impl Page {
    /// Lines that are left above the last one.
    fn room(&self) -> usize {
        usize::from(self.area.height).saturating_sub(self.lines.len() + 1)
    }

    fn finish(mut self, frame: &mut Frame<'_>, last: Line<'static>) {
        let above = usize::from(self.area.height).saturating_sub(1);
        self.lines.resize(above, Line::default());
        self.lines.push(last);
        for (line, row) in self.lines.into_iter().zip(self.area.rows()) {
            frame.render_widget(line, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::{Value, json};

    use super::*;
    use crate::top::sample::Sample;
    use crate::top::tables::Sort;

    fn screen(now: &Value, requests: &Value) -> Screen {
        let mut screen = Screen::new(Sort::Requests.order(), true);
        let sample = Sample::between(&json!({}), now, 1.0);
        screen.take(Ok(Picture { sample, requests: Some(Requests::of(requests)) }));
        screen
    }

    fn press(screen: &mut Screen, keys: &str) {
        for key in keys.chars() {
            assert!(screen.press(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)));
        }
    }

    fn shown(screen: &mut Screen, (width, height): (u16, u16)) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let cells: Vec<&str> = buffer.content().iter().map(|cell| cell.symbol()).collect();
        cells.chunks(width.into()).map(|row| row.concat().trim_end().to_owned()).collect()
    }

    fn routes(count: usize) -> Value {
        let route = |at: usize| json!({ "route": format!("/r{at:02}"), "requests": at });
        json!({ "routes": (0..count).map(route).collect::<Vec<_>>(), "workers": [{ "worker": 1, "pid": 7 }] })
    }

    #[test]
    fn the_overview_has_something_of_everything() {
        let requests = json!({ "count": 1, "requests": [{ "what": "GET /slow", "age_ms": 1.0 }] });
        let lines = shown(&mut screen(&routes(40), &requests), (120, 40));
        let has = |text: &str| lines.iter().any(|line| line.contains(text));
        assert!(lines[0].starts_with(" 1 overview  2 workers") && has("held back by: nothing"), "{lines:#?}");
        assert!(has("/r39 ") && has("GET /slow") && has("WORKER"), "{lines:#?}");
        assert!(lines[39].starts_with("by REQ/S   q quit"), "{lines:#?}");
    }

    #[test]
    fn rows_are_sorted_and_scrolled_by_keys() {
        let mut screen = screen(&routes(40), &json!({}));
        let first = |screen: &mut Screen| {
            let lines = shown(screen, (100, 24));
            let head = lines.iter().position(|line| line.starts_with("ROUTE")).unwrap();
            lines[head + 1][..4].to_owned()
        };
        press(&mut screen, "3");
        assert_eq!(first(&mut screen), "/r39");
        press(&mut screen, "r");
        assert_eq!(first(&mut screen), "/r00");
        press(&mut screen, "jjk");
        assert_eq!(first(&mut screen), "/r01");
        (0..9).for_each(|_| assert!(screen.press(KeyEvent::new(KeyCode::PageDown, KeyModifiers::NONE))));
        assert_eq!(first(&mut screen), "/r39", "no further than the last");
        press(&mut screen, "g<r");
        assert_eq!(first(&mut screen), "/r00", "by name");
    }

    #[test]
    fn each_view_fits_any_terminal() {
        let requests = json!({ "count": 9, "silent": [7], "requests": [{ "what": "GET /slow" }] });
        let mut screen = screen(&routes(40), &requests);
        for view in "12345".chars() {
            press(&mut screen, &view.to_string());
            for size in [(1, 1), (20, 5), (80, 24), (300, 100)] {
                assert_eq!(shown(&mut screen, size).len(), usize::from(size.1));
            }
        }
        assert!(screen.shows_requests());
        assert!(shown(&mut screen, (80, 24)).iter().any(|line| line.ends_with("no answer from 7")));
    }

    #[test]
    fn a_server_that_has_gone_is_said_to_be_missing_and_may_come_back() {
        let mut screen = screen(&routes(1), &json!({}));
        screen.take(Err("no server listens".to_owned()));
        let lines = shown(&mut screen, (80, 24));
        assert!(lines.iter().any(|line| line == "no server listens"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("/r00")), "the last picture stays: {lines:#?}");
        screen.take(Ok(Picture { sample: Sample::between(&json!({}), &routes(1), 1.0), requests: None }));
        assert!(!shown(&mut screen, (80, 24)).iter().any(|line| line == "no server listens"));
        assert!(!screen.press(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)));
    }
}
