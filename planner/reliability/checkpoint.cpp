// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/reliability/checkpoint.hpp"

namespace pleat {

std::int64_t checkpoint_bytes_per_parameter(Precision precision, const OptimizerPlan& types) {
  const std::int64_t moments = bytes_of(types.exp_avg, 1) + bytes_of(types.exp_avg_sq, 1);
  const auto with_copy = [&](std::int64_t weight) {
    return weight + bytes_of(types.main_params, 1) + moments;
  };
  switch (precision) {
    case Precision::fp32: return 4 + moments;
    case Precision::fp16:
    case Precision::bf16:
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::fp8_block:
    case Precision::mxfp8:
    case Precision::nvfp4: return with_copy(2);
  }
  return 0;
}

SaveTimes blocking_save(Bytes checkpoint, BytesPerSecond storage, Seconds fixed) {
  return {fixed + checkpoint / storage, Seconds(0)};
}

SaveTimes background_save(Bytes checkpoint, int gpus, BytesPerSecond host_link,
                          BytesPerSecond storage, Seconds fixed) {
  return {fixed + checkpoint / gpus / host_link, checkpoint / storage};
}

}  // namespace pleat
