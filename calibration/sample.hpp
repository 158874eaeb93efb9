// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One measured point: the work that was done and the time it took.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/dtype.hpp"
#include "core/quantity.hpp"
#include "core/spec/profile.hpp"

namespace pleat {

// A product of m x k by k x n. Of several experts m is the rows of all, of a weight gradient k.
struct ProductShape {
  double m = 0, n = 0, k = 0;
  double groups = 1;  // experts
  GemmMath math = GemmMath::bf16;
  bool weight_gradient = false, backward = false;
  bool even = true;  // experts have the same rows
  bool operator==(const ProductShape&) const = default;
};

// Attention, causal if nothing else is said: rows of queries in all sequences of `seq` tokens.
struct AttentionSize {
  double rows = 0, heads = 0, seq = 0;
  double value_head = 0;  // columns of one
  AttentionLayout layout = AttentionLayout::gqa;
  bool backward = false;
  bool pieces = false;  // a window or packed sequences; seq is twice the mean keys of a query
  bool all_keys = false;  // every query sees every key, of which there are seq / 2
  bool operator==(const AttentionSize&) const = default;
};

// What laws of a GPU are fitted to; nothing where a curve over flops and bytes is all there is.
using KernelShape = std::variant<std::monostate, ProductShape, AttentionSize>;

struct KernelSample {
  KernelClass kernel = KernelClass::gemm;
  Flops flops;
  Bytes bytes;      // of every operand, read and written, as the simulator counts them
  int threads = 1;  // that ran the same kernel at the same time, each on its own data
  DType math = DType::fp32;  // of the arithmetic: which peak the flops are held against
  KernelShape shape = {};
  // If set, nothing is fitted to the sample; predictions of it are judged under this name.
  std::string judged = {};
  Bytes norm_bytes = {};  // beside `bytes`, at the rate of norms
  bool operator==(const KernelSample&) const = default;
};

struct CollectiveSample {
  Collective collective = Collective::all_gather;
  int group = 2;  // members
  int ranks = 2;  // that took part in the measurement
  Bytes wire;     // bytes one rank sends, as the simulator counts them; of uneven rows the busiest
  int stride = 1;  // from a member's rank to the next one's
  bool windows = false;  // of buffers in symmetric windows
  DType type = DType::fp32;  // of a reduction's elements
  // If set, nothing is fitted to the sample; predictions of it are judged under this name.
  std::string judged = {};
  bool operator==(const CollectiveSample&) const = default;
};

// What no curve is fitted to: copies between host and device, what a launch or a barrier costs.
struct OtherSample {
  std::string what;  // "host_to_device", "launch"
  Bytes bytes;
  bool operator==(const OtherSample&) const = default;
};

struct Sample {
  std::string name;  // "gemm 256x512x128"
  std::variant<KernelSample, CollectiveSample, OtherSample> point;
  Seconds time;  // median of `raw`
  int repeats = 0;
  std::vector<double> raw = {};  // seconds
  bool operator==(const Sample&) const = default;
};

[[nodiscard]] const char* name_of(KernelClass);

}  // namespace pleat
