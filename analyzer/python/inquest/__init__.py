# SPDX-License-Identifier: Apache-2.0
"""What inquest says about distributed training runs.

The functions call the program ``inquest`` and give its JSON documents as objects; the tables of
``man inquest-sqlite`` come as pandas DataFrames where pandas is installed, else as lists of dicts.
"""

from ._documents import Check, Comparison, Evidence, Finding, Job, Run, Verdict
from ._program import InquestError
from ._run import analyze, check, compare

__all__ = ["Check", "Comparison", "Evidence", "Finding", "InquestError", "Job", "Run", "Verdict",
           "analyze", "check", "compare"]
__version__ = "0.1.0"
