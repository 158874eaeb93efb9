# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Writes small.safetensors beside this file; needs torch and safetensors (made with 2.15.0, 0.8.0)."""
import pathlib

import torch
from safetensors.torch import save_file

VALUES = [0.0, -0.0, 1.0, -1.5, 3.0e-3, 448.0, float("inf"), float("nan")]

tensors = {
    "f64": torch.tensor(VALUES, dtype=torch.float64),
    "f32": torch.tensor(VALUES, dtype=torch.float32).reshape(2, 4),
    "f16": torch.tensor(VALUES + [6.0e-8, 65504.0], dtype=torch.float16),
    "bf16": torch.tensor(VALUES, dtype=torch.bfloat16),
    "e4m3": torch.tensor(VALUES[:6] + [2.0**-9, float("nan")]).to(torch.float8_e4m3fn),
    "e5m2": torch.tensor(VALUES + [57344.0, 2.0**-16]).to(torch.float8_e5m2),
    "i64": torch.tensor([-(2**40)], dtype=torch.int64),
    "i32": torch.tensor([-7, 8], dtype=torch.int32),
    "u8": torch.tensor([255], dtype=torch.uint8),
    "bool": torch.tensor([True, False, True]),
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
}
save_file(tensors, pathlib.Path(__file__).with_name("small.safetensors"), {"made": "by hand"})
