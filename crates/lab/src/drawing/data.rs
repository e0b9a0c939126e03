//! A figure's numbers.

/// What a figure shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Data {
    /// The panels' titles.
    pub(super) panels: Vec<String>,
    /// The curves' names.
    pub(super) curves: Vec<String>,
    /// What stands side by side below, if these are names.
    pub(super) categories: Vec<String>,
    pub(super) points: Vec<Point>,
    /// Means of what real hosts have given at some of those points.
    pub(super) live: Vec<Point>,
    /// The fewest and the most runs of a mean.
    pub(super) runs: Option<(usize, usize)>,
}

/// Texts in the order in which they came, each with its number.
#[derive(Debug, Default)]
pub(super) struct Known(pub(super) Vec<String>);

impl Known {
    pub(super) fn number(&mut self, text: &str) -> usize {
        self.0.iter().position(|known| known == text).unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        })
    }
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) panel: usize,
    pub(super) curve: usize,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) error: Option<f64>,
    /// How many values it is the mean of.
    pub(super) samples: usize,
}

impl Data {
    /// Takes the data of another experiment's figure, whose curves get this name.
    pub(super) fn join(&mut self, other: Data, name: &str) {
        let numbers = |mine: &mut Vec<String>, theirs: &[String]| -> Vec<usize> {
            let mut known = Known(std::mem::take(mine));
            let numbers = theirs.iter().map(|text| known.number(text)).collect();
            *mine = known.0;
            numbers
        };
        let named = |curve: &String| match curve.as_str() {
            "" => name.to_owned(),
            curve => format!("{name}, {curve}"),
        };
        let curves: Vec<String> = other.curves.iter().map(named).collect();
        let panels = numbers(&mut self.panels, &other.panels);
        let curves = numbers(&mut self.curves, &curves);
        let categories = numbers(&mut self.categories, &other.categories);
        let moved = |point: Point| Point {
            panel: panels[point.panel],
            curve: curves[point.curve],
            x: categories.get(point.x as usize).map_or(point.x, |at| *at as f64),
            ..point
        };
        self.points.extend(other.points.into_iter().map(moved));
        self.live.extend(other.live.into_iter().map(moved));
        let all = self.runs.into_iter().chain(other.runs);
        self.runs = all.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
    }

    /// As CSV: a row each point.
    pub(super) fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // A vector takes everything.
        let _ = writer.write_record(["panel", "curve", "x", "y", "error", "samples"]);
        for point in &self.points {
            let name =
                |names: &[String], index: usize| names.get(index).cloned().unwrap_or_default();
            let named =
                self.categories.get(point.x as usize).filter(|_| !self.categories.is_empty());
            let x = named.cloned().unwrap_or_else(|| point.x.to_string());
            let error = point.error.map_or_else(String::new, |error| error.to_string());
            let (panel, curve) = (name(&self.panels, point.panel), name(&self.curves, point.curve));
            let _ = writer.write_record([
                panel,
                curve,
                x,
                point.y.to_string(),
                error,
                point.samples.to_string(),
            ]);
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}
