"""Colours of recorded output, reduced to those that hide nothing on a dark or a light screen."""

from __future__ import annotations

from collections.abc import Iterator

KEPT = frozenset((0, 1, 2, 3, 4, 7, 9, 21, 22, 23, 24, 27, 29, 39, *range(31, 37), *range(90, 97)))
"""Codes that change how text looks but cannot hide it: no background, no concealing, no blinking, no black or white."""
DEFAULT = "39"
BLACK_OR_WHITE = frozenset((30, 37, 97))
DARKEST, LIGHTEST = 0.04, 0.8
MAX_CODES = 64
"""Numbers in one escape code that are read."""


def readable_colours(code: str) -> str:
    """The escape code of a colour (`ESC [ … m`) without what could hide text; empty if nothing remains."""
    numbers = [int(number) if len(number) < 4 else -1 for number in _numbers(code)]
    kept = ";".join(_kept(numbers))
    return f"\x1b[{kept}m" if kept else ""


def _numbers(code: str) -> list[str]:
    return [number or "0" for number in code[2:-1].replace(":", ";").split(";", MAX_CODES)[:MAX_CODES]]


def _kept(numbers: list[int]) -> Iterator[str]:
    at = 0
    while at < len(numbers):
        number = numbers[at]
        at += 1
        if number in KEPT:
            yield str(number)
        elif number in BLACK_OR_WHITE:
            yield DEFAULT
        elif number in (38, 48):
            colour = numbers[at : at + (4 if numbers[at : at + 1] == [2] else 2)]
            at += len(colour)
            if number == 38:
                yield ";".join(["38", *map(str, colour)]) if _is_readable(colour) else DEFAULT


def _is_readable(colour: list[int]) -> bool:
    if not all(0 <= value <= 255 for value in colour):
        return False
    match colour:
        case [5, index]:
            return DARKEST < _luminance(*_rgb(index)) < LIGHTEST
        case [2, red, green, blue]:
            return DARKEST < _luminance(red, green, blue) < LIGHTEST
        case _:
            return False


def _rgb(index: int) -> tuple[int, int, int]:
    """The red, green and blue of one of 256 colours; of the first 16, terminals agree on black and white only."""
    if index < 16:
        return {0: (0, 0, 0), 7: (255, 255, 255), 15: (255, 255, 255)}.get(index, (128, 128, 128))
    if index >= 232:
        grey = 8 + (index - 232) * 10
        return grey, grey, grey
    cube = index - 16
    red, green, blue = (55 + step * 40 if step else 0 for step in (cube // 36, cube // 6 % 6, cube % 6))
    return red, green, blue


def _luminance(red: int, green: int, blue: int) -> float:
    """How bright a colour looks, from 0 to 1."""
    return (0.2126 * red**2 + 0.7152 * green**2 + 0.0722 * blue**2) / 255**2
