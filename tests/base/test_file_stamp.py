"""What changes whenever a file is written, also behind a link and with its time set back."""

import os
from pathlib import Path

from gitnexus.base.file_stamp import file_stamp


def test_no_file_has_no_stamp(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")

    assert file_stamp(str(tmp_path / "none")) == file_stamp(str(tmp_path / "dangling")) == ""


def test_another_file_of_the_same_size_and_time_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    os.utime(file, ns=(1, 1))
    before = file_stamp(str(file))

    file.write_text("two")
    os.utime(file, ns=(1, 1))

    assert file_stamp(str(file)) != before


def test_what_is_written_behind_a_link_is_noticed_and_so_is_another_target(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("one")
    link = tmp_path / "link"
    link.symlink_to("a")
    stamps = [file_stamp(str(link))]

    (tmp_path / "a").write_text("more")
    stamps.append(file_stamp(str(link)))
    link.unlink()
    link.symlink_to("b")
    stamps.append(file_stamp(str(link)))

    assert len(set(stamps)) == 3
