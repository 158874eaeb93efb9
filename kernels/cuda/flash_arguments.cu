// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/flash_arguments.hpp"

#include <string>

#include "kernels/cuda/flash_tiles.cuh"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kMostGridRows = 65535;  // a grid's y (heads) and z (sequences)

}  // namespace

std::size_t visible_bytes(const FlashProblem& p) {
  return p.visible == nullptr ? 0 : Scratch::bytes<int2>(p.q[0].x.rows);
}

FlashArguments flash_arguments(const Resources& r, const FlashProblem& p, const HeadColumns& o,
                               View lse, void* visible) {
  if (p.heads > kMostGridRows || p.batch > kMostGridRows) {
    throw DeviceError("attention",
                      std::to_string(p.heads) + " heads of " + std::to_string(p.batch) +
                          " sequences: our own kernels take at most " +
                          std::to_string(kMostGridRows) + " of either in one call",
                      __FILE__, __LINE__);
  }
  PLEAT_ASSERT(p.batch > 0 && p.q[0].x.rows % p.batch == 0 && p.k[0].x.rows % p.batch == 0);
  PLEAT_ASSERT(o.x.rows == p.q[0].x.rows && lse.elements() == o.x.rows * p.heads);
  PLEAT_ASSERT(lse.dtype == DType::fp32 && p.q[0].x.rows <= INT32_MAX && p.keys() <= INT32_MAX);
  FlashArguments f{};
  for (int i = 0; i < 2; ++i) {
    PLEAT_ASSERT(p.q[i].width == p.k[i].width && (p.q[i].width == 0 || p.q[i].share == 1));
    f.q[i] = flash_part(p.q[i]);
    f.k[i] = flash_part(p.k[i]);
  }
  f.v = flash_part(p.v);
  f.o = flash_part(o);
  PLEAT_ASSERT(f.v.width == f.o.width && f.key_width() <= kMaxHeadWidth);
  f.lse = lse.f32();
  f.queries = p.queries();
  f.keys = p.keys();
  f.heads = p.heads;
  f.scale = static_cast<float>(p.scale);
  if (p.visible != nullptr && p.q[0].x.rows > 0) {
    r.device().stage(visible, p.visible, static_cast<std::size_t>(p.q[0].x.rows) * sizeof(int2));
    f.visible = static_cast<const int2*>(visible);
  }
  return f;
}

FlashProblem flash_problem(View qkv, const AttentionShape& s) {
  const std::int64_t share = s.heads / s.kv_groups, d = s.head_dim, dv = s.value_dim();
  FlashProblem p{.batch = s.batch, .heads = s.heads, .scale = s.scale};
  p.q[0] = {.x = qkv, .first = 0, .stride = d, .width = d};
  p.k[0] = {.x = qkv, .first = s.heads * d, .stride = d, .width = d, .share = share};
  p.v = {.x = qkv,
         .first = (s.heads + s.kv_groups) * d,
         .stride = dv,
         .width = dv,
         .share = share};
  return p;
}

FlashProblem flash_problem(View q, View kv, View kpe, const MlaShape& s) {
  FlashProblem p{.batch = s.batch, .heads = s.heads, .scale = s.scale};
  p.q[0] = {.x = q, .first = 0, .stride = s.nope + s.rope, .width = s.nope};
  p.q[1] = {.x = q, .first = s.nope, .stride = s.nope + s.rope, .width = s.rope};
  p.k[0] = {.x = kv, .first = 0, .stride = s.nope + s.v, .width = s.nope};
  p.k[1] = {.x = kpe, .first = s.kv_lora, .stride = 0, .width = s.rope, .share = s.heads};
  p.v = {.x = kv, .first = s.nope, .stride = s.nope + s.v, .width = s.v};
  return p;
}

}  // namespace pleat::cuda
