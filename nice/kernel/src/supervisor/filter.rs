// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seccomp filter: which system calls go to the supervisor, and which the filter answers itself. It covers every
//! instruction set whose programs the kernel runs.

use libc::sock_filter;

const AF_INET: u32 = libc::AF_INET as u32;
const AF_INET6: u32 = libc::AF_INET6 as u32;
const SOCK_STREAM: u32 = libc::SOCK_STREAM as u32;
/// `SOCK_TYPE_MASK`: the rest of the type argument is flags.
const TYPE_MASK: u32 = 0xf;

/// Sub-calls of `socketcall`, the only system call for sockets on some 32-bit systems.
pub(super) mod socketcall {
    pub(crate) const SOCKET: u64 = 1;
    pub(crate) const LISTEN: u64 = 4;
    pub(crate) const SETSOCKOPT: u64 = 14;
}

/// Numbers of the filtered calls under one of the kernel's calling conventions.
pub(super) struct Convention {
    /// Value in `seccomp_data.arch`.
    pub(super) architecture: u32,
    pub(super) socket: u32,
    pub(super) listen: u32,
    pub(super) setsockopt: u32,
    pub(super) io_uring_setup: u32,
    pub(super) socketcall: Option<u32>,
}

/// On x86-64 a program may use 32-bit calls at any time, and those of the x32 ABI, whose numbers have an extra bit (and
/// one for `setsockopt` that is not among the others).
#[cfg(target_arch = "x86_64")]
pub(super) const CONVENTIONS: &[Convention] = &[
    Convention {
        architecture: 0xc000_003e,
        socket: 41,
        listen: 50,
        setsockopt: 54,
        io_uring_setup: 425,
        socketcall: None,
    },
    Convention {
        architecture: 0xc000_003e,
        socket: 41 | X32,
        listen: 50 | X32,
        setsockopt: 541 | X32,
        io_uring_setup: 425 | X32,
        socketcall: None,
    },
    Convention {
        architecture: 0x4000_0003,
        socket: 359,
        listen: 363,
        setsockopt: 366,
        io_uring_setup: 425,
        socketcall: Some(102),
    },
];
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

#[cfg(target_arch = "aarch64")]
pub(super) const CONVENTIONS: &[Convention] = &[
    Convention {
        architecture: 0xc000_00b7,
        socket: 198,
        listen: 201,
        setsockopt: 208,
        io_uring_setup: 425,
        socketcall: None,
    },
    Convention {
        architecture: 0x4000_0028,
        socket: 281,
        listen: 284,
        setsockopt: 294,
        io_uring_setup: 425,
        socketcall: None,
    },
];

#[cfg(target_arch = "riscv64")]
pub(super) const CONVENTIONS: &[Convention] = &[Convention {
    architecture: 0xc000_00f3,
    socket: 198,
    listen: 201,
    setsockopt: 208,
    io_uring_setup: 425,
    socketcall: None,
}];

#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
)))]
pub(super) const CONVENTIONS: &[Convention] = &[];

/// Returns the filter program. With `guard_mark`, attempts to change the DSCP go to the supervisor, too.
pub(super) fn program(guard_mark: bool) -> Vec<sock_filter> {
    let mut program = Vec::new();
    for convention in CONVENTIONS {
        let block = [
            when(convention.socket, socket()),
            when(convention.listen, vec![notify()]),
            when(convention.setsockopt, setsockopt(guard_mark)),
            // io_uring would create sockets behind the filter's back. Programs that use it when available work without
            // it.
            when(convention.io_uring_setup, vec![fail(libc::ENOSYS)]),
            convention
                .socketcall
                .map(|number| when(number, multiplexed()))
                .unwrap_or_default(),
        ]
        .concat();
        program.push(load_architecture());
        program.extend(when(
            convention.architecture,
            [vec![load_number()], block].concat(),
        ));
    }
    program.push(allow());
    program
}

/// Sends TCP `socket` calls to the supervisor.
fn socket() -> Vec<sock_filter> {
    [
        vec![load_argument(0)],
        unless(&[AF_INET, AF_INET6], allow()),
        vec![load_argument(1), and(TYPE_MASK)],
        unless(&[SOCK_STREAM], allow()),
        vec![notify()],
    ]
    .concat()
}

fn setsockopt(guard_mark: bool) -> Vec<sock_filter> {
    let option = |level: libc::c_int, name: libc::c_int, answer| {
        let name = [
            vec![load_argument(2)],
            unless(&[name as u32], allow()),
            vec![answer],
        ];
        [vec![load_argument(1)], when(level as u32, name.concat())].concat()
    };
    // The call succeeds without effect.
    let mut block = option(libc::SOL_TCP, libc::TCP_CONGESTION, fail(0));
    if guard_mark {
        block.extend(option(libc::SOL_IP, libc::IP_TOS, notify()));
        block.extend(option(libc::SOL_IPV6, libc::IPV6_TCLASS, notify()));
    }
    block.push(allow());
    block
}

/// Sends the call to the supervisor: its arguments are in memory, which a filter cannot read.
fn multiplexed() -> Vec<sock_filter> {
    let calls = [
        socketcall::SOCKET,
        socketcall::LISTEN,
        socketcall::SETSOCKOPT,
    ]
    .map(|call| call as u32);
    [
        vec![load_argument(0)],
        unless(&calls, allow()),
        vec![notify()],
    ]
    .concat()
}

/// Runs `block`, which must end with an answer, if the accumulator equals `value`.
fn when(value: u32, block: Vec<sock_filter>) -> Vec<sock_filter> {
    let skipped = u8::try_from(block.len()).expect("blocks are short");
    [vec![jump_if_equal(value, 0, skipped)], block].concat()
}

