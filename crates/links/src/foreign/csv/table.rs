//! The cells of a table with a header: commas, semicolons or tabs between them.

use super::super::{ForeignError, lines};
use std::borrow::Cow;

/// Cells that say that nothing was measured.
const MISSING: [&str; 6] = ["nan", "na", "n/a", "null", "none", "-"];

/// A table whose header has been read.
pub(super) struct Table<'a, I> {
    /// The number of the header's line.
    pub(super) header_at: usize,
    /// The names of its columns.
    pub(super) names: Vec<&'a str>,
    separator: char,
    rest: I,
}

impl<'a> Table<'a, ()> {
    /// Reads the header.
    pub(super) fn open(
        text: &'a str,
    ) -> Result<Table<'a, impl Iterator<Item = (usize, &'a str)>>, ForeignError> {
        let mut rest = lines(text);
        let (header_at, line) = rest.next().ok_or_else(|| ForeignError::whole("it is empty"))?;
        let separator = ['\t', ';'].into_iter().find(|one| line.contains(*one)).unwrap_or(',');
        let names = cells(line, separator).collect();
        Ok(Table { header_at, names, separator, rest })
    }
}

impl<'a, I: Iterator<Item = (usize, &'a str)>> Table<'a, I> {
    /// Puts the next line's cells into `row`. Its number, or None at the end.
    pub(super) fn next(
        &mut self,
        row: &mut Vec<Cow<'a, str>>,
    ) -> Result<Option<usize>, ForeignError> {
        let Some((number, line)) = self.rest.next() else { return Ok(None) };
        row.clear();
        row.extend(cells(line, self.separator).map(|cell| self.plain(cell)));
        let wanted = self.names.len();
        // Some programs end a line with a separator.
        while row.len() > wanted && row.last().is_some_and(|cell| cell.is_empty()) {
            row.pop();
        }
        if row.len() != wanted {
            let found = row.len();
            let why = format!("it has {found} of the header's {wanted} columns");
            return Err(ForeignError::in_line(number, why));
        }
        Ok(Some(number))
    }

    fn plain(&self, cell: &'a str) -> Cow<'a, str> {
        if MISSING.iter().any(|missing| cell.eq_ignore_ascii_case(missing)) {
            return Cow::Borrowed("");
        }
        // Where semicolons part cells, a comma is a decimal point.
        match self.separator == ';' && cell.matches(',').count() == 1 && !cell.contains('.') {
            true => Cow::Owned(cell.replace(',', ".")),
            false => Cow::Borrowed(cell),
        }
    }
}

/// The cells of a line; quotes around one are left out.
fn cells(line: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let quoted = line.trim_start().strip_prefix('"');
        let closed = quoted.and_then(|inside| inside.split_once('"'));
        let (cell, behind) = match closed {
            Some((cell, behind)) => (cell, behind.split_once(separator)),
            None => match line.split_once(separator) {
                Some((cell, behind)) => (cell, Some(("", behind))),
                None => (line, None),
            },
        };
        rest = behind.map(|(_, behind)| behind);
        Some(cell.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<Vec<String>>, ForeignError> {
        let mut table = Table::open(text)?;
        let mut all = vec![table.names.iter().map(|name| (*name).to_owned()).collect()];
        let mut row = Vec::new();
        while table.next(&mut row)?.is_some() {
            all.push(row.iter().map(|cell| cell.clone().into_owned()).collect());
        }
        Ok(all)
    }

    #[test]
    fn cells_are_parted_as_the_header_is() {
        assert_eq!(rows("a,b\n1, 2\n").unwrap(), [["a", "b"], ["1", "2"]]);
        assert_eq!(rows("# c\na;b\n1,5;NaN\n").unwrap(), [["a", "b"], ["1.5", ""]]);
        assert_eq!(rows("a\tb\n1\t2\n").unwrap(), [["a", "b"], ["1", "2"]]);
        assert_eq!(rows("\"a\",\"b,c\"\n\"1\",2,\n").unwrap(), [["a", "b,c"], ["1", "2"]]);
        assert_eq!(
            rows("a,b\n1\n").unwrap_err().to_string(),
            "line 2: it has 1 of the header's 2 columns"
        );
    }
}
