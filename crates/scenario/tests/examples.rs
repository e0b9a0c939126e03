//! Every file in `scenarios/` is a sound experiment, and means what it says.

use bentpipe_core::link::QueueKind;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_scenario::{Experiment, NodeKind, Workload};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"))
}

fn example(name: &str) -> Experiment {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let read = |path: &str| {
        std::fs::read_to_string(folder().join(path)).map_err(|error| error.to_string())
    };
    Experiment::parse(name, &text, &read).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_examples_are_sound() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".toml") {
            continue;
        }
        let experiment = example(&name);
        for point in experiment.points() {
            assert!(!point.scenario.title.is_empty(), "{name}");
            assert!(!point.scenario.flows.is_empty(), "{name}");
            // The canonical text of a point is itself a scenario, and its own canonical text.
            let read = |path: &str| Ok(experiment.files()[path].clone());
            let again = Experiment::parse("canonical", &point.canonical, &read).unwrap();
            assert_eq!(again.point(0).canonical, point.canonical, "{name}");
            let (a, b) = (again.point(0).scenario, &point.scenario);
            assert_eq!((&a.nodes, &a.links, &a.flows), (&b.nodes, &b.links, &b.flows), "{name}");
        }
        count += 1;
    }
    assert!(count >= 8);
}

#[test]
fn the_gateways_know_their_sides() {
    let experiment = example("geo-gateways.toml");
    assert_eq!(experiment.len(), 4);
    let scenario = experiment.point(2).scenario;
    let NodeKind::Gateway(gateway) = &scenario.nodes[2].kind else { panic!("g1 is a gateway") };
    assert_eq!(scenario.link(gateway.lan[0]).name, "server-side");
    assert_eq!(gateway.config.satellite.bandwidth_delay_product(), Some(500_000));
}

#[test]
fn six_flows_have_the_papers_round_trips() {
    let scenario = example("six-round-trips.toml").point(0).scenario;
    let trips = scenario.flows.iter().filter(|flow| !flow.background).map(|flow| {
        let (nodes, links) = (&scenario.nodes, &scenario.links);
        let path = bentpipe_scenario::network::path(nodes, links, flow.from, flow.to).unwrap();
        let one_way = path
            .iter()
            .map(|(link, from)| scenario.link(*link).from(*from).unwrap().delay.at(Instant::ZERO));
        2 * one_way.sum::<Duration>().as_millis()
    });
    assert_eq!(trips.collect::<Vec<_>>(), [10, 20, 100, 200, 300, 600]);
    let noise = scenario.flows.last().unwrap();
    let Workload::Poisson { size, load } = &noise.workload else { panic!("poisson") };
    // 20 % of 1.5 Mbit/s in transfers of ten packets of 1000 bytes.
    let per_second = load.per_second(size.distribution.mean());
    assert!((per_second - 3.75).abs() < 1e-6, "{per_second}");
    assert_eq!(scenario.flows[5].tcp_from.sender.rto.tick, Duration::from_millis(10));
}

#[test]
fn a_leo_link_changes_its_delay_and_has_handovers() {
    let scenario = example("leo-handovers.toml").point(0).scenario;
    let sky = scenario.links.iter().find(|link| link.name == "sky").unwrap();
    let pass = sky.pass.as_ref().unwrap();
    assert!(pass.ways.len() > 1 && !pass.outages.is_empty());
    assert_ne!(
        sky.forward.delay.at(Instant::ZERO),
        sky.forward.delay.at(Instant::from_millis(60_000))
    );
    assert_eq!(sky.forward.delay, sky.back.delay);
    assert_ne!(sky.forward.rate, sky.back.rate);
}

#[test]
fn queues_are_swept_as_a_whole() {
    let queues: Vec<QueueKind> = example("queues.toml")
        .points()
        .map(|point| point.scenario.links[0].forward.queue)
        .collect();
    assert!(matches!(
        queues[..],
        [QueueKind::DropTail(_), QueueKind::DropTail(_), QueueKind::Red(_), QueueKind::Red(_)]
    ));
}
