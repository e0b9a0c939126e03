//! The programs that run in the kernel for a link between two interfaces: one takes packets that
//! are about to leave by an interface into a device of ours, one puts onto the interface what we
//! write there, and one keeps from our device what the host would say on it.

use bentpipe_linux::bpf::assembler::Assembler;
use bentpipe_linux::bpf::assembler::Helper::{CheckMtu, Redirect};
use bentpipe_linux::bpf::assembler::If::{Different, Equal};
use bentpipe_linux::bpf::assembler::Op::Add;
use bentpipe_linux::bpf::assembler::Reg::{R0, R1, R2, R3, R4, R5, R6, R10};
use bentpipe_linux::bpf::assembler::Size::W;
use nix::libc;

/// What marks packets of ours on their way, as a traffic class index: no number of a class that is
/// in use, nor the gateway's.
const SEAL: i32 = 0xb9e6;

// Fields of `struct __sk_buff`.
const SKB_PROTOCOL: i16 = 16;
const SKB_VLAN_PRESENT: i16 = 20;
const SKB_INGRESS_IFINDEX: i16 = 36;
const SKB_TC_INDEX: i16 = 44;

/// A word on the stack.
const WORD: i16 = -4;

/// Goes on, to whatever else is attached and then to where it was going.
const PASS: i32 = -1;
const DROP: i32 = 2;

/// Takes what is about to leave and has come in by an interface of one of these numbers, into the
/// device `to` of ours. If it `asks` whether that is still there, it lets all pass once it is not
/// (Linux 5.12).
pub(super) fn take(from: &[u32], to: u32, asks: bool) -> Assembler {
    let mut asm = Assembler::default();
    asm.mov(R6, R1);
    // What we have put there passes, and bears nothing of ours any more.
    asm.load(W, R2, R6, SKB_TC_INDEX)
        .jump_if(R2, Different, SEAL, "fresh")
        .mov(R2, 0)
        .store(W, R6, SKB_TC_INDEX, R2)
        .jump("pass")
        .label("fresh");
    asm.load(W, R2, R6, SKB_VLAN_PRESENT).jump_if(R2, Different, 0, "pass");
    asm.load(W, R2, R6, SKB_PROTOCOL);
    for protocol in [libc::ETH_P_IP, libc::ETH_P_IPV6] {
        asm.jump_if(R2, Equal, i32::from((protocol as u16).to_be()), "an IP packet");
    }
    asm.jump("pass").label("an IP packet").load(W, R2, R6, SKB_INGRESS_IFINDEX);
    for number in from {
        asm.jump_if(R2, Equal, *number as i32, "ours");
    }
    asm.jump("pass").label("ours");
    if asks {
        asm.mov(R2, 0)
            .store(W, R10, WORD, R2)
            .mov(R1, R6)
            .mov(R2, to as i32)
            .mov(R3, R10)
            .alu(Add, R3, i32::from(WORD))
            .mov(R4, 0)
            .mov(R5, 0)
            .call(CheckMtu)
            .jump_if(R0, Equal, -libc::ENODEV, "pass");
    }
    asm.mov(R2, SEAL)
        .store(W, R6, SKB_TC_INDEX, R2)
        .mov(R1, to as i32)
        .mov(R2, 0)
        .call(Redirect)
        .exit()
        .label("pass")
        .mov(R0, PASS)
        .exit();
    asm
}

/// Has what comes in leave by the interface `to`.
pub(super) fn give(to: u32) -> Assembler {
    let mut asm = Assembler::default();
    asm.mov(R6, R1)
        .mov(R2, SEAL)
        .store(W, R6, SKB_TC_INDEX, R2)
        .mov(R1, to as i32)
        .mov(R2, 0)
        .call(Redirect)
        .exit();
    asm
}

/// Lets nothing leave but what was taken.
pub(super) fn keep() -> Assembler {
    let mut asm = Assembler::default();
    asm.load(W, R2, R1, SKB_TC_INDEX)
        .jump_if(R2, Equal, SEAL, "taken")
        .mov(R0, DROP)
        .exit()
        .label("taken")
        .mov(R0, PASS)
        .exit();
    asm
}

/// In the kernel that this runs on. It takes root.
#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_linux::bpf::BpfError;
    use bentpipe_linux::bpf::program::Program;

    const LOOPBACK: u32 = 1;
    const NOBODY: u32 = 0x7fff_fff0;
    const PASSED: u32 = u32::MAX;
    const TAKEN: u32 = 7;

    /// What becomes of an empty packet of this protocol that has come in by the loopback interface.
    fn fate(program: &Program, protocol: u16) -> u32 {
        let mut frame = [0; 64];
        frame[12..14].copy_from_slice(&protocol.to_be_bytes());
        frame[14] = if protocol == 0x86dd { 0x60 } else { 0x45 };
        let mut context = [0; 192];
        context[36..40].copy_from_slice(&LOOPBACK.to_ne_bytes());
        program.run(&frame, &mut context).expect("it runs").0
    }

    #[test]
    fn what_comes_from_the_other_interface_is_taken_while_our_device_is_there() {
        let load = |from: &[u32], to| match Program::load("test_take", take(from, to, true)) {
            Err(BpfError::Program { source: nix::errno::Errno::EINVAL, .. }) => None,
            program => Some(program.expect("it is verified")),
        };
        if let Err(BpfError::Program { source: nix::errno::Errno::EPERM, .. }) =
            Program::load("test_keep", keep())
        {
            eprintln!("skipped: needs root that may load programs into the kernel");
            return;
        }
        Program::load("test_give", give(LOOPBACK)).expect("it is verified");
        Program::load("test_older", take(&[LOOPBACK], LOOPBACK, false)).expect("it is verified");
        // A kernel before 5.12 cannot be asked.
        let Some(program) = load(&[NOBODY, LOOPBACK], LOOPBACK) else { return };
        assert_eq!([0x0800, 0x86dd].map(|it| fate(&program, it)), [TAKEN; 2]);
        assert_eq!([0x0806, 0x88cc].map(|it| fate(&program, it)), [PASSED; 2], "ARP, LLDP");
        let elsewhere = load(&[NOBODY], LOOPBACK).expect("it is verified");
        assert_eq!(fate(&elsewhere, 0x0800), PASSED);
        let gone = load(&[LOOPBACK], NOBODY).expect("it is verified");
        assert_eq!(fate(&gone, 0x0800), PASSED, "a killed process leaves it behind");
    }
}
