// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/contention.hpp"

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"

namespace pleat {
namespace {

// SMs that an exchange of expert tokens, or any other, holds while it runs.
double sms_of(bool expert, const ClusterView& view, const RunConstants& run) {
  if (!expert) return run.nccl_sms;
  const bool says = is_fused(view.dispatcher) && view.dispatcher_sms > 0;
  return says ? view.dispatcher_sms : run.*traits_of(view.dispatcher).sms;
}

double sm_share(bool expert, const ClusterView& view, const RunConstants& run) {
  const int sms = view.cluster->gpu.sms;
  if (sms <= 0) return 0;
  return std::min(0.9, sms_of(expert, view, run) / sms * run.comm_slowdown_of_compute);
}

}  // namespace

void set_contention(StreamOp& stream_op, const Op& op, const ClusterView& view,
                    const Profile& profile) {
  if (!is_collective(op.kind) || stream_op.stream != Stream::comm) return;
  stream_op.sm_share = sm_share(op.group == Group::ep || op.group == Group::etp_ep, view, profile);
  stream_op.slowdown = profile.comm_slowdown;
}

double exposed_share(const Op& op, const ClusterView& view, const Profile& profile) {
  const double size = view.groups[static_cast<std::size_t>(op.group)].size;
  // A ring and a fused expert exchange work in as many pieces as there are ranks, the rank's own
  // first; user buffers expose more than their first piece.
  return op.group == Group::tp ? profile.tp_overlap_exposed : 1.0 / size;
}

}  // namespace pleat
