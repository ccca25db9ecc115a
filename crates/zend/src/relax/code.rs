//! Calls and loads that go through the tables of a shared object, made direct: in bytes, which need not be those of a process.
//!
//! Must not know PHP, nor where the bytes come from and go. Invariants: instructions keep their place and their length; a
//! function is changed only if all of it was understood; what a changed instruction does is what it did before, as long as
//! the tables stay as they are.
//!
//! Sources: System V ABI, AMD64 supplement, sections 5.2 (procedure linkage table) and B.2 (which instructions a linker may
//! exchange); Intel SDM volume 2 for their bytes.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, OpKind, Register};

/// The bytes of a shared object from an address on. All addresses are those of the object's file, to which the place where it
/// is mapped is added.
#[derive(Debug, Clone)]
pub struct Part {
    /// Where it begins.
    pub address: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Part {
    /// The addresses in it.
    pub fn range(&self) -> Range<u64> {
        self.address..self.address + self.bytes.len() as u64
    }

    /// So many bytes from an address on, if they are in it.
    fn at<const COUNT: usize>(&self, address: u64) -> Option<[u8; COUNT]> {
        let begin = usize::try_from(address.checked_sub(self.address)?).ok()?;
        self.bytes.get(begin..begin.checked_add(COUNT)?)?.try_into().ok()
    }
}

/// The tables, as the loader has filled them.
#[derive(Debug)]
pub struct Tables {
    /// Where the object is mapped.
    pub base: u64,
    /// The stubs: each jumps to the address that a slot has (`.plt` and its like).
    pub stubs: Vec<Part>,
    /// The slots (`.got`): addresses of functions and variables.
    pub slots: Part,
}

impl Tables {
    /// The address in a slot, seen from the object; `None` if there is no such slot, or if nothing can be said of it: it is
    /// empty, or leads to the loader, which has not filled it yet.
    fn address_in(&self, slot: u64) -> Option<u64> {
        let address = u64::from_le_bytes(self.slots.at(slot)?);
        let seen = address.wrapping_sub(self.base);
        let is_final = slot.is_multiple_of(8) && address != 0 && self.stub_part(seen).is_none();
        is_final.then_some(seen)
    }

    fn stub_part(&self, address: u64) -> Option<&Part> {
        self.stubs.iter().find(|part| part.range().contains(&address))
    }

    /// Where the stub at an address leads.
    fn behind(&self, stub: u64) -> Option<u64> {
        const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        const JUMP_THROUGH_SLOT: [u8; 2] = [0xff, 0x25];
        let part = self.stub_part(stub)?;
        let jump = if part.at(stub) == Some(ENDBR64) { stub + 4 } else { stub };
        if part.at(jump)? != JUMP_THROUGH_SLOT {
            return None;
        }
        let next = jump + 6;
        self.address_in(next.wrapping_add_signed(i64::from(i32::from_le_bytes(part.at(jump + 2)?))))
    }
}

/// What was made direct.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Relaxed {
    /// Calls and jumps that went through a stub.
    pub calls: usize,
    /// Loads of an address from a slot, which became its computation.
    pub loads: usize,
}

impl std::ops::AddAssign for Relaxed {
    fn add_assign(&mut self, other: Relaxed) {
        self.calls += other.calls;
        self.loads += other.loads;
    }
}

/// One instruction that changes.
struct Change {
    /// The address of its last four bytes: a distance from the next instruction.
    distance_at: u64,
    distance: i32,
    is_load: bool,
}

/// Makes calls, jumps and loads direct in these functions of the code.
pub fn relax(code: &mut Part, functions: &[Range<u64>], tables: &Tables) -> Relaxed {
    let mut relaxed = Relaxed::default();
    let mut changes = Vec::new();
    for function in functions {
        changes.clear();
        if is_understood(code, function, tables, &mut changes) {
            changes.iter().for_each(|change| apply(code, change, &mut relaxed));
        }
    }
    relaxed
}

/// Whether each byte of a function belongs to an instruction; the changes in it.
fn is_understood(code: &Part, function: &Range<u64>, tables: &Tables, changes: &mut Vec<Change>) -> bool {
    let offset =
        |address: u64| address.checked_sub(code.address).and_then(|offset| usize::try_from(offset).ok());
    let (Some(begin), Some(end)) = (offset(function.start), offset(function.end)) else { return false };
    let Some(bytes) = code.bytes.get(begin..end) else { return false };
    let mut decoder = Decoder::with_ip(64, bytes, function.start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            return false;
        }
        changes.extend(change_of(&instruction, tables));
    }
    true
}

fn change_of(instruction: &Instruction, tables: &Tables) -> Option<Change> {
    let (target, is_load) = match instruction.code() {
        Code::Call_rel32_64 | Code::Jmp_rel32_64 => (tables.behind(instruction.near_branch64())?, false),
        Code::Mov_r64_rm64
            if instruction.op1_kind() == OpKind::Memory && instruction.memory_base() == Register::RIP =>
        {
            (tables.address_in(instruction.memory_displacement64())?, true)
        }
        _ => return None,
    };
    let next = instruction.next_ip();
    // It may be farther away than an instruction can say: then it stays.
    let distance = i32::try_from(target.wrapping_sub(next).cast_signed()).ok()?;
    Some(Change { distance_at: next - 4, distance, is_load })
}

