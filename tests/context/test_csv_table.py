from __future__ import annotations

import csv
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srh.context import DataSpec, load_dataset
from srh.context.csv_table import MAX_CSV_BYTES, read_csv
from srh.context.table import to_number
from srh.errors import DataError

BROKEN = {
    "nothing": (b"", ["data.csv", "the file is empty"]),
    "only blank lines": (b"\n\n", ["line 1 is blank", "must name the columns"]),
    "header only": (b"x,y\n", ["no data rows"]),
    "header and blanks": (b"x,y\n\n,\n", ["no data rows"]),
    "duplicate header": (b"x,y,x\n1,2,3\n", ["line 1", "columns 1 and 3", "'x'", "rename"]),
    "duplicate but for blanks": (b"x, x ,y\n1,2,3\n", ["columns 1 and 2", "'x'"]),
    "alike in NFKC": (
        "\u00b5,\u03bc,y\n1,2,3\n".encode(),
        ["columns 1 and 2", "are alike", "'\u00b5'", "'\u03bc'"],
    ),
    "empty header": (b"x,,y\n1,2,3\n", ["line 1", "column 2 has an empty name"]),
    "backtick in header": (b"x,a`b,y\n1,2,3\n", ["column 2", "backticks"]),
    "line break in header": (b'x,"a\nb",y\n1,2,3\n', ["column 2", "printable"]),
    "direction mark in header": ("x,a\u202eb,y\n1,2,3\n".encode(), ["column 2", "printable"]),
    "short row": (b"x,y\n1,2\n3\n4,5\n", ["line 3 has 1 cells", "header has 2"]),
    "long row": (b"x,y\n1,2\n3,4,5\n", ["line 3 has 3 cells", "header has 2", "quote"]),
    "blank line inside": (b"x,y\n1,2\n\n3,4\n", ["line 3 is blank", "rows follow"]),
    "odd blank row inside": (b"x,y\n1,2\n,,\n3,4\n", ["line 3 has 3 cells"]),
    "line after a quoted break": (b'x,y\n"1\n",2\n3\n', ["line 4 has 1 cells"]),
    "semicolons": (b"x;y\n1;2\n", ["one column", "'x;y'", "commas"]),
    "tabs": (b"x\ty\n1\t2\n", ["one column", "commas"]),
    "open quote": (b'x,y\n1,"2\n3,4\n', ["line 2", "unexpected end of data"]),
    "text after a quote": (b'x,y\n1,"2"3\n', ["line 2", "expected after"]),
    "huge cell": (b"x,y\n1," + b"9" * 200_000 + b"\n", ["line 2", "field larger"]),
    "not UTF-8": (b"x,y\n1,2\n3,\xff\n", ["line 3", "UTF-8"]),
    "UTF-16": ("x,y\n1,2\n".encode("utf-16"), ["NUL", "UTF-16"]),
    "text": (b"x,y\n1,2\nabc,4\n", ["column 'x'", "row 2 (line 3)", "'abc'", "not a number"]),
    "underscore": (b"x,y\n1_000,2\n", ["column 'x'", "row 1 (line 2)", "'1_000'", "grouped"]),
    "decimal comma": (b'x,y\n"1,5",2\n', ["'1,5'", "decimal mark is '.'"]),
    "typographic minus": ("x,y\n\u22121,2\n".encode(), ["'\u22121'", "write the minus as '-'"]),
    "digits of another script": ("x,y\n\uff11,2\n".encode(), ["'\uff11'", "not a number"]),
    "hexadecimal": (b"x,y\n0x10,2\n", ["'0x10'", "not a number"]),
    "infinite": (b"x,y\n1,2\ninf,4\n", ["column 'x'", "row 2 (line 3)", "inf", "not finite"]),
    "minus infinity": (b"x,y\n1,-Infinity\n", ["column 'y'", "row 1 (line 2)", "not finite"]),
    "overflow": (b"x,y\n1e999,2\n", ["column 'x'", "not finite"]),
    "missing": (b"x,y\n1,2\n,4\n", ["column 'x'", "row 2 (line 3)", "missing", '"drop"']),
    "missing target": (b"x,y\n1,2\n3,NA\n", ["column 'y'", "row 2 (line 3)", "missing"]),
    "text target": (b"x,y\n1,good\n2,bad\n", ["column 'y'", "row 1 (line 2)", "'good'", "target"]),
    "only the target": (b"y\n1\n2\n", ["no feature", "'y'"]),
    "target not there": (b"x,Y\n1,2\n", ["target", "no column 'y'", "did you mean 'Y'?", "'x'"]),
}


