//! One end of a connection.

use super::segment::Segment;
use super::{Clock, count, instant, refused, seconds};
use crate::control::{self, Methods, PythonControl};
use bentpipe_core::tcp::buffer::{Chunks, Payload};
use bentpipe_core::tcp::connection::{self, ConnectionConfig, Event, State};
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::Observation;
use bentpipe_core::tcp::presets::PRESETS;
use bentpipe_core::time::Instant;
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::SeqNum;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One end of a connection, with all that a host's TCP does. It has no clock: every call says what
/// time it is.
#[pyclass(module = "bentpipe._bentpipe")]
pub(crate) struct Connection {
    /// Locked by nobody for long: Python holds the object while it calls. Its garbage collector may
    /// drop it on any thread.
    tcp: Mutex<connection::Connection<Chunks>>,
    /// A control written in Python, until the handshake is complete.
    control: Option<(Py<PyAny>, Arc<Methods>)>,
    clock: Clock,
}

fn config(tcp: &str, settings: Vec<(String, String)>) -> PyResult<ConnectionConfig> {
    let mut config: ConnectionConfig = tcp.parse().map_err(refused)?;
    for (key, value) in settings {
        config.set(&key, &value).map_err(refused)?;
    }
    Ok(config)
}

impl Connection {
    fn of(
        now: Instant,
        tcp: connection::Connection<Chunks>,
        control: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Connection> {
        let known = |object: Bound<'_, PyAny>| -> PyResult<(Py<PyAny>, Arc<Methods>)> {
            let methods = Methods::of(&object)?;
            Ok((object.unbind(), Arc::new(methods)))
        };
        let control = control.map(known).transpose()?;
        let tcp = Mutex::new(tcp);
        Ok(Connection { tcp, control, clock: Clock(now) })
    }

    fn tcp(&mut self) -> &mut connection::Connection<Chunks> {
        self.tcp.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) -> MutexGuard<'_, connection::Connection<Chunks>> {
        self.tcp.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Once the handshake is complete the sender takes the control that was written in Python. What
    /// that has raised is raised here.
    fn attend(&mut self, py: Python<'_>) -> PyResult<()> {
        let smss = self.tcp().tcb().map(|tcb| tcb.sender.smss());
        if let Some(smss) = smss
            && let Some((object, methods)) = self.control.take()
        {
            let usual = PythonControl::usual(smss);
            let control = PythonControl::begin(object.bind(py), methods, usual, smss)?;
            self.tcp().use_congestion(Box::new(control));
        }
        control::check()
    }

    fn observation(&self) -> Option<Observation> {
        self.look().last_tcb().map(Observation::of)
    }
}

#[pymethods]
impl Connection {
    /// Opens actively.
    #[staticmethod]
    #[pyo3(signature = (now, tcp, settings, isn, control=None))]
    fn connect(
        now: f64,
        tcp: &str,
        settings: Vec<(String, String)>,
        isn: u32,
        control: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Connection> {
        let config = config(tcp, settings)?;
        let now = instant(now)?;
        let tcp = connection::Connection::connect(now, config, SeqNum(isn));
        Connection::of(now, tcp, control)
    }

    /// Answers a SYN.
    #[staticmethod]
    #[pyo3(signature = (now, syn, tcp, settings, isn, control=None))]
    fn accept(
        now: f64,
        syn: &Segment,
        tcp: &str,
        settings: Vec<(String, String)>,
        isn: u32,
        control: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Connection> {
        let config = config(tcp, settings)?;
        let now = instant(now)?;
        let tcp = connection::Connection::accept(now, config, SeqNum(isn), &syn.header);
        let tcp = tcp.ok_or_else(|| PyValueError::new_err("this segment opens no connection"))?;
        Connection::of(now, tcp, control)
    }

    /// A segment has come.
    fn receive(&mut self, py: Python<'_>, now: f64, segment: &Segment) -> PyResult<()> {
        let payload = Payload::Bytes(&segment.payload);
        let now = self.clock.at(now)?;
        self.tcp().handle_segment(now, &segment.header, payload);
        self.attend(py)
    }

    /// The next segment to be sent now, if any.
    fn transmit(&mut self, py: Python<'_>, now: f64) -> PyResult<Option<Segment>> {
        let now = self.clock.at(now)?;
        let Ok(sent) = self.tcp().poll_transmit(now) else { return Ok(None) };
        let mut data = Vec::new();
        self.tcp().payload(sent.data.clone(), |payload| {
            if let Payload::Bytes(bytes) = payload {
                data.extend_from_slice(bytes);
            }
        });
        self.attend(py)?;
        let (header, payload) = (Arc::new(sent.tcp), data.into());
        Ok(Some(Segment { header, payload, cause: sent.cause, flow: 0 }))
    }

    /// Its timers that are due.
    fn timeout(&mut self, py: Python<'_>, now: f64) -> PyResult<()> {
        let now = self.clock.at(now)?;
        self.tcp().handle_timeout(now);
        self.attend(py)
    }

    /// When `timeout` is to be called, if ever.
    #[getter]
    fn next(&self) -> Option<f64> {
        self.look().poll_timeout().map(seconds)
    }

    /// The application writes; returns how many bytes were taken.
    fn write(&mut self, data: &[u8]) -> usize {
        self.tcp().write(Payload::Bytes(data))
    }

    /// The application reads at most so many bytes.
    fn read<'py>(&mut self, py: Python<'py>, limit: i128) -> PyResult<Bound<'py, PyBytes>> {
        let limit = Bytes::new(count("limit", limit)?);
        let mut data = Vec::new();
        self.tcp().read(limit, |payload| {
            if let Payload::Bytes(bytes) = payload {
                data.extend_from_slice(bytes);
            }
        });
        Ok(PyBytes::new(py, &data))
    }

