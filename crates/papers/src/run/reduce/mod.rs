//! Expressions of claims, reduced to a number for each run.

mod readings;
mod value;

use super::Ran;
use crate::catalogue::{Definitions, Expression, Node, Operator, Reducer};
use crate::samples::{Samples, jackknife_of, mean, ranked};
use bentpipe_scenario::repeat::SampleSummary;
use std::cell::RefCell;
use value::{Value, broadcast, per_run};

/// What `expression` comes to in each run.
///
/// # Errors
/// What is missing, in a sentence.
pub(super) fn reduce(ran: &Ran, expression: &Expression) -> Result<Samples, String> {
    let run = Reduction {
        ran,
        definitions: &expression.definitions,
        mode: Mode::Runs,
        columns: RefCell::default(),
    };
    run.value(&expression.root, &[])?.number()
}

/// The way in which a column of several runs counts.
#[derive(Debug, Clone, Copy)]
enum Mode {
    /// Each run by itself.
    Runs,
    /// The mean of the first `runs`, without one of them.
    Means { runs: usize, without: Option<usize> },
}

/// Names and what they have; the last of a name counts.
type Scope = [(String, Value)];

struct Reduction<'a> {
    ran: &'a Ran,
    definitions: &'a Definitions,
    mode: Mode,
    /// How many runs the columns have that were read.
    columns: RefCell<Vec<usize>>,
}

