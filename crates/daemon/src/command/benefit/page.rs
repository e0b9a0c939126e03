//! The report as one self-contained page, with its histograms as figures.

use super::super::flows::span;
use super::text::text;
use super::{Benefit, Histogram, REMARKS};
use std::fmt::Write;

/// Colours for light and for dark, by which the figures go, too.
const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #8b949e; --split: #0a7d4f; --model: #c2410c; --sample: #5b4bc4 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --paper: #14171a; --faint: #7d8590; --split: #4cc38a; --model: #f59e5b; --sample: #a49bf0 }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
pre { overflow-x: auto; font: 13px/1.5 ui-monospace, monospace }
figure { display: inline-block; margin: 0 1rem 1.5rem 0; vertical-align: top }
figcaption { font-weight: 600 }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif }
svg line { stroke: var(--faint) }
svg polyline { fill: none; stroke-width: 2 }
.split { stroke: var(--split); color: var(--split) } .model { stroke: var(--model); color: var(--model); stroke-dasharray: 5 3 }
.sample { stroke: var(--sample); color: var(--sample) }
";

const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 170.0;
const MARGIN: f64 = 24.0;

/// The page.
pub(in super::super) fn page(benefit: &Benefit<'_>) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>What the gateway gains</title>\n<style>{STYLE}</style></head>\n<body>\n\
         <h1>What the gateway gains</h1>\n<p>Transfers that have ended in {}. Durations by size: \
         <b class=\"split\">split</b>, <b class=\"model\">the same unsplit, by the model</b>, \
         <b class=\"sample\">the sample, unsplit</b>.</p>\n",
        span(benefit.uptime)
    );
    for (class, times) in benefit.transfers.times() {
        let curves = [("split", &times.split), ("model", &times.model), ("sample", &times.sample)];
        if curves.iter().all(|(_, histogram)| histogram.count() == 0) {
            continue;
        }
        _ = writeln!(
            page,
            "<figure><figcaption>{}</figcaption>{}</figure>",
            class.name(),
            figure(&curves)
        );
    }
    let tables = text(benefit);
    let tables = REMARKS.iter().fold(tables, |tables, remark| tables.replace(remark, ""));
    _ = writeln!(page, "<pre>{}</pre>", escaped(tables.trim_end()));
    for remark in REMARKS {
        _ = writeln!(page, "<p>{}</p>", escaped(remark));
    }
    page + "</body></html>\n"
}

/// The shares of transfers that have ended by each time, as curves over the time's logarithm.
fn figure(curves: &[(&str, &Histogram)]) -> String {
    let ends: Vec<f64> = curves[0].1.buckets().map(|(end, _)| end).collect();
    let used = |at: &usize| {
        curves.iter().any(|(_, curve)| curve.buckets().nth(*at).is_some_and(|(_, n)| n > 0))
    };
    let first = (0..ends.len()).find(used).unwrap_or(0).saturating_sub(1);
    let last = (0..ends.len()).rev().find(used).unwrap_or(first + 1).max(first + 1);
    let (from, to) = (ends[first].ln(), ends[last].ln());
    let x = |millis: f64| {
        MARGIN + (WIDTH - 2.0 * MARGIN) * ((millis.ln() - from) / (to - from)).clamp(0.0, 1.0)
    };
    let y = |share: f64| HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * share;
    let mut svg = format!(
        "<svg role=\"img\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">"
    );
    for share in [0.0, 0.5, 1.0] {
        let (at, right) = (y(share), WIDTH - MARGIN);
        _ = write!(
            svg,
            "<line x1=\"{MARGIN}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>\
             <text x=\"{MARGIN}\" y=\"{:.1}\">{:.0} %</text>",
            at - 3.0,
            100.0 * share
        );
    }
    let ticks = [10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5];
    for tick in ticks.into_iter().filter(|tick| (ends[first]..=ends[last]).contains(tick)) {
        let label = if tick < 1e3 { format!("{tick} ms") } else { format!("{} s", tick / 1e3) };
        _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            x(tick),
            HEIGHT - 8.0
        );
    }
    for (class, curve) in curves.iter().filter(|(_, curve)| curve.count() > 0) {
        let (all, mut below) = (curve.count() as f64, 0.0);
        let mut points = format!("{:.1},{:.1}", x(ends[first]), y(0.0));
        for (end, count) in curve.buckets().take(last + 1) {
            below += f64::from(count);
            if end >= ends[first] {
                _ = write!(points, " {:.1},{:.1}", x(end), y(below / all));
            }
        }
        _ = write!(svg, "<polyline class=\"{class}\" points=\"{points}\"/>");
    }
    svg + "</svg>"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
