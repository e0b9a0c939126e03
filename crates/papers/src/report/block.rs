//! The parts of pages in two forms: Markdown, and HTML that needs no network.

use bentpipe_plot::svg::escaped;
use std::fmt::Write;

/// The name of the page with the overview.
pub(super) const OVERVIEW: &str = "README";

/// A part of a page. Its texts have no markup.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    /// A heading of this level (2 or more), and its anchor in HTML.
    Heading(usize, String, String),
    /// A paragraph.
    Paragraph(Vec<Inline>),
    /// A table: its title, and the rows, of which the first has the headings.
    Table(String, Vec<Vec<Cell>>),
    /// A list.
    List(Vec<String>),
    /// A picture.
    Picture(Picture),
    /// A part that is shown on demand: its summary, and the rest.
    Folded(String, Vec<Block>),
    /// Links with their texts, for HTML alone.
    Links(String, Vec<(String, String)>),
}

/// A piece of a paragraph.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inline {
    /// A plain text.
    Text(String),
    /// A text that stands out.
    Strong(String),
    /// A link to a page of the report, by its name without an ending.
    Page(String, String),
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// A text.
    Text(String),
    /// A number, to the right.
    Number(String),
    /// A name in programs and files.
    Code(String),
    /// A verdict and its tone.
    Verdict(String, Tone),
    /// A link to a page, by its name.
    Page(String, String),
}

/// The tone of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// As claimed.
    Good,
    /// Otherwise.
    Bad,
    /// Neither.
    Open,
}

/// A picture of a figure, or of the report itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Picture {
    /// Its caption.
    pub title: String,
    /// Its file, from the Markdown's folder.
    pub kept: String,
    /// Its file, from the HTML's folder, without an ending.
    pub drawn: String,
    /// True if it has a narrow twin and a file of data.
    pub has_data: bool,
}

impl Block {
    /// A paragraph of plain text.
    pub(super) fn text(text: impl Into<String>) -> Block {
        Block::Paragraph(vec![Inline::Text(text.into())])
    }
}

/// As Markdown.
pub(super) fn markdown(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        let _ = match block {
            Block::Heading(level, heading, _) => {
                writeln!(text, "\n{} {heading}", "#".repeat(*level))
            }
            Block::Paragraph(pieces) => writeln!(text, "\n{}", markdown_pieces(pieces)),
            Block::Table(title, rows) => markdown_table(&mut text, title, rows),
            Block::List(items) => {
                text.push('\n');
                items.iter().try_for_each(|item| writeln!(text, "- {item}"))
            }
            Block::Picture(picture) => writeln!(text, "\n![{}]({})", picture.title, picture.kept),
            Block::Folded(summary, inside) => writeln!(
                text,
                "\n<details>\n<summary>{summary}</summary>\n{}\n</details>",
                markdown(inside)
            ),
            Block::Links(..) => Ok(()),
        };
    }
    text
}

fn markdown_pieces(pieces: &[Inline]) -> String {
    let piece = |piece: &Inline| match piece {
        Inline::Text(text) => text.trim_end().to_owned(),
        Inline::Strong(text) => format!("**{text}**"),
        Inline::Page(page, text) => format!("[{text}]({page}.md)"),
    };
    pieces.iter().map(piece).collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn markdown_table(text: &mut String, title: &str, rows: &[Vec<Cell>]) -> std::fmt::Result {
    if title.is_empty() {
        text.push('\n');
    } else {
        writeln!(text, "\n{title}\n")?;
    }
    let said = |cell: &Cell| match cell {
        Cell::Code(code) if code.is_empty() => String::new(),
        Cell::Code(code) => format!("`{code}`"),
        Cell::Page(page, text) => format!("[{text}]({page}.md)"),
        Cell::Text(text) | Cell::Number(text) | Cell::Verdict(text, _) => text.replace('|', "\\|"),
    };
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().map(said).collect();
        writeln!(text, "| {} |", cells.join(" | "))?;
        if index == 0 {
            let below = rows.get(1).unwrap_or(row);
            let sides = below.iter().map(|cell| match cell {
                Cell::Number(_) => " ---: |",
                _ => " --- |",
            });
            writeln!(text, "|{}", sides.collect::<String>())?;
        }
    }
    Ok(())
}

