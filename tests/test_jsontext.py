"""Reading and writing any JSON text."""

import json
import math
from typing import Any

import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st
from making import DEPTH

from reread.base import jsontext

WORDS = st.text(st.characters(codec=None), max_size=6)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), FLOATS, WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(WORDS, VALUES, min_size=1, max_size=2)
NESTED = {
    "lists": "[" * DEPTH + "1" + "]" * DEPTH,
    "objects": '{"a":' * DEPTH + "null" + "}" * DEPTH,
    "both": '[{"a":' * DEPTH + '"x"' + "}]" * DEPTH,
}


def depth(value: Any) -> int:
    """Return how deep a value is nested."""
    deep = 0
    while isinstance(value, list | dict):
        deep += 1
        value = next(iter(value.values() if isinstance(value, dict) else value), None)
    return deep


class TestLoads:
    """Any JSON text is read; anything else raises ValueError."""

    @given(VALUES, st.booleans())
    def test_reads_what_json_writes(self, value: Any, ascii_only: bool) -> None:
        written = json.dumps(value, ensure_ascii=ascii_only)
        if ascii_only or not has_surrogates(written):
            assert jsontext.loads(written.encode()) == value

    @table(
        ("written", "value"),
        [
            (b'"\\ud83d"', "\ud83d"),
            (b'{"\\ud83d":1}', {"\ud83d": 1}),
            (b"Infinity", math.inf),
            (b"[-Infinity]", [-math.inf]),
            (b"123456789012345678901234567890", 123456789012345678901234567890),
            (b"[18446744073709551616]", [2**64]),
            (b'{"a":1,"a":2}', {"a": 2}),
            (b'"raw \x01 control"', "raw \x01 control"),
            (b'"tab\there"', "tab\there"),
            (b'"\xff"', "�"),
            (b' {"a" : 1}\r\n', {"a": 1}),
            (b'"\xe2\x80\xa8"', "\u2028"),
        ],
    )
    def test_what_strict_readers_refuse(self, written: bytes, value: Any) -> None:
        assert jsontext.loads(written) == value

    def test_not_a_number(self) -> None:
        assert math.isnan(jsontext.loads(b"NaN"))

    def test_integers_too_long_for_python_are_kept(self) -> None:
        digits = "9" * 10_000
        assert str(jsontext.loads(f"[{digits}]".encode())[0]) in (digits, "inf")

    @pytest.mark.parametrize("written", NESTED.values(), ids=NESTED)
    def test_any_depth(self, written: str) -> None:
        assert depth(jsontext.loads(written.encode())) == written.count("[") + written.count("{")

    @table(
        "inner",
        ["1", "-1.5e3", '"a\\n"', "true", "null", "NaN", "[]", "{}", '{"b":[1,2],"c":{}}', "[ 1 , 2 ]"],
    )
    def test_deeply_nested_values_are_the_same_as_others(self, inner: str) -> None:
        value = jsontext.loads(f"{'[' * DEPTH}{inner}{']' * DEPTH}".encode())
        for _ in range(DEPTH):
            (value,) = value
        assert repr(value) == repr(jsontext.loads(inner.encode()))

    @table("deep", [0, DEPTH])
    @table(
        "broken",
        [
            b"{",
            b'{"a"',
            b'{"a":',
            b'{"a":1',
            b"[1,]",
            b'{"a":1,}',
            b"{1:2}",
            b"]",
            b"1 2",
            b"nul",
            b"'a'",
            b"\xff",
        ],
    )
    def test_invalid_json_is_a_value_error(self, broken: bytes, deep: int) -> None:
        with pytest.raises(ValueError):
            jsontext.loads(b"[" * deep + broken + b"]" * deep)

    @pytest.mark.parametrize("nothing", [b"", b" \n", b"\xef\xbb\xbf"])
    def test_empty_input_is_a_value_error(self, nothing: bytes) -> None:
        with pytest.raises(ValueError):
            jsontext.loads(nothing)

    @pytest.mark.parametrize("wrong", ["[" * DEPTH + "}" * DEPTH, "[" * DEPTH + "1}" + "]" * DEPTH, '{"a":' * DEPTH])
    def test_deep_invalid_json_is_a_value_error(self, wrong: str) -> None:
        with pytest.raises(ValueError):
            jsontext.loads(wrong.encode())

    @given(st.binary(max_size=40))
    def test_no_bytes_raise_anything_else(self, data: bytes) -> None:
        try:
            jsontext.loads(data)
        except ValueError:
            return

    @given(st.text('[]{}":,1 nulltruefase\\"', max_size=30))
    def test_no_text_raises_anything_else(self, written: str) -> None:
        try:
            jsontext.loads(b"[" * DEPTH + written.encode() + b"]" * DEPTH)
        except ValueError:
            return


