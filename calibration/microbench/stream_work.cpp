// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/stream_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/numerics/small_float.hpp"

namespace pleat {

StreamWorkSizes gpu_overlap() {
  return {.n = 8192,
          .tokens = 8192,
          .rows = 65536,
          .copied = std::int64_t{64} << 20U,
          .type = DType::bf16};
}

std::int64_t size_of(StreamWorkKind kind, const StreamWorkSizes& sizes) {
  switch (kind) {
    case StreamWorkKind::product:
      return sizes.n;
    case StreamWorkKind::attention:
      return sizes.tokens;
    case StreamWorkKind::swiglu:
      return sizes.rows;
    case StreamWorkKind::copy_to_host:
      return sizes.copied;
  }
  return 0;
}

const char* name_of(StreamWorkKind kind) {
  switch (kind) {
    case StreamWorkKind::product:
      return "product";
    case StreamWorkKind::attention:
      return "attention";
    case StreamWorkKind::swiglu:
      return "swiglu";
    case StreamWorkKind::copy_to_host:
      return "copy to the host";
  }
  return "?";
}

std::string label_of(StreamWorkKind kind, const StreamWorkSizes& sizes) {
  const std::int64_t size = size_of(kind, sizes);
  switch (kind) {
    case StreamWorkKind::product:
      return std::to_string(size);
    case StreamWorkKind::attention:
      return fmt::format("{} tokens", size);
    case StreamWorkKind::swiglu:
      return fmt::format("{} rows", size);
    case StreamWorkKind::copy_to_host:
      return fmt::format("{} B", size);
  }
  return "?";
}

StreamWork::StreamWork(Device& device, StreamWorkKind kind, const StreamWorkSizes& sizes)
    : device_(device) {
  switch (kind) {
    case StreamWorkKind::product: {
      const View x = make(sizes.n, sizes.n, sizes.type), w = make(sizes.n, sizes.n, sizes.type),
                 y = make(sizes.n, sizes.n, sizes.type);
      run_ = [=, this] { device_.kernels().gemm(x, false, w, true, y, false); };
      return;
    }
    case StreamWorkKind::attention: {
      const AttentionShape s{.batch = 1,
                             .seq = sizes.tokens,
                             .heads = kOverlapHeads,
                             .kv_groups = kOverlapGroups,
                             .head_dim = kOverlapHeadDim,
                             .scale = 1 / std::sqrt(static_cast<double>(kOverlapHeadDim))};
      const View qkv = make(sizes.tokens, s.columns(), sizes.type),
                 o = make(sizes.tokens, s.heads * s.head_dim, sizes.type),
                 lse = make(sizes.tokens, s.heads, DType::fp32);
      run_ = [=, this] { device_.kernels().attention(qkv, o, lse, s); };
      return;
    }
    case StreamWorkKind::swiglu: {
      const View u = make(sizes.rows, 2 * kOverlapColumns, sizes.type),
                 y = make(sizes.rows, kOverlapColumns, sizes.type);
      run_ = [=, this] { device_.kernels().swiglu(u, {}, y); };
      return;
    }
    case StreamWorkKind::copy_to_host: {
      const View x = make(1, sizes.copied / 4, DType::fp32);
      const std::int64_t bytes = bytes_of(x.dtype, x.cols);
      host_ = device.host_memory().allocate(bytes);
      run_ = [=, this] { device_.enqueue_copy(host_, x.data, bytes); };
      return;
    }
  }
}

StreamWork::~StreamWork() {
  for (const View& v : operands_) device_.memory().release(static_cast<std::byte*>(v.data));
  if (host_ != nullptr) device_.host_memory().release(host_);
}

void StreamWork::run() { run_(); }

void StreamWork::run_timed() {
  const Device::Moment begin = device_.moment();
  run();
  runs_.emplace_back(begin, device_.moment());
}

double StreamWork::seconds() {
  double sum = 0;
  for (const auto& [begin, end] : std::exchange(runs_, {})) sum += device_.seconds(begin, end);
  return sum;
}

View StreamWork::make(std::int64_t rows, std::int64_t columns, DType type) {
  const std::int64_t bytes = bytes_of(type, rows * columns);
  std::minstd_rand random(static_cast<unsigned>(operands_.size()) + 1);
  std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
  std::vector<Bf16> halves(std::size_t{1} << 16U);
  std::vector<float> words(halves.size());
  for (std::size_t i = 0; i < words.size(); ++i) halves[i] = to_bf16(words[i] = uniform(random));
  const void* const from = type == DType::bf16 ? static_cast<const void*>(halves.data())
                                               : static_cast<const void*>(words.data());
  std::byte* const data = device_.memory().allocate(bytes);
  operands_.push_back({data, type, rows, columns});
  const std::int64_t some = bytes_of(type, std::ssize(words));
  for (std::int64_t at = 0; at < bytes; at += some)
    device_.copy(data + at, from, std::min(some, bytes - at));
  return operands_.back();
}

}  // namespace pleat
