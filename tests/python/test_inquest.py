# SPDX-License-Identifier: Apache-2.0
"""The Python package over the sample runs.   test_inquest.py INQUEST SOURCE_DIR"""
import html
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

PROGRAM, SOURCE = (os.path.realpath(path) for path in sys.argv[1:3])
PACKAGE = os.path.join(SOURCE, "analyzer", "python")
sys.path.insert(0, PACKAGE)
sys.dont_write_bytecode = True
import inquest  # noqa: E402


def has(module):
    return importlib.util.find_spec(module) is not None


def sample(name):
    return os.path.join(SOURCE, "sample-traces", name)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = inquest.analyze(sample("slow_gpu_dp8"), program=PROGRAM)

    def test_verdict_and_findings_are_those_of_json(self):
        said = json.loads(subprocess.run([PROGRAM, "analyze", "-q", "-f", "json", sample("slow_gpu_dp8")],
                                         stdout=subprocess.PIPE, check=True).stdout)
        self.assertEqual(self.run_.json["findings"], said["findings"])
        self.assertEqual(self.run_.verdict.headline, said["verdict"]["headline"])
        first = self.run_.findings[0]
        self.assertEqual((first.kind, first.ranks), ("slow_gpu", (5,)))
        self.assertEqual(len(first.evidence), len(said["findings"][0]["evidence"]))

    def test_table_without_pandas_is_a_list_of_dicts(self):
        rows = self.run_.table("rank_times", pandas=False)
        self.assertEqual([row["rank"] for row in rows], list(range(8)))
        self.assertTrue(all(row["span_ns"] == row["compute_ns"] + row["exposed_comm_ns"]
                            + row["exposed_memcpy_ns"] + row["idle_ns"] for row in rows))

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_table_is_a_data_frame(self):
        frame = self.run_.table("rank_times")
        self.assertEqual(type(frame).__name__, "DataFrame")
        self.assertEqual(int(frame.set_index("rank")["compute_ns"].idxmax()), 5)

    def test_query_takes_parameters(self):
        rows = self.run_.sql("SELECT SUM(wait_ns) AS ns FROM rank_waits WHERE rank <> ?", [5], pandas=False)
        self.assertGreater(rows[0]["ns"], 0)

    def test_unknown_table_names_those_there_are(self):
        with self.assertRaisesRegex(KeyError, "rank_times"):
            self.run_.table("no_such")

    def test_html_escapes(self):
        document = json.loads(json.dumps(self.run_.json))
        document["verdict"]["headline"] = "<script>&"
        document["findings"][0]["title"] = "<b>"
        page = inquest.Job(document)._repr_html_()
        self.assertNotIn("<script>", page)
        self.assertNotIn("<b>", page)
        self.assertIn("&lt;script&gt;&amp;", page)

    def test_several_jobs_are_told_apart(self):
        run = inquest.analyze([sample("healthy_dp4"), sample("slow_gpu_dp8")], program=PROGRAM)
        self.assertEqual(len(run.jobs), 2)
        with self.assertRaisesRegex(ValueError, "2 jobs"):
            run.verdict
        self.assertEqual({row["job"] for row in run.table("ranks", pandas=False)}, {1, 2})

    def test_compare(self):
        comparison = inquest.compare(sample("healthy_dp4"), sample("late_host_dp4"), program=PROGRAM)
        self.assertTrue(comparison.changed)
        self.assertGreater(comparison.loss_ns, 0)
        self.assertIn(comparison.headline.split()[0], comparison._repr_html_())

    def test_check_that_fails_is_an_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            baseline = os.path.join(folder, "baseline.json")
            inquest.check(sample("healthy_dp4"), baseline=baseline, update=True, program=PROGRAM)
            self.assertTrue(inquest.check(sample("healthy_dp4"), baseline=baseline, program=PROGRAM).passed)
            worse = inquest.check(sample("late_host_dp4"), baseline=baseline, program=PROGRAM)
            self.assertFalse(worse.passed)
            self.assertTrue(any(not c["pass"] for c in worse.checks))

    def test_check_has_units_for_a_reader(self):
        checks = [{"name": "compute_ns.stage2", "baseline": 21000000, "value": 27445882, "limit": None, "outcome": "added"},
                  {"name": "slowest_rank", "baseline": 1.0, "value": 1.01632, "limit": 1.0175, "outcome": "within"},
                  {"name": "damaged_files", "baseline": 0, "value": 2, "limit": 0, "outcome": "regressed"}]
        page = inquest.Check({"headline": "Fails: x", "pass": False, "checks": checks})._repr_html_()
        for cells in (("21 ms", "27.4 ms", "N/A"), ("1.0000", "1.0163", "1.0175"), ("0", "2", "0")):
            self.assertIn("".join(f"<td style='text-align:left'>{c}</td>" for c in cells), page)

    def test_what_a_prompt_shows_is_the_verdict(self):
        self.assertIn(self.run_.verdict.headline, repr(self.run_))
        self.assertIn("slow_gpu_dp8", repr(self.run_.job))
        self.assertIn("Fails: x", repr(inquest.Check({"headline": "Fails: x"})))
        self.assertIn("1.2 times", repr(inquest.Comparison({"headline": "1.2 times"})))

    def test_errors_say_what_to_do(self):
        with self.assertRaises(inquest.InquestError) as caught:
            inquest.analyze("/no/such/folder", program=PROGRAM)
        self.assertEqual((caught.exception.code, caught.exception.path), ("not_found", "/no/such/folder"))
        self.assertTrue(caught.exception.next)
        with self.assertRaisesRegex(inquest.InquestError, "no program"):
            inquest.analyze(".", program="no-such-inquest")

    def test_name_with_a_dash_is_a_file(self):
        with self.assertRaises(inquest.InquestError) as caught:
            inquest.analyze("--version", program=PROGRAM)
        self.assertEqual(caught.exception.code, "not_found")

    @unittest.skipUnless(has("setuptools") and has("pip") and has("wheel"), "pip, setuptools or wheel is missing")
    def test_wheel_builds_offline(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "python")
            shutil.copytree(PACKAGE, copy)
            subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps",
                            "--no-build-isolation", "-w", folder, copy], check=True,
                           env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
            wheel = [name for name in os.listdir(folder) if name.endswith(".whl")]
            self.assertEqual(len(wheel), 1)
            names = zipfile.ZipFile(os.path.join(folder, wheel[0])).namelist()
            for file in ("__init__.py", "_documents.py", "_program.py", "_run.py", "py.typed"):
                self.assertIn("inquest/" + file, names)

    @unittest.skipUnless(has("nbclient") and has("nbformat") and has("ipykernel"), "nbclient is not installed")
    def test_notebook_runs(self):
        import nbclient
        import nbformat
        notebook = nbformat.v4.new_notebook()
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        for source in (f"import sys; sys.path.insert(0, {PACKAGE!r}); sys.dont_write_bytecode = True; import inquest",
                       f"run = inquest.analyze({sample('slow_gpu_dp8')!r}, program={PROGRAM!r})\nrun",
                       "run.table('rank_times')"):
            notebook.cells.append(nbformat.v4.new_code_cell(source))
        nbclient.NotebookClient(notebook, timeout=120).execute()
        shown = notebook.cells[1].outputs[0].data
        self.assertIn(self.run_.verdict.headline.rstrip(".")[:20], html.unescape(shown["text/html"]))
        self.assertTrue(notebook.cells[2].outputs[0].data)


if __name__ == "__main__":
    built = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, check=True).stdout
    if b"sqlite:  yes" not in built:
        print("skipped: no SQLite in this build")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
