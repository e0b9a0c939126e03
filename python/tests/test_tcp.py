"""TCP by hand."""

import pytest

from bentpipe import tcp


def download(size: int = 200_000, until: float = 60.0, **options) -> tuple[tcp.Path, bytes, list[tcp.Sent]]:
    path = tcp.Path(reads=False, **options)
    data = bytes(number * 31 % 251 for number in range(size))
    path.client.write(b"x")
    path.serve(data)
    got, sent = b"", []
    for event in path.run(until=until):
        sent.append(event)
        got += path.client.read()
        if path.server is not None:
            path.server.read()
        if len(got) == size:
            break
    assert got == data
    return path, got, sent


def test_bytes_arrive_and_state_can_be_read():
    path, _, sent = download()
    assert [event.segment.flags for event in sent[:3]] == ["SYN", "SYN ACK", "ACK PSH"]
    known = path.server.observe()
    assert known.cwnd > 10 * known.smss and known.delivered > 100_000 and known.lost == 0
    assert 0.5 <= known.min_rtt < 0.52 and path.client.state in ("ESTABLISHED", "CLOSE-WAIT")


def test_the_same_calls_give_the_same_segments():
    one, other = (download(loss="2%", seed=7)[2] for _ in range(2))
    assert [str(event) for event in one] == [str(event) for event in other]
    assert any(event.segment.retransmission for event in one)
    assert [str(event) for event in download(loss="2%", seed=8)[2]] != [str(event) for event in one]


def test_a_run_in_parts_is_the_run():
    def path():
        path = tcp.Path(loss="2%", seed=7)
        path.client.write(b"x")
        path.serve(bytes(300_000))
        return path

    whole = [str(event) for event in path().run(until=6.0)]
    other, parts = path(), []
    for quarter in range(1, 25):
        parts += [str(event) for event in other.run(until=quarter / 4)]
        assert other.now == quarter / 4
    assert parts == whole and len(whole) > 200


def test_by_hand_a_segment_that_is_dropped_is_sent_again():
    def all_of(end, now):
        return list(iter(lambda: end.transmit(now), None))

    client = tcp.Connection.connect(0.0)
    server = tcp.Connection.accept(0.0, client.transmit(0.0))
    client.receive(0.1, server.transmit(0.0))
    data = bytes(number % 251 for number in range(10 * client.observe().smss))
    assert client.write(data) == len(data)
    sent = all_of(client, 0.1)
    assert [len(segment) for segment in sent] == [client.observe().smss] * 10
    acks = []
    for number, segment in enumerate(sent):
        if number != 2:
            server.receive(0.2, segment)
            acks += all_of(server, 0.2)
    assert acks[-1].ack == sent[2].seq and acks[-1].sack == [(sent[3].seq, sent[9].seq + len(sent[9]))]
    assert server.readable == 2 * len(sent[0])
    for ack in acks:
        client.receive(0.3, ack)
    again = all_of(client, 0.3)
    assert [segment.seq for segment in again] == [sent[2].seq] and again[0].retransmission
    assert client.observe().phase == "recovery" and client.observe().recoveries == 1
    server.receive(0.4, again[0])
    assert server.read() == data
    for ack in all_of(server, 0.4):
        client.receive(0.5, ack)
    assert client.observe().phase == "open" and client.observe().in_flight == 0


def test_quantities_are_numbers_or_texts_with_units():
    def sent(**options):
        path = tcp.Path(**options)
        path.client.write(bytes(100_000))
        return [str(event) for event in path.run(until=5)]

    texts = sent(rate="8Mbit/s", delay="100ms", loss="2%", seed=7)
    assert sent(rate=8e6, delay=0.1, loss=0.02, seed=7) == texts
    assert any("retransmi" in text or "again" in text or "lost" in text for text in texts)
    assert tcp.Link(loss=1).lost == 0
    with pytest.raises(TypeError, match="^expected a number in the base unit, or a text with its unit"):
        tcp.Link(loss=None)
    for wrong in ({"loss": 2}, {"loss": "x"}, {"delay": "fast"}, {"delay": -1.0}, {"rate": -1}):
        with pytest.raises(ValueError):
            tcp.Link(**wrong)


