//! An assembler for the kernel's machine (RFC 9669): instructions in order, and jumps to labels.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

/// A register: R0 has results, R1 to R5 arguments, R6 to R9 are kept over calls, R10 is the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "a register is its number")]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// How much is loaded or stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A byte.
    B = 0x10,
    /// Two bytes.
    H = 0x08,
    /// Four bytes.
    W = 0x00,
    /// Eight bytes.
    D = 0x18,
}

/// What is computed of two operands, with 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Their sum.
    Add = 0x00,
    /// The bits that both have.
    And = 0x50,
    /// The first, shifted left by the second.
    Shl = 0x60,
    /// The second.
    Mov = 0xb0,
}

/// When a jump is taken, by comparison of two operands without signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum If {
    /// They are equal.
    Equal = 0x10,
    /// The first is greater.
    Above = 0x20,
    /// They have a bit in common.
    AnyBit = 0x40,
    /// They are not equal.
    Different = 0x50,
}

/// A function of the kernel's (`enum bpf_func_id`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Helper {
    /// `bpf_map_lookup_elem`.
    MapLookup = 1,
    /// `bpf_map_update_elem`.
    MapUpdate = 2,
    /// `bpf_map_delete_elem`.
    MapDelete = 3,
    /// `bpf_ktime_get_ns`.
    KtimeGetNs = 5,
    /// `bpf_skb_store_bytes`.
    SkbStoreBytes = 9,
    /// `bpf_clone_redirect`.
    CloneRedirect = 13,
    /// `bpf_redirect`.
    Redirect = 23,
    /// `bpf_skb_load_bytes`.
    SkbLoadBytes = 26,
    /// `bpf_skb_change_head`.
    SkbChangeHead = 43,
    /// `bpf_skb_get_xfrm_state`.
    SkbGetXfrmState = 66,
    /// `bpf_check_mtu`.
    CheckMtu = 163,
}

/// The second operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// What a register holds.
    Reg(Reg),
    /// A number, whose sign is extended to 64 bits.
    Imm(i32),
}

impl From<Reg> for Arg {
    fn from(reg: Reg) -> Arg {
        Arg::Reg(reg)
    }
}

impl From<i32> for Arg {
    fn from(imm: i32) -> Arg {
        Arg::Imm(imm)
    }
}

const REG: u8 = 0x08;
const ALU64: u8 = 0x07;
const JMP: u8 = 0x05;
const LDX: u8 = 0x61;
const STX: u8 = 0x63;
const ST: u8 = 0x62;
/// An addition in memory, of eight bytes, that no other processor comes between.
const ATOMIC_ADD: u8 = 0xdb;
/// To the other order of bytes on a machine of little endian, and nothing on one of big endian.
const TO_BIG_ENDIAN: u8 = 0xdc;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const LD_IMM64: u8 = 0x18;
/// The source register of a load of 64 bits whose value is a map's descriptor.
const MAP_FD: u8 = 1;

#[derive(Debug, Clone, Copy)]
struct Instruction {
    code: u8,
    dst: Reg,
    src: u8,
    off: i16,
    imm: i32,
}

impl Instruction {
    /// As it lies in the memory of this machine: its bit fields and numbers are in the order that
    /// this has.
    fn encode(self) -> u64 {
        let (dst, src) = (self.dst as u8, self.src);
        let registers = if cfg!(target_endian = "big") { dst << 4 | src } else { src << 4 | dst };
        let ([first, second], [a, b, c, d]) = (self.off.to_ne_bytes(), self.imm.to_ne_bytes());
        u64::from_ne_bytes([self.code, registers, first, second, a, b, c, d])
    }
}

/// A program that is being written.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<Instruction>,
    labels: BTreeMap<&'static str, usize>,
    /// Where a jump is, and where it goes.
    jumps: Vec<(usize, &'static str)>,
}

impl Assembler {
    fn push(&mut self, code: u8, dst: Reg, src: u8, off: i16, imm: i32) -> &mut Assembler {
        self.code.push(Instruction { code, dst, src, off, imm });
        self
    }

    fn operate(&mut self, code: u8, dst: Reg, arg: Arg, off: i16) -> &mut Assembler {
        match arg {
            Arg::Reg(src) => self.push(code | REG, dst, src as u8, off, 0),
            Arg::Imm(imm) => self.push(code, dst, 0, off, imm),
        }
    }

    /// `dst op= arg`
    pub fn alu(&mut self, op: Op, dst: Reg, arg: impl Into<Arg>) -> &mut Assembler {
        self.operate(ALU64 | op as u8, dst, arg.into(), 0)
    }

    /// `dst = arg`
    pub fn mov(&mut self, dst: Reg, arg: impl Into<Arg>) -> &mut Assembler {
        self.alu(Op::Mov, dst, arg)
    }

    /// `dst = src[off]`
    pub fn load(&mut self, size: Size, dst: Reg, src: Reg, off: i16) -> &mut Assembler {
        self.push(LDX | size as u8, dst, src as u8, off, 0)
    }

