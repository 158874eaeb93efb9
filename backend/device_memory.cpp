// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The executor's births and deaths, on an arena whose memory is not there.
#include "backend/device_memory.hpp"

#include <map>
#include <set>

#include "backend/runtime/arena.hpp"
#include "core/program/paged_stash.hpp"
#include "core/plan/rank_map.hpp"
#include "core/program/step_walk.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;
// cudaMalloc: pages of 2 MiB for what is larger than one MiB; smaller pieces share pages.
constexpr std::int64_t kPage = 2 * kMiB;
// Assumptions, until they are measured (docs/validation-notes.md): context, loaded kernels,
// cuBLASLt and cuDNN of CUDA 13 on Hopper; NCCL's rings of a communicator, as the simulator has
// them.
constexpr std::int64_t kContext = 600 * kMiB;
constexpr std::int64_t kCommunicator = 400 * kMiB;
// CudaOptions::scratch_bytes; cuBLASLt's workspace lies in it.
constexpr std::int64_t kScratch = 64 * kMiB;

class NoMemory final : public Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override {
    bytes > kMiB ? large_ += (bytes + kPage - 1) / kPage* kPage : small_ += bytes;
    return reinterpret_cast<std::byte*>(next_ += 64);  // never looked at
  }
  void release(std::byte*) noexcept override {}
  void fill(std::byte*, int, std::int64_t) override {}
  [[nodiscard]] std::int64_t in_pages() const {
    return large_ + (small_ + kPage - 1) / kPage * kPage;
  }

 private:
  std::int64_t large_ = 0, small_ = 0;
  std::uintptr_t next_ = 0;
};

class Rehearsal final : public StepVisitor {
 public:
  Rehearsal(const StageProgram& stage, const RoutedCount& routed) : stage_(stage), routed_(routed) {
    for (std::size_t i = 0; i < stage.state.size(); ++i) {
      const TensorId id{static_cast<int>(i)};
      const bool has_life = std::ranges::any_of(stage.step_lives, [&](const StepLifetime& life) {
        return life.tensor == id && (life.begin >= 0 || life.end >= 0);
      });
      if (!has_life) bear(id);
    }
    for (const StepLifetime& life : stage.step_lives) {
      if (life.begin < 0 && life.end >= 0) bear(life.tensor);
    }
    walk_step(stage, *this);
    for (int i = 0; i < static_cast<int>(stage.epilogue.size()); ++i) {
      for (const StepLifetime& life : stage.step_lives) {
        if (life.begin == i) bear(life.tensor);
      }
      for (const StepLifetime& life : stage.step_lives) {
        if (life.end == i) state_.erase(life.tensor);
      }
    }
  }
  [[nodiscard]] std::int64_t taken() const { return arena_.taken(); }
  [[nodiscard]] std::int64_t in_pages() const { return memory_.in_pages(); }

 private:
  void bear(TensorId id) {
    const Tensor& tensor = stage_.state[id.index()];
    if (tensor.cls == TensorClass::host_state) return;
    state_[id] = arena_.allocate(tensor.bytes({}));
  }
  void on_birth(const OpSite& site, const InstanceKey& key, const Tensor& tensor) override {
    activations_[key] = arena_.allocate(tensor.bytes(within_pass(rows(site, tensor))));
  }
  void on_stash(const OpSite& site, const InstanceKey& key, const Tensor& tensor) override {
    const Binding of = rows(site, tensor);
    if (is_stashed(tensor, of)) move(key, tensor.bytes(between_passes(of)));
  }
  void on_unstash(const OpSite& site, const InstanceKey& key, const Tensor& tensor) override {
    const Binding of = rows(site, tensor);
    if (is_stashed(tensor, of)) move(key, tensor.bytes(within_pass(of)));
  }
  void move(const InstanceKey& key, std::int64_t bytes) {  // both blocks are there for a moment
    Block to = arena_.allocate(bytes);
    activations_[key] = std::move(to);
  }
  [[nodiscard]] Binding rows(const OpSite& site, const Tensor& tensor) const {
    return tensor.is_routed() ? Binding(routed_(site.microbatch, layer_of(site, tensor))) : Binding{};
  }
  void on_op(const OpSite&) override {}
  void on_death(const OpSite&, const InstanceKey& key, const Tensor&) override {
    activations_.erase(key);
  }

  const StageProgram& stage_;
  const RoutedCount& routed_;
  NoMemory memory_;
  Arena arena_{memory_, false};
  std::map<TensorId, Block> state_;
  std::map<InstanceKey, Block> activations_;
};

// Groups whose members meet on the device; stages have one for each direction to a neighbour.
std::int64_t communicators(const Program& program, const StageProgram& stage) {
  std::set<Group> groups;
  const auto add = [&](const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      if (is_collective(op.kind)) groups.insert(op.group);
    }
  };
  for (const LayerProgram& layer : stage.layers) add(layer.forward), add(layer.backward);
  add(stage.prologue), add(stage.epilogue);
  std::int64_t count = 0;
  for (const Group g : groups) {
    if (g == Group::none || g == Group::pp_next || g == Group::pp_prev) continue;
    count += group_size(program.plan, g) > 1 ? 1 : 0;
  }
  const int stages = program.plan.attention.pp;
  return count + (stages > 2 ? 4 : stages > 1 ? 2 : 0);
}

}  // namespace

DeviceBytes predicted_device_bytes(const Program& program, Stage stage, const RoutedCount& routed,
                                   bool nccl) {
  const StageProgram& of_rank = program.stages[static_cast<std::size_t>(stage.value)];
  const Rehearsal rehearsal(of_rank, routed);
  return {.blocks = rehearsal.taken(),
          .rounding = rehearsal.in_pages() - rehearsal.taken(),
          .kernels = kScratch,
          .context = kContext,
          .nccl = nccl ? kCommunicator * communicators(program, of_rank) : 0};
}

}  // namespace pleat
