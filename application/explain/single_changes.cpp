// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/explain/single_changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/plan_switches.hpp"
#include "core/plan/constraints.hpp"
#include "core/plan/pinned_fields.hpp"
#include "core/plan/plan_words.hpp"
#include "planner/space/memory_choice.hpp"
#include "planner/space/mesh_space.hpp"
#include "planner/space/dispatcher_choices.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

// A flag as words: "tp overlap".
std::string name_of_flag(std::string_view flag) {
  std::string name(flag);
  std::ranges::replace(name, '-', ' ');
  return name;
}
std::string name_of_format(std::string_view flag) {
  return flag == "fp8-params" ? "fp8 weights" : name_of_flag(flag);
}

class Changes {
 public:
  Changes(const Target& target, const Plan& plan) : target_(target), plan_(plan) {}

  std::vector<SingleChange> run() {
    degrees();
    pipeline();
    schedules();
    recompute();
    if (target_.runtime == Runtime::megatron) {
      offload();
      exchanges();
      graphs();
      tried_switches();
      formats();
    }
    sharding();
    return std::move(found_);
  }

 private:
  void add(std::string text, const Plan& plan, bool arithmetic = false) {
    if (plan == plan_) return;
    if (!violations({target_.model, target_.workload, plan, target_.gpus}).empty()) return;
    if (refused_by(target_.runtime, target_.model, target_.workload, plan, target_.cluster.gpu) !=
        nullptr)
      return;
    found_.push_back({std::move(text), plan, arithmetic});
  }

  // Data parallelism fills the rest of the world; false if it does not divide.
  bool fill_world(Plan& plan) const {
    AttentionMapping& a = plan.attention;
    ExpertMapping& e = plan.expert;
    const std::int64_t attention = std::int64_t{a.tp} * a.cp * a.pp;
    const std::int64_t expert = std::int64_t{e.etp} * e.ep * a.pp;
    if (attention > target_.gpus || expert > target_.gpus) return false;
    a.dp = static_cast<int>(target_.gpus / attention);
    e.edp = static_cast<int>(target_.gpus / expert);
    return attention * a.dp == target_.gpus && expert * e.edp == target_.gpus;
  }

  template <class Change>  // sets a value of the plan
  void double_and_halve(const char* name, int value, Change change) {
    for (const int next : {value * 2, value % 2 == 0 ? value / 2 : value}) {
      if (next == value) continue;
      Plan plan = plan_;
      change(plan, next);
      if (fill_world(plan)) add(fmt::format("{} {} -> {}", name, value, next), plan);
    }
  }

  void degrees() {
    double_and_halve("micro-batch", plan_.micro_batch, [](Plan& p, int v) { p.micro_batch = v; });
    double_and_halve("TP", plan_.attention.tp, [](Plan& p, int v) { p.attention.tp = v; });
    double_and_halve("CP", plan_.attention.cp, [](Plan& p, int v) { p.attention.cp = v; });
    if (!target_.model.moe) return;
    double_and_halve("EP", plan_.expert.ep, [](Plan& p, int v) { p.expert.ep = v; });
    double_and_halve("ETP", plan_.expert.etp, [](Plan& p, int v) { p.expert.etp = v; });
  }

  // A new number of virtual stages needs a layout of its own.
  void add_stages(const std::string& text, int pp, int vpp) {
    Plan plan = plan_;
    plan.attention.pp = pp;
    plan.vpp = vpp;
    if (pp < 1 || vpp < 1 || !fill_world(plan)) return;
    const auto layouts = layout_choices(target_.model, target_.workload.seq_len, pp, vpp);
    for (const std::string& layout : layouts) {
      plan.layout = layout;
      const std::string name = "layout " + (layout.empty() ? "even" : layout);
      const bool own = pp == plan_.attention.pp && vpp == plan_.vpp;
      add(own ? name : layouts.size() == 1 ? text : text + ", " + name, plan);
    }
  }

  void pipeline() {
    const int pp = plan_.attention.pp, vpp = plan_.vpp;
    const auto pp_text = [&](int next, int next_vpp) {
      return fmt::format("PP {} -> {}", pp, next) +
             (next_vpp == vpp ? "" : fmt::format(" with VPP {} -> {}", vpp, next_vpp));
    };
    add_stages(pp_text(pp * 2, vpp), pp * 2, vpp);
    if (vpp % 2 == 0) add_stages(pp_text(pp * 2, vpp / 2), pp * 2, vpp / 2);
    if (pp % 2 == 0) {
      if (pp > 2) add_stages(pp_text(pp / 2, vpp), pp / 2, vpp);
      const int other = pp == 2 ? 1 : vpp * 2;
      add_stages(pp_text(pp / 2, other), pp / 2, other);
    }
    if (pp > 1) add_stages(fmt::format("VPP {} -> {}", vpp, vpp * 2), pp, vpp * 2);
    if (vpp % 2 == 0) add_stages(fmt::format("VPP {} -> {}", vpp, vpp / 2), pp, vpp / 2);
    if (pp > 1) add_stages("", pp, vpp);
  }

