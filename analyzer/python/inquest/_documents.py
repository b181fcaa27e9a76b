# SPDX-License-Identifier: Apache-2.0
"""The documents as objects. Everything that is not here is in `.json`."""

from __future__ import annotations

import html
import sqlite3
import tempfile
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

Row = Dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    headline: str
    cls: str
    lost_ns_per_step: Optional[int]
    confidence: str


@dataclass(frozen=True)
class Evidence:
    rank: Optional[int]
    lane: Optional[str]
    start_ns: Optional[int]
    end_ns: Optional[int]
    what: Optional[str]


@dataclass(frozen=True)
class Finding:
    id: str
    kind: str
    severity: str
    confidence: str
    title: str
    detail: Optional[str]
    advice: Optional[str]
    ranks: Tuple[int, ...]
    stages: Tuple[int, ...]
    cost_ns_per_step: Optional[int]
    share: Optional[float]
    measured: Optional[str]
    expected: Optional[str]
    evidence: Tuple[Evidence, ...]
    fixes: Tuple[str, ...]
    json: Row = field(repr=False, compare=False)


def _evidence(row: Row) -> Evidence:
    return Evidence(row.get("rank"), row.get("lane"), row.get("start_ns"), row.get("end_ns"), row.get("what"))


def _finding(row: Row) -> Finding:
    return Finding(
        id=row["id"], kind=row["kind"], severity=row["severity"], confidence=row["confidence"],
        title=row.get("title") or "", detail=row.get("detail"), advice=row.get("advice"),
        ranks=tuple(row.get("ranks", ())), stages=tuple(row.get("stages", ())),
        cost_ns_per_step=row.get("cost_ns_per_step"), share=row.get("share"),
        measured=row.get("measured"), expected=row.get("expected"),
        evidence=tuple(_evidence(e) for e in row.get("evidence", ())),
        fixes=tuple(row.get("fixes", ())), json=row)


def _duration(ns: Optional[int]) -> str:
    if ns is None:
        return "N/A"
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns} ns"


