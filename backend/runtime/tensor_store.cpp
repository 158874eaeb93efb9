// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/runtime/tensor_store.hpp"

#include <fmt/format.h>

#include "backend/runtime/execution_error.hpp"
#include "core/program/paged_stash.hpp"

namespace pleat {
namespace {

std::string where(const InstanceKey& k) {
  return fmt::format("microbatch {}, chunk {}, position {}", k.microbatch, k.chunk, k.position);
}

View view_of(std::byte* data, const Tensor& t, const Binding& b) {
  return {data, t.dtype, t.rows(b), t.columns(b)};
}

}  // namespace

TensorStore::TensorStore(const StageProgram& stage, Device& device, bool poison, bool routed_apart,
                         MemoryOf memory_of)
    : stage_(stage),
      device_(device),
      memory_of_(std::move(memory_of)),
      routed_apart_(routed_apart),
      arena_(device.memory(), poison),
      host_(device.host_memory(), poison && device.is_host()),  // copies from it may be under way
      state_(stage.state.size()) {}

Block TensorStore::allocate(const Tensor& tensor, std::int64_t bytes) {
  Memory* const other = memory_of_ ? memory_of_(tensor) : nullptr;
  if (other != nullptr) return arena_.allocate(bytes, *other);
  return arena_.allocate(bytes, routed_apart_ && tensor.is_routed());
}

void TensorStore::birth(const InstanceKey& key, const Tensor& tensor, const Binding& binding) {
  const auto [it, fresh] = activations_.try_emplace(key);
  if (!fresh) {
    throw ExecutionError(fmt::format("tensor '{}' is born twice ({})", tensor.name, where(key)));
  }
  it->second.name = tensor.name;
  it->second.block = allocate(tensor, tensor.bytes(within_pass(binding)));
}

void TensorStore::death(const InstanceKey& key, const Tensor& tensor) {
  if (activations_.erase(key) == 0) {
    throw ExecutionError(
        fmt::format("tensor '{}' is freed but not alive ({})", tensor.name, where(key)));
  }
}

View TensorStore::activation(const InstanceKey& key, const Tensor& tensor, const Binding& binding,
                             bool reads, const std::string& op) {
  const auto it = activations_.find(key);
  if (it == activations_.end()) {
    throw ExecutionError(fmt::format("operation '{}' uses tensor '{}', which is not alive ({})", op,
                                     tensor.name, where(key)));
  }
  const Block& block = it->second.block;
  if (block.bytes() != tensor.bytes(within_pass(binding))) {
    throw ExecutionError(fmt::format("operation '{}' uses {} B of tensor '{}', which has {} B ({})",
                                     op, tensor.bytes(within_pass(binding)), tensor.name,
                                     block.bytes(), where(key)));
  }
  if (reads && !it->second.written) {
    throw ExecutionError(
        fmt::format("operation '{}' reads tensor '{}', which nothing has written "
                    "({})",
                    op, tensor.name, where(key)));
  }
  if (!reads) it->second.written = true;
  View view = view_of(block.data(), tensor, binding);
  if (is_quantized(tensor.dtype)) view.scales = &it->second.scales;
  return view;
}

void TensorStore::stash(const InstanceKey& key, const Tensor& tensor, const Binding& rows) {
  const std::int64_t bytes = tensor.bytes(between_passes(rows));
  if (tensor.bytes(rows) > bytes) {
    throw_config_error(ExitCode::nothing_fits, "", "paged_stash.buffer",
                       fmt::format("routing sends {} rows, the stash keeps {} ({})", rows.routed,
                                   rows.stashed, where(key)),
                       "a larger buffer, or no stash");
  }
  if (is_stashed(tensor, rows)) move(key, tensor, rows, bytes);
}

void TensorStore::unstash(const InstanceKey& key, const Tensor& tensor, const Binding& rows) {
  if (is_stashed(tensor, rows)) move(key, tensor, rows, tensor.bytes(within_pass(rows)));
}

// The rows that there are, to a block of so many bytes.
void TensorStore::move(const InstanceKey& key, const Tensor& tensor, const Binding& rows,
                       std::int64_t bytes) {
  const auto it = activations_.find(key);
  if (it == activations_.end()) {
    throw ExecutionError(
        fmt::format("tensor '{}' is to be kept but not alive ({})", tensor.name, where(key)));
  }
  Block to = arena_.allocate(bytes, routed_apart_);
  device_.enqueue_copy(to.data(), it->second.block.data(), tensor.bytes(rows));
  it->second.block = std::move(to);
}

void TensorStore::birth_state(TensorId id) {
  StateStorage& s = state_[id.index()];
  const Tensor& tensor = stage_.state[id.index()];
  if (s.born) throw ExecutionError(fmt::format("step tensor '{}' is born twice", tensor.name));
  const std::int64_t bytes = tensor.bytes({});
  s.block = tensor.cls == TensorClass::host_state ? host_.allocate(bytes) : allocate(tensor, bytes);
  s.born = true;
}

void TensorStore::death_state(TensorId id) {
  StateStorage& s = state_[id.index()];
  if (!s.born) {
    throw ExecutionError(
        fmt::format("step tensor '{}' is freed but not alive", stage_.state[id.index()].name));
  }
  s = StateStorage{};
}

View TensorStore::state(TensorId id, bool reads, const std::string& op) {
  StateStorage& s = state_[id.index()];
  const Tensor& tensor = stage_.state[id.index()];
  if (!s.born) {
    throw ExecutionError(
        fmt::format("operation '{}' uses step tensor '{}', which is not alive", op, tensor.name));
  }
  if (reads && !s.written) {
    throw ExecutionError(
        fmt::format("operation '{}' reads step tensor '{}', which nothing has "
                    "written in this step",
                    op, tensor.name));
  }
  if (!reads) s.written = true;
  return view_of(s.block.data(), tensor, {});
}

View TensorStore::parameter(const WeightSlot& slot, const Tensor& tensor, BucketPart part,
                            const std::string& op, bool reads) {
  const BucketState& bucket = stage_.buckets[static_cast<std::size_t>(slot.bucket)];
  const View whole = state(part == BucketPart::gradients ? bucket.gradients
                           : part == BucketPart::buffers ? bucket.buffers
                                                         : bucket.weights,
                           reads, op);
  const std::int64_t elements = tensor.elements({});
  const std::int64_t offset =
      slot.offset - (part == BucketPart::buffers ? bucket.shards * bucket.shard_elements : 0);
  if (whole.dtype != tensor.dtype || offset < 0 || offset + elements > whole.elements()) {
    throw ExecutionError(
        fmt::format("operation '{}' uses '{}' at [{}, {}) of a bucket with {} "
                    "elements",
                    op, tensor.name, offset, offset + elements, whole.elements()));
  }
  std::byte* data = static_cast<std::byte*>(whole.data) + bytes_of(tensor.dtype, offset);
  return view_of(data, tensor, {});
}

void TensorStore::send_to_host(const InstanceKey& key, View from, const std::string& op) {
  const auto [it, fresh] = away_.try_emplace(key);
  if (!fresh) {
    throw ExecutionError(
        fmt::format("operation '{}' sends away what is away ({})", op, where(key)));
  }
  Away& away = it->second;
  away.block = host_.allocate(bytes_of(from.dtype, from.elements()));
  if (from.scales != nullptr) away.scales = *from.scales;
  device_.enqueue_copy(away.block.data(), from.data, away.block.bytes());
}

void TensorStore::bring_back(const InstanceKey& key, View to, const std::string& op) {
  const auto it = away_.find(key);
  if (it == away_.end() || it->second.block.bytes() != bytes_of(to.dtype, to.elements())) {
    throw ExecutionError(
        fmt::format("operation '{}' brings back what is not away ({})", op, where(key)));
  }
  const Away& away = it->second;
  device_.enqueue_copy(to.data, away.block.data(), away.block.bytes());
  if (to.scales != nullptr) *to.scales = away.scales;
  away_.erase(it);
}

void TensorStore::require_no_activations() const {
  if (!away_.empty()) {
    throw ExecutionError(
        fmt::format("{} activations are in host memory after the step ({})", away_.size(),
                    where(away_.begin()->first)));
  }
  if (activations_.empty()) return;
  const auto& [key, activation] = *activations_.begin();
  throw ExecutionError(
      fmt::format("{} activations are alive after the step, the first is '{}' ({})",
                  activations_.size(), activation.name, where(key)));
}

}  // namespace pleat
