//! A program that the kernel runs on each packet of a device.

use super::assembler::Assembler;
use super::{BpfError, syscall};
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What the verifier has to say is long; its last line is what matters.
const LOG: usize = 1 << 16;

/// A program that the kernel has taken. It goes once it is attached nowhere and this is dropped.
#[derive(Debug)]
pub struct Program {
    name: &'static str,
    descriptor: OwnedFd,
}

impl Program {
    /// Has the kernel take a program.
    ///
    /// # Errors
    /// [`BpfError::Program`].
    pub fn load(name: &'static str, assembler: Assembler) -> Result<Program, BpfError> {
        let code = assembler.assemble();
        let refused = match syscall::load(name, &code, &mut []) {
            Ok(descriptor) => return Ok(Program { name, descriptor }),
            Err(source) => source,
        };
        let mut log = vec![0; LOG];
        let known = refused != Errno::EPERM;
        if known && let Ok(descriptor) = syscall::load(name, &code, &mut log) {
            return Ok(Program { name, descriptor });
        }
        Err(BpfError::Program { name, source: refused, log: last_words(&log) })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Runs it on a packet, as the kernel does for tests (`BPF_PROG_TEST_RUN`): its result, and the
    /// packet that it leaves.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn run(&self, packet: &[u8], context: &mut [u8]) -> Result<(u32, Vec<u8>), Errno> {
        syscall::test_run(&self.descriptor, packet, context, 1)
            .map(|(result, out, _)| (result, out))
    }

    /// Runs it so many times on a packet, and returns how long one run took.
    ///
    /// # Errors
    /// The kernel's.
    pub fn time(&self, packet: &[u8], context: &mut [u8], times: u32) -> Result<Duration, Errno> {
        syscall::test_run(&self.descriptor, packet, context, times).map(|(_, _, once)| once)
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The last line but the statistics.
fn last_words(log: &[u8]) -> String {
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let said = text.lines().rfind(|line| !line.starts_with("processed ") && !line.is_empty());
    said.unwrap_or_default().to_owned()
}