    /// The application reads what has come, and only counts it.
    fn discard(&mut self) -> u64 {
        let mut bytes = 0;
        self.tcp().read(Bytes::MAX, |payload| bytes += payload.len() as u64);
        bytes
    }

    /// The application has no more to write.
    fn close(&mut self) {
        self.tcp().close();
    }

    /// The application gives the connection up.
    fn abort(&mut self) {
        self.tcp().abort();
    }

    /// The next event for the application, if any.
    fn event(&mut self) -> Option<&'static str> {
        Some(match self.tcp().poll_event()? {
            Event::Connected => "connected",
            Event::PeerClosed => "peer-closed",
            Event::Reset => "reset",
            Event::TimedOut => "timed-out",
            Event::Unreachable => "unreachable",
            Event::Closed => "closed",
        })
    }

    /// Its state in RFC 9293's words.
    #[getter]
    fn state(&self) -> &'static str {
        match self.look().state() {
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::Established => "ESTABLISHED",
            State::FinWait1 => "FIN-WAIT-1",
            State::FinWait2 => "FIN-WAIT-2",
            State::CloseWait => "CLOSE-WAIT",
            State::Closing => "CLOSING",
            State::LastAck => "LAST-ACK",
            State::TimeWait => "TIME-WAIT",
            State::Closed => "CLOSED",
        }
    }

    /// Bytes that wait to be read.
    #[getter]
    fn readable(&self) -> u64 {
        self.look().readable().count()
    }

    /// Bytes that `write` would take now.
    #[getter]
    fn writable(&self) -> u64 {
        self.look().writable().count()
    }

    /// What the sender knows, as a dictionary; empty before the handshake is complete. Sizes are in
    /// bytes, places in the stream are offsets of which 1 is the first byte's, times are in
    /// seconds.
    fn observe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        let Some(now) = self.observation() else { return Ok(state) };
        state.set_item("cwnd", now.cwnd.count())?;
        state.set_item("ssthresh", now.ssthresh.map(Bytes::count))?;
        state.set_item("in_flight", now.in_flight.count())?;
        state.set_item("delivered", now.delivered.count())?;
        state.set_item("lost", now.lost.count())?;
        let offset = |offset: Offset| offset.get();
        state.set_item("snd_una", offset(now.snd_una))?;
        state.set_item("snd_nxt", offset(now.snd_nxt))?;
        state.set_item("window_edge", offset(now.window_edge))?;
        state.set_item("rcv_nxt", offset(now.rcv_nxt))?;
        state.set_item("srtt", now.srtt.map(|span| span.as_secs_f64()))?;
        state.set_item("rttvar", now.rttvar.as_secs_f64())?;
        state.set_item("min_rtt", now.min_rtt.map(|span| span.as_secs_f64()))?;
        state.set_item("rto", now.rto.as_secs_f64())?;
        state.set_item("phase", now.phase.name())?;
        state.set_item("limiter", now.limiter.map(Limiter::name))?;
        state.set_item("timeouts", now.signs.timeouts)?;
        state.set_item("recoveries", now.signs.recoveries)?;
        state.set_item("smss", self.look().last_tcb().map(|tcb| tcb.sender.smss().count()))?;
        Ok(state)
    }
}

/// Refuses a TCP that `Connection.connect` would refuse.
#[pyfunction]
pub(crate) fn check_tcp(tcp: &str) -> PyResult<()> {
    config(tcp, Vec::new()).map(|_| ())
}

/// The TCPs that have a name, with what each is.
#[pyfunction]
pub(crate) fn presets() -> Vec<(&'static str, &'static str)> {
    PRESETS.iter().map(|preset| (preset.name, preset.about)).collect()
}
