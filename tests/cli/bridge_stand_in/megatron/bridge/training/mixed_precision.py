# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass
from typing import Optional


@dataclass
class MixedPrecisionConfig:
    bf16: bool = True
    fp8: Optional[str] = None
    fp8_recipe: Optional[str] = None


def get_mixed_precision_config(name):
    if name == "bf16_with_fp8_current_scaling_mixed":
        return MixedPrecisionConfig(fp8="hybrid", fp8_recipe="tensorwise")
    return MixedPrecisionConfig()
