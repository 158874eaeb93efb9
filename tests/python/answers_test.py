# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The module and the command line give the same answers, to the byte."""

import json
import tempfile
import unittest
from pathlib import Path

from command import options_of, run

import pleat
from pleat import _core

MIXTRAL = {
    "model": "mixtral-8x7b",
    "cluster": "h100-sxm",
    "gpus": 64,
    "seq_len": 4096,
    "global_batch": 256,
}
DEEPSEEK = {
    "model": "deepseek-v3",
    "cluster": "gb300-nvl72",
    "gpus": 256,
    "seq_len": 4096,
    "global_batch": 4096,
}
DENSE = {
    "model": "llama3-70b",
    "cluster": "gb200-nvl72",
    "gpus": 64,
    "seq_len": 8192,
    "global_batch": 128,
}
HERE = {"model": "tiny-moe", "cluster": "localhost", "gpus": 2, "seq_len": 64, "global_batch": 8}


class SameAnswers(unittest.TestCase):
    """What `--json` prints is the report of the module."""

    def compare(self, command: str, text: str, arguments: dict) -> None:
        printed = run(command, *options_of(arguments), "--json")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertEqual(printed.stdout, text)

    def test_predict(self) -> None:
        for arguments in (
            {**MIXTRAL, "tp": 2, "pp": 2, "ep": 8},
            {**MIXTRAL, "ep": 8, "recompute": "full:2", "tokens": "1T", "explain": True},
            {
                **DEEPSEEK,
                "pp": 2,
                "vpp": 8,
                "ep": 32,
                "precision": "mxfp8",
                "layout": "Et*4|(t*4|)*14tmL",
            },
            {
                **DENSE,
                "tp": 4,
                "cp": 2,
                "cp_comm": "p2p",
                "offload": "core_attn",
                "fp8_attention": True,
                "precision": "mxfp8",
            },
            {**MIXTRAL, "ep": 8, "routing": "aux-loss", "documents": [1024, 4096]},
            {**HERE},
        ):
            with self.subTest(arguments=arguments):
                self.compare("predict", _core.predict(dict(arguments))[0], arguments)

    def test_plan(self) -> None:
        for arguments in (
            {
                **MIXTRAL,
                "tp": [1, 2],
                "pp": 2,
                "dispatcher": ["deepep", "alltoall"],
                "neighbours": 100,
            },
            {
                **MIXTRAL,
                "ep_overlap": "off",
                "tp": 2,
                "pp": 4,
                "ep": 8,
                "top": 3,
                "neighbours": 0,
                "numerics": "recipe",
                "explain": True,
            },
        ):
            with self.subTest(arguments=arguments):
                self.compare("plan", _core.plan(dict(arguments))[0], arguments)

    def test_capacity(self) -> None:
        arguments = {
            "model": "gpt-1.7b",
            "tokens": "100B",
            "deadline": "60d",
            "clusters": ["h100-sxm"],
            "gpus": "8,16",
            "seq_len": 2048,
            "global_batch": 512,
            "price": "2.5",
        }
        self.compare("capacity", _core.capacity(dict(arguments))[0], arguments)

    def test_validate(self) -> None:
        arguments = {"tier": ["A"]}
        self.compare("validate", _core.validate(dict(arguments)), arguments)

    def test_model(self) -> None:
        self.assertEqual(
            run("model", "deepseek-v3", "--json").stdout, _core.model("deepseek-v3", 4096)
        )


