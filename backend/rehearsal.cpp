// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/rehearsal.hpp"

#include <algorithm>
#include <map>

#include "backend/device_memory.hpp"
#include "backend/runtime/arena.hpp"
#include "backend/runtime/slab.hpp"
#include "core/program/paged_stash.hpp"
#include "core/program/step_walk.hpp"

namespace pleat {
namespace {

// Addresses that nobody looks at, apart from each other as those of a Slab.
class NoMemory final : public Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override {
    bytes > kMiB ? large_ += (bytes + kPage - 1) / kPage* kPage : small_ += bytes;
    const std::uintptr_t at = kFirst + static_cast<std::uintptr_t>(slab_);
    slab_ += Slab::room(bytes);
    return reinterpret_cast<std::byte*>(at);
  }
  void release(std::byte*) noexcept override {}
  void fill(std::byte*, int, std::int64_t) override {}
  [[nodiscard]] std::int64_t in_pages() const {
    return large_ + (small_ + kPage - 1) / kPage * kPage;
  }
  [[nodiscard]] std::int64_t slab() const { return slab_; }

 private:
  static constexpr std::uintptr_t kFirst = 1U << 16U;
  std::int64_t large_ = 0, small_ = 0, slab_ = 0;
};

class Rehearsal final : public StepVisitor {
 public:
  Rehearsal(const StageProgram& stage, const RoutedCount& routed,
            const std::function<bool(const Tensor&)>& counts, TensorPlacement placement)
      : stage_(stage), routed_(routed), counts_(counts), placement_(placement) {
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
  [[nodiscard]] Rehearsed result() const {
    return {arena_.taken(), memory_.in_pages(), memory_.slab(), layout_};
  }

 private:
  void bear(TensorId id) {
    const Tensor& tensor = stage_.state[id.index()];
    if (tensor.cls == TensorClass::host_state || !counts_(tensor)) return;
    state_[id] = block(tensor.bytes({}));
  }
  void on_birth(const OpSite& site, const InstanceKey& key, const Tensor& tensor) override {
    if (!counts_(tensor)) return;
    activations_[key] =
        block(tensor.bytes(within_pass(rows(site, tensor))), tensor.is_routed());
  }
  void on_stash(const OpSite& site, const InstanceKey& key, const Tensor& tensor) override {
    if (!counts_(tensor)) return;
    const Binding of = rows(site, tensor);
    if (is_stashed(tensor, of)) move(key, tensor.bytes(between_passes(of)));
  }
  void on_unstash(const OpSite& site, const InstanceKey& key, const Tensor& tensor) override {
    if (!counts_(tensor)) return;
    const Binding of = rows(site, tensor);
    if (is_stashed(tensor, of)) move(key, tensor.bytes(within_pass(of)));
  }
  void move(const InstanceKey& key, std::int64_t bytes) {  // both blocks are there for a moment
    Block to = block(bytes, true);
    activations_[key] = std::move(to);
  }
  // FNV-1a of the offsets and sizes.
  [[nodiscard]] Block block(std::int64_t bytes, bool routed = false) {
    const bool apart = placement_ == TensorPlacement::routed_apart && routed;
    Block b = arena_.allocate(bytes, memory_, apart);
    for (const std::uint64_t value : {std::uint64_t{reinterpret_cast<std::uintptr_t>(b.data())},
                                      static_cast<std::uint64_t>(bytes)}) {
      for (unsigned shift = 0; shift < 64; shift += 8) {
        layout_ = (layout_ ^ (value >> shift & 0xffU)) * 0x100000001b3U;
      }
    }
    return b;
  }
  [[nodiscard]] Binding rows(const OpSite& site, const Tensor& tensor) const {
    return tensor.is_routed() ? Binding(routed_(site.microbatch, layer_of(site, tensor)))
                              : Binding{};
  }
  void on_op(const OpSite&) override {}
  void on_death(const OpSite&, const InstanceKey& key, const Tensor&) override {
    activations_.erase(key);
  }

  const StageProgram& stage_;
  const RoutedCount& routed_;
  const std::function<bool(const Tensor&)>& counts_;
  const TensorPlacement placement_;
  std::uint64_t layout_ = 0xcbf29ce484222325U;
  NoMemory memory_, other_;  // a slab is not the arena's own memory
  Arena arena_{placement_ == TensorPlacement::slab ? other_ : memory_, false};
  std::map<TensorId, Block> state_;
  std::map<InstanceKey, Block> activations_;
};

}  // namespace

Rehearsed rehearse(const StageProgram& stage, const RoutedCount& routed,
                   const std::function<bool(const Tensor&)>& counts, TensorPlacement placement) {
  return Rehearsal(stage, routed, counts, placement).result();
}

}  // namespace pleat
