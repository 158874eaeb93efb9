# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Stands for PyTorch on a machine without a GPU."""
from torch import cuda


class dtype:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "torch." + self.name


dtype.__module__ = "torch"
bfloat16 = dtype("bfloat16")
