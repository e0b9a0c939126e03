//! Compares the points of two folders of papers one by one, and gives kept results the keys of the new one.
//!
//! `cargo run -p bentpipe-papers --example rekey OLD NEW [OLD-SCENARIO NEW-SCENARIO]`. Two points are the same if their checked scenarios are equal,
//! titles included. A kept point whose old key is that of an old point gets the key and the swept values of the new
//! one; nothing else of it is changed, which is shown by reading it back. Nothing is written if anything differs.

use bentpipe_papers::catalogue::{Catalogue, Files};
use bentpipe_papers::live::{Kept, inputs, path};
use bentpipe_scenario::Experiment;
use std::collections::BTreeMap;
use std::path::Path;

/// Of a kept point's old key: the new key and the values there.
type Keys = BTreeMap<(String, String), (String, BTreeMap<String, String>)>;

#[derive(Default)]
struct Counts {
    experiments: usize,
    points: usize,
    texts: usize,
    kept: usize,
    rekeyed: usize,
    stale: usize,
    numbers: usize,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (old, new) = (arguments.next().expect("OLD"), arguments.next().expect("NEW"));
    let read =
        |folder: &str| Catalogue::read(Files::of_folder(Path::new(folder)).unwrap()).unwrap();
    let (before, after) = (read(&old), read(&new));
    let (mut counts, mut texts, mut apart) = (Counts::default(), Vec::new(), 0);
    for (paper, now) in before.papers.iter().zip(&after.papers) {
        for (figure, now) in paper.figures.iter().zip(&now.figures) {
            assert_eq!(figure.id, now.id);
            let mut keys = Keys::new();
            for name in figure.scenarios.keys() {
                let one = figure.experiment(before.files(), name, None).unwrap();
                let two = now.experiment(after.files(), name, None);
                let two = two.unwrap_or_else(|error| panic!("{} {name}: {error}", figure.id));
                apart += compare(&figure.id, name, &one, &two, &mut keys, &mut counts);
            }
            texts.extend(rekey(&before, &figure.id, &keys, &mut counts));
        }
    }
    if let (Some(old), Some(new)) = (arguments.next(), arguments.next()) {
        let of = |path: &str| {
            let text = std::fs::read_to_string(path).unwrap();
            Experiment::parse(path, &text, &|_: &str| Err(String::new())).unwrap()
        };
        // Its description was changed on purpose.
        apart += compare_run(&new, &of(&old), &of(&new), &mut counts);
    }
    let Counts { experiments, points, texts: equal, kept, rekeyed, stale, numbers } = counts;
    println!("{experiments} experiments, {points} points: {} equal, {apart} apart", points - apart);
    println!("{equal} of the equal ones have the same text, too");
    println!(
        "{kept} kept points ({numbers} measured numbers): {rekeyed} have new keys, {stale} belong to no point"
    );
    if apart == 0 {
        for (figure, text) in texts {
            std::fs::write(Path::new(&new).join(path(&figure)), text).unwrap();
        }
    }
}

/// As [`compare`], of scenarios whose texts for readers differ.
fn compare_run(file: &str, one: &Experiment, two: &Experiment, counts: &mut Counts) -> usize {
    assert_eq!(one.len(), two.len(), "{file}");
    counts.experiments += 1;
    let pairs = one.points().zip(two.points());
    pairs
        .filter(|(old, new)| {
            counts.points += 1;
            let mut old = old.scenario.clone();
            old.about.clone_from(&new.scenario.about);
            old != new.scenario
        })
        .count()
}

fn compare(
    figure: &str,
    name: &str,
    one: &Experiment,
    two: &Experiment,
    keys: &mut Keys,
    counts: &mut Counts,
) -> usize {
    counts.experiments += 1;
    assert_eq!(one.len(), two.len(), "{figure} {name}");
    assert_eq!(one.repeat, two.repeat, "{figure} {name}");
    let mut apart = 0;
    for (old, new) in one.points().zip(two.points()) {
        counts.points += 1;
        if old.scenario != new.scenario {
            apart += 1;
            println!("{figure} {name} {}: `{}` is not `{}`", old.index, old.label, new.label);
            let (old, new) = (format!("{:#?}", old.scenario), format!("{:#?}", new.scenario));
            let differing = old.lines().zip(new.lines()).filter(|(old, new)| old != new).take(2);
            differing.for_each(|(old, new)| println!("  {} / {}", old.trim(), new.trim()));
        }
        counts.texts += usize::from(old.canonical == new.canonical);
        // Two old points of one text are two new ones of one text.
        let found = (inputs(&new.canonical), new.values.iter().cloned().collect());
        keys.entry((name.to_owned(), inputs(&old.canonical))).or_insert(found);
    }
    apart
}

/// The text of the figure's kept results with the new keys, if there are any.
fn rekey(
    before: &Catalogue,
    figure: &str,
    keys: &Keys,
    counts: &mut Counts,
) -> Option<(String, String)> {
    if !before.files().has(&path(figure)) {
        return None;
    }
    let old = Kept::read(before.files(), figure).unwrap();
    let text = before.files().text(&path(figure)).unwrap();
    assert_eq!(text, old.text().unwrap(), "{figure} is as it is written");
    let mut new = old.clone();
    for point in &mut new.points {
        counts.kept += 1;
        match keys.get(&(point.scenario.clone(), point.inputs.clone())) {
            Some((key, at)) => {
                counts.rekeyed += usize::from(*key != point.inputs);
                (point.inputs, point.at) = (key.clone(), at.clone());
            }
            None => {
                counts.stale += 1;
                println!("{figure} {}: {:?} belongs to no point", point.scenario, point.at);
            }
        }
    }
    let text = new.text().unwrap();
    let read: Kept = toml::from_str(&text).unwrap();
    assert_eq!(read.points.len(), old.points.len());
    for (old, new) in old.points.iter().zip(&read.points) {
        assert_eq!(old.scenario, new.scenario);
        let columns = |all: &BTreeMap<String, BTreeMap<String, Vec<f64>>>| {
            let columns = all.iter().flat_map(|(a, all)| {
                all.iter().map(move |(b, n)| (a.clone(), b.clone(), n.clone()))
            });
            columns.collect::<Vec<_>>()
        };
        for (old, new) in [(&old.flow, &new.flow), (&old.gateway, &new.gateway)] {
            let (old, new) = (columns(old), columns(new));
            assert_eq!(old.len(), new.len());
            for (old, new) in old.iter().zip(&new) {
                assert_eq!((&old.0, &old.1), (&new.0, &new.1));
                counts.numbers += same_bits(&old.2, &new.2);
            }
        }
        for (old, new) in
            [(&old.late, &new.late), (&old.late_p99_ms, &new.late_p99_ms), (&old.busy, &new.busy)]
        {
            counts.numbers += same_bits(old, new);
        }
        assert!(old.packets.keys().eq(new.packets.keys()));
        for (old, new) in old.packets.values().zip(new.packets.values()) {
            counts.numbers += same_bits(old, new);
        }
    }
    Some((figure.to_owned(), text))
}

/// How many numbers there are, which are equal to the bit.
fn same_bits(old: &[f64], new: &[f64]) -> usize {
    assert!(old.iter().map(|n| n.to_bits()).eq(new.iter().map(|n| n.to_bits())));
    old.len()
}
