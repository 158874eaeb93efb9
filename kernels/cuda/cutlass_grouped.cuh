// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A grouped product through CUTLASS: wgmma and TMA (sm_90a), persistent, group sizes in device
// memory. A small kernel turns counts into the shapes, pointers and strides that CUTLASS reads
// there. One instance takes a compiler process 2 to 4 GB, so each has a file of its own.
#pragma once

#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/group_array_problem_shape.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "kernels/cuda/cutlass_instances.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/raster.hpp"
#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda::cutlass_grouped {

// Both halves of a block compute one tile together, or each a tile of its own, one loading and
// storing while the other multiplies.
struct Cooperative {
  using Mainloop = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperative;
  using Epilogue = cutlass::epilogue::PtrArrayTmaWarpSpecializedCooperative;
};
struct Pingpong {
  using Mainloop = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedPingpong;
  using Epilogue = cutlass::epilogue::PtrArrayTmaWarpSpecializedPingpong;
};

// Tiles of kTileM x kTileN, 64 deep; kClusterM x kClusterN blocks share what they load.
template <int kTileM, int kTileN, int kClusterM, int kClusterN, class ScheduleKind>
struct Tiling {
  using Tile = cute::Shape<cute::Int<kTileM>, cute::Int<kTileN>, cute::_64>;
  using Cluster = cute::Shape<cute::Int<kClusterM>, cute::Int<kClusterN>, cute::_1>;
  using Schedule = ScheduleKind;
};

// The fastest of seven on an H200, for experts of five models with 512 to 2,048 rows each
// (docs/H200.md): a group's last tile wastes at most 127 rows, and one tile's C is read and written
// while the other tile is computed.
using Usual = Tiling<128, 128, 1, 2, Pingpong>;

template <class LayoutA, class LayoutB, class Output, class TilingOf = Usual>
struct Instance {
  using Input = cutlass::bfloat16_t;
  using Shape = cutlass::gemm::GroupProblemShape<cute::Shape<int, int, int>>;
  using Tile = typename TilingOf::Tile;
  using Cluster = typename TilingOf::Cluster;
  using Schedule = typename TilingOf::Schedule;
  using RowMajor = cutlass::layout::RowMajor;
  static constexpr int kAlignment = 8, kOutputAlignment = 16 / sizeof(Output);
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, Output, RowMajor*,
      kOutputAlignment, Output, RowMajor*, kOutputAlignment,
      typename Schedule::Epilogue,
      cutlass::epilogue::fusion::LinearCombination<Output, float>>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Input, LayoutA*, kAlignment, Input,
      LayoutB*, kAlignment, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      typename Schedule::Mainloop>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape, Mainloop, Epilogue>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
  using Problem = typename Shape::UnderlyingProblemShape;
};

// What CUTLASS reads in device memory, [groups] each.
template <class I>
struct Arrays {
  typename I::Problem* problems;
  const typename I::Input **a, **b;
  const typename I::Gemm::ElementC** c;
  typename I::Gemm::ElementD** d;
  typename I::Kernel::InternalStrideA* stride_a;
  typename I::Kernel::InternalStrideB* stride_b;
  typename I::Kernel::InternalStrideD* stride_d;
};

// The stride that is no constant.
template <class Stride>
__device__ Stride strided(std::int64_t ld) {
  Stride s{};
  if constexpr (cute::is_static<decltype(cute::get<0>(s))>::value) {
    cute::get<1>(s) = ld;
  } else {
    cute::get<0>(s) = ld;
  }
  return s;
}

// A group without rows has no tiles: its M is 0, also where its depth would be.
template <class I>
__global__ void __launch_bounds__(kScanThreads) fill_arrays_kernel(Arrays<I> arrays, Products p) {
  const bool depth = p.grouping == Products::Grouping::depth;
  using Output = typename I::Gemm::ElementD;
  block_scan(
      p.groups, [=](std::int64_t g) { return p.counts[g]; },
      [=](std::int64_t g, int first) {
        const int count = p.counts[g];
        arrays.problems[g] =
            depth ? cute::make_shape(count == 0 ? 0 : static_cast<int>(p.m),
                                     static_cast<int>(p.n), count)
                  : cute::make_shape(count, static_cast<int>(p.n), static_cast<int>(p.k));
        const std::int64_t a = first * (depth ? p.a.col : p.a.row);
        const std::int64_t b = depth ? first * p.b.row : g * p.group_step;
        const std::int64_t d = depth ? g * p.group_step : first * p.c.row;
        arrays.a[g] = static_cast<const typename I::Input*>(p.a.data) + a;
        arrays.b[g] = static_cast<const typename I::Input*>(p.b.data) + b;
        arrays.d[g] = static_cast<Output*>(p.c.data) + d;
        arrays.c[g] = arrays.d[g];
        arrays.stride_a[g] = strided<typename I::Kernel::InternalStrideA>(p.a.col == 1 ? p.a.row
                                                                                       : p.a.col);
        arrays.stride_b[g] = strided<typename I::Kernel::InternalStrideB>(p.b.row == 1 ? p.b.col
                                                                                       : p.b.row);
        arrays.stride_d[g] = strided<typename I::Kernel::InternalStrideD>(p.c.row);
      });
}

