// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/contention.hpp"

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

// SMs that an exchange of expert tokens, or any other, holds while it runs. Of a plan's number that
// nobody measured there the nearest one that was, whose rate it has: else fewer would cost nothing.
double sms_of(bool expert, const Op& op, const ClusterView& view, const Profile& profile) {
  if (!expert) return profile.nccl_sms;
  const DispatcherTraits dispatcher = traits_of(view.dispatcher);
  const int usual = profile.*dispatcher.sms;
  const int asked = dispatcher.fused ? view.dispatcher_sms : 0;
  if (asked == 0 || asked == usual) return usual;
  const GroupPlace& place = view.groups[static_cast<std::size_t>(op.group)];
  const bool across = place.tier > 0 && place.size / place.inside > 1;
  const int nearest = nearest_sms(profile, *dispatcher.fused, across ? 1 : 0, asked);
  return nearest > 0 ? nearest : usual;
}

double sm_share(bool expert, const Op& op, const ClusterView& view, const Profile& profile) {
  const int sms = view.cluster->gpu.sms;
  if (sms <= 0) return 0;
  return std::min(0.9, sms_of(expert, op, view, profile) / sms * profile.comm_slowdown_of_compute);
}

}  // namespace

void set_contention(StreamOp& stream_op, const Op& op, const ClusterView& view,
                    const Profile& profile) {
  if (!is_collective(op.kind) || stream_op.stream != Stream::comm) return;
  stream_op.sm_share =
      sm_share(op.group == Group::ep || op.group == Group::etp_ep, op, view, profile);
  stream_op.slowdown = profile.comm_slowdown;
}

double exposed_share(const Op& op, const ClusterView& view, const Profile& profile) {
  const double size = view.groups[static_cast<std::size_t>(op.group)].size;
  // A ring and a fused expert exchange work in as many pieces as there are ranks, the rank's own
  // first; user buffers expose more than their first piece.
  return op.group == Group::tp ? profile.tp_overlap_exposed : 1.0 / size;
}

}  // namespace pleat
