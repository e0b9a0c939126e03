//! The output of graphs and points: its place and its form.

use super::capture::{Error, Options};
use super::warn;
use bentpipe_capture::{Direction, analyse, xpl};
use bentpipe_lab::captures::{self, Chosen, Opened, Order, PageView, direction};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Svg,
    Png,
    Csv,
    Xpl,
}

impl Form {
    /// All.
    pub(super) const ALL: [Form; 5] = [Form::Html, Form::Svg, Form::Png, Form::Csv, Form::Xpl];

    /// Its name: a file's suffix.
    pub(super) fn name(self) -> &'static str {
        match self {
            Form::Html => "html",
            Form::Svg => "svg",
            Form::Png => "png",
            Form::Csv => "csv",
            Form::Xpl => "xpl",
        }
    }
}

/// Where the output goes to.
enum Place {
    Stdout,
    File(PathBuf),
    /// With a file for each direction of each connection.
    Folder(PathBuf),
}

/// The output.
pub(super) struct Output {
    place: Place,
    form: Form,
}

impl Output {
    /// The output of this name. Its form is as the name's ending says, if none is said.
    pub(super) fn named(path: &Path, format: Option<Form>) -> Result<Output, Error> {
        if path == Path::new("-") {
            return Ok(Output { place: Place::Stdout, form: format.ok_or(Error::Form)? });
        }
        let name = path.display().to_string();
        if name.ends_with('/') || path.is_dir() {
            return match format {
                None | Some(Form::Xpl) => {
                    Ok(Output { place: Place::Folder(path.to_owned()), form: Form::Xpl })
                }
                Some(_) => Err(Error::Folder(name)),
            };
        }
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
        let named = Form::ALL.into_iter().find(|form| form.name() == suffix);
        let form = format.or(named).ok_or(Error::Suffix(name))?;
        Ok(Output { place: Place::File(path.to_owned()), form })
    }

    /// CSV on standard output.
    pub(super) fn csv() -> Output {
        Output { place: Place::Stdout, form: Form::Csv }
    }

    /// Writes it, and says which files there are. Where not all connections have room, the first by
    /// `order` have it.
    pub(super) fn write(
        self,
        files: &[Opened],
        chosen: &[Chosen],
        order: Order,
        options: &Options,
        out: &mut impl Write,
    ) -> Result<(), Error> {
        let Options { reverse, side_by_side, .. } = *options;
        let bytes = match self.form {
            Form::Html => {
                let first = captures::first_for_page(files, chosen, order);
                let page = captures::page(files, &first, PageView { reverse, side_by_side })?;
                complain(files, chosen, &first, order);
                page.into_bytes()
            }
            Form::Svg | Form::Png => {
                let first = captures::first_for_still(files, chosen, order);
                complain(files, chosen, &first, order);
                let scene = captures::still(files, &first, reverse);
                match self.form {
                    Form::Svg => bentpipe_plot::svg::write(&scene).into_bytes(),
                    _ => bentpipe_plot::png::write(&scene, 2.0)?,
                }
            }
            Form::Csv => return self.csv_of(files, chosen, out),
            Form::Xpl => match self.folder(chosen)? {
                Some(folder) => return write_all(&folder, files, chosen, out),
                None => {
                    let connection = chosen[0].of(files);
                    graph(connection, direction(connection, reverse)).into_bytes()
                }
            },
        };
        match self.place {
            Place::File(path) => {
                fs::write(&path, bytes).map_err(failed(&path))?;
                writeln!(out, "{}", path.display())?;
            }
            _ => out.write_all(&bytes).and_then(|()| out.flush())?,
        }
        Ok(())
    }

    fn csv_of(
        &self,
        files: &[Opened],
        chosen: &[Chosen],
        out: &mut impl Write,
    ) -> Result<(), Error> {
        let Place::File(path) = &self.place else {
            let mut out = BufWriter::new(out);
            captures::write_points(files, chosen, &mut out)?;
            return Ok(out.flush()?);
        };
        let mut file = BufWriter::new(File::create(path).map_err(failed(path))?);
        captures::write_points(files, chosen, &mut file)?;
        file.flush().map_err(failed(path))?;
        Ok(writeln!(out, "{}", path.display())?)
    }

    /// The folder into which the graphs of several connections go: `graph.xpl` becomes `graph`.
    fn folder(&self, chosen: &[Chosen]) -> Result<Option<PathBuf>, Error> {
        match &self.place {
            Place::Folder(path) => Ok(Some(path.clone())),
            _ if chosen.len() == 1 => Ok(None),
            Place::Stdout => Err(Error::Several { connections: chosen.len() }),
            Place::File(path) => Ok(Some(path.with_extension(""))),
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |why| Error::Write { path: path.display().to_string(), why }
}

/// Says which of them are drawn, if not all are.
fn complain(files: &[Opened], chosen: &[Chosen], drawn: &[Chosen], order: Order) {
    if drawn.len() == chosen.len() {
        return;
    }
    let count = chosen.len();
    // Numbers are those of a file, and a page has up to 64.
    let (file, which) = match (files, drawn) {
        ([file], drawn) if drawn.len() <= 4 => {
            let numbers = drawn.iter().map(|one| one.of(files).number.to_string());
            (format!("{}: ", file.name), format!(": {}", numbers.collect::<Vec<_>>().join(", ")))
        }
        ([file], _) => (format!("{}: ", file.name), String::new()),
        _ => (String::new(), String::new()),
    };
    warn(&format!(
        "{file}the first {} of {count} connections by {} are drawn{which} (others by --connection, --filter, --sort, --top)",
        drawn.len(),
        order.name()
    ));
}

/// Writes a graph of each direction that has segments.
fn write_all(
    folder: &Path,
    files: &[Opened],
    chosen: &[Chosen],
    out: &mut impl Write,
) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    for one in chosen {
        let connection = one.of(files);
        let file =
            if files.len() == 1 { String::new() } else { plain(&files[one.file].name) + "-" };
        for (direction, way) in Direction::BOTH.into_iter().zip(["forward", "backward"]) {
            if connection.segments.iter().all(|segment| segment.direction != direction) {
                continue;
            }
            let path = folder.join(format!("{file}connection-{}-{way}.xpl", connection.number));
            fs::write(&path, graph(connection, direction)).map_err(failed(&path))?;
            writeln!(out, "{}", path.display())?;
        }
    }
    Ok(())
}

fn graph(connection: &bentpipe_capture::Connection, direction: Direction) -> String {
    xpl::write(connection, &analyse(connection), direction)
}

/// A file's name as a part of another one.
fn plain(name: &str) -> String {
    let keeps = |c: char| c.is_alphanumeric() || "._-".contains(c);
    name.chars().map(|c| if keeps(c) { c } else { '-' }).collect()
}