def test_a_step_is_a_list_until_nothing_will_ever_happen():
    path = tcp.Path(delay="100ms")
    path.client.write(b"x")
    path.serve(b"y")
    path.client.close()
    steps = []
    while (sent := path.step()) is not None:
        assert isinstance(sent, list)
        steps += sent
    assert [event.segment.flags for event in steps[:3]] == ["SYN", "SYN ACK", "ACK PSH"] or steps
    assert path.client.state == path.server.state == "CLOSED" and path.step() is None


class Slow(tcp.CongestionControl):
    """Four segments, whatever happens."""

    def __init__(self) -> None:
        self.acks = self.losses = 0

    def initial_window(self, smss):
        return 4 * smss

    def on_ack(self, *, smss, **sample):
        self.acks += 1
        assert sample["acked"] > 0 and sample["now"] > 0
        return 4 * smss

    def on_loss(self, *, smss, **sample):
        self.losses += 1
        return 4 * smss


def upload(control, **options):
    path = tcp.Path(control=control, **options)
    path.client.write(bytes(100_000))
    windows = []
    for _ in path.run(until=40.0):
        known = path.client.observe()
        if known:
            windows.append(known.cwnd // known.smss)
        if known and known.delivered >= 100_000:
            break
    return windows


def test_a_control_in_python_decides():
    control = Slow()
    windows = upload(control)
    assert set(windows) <= {4, 10} and windows[-1] == 4 and control.acks > 10
    control = Slow()
    upload(control, loss="5%", seed=3)
    assert control.losses > 0
    grown = upload(tcp.CongestionControl())
    assert grown[-1] > 20


def test_the_server_can_have_a_control_too():
    control = Slow()
    path, *_ = download(server_control=control, loss="1%")
    assert control.acks > 10 and path.server.observe().cwnd <= 4 * path.server.observe().smss


def test_what_a_control_raises_comes_out():
    class Broken(tcp.CongestionControl):
        def on_ack(self, **sample):
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        upload(Broken())


def test_what_cannot_be_is_refused():
    assert {"linux", "windows-95"} <= tcp.presets().keys()
    with pytest.raises(ValueError, match="no preset is called `lynx`"):
        tcp.Connection.connect(0.0, "lynx")
    with pytest.raises(ValueError, match="initial"):
        tcp.Connection.connect(0.0, initial_windw=4)
    with pytest.raises(ValueError, match="a moment"):
        tcp.Connection.connect(-1.0)
    with pytest.raises(ValueError):
        tcp.Link(rate="fast")
    syn = tcp.Connection.connect(0.0).transmit(0.0)
    server = tcp.Connection.accept(0.0, syn)
    with pytest.raises(ValueError, match="opens no connection"):
        tcp.Connection.accept(0.0, server.transmit(0.0))


def test_the_way_back_has_a_rate_of_its_own():
    path = tcp.Path(rate="8Mbit/s", delay="10ms", back_rate="1Mbit/s")
    path.client.write(b"x")
    path.serve(bytes(500_000))
    done = list(path.run(until=60))[-1].time
    # 500 KB of payload and its headers at 1 Mbit/s.
    assert 4.1 < done < 4.5


def test_a_trace_is_that_of_a_scenario_s_link(tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate,delay_ms\n0,8Mbit/s,10\n1,1Mbit/s,100\n")

    def observed(**options) -> tuple[float, float]:
        path = tcp.Path(trace=trace, **options)
        path.client.write(b"x")
        path.serve(bytes(2_000_000))
        list(path.run(until=1.0))
        early = path.server.observe()
        list(path.run(until=6.0))
        late = path.server.observe()
        return (late.delivered - early.delivered) * 8 / 5e6, late.srtt

    rate, srtt = observed()
    assert 0.8 < rate < 1.3 and srtt > 0.2
    # The delay is the trace's, and the rate is not.
    rate, _ = observed(back_rate="2Mbit/s")
    assert 1.7 < rate < 2.0
    back = tmp_path / "back.csv"
    back.write_text("time_s,rate\n0,500kbit/s\n")
    rate, srtt = observed(back_trace=back)
    assert 0.4 < rate < 0.5
    with pytest.raises(ValueError, match="trace: cannot read"):
        tcp.Path(trace=tmp_path / "none.csv")


def test_what_the_server_writes_is_as_much_as_there_is_room_for(monkeypatch):
    written: list[int] = []
    write = tcp.Connection.write
    monkeypatch.setattr(tcp.Connection, "write", lambda end, data: (written.append(len(data)), write(end, data))[1])
    path = tcp.Path(rate="100Mbit/s", delay="10ms")
    path.client.write(b"x")
    path.serve(bytes(30_000_000))
    list(path.run(until=1.0))
    assert path.server.observe().delivered > 5_000_000
    # Nothing of what is left is copied at each event, of which there are thousands.
    assert sum(written) < 1.2 * path.server.observe().delivered + 8_000_000


def test_flows_share_a_link():
    flows = [tcp.Flow("one"), tcp.Flow("other", "linux,congestion=bbr", start=2.0), tcp.Flow("short", size=50_000, start=3.0)]
    network = tcp.Network(flows, rate="10Mbit/s", delay="20ms", queue="100packets")
    sent = list(network.run(until=10.0))
    assert network.now == 10.0 and network.delivered("short") == 50_000
    assert network.sender("short").state in ("FIN-WAIT-2", "TIME-WAIT") and network.receiver("short").state == "CLOSE-WAIT"
    both = network.delivered("one") + network.delivered("other")
    assert 0.85 < both * 8 / 10e6 / 10.0 < 0.97 and network.delivered("other") > 1_000_000
    assert {event.end for event in sent} == {name + end for name in ("one", "other", "short") for end in ("", "'s receiver")}
    assert next(event.time for event in sent if event.end == "other") == 2.0
    again = tcp.Network(flows, rate="10Mbit/s", delay="20ms", queue="100packets")
    assert [str(event) for event in again.run(until=10.0)] == [str(event) for event in sent]


def test_a_network_has_controls_and_losses_and_a_way_back():
    class Steady(tcp.CongestionControl):
        decides_in_recovery = True

        def on_ack(self, smss):
            return 10 * smss

        on_loss = on_ack

    flows = [tcp.Flow(str(number), control=Steady()) for number in range(3)]
    network = tcp.Network(flows, rate="50Mbit/s", delay="50ms", back_rate="5Mbit/s", loss="0.1%", seed=3)
    assert sum(1 for _ in network.run(until=20.0)) > 8_000
    for number in range(3):
        # Ten segments in each round trip of 100 ms.
        assert network.delivered(str(number)) * 8 / 20 == pytest.approx(10 * 1448 * 8 / 0.1, rel=0.03)
    same = Steady()
    with pytest.raises(ValueError, match="one object as their control"):
        tcp.Network([tcp.Flow("a", control=same), tcp.Flow("b", control=same)])
    with pytest.raises(ValueError, match="one name"):
        tcp.Network([tcp.Flow("a"), tcp.Flow("a")])
    with pytest.raises(KeyError, match="there is no flow 'b'"):
        tcp.Network([tcp.Flow("a")]).sender("b")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tcp.Path(seed=-1), "seed is -1 .expected 0 or more."),
        (lambda: tcp.Link(seed=-1), "seed is -1 .expected 0 or more."),
        (lambda: tcp.Path().client.read(-1), "limit is -1 .expected 0 or more."),
        (lambda: tcp.Path().run(until=float("nan")), "until is nan"),
        (lambda: tcp.Path().run(until=-1), "until is -1 .expected seconds from now on: 0.0."),
        (lambda: tcp.Network([]).run(until=-1), "until is -1"),
        (lambda: tcp.Path(server="linux,congestion=cubik"), "`cubik`"),
        (lambda: tcp.Path(client="linus"), "linus"),
        (lambda: tcp.Network([tcp.Flow("a", receiver="linux,iw=x")]), "iw"),
    ],
)
def test_what_cannot_be_is_refused_at_once(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_time_does_not_go_back():
    client, link = tcp.Connection.connect(1.0), tcp.Link(delay="10ms")
    link.send(1.0, client.transmit(1.0))
    for call in (client.transmit, client.timeout, link.receive):
        with pytest.raises(ValueError, match="a moment of 0.5 s after one of 1 s: time does not go back"):
            call(0.5)
    assert link.receive(1.5).flags == "SYN"