  // Other orders of the slots; those that fold chunks into a V have two of them.
  void schedules() {
    for (const PipelineSchedule schedule : kAll<PipelineSchedule>) {
      const bool folds =
          schedule == PipelineSchedule::zb_v || schedule == PipelineSchedule::dualpipe_v;
      Plan plan = plan_;
      plan.schedule = schedule;
      if (schedule == plan_.schedule) continue;
      // Megatron's pipelines run 1F1B alone.
      const bool runs = schedule == PipelineSchedule::one_f_one_b;
      if (target_.runtime == Runtime::megatron && !runs) continue;
      std::string text =
          fmt::format("schedule {} -> {}", name_of(plan_.schedule), name_of(schedule));
      const int vpp = folds ? 2 : schedule == PipelineSchedule::one_f_one_b ? plan_.vpp : 1;
      if (vpp == plan_.vpp) {
        add(text, plan);
        continue;
      }
      plan.vpp = vpp;
      plan.layout.clear();
      add(text + fmt::format(" with VPP {} -> {}", plan_.vpp, vpp), plan);
    }
  }

  void recompute() {
    Plan plan = plan_;
    if (!plan.stages.empty()) {
      plan.stages.clear();
      add("the same recompute and offload on all stages", plan);
      plan = plan_;
    }
    plan.recompute_full = !plan_.recompute_full;
    plan.recompute_layers = 0;
    if (plan.recompute_full) plan.recompute.clear();
    add(plan.recompute_full ? "recompute whole layers" : "no recompute of whole layers", plan);
    for (int i = static_cast<int>(Module::layernorm); i <= static_cast<int>(Module::moe); ++i) {
      const auto module = static_cast<Module>(i);
      plan = plan_;
      const bool there = plan.recompute.erase(module) == 1;
      if (!there) plan.recompute.insert(module);
      add(fmt::format("{} {}", there ? "no recompute of" : "recompute", name_of(module)), plan);
    }
  }

  void offload() {
    for (int i = static_cast<int>(Offload::attn_norm); i <= static_cast<int>(Offload::moe_act);
         ++i) {
      const auto module = static_cast<Offload>(i);
      Plan plan = plan_;
      const bool there = plan.offload.erase(module) == 1;
      if (!there) plan.offload.insert(module);
      add(fmt::format("{} {}", there ? "no offload of" : "offload", name_of(module)), plan);
    }
  }

  template <class Field>
  void flip(const char* name, Field field) {
    Plan plan = plan_;
    bool& value = field(plan);
    value = !value;
    add(fmt::format("{} {}", name, value ? "on" : "off"), plan);
  }
  template <std::size_t Row>
  void flip(const std::string& name, bool arithmetic) {
    Plan plan = plan_;
    bool& value = kPlanField<Row>.in(plan);
    value = !value;
    add(fmt::format("{} {}", name, value ? "on" : "off"), plan, arithmetic);
  }

  // Switches of which a search tries both values, but for one that depends on the degrees.
  void tried_switches() {
    for_each_switch([&](auto i) {
      constexpr const auto& field = kPlanField<i>;
      const bool tries = field.tried == TriedAs::each_value || field.tried == TriedAs::each_timing;
      if (!tries || i == kPinRow<"tp-overlap">) return;
      flip<i>(name_of_flag(field.typed.flag), false);
    });
  }

