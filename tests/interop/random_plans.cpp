// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/random_plans.hpp"

#include <random>

#include "core/plan/constraints.hpp"
#include "core/plan/layout.hpp"
#include "core/spec/catalog.hpp"

namespace pleat::interop_test {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }
  int power(int largest) { return 1 << below(largest + 1); }
  bool one_in(int n) { return below(n) == 0; }
  template <class Enum>
  Enum pick(int count) {
    return static_cast<Enum>(below(count));
  }

 private:
  std::mt19937 engine_;
};

void roll_grids(Dice& d, const ModelSpec& m, Plan& p, int& gpus) {
  p.attention = {.tp = d.power(3),
                 .cp = d.one_in(3) ? 1 << d.below(4) : 1,
                 .dp = d.power(4),
                 .pp = d.power(3)};
  gpus = p.world();
  if (m.moe) {
    p.expert.ep = d.power(4);
    p.expert.etp = d.one_in(4) ? 2 : 1;
  }
  p.expert.edp = std::max(1, gpus / (p.expert.ep * p.expert.etp * p.attention.pp));
  p.vpp = p.attention.pp > 1 && d.one_in(2) ? d.power(2) : 1;
}

void roll_layout(Dice& d, const ModelSpec& m, Plan& p) {
  const int stages = p.attention.pp * p.vpp;
  const bool even = m.layers % stages == 0 || (m.layers + 2) % stages == 0;
  if (stages == 1 || m.layers < stages || (even && !d.one_in(3))) return;
  p.layout = to_layout_string(even_layout(m.layers, m.mtp_layers > 0, p.attention.pp, p.vpp));
}

template <class Enum>
std::set<Enum> some(Dice& d, int count) {
  std::set<Enum> values;
  for (int i = 0; i < count; ++i)
    if (d.one_in(3)) values.insert(static_cast<Enum>(i));
  return values;
}

void roll_memory(Dice& d, const ModelSpec& m, Plan& p) {
  switch (d.below(5)) {
    case 0:
      p.recompute_full = true;
      p.recompute_layers = d.one_in(2) ? d.below(4) : 0;
      if (p.recompute_layers == 0 && d.one_in(2)) p.recompute_unit = 1 + d.below(4);
      break;
    case 1:
      p.recompute = some<Module>(d, 7);
      break;
    case 2:
      p.recompute = {d.pick<Module>(7)};
      break;
    default:
      break;
  }
  if (d.one_in(4)) p.offload = some<Offload>(d, 7);
  if (d.one_in(12)) p.offload_layers = 1 + d.below(static_cast<int>(m.layers));
  p.sharding = d.pick<Sharding>(4);
  const bool shards = p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3;
  if (shards && d.one_in(2)) p.fsdp_group = d.power(3);
  if (p.sharding == Sharding::zero1 && d.one_in(3)) p.optimizer_instances = d.power(2);
}

void roll_optimizer(Dice& d, Plan& p) {
  const auto state = [&] {
    return d.one_in(4) ? DType::bf16 : d.one_in(8) ? DType::fp8 : DType::fp32;
  };
  OptimizerPlan& o = p.optimizer;
  if (d.one_in(6)) {
    o.kind = d.one_in(2) ? OptimizerKind::sgd : OptimizerKind::muon;
  } else if (d.one_in(3)) {
    o.main_grads = state();
    if (d.one_in(4)) o.main_params = d.one_in(2) ? DType::remainder16 : DType::fp16;
    o.exp_avg = state();
    o.exp_avg_sq = state();
  } else if (d.one_in(6)) {
    o.cpu_offload = d.one_in(2) ? 1 : 0.25;
    o.cpu_offload_overlapped = d.one_in(2);
  }
  if (p.precision == Precision::fp16 && d.one_in(2)) o.main_grads = DType::fp16;
  const bool shards = p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3;
  if (d.one_in(shards ? 2 : 10)) o.grad_reduce = DType::bf16;
}

