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
    with pytest.warns(UserWarning, match="short.pcapng: ends in the middle of packet"):
        capture = read_capture(short)
    assert len(capture.segments) == len(read_capture(path).segments) - 1


def test_layers_that_are_not_read_are_named(tmp_path):
    # A frame of TCP over Ethernet, and one of an EtherType of nobody's.
    tcp = bytes.fromhex(
        "020000000002020000000001" "0800" "4500002800010000400666cd0a0000010a000002" "04000050000000010000000050022000917c0000"
    )
    other = bytes.fromhex("020000000002020000000001" "88b5") + bytes(46)
    head = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    packet = lambda frame: b"".join(n.to_bytes(4, "little") for n in (1, 0, len(frame), len(frame))) + frame
    file = tmp_path / "other.pcap"
    file.write_bytes(head + packet(tcp) + packet(other))
    with pytest.warns(UserWarning, match=r"other.pcap: 1 packet holds EtherType 0x88b5, which is not read"):
        assert len(read_capture(file).segments) == 1