def _measure(name: str, value: Any) -> str:
    """A value of a check, as its text has it: names of times end in _ns, or have _ns before a role."""
    if value is None:
        return "N/A"
    if name.split(".")[0].endswith("_ns"):
        return _duration(value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align:left'>{html.escape(c)}</{tag}>" for c in row) + "</tr>"
    return f"<table><thead>{cells('th', head)}</thead><tbody>{''.join(cells('td', r) for r in rows)}</tbody></table>"


class Job:
    """One job of a run: its report ("inquest-report/1")."""

    def __init__(self, document: Row) -> None:
        self.json = document

    @property
    def name(self) -> str:
        return str(self.json["name"])

    @property
    def verdict(self) -> Verdict:
        v = self.json["verdict"]
        return Verdict(v["headline"], v["class"], v["lost_ns_per_step"], v["confidence"])

    @property
    def findings(self) -> List[Finding]:
        """Most costly first."""
        return [_finding(row) for row in _rows(self.json.get("findings"))]

    def __repr__(self) -> str:
        return f"<inquest.Job {self.name}: {self.verdict.headline}>"

    def _repr_html_(self) -> str:
        rows = [(f.severity, f.title, _duration(f.cost_ns_per_step),
                 "N/A" if f.share is None else f"{100 * f.share:.1f} %", f.confidence) for f in self.findings]
        table = _table(("severity", "finding", "cost per step", "of the step", "confidence"), rows) if rows else ""
        return (f"<h3>{html.escape(self.verdict.headline)}</h3>"
                f"<p>{html.escape(self.name)}; confidence: {html.escape(self.verdict.confidence)}</p>{table}")


def _rows(section: Any) -> List[Row]:
    # a section that failed is {"unavailable": ...}
    return section if isinstance(section, list) else []


class Run:
    """All jobs that were found. What is asked of the run itself is asked of its only job."""

    def __init__(self, document: Row, make_tables: Callable[[str], None]) -> None:
        self.json = document
        self.jobs = [Job(report) for report in document.get("runs", [document])]
        self._make_tables = make_tables
        self._database: Optional[sqlite3.Connection] = None

    @property
    def job(self) -> Job:
        if len(self.jobs) != 1:
            raise ValueError(f"the run has {len(self.jobs)} jobs: take one of .jobs")
        return self.jobs[0]

    @property
    def verdict(self) -> Verdict:
        return self.job.verdict

    @property
    def findings(self) -> List[Finding]:
        return self.job.findings

    @property
    def database(self) -> sqlite3.Connection:
        """The tables of man inquest-sqlite, in memory; made by the first call."""
        if self._database is None:
            with tempfile.TemporaryDirectory() as folder:
                path = folder + "/run.sqlite"
                self._make_tables(path)
                source = sqlite3.connect(path)
                memory = sqlite3.connect(":memory:")
                source.backup(memory)
                source.close()
            self._database = memory
        return self._database

    def sql(self, query: str, parameters: Sequence[Any] = (), pandas: Optional[bool] = None) -> Any:
        """The answer as a DataFrame, or as a list of dicts: without pandas, or with pandas=False."""
        cursor = self.database.execute(query, tuple(parameters))
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
        frame = None if pandas is False else _data_frame(required=pandas is True)
        if frame is None:
            return [dict(zip(names, row)) for row in rows]
        return frame(rows, columns=names)

    @property
    def tables(self) -> List[str]:
        query = 'SELECT DISTINCT "table" FROM columns'
        return [row[0] for row in self.database.execute(query)]

    def table(self, name: str, pandas: Optional[bool] = None) -> Any:
        """A table, by its name in `tables`, as sql() gives answers."""
        if name not in self.tables:
            raise KeyError(f"there is no table '{name}'; there are: {', '.join(self.tables)}")
        return self.sql(f'SELECT * FROM "{name}"', pandas=pandas)

    def __repr__(self) -> str:
        return f"<inquest.Run of {', '.join(repr(job) for job in self.jobs)}>"

    def _repr_html_(self) -> str:
        return "".join(job._repr_html_() for job in self.jobs)


def _data_frame(required: bool) -> Any:
    try:
        from pandas import DataFrame  # only where it is installed
    except ImportError:
        if required:
            raise
        return None
    return DataFrame


class Comparison:
    """Two runs ("inquest-compare/1")."""

    def __init__(self, document: Row) -> None:
        self.json = document

    @property
    def headline(self) -> str:
        return str(self.json["headline"])

    @property
    def reason(self) -> Optional[str]:
        return self.json.get("reason")

    @property
    def changed(self) -> bool:
        return bool(self.json["changed"])

    @property
    def loss_ns(self) -> Optional[int]:
        """What a step of the new run takes longer; negative: shorter."""
        return self.json.get("loss_ns")

    def __repr__(self) -> str:
        return f"<inquest.Comparison: {self.headline}>"

    def _repr_html_(self) -> str:
        return f"<h3>{html.escape(self.headline)}</h3><p>{html.escape(self.reason or '')}</p>"


class Check:
    """A run or schedule against its baseline ("inquest-check/1")."""

    def __init__(self, document: Row) -> None:
        self.json = document

    @property
    def passed(self) -> bool:
        return bool(self.json["pass"])

    @property
    def headline(self) -> str:
        return str(self.json["headline"])

    @property
    def checks(self) -> List[Row]:
        return list(self.json["checks"])

    def __repr__(self) -> str:
        return f"<inquest.Check: {self.headline}>"

    def _repr_html_(self) -> str:
        rows = [(str(c["name"]), *(_measure(c["name"], c[key]) for key in ("baseline", "value", "limit")),
                 str(c["outcome"])) for c in self.checks]
        return (f"<h3>{html.escape(self.headline)}</h3>"
                + _table(("check", "baseline", "value", "limit", "outcome"), rows))
