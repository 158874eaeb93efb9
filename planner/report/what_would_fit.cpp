// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/report/what_would_fit.hpp"

#include "core/quantity.hpp"
#include "planner/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace pleat {
namespace {

constexpr std::int64_t kMostGpusFactor = 1024, kMostGpus = 131072;
constexpr int kMostHalvings = 6;  // of sequences
constexpr int kRoundsOfAChange = 50;  // of a search, which need not find the best plan

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / kGiB; }

struct Asked {
  Problem problem;
  SearchConfig config;
};

class ChangeFinder {
 public:
  ChangeFinder(Asked asked, std::size_t count) : asked_(std::move(asked)), count_(count) {}

  std::vector<FittingChange> run() {
    allow_recompute();
    allow_host_memory();
    drop_pins();
    narrow_state();
    shorter_sequences(asked_.config.gpus);
    more_gpus();
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool done() const { return found_.size() >= count_ || stopped_; }

  bool try_change(const Asked& changed, const std::string& text) {
    if (done()) return true;
    std::optional<Candidate> plan = plan_of(changed);
    if (plan) found_.push_back({text, *std::move(plan)});
    return plan.has_value();
  }

  std::optional<Candidate> plan_of(const Asked& changed) {
    SearchConfig config = rest_of_limits(changed.config, seconds_, priced_);
    config.top = 1;
    config.max_rounds = kRoundsOfAChange;
    config.tells_nearest = false;
    if (config.progress) {
      config.progress = [&](const SearchProgress& p) {
        stopped_ = stopped_ || !asked_.config.progress(p);
        return !stopped_;
      };
    }
    try {
      SearchResult result = search(changed.problem, config);
      seconds_ += result.seconds;
      priced_ += result.priced;
      if (result.best.empty()) return std::nullopt;
      return std::move(result.best.front());
    } catch (const ConfigError&) {
      return std::nullopt;  // no valid plan at all under this change
    }
  }

  void allow_recompute() {
    if (asked_.config.recompute) return;
    Asked changed = asked_;
    changed.config.recompute = true;
    try_change(changed, "recompute allowed");
  }

  void allow_host_memory() {
    if (!asked_.config.offload) {
      Asked changed = asked_;
      changed.config.offload = true;
      try_change(changed, "offload to host memory allowed");
    }
    if (!asked_.config.cpu_optimizer.value_or(true)) {
      Asked changed = asked_;
      changed.config.cpu_optimizer.reset();
      try_change(changed, "the optimizer's step on the CPU allowed");
    }
  }

  void drop_pins() {
    const SearchConfig& c = asked_.config;
    const auto drop = [&]<FlagText Flag>() {
      const Pinned<int>& pin = c.pin<Flag>();
      if (!pin) return;
      Asked changed = asked_;
      changed.config.pin<Flag>().reset();
      try_change(changed, fmt::format("{} {} no longer pinned", Flag.view(), fmt::join(pin, ",")));
    };
    const auto drop_all = [&]<FlagText... Flags>() { (drop.template operator()<Flags>(), ...); };
    drop_all.operator()<"micro-batch", "vpp", "ep", "etp", "pp", "cp", "tp">();
    if (c.pin<"sharding">().only(Sharding::none)) {
      Asked changed = asked_;
      changed.config.pin<"sharding">() = Sharding::zero1;
      try_change(changed, "zero1 sharding instead of none");
    }
  }

  void narrow_state() {
    Asked changed = asked_;
    for (Numerics& n : changed.config.numerics) {
      n.optimizer.main_grads = n.optimizer.exp_avg = n.optimizer.exp_avg_sq = DType::bf16;
    }
    if (changed.config.numerics == asked_.config.numerics) return;
    try_change(changed, "gradients and the optimizer's moments in bf16");
  }

  [[nodiscard]] const ClusterSpec& cluster() const { return asked_.problem.cluster; }

  [[nodiscard]] bool can_have(std::int64_t gpus) const {
    return gpus <= kMostGpus && (cluster().max_gpus == 0 || gpus <= cluster().max_gpus);
  }

  // The fewest GPUs that are enough, and then twice as many, where memory is less tight.
  void more_gpus() {
    bool fits = false;
    for (std::int64_t factor = 2; factor <= kMostGpusFactor; factor *= 2) {
      const std::int64_t gpus = asked_.config.gpus * factor;
      if (!can_have(gpus)) return;
      Asked changed = asked_;
      changed.config.gpus = static_cast<int>(gpus);
      if (!try_change(changed, fmt::format("{} GPUs instead of {}", gpus, asked_.config.gpus)))
        continue;
      if (fits) return;
      fits = true;
      // Half as many GPUs may be enough for shorter sequences.
      if (factor > 2) shorter_sequences(static_cast<int>(gpus / 2));
    }
  }

  // The longest ones that fit. The shortest are tried first: mostly no length helps.
  void shorter_sequences(int gpus) {
    const std::int64_t whole = asked_.problem.workload.seq_len;
    const auto halved = [&](int times) {
      Asked changed = asked_;
      changed.config.gpus = gpus;
      changed.problem.workload.seq_len = whole >> times;
      return changed;
    };
    int too_few = 0, enough = 0;  // times that they are halved
    while (enough < kMostHalvings && whole % (std::int64_t{2} << enough) == 0) ++enough;
    if (enough == 0 || done()) return;
    std::optional<Candidate> best = plan_of(halved(enough));
    while (best && enough - too_few > 1) {
      const int between = (too_few + enough) / 2;
      std::optional<Candidate> plan = plan_of(halved(between));
      (plan ? enough : too_few) = between;
      if (plan) best = std::move(plan);
    }
    if (!best) return;
    std::string text =
        fmt::format("sequences of {} tokens instead of {}", whole >> enough, whole);
    if (gpus != asked_.config.gpus)
      text = fmt::format("{} GPUs instead of {} and {}", gpus, asked_.config.gpus, text);
    found_.push_back({std::move(text), *std::move(best)});
  }

  const Asked asked_;
  std::size_t count_;
  std::vector<FittingChange> found_;
  double seconds_ = 0;  // of all searches
  std::int64_t priced_ = 0;
  bool stopped_ = false;
};

const StageMemory& fullest(const StepEstimate& e) {
  PLEAT_ASSERT(!e.memory.empty());
  return *std::max_element(e.memory.begin(), e.memory.end(),
                           [](const auto& a, const auto& b) { return a.peak < b.peak; });
}

}  // namespace

