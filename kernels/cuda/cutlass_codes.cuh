// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped products of 8-bit codes through CUTLASS: wgmma and TMA (sm_90a). Tensor cores' short sums
// are added up in fp32 after every 128 of K, where blocks of scales come in too. K is contiguous in
// both operands: wgmma reads 8-bit ones in no other way.
#pragma once

#include "kernels/cuda/cutlass_grouped.cuh"

namespace pleat::cuda::cutlass_grouped {

// A's and B's format, C's type; blocks: scales for 128 of K and one row of A, of B one row (depth)
// or 128.
template <class FormatA, class FormatB, class Output, bool kBlocks, bool kDepth>
struct CodesInstance {
  using InputA = FormatA;
  using InputB = FormatB;
  static constexpr bool blocks = kBlocks;
  using Shape = cutlass::gemm::GroupProblemShape<cute::Shape<int, int, int>>;
  using Tile = cute::Shape<cute::_128, cute::_128, cute::_128>;
  using Cluster = cute::Shape<cute::_2, cute::_1, cute::_1>;
  using RowMajor = cutlass::layout::RowMajor;
  using ColumnMajor = cutlass::layout::ColumnMajor;
  static constexpr int kAlignment = 16, kOutputAlignment = 16 / sizeof(Output);
  static constexpr auto kMajor = kDepth ? cute::GMMA::Major::MN : cute::GMMA::Major::K;
  using Scales =
      cutlass::detail::Sm90BlockwiseScaleConfig<1, kDepth ? 1 : 128, 128, kMajor, kMajor>;
  using LayoutA = cute::conditional_t<
      kBlocks, cute::tuple<RowMajor*, decltype(Scales::deduce_layoutSFA())*>, RowMajor*>;
  using LayoutB = cute::conditional_t<
      kBlocks, cute::tuple<ColumnMajor*, decltype(Scales::deduce_layoutSFB())*>, ColumnMajor*>;
  using Schedule =
      cute::conditional_t<kBlocks,
                          cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperativeFP8Blockwise,
                          cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperative>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, Output, RowMajor*,
      kOutputAlignment, Output, RowMajor*, kOutputAlignment,
      cutlass::epilogue::PtrArrayTmaWarpSpecializedCooperative,
      cutlass::epilogue::fusion::LinearCombination<Output, float>>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, FormatA, LayoutA, kAlignment, FormatB,
      LayoutB, kAlignment, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape, Mainloop, Epilogue>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
  using Problem = typename Shape::UnderlyingProblemShape;
};

// [groups] each, in device memory.
template <class I>
struct CodeArrays {
  typename I::Problem* problems;
  const typename I::InputA** a;
  const typename I::InputB** b;
  const typename I::Gemm::ElementC** c;
  typename I::Gemm::ElementD** d;
  typename I::Kernel::InternalStrideA* stride_a;
  typename I::Kernel::InternalStrideB* stride_b;
  typename I::Kernel::InternalStrideD* stride_d;
  const float **factors, **scales_a, **scales_b;
};
inline constexpr int kCodeArrays = 11;

// A group without rows has no tiles: its M is 0, also where its depth would be.
template <class I>
__global__ void __launch_bounds__(kScanThreads)
    fill_code_arrays_kernel(CodeArrays<I> arrays, NarrowGroups p) {
  const bool depth = p.grouping == Products::Grouping::depth;
  using Output = typename I::Gemm::ElementD;
  const auto length = [=](std::int64_t g) {
    const int count = p.counts[g];
    return depth ? static_cast<int>((count + kStripRows - 1) / kStripRows) : count;
  };
  block_scan(p.groups, length, [=](std::int64_t g, int first) {
    const int count = length(g), m = static_cast<int>(p.m), n = static_cast<int>(p.n);
    arrays.problems[g] =
        depth ? cute::make_shape(count == 0 ? 0 : m, n, count * static_cast<int>(kStripRows))
              : cute::make_shape(count, n, static_cast<int>(p.k));
    const std::int64_t a = depth ? first * kStripRows : first * p.a_ld;
    const std::int64_t b = depth ? first * kStripRows : g * p.b_step;
    const std::int64_t c = depth ? g * p.c_step : first * p.c.row;
    arrays.a[g] = reinterpret_cast<const typename I::InputA*>(p.a + a);
    arrays.b[g] = reinterpret_cast<const typename I::InputB*>(p.b + b);
    arrays.d[g] = static_cast<Output*>(p.c.data) + c;
    arrays.c[g] = arrays.d[g];
    arrays.stride_a[g] = strided<typename I::Kernel::InternalStrideA>(p.a_ld);
    arrays.stride_b[g] = strided<typename I::Kernel::InternalStrideB>(p.b_ld);
    arrays.stride_d[g] = strided<typename I::Kernel::InternalStrideD>(p.c.row);
    if constexpr (I::blocks) {
      const std::int64_t blocks = p.k / kStripRows;
      arrays.scales_a[g] = p.scales_a + first * (depth ? p.m : blocks);
      arrays.scales_b[g] = p.scales_b + (depth ? first * p.n : g * (p.n / kStripRows) * blocks);
    } else {
      arrays.factors[g] = p.factors + g;
    }
  });
}

template <class I>
void multiply(Resources& r, const NarrowGroups& p) {
  using Gemm = typename I::Gemm;
  r.device().make_current();
  CodeArrays<I> arrays{};
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
    if constexpr (I::blocks) {  // their layouts follow from the problem's shape
      all.mainloop.ptr_SFA = arrays.scales_a;
      all.mainloop.ptr_SFB = arrays.scales_b;
      all.epilogue.thread.alpha = 1.0f;
      all.epilogue.thread.dAlpha = {cute::_0{}, cute::_0{}, 0};
    } else {
      all.epilogue.thread.alpha_ptr_array = arrays.factors;
      all.epilogue.thread.dAlpha = {cute::_0{}, cute::_0{}, 1};
    }
    all.epilogue.thread.beta = p.accumulate ? 1.0f : 0.0f;
    all.epilogue.thread.dBeta = {cute::_0{}, cute::_0{}, 0};
    all.epilogue.ptr_C = arrays.c;
    all.epilogue.dC = arrays.stride_d;
    all.epilogue.ptr_D = arrays.d;
    all.epilogue.dD = arrays.stride_d;
    all.hw_info = hardware;
    set_raster<I>(all.scheduler, p.grouping, p.groups, p.m, p.n, {.swizzle = 1});
    return all;
  };
  const auto workspace = static_cast<std::int64_t>(Gemm::get_workspace_size(arguments()));
  const std::size_t each = Scratch::bytes<std::int64_t[2]>(p.groups);
  Scratch scratch(r, kCodeArrays * each + Scratch::bytes<std::byte>(workspace));
  static_assert(sizeof(typename I::Problem) <= 16 && sizeof(*arrays.stride_a) <= 16);
  const auto take = [&](auto*& to) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(scratch.take_bytes(each));
  };
  take(arrays.problems);
  take(arrays.a);
  take(arrays.b);
  take(arrays.c);
  take(arrays.d);
  take(arrays.stride_a);
  take(arrays.stride_b);
  take(arrays.stride_d);
  take(arrays.factors);
  take(arrays.scales_a);
  take(arrays.scales_b);
  void* space = scratch.take_bytes(Scratch::bytes<std::byte>(workspace));
  launch(r, fill_code_arrays_kernel<I>, 1, kScanThreads, 0, arrays, p);
  Gemm gemm;
  check(gemm.initialize(arguments(), space, native(r)), "grouped product of codes: initialize");
  check(gemm.run(native(r)), "grouped product of codes: run");
}

}  // namespace pleat::cuda::cutlass_grouped
