// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Best-first branch and bound. A mesh opens into its graph modes, these into families of settings and
// settings, those that do not fit into their memory choices; always the nodes with the smallest
// bounds first, in rounds of a fixed size. The search ends when no bound is below the K-th best
// estimate, so the answer is that of pricing every plan. Rounds are merged in order: the number of
// threads changes nothing.
#include "planner/search.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <queue>
#include <string_view>
#include <tuple>

#include "planner/bounds.hpp"
#include "planner/memory_tree.hpp"
#include "planner/mesh_space.hpp"
#include "planner/parallel_rounds.hpp"
#include "planner/technique.hpp"

namespace pleat {
namespace {

constexpr std::size_t kGraphModes = 4;     // values of CudaGraph
constexpr std::size_t kRound = 64;         // nodes opened per round
constexpr std::size_t kNearestTried = 32;  // plans estimated when nothing fits
constexpr std::size_t kNearestKept = 3;
constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

// What a node stands for: all plans of its mesh, of its graph mode, of its family of settings; or of
// its setting, with its memory choice and all below that.
enum class Level : std::int8_t { mesh, graph, family, setting };
struct Node {
  Seconds bound;
  std::int32_t mesh = 0;
  std::int16_t setting = -1, memory = -1;  // of a family: its first one
  std::int16_t settings = 1;               // of a family: how many are valid
  std::int8_t graph = -1;
  Level level = Level::mesh;
  std::int8_t stage = 0;   // of a family or setting: how far its bound has been worked out
  [[nodiscard]] auto place() const {  // breaks ties
    return std::tuple(mesh, graph, setting, memory, level);
  }
};
constexpr std::int8_t kBounded = 3;  // stage of a node whose own bound is known

struct Later {
  bool operator()(const Node& a, const Node& b) const {
    return a.bound != b.bound ? a.bound > b.bound : a.place() > b.place();
  }
};

struct Rejection {
  const char* rule;
  std::int64_t plans;
};

// What came of one node.
struct Opened {
  std::vector<Node> children;
  std::vector<Rejection> rejected;
  std::optional<StepEstimate> estimate;  // of the node's own plan
  bool fits = false;
  std::int64_t least_peak = 0;  // bytes; what a plan that does not fit needs at least
};

class Search {
 public:
  Search(const ModelSpec& model, const ClusterSpec& cluster, const WorkloadSpec& workload,
         const Profile& profile, const SearchConfig& config)
      : model_(model),
        workload_(workload),
        config_(config),
        threads_(thread_count(config.threads)),
        start_(std::chrono::steady_clock::now()),
        space_(non_empty_meshes(model, cluster, workload, config)),
        settings_(settings(model, cluster, config)),
        memory_(memory_choices(model, config)),
        tree_(memory_),
        estimator_(model, workload, cluster, profile, config.runtime),
        bounds_(estimator_, model, workload, profile, config.runtime),
        usable_(static_cast<std::int64_t>(cluster.gpu.memory.base() * (1 - config.memory_margin))) {
    for (const Constraint& rule : constraints()) {  // no setting changes what a layout allows
      if (std::string_view(rule.name) != "layout") rules_.push_back(&rule);
    }
    for (const Setting& s : settings_) {
      plans_of_graph_[static_cast<std::size_t>(s.graph)] += static_cast<std::int64_t>(memory_.size());
    }
  }