  void exchanges() {
    const std::int64_t peers = std::int64_t{plan_.expert.ep} * plan_.expert.etp;
    if (target_.model.moe && peers > 1) {
      for (const Dispatcher d : kAll<Dispatcher>) {
        Plan plan = plan_;
        plan.dispatcher = d;
        plan.dispatcher_sms = 0;
        if (d != plan_.dispatcher && has_dispatcher(target_.cluster, d)) {
          add(fmt::format("dispatcher {} -> {}", name_of(plan_.dispatcher), name_of(d)), plan);
        }
      }
      flip("expert overlap", [](Plan& p) -> bool& {
        p.overlap.delay_wgrad = false;
        return p.overlap.expert_parallel;
      });
      flip("delayed weight gradients", [](Plan& p) -> bool& { return p.overlap.delay_wgrad; });
      if (plan_.overlap.tile_level) {  // which Megatron has not
        flip("tile-level overlap", [](Plan& p) -> bool& { return p.overlap.tile_level; });
      }
      flip("shared-expert overlap", [](Plan& p) -> bool& { return p.overlap.shared_expert; });
    }
    if (plan_.attention.tp > 1) {
      flip("TP overlap", [](Plan& p) -> bool& { return p.overlap.tensor_parallel; });
      flip("sequence parallelism", [](Plan& p) -> bool& { return p.sequence_parallel; });
    }
    if (plan_.attention.dp * plan_.attention.cp > 1) {
      flip("gradient overlap", [](Plan& p) -> bool& { return p.overlap.grad_reduce; });
      flip("weight-gather overlap", [](Plan& p) -> bool& { return p.overlap.param_gather; });
      flip("weight gather beside the optimizer's step",
           [](Plan& p) -> bool& { return p.overlap.gather_beside_step; });
    }
    if (plan_.attention.cp == 1) return;
    for (const CpComm kind : kAll<CpComm>) {
      Plan plan = plan_;
      plan.cp_comm = kind;
      plan.cp_a2a = kind == CpComm::a2a_p2p ? std::max(2, plan_.cp_a2a) : 0;
      add(fmt::format("CP exchange {} -> {}", name_of(plan_.cp_comm), name_of(kind)), plan);
    }
  }

  void graphs() {
    for (const CudaGraph g : kAll<CudaGraph>) {
      Plan plan = plan_;
      plan.cuda_graph = g;
      add(fmt::format("CUDA graph {} -> {}", name_of(plan_.cuda_graph), name_of(g)), plan);
    }
  }

  void sharding() {
    for (const Sharding s : kAll<Sharding>) {
      Plan plan = plan_;
      plan.sharding = s;
      if (s == Sharding::none || s == Sharding::zero1) plan.fsdp_group = 0;
      add(fmt::format("sharding {} -> {}", name_of(plan_.sharding), name_of(s)), plan);
    }
  }

  void formats() {
    const GpuSpec& gpu = target_.cluster.gpu;
    const FlopsPerSecond none{0};
    const auto precision = [&](Precision p, bool computes) {
      Plan plan = plan_;
      plan.precision = p;
      if (p == Precision::bf16) plan.fp8_attention = plan.fp8_head = false;
      if (computes) {
        add(fmt::format("precision {} -> {}", name_of(plan_.precision), name_of(p)), plan, true);
      }
    };
    precision(Precision::bf16, gpu.peak_bf16 > none);
    precision(Precision::fp8, gpu.peak_fp8 > none);
    precision(Precision::fp8_block, gpu.peak_fp8 > none);
    precision(Precision::mxfp8, gpu.peak_fp4 > none);  // both came with Blackwell
    precision(Precision::nvfp4, gpu.peak_fp4 > none);
    const bool narrow = plan_.precision != Precision::bf16 && plan_.precision != Precision::fp32 &&
                        plan_.precision != Precision::fp16;
    const bool exchanges = target_.model.moe && plan_.expert.ep > 1;
    for_each_switch([&](auto i) {
      constexpr const auto& field = kPlanField<i>;
      if (field.chosen_by != ChosenBy::numerics) return;
      const bool of_experts = field.parts.bits == MemoParts(MemoPart::moe_layers).bits;
      if (of_experts ? exchanges : narrow) flip<i>(name_of_format(field.typed.flag), true);
    });
    state_types();
  }

  void state_types() {
    const auto type = [&](const char* name, DType OptimizerPlan::*field) {
      Plan plan = plan_;
      DType& value = plan.optimizer.*field;
      const DType before = value;
      value = before == DType::fp32 ? DType::bf16 : DType::fp32;
      add(fmt::format("{} {} -> {}", name, before == DType::fp32 ? "fp32" : "narrow",
                      value == DType::fp32 ? "fp32" : "bf16"),
          plan, true);
    };
    type("gradients in", &OptimizerPlan::main_grads);
    type("first moments in", &OptimizerPlan::exp_avg);
    type("second moments in", &OptimizerPlan::exp_avg_sq);
  }

  const Target& target_;
  const Plan& plan_;
  std::vector<SingleChange> found_;
};

}  // namespace

std::vector<SingleChange> single_changes(const Target& target, const Plan& plan) {
  return Changes(target, plan).run();
}

}  // namespace pleat