fn apply(code: &mut Part, change: &Change, relaxed: &mut Relaxed) {
    const MOV: u8 = 0x8b;
    const LEA: u8 = 0x8d;
    let at = (change.distance_at - code.address) as usize;
    if change.is_load {
        // The operation's byte, that of the operands, the distance.
        let operation = &mut code.bytes[at - 2];
        if *operation != MOV {
            return;
        }
        *operation = LEA;
        relaxed.loads += 1;
    } else {
        relaxed.calls += 1;
    }
    code.bytes[at..at + 4].copy_from_slice(&change.distance.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code at 0x1000, stubs at 0x2000, slots at 0x3000; mapped at 0x7000_0000.
    const BASE: u64 = 0x7000_0000;

    fn tables(slots: &[u64]) -> Tables {
        let jump = |at: u64, slot: u64| {
            let distance = (slot as i64 - (at as i64 + 6)) as i32;
            [&[0xff, 0x25][..], &distance.to_le_bytes(), &[0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0]].concat()
        };
        let with_mark = [&[0xf3, 0x0f, 0x1e, 0xfa][..], &jump(0x2024, 0x3000)].concat();
        let stubs = [jump(0x2000, 0x3000), jump(0x2010, 0x3008), with_mark].concat();
        let bytes = slots.iter().flat_map(|slot| slot.to_le_bytes()).collect();
        Tables {
            base: BASE,
            stubs: vec![Part { address: 0x2000, bytes: stubs }],
            slots: Part { address: 0x3000, bytes },
        }
    }

    fn relaxed(bytes: &[u8], slots: &[u64]) -> (Vec<u8>, Relaxed) {
        let mut code = Part { address: 0x1000, bytes: bytes.to_vec() };
        let whole = code.range();
        let relaxed = relax(&mut code, &[whole], &tables(slots));
        (code.bytes, relaxed)
    }

    fn branch(operation: u8, from: u64, to: u64) -> Vec<u8> {
        [&[operation][..], &((to as i64 - (from as i64 + 5)) as i32).to_le_bytes()].concat()
    }

    #[test]
    fn calls_and_jumps_through_stubs_become_direct() {
        for (stub, target) in [(0x2000, 0x1500), (0x2010, 0x4000), (0x2020, 0x1500)] {
            for operation in [0xe8, 0xe9] {
                let (bytes, counted) =
                    relaxed(&branch(operation, 0x1000, stub), &[BASE + 0x1500, BASE + 0x4000]);
                assert_eq!(bytes, branch(operation, 0x1000, target), "{operation:x} to {stub:x}");
                assert_eq!(counted, Relaxed { calls: 1, loads: 0 });
            }
        }
    }

    #[test]
    fn the_load_of_an_address_becomes_its_computation() {
        // mov r9, [rip + distance to 0x3008]; nop
        let load = [&[0x4c, 0x8b, 0x0d][..], &(0x3008_i32 - 0x1007).to_le_bytes(), &[0x90]].concat();
        let (bytes, counted) = relaxed(&load, &[0, BASE + 0x5000]);
        let expected = [&[0x4c, 0x8d, 0x0d][..], &(0x5000_i32 - 0x1007).to_le_bytes(), &[0x90]].concat();
        assert_eq!((bytes, counted), (expected, Relaxed { calls: 0, loads: 1 }));
    }

    /// Each is left as it is: other instructions with the same operands, what is too far away, what the loader has not filled.
    #[test]
    fn what_cannot_be_said_otherwise_stays() {
        let here = BASE + 0x1500;
        let from_slot = |operation: &[u8]| {
            [operation, &(0x3000_i32 - (0x1000 + operation.len() as i32 + 4)).to_le_bytes()].concat()
        };
        let cases = [
            (branch(0xe8, 0x1000, 0x2000), vec![BASE + (3 << 30), here], "too far"),
            (branch(0xe8, 0x1000, 0x2000), vec![0, here], "empty"),
            (branch(0xe8, 0x1000, 0x2000), vec![BASE + 0x2006, here], "the loader's"),
            (branch(0xe8, 0x1000, 0x2008), vec![here, here], "the middle of a stub"),
            (branch(0xe8, 0x1000, 0x1800), vec![here, here], "no stub"),
            (from_slot(&[0x48, 0x3b, 0x05]), vec![here, here], "cmp"),
            (from_slot(&[0x8b, 0x05]), vec![here, here], "half of a slot"),
            (from_slot(&[0x48, 0x8b, 0x05]), vec![0, here], "an empty slot"),
            (from_slot(&[0xff, 0x15]), vec![here, here], "a call through a slot"),
        ];
        for (bytes, slots, why) in cases {
            assert_eq!(relaxed(&bytes, &slots), (bytes, Relaxed::default()), "{why}");
        }
    }

    #[test]
    fn a_function_that_is_not_understood_stays_and_others_do_not() {
        let call = |from| branch(0xe8, from, 0x2000);
        // 0x06 is no instruction in 64-bit mode.
        let bytes = [call(0x1000), vec![0x06], call(0x1006)].concat();
        let mut code = Part { address: 0x1000, bytes: bytes.clone() };
        let counted =
            relax(&mut code, &[0x1000..0x1006, 0x1006..0x100b, 0x1006..0x2000], &tables(&[BASE + 0x1500]));
        assert_eq!(counted, Relaxed { calls: 1, loads: 0 });
        assert_eq!(code.bytes, [&bytes[..6], &branch(0xe8, 0x1006, 0x1500)].concat());
    }
}
