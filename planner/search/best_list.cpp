// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/best_list.hpp"

#include <algorithm>
#include <cmath>

namespace pleat {

std::size_t BestList::most() const {
  return static_cast<std::size_t>(listed_plans(tree_.config));
}

Seconds BestList::cutoff() const {
  std::size_t listed = 0;
  for (const Known& k : known_) {
    if (!k.close_to_listed && ++listed == certain_) {
      return std::min(tree_.config.not_above, value(k));
    }
  }
  return tree_.config.not_above;
}

const char* BestList::superseded(const Node& node, Seconds least) const {
  if (node.setting < 0) return nullptr;
  for (const Known& k : known_) {
    if (value(k) > least) break;
    if (!tree_.same_mesh(k.node, node)) continue;
    const bool tie = value(k) == least;
    if (tie && k.node.memory == node.memory && node.place() < k.node.place()) continue;
    if (const char* reason = tree_.memory.supersedes(k.node.memory, node.memory)) return reason;
  }
  return nullptr;
}

std::vector<const char*> BestList::enter(const Node& node, std::vector<StageOverride> stages,
                                         StepEstimate estimate) {
  const Seconds own = value_of(estimate, tree_.config.robust);
  if (own > tree_.config.not_above) return {"slower"};
  if (const char* reason = superseded(node, own)) return {reason};
  const int mesh = mesh_of(node);
  std::vector<const char*> reasons;
  std::erase_if(known_, [&](const Known& k) {  // what the new one supersedes
    if (k.mesh != mesh || value(k) < own) return false;
    const char* const reason = tree_.memory.supersedes(node.memory, k.node.memory);
    if (reason != nullptr) reasons.push_back(reason);
    return reason != nullptr;
  });
  const auto at = std::ranges::find_if(known_, [&](const Known& k) {
    return value(k) != own ? value(k) > own : node.place() < k.node.place();
  });
  Plan plan = tree_.plan_of(node);
  plan.stages = std::move(stages);
  known_.insert(at, {node, mesh, false, {std::move(plan), std::move(estimate)}});
  mark_near(mesh);
  const std::size_t hopeful = end_of_hopeful();
  reasons.insert(reasons.end(), known_.size() - hopeful, "slower");
  for (std::size_t i = hopeful; i < known_.size(); ++i) spare(std::move(known_[i]));
  known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(hopeful), known_.end());
  return reasons;
}

int BestList::mesh_of(const Node& node) {
  const auto same =
      std::ranges::find_if(known_, [&](const Known& k) { return tree_.same_mesh(k.node, node); });
  return same != known_.end() ? same->mesh : meshes_++;
}

void BestList::mark_near(int mesh) {
  std::vector<const Known*> listed;
  for (Known& k : known_) {
    if (k.mesh != mesh) continue;
    k.close_to_listed = std::ranges::any_of(listed, [&](const Known* l) {
      const auto apart =
          static_cast<double>(l->plan.estimate.peak_bytes() - k.plan.estimate.peak_bytes());
      return value(k) <= value(*l) * (1 + kCloseValue) && std::abs(apart) < close_bytes_;
    });
    if (!k.close_to_listed) listed.push_back(&k);
  }
}

// The best plan of each mesh.
void BestList::spare(Known plan) {
  if (plan.plan.plan.attention.pp == 1 || value(plan) > cutoff() * (1 + kSpareValue)) return;
  const auto same = std::ranges::find(spares_, plan.mesh, &Known::mesh);
  if (same == spares_.end()) spares_.push_back(std::move(plan));
  else if (value(plan) < value(*same)) *same = std::move(plan);
}

// The best plan of a mesh is always listed, and only a plan that is no slower can replace it. So a
// plan that is slower than the best ones of K meshes will never be listed.
std::size_t BestList::end_of_hopeful() const {
  std::vector<bool> seen(static_cast<std::size_t>(meshes_));
  std::size_t meshes = 0;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (seen[static_cast<std::size_t>(known_[i].mesh)]) continue;
    seen[static_cast<std::size_t>(known_[i].mesh)] = true;
    if (++meshes < most()) continue;
    const Seconds last = value(known_[i]);
    while (i < known_.size() && value(known_[i]) == last) ++i;
    return i;
  }
  return known_.size();
}

BestList::Taken BestList::take() {
  Taken taken;
  const Seconds last = cutoff();
  std::vector<int> listed;  // meshes
  std::vector<Known> slower;
  for (Known& k : known_) {
    if (k.close_to_listed) {
      taken.others.push_back("alike");
    } else if (taken.best.size() == most()) {
      taken.others.push_back("slower");
      slower.push_back(std::move(k));
    } else {
      listed.push_back(k.mesh);
      taken.best.push_back(std::move(k.plan));
    }
  }
  for (Known& k : slower) spare(std::move(k));
  std::ranges::stable_sort(spares_, {}, [&](const Known& k) { return value(k); });
  for (Known& k : spares_) {
    const bool known = std::ranges::find(listed, k.mesh) != listed.end();
    if (!known && value(k) <= last * (1 + kSpareValue) && taken.spares.size() < most()) {
      taken.spares.push_back(std::move(k.plan));
    }
  }
  known_.clear();
  spares_.clear();
  return taken;
}

}  // namespace pleat
