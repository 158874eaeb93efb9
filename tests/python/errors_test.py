# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Errors have the text and the exit code of the command line."""

import pickle
import tempfile
import unittest
from pathlib import Path
from typing import Any

from command import options_of, run

import pleat
from pleat import _core

TARGET = {
    "model": "mixtral-8x7b",
    "cluster": "h100-sxm",
    "gpus": 64,
    "seq_len": 4096,
    "global_batch": 256,
}


class SameErrors(unittest.TestCase):
    """One request, two ways, one message."""

    def compare(self, command: str, arguments: dict, kind: type) -> None:
        printed = run(command, *options_of(arguments))
        ask = getattr(_core, command)
        with self.assertRaises(kind) as caught:
            ask(dict(arguments))
        self.assertEqual(caught.exception.text + "\n", printed.stderr)
        self.assertEqual(str(caught.exception) + "\n", printed.stderr)
        self.assertEqual(caught.exception.exit_code, printed.returncode)

    def test_predict(self) -> None:
        for arguments, kind in (
            ({}, pleat.RequestError),
            ({**TARGET, "model": "mixtrall-8x7b"}, pleat.RequestError),
            ({**TARGET, "gpus": 0}, pleat.RequestError),
            ({**TARGET, "tp": 3}, pleat.RequestError),
            ({**TARGET, "tp": 0}, pleat.RequestError),
            ({**TARGET, "precision": "mxfp9"}, pleat.RequestError),
            ({**TARGET, "precision": "mxfp8"}, pleat.RequestError),
            ({**TARGET, "imbalance": 0.5}, pleat.RequestError),
            ({**TARGET, "tokens": "15X"}, pleat.RequestError),
            ({**TARGET, "profile": "gb300-nvl72-megatron"}, pleat.MismatchError),
            ({"plan": "there/is/none.json"}, pleat.DeviceOrIoError),
        ):
            with self.subTest(arguments=arguments):
                self.compare("predict", arguments, kind)

    def test_plan(self) -> None:
        for arguments, kind in (
            ({**TARGET, "objective": "fun"}, pleat.RequestError),
            ({**TARGET, "slack": 0.1}, pleat.RequestError),
            ({**TARGET, "tp": 1 << 30}, pleat.RequestError),
            ({**TARGET, "no_offload": True, "optimizer_offload": "on"}, pleat.RequestError),
            (
                {**TARGET, "model": "llama3-70b", "gpus": 1, "global_batch": 1},
                pleat.NothingFitsError,
            ),
        ):
            with self.subTest(arguments=arguments):
                self.compare("plan", arguments, kind)

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "plan.json"
            file.write_text('{"schema_version": 1}')
            self.compare("predict", {"plan": str(file)}, pleat.FileError)
            with self.assertRaises(pleat.FileError):
                pleat.PlanFile.load(file)

    def test_capacity_that_nothing_meets(self) -> None:
        printed = run(
            "capacity",
            "--model",
            "gpt-1.7b",
            "--tokens",
            "1T",
            "--deadline",
            "1d",
            "--clusters",
            "h100-sxm",
            "--gpus",
            "16",
            "--json",
        )
        with self.assertRaises(pleat.NothingFitsError) as caught:
            pleat.capacity(
                "gpt-1.7b", tokens="1T", deadline="1d", clusters=["h100-sxm"], gpus="16"
            )
        self.assertEqual(caught.exception.text + "\n", printed.stderr)
        self.assertEqual(printed.returncode, caught.exception.exit_code)
        self.assertEqual(len(caught.exception.answer.offers), 1)


class OfTheModule(unittest.TestCase):
    """What only Python can do wrong."""

    def test_types(self) -> None:
        workload = pleat.Workload(4096, 256)
        with self.assertRaisesRegex(TypeError, "gpus: must be a whole number, not 'many'"):
            many: Any = "many"
            pleat.predict("mixtral-8x7b", "h100-sxm", many, workload)
        with self.assertRaisesRegex(TypeError, "tp: must be a whole number, not 2.0"):
            half: Any = 2.0
            pleat.predict("mixtral-8x7b", "h100-sxm", 64, workload, pleat.Plan(tp=half))

    def test_unknown_pins(self) -> None:
        with self.assertRaisesRegex(pleat.RequestError, "unknown argument 'dispatchr'") as caught:
            pleat.plan(
                "mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256), dispatchr="deepep"
            )
        self.assertIn("did you mean dispatcher", caught.exception.text)

    def test_pickle(self) -> None:
        error = pickle.loads(pickle.dumps(pleat.RequestError("error: x", 2)))
        self.assertIsInstance(error, pleat.RequestError)
        self.assertEqual((error.text, error.exit_code), ("error: x", 2))


if __name__ == "__main__":
    unittest.main()
