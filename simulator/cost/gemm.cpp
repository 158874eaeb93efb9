// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The work of matrix products, and their time by the profile's law.
#include <algorithm>
#include <cmath>

#include "simulator/cost/op_work.hpp"

namespace pleat {

// Matrix products, dense and grouped: flops from m, n, k, bytes from the operands. Grouped products
// count the rows of all local experts together. Operands wider than the arithmetic are counted in
// its type: a narrow copy of the weight is kept, of the activation the quantize op makes one.

namespace {

// What the operands take less in the type of the arithmetic.
double saved_bytes(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  if (op.attr.math == DType::fp32 || op.attr.math == DType::bf16) return 0;
  double saved = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, op.in.size()); ++i) {
    const Tensor& t = tensors[op.in[i].index()];
    const std::int64_t elements = t.elements(binding);
    const std::int64_t narrow = bytes_of(op.attr.math, elements);
    saved += static_cast<double>(std::max<std::int64_t>(0, bytes_of(t.dtype, elements) - narrow));
  }
  return saved;
}

}  // namespace

OpWork gemm_work(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  const double m = static_cast<double>(binding.value(op.attr.m));
  const double n = static_cast<double>(binding.value(op.attr.n));
  const double k = static_cast<double>(binding.value(op.attr.k));
  const Bytes saved(saved_bytes(op, tensors, binding));
  return {.kernel = op.kind == OpKind::grouped_gemm ? KernelClass::grouped_gemm : KernelClass::gemm,
          .flops = Flops(2.0 * m * n * k),
          .bytes = operand_bytes(op, tensors, binding) - saved};
}

// Time of matrix products by the profile's law and its measured corrections (docs/MODEL.md 7.1).

namespace {

GemmMath math_class(DType math, Precision precision) {
  switch (math) {
    case DType::fp8:
      return precision == Precision::fp8_block ? GemmMath::fp8_block : GemmMath::fp8;
    case DType::mxfp8: return GemmMath::mxfp8;
    case DType::nvfp4: return GemmMath::nvfp4;
    case DType::fp32:
    case DType::bf16:
    case DType::fp16:
    case DType::remainder16:
    case DType::i32:
    case DType::i64:
    case DType::u8: return GemmMath::bf16;
  }
  return GemmMath::bf16;
}

// fp32 products run at the bf16 law's share of their own peak.
double speed_of(DType math, const GpuSpec& gpu) {
  if (math != DType::fp32) return 1.0;
  return usable_peak(gpu, DType::fp32) / usable_peak(gpu, DType::bf16);
}

Seconds launch_per_expert(const ProductCall& call, const GroupedLaw& grouped) {
  if (call.weight_gradient) return grouped.wgrad_per_expert;
  return call.backward ? grouped.backward_per_expert : grouped.forward_per_expert;
}

// One product a local expert: rows (or, for the weight gradient, depth) shared out evenly.
GemmShape shape_of(const Op& op, const Binding& binding, const GroupedLaw& grouped) {
  GemmShape shape{.m = static_cast<double>(binding.value(op.attr.m)),
                  .n = static_cast<double>(binding.value(op.attr.n)),
                  .k = static_cast<double>(binding.value(op.attr.k))};
  if (op.kind != OpKind::grouped_gemm) return shape;
  shape.groups = static_cast<double>(std::max<std::int64_t>(1, op.attr.local_experts));
  double& shared = op.attr.transpose_a ? shape.k : shape.m;
  shared = padded_rows(shared / shape.groups, grouped);
  return shape;
}

}  // namespace

Seconds law_time(const GemmLaw& law, std::span<const GemmTile> tiles, int sms,
                 const GemmShape& shape, Bytes bytes, double speed) {
  const double largest = static_cast<double>(tiles.front().m) * tiles.front().n;
  double least = 0;  // flops of one processor, padding and idling included
  for (const GemmTile& tile : tiles) {
    const double area = static_cast<double>(tile.m) * tile.n;
    const double w = shape.groups * std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n) / sms;
    const double waves = w > 0 ? law.wave * std::ceil(w) + (1 - law.wave) * std::max(1.0, w) : 0;
    const double lossless = waves * 2 * area * (shape.k + law.depth);
    // A smaller tile loses something, so this one cannot be the best.
    if (least > 0 && lossless >= least && area <= largest && law.tile_exponent >= 0) continue;
    const double loss = area == largest ? 1.0 : std::pow(largest / area, law.tile_exponent);
    const double work = lossless * loss;
    if (least == 0 || work < least) least = work;
  }
  const double tc = least * sms / (law.rate.base() * speed);
  const double tm = bytes / law.bandwidth / Seconds(1);
  return law.fixed + Seconds(std::sqrt(std::sqrt(tc * tc * tc * tc + tm * tm * tm * tm)));
}

