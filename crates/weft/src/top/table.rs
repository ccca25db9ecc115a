//! A table of figures: its columns, its rows, and the lines that they make.
//!
//! Must not know what the figures mean, nor where the lines go. Invariants: a line has no more characters than it is allowed, and
//! none that could move a terminal's cursor; columns that do not fit are left out from the right, never cut in the midst of a number.

use std::cmp::Ordering;

/// A column.
pub struct Column {
    pub name: &'static str,
    /// Characters; the last column takes what is left of the line, and at least these.
    width: usize,
    is_number: bool,
}

impl Column {
    /// One of texts, which stand at the left.
    pub const fn text(name: &'static str, width: usize) -> Column {
        Column { name, width, is_number: false }
    }

    /// One of figures, which stand at the right.
    pub const fn number(name: &'static str, width: usize) -> Column {
        Column { name, width, is_number: true }
    }
}

/// What stands in a row's column.
pub enum Cell {
    Text(String),
    /// A figure, and how it is written.
    Number(f64, String),
}

impl Cell {
    /// A figure with so many digits after its point.
    pub fn number(figure: f64, digits: usize) -> Cell {
        let figure = figure + 0.0; // an empty sum is -0.0
        Cell::Number(figure, format!("{figure:.digits$}"))
    }

    fn text(&self) -> &str {
        match self {
            Cell::Text(text) | Cell::Number(_, text) => text,
        }
    }

    /// Great figures come first, and texts by the alphabet.
    fn order(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Number(one, _), Cell::Number(other, _)) => other.total_cmp(one),
            _ => self.text().cmp(other.text()),
        }
    }
}

/// What a row is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Usual,
    /// Somebody should look at it.
    Bad,
}

/// A row: as many cells as there are columns.
pub struct Row {
    pub cells: Vec<Cell>,
    pub mark: Mark,
}

/// By what rows are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// The number of a column, from 0.
    pub column: usize,
    /// The last ones first.
    pub is_reversed: bool,
}

/// A table.
pub struct Table {
    pub columns: &'static [Column],
    pub rows: Vec<Row>,
}

impl Table {
    /// Sorts the rows; those that are alike stay in their order.
    pub fn sort(&mut self, order: Order) {
        let column = order.column.min(self.columns.len() - 1);
        self.rows.sort_by(|one, other| {
            let falls = one.cells[column].order(&other.cells[column]);
            if order.is_reversed { falls.reverse() } else { falls }
        });
    }

    /// The line above the rows.
    pub fn head(&self, width: usize) -> String {
        self.line(width, self.columns.iter().map(|column| column.name))
    }

    /// The lines of the rows.
    pub fn lines(&self, width: usize) -> impl Iterator<Item = (String, Mark)> + '_ {
        self.rows.iter().map(move |row| (self.line(width, row.cells.iter().map(Cell::text)), row.mark))
    }

    /// How many columns fit.
    fn fitting(&self, width: usize) -> usize {
        let mut used = 0;
        let fit = self.columns.iter().take_while(|column| {
            used += column.width + usize::from(used > 0);
            used <= width
        });
        fit.count()
    }

    fn line<'a>(&self, width: usize, cells: impl Iterator<Item = &'a str>) -> String {
        let mut line = String::with_capacity(width);
        let mut used = 0;
        let last = self.columns.len() - 1;
        for (at, (text, column)) in cells.zip(self.columns).enumerate().take(self.fitting(width)) {
            if at > 0 {
                line.push(' ');
                used += 1;
            }
            let room = if at == last { width - used } else { column.width };
            let plain = text.chars().map(|one| if one.is_control() { '?' } else { one });
            let plain: String = plain.take(room).collect();
            let padded = if column.is_number { format!("{plain:>room$}") } else { format!("{plain:<room$}") };
            line.push_str(&padded);
            used += room;
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[Column::text("NAME", 6), Column::number("RATE", 5), Column::text("WHY", 4)];

    fn table() -> Table {
        let row = |name: &str, rate: f64, why: &str| Row {
            cells: vec![Cell::Text(name.into()), Cell::number(rate, 1), Cell::Text(why.into())],
            mark: Mark::Usual,
        };
        Table { columns: COLUMNS, rows: vec![row("b\x1b[2J", 2.0, "why not"), row("a", 10.0, "")] }
    }

    fn lines(table: &Table, width: usize) -> Vec<String> {
        std::iter::once(table.head(width)).chain(table.lines(width).map(|(line, _)| line)).collect()
    }

    #[test]
    fn numbers_stand_at_the_right_and_nothing_leaves_its_line() {
        assert_eq!(
            lines(&table(), 17),
            ["NAME    RATE WHY", "b?[2J    2.0 why n", "a       10.0"]
                .map(|line| { line.chars().take(17).collect::<String>().trim_end().to_owned() })
        );
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_right() {
        assert_eq!(lines(&table(), 12), ["NAME    RATE", "b?[2J    2.0", "a       10.0"]);
        assert_eq!(lines(&table(), 3), ["", "", ""]);
    }

    #[test]
    fn names_of_columns_stand_where_their_cells_will() {
        let empty = Table { columns: COLUMNS, rows: Vec::new() };
        assert_eq!(empty.head(17), table().head(17));
        assert_eq!(empty.head(17), "NAME    RATE WHY");
    }

    #[test]
    fn rows_are_sorted_by_a_column() {
        let first = |order: Order| {
            let mut table = table();
            table.sort(order);
            table.rows[0].cells[0].text().chars().next()
        };
        assert_eq!(first(Order { column: 0, is_reversed: false }), Some('a'));
        assert_eq!(first(Order { column: 1, is_reversed: false }), Some('a'));
        assert_eq!(first(Order { column: 1, is_reversed: true }), Some('b'));
        assert_eq!(first(Order { column: 9, is_reversed: true }), Some('b'), "the last column");
    }
}