class TypedLayer(unittest.TestCase):
    """The typed layer says what the report says."""

    def test_prediction(self) -> None:
        p = pleat.predict(
            pleat.Model.from_hf("mixtral-8x7b"),
            pleat.Cluster.load("h100-sxm"),
            64,
            pleat.Workload(seq_len=4096, global_batch=256),
            pleat.Plan(tp=2, pp=2, ep=8),
        )
        printed = json.loads(
            run("predict", *options_of({**MIXTRAL, "tp": 2, "pp": 2, "ep": 8}), "--json").stdout
        )
        self.assertEqual(p.report, printed)
        self.assertEqual(p.step_s, printed["step_s"])
        self.assertEqual((p.low_s, p.high_s), tuple(printed["band_s"]))
        self.assertAlmostEqual(sum(p.parts_s.values()), p.step_s, places=9)
        self.assertIn("TP2", p.plan)
        self.assertIn("<table>", p._repr_html_())

    def test_plan_files(self) -> None:
        workload = pleat.Workload(seq_len=4096, global_batch=256)
        found = pleat.plan(
            "mixtral-8x7b", "h100-sxm", 64, workload, tp=2, pp=2, neighbours=0, top=2
        )
        self.assertEqual(len(found), 2)
        self.assertLessEqual(found.plans[0].step_s, found.plans[1].step_s)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "plan.json"
            found.best.plan_file.save(file)
            with self.assertRaises(FileExistsError):
                found.best.plan_file.save(file)
            by_path = pleat.predict(plan=file)
            by_text = pleat.predict(plan=found.best.plan_file)
            printed = run("predict", "--plan", str(file), "--json")
            self.assertEqual(json.loads(printed.stdout), by_path.report)
            self.assertEqual(by_path.report, by_text.report)
            self.assertEqual(by_path.step_s, found.best.step_s)
            for framework in ("megatron", "megatron-bridge"):
                exported = pleat.export(file, to=framework)
                self.assertEqual(run("export", "--to", framework, str(file)).stdout, exported.text)
                printed = run("export", "--to", framework, str(file), "--json")
                self.assertEqual(json.loads(printed.stdout), exported.report)

    def test_explanation(self) -> None:
        x = pleat.explain(
            "mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256), pleat.Plan(tp=2, ep=8)
        )
        self.assertGreater(len(x.changes), 10)
        self.assertIn("The step takes", x.sentences)

    def test_capacity(self) -> None:
        answer = pleat.capacity(
            "deepseek-moe-16b",
            tokens="1T",
            deadline="60d",
            clusters=["h100-sxm"],
            gpus=[64, 512],
            price={"h100-sxm": 2.5},
        )
        assert answer.cheapest is not None and answer.fastest is not None
        self.assertEqual(answer.cheapest.gpus, 64)
        self.assertEqual(answer.fastest.gpus, 512)

    def test_tables(self) -> None:
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        p = pleat.predict(
            "mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256), pleat.Plan(ep=8)
        )
        table = p.to_pandas()
        self.assertAlmostEqual(table["time_s"].sum(), p.step_s, places=9)

    def test_notebooks(self) -> None:
        workload = pleat.Workload(4096, 256)
        job = ("mixtral-8x7b", "h100-sxm", 64, workload)
        prediction = pleat.predict(*job, pleat.Plan(ep=8), explain=True)
        shown = [
            pleat.Model.from_hf("mixtral-8x7b"),
            pleat.Cluster.load("h100-sxm"),
            prediction,
            prediction.plan_file,
            prediction.explanation,
            pleat.plan(*job, tp=2, pp=2, neighbours=0),
            pleat.estimate([pleat.Plan(ep=8)], *job),
            pleat.export(prediction.plan_file, to="megatron"),
        ]
        for one in shown:
            page = one._repr_html_()
            self.assertEqual(page.count("<table>"), page.count("</table>"))
            self.assertGreater(page.count("<td"), 2, type(one))

    def test_specifications(self) -> None:
        self.assertIn("mixtral-8x7b", pleat.models())
        self.assertIn("h100-sxm", pleat.clusters())
        self.assertEqual(pleat.Model.from_hf("mixtral-8x7b").parameters["total"], 46702792704)
        profile = pleat.Profile.load("h100-sxm-megatron")
        by_name = pleat.predict("mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256))
        given = pleat.predict(
            "mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256), profile=profile
        )
        self.assertEqual(given.step_s, by_name.step_s)
        self.assertEqual(given.report["profile"], "h100-sxm-megatron")

    def test_plans_have_every_field(self) -> None:
        import dataclasses

        there = {f.name for f in dataclasses.fields(pleat.Plan)}
        self.assertEqual(there, {name for name, _ in _core.plan_arguments()})


if __name__ == "__main__":
    unittest.main()