  SearchResult run() {
    for (const auto& [rule, meshes] : space_.rejected) count(rule.c_str(), meshes * per_mesh());
    result_.enumerated = space_.tried * per_mesh();
    open_all();
    while (!open_.empty()) {
      const std::vector<Node> round = next_round();
      if (round.empty()) break;
      if (limit_passed(round.front().bound)) {
        result_.optimal = false;
        result_.bound = round.front().bound;
        for (const Node& node : round) count("not-reached", plans_of(node));
        break;
      }
      open_round(round);
    }
    for (; !open_.empty(); open_.pop()) {
      const bool beaten = open_.top().bound > cutoff();
      count(beaten ? "time-bound" : "not-reached", plans_of(open_.top()));
    }
    if (result_.optimal && !result_.best.empty()) {
      result_.bound = result_.best.front().estimate.step;
    }
    if (result_.best.empty() && result_.optimal) find_nearest();
    result_.seconds = seconds();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::int64_t per_mesh() const {
    return static_cast<std::int64_t>(settings_.size() * memory_.size());
  }
  [[nodiscard]] std::int64_t plans_of(const Node& node) const {
    switch (node.level) {
      case Level::mesh: return per_mesh();
      case Level::graph: return plans_of_graph_[static_cast<std::size_t>(node.graph)];
      case Level::family: return node.settings * static_cast<std::int64_t>(memory_.size());
      case Level::setting: return tree_.plans_below(node.memory);
    }
    return 0;
  }
  [[nodiscard]] Plan mesh_plan(const Node& node) const {
    return space_.plan(space_.meshes[static_cast<std::size_t>(node.mesh)], config_);
  }
  [[nodiscard]] Plan plan_of(const Node& node) const {
    Plan plan = mesh_plan(node);
    settings_[static_cast<std::size_t>(node.setting)].put_into(plan);
    memory_[static_cast<std::size_t>(node.memory)].put_into(plan);
    return plan;
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // Bounds of all meshes.
  void open_all() {
    std::vector<PlanBounds> bounds(space_.meshes.size());
    for_each_in_parallel(bounds.size(), threads_, [&](std::size_t i) {
      Plan plan = mesh_plan({.bound = {}, .mesh = static_cast<std::int32_t>(i)});
      least_work_.put_into(plan);
      bounds[i] = bounds_.mesh(plan, least_sharding(plan));
    });
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const Node node{.bound = bounds[i].step, .mesh = static_cast<std::int32_t>(i)};
      if (bounds[i].peak_bytes > usable_) {
        count("memory", per_mesh());
        remember_near(node, bounds[i].peak_bytes);
      } else {
        open_.push(node);
      }
    }
  }

  // Sharded weights and gradients need a pipeline of one stage.
  [[nodiscard]] Sharding least_sharding(const Plan& plan) const {
    Sharding least = settings_.front().sharding;
    for (const Setting& s : settings_) {
      if (s.sharding <= Sharding::zero1 || plan.attention.pp == 1) {
        least = std::max(least, s.sharding);
      }
    }
    return least;
  }

  // The smallest bounds that may still enter the list of the best.
  std::vector<Node> next_round() {
    std::vector<Node> round;
    while (!open_.empty() && open_.top().bound <= cutoff() && round.size() < kRound) {
      const Node node = open_.top();
      open_.pop();
      if (const char* reason = superseded(node, node.bound)) {
        count(reason, plans_of(node));
      } else {
        round.push_back(node);
      }
    }
    return round;
  }

  // Why a plan of `node` that takes `step` or longer cannot enter the list: a variant of it is there
  // that is as fast, or the same mesh as fast giving up less for memory.
  [[nodiscard]] const char* superseded(const Node& node, Seconds step) const {
    if (node.setting < 0) return nullptr;
    for (std::size_t i = 0; i < kept_.size() && result_.best[i].estimate.step <= step; ++i) {
      if (!same_mesh(kept_[i], node)) continue;
      const bool tie = result_.best[i].estimate.step == step;
      if (tie && kept_[i].memory == node.memory && node.place() < kept_[i].place()) continue;
      if (const char* reason = tree_.supersedes(kept_[i].memory, node.memory)) return reason;
    }
    return nullptr;
  }

  [[nodiscard]] Seconds cutoff() const {
    const auto top = static_cast<std::size_t>(std::max(1, config_.top));
    return result_.best.size() < top ? kNever : result_.best.back().estimate.step;
  }

  bool limit_passed(Seconds bound) {
    if (config_.time_limit > 0 && seconds() > config_.time_limit) return true;
    if (config_.max_evaluations > 0 && result_.priced >= config_.max_evaluations) return true;
    if (!config_.progress) return false;
    SearchProgress now{.priced = result_.priced, .seconds = seconds(), .best = {}, .bound = bound};
    if (!result_.best.empty()) now.best = result_.best.front().estimate.step;
    return !config_.progress(now);
  }

  void open_round(const std::vector<Node>& round) {
    std::vector<Opened> opened(round.size());
    for_each_in_parallel(round.size(), threads_,
                         [&](std::size_t i) { opened[i] = open(round[i]); });
    for (std::size_t i = 0; i < round.size(); ++i) {
      Opened& o = opened[i];
      for (const Rejection& r : o.rejected) count(r.rule, r.plans);
      for (const Node& child : o.children) open_.push(child);
      if (o.least_peak > 0) remember_near(round[i], o.least_peak);
      if (!o.estimate) continue;
      ++result_.priced;
      if (o.fits) keep(round[i], std::move(*o.estimate));
    }
  }

  [[nodiscard]] Opened open(const Node& node) {
    switch (node.level) {
      case Level::mesh: return open_mesh(node);
      case Level::graph: return open_graph(node);
      case Level::family: return node.stage == kBounded ? open_family(node) : refine_family(node);
      case Level::setting: return node.stage == kBounded ? price(node) : refine(node);
    }
    return {};
  }

  [[nodiscard]] Opened open_mesh(const Node& node) {
    Opened opened;
    Plan plan = mesh_plan(node);
    least_work_.put_into(plan);
    for (std::size_t g = 0; g < kGraphModes; ++g) {
      if (plans_of_graph_[g] == 0) continue;
      Node child = node;
      child.graph = static_cast<std::int8_t>(g);
      child.level = Level::graph;
      child.bound = std::max(node.bound, bounds_.graph(plan, static_cast<CudaGraph>(g)));
      opened.children.push_back(child);
    }
    return opened;
  }

  // The families of its settings, with the bound of the graph mode: their own one costs the price of
  // layers.
  [[nodiscard]] Opened open_graph(const Node& node) {
    Opened opened;
    const auto all = static_cast<std::int64_t>(memory_.size());
    const Mesh& mesh = space_.meshes[static_cast<std::size_t>(node.mesh)];
    Plan plan = mesh_plan(node);
    for (std::size_t first = 0, end = 0; first < settings_.size(); first = end) {
      end = end_of_family(first);
      if (static_cast<std::int8_t>(settings_[first].graph) != node.graph) continue;
      const auto count = static_cast<std::int64_t>(end - first);
      if (settings_[first].moot(mesh, settings_[0])) {
        opened.rejected.push_back({"moot", count * all});
        continue;
      }
      Node child = node;
      child.level = Level::family;
      child.setting = static_cast<std::int16_t>(first);
      child.memory = 0;
      child.settings = 0;
      for (std::size_t s = first; s < end; ++s) {
        settings_[s].put_into(plan);
        if (const char* rule = broken_rule(plan)) {
          opened.rejected.push_back({rule, all});
        } else {
          ++child.settings;
        }
      }
      if (child.settings > 0) opened.children.push_back(child);
    }
    return opened;
  }

  [[nodiscard]] std::size_t end_of_family(std::size_t first) const {
    std::size_t end = first + 1;
    while (end < settings_.size() && settings_[end].same_family(settings_[first])) ++end;
    return end;
  }

  // What bounds the plan and more beside: exchanges of shards and launches by the host only add.
  // Many families share it.
  [[nodiscard]] Plan reference_of(Plan plan) const {
    plan.sharding = std::min(plan.sharding, Sharding::zero1);
    plan.cuda_graph = least_work_.graph;
    return plan;
  }

  // A step further with its bound: by what bounds the family of its reference, by what bounds the
  // reference of each setting, by its own layers. Most families never come to the last.
  [[nodiscard]] Opened refine_family(const Node& node) {
    Opened opened;
    Node& refined = opened.children.emplace_back(node);
    const Plan plan = plan_of(node), reference = reference_of(plan);
    ++refined.stage;
    Seconds bound;
    if (node.stage == 0) {
      bound = bounds_.family(reference).step;
      if (reference == plan) refined.stage = kBounded;
    } else if (node.stage == 1) {
      bound = kNever;
      Plan member = mesh_plan(node);
      for_each_setting(node, [&](std::size_t s) {
        settings_[s].put_into(member);
        bound = std::min(bound, bounds_.own(reference_of(member), cutoff()).step);
      });
    } else {
      bound = bounds_.family(plan).step;
    }
    refined.bound = std::max(node.bound, bound);
    return opened;
  }

  // The valid settings of a family, without memory choice.
  template <class Visit>
  void for_each_setting(const Node& family, const Visit& visit) const {
    Plan plan = mesh_plan(family);
    const auto first = static_cast<std::size_t>(family.setting);
    for (std::size_t s = first; s < end_of_family(first); ++s) {
      settings_[s].put_into(plan);
      if (broken_rule(plan) == nullptr) visit(s);
    }
  }

  [[nodiscard]] Opened open_family(const Node& node) {
    Opened opened;
    for_each_setting(node, [&](std::size_t s) {  // the others are counted
      Node child = node;
      child.level = Level::setting;
      child.setting = static_cast<std::int16_t>(s);
      child.settings = 1;
      child.stage = 0;
      opened.children.push_back(child);
    });
    return opened;
  }

  // Likewise: by what its family keeps in memory, by its reference, by its own layers.
  [[nodiscard]] Opened refine(const Node& node) {
    Opened opened;
    const Plan plan = plan_of(node);
    Node refined = node;
    ++refined.stage;
    if (node.stage == 0) {
      if (const char* rule = broken_rule(plan)) {  // of this memory choice, perhaps not of those below
        opened.rejected.push_back({rule, 1});
        open_below(node, opened);
        return opened;
      }
      if (node.memory > 0) {  // the bound of the first choice is that of the setting above
        const PlanBounds family = bounds_.family(plan);
        refined.bound = std::max(node.bound, family.step);
        if (family.peak_bytes > usable_) {
          does_not_fit(refined, family.peak_bytes, opened);
          return opened;
        }
      }
      if (reference_of(plan) == plan) ++refined.stage;
    } else if (node.stage == 1) {
      refined.bound = std::max(node.bound, bounds_.own(reference_of(plan), cutoff()).step);
    } else {
      const PlanBounds own = bounds_.own(plan, cutoff());
      refined.bound = std::max(node.bound, own.step);
      if (own.peak_bytes > usable_) {
        does_not_fit(refined, own.peak_bytes, opened);
        return opened;
      }
    }
    opened.children.push_back(refined);
    return opened;
  }

  [[nodiscard]] Opened price(const Node& node) {
    Opened opened;
    opened.estimate = estimator_(plan_of(node));
    const std::int64_t peak = opened.estimate->peak_bytes();
    opened.fits = peak <= usable_;
    if (opened.fits) {
      const std::int64_t below = tree_.plans_below(node.memory) - 1;
      if (below > 0) opened.rejected.push_back({"needless", below});
    } else {
      does_not_fit(node, peak, opened);
    }
    return opened;
  }

  // What gives up more cannot be faster.
  void does_not_fit(const Node& node, std::int64_t peak, Opened& opened) const {
    opened.least_peak = peak;
    opened.rejected.push_back({"memory", 1});
    open_below(node, opened);
  }

  void open_below(const Node& node, Opened& opened) const {
    for (const std::int16_t m : tree_.below(node.memory)) {
      Node child = node;
      child.memory = m;
      child.stage = 0;
      opened.children.push_back(child);
    }
  }

  [[nodiscard]] const char* broken_rule(const Plan& plan) const {
    const PlanContext context{model_, workload_, plan, config_.gpus};
    for (const Constraint* rule : rules_) {
      if (!rule->holds(context)) return rule->name;
    }
    return nullptr;
  }

  // But for the layout, which is no difference of its own.
  [[nodiscard]] bool same_mesh(const Node& a, const Node& b) const {
    const Mesh& x = space_.meshes[static_cast<std::size_t>(a.mesh)];
    const Mesh& y = space_.meshes[static_cast<std::size_t>(b.mesh)];
    return x.attention == y.attention && x.expert == y.expert && x.vpp == y.vpp &&
           x.micro_batch == y.micro_batch;
  }

  void keep(const Node& node, StepEstimate estimate) {
    const Seconds step = estimate.step;
    if (const char* reason = superseded(node, step)) {
      count(reason, 1);
      return;
    }
    for (std::size_t i = kept_.size(); i-- > 0;) {  // what the new one supersedes
      if (!same_mesh(kept_[i], node) || result_.best[i].estimate.step < step) continue;
      const char* reason = tree_.supersedes(node.memory, kept_[i].memory);
      if (reason == nullptr) continue;
      count(reason, 1);
      drop(i);
    }
    std::size_t at = 0;
    while (at < kept_.size() && (result_.best[at].estimate.step != step
                                     ? result_.best[at].estimate.step < step
                                     : kept_[at].place() < node.place())) {
      ++at;
    }
    kept_.insert(kept_.begin() + static_cast<std::ptrdiff_t>(at), node);
    result_.best.insert(result_.best.begin() + static_cast<std::ptrdiff_t>(at),
                        {plan_of(node), std::move(estimate)});
    if (kept_.size() > static_cast<std::size_t>(std::max(1, config_.top))) {
      drop(kept_.size() - 1);
      count("slower", 1);
    }
  }

  void drop(std::size_t i) {
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    result_.best.erase(result_.best.begin() + static_cast<std::ptrdiff_t>(i));
  }

  // Those that miss least so far, for when nothing fits.
  void remember_near(const Node& node, std::int64_t peak) {
    if (!result_.best.empty()) return;
    near_.emplace_back(peak, node);
    if (near_.size() < 64 * kNearestTried) return;
    shrink_near();
  }

  void shrink_near() {
    std::ranges::sort(near_, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.place() < b.second.place();
    });
    near_.resize(std::min(near_.size(), kNearestTried));
  }

