// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/mesh_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/plan/layout.hpp"
#include "planner/layout/rank_balance.hpp"
#include "planner/space/mesh_sizes.hpp"
#include "planner/space/placement_choices.hpp"
#include "planner/space/run_settings.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

// Further sizes of a group of microbatches, as multiples of PP. Larger groups give transfers more
// time to hide and make stages hold more.
std::vector<int> larger_groups(const Mesh& mesh, std::int64_t microbatches) {
  std::vector<int> list;
  if (mesh.vpp == 1 || mesh.schedule != PipelineSchedule::one_f_one_b) return list;
  for (const int n : {2 * mesh.attention.pp, 4 * mesh.attention.pp}) {
    if (microbatches > n && microbatches % n == 0) list.push_back(n);
  }
  return list;
}

const std::vector<int>& pinned_or(const Pinned<int>& pin, const std::vector<int>& all) {
  return pin ? pin.values : all;
}

class Enumerator {
 public:
  Enumerator(const Problem& problem, const SearchConfig& config)
      : problem_(problem),
        config_(config),
        settings_(settings(problem.model, problem.cluster, config)),
        schedules_(schedules_of(config)),
        placed_(problem, config),
        domain_(problem.cluster.tiers.empty() || problem.cluster.tiers.front().size == 0
                    ? config.gpus
                    : problem.cluster.tiers.front().size) {}

  MeshSpace run() {
    const std::vector<int> all_tp = divisors(config_.gpus, domain_);
    const std::vector<int> all_cp = divisors(config_.gpus, config_.gpus);
    const std::vector<int> all_pp = divisors(config_.gpus, problem_.model.layers + 2);
    for (int tp : pinned_or(config_.pin<"tp">(), all_tp)) {
      for (int cp : pinned_or(config_.pin<"cp">(), all_cp)) {
        for (int pp : pinned_or(config_.pin<"pp">(), all_pp)) {
          Mesh mesh;
          mesh.attention = {.tp = tp, .cp = cp, .dp = 1, .pp = pp};
          attention_grid(mesh);
        }
      }
    }
    return std::move(space_);
  }

 private:
  // Remembers why a pin of DP or of layouts leaves a mesh out. Such meshes do not count as tried.
  void leave_out(const char* path, std::string message) {
    if (space_.example.contains(kLeftOut)) return;
    space_.example[kLeftOut] = {.rule = "pin", .path = path, .message = std::move(message),
                                .hint = ""};
  }

  [[nodiscard]] bool dp_is_pinned_out(const AttentionMapping& a) {
    const Pinned<int>& pin = config_.pin<"dp">();
    if (!pin || std::ranges::find(pin, a.dp) != pin.end()) return false;
    leave_out("attention.dp", fmt::format("DP is the rest: {} GPUs over TP*CP*PP = {}*{}*{} are {}",
                                          config_.gpus, a.tp, a.cp, a.pp, a.dp));
    return true;
  }

  // The numbers of chunks that pinned layouts have, or all.
  [[nodiscard]] std::vector<int> chunks_for(int pp) {
    if (config_.pin<"layout">().empty()) return chunk_counts(problem_.model, pp);
    std::vector<int> list = chunks_of_layouts(config_.pin<"layout">().values, pp);
    if (list.empty()) {
      const std::int64_t stages = stages_of_layout(config_.pin<"layout">().values.front());
      leave_out("layout", fmt::format("the layout has {} virtual stages, which PP {} does not "
                                      "divide",
                                      stages, pp));
    }
    return list;
  }

  void attention_grid(Mesh mesh) {
    const AttentionMapping& a = mesh.attention;
    const std::int64_t model_ranks = std::int64_t{a.tp} * a.cp * a.pp;
    mesh.attention.dp = static_cast<int>(std::max<std::int64_t>(1, config_.gpus / model_ranks));
    if (model_ranks * mesh.attention.dp != config_.gpus) {  // nothing below is valid
      mesh.expert = {.etp = 1, .ep = 1, .edp = std::max(1, config_.gpus / a.pp)};
      take(mesh, "");
      return;
    }
    if (dp_is_pinned_out(mesh.attention)) return;
    const std::int64_t stage_ranks = config_.gpus / a.pp;
    const std::vector<int> one{1}, all_vpp = chunks_for(a.pp);
    const std::vector<int> all_ep =
        problem_.model.moe ? divisors(problem_.model.moe->experts, stage_ranks) : one;
    const std::vector<int> all_etp =
        !problem_.model.moe ? one
        : problem_.model.moe->experts <= kFewExperts ? divisors(stage_ranks, domain_)
                                                     : divisors(a.tp, stage_ranks);
    for (int etp : pinned_or(config_.pin<"etp">(), all_etp)) {
      for (int ep : pinned_or(config_.pin<"ep">(), all_ep)) {
        const std::int64_t expert_ranks = std::int64_t{etp} * ep;
        mesh.expert = {
            .etp = etp,
            .ep = ep,
            .edp = static_cast<int>(std::max<std::int64_t>(1, stage_ranks / expert_ranks))};
        if (expert_ranks * mesh.expert.edp != stage_ranks) {
          take(mesh, "");
          continue;
        }
        for (const ExpertMapping& expert : placed_.of(mesh.expert)) {
          mesh.expert = expert;
          orders(mesh, all_vpp);
        }
      }
    }
  }

