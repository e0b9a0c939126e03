//! Where series go while a run lasts: nothing of them stays in memory.

use bentpipe_core::time::Instant;
use bentpipe_results::{Sample, SeriesSink};
use std::cell::RefCell;
use std::rc::Rc;

/// The way to a sink, of those who sample and of those who take down what happens. What happens in
/// the moment of a sample comes behind it.
#[derive(Debug, Clone)]
pub(crate) struct Output(Rc<RefCell<Queue>>);

#[derive(Debug)]
struct Queue {
    sink: Box<dyn SeriesSink>,
    /// When the next sample is due.
    next: Instant,
    /// What has happened in that moment.
    held: Vec<Sample>,
}

impl Output {
    /// To `sink`; the first sample is due at `next`.
    pub(super) fn new(sink: Box<dyn SeriesSink>, next: Instant) -> Output {
        Output(Rc::new(RefCell::new(Queue { sink, next, held: Vec::new() })))
    }

    /// A value of the sample that is due.
    pub(super) fn sampled(&self, sample: &Sample) {
        self.0.borrow_mut().sink.sample(sample);
    }

    /// The sample is complete, and the next is due at `next`.
    pub(super) fn complete(&self, next: Instant) {
        let Queue { sink, next: due, held } = &mut *self.0.borrow_mut();
        *due = next;
        held.drain(..).for_each(|sample| sink.sample(&sample));
    }

    /// Something has happened.
    pub(super) fn happened(&self, sample: Sample) {
        let queue = &mut *self.0.borrow_mut();
        if sample.at < queue.next {
            queue.sink.sample(&sample);
        } else {
            queue.held.push(sample);
        }
    }
}
