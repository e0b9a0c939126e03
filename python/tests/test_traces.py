"""Contenders on traces of links, with a congestion control in Python among them."""

import pytest

import bentpipe as bp


class Steady(bp.tcp.CongestionControl):
    """Twenty segments, whatever happens."""

    decides_in_recovery = True

    def on_ack(self, smss):
        return 20 * smss

    def on_loss(self, smss):
        return 20 * smss


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "x_uplink.csv"
    file.write_text("time,rate,delay\n0s,4Mbit/s,20ms\n3s,8Mbit/s,30ms\n5s,4Mbit/s,20ms\n")
    return file


def test_a_control_in_python_is_scored_beside_gateways(trace, tmp_path):
    bench = bp.TraceBench(
        trace, contenders=["gateways"], controls={"steady": Steady}, flows=[1, 2], folder=tmp_path / "results"
    )
    with pytest.raises(bp.NoResults):
        bench.scores()
    rows = bench.run(progress=False, figures=False).scores()
    assert [(row["contender"], row["flows"]) for row in rows] == [
        ("gateways", 1),
        ("steady", 1),
        ("gateways", 2),
        ("steady", 2),
    ]
    for row in rows:
        assert (row["trace"], row["way"]) == ("x_uplink", "up")
        assert 0.3 < row["utilisation"] <= 1.0
        assert row["delay_p50_s"] >= 0.04  # the trace's own, there and back
    # 20 segments in 40 to 60 ms are all that it keeps on its way.
    assert bench.means()[1]["drop_share"] == 0
    # Another look runs nothing: the folder has it all.
    again = bp.TraceBench(
        trace, contenders=["gateways"], controls={"steady": Steady}, flows=[1, 2], folder=tmp_path / "results"
    )
    assert again.scores() == rows


def test_a_control_that_is_changed_is_scored_again(trace, tmp_path):
    def scored(segments):
        class Fixed(bp.tcp.CongestionControl):
            """So many segments."""

            decides_in_recovery = True

            def on_ack(self, smss):
                return segments * smss

            def on_loss(self, smss):
                return segments * smss

        bench = bp.TraceBench(trace, contenders=[], controls={"fixed": Fixed}, flows=1, folder=tmp_path / "results")
        return bench.run(progress=False, figures=False).means()[0]["utilisation"]

    assert scored(20) > 2 * scored(4)


def test_a_parameter_makes_a_contender_of_its_own(trace, tmp_path):
    class Fixed(bp.tcp.CongestionControl):
        """So many segments."""

        decides_in_recovery = True

        def __init__(self, segments=20):
            self.segments = segments

        def on_ack(self, smss):
            return self.segments * smss

        def on_loss(self, smss):
            return self.segments * smss

    bench = bp.TraceBench(
        trace,
        contenders=["fixed", "fixed:segments=4", "few=linux,congestion=fixed:segments=4"],
        controls={"fixed": Fixed},
        flows=1,
        duration=4,
        folder=tmp_path / "results",
    )
    many, few, same = bench.run(progress=False, figures=False).means()
    assert [row["contender"] for row in (many, few, same)] == ["fixed", "fixed:segments=4", "few"]
    assert many["utilisation"] > 2 * few["utilisation"] and few["utilisation"] == same["utilisation"]


def test_what_is_wrong_is_said(trace, tmp_path):
    with pytest.raises(ValueError, match="no congestion control is called `cubik`"):
        bp.TraceBench(trace, contenders=["cubik"])
    with pytest.raises(ValueError, match='expected "up" or "down"'):
        bp.TraceBench(trace, way="left")
    with pytest.raises(OSError, match="none.csv"):
        bp.TraceBench(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="`cubic` is bentpipe's own"):
        bp.TraceBench(trace, controls={"cubic": Steady})
