// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// NodeOpener's search for the plan of a mesh that needs the least memory, for when nothing fits.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/program/compile_stage.hpp"
#include "planner/search/node_opener.hpp"

namespace pleat {
namespace {

// plans of a mesh, with the optimizer's state in one place
constexpr std::size_t kPricedOfPlace = 12;

}  // namespace

std::vector<std::int16_t> NodeOpener::first_settings(std::int32_t mesh) const {
  std::vector<std::int16_t> first;
  Node node{.bound = {}, .mesh = mesh};
  const Mesh& of = tree_.mesh_of(node);
  const Plan bare = tree_.mesh_plan(node);
  for (std::size_t begin = 0; begin < tree_.settings.size(); begin = tree_.end_of_family(begin)) {
    for (std::size_t s = begin; s < tree_.end_of_family(begin); ++s) {
      const Setting& setting = tree_.settings[s];
      if (tree_.setting_repeats_another(s, of) || setting.void_on(of) != nullptr) continue;
      Plan plan = bare;
      setting.put_into(plan);
      if (tree_.broken_rule(plan) != nullptr) continue;
      first.push_back(static_cast<std::int16_t>(s));
      break;
    }
  }
  return first;
}

std::int64_t NodeOpener::least_memory_bound(std::int32_t mesh) {
  std::int64_t least = kNoPeak;
  Node node{.bound = {}, .mesh = mesh};
  std::vector<std::pair<Sharding, int>> seen;
  for (const std::int16_t s : first_settings(mesh)) {
    const Setting& setting = tree_.settings[static_cast<std::size_t>(s)];
    const std::pair shards(setting.sharding, setting.shard_domain);
    if (std::ranges::find(seen, shards) != seen.end()) continue;
    node.setting = s;
    bool valid = false;
    for (const std::int16_t m : tree_.ends) {
      node.memory = m;
      const Plan plan = tree_.plan_of(node);
      if (tree_.memory_repeats_another(node) || tree_.broken_rule(plan) != nullptr) continue;
      valid = true;
      least = std::min(least, bounds_.peak_of_family(plan));
    }
    if (valid) seen.push_back(shards);
  }
  return least;
}

// The bytes that the memory choices of a mesh need at least, from its layers without any saving. A
// setting's choices are bounded when the least of them may come next, and settings that need the
// same (which differ in the dispatcher, say) once.
class NodeOpener::RoughBytes {
 public:
  // A choice: its bytes at least, then its place in the order of ties.
  using Rough = std::pair<std::int64_t, std::size_t>;

  RoughBytes(NodeOpener& opener, std::int32_t mesh) : opener_(opener), mesh_(mesh) {
    std::set<std::vector<std::int64_t>> seen;
    for (const std::int16_t s : opener_.first_settings(mesh)) {
      const std::vector<std::int64_t> ends = bounded(s, tree().ways_of_most);
      if (!seen.insert(ends).second) continue;
      OfSetting& setting = settings_.emplace_back(s);
      for (std::size_t i = 0; i < ends.size(); ++i) {
        std::int64_t& least = setting.least[index(tree().ways_of_most.choices[i].state)];
        least = std::min(least, ends[i]);
      }
    }
  }

  void begin(StatePlace place) {
    place_ = place;
    heap_.clear();
    order_.clear();
    for (const OfSetting& s : settings_) order_.push_back(&s);
    std::ranges::stable_sort(order_, std::greater{}, [&](const OfSetting* s) {
      return s->least[index(place_)];
    });
  }

  // The least one that was not taken yet; nothing: there is none.
  std::optional<Rough> take() {
    while (!order_.empty() &&
           (heap_.empty() || order_.back()->least[index(place_)] <= heap_.front().first)) {
      add(order_.back()->setting);
      order_.pop_back();
    }
    if (heap_.empty()) return std::nullopt;
    std::ranges::pop_heap(heap_, std::greater{});
    const Rough least = heap_.back();
    heap_.pop_back();
    return least;
  }

