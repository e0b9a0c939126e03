//! Tables as Parquet files, by the format's low-level writer.
//!
//! Every column is optional; texts are UTF8, counts unsigned 64-bit integers, numbers doubles.
//! Rows are gathered into groups so that a long table does not have to fit into memory.

use crate::cell::{Cell, Heading, Kind, Row};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// The most rows of a group.
const GROUP: usize = 65_536;

/// A Parquet file that is being written.
pub(crate) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    kinds: Vec<Kind>,
    rows: Vec<Row>,
}

impl<W: Write + Send> ParquetFile<W> {
    /// A file with these columns.
    pub(crate) fn new(to: W, headings: &[Heading]) -> Result<ParquetFile<W>> {
        let fields = headings.iter().map(|heading| field(heading).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let schema = Type::group_type_builder("bentpipe").with_fields(fields).build()?;
        let properties = WriterProperties::builder().build();
        let writer = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
        let kinds = headings.iter().map(|heading| heading.kind).collect();
        Ok(ParquetFile { writer, kinds, rows: Vec::new() })
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: Row) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() == GROUP { self.flush() } else { Ok(()) }
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.writer.into_inner()
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (index, kind) in self.kinds.iter().enumerate() {
            let Some(mut column) = group.next_column()? else { break };
            write(&mut column, *kind, self.rows.iter().map(|row| &row[index]))?;
            column.close()?;
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

fn field(heading: &Heading) -> Result<Type> {
    let (physical, logical) = match heading.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Switch => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(&heading.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

fn write<'a>(
    column: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    cells: impl Iterator<Item = &'a Cell> + Clone,
) -> Result<()> {
    let levels: Vec<i16> =
        cells.clone().map(|cell| i16::from(!matches!(cell, Cell::None))).collect();
    let levels = Some(&levels[..]);
    match kind {
        Kind::Text => {
            let texts = cells.filter_map(|cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            });
            let texts: Vec<ByteArray> = texts.collect();
            column.typed::<ByteArrayType>().write_batch(&texts, levels, None)?;
        }
        Kind::Count => {
            let counts = cells.filter_map(|cell| match cell {
                // The bits of an unsigned number, as the format wants them.
                Cell::Count(count) => Some(count.cast_signed()),
                _ => None,
            });
            let counts: Vec<i64> = counts.collect();
            column.typed::<Int64Type>().write_batch(&counts, levels, None)?;
        }
        Kind::Number => {
            let numbers = cells.filter_map(|cell| match cell {
                Cell::Number(number) => Some(*number),
                _ => None,
            });
            let numbers: Vec<f64> = numbers.collect();
            column.typed::<DoubleType>().write_batch(&numbers, levels, None)?;
        }
        Kind::Switch => {
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

    #[test]
    fn what_is_written_is_read_back() {
        let heading = |name: &str, kind| Heading::new(name, kind, "", "");
        let headings = [
            heading("text", Kind::Text),
            heading("count", Kind::Count),
            heading("number", Kind::Number),
            heading("switch", Kind::Switch),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        let mut file = ParquetFile::new(File::create(&path).unwrap(), &headings).unwrap();
        let rows = GROUP as u64 + 3;
        for row in 0..rows {
            let number = if row % 2 == 0 { Cell::None } else { Cell::Number(row as f64 / 4.0) };
            let text = Cell::Text(format!("é{}", row % 7));
            file.push(vec![text, Cell::Count(u64::MAX - row), number, Cell::Switch(row == 1)])
                .unwrap();
        }
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
}
