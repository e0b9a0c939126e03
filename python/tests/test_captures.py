"""Captures as tables."""

import pytest

from bentpipe import Campaign, read_capture


@pytest.fixture
def files(small, tmp_path):
    recorded = small.set("record.packets", True).set("record.qlog", True)
    Campaign(recorded, folder=tmp_path, runs=1).run(progress=False, figures=False)
    return sorted((tmp_path / "packets").rglob("*"))


def test_a_capture_is_two_tables_with_causes_where_recorded(files):
    for suffix, recorded in ((".pcapng", None), (".qlog", True)):
        path = next(path for path in files if path.suffix == suffix)
        capture = read_capture(path)
        connections, segments = capture.connections.to_dict(), capture.segments.to_dict()
        assert connections["connection"] == [0]
        assert len(segments["time_s"]) == len(capture.segments) > 100
        assert segments["time_s"][0] == 0 and segments["seq"][0] == 0
        again = sum(segments["retransmission"])
        assert again == connections["retransmissions_forward"][0] + connections["retransmissions_back"][0] > 0
        if recorded:
            data = [cause for cause, length in zip(segments["cause"], segments["len"]) if length]
            assert data and None not in data[1:]


def test_what_is_no_capture_is_said_in_one_line(tmp_path):
    (tmp_path / "x.pcap").write_text("not a capture at all")
    with pytest.raises(OSError, match="cannot read .*x.pcap") as error:
        read_capture(tmp_path / "x.pcap")
    assert "\n" not in str(error.value)
    with pytest.raises(OSError):
        read_capture(tmp_path / "nowhere")


def test_one_that_is_cut_short_is_read_up_to_there(files, tmp_path):
    path = next(path for path in files if path.suffix == ".pcapng")
    short = tmp_path / "short.pcapng"
    short.write_bytes(path.read_bytes()[:-7])
    with pytest.warns(UserWarning, match="cut short"):
        capture = read_capture(short)
    assert len(capture.segments) == len(read_capture(path).segments) - 1
