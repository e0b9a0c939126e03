"""One-way delay over a constellation with +Grid crosslinks, by other means than ours: PyPI's sgp4 and networkx.

Writes delays.csv, which the test in constellation.rs compares with. Needs: pip install sgp4 networkx numpy
(2.27, 3.6.1, 2.x). Takes a minute.

72 planes of 22 satellites at 550 km, 53 degrees; neighbouring planes are shifted by 39/1584 of a turn. From
Paris to New York, at 25 degrees of elevation or more, for 200 s in steps of 100 ms.
"""

import math

import networkx as nx
import numpy as np
from sgp4.api import Satrec, SatrecArray

PLANES, EACH, PHASING = 72, 22, 39
ALTITUDE, INCLINATION = 550.0, 53.0
PARIS, NEW_YORK = (48.8566, 2.3522), (40.7128, -74.0060)
MIN_ELEVATION = math.radians(25)
LIGHT = 299792.458


def checksum(line):
    return line + str(sum(int(c) if c.isdigit() else c == "-" for c in line) % 10)


def satellites():
    radius = 6378.137 + ALTITUDE
    turns = 86400 / (2 * math.pi * math.sqrt(radius**3 / 398600.4418))
    for plane in range(PLANES):
        for place in range(EACH):
            number = plane * EACH + place
            node = 360 * plane / PLANES
            anomaly = (360 * place / EACH + 360 * PHASING * plane / (PLANES * EACH)) % 360
            first = f"1 {number:05d}U 00000A   00001.00000000  .00000000  00000-0  00000-0 0    0"
            second = f"2 {number:05d} {INCLINATION:8.4f} {node:8.4f} 0000001   0.0000 {anomaly:8.4f} {turns:11.8f}    0"
            yield Satrec.twoline2rv(checksum(first), checksum(second))


def station(latitude, longitude):
    """WGS 84, from the Earth's centre; and the vertical."""
    lat, lon = math.radians(latitude), math.radians(longitude)
    a, f = 6378.137, 1 / 298.257223563
    e2 = f * (2 - f)
    n = a / math.sqrt(1 - e2 * math.sin(lat) ** 2)
    up = np.array([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])
    return np.array([n * up[0], n * up[1], n * (1 - e2) * up[2]]), up


def gmst(jd, fr):
    """IAU 1982, in radians."""
    t = (jd - 2451545.0 + fr) / 36525
    seconds = 67310.54841 + (876600 * 3600 + 8640184.812866) * t + 0.093104 * t * t - 6.2e-6 * t**3
    return math.radians(seconds / 240) % (2 * math.pi)


def main():
    shell = SatrecArray(list(satellites()))
    ends = {"a": station(*PARIS), "b": station(*NEW_YORK)}
    with open("delays.csv", "w") as out:
        out.write("time_s,delay_ms\n")
        for step in range(2001):
            jd, fr = 2451543.5 + 1, step / 10 / 86400  # the first of January 2000
            errors, where, _ = shell.sgp4(np.array([jd]), np.array([fr]))
            assert not errors.any()
            theta = gmst(jd, fr)
            turn = np.array(
                [[math.cos(theta), math.sin(theta), 0], [-math.sin(theta), math.cos(theta), 0], [0, 0, 1]]
            )
            where = where[:, 0, :] @ turn.T
            graph = nx.Graph()
            for plane in range(PLANES):
                for place in range(EACH):
                    one = plane * EACH + place
                    for other in (plane * EACH + (place + 1) % EACH, (plane + 1) % PLANES * EACH + place):
                        graph.add_edge(one, other, weight=np.linalg.norm(where[one] - where[other]))
            for name, (at, up) in ends.items():
                to = where - at
                far = np.linalg.norm(to, axis=1)
                for one in np.nonzero(np.arcsin(to @ up / far) >= MIN_ELEVATION)[0]:
                    graph.add_edge(name, int(one), weight=far[one])
            length = nx.dijkstra_path_length(graph, "a", "b")
            out.write(f"{step / 10:.1f},{length / LIGHT * 1000:.4f}\n")


main()
