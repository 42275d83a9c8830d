from __future__ import annotations

import os
import threading
import tracemalloc

import pytest

from srh.files import FileRefusedError, open_folder, read_regular, remove_tree, write_whole


def test_reads_a_regular_file(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    assert read_regular(tmp_path / "a", 7) == b"content"


def test_refuses_a_file_over_the_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    with pytest.raises(FileRefusedError, match="limit of 6 bytes"):
        read_regular(tmp_path / "a", 6)


def test_refuses_a_link_even_to_a_good_file(tmp_path):
    (tmp_path / "a").write_bytes(b"secret")
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(FileRefusedError, match="regular file"):
        read_regular(tmp_path / "link", 100)


def test_does_not_wait_for_a_fifo(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileRefusedError, match="regular file"):
        read_regular(tmp_path / "pipe", 100)


@pytest.mark.parametrize("make", ["folder", "missing"])
def test_refuses_what_is_no_file(tmp_path, make):
    if make == "folder":
        (tmp_path / "a").mkdir()
    with pytest.raises(FileRefusedError):
        read_regular(tmp_path / "a", 100)


def test_an_endless_device_is_refused():
    with pytest.raises(FileRefusedError, match="regular file"):
        read_regular("/dev/zero", 100)


def test_a_linked_folder_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    with pytest.raises(FileRefusedError), open_folder(tmp_path / "link"):
        pass


def test_writing_replaces_a_planted_link_and_not_its_target(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / "result.json").symlink_to(victim)
    with open_folder(tmp_path) as folder:
        write_whole("result.json", b"new", folder=folder)
    assert victim.read_text() == "untouched"
    assert read_regular(tmp_path / "result.json", 10) == b"new"


def test_a_reader_never_sees_a_part(tmp_path):
    path = tmp_path / "file"
    contents = {bytes([letter]) * 200_000 for letter in b"ab"}
    write_whole(path, min(contents))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for content in contents:
                write_whole(path, content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = {path.read_bytes() for _ in range(200)}
    finally:
        stop.set()
        writer.join()
    assert seen <= contents
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix == ".part"] == []


def test_a_failed_write_leaves_no_temporary_file(tmp_path):
    (tmp_path / "target").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "target", b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["target"]


def test_a_tree_deeper_than_a_path_is_long_is_removed(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    inner = os.open(folder, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("deeper", dir_fd=inner)
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
        below = os.open("deeper", os.O_RDONLY, dir_fd=inner)
        os.close(inner)
        inner = below
    os.close(inner)
    remove_tree(folder)
    assert not folder.exists()


def test_a_tree_without_permissions_is_removed_and_nothing_is_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    folder = tmp_path / "tree"
    (folder / "closed" / "inside").mkdir(parents=True)
    (folder / "closed" / "link").symlink_to(kept)
    (folder / "link").symlink_to(kept)
    (folder / "closed" / "inside").chmod(0o000)
    (folder / "closed").chmod(0o300)
    remove_tree(folder)
    assert not folder.exists()
    assert (kept / "file").exists()


def test_a_generous_limit_takes_no_memory(tmp_path):
    (tmp_path / "small").write_bytes(b"small")
    tracemalloc.start()
    assert read_regular(tmp_path / "small", 1 << 30) == b"small"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
