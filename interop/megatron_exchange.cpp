// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of the Megatron-LM export about what ranks exchange: experts' tokens, context parallelism,
// overlap.
#include "interop/megatron_export.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

void write_dispatcher(C c, Exported& e) {
  if (!is_moe(c)) return;
  switch (c.plan().dispatcher) {
    case Dispatcher::allgather:
      return add(e, "--moe-token-dispatcher-type", {"allgather"});
    case Dispatcher::alltoall:
      return add(e, "--moe-token-dispatcher-type", {"alltoall"});
    case Dispatcher::deepep:
    case Dispatcher::hybridep:
      add(e, "--moe-token-dispatcher-type", {"flex"});
      return add(e, "--moe-flex-dispatcher-backend", {name_of(c.plan().dispatcher)});
    case Dispatcher::hierarchical:
      return;  // refused
  }
}

void write_dispatcher_sms(C c, Exported& e) {
  if (c.plan().dispatcher_sms == 0) return;
  if (uses_flex(c))
    return add(e, "--moe-flex-dispatcher-num-sms", std::int64_t{c.plan().dispatcher_sms});
  miss(e, "plan.dispatcher_sms", std::to_string(c.plan().dispatcher_sms),
       "only deepep and hybridep have it");
}

void write_cp_comm(C c, Exported& e) {
  if (c.plan().attention.cp == 1) return;
  switch (c.plan().cp_comm) {
    case CpComm::p2p:
      return add(e, "--cp-comm-type", {"p2p"});
    case CpComm::all_gather:
      return add(e, "--cp-comm-type", {"allgather"});
    case CpComm::all_to_all:
      return add(e, "--cp-comm-type", {"a2a"});
    case CpComm::a2a_p2p:
      add(e, "--cp-comm-type", {"a2a+p2p"});
      return add(e, "--hierarchical-context-parallel-sizes",
                 {std::to_string(c.plan().cp_a2a),
                  std::to_string(c.plan().attention.cp / c.plan().cp_a2a)});
  }
}

}  // namespace

void append_exchange_fields(std::vector<FieldRule>& list) {
  const std::vector<FieldRule> rules{
      {"plan.dispatcher", write_dispatcher, nullptr},
      {"plan.dispatcher_sms", write_dispatcher_sms, nullptr},
      {"plan.fp8_dispatch", nullptr, "rows travel in bf16; fp8 is refused"},
      {"plan.fp8_combine", nullptr, "rows travel in bf16; fp8 is refused"},
      {"plan.cp_comm", write_cp_comm, nullptr},
      {"plan.cp_a2a", nullptr, "first of --hierarchical-context-parallel-sizes"},
      {"plan.overlap.expert_parallel",
       [](C c, Exported& e) {
         if (c.plan().overlap.expert_parallel) add(e, "--overlap-moe-expert-parallel-comm");
       },
       nullptr},
      {"plan.overlap.delay_wgrad",
       [](C c, Exported& e) {
         if (c.plan().overlap.delay_wgrad) add(e, "--delay-wgrad-compute");
       },
       nullptr},
      {"plan.overlap.tensor_parallel",
       [](C c, Exported& e) {
         if (c.plan().overlap.tensor_parallel) add(e, "--tp-comm-overlap");
       },
       nullptr},
      {"plan.overlap.shared_expert",
       [](C c, Exported& e) {
         if (c.plan().overlap.shared_expert) add(e, "--moe-shared-expert-overlap");
       },
       nullptr},
      {"plan.overlap.tile_level", nullptr, "refused"},
  };
  list.insert(list.end(), rules.begin(), rules.end());
}

}  // namespace pleat::interop