double padded_rows(double rows, const GroupedLaw& grouped) {
  return std::ceil(rows / grouped.row_multiple) * grouped.row_multiple;
}

KernelPrice product_price(const GemmLaws& laws, const GemmLaw& law, int sms,
                          const ProductCall& call) {
  const GroupedLaw& grouped = laws.grouped;
  const GemmShape& shape = call.shape;
  // A group of one expert is an ordinary product.
  const bool several = shape.groups > 1;
  double speed = call.speed;
  if (several) speed *= call.narrow ? grouped.narrow_rate : grouped.rate;
  if (several && call.weight_gradient) speed *= grouped.wgrad_rate;
  KernelPrice price{law_time(law, laws.tiles, sms, shape, call.bytes, speed), law.source};
  if (several) {
    price.time += launch_per_expert(call, grouped) * shape.groups * call.launches;
  } else if (law.corrections && shape.m > 0 && shape.n > 0 && shape.k > 0) {
    const Correction c = correction_at(*law.corrections, shape.m, shape.n, shape.k);
    price.time *= std::exp(c.log);
    price.source = law.source == SourceClass::measured ? c.source : law.source;
  }
  return price;
}

std::optional<KernelPrice> gemm_price(const Op& op, const OpWork& work, const Binding& binding,
                                      const ClusterView& view, const Profile& profile) {
  const GpuSpec& gpu = view.cluster->gpu;
  const GemmLaw* law = profile.gemm.find(math_class(op.attr.math, view.precision));
  if (law == nullptr || gpu.sms <= 0) return std::nullopt;
  const double clock = clock_of(profile.sustained_clock, work.kernel, op.attr.math);
  return product_price(profile.gemm, *law, gpu.sms,
                       {.shape = shape_of(op, binding, profile.gemm.grouped),
                        .bytes = work.bytes,
                        .speed = clock * speed_of(op.attr.math, gpu),
                        .weight_gradient = op.attr.transpose_a,
                        .backward = op.phase != Phase::forward && op.phase != Phase::recompute,
                        .narrow = is_quantized(op.attr.math),
                        .launches = profile.grouped_launches});
}

// Muon's orthogonalisation as the matrix products it is made of, at their usual price.

namespace {

// C[m,n] = A[m,k] B[n,k] in bf16, one kernel.
OpCost product(std::int64_t m, std::int64_t n, std::int64_t k, const ClusterView& view,
               const Profile& profile) {
  const std::vector<Tensor> tensors{{"A", TensorClass::activation, DType::bf16, {{m}, {k}}},
                                    {"B", TensorClass::activation, DType::bf16, {{n}, {k}}},
                                    {"C", TensorClass::activation, DType::bf16, {{m}, {n}}}};
  Op op;
  op.kind = OpKind::gemm;
  op.phase = Phase::step;
  op.in = {TensorId{0}, TensorId{1}};
  op.out = {TensorId{2}};
  op.attr.m = {m};
  op.attr.n = {n};
  op.attr.k = {k};
  op.attr.transpose_b = true;
  op.attr.math = DType::bf16;
  return price_op(op, tensors, Binding{}, view, profile);
}

}  // namespace

OpCost newton_schulz_cost(const Op& op, const ClusterView& view, const Profile& profile) {
  constexpr double kIterations = 5;  // Megatron's --muon-num-ns-steps
  const std::int64_t a = std::min(op.attr.m.n, op.attr.n.n), b = std::max(op.attr.m.n, op.attr.n.n);
  const double times = kIterations * static_cast<double>(op.attr.experts);
  OpCost total{.time = {}, .cls = CostClass::optimizer, .flops = {}, .bytes = {},
               .source = SourceClass::measured};
  for (const OpCost& one : {product(a, a, b, view, profile), product(a, a, a, view, profile),
                            product(a, b, a, view, profile)}) {
    total.time += one.time * times;
    total.flops += one.flops * times;
    total.bytes += one.bytes * times;
    total.source = std::max(total.source, one.source);
  }
  return total;
}

}  // namespace pleat
