//! Programs for the kernel's packet paths (eBPF): assembled here, loaded, attached to a device, and
//! what they share with us.
//!
//! They are few and short, so they are written in the instructions of the kernel's machine (RFC
//! 9669), by way of an assembler with labels. A compiler for them (clang, bpf-linker) would be
//! needed wherever this is built.

pub mod assembler;
pub mod attach;
mod filter;
pub mod map;
pub mod program;
mod syscall;

pub use attach::Attachment;
pub use filter::has_ingress;

/// Why the kernel does not take a program or a map.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// The kernel has refused a program.
    #[error("the kernel refuses the program `{name}`: {source}{}", because(log))]
    Program {
        /// Its name.
        name: &'static str,
        /// What the kernel said.
        source: nix::errno::Errno,
        /// What its verifier said last, which may be nothing.
        log: String,
    },
    /// It lets nobody of our privileges do that.
    #[error(
        "no permission to load programs into the kernel: run as root, with CAP_BPF and CAP_NET_ADMIN (in a systemd \
         unit `AmbientCapabilities=` and `CapabilityBoundingSet=` with both; a container needs the host's own, in Docker \
         `--cap-add NET_ADMIN --cap-add BPF`, and `--security-opt seccomp=unconfined` where its filter is older than BPF)"
    )]
    Permission,
    /// A map cannot be made.
    #[error("the kernel makes no map for {entries} entries: {source}")]
    Map {
        /// How many it was to hold.
        entries: u32,
        /// What the kernel said.
        source: nix::errno::Errno,
    },
    /// How many processors there are is not to be had: each has counters of its own.
    #[error("{file} does not say how many processors there are: run `mount -t sysfs sysfs /sys`")]
    Processors {
        /// Where the kernel says it.
        file: &'static str,
    },
    /// Before Linux 6.6 there is no place for programs there.
    #[error(
        "{device} has an `ingress` queueing discipline (SQM's, say), beside which kernels before Linux 6.6 attach no \
         programs: take it off (`tc qdisc delete dev {device} ingress`), use `clsact` in its place, or a newer kernel"
    )]
    Ingress {
        /// The device.
        device: String,
    },
    /// A program cannot be attached.
    #[error("cannot attach to {device}: {source}")]
    Attach {
        /// The device.
        device: String,
        /// What the kernel said.
        source: std::io::Error,
    },
}

impl BpfError {
    /// `device` has refused a program, or is not there.
    pub fn attach(device: &str, errno: nix::errno::Errno) -> BpfError {
        BpfError::Attach { device: device.to_owned(), source: errno.into() }
    }
}

fn because(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!(": {log}") }
}
