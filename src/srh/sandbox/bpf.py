"""An assembler for the programs that the kernel runs before each system call (classic BPF).

A program is a list of rules, one per system call. A rule's clauses are tried in order, and the
first whose tests all hold decides: the call is made, or it fails with an error number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from srh.sandbox.syscalls import Architecture

ALLOW: Final = 0
"""The action that lets a call be made; any other number is the error that it fails with."""

WORD: Final = 2**64 - 1
_LOW: Final = 2**32 - 1

_LOAD: Final = 0x20  # load 32 bits of the call's description
_AND: Final = 0x54
_JUMP_EQUAL: Final = 0x15
_JUMP_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06

_RETURN_ALLOW: Final = 0x7FFF_0000
_RETURN_ERROR: Final = 0x0005_0000
_RETURN_KILL_PROCESS: Final = 0x8000_0000

# Where the description has what: number and architecture, then from byte 16 on six arguments of 64
# bits, the low half first on the architectures that we know.
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ARGUMENTS: Final = 16

_Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Test:
    """Holds if ``argument & mask == value``.

    Attributes:
        argument: Position of the argument, from 0.
        value: What its masked bits have to be.
        mask: Which of its 64 bits count.
    """

    argument: int
    value: int
    mask: int = WORD


@dataclass(frozen=True, slots=True)
class Below:
    """Holds if an argument, taken as an unsigned number of 64 bits, is less than a bound.

    Attributes:
        argument: Position of the argument, from 0.
        bound: The bound.
    """

    argument: int
    bound: int


def int_test(argument: int, value: int, mask: int = _LOW) -> Test:
    """Return a test of an argument of which the kernel reads the low 32 bits only."""
    return Test(argument, value, mask & _LOW)


@dataclass(frozen=True, slots=True)
class Clause:
    """What happens to a call if all the tests hold.

    Attributes:
        tests: The tests.
        action: `ALLOW` or an error number.
    """

    tests: tuple[Test | Below, ...]
    action: int = ALLOW


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to one system call.

    Attributes:
        call: Its name.
        otherwise: The action if no clause applies.
        clauses: Tried in order.
    """

    call: str
    otherwise: int
    clauses: tuple[Clause, ...] = ()


def assemble(
    rules: Iterable[Rule], architecture: Architecture, *, unknown: int, foreign: int
) -> bytes:
    """Return the program for a list of rules.

    A call by the convention of another architecture ends the process: its numbers mean other
    calls, and no library of ours makes one.

    Args:
        rules: One per call; a call that the architecture does not have is left out.
        architecture: The architecture.
        unknown: Error of every call that has no rule.
        foreign: Error of every call from the architecture's `foreign_from` on.
    """
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture.audit),
        (_RETURN, 0, 0, _RETURN_KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if architecture.foreign_from is not None:
        program += [(_JUMP_AT_LEAST, 0, 1, architecture.foreign_from), _end(foreign)]
    for rule in rules:
        number = architecture.numbers.get(rule.call)
        if number is not None:
            block = _block(rule)
            program += [(_JUMP_EQUAL, 0, len(block), number), *block]
    program.append(_end(unknown))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _block(rule: Rule) -> list[_Instruction]:
    block = [instruction for clause in rule.clauses for instruction in _clause(clause)]
    return [*block, _end(rule.otherwise)]


def _clause(clause: Clause) -> list[_Instruction]:
    """Return the instructions of a clause; where a test fails they jump past its end."""
    code: list[_Instruction] = [_end(clause.action)]
    for test in reversed(clause.tests):
        code = [*_test(test, len(code)), *code]
    return code


def _test(test: Test | Below, past: int) -> list[_Instruction]:
    """Return the instructions of a test: where it fails they jump ``past`` what follows."""
    return _below(test, past) if isinstance(test, Below) else _equal(test, past)


def _equal(test: Test, past: int) -> list[_Instruction]:
    halves = ((test.mask & _LOW, test.value & _LOW), (test.mask >> 32, test.value >> 32))
    code: list[_Instruction] = []
    for half, (mask, value) in enumerate(halves):
        if mask == 0:
            continue
        masking = [] if mask == _LOW else [(_AND, 0, 0, mask)]
        jump = (_JUMP_EQUAL, 0, past + len(code), value)
        code = [(_LOAD, 0, 0, _offset(test.argument, half)), *masking, jump, *code]
    return code


def _below(test: Below, past: int) -> list[_Instruction]:
    high, low = test.bound >> 32, test.bound & _LOW
    return [
        (_LOAD, 0, 0, _offset(test.argument, 1)),
        (_JUMP_AT_LEAST, 0, 3, high),  # its high half is less: it holds
        (_JUMP_EQUAL, 0, past + 2, high),
        (_LOAD, 0, 0, _offset(test.argument, 0)),
        (_JUMP_AT_LEAST, past, 0, low),
    ]


def _offset(argument: int, half: int) -> int:
    return _ARGUMENTS + 8 * argument + 4 * half


def _end(action: int) -> _Instruction:
    return (_RETURN, 0, 0, _RETURN_ALLOW if action == ALLOW else _RETURN_ERROR | action)
