//! Figures by their elements and the places of these, never by pixels.

use bentpipe_plot::axes::{AxisSpec, Limits, Unit};
use bentpipe_plot::chart::{
    Curve, Data, Datum, Figure, Overlay, OverlayMark, Panel, Reference, quartiles,
};
use bentpipe_plot::scene::{Area, Element, Scene, Shape};
use bentpipe_plot::{png, svg};

const WIDTHS: [f64; 3] = [360.0, 720.0, 1000.0];

fn axis(label: &str, unit: Unit) -> AxisSpec {
    let limits = Limits { nice: true, zero: true, ..Limits::default() };
    AxisSpec { label: label.to_owned(), unit, limits, ..AxisSpec::default() }
}

fn curve(style: usize, data: Data) -> Curve {
    Curve { name: format!("curve number {style}"), style, data }
}

fn lines(style: usize) -> Curve {
    let of = |n: u32| Datum { x: f64::from(n), y: f64::from(n * 7 % 11) * 1e5, error: Some(3e4) };
    curve(style, Data::Lines((0..12).map(of).collect()))
}

fn figure(panels: usize, curves: usize, data: impl Fn(usize) -> Curve) -> Figure {
    let panel = |number: usize| Panel {
        title: if panels > 1 { format!("panel number {number}") } else { String::new() },
        curves: (0..curves).map(&data).collect(),
    };
    Figure {
        title: "A title that is so long that it does not stand on one line of a phone".to_owned(),
        caption: "What it shows, < 5 & \"more\".".to_owned(),
        x: axis("time", Unit::Seconds),
        y: axis("goodput", Unit::BitsPerSecond),
        panels: (0..panels).map(panel).collect(),
        references: vec![Reference::Horizontal { y: 5e5, label: "half of it".to_owned() }],
        overlays: Vec::new(),
    }
}

/// All elements of groups of this name, and which are in none if it is empty.
fn named<'a>(elements: &'a [Element], wanted: &str) -> Vec<&'a [Element]> {
    let mut found = Vec::new();
    for element in elements {
        if let Element::Group { name, elements, .. } = element {
            if name == wanted {
                found.push(&elements[..]);
            }
            found.extend(named(elements, wanted));
        }
    }
    found
}

/// The places of all texts, as they stand when they are turned by right angles.
fn texts(elements: &[Element]) -> Vec<(String, Area)> {
    let mut found = Vec::new();
    for element in elements {
        match element {
            Element::Text(text) if text.rotation == -90.0 => {
                let Area { width, height, .. } = text.area();
                let (x, y) = (text.at.x - height * 0.76, text.at.y - width / 2.0);
                found.push((text.text.clone(), Area { x, y, width: height, height: width }));
            }
            Element::Text(text) if text.rotation == 0.0 => {
                found.push((text.text.clone(), text.area()));
            }
            Element::Group { elements, .. } => found.extend(texts(elements)),
            _ => {}
        }
    }
    found
}

fn assert_legible(scene: &Scene, what: &str) {
    let page = Area { x: 0.0, y: 0.0, width: scene.width, height: scene.height };
    let texts = texts(&scene.elements);
    for (index, (text, area)) in texts.iter().enumerate() {
        let inside = area.x >= 0.0 && area.right() <= page.right() && area.y >= 0.0;
        assert!(inside && area.bottom() <= page.bottom(), "{what}: `{text}` at {area:?}");
        for (other, place) in &texts[..index] {
            assert!(!area.grown(-0.5).meets(place.grown(-0.5)), "{what}: `{text}` over `{other}`");
        }
    }
}

#[test]
fn no_text_touches_another_or_leaves_the_figure() {
    for width in WIDTHS {
        for panels in 1..=7 {
            for curves in [1, 2, 9] {
                let what = format!("{panels} panels of {curves} curves on {width}");
                assert_legible(&figure(panels, curves, lines).scene(width), &what);
            }
        }
        let bars = |style| {
            curve(style, Data::Bars((0..7).map(|n| Datum::new(f64::from(n), 1e6)).collect()))
        };
        let mut wide = figure(1, 3, bars);
        wide.x.categories =
            ["a", "drop-tail of 60 packets", "c", "red:limit=200packets,min=3", "e", "f", "g"]
                .map(str::to_owned)
                .to_vec();
        assert_legible(&wide.scene(width), "names");
    }
}

#[test]
fn a_legend_covers_no_data() {
    for width in WIDTHS {
        for curves in 2..12 {
            let scene = figure(1, curves, lines).scene(width);
            let legend = named(&scene.elements, "legend");
            let places = texts(legend[0]);
            assert_eq!(places.len(), curves + 1, "every curve and the line of reference");
            for curve in named(&scene.elements, "curve") {
                for element in curve {
                    let points = match element {
                        Element::Polyline { points, .. } => points,
                        Element::Markers { at, .. } => at,
                        _ => continue,
                    };
                    for (text, area) in &places {
                        assert!(!points.iter().any(|point| area.has(*point)), "{text} on {width}");
                    }
                }
            }
        }
    }
}

