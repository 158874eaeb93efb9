// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The sweeps. On a CPU: kernels in fp32 at the sizes of models that it can train, collectives from
// 1 KB to 4 MB. On a GPU: bf16 at the sizes of the models that ship, what their narrow products
// need, tensors of 64 KB to 1 GB (in fp32 2 GB) for what moves data: AdamW then moves 15 GB.
#pragma once

#include <string_view>
#include <vector>

#include "calibration/microbench/clock.hpp"
#include "calibration/microbench/rank_runner.hpp"

namespace pleat {

enum class PointSet { cpu, gpu };

[[nodiscard]] inline DType floats_of(PointSet set) {
  return set == PointSet::cpu ? DType::fp32 : DType::bf16;
}
// Bytes of `floats` activations or weights and of `words` fp32 or i32 numbers.
[[nodiscard]] inline double point_bytes(PointSet set, std::int64_t floats, std::int64_t words = 0) {
  return static_cast<double>(bytes_of(floats_of(set), floats) + 4 * words);
}

[[nodiscard]] std::vector<KernelPoint> gemm_points(PointSet set = PointSet::cpu);
[[nodiscard]] std::vector<KernelPoint> grouped_gemm_points(PointSet set = PointSet::cpu);
[[nodiscard]] std::vector<KernelPoint> attention_points(PointSet set = PointSet::cpu);
// For GPUs: sliding windows, packed sequences, attention without a mask, and queries of one chunk
// with keys of other chunks. `part` divides the numbers of rows and keys.
[[nodiscard]] std::vector<KernelPoint> attention_piece_points(std::int64_t part = 1);
// The same for MLA, without a mask and for a chunk. These points are judged, not fitted; each gets
// kJudgedShare of a point's time.
[[nodiscard]] std::vector<KernelPoint> mla_piece_points(std::int64_t part = 1);
// For GPUs, also judged and not fitted: quantisation of columns alone, norms that quantise,
// products that transpose codes, the router's statistics and losses.
[[nodiscard]] std::vector<KernelPoint> judged_kernel_points();
[[nodiscard]] KernelPoint sustained_product();                    // a GPU's
[[nodiscard]] KernelPoint sustained_attention();                  // likewise
[[nodiscard]] std::vector<KernelPoint> memory_bound_points(
    PointSet set = PointSet::cpu);  // norm, activation, a GPU's optimizer too
[[nodiscard]] std::vector<KernelPoint> routing_points(
    PointSet set = PointSet::cpu);                      // router, permute, loss
[[nodiscard]] std::vector<KernelPoint> state_points();  // a CPU's: optimizer, sweeps past caches
// Quantisation; on a CPU bf16 and codes to fp32 and back, on a GPU fp8 products.
[[nodiscard]] std::vector<KernelPoint> narrow_points(PointSet set = PointSet::cpu);

// Which ranks get a rank's rows in an exchange for experts: all the same number, or the ranks whose
// experts the rows draw (expert_rows.hpp).
enum class RowShares { even, uniform, zipf, hot };
// Messages between two ranks: there and back; both ways at once, as pipeline stages send; both ways
// in one call, which can run on any stream.
enum class Messages { ping_pong, both_ways, in_one_call };

// One collective of groups of `group` ranks, `stride` apart, among `ranks`: all groups at once; the
// larger side of a rank's call has `bytes` bytes, with uneven rows what it sends and keeps.
struct CollectivePoint {
  Collective kind = Collective::all_gather;
  int group = 2, ranks = 2;
  std::int64_t bytes = 1024;
  int stride = 1;
  bool windows = false;  // buffers in symmetric windows
  DType type = DType::fp32;             // of a reduction's elements, or bf16
  RowShares rows = RowShares::even;     // of an all-to-all
  Messages messages = Messages::ping_pong;  // of send_recv
};
inline constexpr std::int64_t kMostCollectiveBytes = std::int64_t{4} << 20U;
// All ranks in one group, from 1 KB on.
[[nodiscard]] std::vector<CollectivePoint> collective_points(
    int ranks, std::int64_t most_bytes = kMostCollectiveBytes);
// Groups side by side that fill `ranks`: of neighbours, and of ranks far apart.
[[nodiscard]] std::vector<CollectivePoint> concurrent_points(
    int ranks, std::int64_t most_bytes = kMostCollectiveBytes);
// Those of the points that windows can change, with them.
[[nodiscard]] std::vector<CollectivePoint> in_windows(const std::vector<CollectivePoint>&);
// What no curve is fitted to, of a GPU: messages below 1 KB, sums of bf16, exchanges of uneven rows
// among `ranks` in one group.
[[nodiscard]] std::vector<CollectivePoint> judged_points(
    int ranks, std::int64_t most_bytes = kMostCollectiveBytes);
// Both directions at once, likewise: of one pair, and of all pairs that are 1, 2, 4, … apart.
[[nodiscard]] std::vector<CollectivePoint> both_ways_points(
    int ranks, std::int64_t most_bytes = kMostCollectiveBytes);
// Of the first 3 and the first 6 of the ranks: all kinds but messages, 64 KB and larger.
[[nodiscard]] std::vector<CollectivePoint> odd_group_points(
    int ranks, std::int64_t most_bytes = kMostCollectiveBytes);
[[nodiscard]] std::string judged_as(const CollectivePoint&);  // CollectiveSample::judged
[[nodiscard]] std::string name_of(const CollectivePoint&);
inline constexpr std::string_view kInWindows = ", in windows";  // the end of such a point's name
[[nodiscard]] Sample sample_of(const CollectivePoint&, const Timing&);

// Means of blocks of calls, of rank 0; nothing where it is not here, or where the ranks get no
// windows for a point with them.
[[nodiscard]] Timing time_collective(RankRunner&, const CollectivePoint&, const TimingLimits&);
[[nodiscard]] Timing time_barrier(RankRunner&, int ranks, const TimingLimits&);

}  // namespace pleat
