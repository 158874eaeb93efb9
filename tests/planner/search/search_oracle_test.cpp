// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search against estimates of every plan of its space, on cases drawn at random and GPUs of
// several sizes; and the bounds it prunes by against the same estimates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "core/environment.hpp"
#include "core/program/compile_stage.hpp"
#include "planner/bounds/bounds.hpp"
#include "planner/report/explain.hpp"
#include "planner/search/search.hpp"
#include "planner/space/memory_tree.hpp"
#include "planner/space/plan_tree.hpp"
#include "simulator/step_timeline.hpp"
#include "tests/planner/search/priced_space.hpp"

namespace pleat {
namespace {

using test::CaseMaker;
using test::admitted;
using test::price_all;
using test::Priced;
using test::RandomCase;

// The quick suite takes the first of the cases; all of them must have met everything that is
// counted.
bool every_case() { return environment_variable("PLEAT_EVERY_CASE").has_value(); }
int some_of(int cases) { return every_case() ? cases : cases / 6; }

// A precision, a mesh but for its layout, and a memory choice: what listed plans differ in.
struct Fold {
  Precision precision = Precision::bf16;
  AttentionMapping attention;
  ExpertMapping expert;
  int vpp = 1, micro_batch = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::size_t memory = 0;
  bool operator==(const Fold&) const = default;
  [[nodiscard]] bool same_mesh(const Fold& o) const {
    Fold other = o;
    other.memory = memory;
    return *this == other;
  }
};

struct Listed {
  Fold fold;
  Seconds value;
  std::int64_t peak = 0;
  std::array<std::size_t, 3> place{};  // breaks ties as Node::place does
};

Fold fold_of(const Plan& p, std::size_t memory) {
  return {p.precision, p.attention, p.expert, p.vpp, p.micro_batch, p.schedule, memory};
}

std::size_t memory_of(const Plan& p, const std::vector<MemoryChoice>& choices) {
  for (std::size_t m = 0; m < choices.size(); ++m) {
    if (choices[m].by_stage) {
      Plan other = p;
      put_state(choices[m].state, choices[m].share, other);
      if (!p.stages.empty() && other == p) return m;
      continue;
    }
    Plan other = p;
    choices[m].put_into(other);
    if (other == p) return m;
  }
  ADD_FAILURE() << "no memory choice of the space: " << summary(p);
  return 0;
}

// The best plan of each fold.
std::vector<Listed> best_of_folds(const std::vector<Listed>& plans) {
  std::vector<Listed> folds;
  for (const Listed& p : plans) {
    const auto known = std::ranges::find(folds, p.fold, &Listed::fold);
    if (known == folds.end()) folds.push_back(p);
    else if (std::tie(p.value, p.place) < std::tie(known->value, known->place)) *known = p;
  }
  return folds;
}

// Without those that take nearly the time and memory of a listed one of their mesh.
std::vector<Listed> apart(std::vector<Listed> plans, const RandomCase& c) {
  std::ranges::stable_sort(plans, {}, &Listed::value);
  std::vector<Listed> kept;
  for (const Listed& p : plans) {
    const bool near = std::ranges::any_of(kept, [&](const Listed& o) {
      return o.fold.same_mesh(p.fold) && p.value <= o.value * 1.005 &&
             std::abs(static_cast<double>(o.peak - p.peak)) < 0.05 * c.cluster.gpu.memory.base();
    });
    if (!near) kept.push_back(p);
  }
  return kept;
}

// The best plan of each fold, without those that give up more than another fold of the same mesh
// and numerics and are no better; best first.
std::vector<Listed> best_folds(const RandomCase& c, const std::vector<Priced>& all) {
  const MemoryTree tree(memory_choices(c.model, c.cluster, c.config));
  const auto usable =
      static_cast<std::int64_t>(c.cluster.gpu.memory.base() * (1 - c.config.memory_margin));
  std::vector<Listed> best;
  for (std::size_t n = 0; n < c.config.numerics.size(); ++n) {
    std::vector<Listed> plans;
    std::deque<Priced> by_stage;
    for (const Priced* p : admitted(c, all, n, usable, by_stage)) {
      const auto graph = static_cast<std::size_t>(p->at.plan.cuda_graph);
      plans.push_back({fold_of(p->at.plan, p->at.memory), value_of(p->estimate, c.config.robust),
                       p->estimate.peak_bytes(), {p->at.mesh, graph, p->at.setting}});
    }
    const std::vector<Listed> folds = best_of_folds(plans);
    std::vector<Listed> needed;
    for (const Listed& f : folds) {
      const bool needless = std::ranges::any_of(folds, [&](const Listed& o) {
        return !(o.fold == f.fold) && o.fold.same_mesh(f.fold) && o.value <= f.value &&
               tree.supersedes(static_cast<int>(o.fold.memory), static_cast<int>(f.fold.memory));
      });
      if (!needless) needed.push_back(f);
    }
    std::ranges::move(apart(std::move(needed), c), std::back_inserter(best));
  }
  best = best_of_folds(best);
  std::ranges::stable_sort(best, {}, &Listed::value);
  return best;
}

std::int64_t counted(const SearchResult& r) {
  auto sum = static_cast<std::int64_t>(r.best.size());
  for (const auto& [rule, plans] : r.rejected) sum += plans;
  return sum;
}

void expect_best(const RandomCase& c, const std::vector<Priced>& all, const SearchResult& r) {
  const std::vector<Listed> expected = best_folds(c, all);
  EXPECT_TRUE(r.optimal);
  EXPECT_EQ(counted(r), r.enumerated);
  ASSERT_EQ(r.best.size(), std::min(expected.size(), static_cast<std::size_t>(c.config.top)));
  const auto choices = memory_choices(c.model, c.cluster, c.config);
  for (std::size_t i = 0; i < r.best.size(); ++i) {
    const Candidate& found = r.best[i];
    const Seconds value = value_of(found.estimate, c.config.robust);
    EXPECT_EQ(value.base(), expected[i].value.base()) << i;
    const Fold fold = fold_of(found.plan, memory_of(found.plan, choices));
    // Of plans of a mesh that take the same time any may stand for the others.
    const auto same = std::ranges::find_if(expected, [&](const Listed& e) {
      return e.fold == fold || (e.fold.same_mesh(fold) && e.value == value);
    });
    ASSERT_NE(same, expected.end()) << summary(found.plan);
    EXPECT_EQ(same->value.base(), value.base()) << summary(found.plan);
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(fold == fold_of(r.best[j].plan, memory_of(r.best[j].plan, choices)));
    }
  }
}

// Of a search of which only the first plan is to be certain: it is the same.
void expect_certain(RandomCase c, const SearchResult& whole) {
  c.config.certain = 1;
  const SearchResult r = search(c, c.config);
  EXPECT_TRUE(r.optimal);
  EXPECT_EQ(counted(r), r.enumerated);
  EXPECT_LE(r.best.size(), whole.best.size());
  ASSERT_EQ(r.best.empty(), whole.best.empty());
  if (r.best.empty()) return;
  EXPECT_GE(certain_listed(r), 1);
  EXPECT_EQ(r.best.front().estimate.step, whole.best.front().estimate.step);
  EXPECT_EQ(summary(r.best.front().plan), summary(whole.best.front().plan));
  for (std::size_t i = 0; i < r.best.size(); ++i) {
    const Seconds value = value_of(r.best[i].estimate, c.config.robust);
    if (static_cast<int>(i) < certain_listed(r) || i == 0) continue;
    EXPECT_GE(value, value_of(whole.best[i].estimate, c.config.robust)) << i;
  }
}

// Of a search that stops early: no plan of any of the numerics is below it.
void expect_bound(RandomCase c, const SearchResult& whole, int& below) {
  c.config.max_evaluations = 2;
  const SearchResult cut = search(c, c.config);
  const Seconds best = value_of(whole.best.front().estimate, c.config.robust);
  EXPECT_LE(cut.bound.base(), best.base() * (1 + 1e-9));
  EXPECT_GT(cut.bound.base(), 0);
  below += cut.bound < best;
}

// Bytes of a GPU on which the given share of the plans fits.
double memory_for_share(const std::vector<Priced>& all, const SearchConfig& config, double share) {
  std::vector<std::int64_t> peaks;
  for (const Priced& p : all) peaks.push_back(p.estimate.peak_bytes());
  std::ranges::sort(peaks);
  const auto index = static_cast<std::size_t>(share * static_cast<double>(peaks.size() - 1));
  return (static_cast<double>(peaks[index]) + 1) / (1 - config.memory_margin);
}

TEST(SearchOracle, FindsWhatPricingEveryPlanFinds) {
  const int cases = some_of(420);
  CaseMaker maker(20261121);
  int overlapped = 0, interleaved = 0, given_up = 0, state_offloaded = 0;
  int hybrid = 0, head_groups = 0;
  int stepped_on_host = 0, in_parts = 0, in_units = 0, layers_offloaded = 0, sets_offloaded = 0;
  int by_stage = 0, best_by_stage = 0;
  int second_numerics = 0, band_decides = 0, other_orders = 0;
  int bounds_below = 0, unsharded = 0;
  int larger_groups = 0, fewer_sms = 0, tiles = 0, stashed = 0, fp8_rows = 0;
  for (int i = 0; i < cases; ++i) {
    RandomCase c = maker.make(1500);
    const std::vector<Priced> all = price_all(c);
    for (const double share : {1.0, 0.4, 0.02}) {
      SCOPED_TRACE(fmt::format("case {} share {} gpus {}", i, share, c.config.gpus));
      c.cluster.gpu.memory = Bytes(memory_for_share(all, c.config, share));
      const SearchResult r = search(c, c.config);
      expect_best(c, all, r);
      expect_certain(c, r);
      if (HasFailure()) return;
      if (r.best.empty()) continue;  // host memory is short
      if (c.config.numerics.size() > 1) expect_bound(c, r, bounds_below);
      const Plan& best = r.best.front().plan;
      unsharded += best.sharding == Sharding::none && c.config.pin<"sharding">().values.size() > 1;
      second_numerics += numerics_of(best) != c.config.numerics.front();
      band_decides += std::ranges::any_of(all, [&](const Priced& p) {
        return c.config.robust && p.estimate.step < r.best.front().estimate.step &&
               p.estimate.peak_bytes() <= r.best.front().estimate.peak_bytes();
      });
      overlapped += best.overlap.expert_parallel;
      interleaved += best.vpp > 1;
      other_orders += splits_backward(best.schedule);
      state_offloaded += best.optimizer.state_offload > 0;
      for (const Candidate& listed : r.best) {
        stepped_on_host += listed.plan.optimizer.cpu_offload > 0;
        by_stage += !listed.plan.stages.empty();
        in_parts += listed.plan.recompute_layers > 0;
        in_units += listed.plan.recompute_unit > 1;
        layers_offloaded += listed.plan.offload_layers > 0;
        sets_offloaded += listed.plan.offload.size() > 1;
        hybrid += listed.plan.shard_instances() > 1;
        head_groups += listed.plan.cp_a2a > 0;
        larger_groups += listed.plan.microbatch_group > listed.plan.attention.pp;
        fewer_sms += listed.plan.dispatcher_sms > 0;
        tiles += listed.plan.overlap.tile_level;
        stashed += listed.plan.paged_stash.buffer > 0;
        fp8_rows += listed.plan.fp8_dispatch;
      }
      best_by_stage += !best.stages.empty();
      given_up += !best.recompute.empty() || best.recompute_full || !best.offload.empty();
    }
  }
  if (!every_case()) return;
  EXPECT_GT(overlapped, 5);
  EXPECT_GT(interleaved, 5);
  EXPECT_GT(other_orders, 5);
  EXPECT_GT(given_up, 5);
  EXPECT_GT(state_offloaded, 5);
  EXPECT_GT(stepped_on_host, 2);
  EXPECT_GT(in_parts, 5);
  EXPECT_GT(hybrid, 2);
  EXPECT_GT(head_groups, 5);
  EXPECT_GT(in_units, 2);
  EXPECT_GT(by_stage, 5);  // more of them below
  EXPECT_GT(best_by_stage, 2);
  EXPECT_GT(layers_offloaded, 1);
  EXPECT_GT(sets_offloaded, 10);
  EXPECT_GT(second_numerics, 5);
  EXPECT_GT(bounds_below, 5);
  EXPECT_GT(unsharded, 2);
  EXPECT_GT(band_decides, 2);
  EXPECT_GT(larger_groups, 5);
  EXPECT_GT(fewer_sms, 5);
  EXPECT_GT(tiles, 5);
  EXPECT_GT(stashed, 5);
  EXPECT_GT(fp8_rows, 2);
}

TEST(SearchOracle, StagesThatChooseForThemselves) {
  CaseMaker maker(41, true);
  int listed = 0, best = 0, alone = 0, offloading = 0;
  for (int i = 0; i < some_of(120); ++i) {
    RandomCase c = maker.make(2000);
    const std::vector<Priced> all = price_all(c);
    for (const double share : {0.5, 0.2, 0.02}) {
      SCOPED_TRACE(fmt::format("case {} share {} gpus {}", i, share, c.config.gpus));
      c.cluster.gpu.memory = Bytes(memory_for_share(all, c.config, share));
      const SearchResult r = search(c, c.config);
      expect_best(c, all, r);
      if (HasFailure()) return;
      EXPECT_GT(r.stage_ways, 0);
      for (const Candidate& found : r.best) {
        listed += !found.plan.stages.empty();
        offloading += std::ranges::any_of(found.plan.stages, [](const StageOverride& s) {
          return !s.offload.empty();
        });
      }
      if (r.best.empty() || r.best.front().plan.stages.empty()) continue;
      ++best;
      alone += r.best.size() == 1;
    }
  }
  EXPECT_GT(listed, 5);
  if (!every_case()) return;
  EXPECT_GT(listed, 50);
  EXPECT_GT(best, 30);
  EXPECT_GT(offloading, 5);
  EXPECT_GT(alone, 5);
}

TEST(SearchOracle, SameBytesAtAnyThreadCount) {
  CaseMaker maker(7);
  for (int i = 0; i < some_of(20); ++i) {
    RandomCase c = maker.make(1500);
    c.cluster.gpu.memory = Bytes(memory_for_share(price_all(c), c.config, 0.3));
    std::string first;
    for (const int threads : {1, 2, 3}) {
      c.config.threads = threads;
      const SearchResult r = search(c, c.config);
      const std::string text = search_json(r, c, c.config).dump();
      if (threads == 1) first = text;
      EXPECT_EQ(text, first) << i << " " << threads;
    }
  }
}

// Every level's bound of time and memory, for every plan; and a memory choice is no faster than the
// one it stands below.
TEST(SearchOracle, BoundsAreAdmissible) {
  CaseMaker maker(3);
  double tightest = 0;
  std::size_t plans = 0, ended = 0, host_full = 0;
  for (int i = 0; i < some_of(60); ++i) {
    const RandomCase c = maker.make(1500);
    const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
    BoundTable bounds(estimator, c, c.config.runtime);
    const PlanTree tree(c, c.config);
    const std::vector<Setting>& leasts = tree.least_work;
    const ChoiceWays ways(memory_choices(c.model, c.cluster, c.config));
    for (const Priced& p : price_all(c)) {
      const Plan& plan = p.at.plan;
      const StepEstimate& e = p.estimate;
      const double step = e.step.base() * (1 + 1e-9);
      SCOPED_TRACE(fmt::format("case {}: {}", i, summary(plan)));
      // A price that ends early says no more than is true, and no plan within the limit is lost.
      for (const double share : {0.5, 1.0}) {
        const Estimator::Limited price = estimator.up_to(e.step * share, plan);
        EXPECT_LE(price.least.base(), step);
        if (price.estimate) EXPECT_EQ(price.estimate->step, e.step);
        else EXPECT_GT(price.least, e.step * share);
        ended += price.estimate ? 0 : 1;
        EXPECT_TRUE(price.estimate || share < 1);
      }
      std::vector<Sharding> shardings{plan.sharding};
      if (plan.sharding != Sharding::zero3) shardings.push_back(Sharding::zero3);
      const StateChoices state{
          shardings, {0, c.cluster.tiers.front().size}, StatePlace::host_stepped};
      // Of all settings with the least work the search takes the smallest bound.
      const auto least_of = [&](const auto& bound) {
        auto least = std::numeric_limits<decltype(bound(plan))>::max();
        for (const Setting& s : leasts) {
          if (!tree.needs_least_work(s, tree.space.meshes[p.at.mesh])) continue;
          Plan mesh = plan;
          MemoryChoice{}.put_into(mesh);
          tree.put_least_work(s, mesh);
          least = std::min(least, bound(mesh));
        }
        return least;
      };
      const auto of_mesh = [&](const Plan& m) { return bounds.mesh(m, state, e.step).step.base(); };
      EXPECT_LE(least_of([&](const Plan& m) { return bounds.grid(m).base(); }),
                least_of(of_mesh) * (1 + 1e-9));
      EXPECT_LE(least_of(of_mesh), step);
      EXPECT_LE(least_of([&](const Plan& m) { return bounds.mesh(m, state, e.step).peak_bytes; }),
                e.peak_bytes());
      EXPECT_LE(
          least_of([&](const Plan& m) { return bounds.whole_mesh(m, state, e.step).base(); }),
          step);
      EXPECT_LE(least_of([&](Plan m) {
                  m.recompute_full = true;
                  put_state(StatePlace::host_stepped, 1, m);
                  return bounds.least_peak(m, Sharding::zero3, tree.least_saved);
                }),
                e.peak_bytes());
      const PlanBounds family = bounds.family(plan, e.step), own = bounds.own(plan, e.step);
      EXPECT_LE(family.step.base(), step);
      Plan reference = plan;  // fewer exchanges and launches
      put_shards(std::min(plan.sharding, Sharding::zero1), 0, reference);
      reference.cuda_graph = leasts.front().graph;
      EXPECT_LE(bounds.family_by_reference(reference, plan, e.step).base(), step);
      const BoundTable::Exchanges exchanges{
          .which = plans + 1, .graph = reference.cuda_graph, .references = [&] {
            Plan plain = reference;
            MemoryChoice{}.put_into(plain);
            return std::vector<Plan>{plain};
          }};
      EXPECT_LE(least_of([&](const Plan& m) {
                  return bounds.exchanges(m, exchanges, state, e.step).base();
                }),
                step);
      EXPECT_LE(bounds.by_reference(reference, plan, e.step).base(), step);
      EXPECT_LE(own.step.base(), step);
      Plan plain = plan;
      MemoryChoice{}.put_into(plain);
      const PlanBounds of_choice =
          bounds.by_choice(plain, schedule_of(plain, c.workload), ways,
                           std::numeric_limits<std::int64_t>::max(), e.step)[p.at.memory];
      EXPECT_LE(of_choice.step.base(), step);
      EXPECT_NE(of_choice.peak_bytes, kStepRefused);
      if (!splits_backward(plan.schedule)) {
        const ChoiceTimes times = bounds.times_of_choices(plain, ways, e.step);
        const ChoiceWays::Choice& choice = ways.choices[p.at.memory];
        ChoiceBytes bytes(times.chunks, ways);
        bytes.set(choice);
        EXPECT_LE(times.step(choice, &bytes.copies()).base(), step);
      }
      if (of_choice.peak_bytes == kHostIsFull) {
        EXPECT_GT(e.host_bytes, c.cluster.host_memory.base());
        ++host_full;
      } else {
        EXPECT_LE(of_choice.peak_bytes, e.peak_bytes());
      }
      if (!splits_backward(plan.schedule)) {  // all settings of a family share it
        const PlanBounds of_family =
            bounds.by_choice(in_order(plain), schedule_of(in_order(plain), c.workload), ways,
                             std::numeric_limits<std::int64_t>::max(), e.step)[p.at.memory];
        EXPECT_EQ(of_family.step, of_choice.step);
        EXPECT_EQ(of_family.peak_bytes, of_choice.peak_bytes);
      }
      EXPECT_LE(least_of([&](const Plan& m) {
                  return bounds.least_state(
                      m, plan, {.shardings = {}, .place = StatePlace::host_stepped});
                }),
                e.peak_bytes());
      for (const PlanBounds& b : {family, own}) EXPECT_LE(b.peak_bytes, e.peak_bytes());
      tightest = std::max(tightest, own.step / e.step);
      ++plans;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(plans, every_case() ? 5000U : 500U);
  EXPECT_GT(ended, plans / 20);
  EXPECT_GT(host_full, every_case() ? 1000U : 0U);
  EXPECT_GT(tightest, every_case() ? 0.97 : 0.9);
}

// A memory choice is bounded by the one it stands below.
TEST(SearchOracle, BoundsHoldBelow) {
  CaseMaker maker(5);
  std::size_t compared = 0;
  for (int i = 0; i < some_of(60); ++i) {
    const RandomCase c = maker.make(1500);
    const MemoryTree tree(memory_choices(c.model, c.cluster, c.config));
    const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
    BoundTable bounds(estimator, c, c.config.runtime);
    const std::vector<Priced> all = price_all(c);
    for (const Priced& p : all) {
      for (const std::int16_t below : tree.below(static_cast<int>(p.at.memory))) {
        const auto other = std::ranges::find_if(all, [&](const Priced& q) {
          return q.numerics == p.numerics && q.at.mesh == p.at.mesh &&
                 q.at.setting == p.at.setting && q.at.memory == static_cast<std::size_t>(below);
        });
        if (other == all.end()) continue;
        const double bound = std::max(bounds.family(p.at.plan, other->estimate.step).step,
                                      bounds.own(p.at.plan, other->estimate.step).step)
                                 .base();
        EXPECT_LE(bound, other->estimate.step.base() * (1 + 1e-9))
            << i << ": " << summary(p.at.plan) << "\n" << summary(other->at.plan);
        // Of one that does not fit.
        const Seconds price = estimator.step_at(p.at.plan, kClockSteps);
        EXPECT_LE(price.base(), other->estimate.step.base() * (1 + 1e-9))
            << i << ": " << summary(p.at.plan) << "\n" << summary(other->at.plan);
        ++compared;
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, every_case() ? 500U : 100U);
}

}  // namespace
}  // namespace pleat