inline void check(cutlass::Status status, const char* call) {
  if (status != cutlass::Status::kSuccess) {
    throw DeviceError(call, cutlassGetStatusString(status), __FILE__, __LINE__);
  }
}

// How tiles are walked through.
struct Walk {
  bool other_side = false;  // not as raster_of says: for measurements
  int swizzle = 2;          // rows or columns of tiles that are walked through side by side
};

// The mean group's order, which is that of all: they are one launch.
template <class I, class Scheduler>
void set_raster(Scheduler& scheduler, Products::Grouping grouping, std::int64_t groups,
                std::int64_t m, std::int64_t n, Walk walk = {}) {
  using Order = decltype(scheduler.raster_order);
  const std::int64_t rows = grouping == Products::Grouping::rows ? m / groups : m;
  const Raster raster = raster_of(rows, n, cute::size<0>(typename I::Tile{}),
                                  cute::size<1>(typename I::Tile{}));
  const bool along_n = (raster == Raster::along_n) != walk.other_side;
  scheduler.raster_order = along_n ? Order::AlongN : Order::AlongM;
  scheduler.max_swizzle_size = walk.swizzle;
}

template <class I>
void multiply(Resources& r, const Products& p, Walk walk = {}) {
  using Gemm = typename I::Gemm;
  r.device().make_current();
  Arrays<I> arrays{};
  cutlass::KernelHardwareInfo hardware;
  hardware.device_id = r.device().index();
  hardware.sm_count = r.multiprocessors();
  const auto arguments = [&] {
    typename Gemm::Arguments all{};
    all.mode = cutlass::gemm::GemmUniversalMode::kGrouped;
    all.problem_shape = {static_cast<int>(p.groups), arrays.problems, nullptr};
    all.mainloop.ptr_A = arrays.a;
    all.mainloop.dA = arrays.stride_a;
    all.mainloop.ptr_B = arrays.b;
    all.mainloop.dB = arrays.stride_b;
    all.epilogue.thread.alpha = 1.0f;
    all.epilogue.thread.beta = p.accumulate ? 1.0f : 0.0f;
    all.epilogue.thread.dAlpha = {cute::_0{}, cute::_0{}, 0};
    all.epilogue.thread.dBeta = {cute::_0{}, cute::_0{}, 0};
    all.epilogue.ptr_C = arrays.c;
    all.epilogue.dC = arrays.stride_d;
    all.epilogue.ptr_D = arrays.d;
    all.epilogue.dD = arrays.stride_d;
    all.hw_info = hardware;
    set_raster<I>(all.scheduler, p.grouping, p.groups, p.m, p.n, walk);
    return all;
  };
  const std::size_t workspace = Gemm::get_workspace_size(arguments());
  const std::int64_t g = p.groups;
  Scratch scratch(r, 8 * Scratch::bytes<std::int64_t[2]>(g) +
                         Scratch::bytes<std::byte>(static_cast<std::int64_t>(workspace)));
  static_assert(sizeof(typename I::Problem) <= 16 && sizeof(*arrays.stride_a) <= 16);
  const auto take = [&](auto*& to) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(scratch.take_bytes(
        Scratch::bytes<std::int64_t[2]>(g)));
  };
  take(arrays.problems);
  take(arrays.a);
  take(arrays.b);
  take(arrays.c);
  take(arrays.d);
  take(arrays.stride_a);
  take(arrays.stride_b);
  take(arrays.stride_d);
  void* space = scratch.take_bytes(Scratch::bytes<std::byte>(static_cast<std::int64_t>(workspace)));
  launch(r, fill_arrays_kernel<I>, 1, kScanThreads, 0, arrays, p);
  Gemm gemm;
  check(gemm.initialize(arguments(), space, native(r)), "grouped product: initialize");
  check(gemm.run(native(r)), "grouped product: run");
}

}  // namespace pleat::cuda::cutlass_grouped
