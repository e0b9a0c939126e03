//! The bytes that all flows of a link have in flight.

/// Those to hosts that are not heard are counted apart: nobody knows whether they still are.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    all: u64,
    unheard: u64,
    flows: usize,
}

impl InFlight {
    /// A flow has so many.
    pub(super) fn add(&mut self, bytes: u32, unheard: bool) {
        self.all += u64::from(bytes);
        self.unheard += if unheard { u64::from(bytes) } else { 0 };
        self.flows += usize::from(bytes > 0);
    }

    /// It had.
    pub(super) fn remove(&mut self, bytes: u32, unheard: bool) {
        self.all -= u64::from(bytes);
        self.unheard -= if unheard { u64::from(bytes) } else { 0 };
        self.flows -= usize::from(bytes > 0);
    }

    /// All of them.
    pub(super) fn all(&self) -> u64 {
        self.all
    }

    /// The flows that have any.
    pub(super) fn flows(&self) -> usize {
        self.flows
    }

    /// Those that keep a flow waiting whose host is not heard, or is: hosts that are not heard keep
    /// nobody waiting but each other.
    pub(super) fn before(&self, unheard: bool) -> u64 {
        if unheard { self.all } else { self.all - self.unheard }
    }
}
