// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn_layout.hpp"

#include "kernels/cuda/for_packs.cuh"

namespace pleat::cuda {
namespace {

struct CopyStats {
  float *stats, *lse;
  std::int64_t seq;
  HeadRange h;
  bool to_lse;
  __device__ void operator()(std::int64_t i) const {  // of lse's part: neighbours are heads
    std::int64_t row, head, sequence, position;
    split(i, h.count, row, head);
    split(row, seq, sequence, position);
    float& a = stats[(sequence * h.count + head) * seq + position];
    float& b = lse[row * h.all + h.first + head];
    if (to_lse) {
      b = a;
    } else {
      a = b;
    }
  }
};

struct CopyRagged {
  float *stats, *lse;
  std::int64_t seq;
  HeadRange h;
  Sequences::OnDevice there;
  bool to_lse;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t row, head;
    split(i, h.count, row, head);
    const std::int64_t sequence = there.sequence_of[row];
    float& a = stats[(sequence * h.count + head) * seq + row - there.first[sequence]];
    float& b = lse[row * h.all + h.first + head];
    if (to_lse) {
      b = a;
    } else {
      a = b;
    }
  }
};

struct AddTo {
  Vec<Bf16Value> from, to;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float a[kPack], b[kPack];
    from.load(at, count, a);
    to.load(at, count, b);
#pragma unroll
    for (int i = 0; i < kPack; ++i) b[i] += a[i];
    to.store(b, at, count);
  }
};

// "Rows" are the heads of all rows.
struct JoinKeys {
  Vec<Bf16Value> kv, kpe, k;
  MlaShape s;
  HeadRange h;
  __device__ void operator()(std::int64_t i, std::int64_t col, std::int64_t count) const {
    std::int64_t row, head;
    split(i, h.count, row, head);
    float v[kPack];
    if (col < s.nope) {
      kv.load((row * h.all + h.first + head) * (s.nope + s.v) + col, count, v);
    } else {
      kpe.load(row * (s.kv_lora + s.rope) + s.kv_lora + col - s.nope, count, v);
    }
    k.store(v, i * (s.nope + s.rope) + col, count);
  }
};

struct SplitKeys {
  Vec<Bf16Value> dk, dkv;
  MlaShape s;
  HeadRange h;
  __device__ void operator()(std::int64_t i, std::int64_t col, std::int64_t count) const {
    std::int64_t row, head;
    split(i, h.count, row, head);
    float v[kPack];
    dk.load(i * (s.nope + s.rope) + col, count, v);
    dkv.store(v, (row * h.all + h.first + head) * (s.nope + s.v) + col, count);
  }
};

struct SumShared {
  Vec<Bf16Value> dk;
  float* shared;
  MlaShape s;
  HeadRange h;
  bool add;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    const Vec<float> to{shared, true};
    float sum[kPack] = {}, v[kPack];
    if (add) to.load(row * s.rope + col, count, sum);
#pragma unroll 4
    for (std::int64_t head = 0; head < h.count; ++head) {
      dk.load((row * h.count + head) * (s.nope + s.rope) + s.nope + col, count, v);
#pragma unroll
      for (int c = 0; c < kPack; ++c) sum[c] += v[c];
    }
    to.store(sum, row * s.rope + col, count);
  }
};

struct WriteShared {
  const float* shared;
  Vec<Bf16Value> dkpe;
  bool add;
  MlaShape s;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    const std::int64_t at = row * (s.kv_lora + s.rope) + s.kv_lora + col;
    float v[kPack], there[kPack];
    load_pack(shared + row * s.rope + col, v);
    if (add) {
      dkpe.load(at, count, there);
#pragma unroll
      for (int i = 0; i < kPack; ++i) v[i] += there[i];
    }
    dkpe.store(v, at, count);
  }
};

Vec<Bf16Value> bf16(const void* data) {
  return {static_cast<Bf16Value*>(const_cast<void*>(data)), true};
}

void check(const MlaShape& s) {
  PLEAT_ASSERT(s.nope % kPack == 0 && s.rope % kPack == 0 && s.v % kPack == 0 &&
               s.kv_lora % kPack == 0);
}

}  // namespace

void stats_to_lse(const Resources& r, const float* stats, View lse, std::int64_t seq, HeadRange h) {
  for_each(r, lse.elements() / h.all * h.count,
           CopyStats{const_cast<float*>(stats), lse.f32(), seq, h, true});
}

void lse_to_stats(const Resources& r, View lse, float* stats, std::int64_t seq, HeadRange h) {
  for_each(r, lse.elements() / h.all * h.count, CopyStats{stats, lse.f32(), seq, h, false});
}

void ragged_stats_to_lse(const Resources& r, const float* stats, View lse, std::int64_t seq,
                         HeadRange h, const Sequences::OnDevice& there) {
  for_each(r, lse.elements() / h.all * h.count,
           CopyRagged{const_cast<float*>(stats), lse.f32(), seq, h, there, true});
}

void lse_to_ragged_stats(const Resources& r, View lse, float* stats, std::int64_t seq,
                         HeadRange h, const Sequences::OnDevice& there) {
  for_each(r, lse.elements() / h.all * h.count,
           CopyRagged{stats, lse.f32(), seq, h, there, false});
}

void add_bf16(const Resources& r, View from, View to) {
  PLEAT_ASSERT(from.elements() == to.elements());
  for_packs(r, to.elements(), AddTo{vec<Bf16Value>(from), vec<Bf16Value>(to)});
}

void join_mla_keys(const Resources& r, View kv, View kpe, void* k, const MlaShape& s, HeadRange h) {
  check(s);
  for_row_packs(r, kv.rows * h.count, s.nope + s.rope,
                JoinKeys{bf16(kv.data), bf16(kpe.data), bf16(k), s, h});
}

void split_mla_key_gradients(const Resources& r, const void* dk, View dkv, float* shared, bool add,
                             const MlaShape& s, HeadRange h) {
  check(s);
  for_row_packs(r, dkv.rows * h.count, s.nope, SplitKeys{bf16(dk), bf16(dkv.data), s, h});
  for_row_packs(r, dkv.rows, s.rope, SumShared{bf16(dk), shared, s, h, add});
}

void write_mla_shared_gradient(const Resources& r, const float* shared, View dkpe, bool add,
                               const MlaShape& s) {
  for_row_packs(r, dkpe.rows, s.rope, WriteShared{shared, bf16(dkpe.data), add, s});
}

}  // namespace pleat::cuda
