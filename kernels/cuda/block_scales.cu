// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/tile_scheduler.cuh"

namespace pleat {
namespace cuda {
namespace {

__global__ void __launch_bounds__(kScanThreads)
    first_rows_kernel(const std::int32_t* counts, std::int64_t groups, std::int32_t rows,
                      std::int32_t* first) {
  block_scan(
      groups, [=](std::int64_t g) { return counts == nullptr ? rows : counts[g]; },
      [=](std::int64_t g, int before) { first[g] = before; });
  if (threadIdx.x == 0) first[groups] = rows;
}

// Strips of `height` rows (0: the group's) of each group; an empty group has none.
__global__ void __launch_bounds__(kScanThreads)
    first_blocks_kernel(const std::int32_t* first, std::int64_t groups, std::int32_t height,
                        std::int32_t* first_block, std::int32_t* blocks) {
  const auto strips = [=](std::int64_t g) {
    const std::int32_t rows = first[g + 1] - first[g];
    if (height == 0) return rows > 0 ? 1 : 0;
    return (rows + height - 1) / height;
  };
  const int all =
      block_scan(groups, strips, [=](std::int64_t g, int before) { first_block[g] = before; });
  if (threadIdx.x == 0) *blocks = all;
}

struct MapRow {
  BlockTable t;
  const std::int32_t *first, *first_block;
  std::int64_t groups;
  std::int32_t height;
  __device__ void operator()(std::int64_t row) const {
    const std::int64_t g = group_of_row(first, groups, row);
    const auto offset = static_cast<std::int32_t>(row) - first[g];
    const std::int32_t block = first_block[g] + (height == 0 ? 0 : offset / height);
    t.block_of_row[row] = block;
    if (height == 0 ? offset == 0 : offset % height == 0) {
      t.first_row[block] = static_cast<std::int32_t>(row);
      t.group_of[block] = static_cast<std::int32_t>(g);
    }
  }
};

// MapRow and the number of strips for one group: all rows. Called for row 0 even if there is none.
struct MapRowOfOne {
  BlockTable t;
  std::int32_t height;
  __device__ void operator()(std::int64_t row) const {
    const auto rows = static_cast<std::int32_t>(t.rows), at = static_cast<std::int32_t>(row);
    if (row == 0) *t.blocks = height == 0 ? min(rows, 1) : (rows + height - 1) / height;
    if (row >= t.rows) return;
    const std::int32_t block = height == 0 ? 0 : at / height;
    t.block_of_row[row] = block;
    if (height == 0 ? at == 0 : at % height == 0) {
      t.first_row[block] = at;
      t.group_of[block] = 0;
    }
  }
};

// Memory for the table, which says how large it is.
void allocate(Resources& r, View y, BlockTable& t) {
  const std::size_t blocks = Scratch::bytes<std::int32_t>(t.most_blocks);
  const std::size_t bytes = Scratch::bytes<std::int32_t>(t.rows) + 3 * blocks +
                            Scratch::bytes<std::int32_t>(1) +
                            Scratch::bytes<float>(t.most_blocks * t.blocks_in_row);
  auto& kept = y.scales->on_device;
  auto* scales = static_cast<DeviceScales*>(kept.get());
  // Another matrix may share the scales of an earlier call.
  if (scales == nullptr || kept.use_count() > 1 || scales->memory.bytes() < bytes) {
    kept.reset();
    auto made = std::make_shared<DeviceScales>();
    made->memory = r.kept_blocks().take(bytes);
    scales = made.get();
    kept = std::move(made);
  }
  Scratch parts(static_cast<std::byte*>(scales->memory.data()), bytes);
  t.block_of_row = parts.take<std::int32_t>(t.rows);
  t.first_row = parts.take<std::int32_t>(t.most_blocks);
  t.group_of = parts.take<std::int32_t>(t.most_blocks);
  t.group_scales = parts.take<float>(t.most_blocks);
  t.blocks = parts.take<std::int32_t>(1);
  t.scales = parts.take<float>(t.most_blocks * t.blocks_in_row);
  scales->table = t;
}

}  // namespace

void first_rows(const Resources& r, View counts, std::int64_t rows, std::int32_t* first) {
  PLEAT_ASSERT(rows <= INT32_MAX);
  launch(r, first_rows_kernel, 1, kScanThreads, 0, static_cast<const std::int32_t*>(counts.data),
         counts.data == nullptr ? std::int64_t{1} : counts.elements(),
         static_cast<std::int32_t>(rows), first);
}

void first_strips(const Resources& r, const std::int32_t* first_row, std::int64_t groups,
                  std::int64_t height, std::int32_t* first_strip, std::int32_t* strips) {
  launch(r, first_blocks_kernel, 1, kScanThreads, 0, first_row, groups,
         static_cast<std::int32_t>(height), first_strip, strips);
}

BlockTable describe_blocks(Resources& r, View counts, View y, const Quantization& q) {
  PLEAT_ASSERT(y.scales != nullptr);
  PLEAT_ASSERT(counts.data != nullptr || counts.elements() == 0);
  const std::int64_t groups = counts.data == nullptr ? 1 : counts.elements();
  BlockScales& s = *y.scales;
  s.format = q.format;
  s.rule = q.rule;
  s.block_cols = q.block_cols > 0 ? q.block_cols : std::max<std::int64_t>(1, y.cols);
  s.blocks_in_row = ceil_div(y.cols, s.block_cols);
  s.block_of_row.clear();
  s.scales.clear();
  s.group_scales.clear();
  BlockTable t{.rows = y.rows,
               .cols = y.cols,
               .block_cols = s.block_cols,
               .blocks_in_row = s.blocks_in_row,
               .block_rows = q.block_rows,
               .regular = groups == 1,
               .whole_groups = q.block_rows == 0 && s.blocks_in_row == 1,
               .groups = groups};
  t.most_blocks = q.block_rows == 0   ? groups
                  : q.block_rows == 1 ? y.rows
                                      : y.rows / q.block_rows + groups;
  r.device().make_current();
  allocate(r, y, t);
  const auto height = static_cast<std::int32_t>(q.block_rows);
  if (groups == 1) {
    PLEAT_ASSERT(y.rows <= INT32_MAX);
    for_each(r, std::max<std::int64_t>(1, y.rows), MapRowOfOne{t, height});
    return t;
  }
  Scratch scratch(r, 2 * Scratch::bytes<std::int32_t>(groups + 1));
  auto *first = scratch.take<std::int32_t>(groups + 1),
       *first_block = scratch.take<std::int32_t>(groups + 1);
  first_rows(r, counts, y.rows, first);
  first_strips(r, first, groups, height, first_block, t.blocks);
  for_each(r, y.rows, MapRow{t, first, first_block, groups, height});
  return t;
}

const BlockTable& blocks_of_matrix(View y) {
  PLEAT_ASSERT(y.scales != nullptr && y.scales->on_device != nullptr);
  return static_cast<const DeviceScales*>(y.scales->on_device.get())->table;
}

}  // namespace cuda

void CudaKernels::read_scales(View y) {
  const cuda::BlockTable& t = cuda::blocks_of_matrix(y);
  const cuda::CudaDevice& device = resources_->device();
  std::int32_t blocks = 0;
  device.download(&blocks, t.blocks, sizeof blocks);
  BlockScales& s = *y.scales;
  s.block_of_row.resize(static_cast<std::size_t>(t.rows));
  s.group_scales.resize(static_cast<std::size_t>(blocks));
  s.scales.resize(static_cast<std::size_t>(blocks * t.blocks_in_row));
  const auto bring = [&](auto& to, const auto* from) {
    if (!to.empty()) device.download(to.data(), from, to.size() * sizeof to[0]);
  };
  bring(s.block_of_row, t.block_of_row);
  bring(s.group_scales, t.group_scales);
  bring(s.scales, t.scales);
}

// Groups are not told apart any more; only quantising needs them.
void CudaKernels::write_scales(View y) {
  BlockScales& s = *y.scales;
  PLEAT_ASSERT(std::ssize(s.block_of_row) == y.rows);
  cuda::BlockTable t{.rows = y.rows,
                     .cols = y.cols,
                     .block_cols = s.block_cols,
                     .blocks_in_row = s.blocks_in_row,
                     .most_blocks = std::ssize(s.group_scales)};
  resources_->device().make_current();
  cuda::allocate(*resources_, y, t);
  std::vector<std::int32_t> first(s.group_scales.size());
  for (std::size_t r = s.block_of_row.size(); r-- > 0;) {
    first[static_cast<std::size_t>(s.block_of_row[r])] = static_cast<std::int32_t>(r);
  }
  const std::vector<std::int32_t> one_group(first.size()),
      count{static_cast<std::int32_t>(first.size())};
  const auto bring = [&](const auto& from, auto* to) {
    if (!from.empty()) resources_->device().stage(to, from.data(), from.size() * sizeof from[0]);
  };
  bring(s.block_of_row, t.block_of_row);
  bring(s.group_scales, t.group_scales);
  bring(s.scales, t.scales);
  bring(first, t.first_row);
  bring(one_group, t.group_of);
  bring(count, t.blocks);
}

}  // namespace pleat