  void orders(Mesh mesh, const std::vector<int>& all_vpp) {
    for (const PipelineSchedule schedule : schedules_) {
      const bool plain = schedule == PipelineSchedule::one_f_one_b;
      // Other orders need a pipeline. Without one only the first is tried, so that its rule is
      // told.
      if (mesh.attention.pp == 1 && !plain && schedule != schedules_.front()) continue;
      mesh.schedule = schedule;
      microbatches(mesh, plain ? all_vpp : std::vector<int>{chunks_of(schedule)});
    }
  }

  // Sizes that divide the batch, within bounds. Where none does, the smallest gives the reason.
  void microbatches(Mesh mesh, const std::vector<int>& chunks) {
    const std::int64_t batch = problem_.workload.global_batch, dp = mesh.attention.dp;
    const std::int64_t most = most_micro_batch(mesh.attention.cp, problem_.workload.seq_len);
    const std::vector<int> all = batch % dp == 0 ? divisors(batch / dp, most) : std::vector<int>{1};
    const std::vector<int>& tried = pinned_or(config_.pin<"micro-batch">(), all);
    for (const int micro_batch : tried) {
      if (micro_batch > tried.front() && batch % (dp * micro_batch) != 0) continue;
      mesh.micro_batch = micro_batch;
      for (const int vpp : pinned_or(config_.pin<"vpp">(), chunks)) {
        mesh.vpp = vpp;
        for (const int layout : layouts(mesh)) {
          mesh.layout = layout;
          take_groups(mesh, space_.layouts[static_cast<std::size_t>(layout)]);
        }
      }
    }
  }

  // Groups are pinned for interleaved schedules only. Free ones divide the microbatches, so that
  // the rules hold for all of them or for none.
  void take_groups(Mesh mesh, const std::string& layout) {
    const bool interleaved = mesh.vpp > 1 && mesh.schedule == PipelineSchedule::one_f_one_b;
    if (interleaved && !config_.pin<"microbatch-group">().empty()) {
      for (const int group : config_.pin<"microbatch-group">()) {
        mesh.group = group;
        take(mesh, layout);
      }
      return;
    }
    const Constraint* const rule = take(mesh, layout);
    const std::int64_t replica = std::int64_t{mesh.attention.dp} * mesh.micro_batch;
    for (const int group : larger_groups(mesh, problem_.workload.global_batch / replica)) {
      ++space_.tried;
      mesh.group = group;
      if (rule == nullptr) space_.meshes.push_back(mesh);
      else ++space_.rejected[rule->name];
    }
  }

  // Counts the mesh under the rule that it breaks.
  const Constraint* take(const Mesh& mesh, const std::string& layout) {
    ++space_.tried;
    plan_.attention = mesh.attention;
    plan_.expert = mesh.expert;
    plan_.vpp = mesh.vpp;
    plan_.schedule = mesh.schedule;
    plan_.microbatch_group = mesh.group;
    plan_.micro_batch = mesh.micro_batch;
    plan_.sequence_parallel = mesh.attention.tp > 1;
    if (plan_.layout != layout) plan_.layout = layout;
    const Constraint* const rule = broken_rule(mesh.layout);
    if (rule != nullptr) {
      if (++space_.rejected[rule->name] == 1) {
        space_.example[rule->name] =
            rule->explain({problem_.model, problem_.workload, plan_, config_.gpus});
        space_.example[rule->name].rule = rule->name;
      }
    } else {
      int& most = space_.most_layers[static_cast<std::size_t>(mesh.layout)];
      if (most == 0) most = largest_stage();
      space_.meshes.push_back(mesh);
    }
    return rule;
  }

  [[nodiscard]] int largest_stage() const {
    std::int64_t most = 0;
    for (const VirtualStage& s : stage_layout(plan_, problem_.model))
      most = std::max(most, s.layers);
    return static_cast<int>(most);
  }

  // The first rule that every setting breaks.
  const Constraint* broken_rule(int layout) {
    const PlanContext context{problem_.model, problem_.workload, plan_, config_.gpus};
    settings_.front().put_into(plan_);
    for (const Constraint& rule : constraints()) {
      const bool about_layout = std::string_view(rule.name) == "layout" && !plan_.layout.empty();
      if (about_layout ? layout_holds(rule, context, layout) : rule.holds(context)) continue;
      if (rule.of_mesh) return &rule;
      const bool never = std::ranges::none_of(settings_, [&](const Setting& s) {
        s.put_into(plan_);
        return rule.holds(context);
      });
      settings_.front().put_into(plan_);
      if (never) return &rule;
    }
    return nullptr;
  }

  // The rule about layouts depends on nothing but the layout and the number of stages: remembered
  // for each.
  bool layout_holds(const Constraint& rule, const PlanContext& context, int layout) {
    const auto [known, fresh] = layout_holds_.try_emplace(layout, false);
    if (fresh) known->second = rule.holds(context);
    return known->second;
  }

