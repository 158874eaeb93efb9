// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/host_memory.hpp"

#include "backend/execute/execution.hpp"
#include "backend/execute/optimizer_stretches.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

// The copy is kept for the layer that offloads it, also where the tensor is another layer's output.
InstanceKey key_of(const OpSite& site, TensorId tensor) {
  return {site.microbatch.value, site.chunk.value, site.position, tensor};
}

}  // namespace

void offload(const Call& c, Execution& run) {
  run.store.send_to_host(key_of(*c.site, c.op.in[0]), c.in[0], c.op.name);
}

void reload(const Call& c, Execution& run) {
  run.store.bring_back(key_of(*c.site, c.op.attr.source), c.out[0], c.op.name);
}

void offload_state(const Call& c, Execution& run) { run.copy_between(c.in[0], c.out[0]); }
void reload_state(const Call& c, Execution& run) { run.copy_between(c.in[0], c.out[0]); }

void offload_gradients(const Call& c, Execution& run) {
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  for (const Stretch& s : stretches(c.op, run, which)) {
    const std::int64_t at = run.shards.gradients_in_shards() ? s.shard : s.whole;
    run.copy_between(elements_of(c.in[0], at, s.elements),
                     elements_of(c.out[0], s.state, s.elements));
  }
}

void reload_weights(const Call& c, Execution& run) {
  const Bucket which = run.shards.bucket_of(c.op, c.op.out[0]);
  for (const Stretch& s : stretches(c.op, run, which)) {
    const std::int64_t at = run.shards.weights_in_shards() ? s.shard : s.whole;
    run.copy_between(elements_of(c.in[0], s.state, s.elements),
                     elements_of(c.out[0], at, s.elements));
  }
}

}  // namespace pleat::execute
