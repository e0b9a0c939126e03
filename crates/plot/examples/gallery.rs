//! A figure of each kind, for the eye: `cargo run -p bentpipe-plot --example gallery -- FOLDER`.

use bentpipe_plot::axes::{AxisSpec, Limits, Unit};
use bentpipe_plot::chart::{
    Curve, Data, Datum, Figure, Overlay, OverlayMark, Panel, Reference, cdf, quartiles,
};
use bentpipe_plot::scene::Shape;
use bentpipe_plot::{png, svg};
use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn axis(label: &str, unit: Unit, log: bool, zero: bool, nice: bool) -> AxisSpec {
    let limits = Limits { log, zero, nice, ..Limits::default() };
    AxisSpec { label: label.to_owned(), unit, limits, ..AxisSpec::default() }
}

fn names(names: &[&str]) -> AxisSpec {
    let categories = names.iter().map(|name| (*name).to_owned()).collect();
    AxisSpec { categories, ..axis("round-trip time of the flow", Unit::None, false, false, false) }
}

fn curves(names: &[&str], data: impl Fn(usize) -> Data) -> Vec<Curve> {
    let curve = |(style, name): (usize, &&str)| Curve {
        name: (*name).to_owned(),
        style,
        data: data(style),
    };
    names.iter().enumerate().map(curve).collect()
}

/// Numbers that look random, from 0 to 1.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    (0..count).map(|_| next()).collect()
}

fn figures() -> Vec<(&'static str, Figure)> {
    let caption = "Mean of 20 runs; bars are 95 % confidence intervals.".to_owned();
    let sizes = [1e4, 1e5, 1e6, 1e7];
    let lines = Figure {
        title: "A download over a geostationary satellite".to_owned(),
        caption: caption.clone(),
        x: axis("size of the file", Unit::Bytes, true, false, false),
        y: axis("completion time", Unit::Seconds, true, false, true),
        panels: vec![Panel {
            title: String::new(),
            curves: curves(&["no gateways", "a pair of gateways", "one gateway"], |curve| {
                let of = |size: &f64| Datum {
                    x: *size,
                    y: 1.0 + size / 1e6 * (5.0 - curve as f64 * 1.6),
                    error: Some(0.2 + size / 1e7),
                };
                Data::Lines(sizes.iter().map(of).collect())
            }),
        }],
        references: vec![Reference::Power {
            factor: 1e-6,
            exponent: 1.0,
            label: "8 Mbit/s, nothing else".to_owned(),
        }],
        overlays: vec![Overlay {
            name: "printed in the paper".to_owned(),
            shape: Shape::Lozenge,
            marks: vec![OverlayMark {
                style: Some(1),
                x: Some(1e6),
                y: 3.9,
                error: Some(0.5),
                ..OverlayMark::default()
            }],
        }],
    };
    let bars = Figure {
        title: "Six flows of different round-trip times on one bottleneck".to_owned(),
        caption,
        x: names(&["10 ms", "20 ms", "100 ms", "200 ms", "300 ms", "600 ms"]),
        y: axis("share of the link", Unit::Share, false, true, true),
        panels: vec![Panel {
            title: String::new(),
            curves: curves(
                &["standard", "increase by 2", "increase by 4", "increase by 8"],
                |curve| {
                    let of = |flow: usize| Datum {
                        x: flow as f64,
                        y: 0.4 / (flow as f64 + 1.0) + 0.02 * curve as f64,
                        error: Some(0.01 + 0.01 * curve as f64),
                    };
                    Data::Bars((0..6).map(of).collect())
                },
            ),
        }],
        references: vec![Reference::Horizontal { y: 1.0 / 6.0, label: "a sixth".to_owned() }],
        overlays: Vec::new(),
    };
    let distribution = Figure {
        title: "How long a page takes".to_owned(),
        x: axis("time until it is loaded", Unit::Seconds, false, false, false),
        y: axis("share of pages", Unit::Share, false, true, true),
        panels: vec![Panel {
            title: String::new(),
            curves: curves(&["HTTP/1.0", "HTTP/1.1", "HTTP/2"], |curve| {
                let samples = noise(300, curve as u64 + 1);
                let samples: Vec<f64> =
                    samples.iter().map(|u| 2.0 - (1.0 - u).ln() * (3.0 - curve as f64)).collect();
                Data::Steps(cdf(&samples))
            }),
        }],
        ..Figure::default()
    };
    let spread = Figure {
        title: "Queue".to_owned(),
        x: names(&["drop-tail of 60 packets", "RED", "CoDel", "FQ-CoDel"]),
        y: axis("delay", Unit::Seconds, false, true, true),
        panels: vec![Panel {
            title: String::new(),
            curves: curves(&["up", "down"], |curve| {
                let of = |at: usize| {
                    let samples: Vec<f64> = noise(80, (at * 2 + curve) as u64)
                        .iter()
                        .map(|u| 0.02 - (1.0 - u).ln() * 0.04)
                        .collect();
                    quartiles(at as f64, &samples)
                };
                Data::Boxes((0..4).filter_map(of).collect())
            }),
        }],
        ..Figure::default()
    };
    let series = Figure {
        title: "Congestion windows".to_owned(),
        caption: "Six ways to go on after a loss, one panel each, all with the same axes."
            .to_owned(),
        x: axis("time", Unit::Seconds, false, false, false),
        y: axis("congestion window", Unit::Bytes, false, true, true),
        panels: ["tahoe", "reno", "newreno", "sack", "fack", "rack"]
            .iter()
            .enumerate()
            .map(|(panel, title)| Panel {
                title: (*title).to_owned(),
                curves: curves(&["download", "other"], |curve| {
                    let of = |step: usize| {
                        let time = step as f64 / 100.0;
                        let period = 6.0 + panel as f64 + curve as f64 * 3.0;
                        Datum::new(time, 1e5 + 3e5 * (time % period) / period)
                    };
                    Data::Series((0..6000).map(of).collect())
                }),
            })
            .collect(),
        ..Figure::default()
    };
    let sequence = Figure {
        title: "Sequence numbers".to_owned(),
        x: axis("time", Unit::Seconds, false, false, false),
        y: axis("offset in the stream", Unit::Bytes, false, true, true),
        panels: vec![Panel {
            title: String::new(),
            curves: vec![
                Curve {
                    name: "segment".to_owned(),
                    style: 0,
                    data: Data::Dots(
                        (0..8000)
                            .map(|n| Datum::new(f64::from(n / 10) * 0.02, f64::from(n) * 1448.0))
                            .collect(),
                    ),
                },
                Curve {
                    name: "acknowledgment".to_owned(),
                    style: 3,
                    data: Data::Steps(
                        (0..4000)
                            .map(|n| {
                                Datum::new(0.5 + f64::from(n / 5) * 0.02, f64::from(n) * 2896.0)
                            })
                            .collect(),
                    ),
                },
            ],
        }],
        ..Figure::default()
    };
    vec![
        ("lines", lines),
        ("bars", bars),
        ("cdf", distribution),
        ("boxes", spread),
        ("series", series),
        ("sequence", sequence),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("which folder?")?);
    fs::create_dir_all(&folder)?;
    for (name, figure) in figures() {
        for (ending, width) in [("", 720.0), ("-narrow", 360.0)] {
            let scene = figure.scene(width);
            fs::write(folder.join(format!("{name}{ending}.svg")), svg::write(&scene))?;
            fs::write(folder.join(format!("{name}{ending}.png")), png::write(&scene, 2.0)?)?;
        }
    }
    Ok(())
}
