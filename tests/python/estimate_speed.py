# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Plans a second that an Estimator prices from Python: of the processor's time, on one core."""

import itertools
import time

import pleat

JOBS = {
    "mixtral-8x7b on 64 h100-sxm": ("mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256)),
    "qwen3-30b-a3b on 64 h100-sxm": ("qwen3-30b-a3b", "h100-sxm", 64, pleat.Workload(4096, 512)),
    "deepseek-v3 on 256 gb300-nvl72": (
        "deepseek-v3",
        "gb300-nvl72",
        256,
        pleat.Workload(4096, 4096),
    ),
}
PLANS = [
    pleat.Plan(tp=tp, pp=pp, ep=ep, micro_batch=mb, recompute=recompute, dispatcher=dispatcher)
    for tp, pp, ep, mb, recompute, dispatcher in itertools.product(
        (1, 2, 4),
        (1, 2, 4, 8),
        (1, 2, 4, 8, 16, 32),
        (1, 2, 4),
        (None, "moe_act", "layernorm"),
        ("alltoall", "deepep"),
    )
]


def main() -> None:
    """Measure each job three times: the first time is of an estimator that knows nothing yet."""
    for name, job in JOBS.items():
        estimator = pleat.Estimator(*job)
        plans = [p for p, e in zip(PLANS, _valid(estimator)) if e]
        rates = []
        for fresh in (pleat.Estimator(*job), estimator, estimator):
            begin = time.process_time()
            fresh.estimate(plans)
            rates.append(len(plans) / (time.process_time() - begin))
        print(
            f"{name}: {len(plans)} plans, first {rates[0]:,.0f} a second, "
            f"then {rates[1]:,.0f} and {rates[2]:,.0f}"
        )


def _valid(estimator: pleat.Estimator) -> "list[bool]":
    problems = estimator.estimate(PLANS).problems
    return [i not in problems for i in range(len(PLANS))]


if __name__ == "__main__":
    main()
