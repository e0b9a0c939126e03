//! The reducers of expressions.

/// A reducer. Where nothing else is said it is of each run by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reducer {
    /// The smallest of several.
    Min,
    /// The largest of several.
    Max,
    /// The arithmetic mean of several.
    Mean,
    /// The sum of several.
    Sum,
    /// The number of them.
    Count,
    /// The first of several.
    First,
    /// The last of several.
    Last,
    /// The sample standard deviation of several.
    Deviation,
    /// Jain's index of several.
    Jain,
    /// The differences between each and the one before it.
    Steps,
    /// Each over the one before it.
    Growth,
    /// Spearman's correlation of several with their order.
    RankCorrelation,
    /// One of several by its rank, the largest first: the last argument, from 1.
    Ranked,
    /// The one of several whose mean over the runs is the smallest.
    MinByMean,
    /// The one of several whose mean over the runs is the largest.
    MaxByMean,
    /// Of the second list what stands where the first is the largest by its mean over the runs.
    AtMax,
    /// Of the second list what stands where the first is the largest in each run.
    AtMaxOfRun,
    /// Of the first list, in its order, the one from which on all of the second is so.
    FromWhere,
    /// The place where the second list first falls below the third argument, between values of the
    /// first.
    Crossing,
    /// The second half of several.
    SecondHalf,
    /// One of those behind the first, which says which one, from 1.
    Pick,
    /// A statistic of means over runs, with the jackknife's interval.
    Jackknife,
    /// Inside of a jackknife: each run by itself, whose mean then counts.
    ByRun,
    /// The mean over runs, as a number without an interval.
    OverRuns,
    /// A ratio of the means over runs, with the jackknife's interval.
    MeanRatio,
    /// Half the width of the 95 % interval.
    HalfWidth,
    /// The number of points of a scenario's sweep.
    Points,
    /// A swept field's values, in the sweep's order.
    Swept,
    /// The number of runs of the point that is read.
    Runs,
    /// The number without its sign.
    Abs,
    /// The square root.
    Sqrt,
    /// The natural logarithm.
    Ln,
    /// The power of Euler's number.
    Exp,
    /// The next whole number below.
    Floor,
    /// The next whole number above.
    Ceil,
    /// The nearest whole number.
    Round,
    /// The number that a text begins with: of `50packets` it is 50.
    Number,
}

impl Reducer {
    const ALL: [(&str, Reducer, usize, usize); 37] = {
        use Reducer::*;
        const ANY: usize = usize::MAX;
        [
            ("min", Min, 1, ANY),
            ("max", Max, 1, ANY),
            ("mean", Mean, 1, ANY),
            ("sum", Sum, 1, ANY),
            ("count", Count, 1, ANY),
            ("first", First, 1, ANY),
            ("last", Last, 1, ANY),
            ("deviation", Deviation, 1, ANY),
            ("jain", Jain, 1, ANY),
            ("steps", Steps, 1, ANY),
            ("growth", Growth, 1, ANY),
            ("rank_correlation", RankCorrelation, 1, ANY),
            ("ranked", Ranked, 2, ANY),
            ("min_by_mean", MinByMean, 1, ANY),
            ("max_by_mean", MaxByMean, 1, ANY),
            ("at_max", AtMax, 2, 2),
            ("at_max_of_run", AtMaxOfRun, 2, 2),
            ("from_where", FromWhere, 2, 2),
            ("crossing", Crossing, 3, 3),
            ("second_half", SecondHalf, 1, ANY),
            ("pick", Pick, 2, ANY),
            ("jackknife", Jackknife, 1, 1),
            ("by_run", ByRun, 1, 1),
            ("over_runs", OverRuns, 1, 1),
            ("mean_ratio", MeanRatio, 2, 2),
            ("half_width", HalfWidth, 1, 1),
            ("points", Points, 1, 1),
            ("swept", Swept, 2, 2),
            ("runs", Runs, 1, 1),
            ("abs", Abs, 1, 1),
            ("sqrt", Sqrt, 1, 1),
            ("ln", Ln, 1, 1),
            ("exp", Exp, 1, 1),
            ("floor", Floor, 1, 1),
            ("ceil", Ceil, 1, 1),
            ("round", Round, 1, 1),
            ("number", Number, 1, 1),
        ]
    };

    /// The reducer of this name, and how many it takes at fewest and at most.
    pub(super) fn named(name: &str) -> Option<(Reducer, usize, usize)> {
        let found = Reducer::ALL.iter().find(|(other, ..)| *other == name);
        found.map(|(_, reducer, min, max)| (*reducer, *min, *max))
    }
}
