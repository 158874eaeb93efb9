# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""check_schemas.py can fail: each kind of broken document is found in a small tree."""
import json
import pathlib
import tempfile
import unittest
import warnings

from check_schemas import check

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"name": {"type": "string"}, "memory": {"$ref": "quantity.schema.json"}},
    "required": ["name"],
    "additionalProperties": False,
}
QUANTITY = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "string",
    "pattern": "^[0-9]+ GiB$",
}


class CheckSchemas(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", DeprecationWarning)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("schema/quantity.schema.json", QUANTITY)
        for kind in ("gpu", "cluster"):
            self.write(f"schema/{kind}.schema.json", SCHEMA)
        self.write("gpus/a.json", {"name": "a", "memory": "80 GiB"})
        self.write("clusters/b.json", {"name": "b"})
        self.write("models/c.json", {"hidden_size": 64})

    def write(self, path, document):
        target = self.root / "configs" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(document if isinstance(document, str) else json.dumps(document))

    def expect(self, *ends):
        findings, _ = check(self.root)
        self.assertEqual([line.removeprefix(f"{self.root}/configs/") for line in findings], list(ends))

    def test_a_good_tree_has_no_findings(self):
        self.assertEqual(check(self.root), ([], 3))

    def test_a_document_that_breaks_its_schema(self):
        self.write("gpus/bad.json", {"name": 7, "memory": "80"})
        self.expect(
            "gpus/bad.json: memory: '80' does not match '^[0-9]+ GiB$'",
            "gpus/bad.json: name: 7 is not of type 'string'",
        )

    def test_an_unknown_key_and_a_missing_one(self):
        self.write("clusters/bad.json", {"nmae": "x"})
        findings, _ = check(self.root)
        self.assertEqual(len(findings), 2)
        self.assertIn("'nmae' was unexpected", "\n".join(findings))
        self.assertIn("'name' is a required property", "\n".join(findings))

    def test_text_that_is_no_strict_json(self):
        self.write("models/cut.json", '{"a": ')
        self.write("models/nan.json", '{"a": NaN}')
        self.write("models/twice.json", '{"a": 1, "a": 2}')
        self.expect(
            "models/cut.json: Expecting value: line 1 column 7 (char 6)",
            "models/nan.json: NaN is no JSON",
            "models/twice.json: key 'a' is there twice",
        )

    def test_a_folder_without_a_schema(self):
        self.write("plans/p.json", {})
        self.write("recipes/r.json", {})
        self.expect(
            "recipes: this check knows no schema for the folder",
            "schema/plan.schema.json: is missing, and plans/ needs it",
        )

    def test_a_schema_that_is_none(self):
        self.write("schema/gpu.schema.json", {**SCHEMA, "type": "objekt"})
        findings, _ = check(self.root)
        self.assertEqual(len(findings), 1)
        self.assertIn("gpu.schema.json: no valid schema", findings[0])

    def test_a_tree_that_ships_nothing(self):
        for path in (self.root / "configs" / "gpus").iterdir():
            path.unlink()
        self.expect("gpus: nothing is shipped here")


if __name__ == "__main__":
    unittest.main()