  [[nodiscard]] Node node_of(std::size_t order) const {
    Node node{.bound = {}, .mesh = mesh_};
    node.memory = static_cast<std::int16_t>(order / tree().settings.size());
    node.setting = static_cast<std::int16_t>(order % tree().settings.size());
    return node;
  }

 private:
  struct OfSetting {
    explicit OfSetting(std::int16_t s) : setting(s) { least.fill(kNoPeak); }
    std::int16_t setting;
    std::array<std::int64_t, kStatePlaces> least;
  };

  [[nodiscard]] const PlanTree& tree() const { return opener_.tree_; }
  static std::size_t index(StatePlace place) { return static_cast<std::size_t>(place); }

  std::vector<std::int64_t> bounded(std::int16_t setting, const ChoiceWays& ways) {
    const Plan plain = tree().plan_of(node_of(static_cast<std::size_t>(setting)));
    constexpr std::int64_t kAnyBytes = std::int64_t{1} << 60;
    const BoundsByChoice bounds = opener_.bounds_.by_choice(
        plain, schedule_of(plain, tree().problem.workload), ways, kAnyBytes, kAnyTime);
    std::vector<std::int64_t> peaks;
    for (std::size_t c = 0; c < bounds.choices(); ++c) peaks.push_back(bounds[c].peak_bytes);
    return peaks;
  }

  void add(std::int16_t setting) {
    std::vector<std::int64_t>& peaks = peaks_[setting];
    if (peaks.empty()) peaks = bounded(setting, tree().ways);
    for (std::size_t m = 0; m < peaks.size(); ++m) {
      const MemoryChoice& choice = tree().choices[m];
      if (choice.by_stage || choice.state != place_) continue;
      heap_.emplace_back(peaks[m], m * tree().settings.size() + static_cast<std::size_t>(setting));
    }
    std::ranges::make_heap(heap_, std::greater{});
  }

  NodeOpener& opener_;
  std::int32_t mesh_;
  std::vector<OfSetting> settings_;
  std::map<std::int16_t, std::vector<std::int64_t>> peaks_;  // by choice, of settings looked at
  StatePlace place_{};
  std::vector<const OfSetting*> order_;  // those to come, the next one last
  std::vector<Rough> heap_;
};

std::optional<Candidate> NodeOpener::least_memory_plan(std::int32_t mesh) {
  // Of each place the kPricedOfPlace choices that need the least by their own layers.
  struct Bounded {
    std::int64_t peak;  // at least
    std::size_t order;
    [[nodiscard]] auto key() const { return std::pair(peak, order); }
  };
  RoughBytes rough(*this, mesh);
  std::array<std::vector<Bounded>, kStatePlaces> of_place;
  for (std::size_t place = 0; place < kStatePlaces; ++place) {
    std::vector<Bounded>& list = of_place[place];
    rough.begin(static_cast<StatePlace>(place));
    while (const auto next = rough.take()) {
      if (list.size() == kPricedOfPlace && *next > list.back().key()) break;
      const Node node = rough.node_of(next->second);
      if (tree_.memory_repeats_another(node)) continue;
      const Plan plan = tree_.plan_of(node);
      if (tree_.broken_rule(plan) != nullptr) continue;
      const Bounded own{bounds_.peak_of_family(plan), next->second};
      list.insert(std::ranges::upper_bound(list, own.key(), {}, &Bounded::key), own);
      if (list.size() > kPricedOfPlace) list.pop_back();
    }
  }
  std::optional<Candidate> best;
  for (const auto& list : of_place) {
    for (const Bounded& b : list) {
      if (best && b.peak >= best->estimate.peak_bytes()) break;
      Plan plan = tree_.plan_of(rough.node_of(b.order));
      StepEstimate estimate = estimator_(plan);
      if (best && estimate.peak_bytes() >= best->estimate.peak_bytes()) continue;
      best = Candidate{std::move(plan), std::move(estimate)};
    }
  }
  return best;
}

}  // namespace pleat