/// As HTML.
pub(super) fn html(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        let _ = match block {
            Block::Heading(level, heading, anchor) => {
                writeln!(text, "<h{level} id=\"{anchor}\">{}</h{level}>", escaped(heading))
            }
            Block::Paragraph(pieces) => writeln!(text, "<p>{}</p>", html_pieces(pieces)),
            Block::Table(title, rows) => html_table(&mut text, title, rows),
            Block::List(items) => {
                let items: String =
                    items.iter().map(|item| format!("<li>{}</li>\n", escaped(item))).collect();
                writeln!(text, "<ul>\n{items}</ul>")
            }
            Block::Picture(picture) => html_picture(&mut text, picture),
            Block::Folded(summary, inside) => writeln!(
                text,
                "<details><summary>{}</summary>\n{}</details>",
                escaped(summary),
                html(inside)
            ),
            Block::Links(said, links) => {
                let links: Vec<String> = links
                    .iter()
                    .map(|(to, name)| format!("<a href=\"{to}\">{}</a>", escaped(name)))
                    .collect();
                writeln!(text, "<p class=\"small\">{} {}.</p>", escaped(said), links.join(", "))
            }
        };
    }
    text
}

fn html_pieces(pieces: &[Inline]) -> String {
    let piece = |piece: &Inline| match piece {
        Inline::Text(text) => escaped(text.trim_end()),
        Inline::Strong(text) => format!("<b>{}</b>", escaped(text)),
        Inline::Page(page, text) => link(page, text),
    };
    pieces.iter().map(piece).collect::<Vec<_>>().join(" ")
}

/// The overview is the folder's index.
fn link(page: &str, text: &str) -> String {
    let page = if page == OVERVIEW { "index" } else { page };
    format!("<a href=\"{page}.html\">{}</a>", escaped(text))
}

fn html_table(text: &mut String, title: &str, rows: &[Vec<Cell>]) -> std::fmt::Result {
    writeln!(text, "<figure class=\"table\"><table>")?;
    for (index, row) in rows.iter().enumerate() {
        let tag = if index == 0 { "th" } else { "td" };
        text.push_str("<tr>");
        let below = rows.get(1).unwrap_or(row);
        for (column, cell) in row.iter().enumerate() {
            let (class, said) = match cell {
                Cell::Number(number) => ("number", escaped(number)),
                Cell::Code(code) => ("", format!("<code>{}</code>", escaped(code))),
                Cell::Verdict(verdict, tone) => (tone.class(), escaped(verdict)),
                Cell::Page(page, text) => ("", link(page, text)),
                Cell::Text(text) => match below.get(column) {
                    Some(Cell::Number(_)) => ("number", escaped(text)),
                    _ => ("", escaped(text)),
                },
            };
            write!(text, "<{tag} class=\"{class}\">{said}</{tag}>")?;
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n");
    if !title.is_empty() {
        writeln!(text, "<figcaption>{}</figcaption>", escaped(title))?;
    }
    writeln!(text, "</figure>")
}

fn html_picture(text: &mut String, picture: &Picture) -> std::fmt::Result {
    let Picture { title, drawn, has_data, .. } = picture;
    let title = escaped(title);
    if *has_data {
        writeln!(
            text,
            "<figure>\n<picture><source media=\"(max-width: 600px)\" srcset=\"{drawn}-narrow.svg\">\
             <img src=\"{drawn}.svg\" alt=\"{title}\"></picture>\n<figcaption>\
             <a href=\"{drawn}.csv\">Its data</a></figcaption>\n</figure>"
        )
    } else {
        writeln!(text, "<figure><img src=\"{drawn}.svg\" alt=\"{title}\"></figure>")
    }
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Tone::Good => "holds",
            Tone::Bad => "fails",
            Tone::Open => "open",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let head = ["claim", "found", ""].map(|text| Cell::Text(text.to_owned())).to_vec();
        let row = vec![
            Cell::Code("A-1".to_owned()),
            Cell::Number("3 < 4".to_owned()),
            Cell::Verdict("a | b".to_owned(), Tone::Bad),
        ];
        let blocks = [
            Block::Heading(2, "Figure".to_owned(), "fig".to_owned()),
            Block::Paragraph(vec![
                Inline::Strong("5 of 6".to_owned()),
                Inline::Page("bbn".to_owned(), "all".to_owned()),
            ]),
            Block::Folded("more".to_owned(), vec![Block::Table(String::new(), vec![head, row])]),
        ];
        assert_eq!(
            markdown(&blocks),
            "\n## Figure\n\n**5 of 6** [all](bbn.md)\n\n<details>\n<summary>more</summary>\n\n\
             | claim | found |  |\n| --- | ---: | --- |\n| `A-1` | 3 < 4 | a \\| b |\n\n</details>\n"
        );
        let html = html(&blocks);
        for said in [
            "<h2 id=\"fig\">Figure</h2>",
            "<b>5 of 6</b> <a href=\"bbn.html\">all</a>",
            "<details><summary>more</summary>",
            "<th class=\"number\">found</th>",
            "<td class=\"number\">3 &lt; 4</td><td class=\"fails\">a | b</td>",
        ] {
            assert!(html.contains(said), "{said}\n{html}");
        }
    }
}