  [[nodiscard]] bool builds(const std::string& layout, int pp, int vpp) const {
    Plan plan;
    plan.attention.pp = pp;
    plan.vpp = vpp;
    plan.layout = layout;
    return builds_layout(config_.runtime, problem_.model, plan);
  }

  std::vector<std::string> layout_texts(int pp, int vpp, PipelineSchedule kind) {
    if (config_.pin<"layout">().empty()) {
      std::vector<std::string> built =
          layout_choices(problem_.model, problem_.workload.seq_len, pp, vpp, kind);
      if (built.size() > 1) {
        std::erase_if(built, [&](const std::string& text) { return !builds(text, pp, vpp); });
      }
      return built;
    }
    std::vector<std::string> texts;
    for (const std::string& text : config_.pin<"layout">()) {
      const std::int64_t stages = stages_of_layout(text);
      if (stages == std::int64_t{pp} * vpp) {
        texts.push_back(text);
      } else {
        leave_out("layout", fmt::format("the layout has {} virtual stages, PP*VPP = {}*{} are {}",
                                        stages, pp, vpp, std::int64_t{pp} * vpp));
      }
    }
    return texts;
  }

  const std::vector<int>& layouts(const Mesh& mesh) {
    const int pp = mesh.attention.pp, vpp = mesh.vpp;
    auto [entry, is_new] = layouts_.try_emplace({pp, vpp, mesh.schedule});
    if (is_new) {
      for (std::string& text : layout_texts(pp, vpp, mesh.schedule)) {
        entry->second.push_back(static_cast<int>(space_.layouts.size()));
        space_.layouts.push_back(std::move(text));
        space_.most_layers.push_back(0);
      }
    }
    return entry->second;
  }

  const Problem& problem_;
  const SearchConfig& config_;
  std::vector<Setting> settings_;
  std::vector<PipelineSchedule> schedules_;
  PlacementChoices placed_;
  int domain_;  // GPUs of the innermost network domain
  Plan plan_ =
      MeshSpace{.meshes = {}, .layouts = {""}, .most_layers = {}, .rejected = {}, .example = {}}
          .plan({}, config_);
  std::map<std::tuple<int, int, PipelineSchedule>, std::vector<int>> layouts_;
  std::map<int, bool> layout_holds_;
  MeshSpace space_;
};

}  // namespace

Plan MeshSpace::plan(const Mesh& mesh, const SearchConfig& config) const {
  Plan plan;
  config.numerics.front().put_into(plan);
  plan.attention = mesh.attention;
  plan.expert = mesh.expert;
  plan.vpp = mesh.vpp;
  plan.schedule = mesh.schedule;
  plan.microbatch_group = mesh.group;
  plan.micro_batch = mesh.micro_batch;
  plan.sequence_parallel = mesh.attention.tp > 1;
  plan.layout = layouts[static_cast<std::size_t>(mesh.layout)];
  return plan;
}

std::vector<PipelineSchedule> schedules_of(const SearchConfig& config) {
  if (const auto& pin = config.pin<"schedule">()) return pin.values;
  if (config.runtime == Runtime::megatron) return {PipelineSchedule::one_f_one_b};
  return {PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1, PipelineSchedule::zb_v,
          PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v};
}

std::vector<std::string> layout_choices(const ModelSpec& model, std::int64_t seq_len, int pp,
                                        int vpp, PipelineSchedule kind) {
  const std::int64_t stages = std::int64_t{pp} * vpp;
  // Where no layout is possible, the even one is kept, whose rule then says what is wrong.
  if (pp < 1 || vpp < 1 || stages == 1 || stages > model.layers) return {""};
  const ForwardFlops flops = forward_flops(model, seq_len);
  const Schedule order{.pp = pp, .vpp = vpp, .kind = kind};
  const auto even = even_layout(model.layers, model.mtp_layers > 0, pp, vpp);
  const auto by_stage = balanced_layout(model, seq_len, pp, vpp);
  const bool divides = model.layers % stages == 0 || (model.layers + 2) % stages == 0;
  std::vector<std::string> choices{divides ? "" : to_layout_string(even)};
  if (bottleneck(by_stage, model, flops) < bottleneck(even, model, flops)) {
    choices.push_back(to_layout_string(by_stage));
  }
  const bool runs = kind == PipelineSchedule::one_f_one_b || chunks_of(kind) == vpp;
  if (vpp == 1 || !runs) return choices;
  const auto by_rank = rank_balanced_layout(model, seq_len, order, LighterChunks::first);
  const Flops busiest = busiest_rank_flops(by_rank, model, flops, order);
  if (busiest < busiest_rank_flops(even, model, flops, order) &&
      busiest < busiest_rank_flops(by_stage, model, flops, order)) {
    choices.push_back(to_layout_string(by_rank));
  }
  return choices;
}

MeshSpace enumerate_meshes(const Problem& problem, const SearchConfig& config) {
  return Enumerator(problem, config).run();
}

}  // namespace pleat
