"""bentpipe: TCP over satellites, from Python.

`Scenario` and `Campaign` run experiments, `read_capture` reads anyone's packets, and `bentpipe.tcp` is the TCP itself,
stepped by hand.
"""

from . import tcp
from ._bentpipe import VERSION as __version__
from .campaign import Campaign
from .captures import Capture, read_capture
from .errors import BentpipeError, Cancelled, NoResults, RunsFailed, ScenarioError, VersionMismatch
from .scenario import Scenario, examples
from .tables import Table
from .traces import TraceBench

__all__ = [
    "BentpipeError",
    "Campaign",
    "Cancelled",
    "Capture",
    "NoResults",
    "RunsFailed",
    "Scenario",
    "ScenarioError",
    "Table",
    "TraceBench",
    "VersionMismatch",
    "__version__",
    "examples",
    "read_capture",
    "tcp",
]