std::vector<FittingChange> changes_that_fit(const Problem& problem, const SearchConfig& config,
                                            std::size_t count) {
  return ChangeFinder({problem, config}, count).run();
}

std::string print_what_would_fit(const SearchResult& result, const ClusterSpec& cluster,
                            const SearchConfig& config, const std::vector<FittingChange>& changes,
                            bool all_tried) {
  if (result.nearest.empty()) return "";
  const Candidate& closest = result.nearest.front();
  const StageMemory& m = fullest(closest.estimate);
  const double capacity = cluster.gpu.memory.base() / kGiB;
  const double usable = capacity * (1 - config.memory_margin);
  std::string text = fmt::format(
      "nothing fits: the closest plan needs {:.2f} GiB on stage {}, {:.2f} GiB more than the "
      "{:.2f} GiB "
      "usable\n  ({:.2f} GiB of {} less {:.0f}% kept free)\n  {}\n",
      gib(m.peak), m.stage.value, gib(m.peak) - usable, usable, capacity, cluster.gpu.name,
      config.memory_margin * 100, summary(closest.plan));
  const auto row = [&](const char* name, std::int64_t bytes) {
    text += fmt::format("  {:<12} {:>10.2f} GiB\n", name, gib(bytes));
  };
  row("weights", m.weights);
  row("gradients", m.gradients);
  row("optimizer", m.optimizer);
  row("activations", m.activations);
  row("runtime", m.runtime);
  if (changes.empty()) {
    if (!all_tried) return text;
    return text + "no more GPUs, pins dropped or shorter sequences tried make it fit\n";
  }
  text += "what makes it fit:\n";
  for (const FittingChange& c : changes) {
    text += fmt::format("  {}: {:.2f} GiB, {:.1f} ms per step with {}\n", c.change,
                        gib(c.candidate.estimate.peak_bytes()),
                        c.candidate.estimate.step.base() * 1e3, summary(c.candidate.plan));
  }
  return text;
}

}  // namespace pleat
