# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""pandas is optional: it is looked for when a table is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def frame(rows: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> pandas.DataFrame:
    """Make a table of rows, or of columns."""
    try:
        import pandas
    except ImportError as e:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from e
    return pandas.DataFrame(rows)