#[test]
fn panels_share_their_axes() {
    let scene = figure(6, 2, lines).scene(720.0);
    assert_eq!(named(&scene.elements, "axes").len(), 6);
    assert_eq!(named(&scene.elements, "y-labels").len(), 2, "on the left of each row");
    assert_eq!(named(&scene.elements, "x-labels").len(), 3, "below each column");
    assert_eq!(named(&scene.elements, "legend").len(), 1);
    // Of five, the fifth and what has none below it.
    let scene = figure(5, 1, lines).scene(720.0);
    assert_eq!(named(&scene.elements, "x-labels").len(), 3);
}

#[test]
fn points_are_where_their_values_are() {
    let mut figure = figure(1, 1, lines);
    figure.references.clear();
    let scene = figure.scene(720.0);
    let curves = named(&scene.elements, "curve");
    let marks = curves[0].iter().find_map(|element| match element {
        Element::Markers { at, .. } => Some(at),
        _ => None,
    });
    let marks = marks.expect("lines have marks");
    assert_eq!(marks.len(), 12);
    let step = marks[1].x - marks[0].x;
    for (n, mark) in marks.iter().enumerate() {
        assert!((mark.x - marks[0].x - step * n as f64).abs() < 1e-6);
        let high = (n * 7 % 11) as f64 / 10.0;
        let of_ten = marks[0].y + (marks[3].y - marks[0].y) * high;
        // The fourth point is 21 mod 11 = 10 high.
        assert!((mark.y - of_ten).abs() < 1e-6, "{n}");
    }
}

#[test]
fn whatever_is_drawn_is_sound_svg_and_a_png() {
    let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 1e-300];
    let points =
        || odd.iter().flat_map(|x| odd.iter().map(|y| Datum { x: *x, y: *y, error: Some(*x) }));
    let all: [fn(Vec<Datum>) -> Data; 6] =
        [Data::Lines, Data::Points, Data::Bars, Data::Series, Data::Steps, Data::Dots];
    for log in [false, true] {
        let mut curves: Vec<Curve> =
            all.iter().map(|of| curve(3, of(points().collect()))).collect();
        curves
            .push(curve(4, Data::Boxes(odd.iter().filter_map(|x| quartiles(*x, &odd)).collect())));
        for one in curves {
            let mut figure = figure(1, 1, |_| one.clone());
            (figure.x.limits.log, figure.y.limits.log) = (log, log);
            figure.references.push(Reference::Power {
                factor: 2.0,
                exponent: -0.5,
                label: String::new(),
            });
            let text = svg::write(&figure.scene(360.0));
            let document =
                roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            let found = document.descendants().find(|node| node.has_tag_name("desc"));
            assert_eq!(found.and_then(|node| node.text()), Some("What it shows, < 5 & \"more\"."));
        }
    }
    assert!(roxmltree::Document::parse(&svg::write(&Figure::default().scene(0.0))).is_ok());
    let picture = png::write(&figure(2, 2, lines).scene(360.0), 1.0).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(picture[16..20], 360_u32.to_be_bytes(), "its width");
    assert!(png::write(&figure(1, 1, lines).scene(1e6), 2.0).is_err());
}

#[test]
fn an_error_bar_that_goes_on_below_the_axis_is_cut_off_there() {
    let datum = |x: f64, error: f64| Datum { x, y: 1e5, error: Some(error) };
    let data = Data::Lines(vec![datum(0.0, 5e4), datum(1.0, 3e5)]);
    let mut figure = figure(1, 1, |style| curve(style, data.clone()));
    figure.y.limits.from = Some(0.0);
    let scene = figure.scene(720.0);
    let errors = named(&scene.elements, "errors");
    let [Element::Segments { lines, .. }] = errors[0] else { panic!("{errors:?}") };
    let (bars, caps): (Vec<_>, Vec<_>) = lines.iter().partition(|(from, to)| from.x == to.x);
    assert_eq!((bars.len(), caps.len()), (2, 3), "{lines:?}");
    let ends = |(from, to): &(bentpipe_plot::scene::Point, _)| {
        let to: &bentpipe_plot::scene::Point = to;
        (from.y.min(to.y), from.y.max(to.y))
    };
    // Zero is twice as far below the middle as the first bar's end.
    let (whole, cut) = (ends(bars[0]), ends(bars[1]));
    let middle = (whole.0 + whole.1) / 2.0;
    let zero = middle + 2.0 * (whole.1 - middle);
    assert!((cut.1 - zero).abs() < 0.01, "{cut:?} {zero}");
    assert!(caps.iter().all(|(from, _)| from.y < cut.1 - 1.0), "{caps:?}");
}