    /// `dst[off] = arg`
    ///
    /// The kernel must not know the range of a value that begins a word of the frame. Before Linux
    /// 6.8 it takes such a value for a pointer that is kept there (`check_stack_write_fixed_off`).
    /// Without CAP_PERFMON nothing else may then be stored in that word. Swapped bytes hide the
    /// range, and two swaps change nothing.
    pub fn store(&mut self, size: Size, dst: Reg, off: i16, arg: impl Into<Arg>) -> &mut Assembler {
        match arg.into() {
            Arg::Reg(src) if dst == Reg::R10 && size != Size::D && off % 8 == 0 => {
                for _ in 0..2 {
                    self.push(TO_BIG_ENDIAN, src, 0, 0, 64);
                }
                self.push(STX | size as u8, dst, src as u8, off, 0)
            }
            Arg::Reg(src) => self.push(STX | size as u8, dst, src as u8, off, 0),
            Arg::Imm(imm) => {
                debug_assert!(
                    dst != Reg::R10 || size == Size::D || off % 8 != 0 || imm == 0,
                    "the kernel would know it: by a register"
                );
                self.push(ST | size as u8, dst, 0, off, imm)
            }
        }
    }

    /// `dst[off] += src`, of eight bytes, which no other processor comes between.
    pub fn add_atomically(&mut self, dst: Reg, off: i16, src: Reg) -> &mut Assembler {
        self.push(ATOMIC_ADD, dst, src as u8, off, 0)
    }

    /// `dst` = the map of this descriptor
    pub fn map(&mut self, dst: Reg, fd: RawFd) -> &mut Assembler {
        self.push(LD_IMM64, dst, MAP_FD, 0, fd).push(0, Reg::R0, 0, 0, 0)
    }

    /// `R0 = helper(R1, …)`
    pub fn call(&mut self, helper: Helper) -> &mut Assembler {
        self.push(CALL, Reg::R0, 0, 0, helper as i32)
    }

    /// Ends, with R0 as the result.
    pub fn exit(&mut self) -> &mut Assembler {
        self.push(EXIT, Reg::R0, 0, 0, 0)
    }

    /// Goes on at `label` in any case.
    pub fn jump(&mut self, label: &'static str) -> &mut Assembler {
        self.jumps.push((self.code.len(), label));
        self.push(JMP, Reg::R0, 0, 0, 0)
    }

    /// Goes on at `label` if `reg` compares so with `arg`.
    pub fn jump_if(
        &mut self,
        reg: Reg,
        is: If,
        arg: impl Into<Arg>,
        label: &'static str,
    ) -> &mut Assembler {
        self.jumps.push((self.code.len(), label));
        self.operate(JMP | is as u8, reg, arg.into(), 0)
    }

    /// A label for the next instruction. Each is set once.
    pub fn label(&mut self, label: &'static str) -> &mut Assembler {
        let before = self.labels.insert(label, self.code.len());
        debug_assert!(before.is_none(), "label {label} is set twice");
        self
    }

    /// The instructions. Each label that is jumped to must have been set, behind its jumps or
    /// before.
    pub(crate) fn assemble(mut self) -> Vec<u64> {
        for (at, label) in self.jumps {
            self.code[at].off = (self.labels[label] as i64 - at as i64 - 1) as i16;
        }
        self.code.into_iter().map(Instruction::encode).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Reg::{R0, R1, R2, R6, R10};
    use super::*;

    #[test]
    fn of_a_part_at_a_words_begin_the_kernel_does_not_know_the_range() {
        let length = |size, off| {
            let mut program = Assembler::default();
            program.store(size, R10, off, R2);
            program.assemble().len()
        };
        assert_eq!(length(Size::H, -8), 3);
        assert_eq!((length(Size::H, -6), length(Size::D, -8)), (1, 1));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_those_of_rfc_9669() {
        let mut program = Assembler::default();
        program
            .mov(R6, R1)
            .mov(R0, -1)
            .load(Size::W, R2, R6, 16)
            .jump_if(R2, If::Different, 8, "end")
            .store(Size::D, R10, -8, R0)
            .store(Size::B, R10, -9, 7)
            .alu(Op::Add, R2, 40)
            .map(R1, 5)
            .call(Helper::MapLookup)
            .label("end")
            .exit();
        let expected: [[u8; 8]; 11] = [
            [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
            [0xb7, 0x00, 0, 0, 0xff, 0xff, 0xff, 0xff],
            [0x61, 0x62, 16, 0, 0, 0, 0, 0],
            [0x55, 0x02, 6, 0, 8, 0, 0, 0],
            [0x7b, 0x0a, 0xf8, 0xff, 0, 0, 0, 0],
            [0x72, 0x0a, 0xf7, 0xff, 7, 0, 0, 0],
            [0x07, 0x02, 0, 0, 40, 0, 0, 0],
            [0x18, 0x11, 0, 0, 5, 0, 0, 0],
            [0; 8],
            [0x85, 0x00, 0, 0, 1, 0, 0, 0],
            [0x95, 0x00, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(program.assemble(), expected.map(u64::from_ne_bytes));
    }
}
