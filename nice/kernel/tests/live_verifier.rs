// SPDX-License-Identifier: MIT OR Apache-2.0
//! What netnice's programs cost the kernel's verifier, and the stack that they need on any kernel. Needs root, and
//! fails while netnice is in use.

use std::sync::LazyLock;

use alone::alone;
use libbpf_rs::libbpf_sys::bpf_insn;
use netnice_kernel::objects::{self, Verified};
use netnice_kernel::pins::Pins;

mod alone;

/// Bytes of stack that a program may have with all functions that call each other (MAX_BPF_STACK).
const STACK_LIMIT: usize = 512;

/// Unit up to which Linux 6.1 rounds the stack of each function (check_max_stack_depth()); later ones round up to 16 bytes.
const STACK_UNIT: usize = 32;

/// Instructions that the verifier follows in a program before it refuses it (BPF_COMPLEXITY_LIMIT_INSNS).
const INSTRUCTIONS_LIMIT: usize = 1_000_000;

static VERIFIED: LazyLock<Vec<Verified>> = LazyLock::new(|| {
    let _alone = alone();
    let pins = Pins::open().unwrap();
    let verified = objects::verify(&pins).unwrap();
    pins.close().unwrap();
    verified
});

/// Returns the numbers at the beginning of a text, as `152+96 bytes`.
fn numbers(program: &Verified, text: &str) -> Vec<usize> {
    let numbers = text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .split('+');
    let numbers: Result<_, _> = numbers.map(str::parse).collect();
    numbers.unwrap_or_else(|_| panic!("no number at {text:?} in {:?}", program.figures))
}

/// Returns the number behind `name` in the verifier's figures.
fn figure(program: &Verified, name: &str) -> usize {
    let (_, rest) = (program.figures.split_once(name))
        .unwrap_or_else(|| panic!("no {name:?} in {:?}", program.figures));
    numbers(program, rest)[0]
}

/// Returns the bytes of stack of each function. Linux 6.18 tells them as `stack depth 152+96`, 7.3 has a line
/// `subprog 0 (name) … stack 152` for each.
fn frames<'a>(program: &'a Verified) -> Vec<usize> {
    let of_line = |line: &'a str| match line.strip_prefix("stack depth ") {
        Some(rest) => (!rest.starts_with("max ")).then_some(rest),
        None => Some(line.strip_prefix("subprog ")?.rsplit_once(" stack ")?.1),
    };
    let frames = program.figures.lines().filter_map(of_line);
    frames.flat_map(|text| numbers(program, text)).collect()
}

/// Returns the instruction that a call goes to, or at which a function begins that is called back.
fn called(at: usize, instruction: &bpf_insn) -> Option<usize> {
    // BPF_JMP | BPF_CALL with BPF_PSEUDO_CALL; BPF_LD | BPF_IMM | BPF_DW with BPF_PSEUDO_FUNC.
    let calls = matches!(
        (instruction.code, instruction.src_reg()),
        (0x85, 1) | (0x18, 4)
    );
    calls.then(|| at.wrapping_add_signed(instruction.imm as isize + 1))
}

/// Returns the stack of the function that begins at `start`, and of those that it calls, as 6.1 counts it. `functions` are
/// all starts in order, with the bytes of their stacks.
fn stack(start: usize, functions: &[(usize, usize)], instructions: &[bpf_insn]) -> usize {
    let number = functions.iter().position(|one| one.0 == start).unwrap();
    let end = functions
        .get(number + 1)
        .map_or(instructions.len(), |next| next.0);
    let deepest = (start..end)
        .filter_map(|at| called(at, &instructions[at]))
        .map(|start| stack(start, functions, instructions))
        .max();
    functions[number].1.max(1).next_multiple_of(STACK_UNIT) + deepest.unwrap_or(0)
}

fn stack_of(program: &Verified) -> usize {
    let instructions = &program.instructions;
    let mut starts: Vec<usize> = (instructions.iter().enumerate())
        .filter_map(|(at, instruction)| called(at, instruction))
        .chain([0])
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let bytes = frames(program);
    assert_eq!(starts.len(), bytes.len(), "{}", program.figures);
    let functions: Vec<_> = starts.into_iter().zip(bytes).collect();
    stack(0, &functions, instructions)
}

fn instructions_of(program: &Verified) -> usize {
    figure(program, "processed ")
}

#[test]
fn linux_6_1_has_stack_for_each_program() {
    for object in VERIFIED.chunk_by(|left, right| left.object == right.object) {
        let instructions: usize = object.iter().map(instructions_of).sum();
        let took_us: usize = (object.iter())
            .map(|program| figure(program, "verification time "))
            .sum();
        let bytes = object.iter().map(stack_of).max().unwrap();
        let name = object[0].object;
        // `tests/kernels/inside` shows these lines.
        println!(
            "verified: {name}: {instructions}; {}; {bytes}",
            took_us / 1000
        );
        assert!(
            bytes <= STACK_LIMIT,
            "{name}: functions that call each other need {bytes} bytes of stack, and Linux 6.1 allows {STACK_LIMIT}"
        );
    }
}

#[test]
fn programs_are_far_below_the_verifiers_limit() {
    for program in &*VERIFIED {
        assert!(
            instructions_of(program) <= INSTRUCTIONS_LIMIT / 10,
            "{}: {}",
            program.object,
            program.figures
        );
    }
}
