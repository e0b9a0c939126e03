//! Tables as Arrow streams (the Arrow PyCapsule interface): whoever reads Arrow reads them, without
//! a copy in Python.

use crate::error;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A table: of a Parquet file, which is read in parts whenever it is asked for, or in memory.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub(crate) struct Table(Kept);

enum Kept {
    File(PathBuf),
    Memory(RecordBatch),
}

impl Table {
    /// In memory.
    pub(crate) fn of(batch: RecordBatch) -> Table {
        Table(Kept::Memory(batch))
    }

    fn reader(&self) -> PyResult<Box<dyn RecordBatchReader + Send>> {
        match &self.0 {
            Kept::File(path) => {
                let reader = file(path)?.build().map_err(|error| unreadable(path, &error))?;
                Ok(Box::new(reader))
            }
            Kept::Memory(batch) => {
                let batches = [Ok(batch.clone())];
                Ok(Box::new(RecordBatchIterator::new(batches, batch.schema())))
            }
        }
    }

    fn arrow_schema(&self) -> PyResult<SchemaRef> {
        Ok(self.reader()?.schema())
    }
}

fn file(path: &Path) -> PyResult<ParquetRecordBatchReaderBuilder<File>> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, why: &dyn Display) -> PyErr {
    error::os(format!("cannot read {}: {why}", path.display()))
}

#[pymethods]
impl Table {
    /// Of a Parquet file.
    #[new]
    fn new(path: PathBuf) -> Table {
        Table(Kept::File(path))
    }

    /// For whoever reads Arrow: polars, pandas, pyarrow, DuckDB and others. Types are as they are,
    /// whatever is asked for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = FFI_ArrowArrayStream::new(self.reader()?);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The names of its columns.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        Ok(self.arrow_schema()?.fields().iter().map(|field| field.name().clone()).collect())
    }

    /// The names of its columns, with the types of their values.
    #[getter]
    fn schema(&self) -> PyResult<Vec<(String, &'static str)>> {
        let schema = self.arrow_schema()?;
        let column = |field: &arrow_schema::FieldRef| match field.data_type() {
            DataType::Utf8 => Ok((field.name().clone(), "str")),
            DataType::UInt64 => Ok((field.name().clone(), "uint64")),
            DataType::Int64 => Ok((field.name().clone(), "int64")),
            DataType::Float64 => Ok((field.name().clone(), "float64")),
            DataType::Boolean => Ok((field.name().clone(), "bool")),
            other => Err(unknown(other)),
        };
        schema.fields().iter().map(column).collect()
    }

    /// How many rows it has.
    fn __len__(&self) -> PyResult<usize> {
        match &self.0 {
            Kept::File(path) => {
                let rows = file(path)?.metadata().file_metadata().num_rows();
                usize::try_from(rows).map_err(error::os)
            }
            Kept::Memory(batch) => Ok(batch.num_rows()),
        }
    }

    /// Each column as a list, with None where there is no value; of the first rows, if `limit` says
    /// how many.
    #[pyo3(signature = (limit=None))]
    fn to_dict<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for name in self.columns()? {
            columns.set_item(name, PyList::empty(py))?;
        }
        let mut left = limit.unwrap_or(usize::MAX);
        let mut reader = self.reader()?;
        while let Some(batch) = py.detach(|| reader.next()) {
            let batch = batch.map_err(error::os)?;
            let batch = batch.slice(0, left.min(batch.num_rows()));
            left -= batch.num_rows();
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                let list = columns.get_item(field.name())?;
                if let Some(list) = list {
                    append(list.cast::<PyList>()?, column)?;
                }
            }
            if left == 0 {
                break;
            }
        }
        Ok(columns)
    }
}

fn unknown(kind: &DataType) -> PyErr {
    error::runtime(format!("a column of {kind} is none of ours"))
}

fn append(list: &Bound<'_, PyList>, column: &ArrayRef) -> PyResult<()> {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().try_for_each(|cell| list.append(cell)),
        DataType::UInt64 => {
            column.as_primitive::<UInt64Type>().iter().try_for_each(|cell| list.append(cell))
        }
        DataType::Int64 => {
            column.as_primitive::<Int64Type>().iter().try_for_each(|cell| list.append(cell))
        }
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().iter().try_for_each(|cell| list.append(cell))
        }
        DataType::Boolean => column.as_boolean().iter().try_for_each(|cell| list.append(cell)),
        other => Err(unknown(other)),
    }
}
