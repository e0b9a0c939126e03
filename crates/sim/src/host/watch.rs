//! What a host's connections do, for those who write it down.

use super::{Application, Host, SessionKey};
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::Observation;
use bentpipe_results::Observed;

impl<A: Application> Host<A> {
    /// Takes down from now on what connections do; see [`Host::observed`].
    pub(crate) fn watch(&mut self) {
        self.observed.get_or_insert_default();
    }

    /// What connections have done since this was last asked.
    pub(crate) fn observed(&mut self) -> impl Iterator<Item = (SessionKey, Observed)> + '_ {
        self.observed.iter_mut().flat_map(|all| all.drain(..))
    }

    /// What keeps the next segment of each connection back; None: it has not been asked for one.
    pub(crate) fn limiters(&self) -> impl Iterator<Item = (SessionKey, Option<Limiter>)> {
        self.sessions.iter().map(|(_, session)| (session.key, session.connection.limiter()))
    }

    /// Takes down how a session stands.
    #[cold]
    pub(super) fn observe(&mut self, index: usize) {
        let session = &self.sessions[index];
        let connection = &session.connection;
        let observed = Observed {
            state: Some(connection.state()),
            // Before it is asked for a segment, it is what it was when it was last.
            limiter: connection.limiter().filter(|_| !session.queued),
            tcb: connection.last_tcb().map(Observation::of),
            agreed: None,
            over: !session.queued && session.application.done(),
        };
        self.observed.get_or_insert_default().push((session.key, observed));
    }
}
