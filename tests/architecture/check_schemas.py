# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Every shipped JSON under configs/ fits its schema in configs/schema. Usage: check_schemas.py ROOT"""
import json
import pathlib
import sys
import warnings

with warnings.catch_warnings():  # RefResolver: the one way that old and new jsonschema share
    warnings.simplefilter("ignore", DeprecationWarning)
    from jsonschema import RefResolver, exceptions, validators

# Folder of configs/ to its schema; None: another project's format, which only has to parse.
SCHEMAS = {
    "gpus": "gpu.schema.json",
    "clusters": "cluster.schema.json",
    "profiles": "profile.schema.json",
    "plans": "plan.schema.json",
    "rates": "rates.schema.json",
    "numerics": "numerics.schema.json",
    "interop": "interop.schema.json",
    "unread_flags": "unread_flags.schema.json",
    "unread_keys": "unread_keys.schema.json",
    "models": None,  # Hugging Face config.json
    "validation": None,
}
MUST_SHIP = ("gpus", "clusters", "models")


class StrictJsonError(ValueError):
    pass


def parse_strictly(text):
    def unique(pairs):
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise StrictJsonError(f"key {name!r} is there twice")
        return dict(pairs)

    def refuse(constant):
        raise StrictJsonError(f"{constant} is no JSON")

    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)


def read(path, findings):
    """The document, or None with a finding."""
    try:
        return parse_strictly(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as problem:  # ValueError: syntax, strictness, encoding
        findings.append(f"{path}: {problem}")
        return None


def make_validator(path, findings):
    schema = read(path, findings)
    if schema is None:
        return None
    kind = validators.validator_for(schema, default=None)
    if kind is None:
        findings.append(f"{path}: $schema names no draft that is known")
        return None
    try:
        kind.check_schema(schema)
    except exceptions.SchemaError as problem:
        findings.append(f"{path}: no valid schema: {problem.message}")
        return None
    return kind(schema, resolver=RefResolver(path.as_uri(), schema))


def check_document(path, validator, findings):
    document = read(path, findings)
    if document is None or validator is None:
        return
    for problem in sorted(validator.iter_errors(document), key=lambda e: list(map(str, e.path))):
        where = ".".join(map(str, problem.absolute_path)) or "the document"
        findings.append(f"{path}: {where}: {problem.message}")


def check(root):
    """What is wrong with the configs of a source tree, one line each, and how many were looked at."""
    configs = pathlib.Path(root).resolve() / "configs"
    findings, count = [], 0
    schemas = {
        path.name: make_validator(path, findings) for path in sorted((configs / "schema").glob("*.json"))
    }
    found = {path.name for path in configs.glob("*/")} - {"schema"}
    for folder in sorted(found - set(SCHEMAS)):
        findings.append(f"{configs / folder}: this check knows no schema for the folder")
    for folder, schema in SCHEMAS.items():
        documents = sorted((configs / folder).rglob("*.json"))
        if not documents and folder in MUST_SHIP:
            findings.append(f"{configs / folder}: nothing is shipped here")
        if documents and schema is not None and schema not in schemas:
            findings.append(f"{configs / 'schema' / schema}: is missing, and {folder}/ needs it")
        for path in documents:
            check_document(path, schemas.get(schema), findings)
            count += 1
    return findings, count


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_schemas.py ROOT")
    findings, count = check(sys.argv[1])
    for line in findings:
        print(line)
    print(f"{count} documents, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