/// The marks that lie over the data of each panel.
fn marks(scene: &Scene) -> Vec<Vec<bentpipe_plot::scene::Point>> {
    let of = |elements: &&[Element]| {
        let marks = elements.iter().filter_map(|element| match element {
            Element::Markers { shape: Shape::Lozenge, at, .. } => Some(at.clone()),
            _ => None,
        });
        marks.flatten().collect()
    };
    named(&scene.elements, "overlay").iter().map(of).collect()
}

#[test]
fn printed_numbers_lie_over_their_curve_and_on_the_axes() {
    let overlay = |marks: Vec<OverlayMark>| Overlay {
        name: "printed".to_owned(),
        shape: Shape::Lozenge,
        marks,
    };
    let number = OverlayMark { x: Some(5.0), y: 4e6, error: Some(1e6), ..OverlayMark::default() };
    let mut lines_figure = figure(2, 2, lines);
    lines_figure.overlays = vec![overlay(vec![
        OverlayMark { panel: Some(1), ..number },
        OverlayMark { x: None, y: 2e6, ..number },
    ])];
    for width in WIDTHS {
        let scene = lines_figure.scene(width);
        let found = marks(&scene);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1], "panel 1 alone");
        // The axis reaches up to 5e6, the end of the interval, and the curves only to 1e6.
        let numbers = texts(named(&scene.elements, "y-labels")[0]);
        assert!(numbers.iter().any(|(text, _)| text == "4"), "{numbers:?}");
        let legend = texts(named(&scene.elements, "legend")[0]);
        assert!(legend.iter().any(|(text, _)| text == "printed"), "{legend:?}");
    }
    // Over bars each number stands on its own curve's bar, from left to right.
    let bars = |style: usize| {
        curve(style, Data::Bars((0..3).map(|n| Datum::new(f64::from(n), 1e5)).collect()))
    };
    let mut bars_figure = figure(1, 3, bars);
    bars_figure.x.categories = ["a", "b", "c"].map(str::to_owned).to_vec();
    let of =
        |style| OverlayMark { style: Some(style), x: Some(1.0), y: 1e5, ..OverlayMark::default() };
    bars_figure.overlays = vec![overlay((0..3).map(of).collect())];
    let found = marks(&bars_figure.scene(720.0)).concat();
    assert!(found[0].x + 5.0 < found[1].x && found[1].x + 5.0 < found[2].x, "{found:?}");
    assert_eq!(found[0].y, found[2].y);
}

#[test]
fn texts_below_neighbouring_panels_do_not_touch() {
    let mut wide = figure(3, 1, lines);
    wide.x.unit = Unit::Bytes;
    wide.x.limits = Limits { log: true, ..Limits::default() };
    for panel in &mut wide.panels {
        let sizes = [1e4, 1e5, 1e6, 1e7, 1e8];
        let points = sizes.map(|size| Datum::new(size, 1e5)).to_vec();
        panel.curves = vec![curve(0, Data::Lines(points))];
    }
    for width in WIDTHS {
        let scene = wide.scene(width);
        let mut found: Vec<(String, Area)> = Vec::new();
        for texts in named(&scene.elements, "x-labels").into_iter().map(texts) {
            for (text, area) in texts {
                let near = found.iter().find(|(_, other)| area.grown(2.0).meets(*other));
                assert!(near.is_none(), "{width}: {text} and {near:?}");
                found.push((text, area));
            }
        }
        assert!(found.len() > 4);
    }
}

#[test]
fn what_is_beyond_an_axis_end_takes_no_room_in_the_file() {
    let many = |data: fn(Vec<Datum>) -> Data| {
        let of = |n: u32| Datum::new(f64::from(n), f64::from(n % 97));
        let mut whole = figure(1, 1, |style| curve(style, data((0..20_000).map(of).collect())));
        whole.references.clear();
        let all = svg::write(&whole.scene(720.0)).len();
        whole.x.limits = Limits { from: Some(100.0), to: Some(120.0), ..Limits::default() };
        (all, whole)
    };
    for data in [Data::Dots, Data::Crosses, Data::Series, Data::Steps] {
        let (all, part) = many(data);
        let text = svg::write(&part.scene(720.0));
        assert!(text.len() < all && text.len() < 10_000, "{} of {all}", text.len());
        // The line goes on to both ends.
        if matches!(part.panels[0].curves[0].data, Data::Series(_)) {
            let scene = part.scene(720.0);
            let Element::Polyline { points, .. } = &named(&scene.elements, "curve")[0][0] else {
                panic!("a line")
            };
            let across = points[points.len() - 1].x - points[0].x;
            assert!(across > 400.0, "{across}");
        }
    }
}