@pytest.mark.parametrize(("content", "parts"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_file_is_refused_with_its_place(
    tmp_path: Path, content: bytes, parts: list[str]
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_dataset(path, DataSpec(target="y"))
    message = str(caught.value)
    assert message.startswith("data.csv: ")
    for part in parts:
        assert part in message


def test_target_must_be_declared(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(DataError, match=r"set `target` in \[data\] .* 'x', 'y'"):
        load_dataset(path, DataSpec())


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "must be a regular file"),
    ],
)
def test_file_that_cannot_be_read(tmp_path: Path, make, part: str) -> None:
    path = tmp_path / "data.csv"
    make(path)
    with pytest.raises(DataError, match=part):
        load_dataset(path, DataSpec(target="y"))


def test_file_beyond_the_size_bound_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    with path.open("wb") as stream:
        stream.truncate(MAX_CSV_BYTES + 1)  # sparse
    with pytest.raises(DataError, match=r"limit of 134,217,728 bytes; .*\.npz"):
        read_csv(path)


def test_a_link_to_the_data_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("x,y\n1,2\n")
    (tmp_path / "data.csv").symlink_to(tmp_path / "real.csv")
    assert load_dataset(tmp_path / "data.csv", DataSpec(target="y")).y.tolist() == [2.0]


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n3,4\n",
        b"a,b\n1,2\n3,4",
        b"\xef\xbb\xbfa,b\r\n1,2\r\n3,4\r\n",
        b"a,b\r1,2\r3,4\r",
        b"a,b\n1,2\n3,4\n\n  \n,,,\n\n",
        b'"a"," b "\n" 1 ","2"\n3 , 4\n',
        "\uff41,b\n1,2\n3,4\u00a0\n".encode(),
    ],
    ids=["plain", "no last newline", "BOM and CRLF", "CR", "blank tail", "quoted", "NFKC"],
)
def test_forms_of_the_same_table(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    table = read_csv(path)
    assert {name: column.tolist() for name, column in table.columns.items()} == {
        "a": [1.0, 3.0],
        "b": [2.0, 4.0],
    }
    assert table.lines is not None
    assert table.lines.tolist() == [2, 3]
    assert table.notes == ()


def test_rows_of_bare_separators_at_the_end_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n,\n , \n\n")
    table = read_csv(path)
    assert table.n_rows == 1
    assert table.notes == ("2 empty rows at the end ignored",)


def test_lines_count_breaks_inside_quotes(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text('name,y\n"two\nlines",1\nplain,2\n')
    table = read_csv(path)
    assert table.columns["name"].tolist() == ["two\nlines", "plain"]
    assert table.lines is not None
    assert table.lines.tolist() == [2, 4]


@pytest.mark.parametrize("cell", ["", " ", "NA", "nan", "NaN", "-nan", "NAN"])
def test_missing_cells(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"x,label,y\n1,a,1\n{cell},{cell},2\n")
    table = read_csv(path)
    assert np.isnan(table.columns["x"][1])
    assert table.columns["label"].tolist() == ["a", None]


@pytest.mark.parametrize("cell", ["Na", "na", "None", "null", "N/A", "-", "?"])
def test_what_else_people_write_is_text_not_missing(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"x,y\n1,1\n{cell},2\n")
    assert read_csv(path).columns["x"].tolist() == ["1", cell]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_exactly(number: float) -> None:
    read = to_number(repr(number))
    assert read is not None
    assert read.hex() == number.hex()  # tells -0.0 from 0.0


CELLS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), CELLS), min_size=1))
def test_whatever_a_csv_writer_writes_is_read_back(rows: list[tuple[float, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["number", "text"])
            writer.writerows((repr(number), f"T{text}") for number, text in rows)
        table = read_csv(path)
    assert table.columns["number"].tolist() == [number for number, _ in rows]
    assert table.columns["text"].tolist() == [f"T{text}".strip() for _, text in rows]


def test_a_large_table_keeps_every_bit(tmp_path: Path) -> None:
    draw = random.Random(1)  # noqa: S311
    numbers = [
        [draw.uniform(-1, 1) * 10 ** draw.randint(-300, 300) for _ in "abc"] for _ in "x" * 500
    ]
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n" + "".join(f"{a!r},{b:.17e},{c!r}\n" for a, b, c in numbers))
    table = read_csv(path)
    assert np.column_stack(list(table.columns.values())).tolist() == numbers
