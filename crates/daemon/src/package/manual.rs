//! Man pages of the commands, from their help, and of the gateway's file.

use bentpipe_config::gateway::SECTIONS;
use clap::Command;
use clap_mangen::Man;
use roff::{Inline, Roff, bold, italic, roman};

/// The pages of a command and of all below it that help shows, with their names.
pub(super) fn of_commands(mut command: Command, section: &str) -> Vec<(String, Vec<u8>)> {
    command.build();
    let mut pages = Vec::new();
    add(&command, section, &mut pages);
    pages
}

fn add(command: &Command, section: &str, pages: &mut Vec<(String, Vec<u8>)>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let page = command.clone().disable_help_subcommand(true);
    let mut text = Vec::new();
    Man::new(page)
        .title(name.clone())
        .section(section)
        .manual("bentpipe")
        .render(&mut text)
        .expect("a vector takes everything");
    pages.push((name, text));
    let below = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    below.for_each(|below| add(below, section, pages));
}

/// The page of `gateway.toml`.
pub(super) fn of_the_file() -> Vec<u8> {
    let mut page = Roff::new();
    page.control("TH", ["gateway.toml", "5", "", "bentpipe"]);
    page.control("SH", ["NAME"]);
    page.text([roman("gateway.toml - configuration of a bentpipe gateway")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([
        roman("A TOML file of the tables below. The package's is "),
        italic("/etc/bentpipe/gateway.toml"),
        roman(", in which every key is commented out. "),
        bold("bentpipe-gateway check"),
        roman(" says what is wrong with a file. Upon SIGHUP ("),
        bold("systemctl reload"),
        roman(
            ") the gateway reads it again and takes what has changed in the tables satellite, lan, limits, policy \
             and log. A file that changes anything else is refused as a whole.",
        ),
    ]);
    // In a scenario these tables belong to a gateway of it.
    let tables = SECTIONS.iter().filter(|section| !section.path.starts_with("gateway.NAME, the"));
    for section in tables.filter(|section| !section.fields.is_empty()) {
        let name = section.path.replace("gateway.NAME.", "").replace("gateway.NAME, ", "");
        page.control("SH", [&*name.to_uppercase()]);
        page.text([roman(section.about.replace('`', ""))]);
        for field in section.fields {
            page.control("TP", []);
            page.text([bold(field.key)]);
            let (takes, default) = (plain(&field.takes()), plain(&field.default()));
            let mut about: Vec<Inline> =
                vec![roman(format!("{}. Takes {takes}", capitalised(&plain(field.about))))];
            if !default.is_empty() {
                about.push(roman(format!("; default {default}")));
            }
            about.push(roman("."));
            page.text(about);
        }
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([bold("bentpipe-gateway"), roman("(8), "), bold("systemd.unit"), roman("(5)")]);
    page.render().into_bytes()
}

/// Without marks of Markdown, which a page has not.
fn plain(text: &str) -> String {
    text.replace('`', "").replace("](", " (").replace('[', "")
}

fn capitalised(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}
