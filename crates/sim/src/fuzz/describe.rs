//! A plan in a few lines, for who looks for what it violates. Its `Debug` has all parameters.

use super::plan::{Call, FaultPlan, Middle};
use bentpipe_core::link::LinkConfig;
use bentpipe_core::time::Instant;
use std::fmt;

impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hazards: Vec<&str> = self.hazards.iter().map(|hazard| hazard.name()).collect();
        writeln!(f, "seed {}: {}", self.seed, hazards.join(", "))?;
        for (at, change) in &self.changes {
            writeln!(f, "at {:.6} s: {change:?}", at.as_secs_f64())?;
        }
        for (number, call) in self.calls.iter().enumerate() {
            write!(f, "call {number}: ")?;
            describe_call(f, call)?;
        }
        for (place, middle) in self.middle.iter().enumerate() {
            write!(f, "box {place}: ")?;
            describe_box(f, middle)?;
        }
        write!(f, "satellite: ")?;
        describe_link(f, &self.satellite[0])?;
        let faults = &self.faults;
        writeln!(
            f,
            ", duplicate {:?}, reorder {:?}, corrupt {:?}, outages {:?}",
            faults.duplicate, faults.reorder, faults.corrupt, faults.outages
        )?;
        for (host, cable) in self.cables.iter().enumerate() {
            write!(f, "cable {host}: ")?;
            describe_link(f, &cable.link)?;
            writeln!(f, ", duplicate {:?}", cable.faults.duplicate)?;
        }
        if let Some(detour) = &self.detour {
            write!(f, "detour: ")?;
            describe_link(f, &detour.beside)?;
            writeln!(f)?;
        }
        for (position, meddler) in &self.meddlers {
            writeln!(f, "{position:?}: {meddler:?}")?;
        }
        self.strait.map_or(Ok(()), |strait| writeln!(f, "router with ICMP: {strait:?}"))
    }
}

fn describe_call(f: &mut fmt::Formatter<'_>, call: &Call) -> fmt::Result {
    let [(port, address, listening), _] = call.keys;
    writeln!(
        f,
        "host {}, port {port}, to {address}.{listening} at {:.3} s",
        call.host(0),
        call.at.as_secs_f64()
    )?;
    for end in [0, 1] {
        let (application, config) = (&call.applications[end], &call.configs[end]);
        write!(f, "  end {end} writes {} bytes ({:?}", application.bytes, application.start)?;
        write!(f, ", closes {:?}", application.close)?;
        if let Some(after) = application.abort_after {
            write!(f, ", resets after {after:?}")?;
        }
        writeln!(
            f,
            "); MSS {}, buffers {:?} and {:?}, scale {:?}, sack {}, timestamps {}",
            config.mss,
            config.send_buffer,
            config.receive_buffer,
            config.window_scale,
            config.sack,
            config.timestamps
        )?;
    }
    Ok(())
}

fn describe_box(f: &mut fmt::Formatter<'_>, middle: &Middle) -> fmt::Result {
    let config = match middle {
        Middle::Router => return writeln!(f, "a router"),
        Middle::Gateway(config) => config,
    };
    write!(f, "a gateway; handshake {:?}, FIN {:?}", config.handshake, config.fin)?;
    write!(f, ", options {:?}, announces {}", config.add_options, config.announce)?;
    if let Some(key) = config.pair_key {
        write!(f, ", key {}", key.reveal())?;
    }
    write!(f, ", memory {:?}, stream {:?}", config.memory, config.max_stream)?;
    write!(f, ", flows {}", config.max_flows)?;
    if let Some(after) = config.adopt_after {
        write!(f, ", splits in mid-life after {after:?}")?;
    }
    if config.soft_state {
        write!(f, ", leaves records")?;
    }
    writeln!(f)
}

fn describe_link(f: &mut fmt::Formatter<'_>, link: &LinkConfig) -> fmt::Result {
    let rate = link.rate.as_ref().map(|rate| rate.at(Instant::ZERO));
    write!(f, "{rate:?}, {:?}, {:?}", link.delay, link.packet_loss)
}