impl<'a> Reduction<'a> {
    fn in_mode(&self, mode: Mode) -> Reduction<'a> {
        let Reduction { ran, definitions, .. } = *self;
        Reduction { ran, definitions, mode, columns: RefCell::default() }
    }

    fn value(&self, node: &Node, scope: &Scope) -> Result<Value, String> {
        match node {
            Node::Number(number) => Ok(Value::Number(vec![*number])),
            Node::Text(text) => Ok(Value::Text(filled(text, scope))),
            Node::Name(name) => {
                let found = scope.iter().rev().find(|(other, _)| other == name);
                let found = found.ok_or_else(|| format!("nothing is called {name}"))?;
                Ok(found.1.clone())
            }
            Node::List(nodes) => Ok(Value::List(self.list(nodes, scope)?)),
            Node::Negative(node) => {
                let number = self.number(node, scope)?;
                Ok(Value::Number(number.iter().map(|it| -it).collect()))
            }
            Node::Pair(operator, left, right) => {
                let (left, right) = (self.value(left, scope)?, self.value(right, scope)?);
                self.pair(*operator, left, right)
            }
            Node::Defined(name, nodes) => {
                let definition = self.definitions.get(name);
                let definition = definition.ok_or_else(|| format!("{name} is not defined"))?;
                let given = nodes.iter().map(|node| self.value(node, scope));
                let given = given.collect::<Result<Vec<_>, _>>()?;
                let inner: Vec<_> = definition.parameters.iter().cloned().zip(given).collect();
                self.value(&definition.body, &inner).map_err(|why| format!("{name}: {why}"))
            }
            Node::Reading(column, conditions) => self.reading(column, conditions, scope),
            Node::Each(of, lists, only) => {
                let mut found = Vec::new();
                self.each(of, lists, only.as_deref(), &mut scope.to_vec(), &mut found)?;
                Ok(Value::List(found))
            }
            Node::Reduced(reducer, nodes) => self.reduced(*reducer, nodes, scope),
        }
    }

    fn number(&self, node: &Node, scope: &Scope) -> Result<Samples, String> {
        self.value(node, scope)?.number()
    }

    fn text(&self, node: &Node, scope: &Scope) -> Result<String, String> {
        self.value(node, scope)?.text()
    }

    /// The values of all nodes; lists among them are taken apart.
    fn list(&self, nodes: &[Node], scope: &Scope) -> Result<Vec<Value>, String> {
        let mut found = Vec::new();
        for node in nodes {
            match self.value(node, scope)? {
                Value::List(several) => found.extend(several),
                one => found.push(one),
            }
        }
        Ok(found)
    }

    fn numbers(&self, nodes: &[Node], scope: &Scope) -> Result<Vec<Samples>, String> {
        self.list(nodes, scope)?.into_iter().map(Value::number).collect()
    }

    fn each(
        &self,
        of: &Node,
        lists: &[(String, Node)],
        only: Option<&Node>,
        scope: &mut Vec<(String, Value)>,
        found: &mut Vec<Value>,
    ) -> Result<(), String> {
        let Some(((name, list), rest)) = lists.split_first() else {
            let is_so = match only {
                Some(only) => self.number(only, scope)?.iter().all(|it| *it != 0.0),
                None => true,
            };
            if is_so {
                match self.value(of, scope)? {
                    Value::List(several) => found.extend(several),
                    one => found.push(one),
                }
            }
            return Ok(());
        };
        for value in self.list(std::slice::from_ref(list), scope)? {
            scope.push((name.clone(), value));
            self.each(of, rest, only, scope, found)?;
            scope.pop();
        }
        Ok(())
    }

    fn pair(&self, operator: Operator, left: Value, right: Value) -> Result<Value, String> {
        if let (Value::Text(left), Value::Text(right), Operator::Is) = (&left, &right, operator) {
            return Ok(Value::Number(vec![truth(left == right)]));
        }
        let of = |a: f64, b: f64| match operator {
            Operator::Plus => a + b,
            Operator::Minus => a - b,
            Operator::Times => a * b,
            Operator::Over => a / b,
            Operator::Power => a.powf(b),
            Operator::Less => truth(a < b),
            Operator::UpTo => truth(a <= b),
            Operator::Greater => truth(a > b),
            Operator::From => truth(a >= b),
            Operator::Is => truth(a == b),
            Operator::And => truth(a != 0.0 && b != 0.0),
        };
        Ok(Value::Number(broadcast(&left.number()?, &right.number()?, of)))
    }

    fn reduced(&self, reducer: Reducer, nodes: &[Node], scope: &Scope) -> Result<Value, String> {
        let number = |samples| Ok(Value::Number(samples));
        let each = |of: fn(f64) -> f64| {
            let samples = self.number(&nodes[0], scope)?;
            Ok(Value::Number(samples.into_iter().map(of).collect()))
        };
        let of_run =
            |of: fn(&[f64]) -> f64| Ok(Value::Number(per_run(&self.numbers(nodes, scope)?, of)));
        let neighbours = |of: fn(f64, f64) -> f64| {
            let numbers = self.numbers(nodes, scope)?;
            let pairs = numbers.windows(2).map(|pair| broadcast(&pair[1], &pair[0], of));
            Ok(Value::List(pairs.map(Value::Number).collect()))
        };
        match reducer {
            Reducer::Min => of_run(|row| row.iter().copied().fold(f64::INFINITY, f64::min)),
            Reducer::Max => of_run(|row| row.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            Reducer::Mean => of_run(mean),
            Reducer::Sum => of_run(|row| row.iter().sum()),
            Reducer::Count => number(vec![self.list(nodes, scope)?.len() as f64]),
            Reducer::First => of_run(|row| row.first().copied().unwrap_or(f64::NAN)),
            Reducer::Last => of_run(|row| row.last().copied().unwrap_or(f64::NAN)),
            Reducer::Deviation => of_run(value::deviation),
            Reducer::Jain => of_run(value::jain),
            Reducer::Steps => neighbours(|after, before| after - before),
            Reducer::Growth => neighbours(|after, before| after / before),
            Reducer::RankCorrelation => of_run(value::rank_correlation),
            Reducer::Ranked => {
                let mut numbers = self.numbers(nodes, scope)?;
                let rank = numbers.pop().and_then(|rank| rank.first().copied()).unwrap_or(f64::NAN);
                number(per_run(&numbers, |row| ranked(row.iter().copied(), rank as usize - 1)))
            }
            Reducer::MinByMean => {
                let means = self.means(nodes, scope)?;
                let place = (0..means.len()).min_by(|a, b| means[*a].total_cmp(&means[*b]));
                self.chosen(place, nodes, scope)
            }
            Reducer::MaxByMean => {
                let means = self.means(nodes, scope)?;
                let place = (0..means.len()).max_by(|a, b| means[*a].total_cmp(&means[*b]));
                self.chosen(place, nodes, scope)
            }
            Reducer::AtMax => {
                let means = self.means(&nodes[..1], scope)?;
                let place = (0..means.len()).max_by(|a, b| means[*a].total_cmp(&means[*b]));
                self.chosen(place, &nodes[1..], scope)
            }
            Reducer::AtMaxOfRun => {
                let keys = self.numbers(&nodes[..1], scope)?;
                let values = self.numbers(&nodes[1..], scope)?;
                if keys.len() != values.len() {
                    return Err(format!("{} keys for {} values", keys.len(), values.len()));
                }
                number(value::at_max_of_run(&keys, &values))
            }
            Reducer::FromWhere => {
                let values = self.numbers(&nodes[..1], scope)?;
                let is_so = self.numbers(&nodes[1..], scope)?;
                let last = is_so.iter().rposition(|samples| samples.contains(&0.0));
                let place = last.map_or(0, |last| last + 1);
                let value = values.into_iter().nth(place);
                number(value.ok_or("it is not so at the last of them")?)
            }
            Reducer::Crossing => {
                let of = |node| self.numbers(std::slice::from_ref(node), scope);
                let (values, heights) = (of(&nodes[0])?, of(&nodes[1])?);
                let level = self.number(&nodes[2], scope)?;
                let places: Vec<f64> = values.iter().map(|value| mean(value)).collect();
                let level = mean(&level);
                number(per_run(&heights, |row| value::crossing(&places, row, level)))
            }
            Reducer::SecondHalf => {
                let mut values = self.list(nodes, scope)?;
                Ok(Value::List(values.split_off(values.len() / 2)))
            }
            Reducer::Pick => {
                let which = self.number(&nodes[0], scope)?;
                let place = which.first().copied().unwrap_or(0.0) as usize;
                let node = nodes.get(place).filter(|_| place > 0);
                self.value(node.ok_or_else(|| format!("there is no {place} to pick"))?, scope)
            }
            Reducer::Jackknife => {
                let whole = Mode::Means { runs: usize::MAX, without: None };
                let all = self.in_mode(whole);
                all.number(&nodes[0], scope)?;
                let columns = all.columns.borrow();
                let runs = columns.iter().copied().filter(|&runs| runs > 1).min().unwrap_or(1);
                let of = |without| {
                    let run = self.in_mode(Mode::Means { runs, without });
                    let number = run.number(&nodes[0], scope)?;
                    number.first().copied().ok_or_else(|| "there is no run".to_owned())
                };
                Ok(self.column(jackknife_of(runs, of)?))
            }
            Reducer::ByRun => {
                let samples = self.in_mode(Mode::Runs).number(&nodes[0], scope)?;
                Ok(self.column(samples))
            }
            Reducer::OverRuns => number(vec![mean(&self.number(&nodes[0], scope)?)]),
            Reducer::MeanRatio => {
                let runs = self.in_mode(Mode::Runs);
                let (over, under) =
                    (runs.number(&nodes[0], scope)?, runs.number(&nodes[1], scope)?);
                Ok(self.column(value::mean_ratio(&over, &under)))
            }
            Reducer::HalfWidth => {
                let samples = self.in_mode(Mode::Runs).number(&nodes[0], scope)?;
                let half = SampleSummary::of(&samples).and_then(|summary| summary.half_width_95);
                number(vec![half.ok_or("there is one run")?])
            }
            Reducer::Points => {
                let name = self.text(&nodes[0], scope)?;
                number(vec![self.ran.part(&name)?.points.len() as f64])
            }
            Reducer::Swept => {
                let (name, path) = (self.text(&nodes[0], scope)?, self.text(&nodes[1], scope)?);
                let mut values: Vec<Value> = Vec::new();
                for point in &self.ran.part(&name)?.points {
                    let value = point.value(&path).ok_or_else(|| format!("{path} is not swept"))?;
                    let value = Value::Text(value.to_owned());
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                Ok(Value::List(values))
            }
            Reducer::Runs => {
                let samples = self.in_mode(Mode::Runs).number(&nodes[0], scope)?;
                number(vec![samples.len() as f64])
            }
            Reducer::Abs => each(f64::abs),
            Reducer::Sqrt => each(f64::sqrt),
            Reducer::Ln => each(f64::ln),
            Reducer::Exp => each(f64::exp),
            Reducer::Floor => each(f64::floor),
            Reducer::Ceil => each(f64::ceil),
            Reducer::Round => each(f64::round),
            Reducer::Number => match self.value(&nodes[0], scope)? {
                Value::Text(text) => number(vec![value::leading(&text)?]),
                other => Ok(other),
            },
        }
    }

    /// The means over the runs: what is chosen goes by all runs, in a jackknife as elsewhere.
    fn means(&self, nodes: &[Node], scope: &Scope) -> Result<Vec<f64>, String> {
        let columns = self.in_mode(Mode::Runs).numbers(nodes, scope)?;
        Ok(columns.iter().map(|column| mean(column)).collect())
    }

    fn chosen(&self, place: Option<usize>, nodes: &[Node], scope: &Scope) -> Result<Value, String> {
        let place = place.ok_or("there is nothing to choose from")?;
        let mut values = self.list(nodes, scope)?;
        if place >= values.len() {
            return Err(format!("there are {} values, and no {}", values.len(), place + 1));
        }
        Ok(values.swap_remove(place))
    }

    /// What a column counts as.
    fn column(&self, samples: Samples) -> Value {
        let Mode::Means { runs, without } = self.mode else { return Value::Number(samples) };
        self.columns.borrow_mut().push(samples.len());
        if samples.len() == 1 {
            return Value::Number(samples);
        }
        let kept = samples.iter().take(runs).enumerate();
        let kept = kept.filter(|(run, _)| Some(*run) != without).map(|(_, value)| *value);
        Value::Number(vec![mean(&kept.collect::<Vec<_>>())])
    }
}

fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

/// A text in which `{name}` stands for a number or a text of that name.
fn filled(text: &str, scope: &Scope) -> String {
    let mut text = text.to_owned();
    for (name, value) in scope.iter().rev() {
        if let Some(said) = value.said() {
            text = text.replace(&format!("{{{name}}}"), &said);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::definitions;
    use crate::run::LiveResults;

    fn found(text: &str) -> Result<Samples, String> {
        let ran = Ran { parts: Default::default(), live: LiveResults::default() };
        let texts = [("twice(x)", "2 * x"), ("windows", "[1, 2, 4]"), ("of(w)", "\"iw={w}\"")];
        let texts = texts.map(|(head, text)| (head.to_owned(), text.to_owned())).into();
        let definitions = definitions(&texts).unwrap();
        reduce(&ran, &Expression::read(text, &definitions).unwrap())
    }

    fn one(text: &str) -> f64 {
        found(text).unwrap_or_else(|why| panic!("{text}: {why}"))[0]
    }

    #[test]
    fn arithmetic_binds_as_usual() {
        assert_eq!(one("1 + 2 * 3 ^ 2 - 4 / 2"), 17.0);
        assert_eq!(one("-2 ^ 2"), -4.0);
        assert_eq!(one("(1 + 2) * -3"), -9.0);
        assert_eq!(one("10 - 2 - 3"), 5.0);
        assert_eq!(one("1 < 2 and 2 >= 3"), 0.0);
        assert_eq!(one("floor(2.7) + ceil(2.2) + round(2.5) + abs(-1) + sqrt(4) + ln(1)"), 11.0);
    }

    #[test]
    fn lists_are_gone_through_and_reduced() {
        assert_eq!(one("sum(w for w in windows)"), 7.0);
        assert_eq!(one("max(w * v for w in windows for v in [1, 3] if v < w)"), 12.0);
        assert_eq!(one("min(steps(w ^ 2 for w in windows), 100)"), 3.0);
        assert_eq!(one("max(growth(w ^ 2 for w in windows))"), 4.0);
        assert_eq!(one("ranked(windows, 2)"), 2.0);
        assert_eq!(one("count(windows, 5) + mean(1, 3) + first(windows) + last(windows)"), 11.0);
        assert_eq!(one("at_max((w - 2) ^ 2 for w in windows, w * 10 for w in windows)"), 40.0);
        assert_eq!(one("pick(2, 5, 6)"), 6.0);
        assert_eq!(one("from_where([1, 2, 3, 4], [1, 0, 1, 1])"), 3.0);
        assert_eq!(one("crossing([10, 20, 30], [4, 3, 1], 2)"), 25.0);
        assert_eq!(one("first(second_half([1, 2, 3, 4]))"), 3.0);
        assert_eq!(one("twice(twice(3))"), 12.0);
        assert_eq!(one("number(\"20packets\")"), 20.0);
    }

    #[test]
    fn texts_have_what_names_stand_for() {
        assert_eq!(one("sum((\"iw=4\" = of(w)) * w for w in windows)"), 4.0);
        assert_eq!(one("sum(\"{w}{v}\" = \"12\" for w in windows for v in windows)"), 1.0);
    }

    #[test]
    fn what_is_missing_is_said() {
        let why = |text| found(text).unwrap_err();
        assert_eq!(why("cwnd{iw=1}"), "cwnd does not say of which scenario");
        assert_eq!(why("cwnd{scenario=\"a\"}"), "there is no scenario a");
        assert_eq!(why("1 + windows"), "a list stands where a number is needed");
        assert_eq!(why("twice(\"a\")"), "twice: \"a\" is a text, and no number");
        assert_eq!(why("pick(3, 1, 2)"), "there is no 3 to pick");
        assert_eq!(why("from_where([1, 2], [1, 0])"), "it is not so at the last of them");
    }
}
