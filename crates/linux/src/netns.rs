//! Named network namespaces, as `ip netns` makes them, and what goes into them: cables,
//! addresses, rules, processes, sockets.
//!
//! A namespace is deleted when its [`Namespace`] is dropped, when a panic unwinds, and upon
//! SIGINT, SIGTERM and SIGHUP once [`teardown::on_signals`] has been called. What a killed run
//! leaves behind, the next one removes: names carry the process id of their maker.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use nix::sched::{CloneFlags, setns};

pub mod cookie;
pub mod process;
pub mod teardown;

/// Where `ip netns` keeps its namespaces.
pub const NETNS_DIR: &str = "/run/netns";

/// Why a namespace or something in it could not be made.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    /// A program that we need is not installed.
    #[error("cannot run `{program}`: {source}")]
    Program {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program ran and said no.
    #[error("`{command}` failed: {stderr}")]
    Refused {
        /// What was run, with the namespace.
        command: String,
        /// What it wrote to its standard error, on one line.
        stderr: String,
    },
    /// A thread could not move into the namespace.
    #[error("cannot enter network namespace {name}: {source}")]
    Enter {
        /// The namespace.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A kernel parameter could not be set.
    #[error("cannot set {key} in namespace {name}: {source}")]
    Sysctl {
        /// The namespace.
        name: String,
        /// The parameter, with dots.
        key: String,
        /// What the system said.
        source: io::Error,
    },
    /// A process did not say in time that it was ready, or ended before.
    #[error("{what} did not become ready: {output}")]
    NotReady {
        /// The process.
        what: String,
        /// What it wrote instead.
        output: String,
    },
    /// The run is being torn down after a signal, so nothing new is made.
    #[error("interrupted")]
    Interrupted,
}

/// A network namespace that exists as long as this value.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes the namespace `name`, with its loopback device up.
    ///
    /// # Errors
    /// [`NetnsError`] if `ip` is missing or refuses (no root, name taken), or while tearing down.
    pub fn create(name: &str) -> Result<Namespace, NetnsError> {
        teardown::making_namespace(name, || {
            run(Command::new("ip").args(["netns", "add", name]), None)
        })?;
        let namespace = Namespace { name: name.to_owned() };
        namespace.ip("link set lo up\n")?;
        Ok(namespace)
    }

    /// Makes the namespace `name` so that it outlives this value and this process.
    ///
    /// # Errors
    /// [`NetnsError`] if `ip` is missing or refuses (no root, name taken).
    pub fn create_lasting(name: &str) -> Result<Namespace, NetnsError> {
        run(Command::new("ip").args(["netns", "add", name]), None)?;
        let namespace = Namespace::existing(name);
        namespace.ip("link set lo up\n")?;
        Ok(namespace)
    }

    /// The namespace `name`, which stays when this value is dropped: only those that are in the
    /// register of what this process has made go with their values.
    pub fn existing(name: &str) -> Namespace {
        Namespace { name: name.to_owned() }
    }

    /// Its name, as `ip netns list` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `work` in a thread inside the namespace and waits for its result. Sockets opened
    /// there stay in the namespace wherever they are used later.
    ///
    /// # Errors
    /// [`NetnsError::Enter`] if the thread could not enter.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| enter(&self.name).map(|()| work()));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Starts a thread inside the namespace, which may outlive this value. Its result is an error
    /// if it could not enter.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<Result<T, NetnsError>> {
        let name = self.name.clone();
        thread::spawn(move || enter(&name).map(|()| work()))
    }

    /// A command that runs `program` inside the namespace. `ip netns exec` replaces itself by
    /// the program, so the process id of the child is the program's.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// Carries out lines of `ip`, each without the word `ip`, all or up to the first refused.
    ///
    /// # Errors
    /// [`NetnsError::Refused`] with the line at fault in its text.
    pub fn ip(&self, lines: &str) -> Result<(), NetnsError> {
        run(Command::new("ip").args(["-n", &self.name, "-batch", "-"]), Some(lines)).map(drop)
    }

    /// Loads an nftables ruleset.
    ///
    /// # Errors
    /// [`NetnsError::Refused`] with nft's complaint.
    pub fn nft(&self, ruleset: &str) -> Result<(), NetnsError> {
        run(self.command("nft").args(["-f", "-"]), Some(ruleset)).map(drop)
    }

    /// Runs `program` to its end and returns what it wrote to its standard output.
    ///
    /// # Errors
    /// [`NetnsError`] if it cannot be run or ends with a non-zero code.
    pub fn output(&self, program: &str, arguments: &[&str]) -> Result<String, NetnsError> {
        run(self.command(program).args(arguments), None)
    }

    /// Sets a kernel parameter, such as `net.ipv4.ip_forward`, in the namespace.
    ///
    /// # Errors
    /// [`NetnsError::Sysctl`] if the kernel does not know it or refuses the value.
    pub fn sysctl(&self, key: &str, value: &str) -> Result<(), NetnsError> {
        // The parameters under /proc/sys/net are those of the namespace of the asking thread.
        let path = PathBuf::from("/proc/sys").join(key.replace('.', "/"));
        self.run(|| std::fs::write(path, value))?.map_err(|source| NetnsError::Sysctl {
            name: self.name.clone(),
            key: key.to_owned(),
            source,
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        teardown::remove_namespace(&self.name);
    }
}

/// Moves the calling thread into the namespace `name`, for good.
fn enter(name: &str) -> Result<(), NetnsError> {
    let error = |source| NetnsError::Enter { name: name.to_owned(), source };
    let file = File::open(Path::new(NETNS_DIR).join(name)).map_err(error)?;
    setns(file.as_fd(), CloneFlags::CLONE_NEWNET).map_err(|errno| error(errno.into()))
}

/// Joins two namespaces by a cable: device `near.1` in `near.0` and `far.1` in `far.0`, both up.
///
/// # Errors
/// [`NetnsError::Refused`] if a name is taken.
pub fn join_by_veth(near: (&Namespace, &str), far: (&Namespace, &str)) -> Result<(), NetnsError> {
    let (near, near_device) = near;
    let (far, far_device) = far;
    let far_name = far.name();
    near.ip(&format!(
        "link add {near_device} type veth peer name {far_device} netns {far_name}\n\
         link set {near_device} up\n"
    ))?;
    far.ip(&format!("link set {far_device} up\n"))
}

/// Runs a command to its end, with `input` on its standard input.
pub(crate) fn run(command: &mut Command, input: Option<&str>) -> Result<String, NetnsError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let error = |source| NetnsError::Program { program: program.clone(), source };
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(error)?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        // A program that ends early closes its input: its exit code says what was wrong.
        let _ = stdin.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(error)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr: Vec<_> = stderr.lines().map(str::trim).collect();
    Err(NetnsError::Refused {
        command: format!("{program} {}", arguments.join(" ")),
        stderr: stderr.join("; "),
    })
}
