# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Plans, predicts and exports training of Mixture-of-Experts and dense models.

The answers are those of the command ``pleat``, to the bit; docs/PYTHON.md has examples.
Times are in seconds, memory in bytes, shares in [0, 1].
"""

from __future__ import annotations

from . import _core
from ._errors import (
    DeviceOrIoError,
    FileError,
    MismatchError,
    NothingFitsError,
    PleatError,
    RequestError,
)
from .booking import Capacity, Offer, capacity
from .estimates import Estimates, Estimator, estimate
from .exporting import Export, export
from .plans import Plan, PlanFile
from .prediction import Change, Explanation, Prediction, explain, predict
from .search import RankedPlan, SearchAnswer, plan, search_arguments
from .specs import Cluster, Model, Profile, Workload, clusters, models
from .validation import ErrorSummary, Validation, validate

__version__ = _core.version

__all__ = [
    "Capacity",
    "Change",
    "Cluster",
    "DeviceOrIoError",
    "ErrorSummary",
    "Estimates",
    "Estimator",
    "Explanation",
    "Export",
    "FileError",
    "MismatchError",
    "Model",
    "NothingFitsError",
    "Offer",
    "Plan",
    "PlanFile",
    "PleatError",
    "Prediction",
    "Profile",
    "RankedPlan",
    "RequestError",
    "SearchAnswer",
    "Validation",
    "Workload",
    "capacity",
    "clusters",
    "estimate",
    "explain",
    "export",
    "models",
    "plan",
    "predict",
    "search_arguments",
    "validate",
]
