//! Tables as Parquet files, by the format's low-level writer.
//!
//! Every column is optional; texts are UTF8, counts unsigned 64-bit integers, numbers doubles.
//! Rows are gathered into groups, of which the file has one column after the other. Until a group
//! is whole its columns wait in a spool, so that no more than a few rows are in memory.

use crate::cell::{Cell, CellKind, Heading, Row};
use crate::spool::{Spool, SpoolEntry};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// The most rows of a group.
const GROUP: usize = 65_536;

/// So many rows are in memory at most.
const BLOCK: usize = 256;

/// So many blocks of a column are written at once: 1024 cells, by which the writer counts in any
/// case. The file is the same as if all were.
const AT_ONCE: usize = 4;

/// A Parquet file that is being written.
pub(crate) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    kinds: Vec<CellKind>,
    /// The newest rows of the group.
    rows: Vec<Row>,
    /// The others: of each column its blocks.
    columns: Vec<Vec<SpoolEntry>>,
    spool: Spool,
    /// How many rows the group has.
    group: usize,
}

impl<W: Write + Send> ParquetFile<W> {
    /// A file with these columns, which may have another beside it, in this folder, for as long as
    /// it is written.
    pub(crate) fn new(to: W, headings: &[Heading], beside: &Path) -> Result<ParquetFile<W>> {
        let fields = headings.iter().map(|heading| field(heading).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let schema = Type::group_type_builder("bentpipe").with_fields(fields).build()?;
        let properties = WriterProperties::builder().build();
        let writer = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
        let kinds = headings.iter().map(|heading| heading.kind).collect();
        let (columns, spool) = (vec![Vec::new(); headings.len()], Spool::new(beside));
        Ok(ParquetFile { writer, kinds, rows: Vec::new(), columns, spool, group: 0 })
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: Row) -> Result<()> {
        self.rows.push(row);
        self.group += 1;
        if self.rows.len() == BLOCK {
            self.set_aside()?;
        }
        if self.group == GROUP { self.flush() } else { Ok(()) }
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.writer.into_inner()
    }

    fn set_aside(&mut self) -> io::Result<()> {
        for (index, entries) in self.columns.iter_mut().enumerate() {
            let cells: Vec<&Cell> = self.rows.iter().map(|row| &row[index]).collect();
            entries.push(self.spool.push(&cells)?);
        }
        self.rows.clear();
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.group == 0 {
            return Ok(());
        }
        if !self.rows.is_empty() {
            self.set_aside()?;
        }
        let mut group = self.writer.next_row_group()?;
        for (entries, kind) in self.columns.iter_mut().zip(&self.kinds) {
            let Some(mut column) = group.next_column()? else { break };
            for entries in entries.chunks(AT_ONCE) {
                let mut cells = Vec::new();
                for entry in entries {
                    cells.extend(self.spool.read::<Vec<Cell>>(*entry)?);
                }
                write(&mut column, *kind, &cells)?;
            }
            column.close()?;
            entries.clear();
        }
        group.close()?;
        self.spool.clear();
        self.group = 0;
        Ok(())
    }
}

fn field(heading: &Heading) -> Result<Type> {
    let (physical, logical) = match heading.kind {
        CellKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        CellKind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
        CellKind::Number => (Physical::DOUBLE, None),
        CellKind::Switch => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(&heading.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

fn write(column: &mut SerializedColumnWriter<'_>, kind: CellKind, cells: &[Cell]) -> Result<()> {
    let cells = cells.iter();
    let levels: Vec<i16> =
        cells.clone().map(|cell| i16::from(!matches!(cell, Cell::None))).collect();
    let levels = Some(&levels[..]);
    match kind {
        CellKind::Text => {
            let texts = cells.filter_map(|cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            });
            let texts: Vec<ByteArray> = texts.collect();
            column.typed::<ByteArrayType>().write_batch(&texts, levels, None)?;
        }
        CellKind::Count => {
            let counts = cells.filter_map(|cell| match cell {
                // The bits of an unsigned number, as the format wants them.
                Cell::Count(count) => Some(count.cast_signed()),
                _ => None,
            });
            let counts: Vec<i64> = counts.collect();
            column.typed::<Int64Type>().write_batch(&counts, levels, None)?;
        }
        CellKind::Number => {
            let numbers = cells.filter_map(|cell| match cell {
                Cell::Number(number) => Some(*number),
                _ => None,
            });
            let numbers: Vec<f64> = numbers.collect();
            column.typed::<DoubleType>().write_batch(&numbers, levels, None)?;
        }
        CellKind::Switch => {
            let switches = cells.filter_map(|cell| match cell {
                Cell::Switch(on) => Some(*on),
                _ => None,
            });
            let switches: Vec<bool> = switches.collect();
            column.typed::<BoolType>().write_batch(&switches, levels, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::fs::File;

    fn headings() -> [Heading; 4] {
        let heading = |name: &str, kind| Heading::new(name, kind, "", "");
        [
            heading("text", CellKind::Text),
            heading("count", CellKind::Count),
            heading("number", CellKind::Number),
            heading("switch", CellKind::Switch),
        ]
    }

    fn row(number: u64) -> Row {
        let some =
            if number.is_multiple_of(2) { Cell::None } else { Cell::Number(number as f64 / 4.0) };
        let text = Cell::Text(format!("é{}", number % 7));
        vec![text, Cell::Count(u64::MAX - number), some, Cell::Switch(number == 1)]
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        let file = File::create(&path).unwrap();
        let mut file = ParquetFile::new(file, &headings(), folder.path()).unwrap();
        let rows = GROUP as u64 + 3;
        (0..rows).for_each(|number| file.push(row(number)).unwrap());
        file.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let read: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(read.len() as u64, rows);
        assert_eq!(
            &read[..2],
            [
                "{text: \"é0\", count: 18446744073709551615, number: null, switch: false}",
                "{text: \"é1\", count: 18446744073709551614, number: 0.25, switch: true}",
            ]
        );
    }

    /// Whatever parts its columns come in, the file is the one of whole columns.
    #[test]
    fn a_file_by_blocks_is_that_of_columns_in_one_piece() {
        let folder = tempfile::tempdir().unwrap();
        for rows in [1, 255, 256, 257, 1023, 1025, 21_000, GROUP as u64 + 700] {
            let mut file = ParquetFile::new(Vec::new(), &headings(), folder.path()).unwrap();
            (0..rows).for_each(|number| file.push(row(number)).unwrap());
            let by_blocks = file.finish().unwrap();
            let mut file = ParquetFile::new(Vec::new(), &headings(), folder.path()).unwrap();
            let all: Vec<Row> = (0..rows).map(row).collect();
            for rows in all.chunks(GROUP) {
                let mut group = file.writer.next_row_group().unwrap();
                for (index, kind) in file.kinds.iter().enumerate() {
                    let cells: Vec<Cell> = rows.iter().map(|row| row[index].clone()).collect();
                    let mut column = group.next_column().unwrap().unwrap();
                    write(&mut column, *kind, &cells).unwrap();
                    column.close().unwrap();
                }
                group.close().unwrap();
            }
            assert!(by_blocks == file.finish().unwrap(), "{rows} rows");
        }
    }
}