  // Nothing fits: every choice of the meshes with the smallest memory bounds.
  void find_nearest() {
    shrink_near();
    std::vector<std::vector<Candidate>> tried(near_.size());
    for_each_in_parallel(near_.size(), threads_, [&](std::size_t i) {
      Node node = near_[i].second;
      const std::size_t first = node.setting < 0 ? 0 : static_cast<std::size_t>(node.setting);
      const std::size_t last = node.setting < 0 ? settings_.size() : first + 1;
      for (std::size_t s = first; s < last; ++s) {
        for (std::size_t m = 0; m < memory_.size(); ++m) {
          node.setting = static_cast<std::int16_t>(s);
          node.memory = static_cast<std::int16_t>(m);
          Plan plan = plan_of(node);
          if (broken_rule(plan) != nullptr) continue;
          StepEstimate e = estimator_(plan);
          if (tried[i].empty() || e.peak_bytes() < tried[i].front().estimate.peak_bytes()) {
            tried[i] = {{std::move(plan), std::move(e)}};
          }
        }
      }
    });
    for (auto& one : tried) {
      for (Candidate& c : one) {
        const bool known = std::ranges::any_of(
            result_.nearest, [&](const Candidate& other) { return other.plan == c.plan; });
        if (!known) result_.nearest.push_back(std::move(c));
      }
    }
    std::stable_sort(result_.nearest.begin(), result_.nearest.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return a.estimate.peak_bytes() < b.estimate.peak_bytes();
                     });
    if (result_.nearest.size() > kNearestKept) result_.nearest.resize(kNearestKept);
  }

  void count(const char* rule, std::int64_t plans) { result_.rejected[rule] += plans; }

  const ModelSpec& model_;
  const WorkloadSpec& workload_;
  const SearchConfig& config_;
  int threads_;
  std::chrono::steady_clock::time_point start_;
  MeshSpace space_;
  std::vector<Setting> settings_;
  std::vector<MemoryChoice> memory_;
  MemoryTree tree_;
  std::vector<const Constraint*> rules_;  // those that settings may break
  std::array<std::int64_t, kGraphModes> plans_of_graph_{};
  Setting least_work_ = least_work(settings_);
  Estimator estimator_;
  BoundTable bounds_;
  std::int64_t usable_;  // bytes of a GPU
  std::priority_queue<Node, std::vector<Node>, Later> open_;
  std::vector<Node> kept_;  // parallel to result_.best
  std::vector<std::pair<std::int64_t, Node>> near_;
  SearchResult result_;
};

}  // namespace

SearchResult search(const ModelSpec& model, const ClusterSpec& cluster,
                    const WorkloadSpec& workload, const Profile& profile,
                    const SearchConfig& config) {
  return Search(model, cluster, workload, profile, config).run();
}

}  // namespace pleat