/// Returns `answer` if the accumulator equals none of `values`.
fn unless(values: &[u32], answer: sock_filter) -> Vec<sock_filter> {
    let mut block: Vec<_> = (values.iter().zip((1..=values.len()).rev()))
        .map(|(value, rest)| {
            let past = u8::try_from(rest).expect("lists are short");
            jump_if_equal(*value, past, 0)
        })
        .collect();
    block.push(answer);
    block
}

fn load_number() -> sock_filter {
    load(0)
}

fn load_architecture() -> sock_filter {
    load(4)
}

/// All these arguments are `int`: the kernel ignores the upper half, and so must the filter.
fn load_argument(index: u32) -> sock_filter {
    load(16 + 8 * index + if cfg!(target_endian = "big") { 4 } else { 0 })
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

fn and(mask: u32) -> sock_filter {
    instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask)
}

fn jump_if_equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    instruction(code, then, otherwise, value)
}

fn allow() -> sock_filter {
    answer(libc::SECCOMP_RET_ALLOW)
}

fn notify() -> sock_filter {
    answer(libc::SECCOMP_RET_USER_NOTIF)
}

fn fail(error: libc::c_int) -> sock_filter {
    answer(libc::SECCOMP_RET_ERRNO | error as u32)
}

fn answer(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, action)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    let code = u16::try_from(code).expect("codes have 16 bits");
    sock_filter { code, jt, jf, k }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    const NATIVE: u32 = 0xc000_003e;
    const I386: u32 = 0x4000_0003;
    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
    const NOTIFY: u32 = libc::SECCOMP_RET_USER_NOTIF;
    const ERRNO: u32 = libc::SECCOMP_RET_ERRNO;

    /// Runs the program like the kernel.
    fn decide(program: &[sock_filter], architecture: u32, number: u32, args: [u64; 6]) -> u32 {
        let mut data = [number.to_ne_bytes(), architecture.to_ne_bytes()].concat();
        data.extend([0; 8]);
        data.extend(args.iter().flat_map(|argument| argument.to_ne_bytes()));
        let (mut accumulator, mut at) = (0u32, 0);
        loop {
            let step = &program[at];
            at += 1;
            match u32::from(step.code) {
                0x20 => {
                    let from = step.k as usize;
                    accumulator = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
                }
                0x54 => accumulator &= step.k,
                0x15 => {
                    at += usize::from(if accumulator == step.k {
                        step.jt
                    } else {
                        step.jf
                    })
                }
                0x06 => return step.k,
                code => panic!("instruction {code:#x}"),
            }
        }
    }

    #[test]
    fn stream_sockets_of_both_families_are_put_before_the_supervisor() {
        let program = program(true);
        let socket =
            |number, arch, domain, kind| decide(&program, arch, number, [domain, kind, 0, 0, 0, 0]);
        let flags = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u64;
        for (number, arch) in [(41, NATIVE), (41 | X32, NATIVE), (359, I386)] {
            assert_eq!(socket(number, arch, 2, 1), NOTIFY);
            assert_eq!(socket(number, arch, 10, 1 | flags), NOTIFY);
            // The kernel ignores the upper half, too.
            assert_eq!(socket(number, arch, 2 | 7 << 32, 1 | 7 << 32), NOTIFY);
            assert_eq!(socket(number, arch, 2, 2), ALLOW, "UDP");
            assert_eq!(socket(number, arch, 1, 1), ALLOW, "Unix domain");
        }
        for (number, arch) in [(50, NATIVE), (50 | X32, NATIVE), (363, I386)] {
            assert_eq!(decide(&program, arch, number, [3, 5, 0, 0, 0, 0]), NOTIFY);
        }
        assert_eq!(decide(&program, I386, 102, [4, 0, 0, 0, 0, 0]), NOTIFY);
        assert_eq!(decide(&program, I386, 102, [1, 0, 0, 0, 0, 0]), NOTIFY);
        assert_eq!(decide(&program, I386, 102, [14, 0, 0, 0, 0, 0]), NOTIFY);
        assert_eq!(
            decide(&program, I386, 102, [3, 0, 0, 0, 0, 0]),
            ALLOW,
            "connect"
        );
        assert_eq!(decide(&program, I386, 41, [2, 1, 0, 0, 0, 0]), ALLOW);
    }

    #[test]
    fn the_control_can_not_be_changed_and_the_mark_only_where_it_is_not_ours() {
        for (guarded, expected) in [(true, NOTIFY), (false, ALLOW)] {
            let program = program(guarded);
            for (number, arch) in [(54, NATIVE), (541 | X32, NATIVE), (366, I386)] {
                let option =
                    |level, name| decide(&program, arch, number, [3, level, name, 0, 4, 0]);
                assert_eq!(
                    option(6, 13),
                    ERRNO,
                    "TCP_CONGESTION succeeds, without effect"
                );
                assert_eq!(option(0, 1), expected, "IP_TOS");
                assert_eq!(option(41, 67), expected, "IPV6_TCLASS");
                assert_eq!(option(6, 1), ALLOW, "TCP_NODELAY");
                assert_eq!(option(1, 13), ALLOW, "SO_LINGER");
                assert_eq!(option(0, 2), ALLOW, "IP_TTL");
            }
        }
    }

    #[test]
    fn there_is_no_io_uring_and_all_else_is_allowed() {
        let program = program(true);
        let nothing = [0; 6];
        for (number, arch) in [(425, NATIVE), (425 | X32, NATIVE), (425, I386)] {
            let answer = decide(&program, arch, number, nothing);
            assert_eq!(answer, ERRNO | libc::ENOSYS as u32);
        }
        assert_eq!(decide(&program, NATIVE, 59, nothing), ALLOW, "execve");
        assert_eq!(decide(&program, NATIVE, 42, nothing), ALLOW, "connect");
    }
}