class TestLoadsClean:
    """Every string of the value can be encoded."""

    def test_lone_surrogates_are_replaced_everywhere(self) -> None:
        value = jsontext.loads_clean(b'{"\\ud800":["\\uDFFF",{"a":"x\\ud83dy"}],"b":"\\ud83d\\ude00"}')
        assert value == {"�": ["�", {"a": "x�y"}], "b": "😀"}

    def test_deeply_nested_surrogates_are_replaced(self) -> None:
        value = jsontext.loads_clean(b"[" * DEPTH + b'"\\ud800"' + b"]" * DEPTH)
        for _ in range(DEPTH):
            (value,) = value
        assert value == "�"

    @pytest.mark.parametrize("written", [b'"\\ud83d"', b'"\\uD83D"', b'"\\uDbFf"'])
    def test_surrogates_may_be_escaped_in_any_case(self, written: bytes) -> None:
        assert jsontext.loads_clean(written) == "�"

    @given(VALUES)
    def test_every_string_can_be_encoded(self, value: Any) -> None:
        json.dumps(jsontext.loads_clean(json.dumps(value).encode()), ensure_ascii=False).encode()

    @given(VALUES)
    def test_replacing_surrogates_does_not_change_the_original(self, value: Any) -> None:
        before = repr(value)
        cleaned = jsontext.replace_surrogates(value)
        assert repr(value) == before
        assert has_surrogates(before) or cleaned == value


class TestDumps:
    """Every value that was read can be written again as UTF-8."""

    @given(VALUES)
    def test_round_trip(self, value: Any) -> None:
        clean = jsontext.replace_surrogates(value)
        assert jsontext.loads(jsontext.dumps(clean)) == clean

    @pytest.mark.parametrize("written", NESTED.values(), ids=NESTED)
    def test_any_depth(self, written: str) -> None:
        assert jsontext.dumps(jsontext.loads(written.encode())) == written.encode()

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            (["\ud800"], '["�"]'),
            ({"\ud800": 1}, '{"�":1}'),
            ([2**70, -(2**70)], f"[{2**70},{-(2**70)}]"),
            ([math.nan, math.inf], "[null,null]"),
            (
                [2**70, math.nan, True, None, 1.5, "é\n", {}, []],
                f'[{2**70},null,true,null,1.5,"é\\n",{{}},[]]',
            ),
        ],
    )
    def test_what_strict_writers_refuse(self, value: Any, written: str) -> None:
        assert jsontext.dumps(value).decode() == written


class TestObjectEnd:
    """Finding the end of an object inside a text."""

    @given(OBJECTS, st.sampled_from(["", "{", "}", " x", ',"a"', "\x00"]))
    def test_it_is_found_whatever_follows(self, value: Any, after: str) -> None:
        written = json.dumps(value)
        assert jsontext.object_end(f"ab{written}{after}", 2) == 2 + len(written)

    @given(OBJECTS, st.data())
    def test_a_torn_object_has_no_end(self, value: Any, choice: st.DataObject) -> None:
        written = json.dumps(value)
        assert jsontext.object_end(written[: choice.draw(st.integers(1, len(written) - 1))], 0) == -1

    def test_the_end_of_a_deep_object(self) -> None:
        written = NESTED["objects"]
        assert jsontext.object_end(written + "{", 0) == len(written)
        assert jsontext.object_end(written[:-1], 0) == -1

    @table(
        ("written", "end"),
        [
            ("{}", 2),
            ('{"a":"}"}', 9),
            ('{"a":"\\"}"}', 11),
            ('{"a":"\\\\"}', 10),
            ("[{}]x", 4),
            ('{"a":"', -1),
            ('{"a":"\\', -1),
            ("{[}", -1),
        ],
    )
    def test_brackets_inside_strings_do_not_count(self, written: str, end: int) -> None:
        assert jsontext.ValueScanner().find_end(written, 0) == end

    @given(OBJECTS, st.data())
    def test_it_is_found_in_pieces(self, value: Any, choice: st.DataObject) -> None:
        written = json.dumps(value)
        scanner, cut = jsontext.ValueScanner(), choice.draw(st.integers(0, len(written) - 1))
        assert scanner.find_end(written[:cut], 0) == -1
        assert cut + scanner.find_end(written[cut:] + '"}', 0) == len(written)


def has_surrogates(text: str) -> bool:
    """True if a text contains surrogates, escaped or not."""
    return any("\ud800" <= character <= "\udfff" for character in text) or "\\ud" in text