// One of what most targets have not.
void roll_rarity(Dice& d, Plan& p) {
  switch (d.below(8)) {
    case 0:
      p.schedule = d.pick<PipelineSchedule>(5);
      break;
    case 1:
      p.dispatcher = Dispatcher::hierarchical;
      break;
    case 2:
      p.fp8_dispatch = true;
      break;
    case 3:
      p.fp8_combine = true;
      break;
    case 4:
      p.overlap.tile_level = true;
      break;
    case 5:
      p.optimizer.kind = OptimizerKind::lamb;
      break;
    case 6:
      p.optimizer.state_offload = 0.5;
      break;
    default:
      p.optimizer.main_params = DType::bf16;
  }
}

void roll_rest(Dice& d, Plan& p) {
  p.micro_batch = d.power(1);
  p.microbatch_group = d.one_in(4) ? p.attention.pp * 2 : 0;
  p.sequence_parallel = !d.one_in(6);
  p.precision = d.one_in(2) ? Precision::bf16 : d.pick<Precision>(8);
  p.dispatcher = d.pick<Dispatcher>(4);
  p.dispatcher_sms = d.one_in(3) ? 16 + 4 * d.below(5) : 0;
  p.cuda_graph = d.one_in(2) ? CudaGraph::none : d.pick<CudaGraph>(5);
  p.cp_comm = d.pick<CpComm>(4);
  if (p.cp_comm == CpComm::a2a_p2p) p.cp_a2a = p.attention.cp / 2;
  p.flash_attention = !d.one_in(8);
  p.fp8_attention = d.one_in(5);
  p.fp8_head = d.one_in(5);
  p.fp8_params = !d.one_in(3);
  p.overlap = {.expert_parallel = d.one_in(3),
               .delay_wgrad = d.one_in(4),
               .grad_reduce = !d.one_in(5),
               .param_gather = !d.one_in(4),
               .gather_beside_step = d.one_in(4),
               .tensor_parallel = d.one_in(4),
               .shared_expert = d.one_in(5),
               .tile_level = false};
  if (d.one_in(6) && p.dispatcher == Dispatcher::hybridep)
    p.paged_stash = {.buffer = 1.1, .capacity = 1.5};
  p.fusions = {.permute = !d.one_in(4), .router = !d.one_in(4)};
  if (d.one_in(9)) p.loss_chunks = d.power(3);
  if (d.one_in(5)) p.ddp_bucket_size = 250'000'000;
  if (d.one_in(6)) p.optimizer.grad_reduce = DType::bf16;
}

}  // namespace

std::vector<PlanDocument> random_documents(int each, unsigned seed) {
  Dice dice(seed);
  std::vector<PlanDocument> all;
  for (const std::string& name : config_names(ConfigKind::model)) {
    const ModelSpec model = load_model(name).model;
    int found = 0;
    for (int attempt = 0; attempt < 3000 && found < each; ++attempt) {
      PlanDocument d;
      d.model_name = name;
      d.model = model;
      // Megatron-LM has no prediction layers beside attention of other kinds.
      if (model.mtp_layers > 0 && !model.layer_traits.empty() && dice.one_in(2))
        d.model.mtp_layers = 0;
      d.cluster = dice.one_in(2) ? "h100-sxm" : "gb200-nvl72";
      d.workload.seq_len = 1024 << dice.below(4);
      roll_grids(dice, model, d.plan, d.gpus);
      roll_layout(dice, d.model, d.plan);
      roll_memory(dice, model, d.plan);
      roll_rest(dice, d.plan);
      roll_optimizer(dice, d.plan);
      if (dice.one_in(6)) roll_rarity(dice, d.plan);
      d.workload.global_batch =
          std::int64_t{d.plan.attention.dp} * d.plan.micro_batch * d.plan.attention.pp * 4;
      if (dice.one_in(6)) d.workload.capacity_factor = 1.25;
      if (dice.one_in(8)) d.workload.documents = {512, 4096};
      if (dice.one_in(8)) d.workload.straggler_slowdown = 0.02;
      if (dice.one_in(8)) d.workload.unbound_ranks = true;
      d.workload.pad_to_capacity = d.workload.capacity_factor > 0 && dice.one_in(2);
      if (!violations({d.model, d.workload, d.plan, d.gpus}).empty()) continue;
      ++found;
      all.push_back(std::move(d));
    }
  }
  return all;
}

}  // namespace pleat::interop_test
