//! Comparison with ns-2: whole runs of the same scenarios, whose table is docs/concordance.md.
//!
//! Each study is a TOML file next to this one: a scenario, what each row changes in it, and what
//! ns-2.35 gave with which settings. Differences above 10 % have their reason in the study's file,
//! in `why`; none may be without.
//! `BENTPIPE_BLESS=1 cargo test -p bentpipe-sim --test runs concordance` writes the page.

mod page;
mod study;

use std::thread::ScopedJoinHandle;
use study::Study;

/// Every study that is run here.
const STUDIES: [&str; 3] =
    [include_str!("sfu.toml"), include_str!("round-trips.toml"), include_str!("topology-2.toml")];

#[test]
fn the_page_is_as_it_was() {
    let studies: Vec<Study> = STUDIES.iter().map(|text| Study::parse(text)).collect();
    let results = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for study in &studies {
            let start = |group| scope.spawn(move || study.run(group));
            threads.push(study.group.iter().map(start).collect::<Vec<_>>());
        }
        let join = |threads: Vec<ScopedJoinHandle<'_, Vec<f64>>>| -> Vec<_> {
            threads.into_iter().map(|thread| thread.join().expect("it runs")).collect()
        };
        threads.into_iter().map(join).collect::<Vec<_>>()
    });
    let now = page::write(&studies, &results);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concordance.md");
    if std::env::var_os("BENTPIPE_BLESS").is_some() {
        std::fs::write(path, &now).expect("the page can be written");
    }
    for (study, results) in studies.iter().zip(&results) {
        for (group, results) in study.group.iter().zip(results) {
            let apart = group.rows.iter().zip(results).any(|(row, ours)| row.is_apart(*ours));
            assert_eq!(apart, group.why.is_some(), "{}: a reason where one is due", group.name);
        }
    }
    let kept = std::fs::read_to_string(path).expect("the page is kept in docs");
    assert!(kept == now, "docs/concordance.md has changed; with BENTPIPE_BLESS=1 it is kept");
}
