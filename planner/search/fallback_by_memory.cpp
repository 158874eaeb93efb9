// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/fallback_by_memory.hpp"

#include <algorithm>
#include <numeric>

#include "planner/search/sampled_meshes.hpp"

namespace pleat {
namespace {

constexpr std::size_t kSample = 512;  // meshes, and as many with the smallest microbatch
constexpr std::size_t kTogether = 8;  // priced together before looking whether one fits
constexpr std::size_t kTries = 64;    // meshes tried at most

struct Sampled {
  std::int32_t mesh = 0;
  PlanBounds bounds;
};

void add_evenly(const std::vector<std::int32_t>& meshes, std::vector<std::int32_t>& sample) {
  const std::size_t count = std::min(kSample, meshes.size());
  for (std::size_t i = 0; i < count; ++i) sample.push_back(meshes[i * meshes.size() / count]);
}

// In the order in which they are tried.
std::vector<Sampled> sample(const PlanTree& tree, NodeOpener& opener, Workers& workers,
                            std::int64_t usable) {
  const std::vector<Mesh>& all = tree.space.meshes;
  std::vector<std::int32_t> meshes(all.size()), sampled;
  std::iota(meshes.begin(), meshes.end(), 0);
  add_evenly(meshes, sampled);
  const int smallest = std::ranges::min(all, {}, &Mesh::micro_batch).micro_batch;
  std::erase_if(meshes, [&](std::int32_t m) {
    return all[static_cast<std::size_t>(m)].micro_batch > smallest;
  });
  add_evenly(meshes, sampled);
  std::ranges::sort(sampled);
  sampled.erase(std::ranges::unique(sampled).begin(), sampled.end());
  std::vector<Sampled> list(sampled.size());
  workers.for_each(list.size(), [&](std::size_t i) {
    list[i] = {sampled[i], opener.bounds().mesh(sampled[i])};
  });
  std::erase_if(list, [&](const Sampled& s) { return s.bounds.peak_bytes > usable; });
  std::ranges::sort(list, [&](const Sampled& a, const Sampled& b) {
    const bool roomy = a.bounds.peak_bytes <= usable / 2;
    if (roomy != (b.bounds.peak_bytes <= usable / 2)) return roomy;
    if (roomy && a.bounds.step != b.bounds.step) return a.bounds.step < b.bounds.step;
    if (!roomy && a.bounds.peak_bytes != b.bounds.peak_bytes) {
      return a.bounds.peak_bytes < b.bounds.peak_bytes;
    }
    return a.mesh < b.mesh;
  });
  // Half of the tries go to the meshes with the least state: the fast ones may have no room for
  // activations.
  if (list.size() > kTries / 2) {
    std::ranges::stable_sort(list.begin() + kTries / 2, list.end(), {},
                             [](const Sampled& s) { return s.bounds.peak_bytes; });
  }
  if (list.size() > kTries) list.resize(kTries);
  return list;
}

// From nothing saved to the most.
std::vector<std::int16_t> few_choices(const PlanTree& tree) {
  std::vector<std::int16_t> few{0};
  if (tree.least_memory == 0) return few;
  few.push_back(tree.least_memory);
  MemoryChoice most = tree.choices[static_cast<std::size_t>(tree.least_memory)];
  most.state = tree.least_place();
  most.share = tree.config.host_share;
  const auto at = std::ranges::find(tree.choices, most);
  if (at != tree.choices.end() && most.state != StatePlace::device) {
    few.push_back(static_cast<std::int16_t>(at - tree.choices.begin()));
  }
  return few;
}

struct Tried {
  std::optional<Candidate> plan;  // one that fits
  std::int64_t priced = 0;
};

Tried try_mesh(const PlanTree& tree, NodeOpener& opener, std::int32_t mesh,
               const std::vector<std::int16_t>& choices) {
  Tried tried;
  Node node = setting_node(mesh, usual_setting(tree, mesh), 0);
  if (node.setting < 0) return tried;
  for (const std::int16_t choice : choices) {
    node.memory = choice;
    Plan plan = tree.plan_of(node);
    if (tree.memory_repeats_another(node) || tree.broken_rule(plan) != nullptr) continue;
    Priced priced = opener.price_one(node);
    ++tried.priced;
    if (!priced.fits) continue;
    tried.plan = Candidate{std::move(plan), std::move(priced.estimate)};
    break;
  }
  return tried;
}

}  // namespace

std::optional<Candidate> fallback_by_memory(const PlanTree& tree, NodeOpener& opener,
                                            Workers& workers, std::int64_t usable,
                                            std::int64_t& priced) {
  const std::vector<Sampled> list = sample(tree, opener, workers, usable);
  const std::vector<std::int16_t> choices = few_choices(tree);
  std::optional<Candidate> best;
  for (std::size_t done = 0; done < list.size() && !best; done += kTogether) {
    std::vector<Tried> tried(std::min(kTogether, list.size() - done));
    workers.for_each(tried.size(), [&](std::size_t i) {
      tried[i] = try_mesh(tree, opener, list[done + i].mesh, choices);
    });
    for (auto& [one, count] : tried) {
      priced += count;
      if (!one) continue;
      const bool robust = tree.config.robust;
      if (!best || value_of(one->estimate, robust) < value_of(best->estimate, robust)) {
        best = std::move(one);
      }
    }
  }
  return best;
}

}  // namespace pleat
